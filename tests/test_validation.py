"""Bad input gets a clear error, odd input the same result, and the caller's data stay."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from covshift import v_matrix
from covshift.corrections import Additive, Empirical, Gaussian, Pairwise, Sliced, Uniform

rng = np.random.default_rng(0)
X, T = rng.normal(size=(20, 3)), rng.normal(size=(30, 3)) + 0.5
FAMILY = [Empirical(), Additive(), Pairwise(), Sliced(random_state=0), Uniform(), Gaussian()]


def with_value(array, row, column, value):
    changed = array.copy()
    changed[row, column] = value
    return changed


@pytest.mark.parametrize(
    ("train", "target", "message"),
    [
        (with_value(X, 3, 1, np.nan), T, r"^X contains NaN or inf: column 1 \(1 NaN\)"),
        (X, with_value(T, 3, 2, np.inf), r"^X_target contains NaN or inf: column 2 \(1 inf\)"),
        (X, T[:, :2], "X_target has 2 features, but X has 3"),
        (X[:0], T, "0 sample"),
        (X, T[:0], "0 sample.*X_target|X_target.*0 sample|0 sample"),
        (X[:, :0], T[:, :0], "0 feature"),
        (X[:, 0], T, "Expected 2D array"),
        (X, T[:, 0], "Expected 2D array"),
        (X, (T, T), "tuple of 2 items"),
        (X + 1j, T, "Complex data not supported"),
        ([["a", "b"]], T, "could not convert|dtype"),
    ],
)
def test_bad_samples_get_a_clear_error(train, target, message):
    with pytest.raises(ValueError, match=message):
        v_matrix(train, target)


def test_every_bad_column_is_counted_and_named():
    frame = pd.DataFrame(X, columns=["age", "income", "visits"])
    frame.loc[[1, 2], "income"] = np.nan
    frame.loc[4, "income"] = np.inf
    with pytest.raises(ValueError, match=r"X_target contains.*column 'income' \(2 NaN, 1 inf\)"):
        v_matrix(X, frame)


def test_many_bad_columns_are_listed_shortly():
    bad = np.full((2, 9), np.nan)
    with pytest.raises(ValueError, match=r"column 4 .* and 4 more"):
        v_matrix(bad)


def test_reordered_and_different_columns_are_told_apart():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="another order"):
        v_matrix(frame, frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match=r"\['c'\] only in X, \['d'\] only in X_target"):
        v_matrix(frame, frame.rename(columns={"c": "d"}))


@pytest.mark.parametrize("library", [pd, pl])
def test_text_columns_are_named(library):
    frame = library.DataFrame({"age": [1.0, 2.0], "town": ["x", "y"]})
    with pytest.raises(ValueError, match=r"text or category columns: 'town'. Encode them"):
        v_matrix(frame)


def test_sparse_matrices_are_refused():
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match=r"[Ss]parse"):
        v_matrix(csr_array(X))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(29), r"target_weight has shape \(29,\), but X_target has 30 rows"),
        (-np.ones(30), "negative"),
        (np.zeros(30), "zero for every row"),
        (np.full(30, np.nan), "NaN or inf"),
    ],
)
def test_bad_target_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        v_matrix(X, T, target_weight=weight)


def test_huge_target_weights_do_not_overflow():
    V = v_matrix(X, T, target_weight=np.full(30, 1e308))
    np.testing.assert_allclose(V, v_matrix(X, T), atol=1e-12)


READ_ONLY = X.copy()
READ_ONLY.flags.writeable = False
FORMS = {
    "list": X.tolist(),
    "fortran": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=0)[::2],
    "reversed": X[::-1].copy()[::-1],
    "read-only": READ_ONLY,
    "big-endian": X.astype(">f8"),
    "pandas": pd.DataFrame(X),
    "pandas nullable": pd.DataFrame(X).convert_dtypes(dtype_backend="numpy_nullable"),
    "polars": pl.DataFrame(X),
}


@pytest.mark.parametrize("correction", FAMILY, ids=str)
@pytest.mark.parametrize("form", list(FORMS))
def test_every_container_gives_the_same_v(form, correction):
    expected = correction.operator(X, T).dense()
    np.testing.assert_allclose(correction.operator(FORMS[form], T).dense(), expected, atol=1e-13)
    expected = correction.operator(T, X).dense()
    np.testing.assert_allclose(correction.operator(T, FORMS[form]).dense(), expected, atol=1e-13)


def test_memory_mapped_arrays_give_the_same_v(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(v_matrix(mapped, T), v_matrix(X, T))


def test_a_target_in_another_precision_still_ties():
    """0.1 in float32 is larger than in float64; as the same number it must count as a tie."""
    values = np.arange(0.1, 3, 0.1)[:, None]
    narrow = values.astype(np.float32)
    expected = v_matrix(values, values)
    np.testing.assert_allclose(v_matrix(narrow, values), expected, atol=1e-6)
    np.testing.assert_allclose(v_matrix(values, narrow), expected, atol=0.05)


HUGE = np.array([[1e308, -1e308], [-1e308, 1e308], [0.0, 1.0]])


@pytest.mark.parametrize("correction", FAMILY, ids=str)
def test_huge_numbers_give_a_finite_v(correction):
    assert np.isfinite(correction.operator(HUGE, HUGE[::-1]).dense()).all()


def test_a_projection_that_overflows_is_an_error():
    directions = Sliced(directions=[[1.0, -1.0]], standardize=False)
    with pytest.raises(ValueError, match="A projection overflows"):
        directions.operator(HUGE)


@pytest.mark.parametrize("correction", FAMILY, ids=str)
def test_negative_zero_is_zero(correction):
    zeros = np.zeros((3, 2))
    expected = correction.operator(zeros, zeros).dense()
    np.testing.assert_array_equal(correction.operator(-zeros, zeros).dense(), expected)
    np.testing.assert_array_equal(correction.operator(zeros, -zeros).dense(), expected)


def test_the_callers_arrays_stay_as_they_were():
    train, target = X.copy(), T.copy()
    for correction in FAMILY:
        correction.operator(train, target).matmat(np.ones((20, 1)))
    np.testing.assert_array_equal(train, X)
    np.testing.assert_array_equal(target, T)
