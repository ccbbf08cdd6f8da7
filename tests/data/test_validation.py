"""Bad input gets a clear error, odd input the same result, and the caller's data stay."""

from __future__ import annotations

from datetime import date, time, timedelta

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pytest

from covshift import v_matrix
from covshift.corrections import Additive, Gaussian, Multiplicative, Pairwise, Sliced, Uniform
from covshift.data.validation import check_points
from covshift.exceptions import InputError

rng = np.random.default_rng(0)
X, T = rng.normal(size=(20, 3)), rng.normal(size=(30, 3)) + 0.5
FAMILY = [Multiplicative(), Additive(), Pairwise(), Sliced(random_state=0), Uniform(), Gaussian()]


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
        (X[:0], T, r"^X: .*0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (X, T[:0], r"^X_target: .*0 sample\(s\)"),
        (X[:, :0], T[:, :0], r"^X: .*0 feature\(s\) \(shape=\(20, 0\)\) while a minimum of 1"),
        (X[:, 0], T, r"^X: Expected 2D array(.|\n)*Reshape your data"),
        (X, T[:, 0], "^X_target: Expected 2D array"),
        (X, (T, T), "tuple of 2 items"),
    ],
)
def test_bad_samples_get_a_clear_error(train, target, message):
    with pytest.raises(ValueError, match=message):
        v_matrix(train, target)


def test_every_bad_column_is_counted_and_named():
    frame = pd.DataFrame(X.copy(), columns=["age", "income", "visits"])  # pandas 2 writes through
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
    reordered = v_matrix(frame, frame[["b", "a", "c"]])
    np.testing.assert_array_equal(reordered, v_matrix(frame, frame))
    with pytest.raises(ValueError, match=r"\['c'\] only in X, \['d'\] only in X_target"):
        v_matrix(frame, frame.rename(columns={"c": "d"}))


@pytest.mark.parametrize("library", [pd, pl])
def test_text_columns_are_named(library):
    frame = library.DataFrame({"age": [1.0, 2.0], "town": ["x", "y"]})
    with pytest.raises(ValueError, match=r"text or category columns: 'town'. Encode them"):
        check_points(frame, "X")


DAYS = np.array([["2020-01-01"], ["NaT"]], dtype="M8[D]")


@pytest.mark.parametrize(
    ("dates", "column"),
    [
        (DAYS, "0"),
        (DAYS - DAYS[0, 0], "0"),
        (pd.DataFrame({"n": [1, 2], "day": DAYS[:, 0]}), "'day'"),
        (pd.DataFrame({"n": [1, 2], "age": DAYS[:, 0] - DAYS[0, 0]}), "'age'"),
        (pd.DataFrame({"p": pd.period_range("2020", periods=2)}), "'p'"),
        (pl.DataFrame({"n": [1, 2], "day": [date(2020, 1, 1)] * 2}), "'day'"),
        (pl.DataFrame({"hour": [time(1), time(2)]}), "'hour'"),
        (pl.DataFrame({"span": [timedelta(1), timedelta(2)]}), "'span'"),
        ([[1.0, date(2020, 1, 1)]], "1"),
        (np.array([[1.0, pd.NaT]], dtype=object), "1"),
    ],
)
def test_dates_and_times_are_refused_by_column(dates, column):
    with pytest.raises(ValueError, match=f"X_target has date or time columns: {column}. Turn"):
        check_points(dates, "X_target")


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ([["1", "2"]], "0, 1"),
        ([[1.0, "2"], [3.0, 4.0]], "1"),
        (np.array([["1"], ["2"]]), "0"),
        (np.array([[1.0, "2"]], dtype=object), "1"),
        (pl.DataFrame({"n": [1], "e": ["a"]}, schema={"n": pl.Int8, "e": pl.Enum(["a"])}), "'e'"),
        (pd.DataFrame({"n": [1, 2], "c": pd.Categorical([1, 2])}), "'c'"),
        (pd.DataFrame({"i": pd.interval_range(0, 2)}), "'i'"),
    ],
)
def test_text_and_numeric_strings_are_refused_by_column(text, column):
    with pytest.raises(ValueError, match=f"X has text or category columns: {column}. Encode"):
        check_points(text, "X")


def test_masked_entries_are_refused_by_column():
    masked = np.ma.masked_equal([[1.0, 2.0], [3.0, 4.0]], 4.0)
    with pytest.raises(ValueError, match="X has masked entries in column 1"):
        check_points(masked, "X")
    np.testing.assert_array_equal(check_points(masked[:1], "X"), [[1.0, 2.0]])
    with pytest.raises(ValueError, match="target_weight has masked entries"):
        v_matrix([[0.0]], [[1.0], [2.0]], target_weight=np.ma.masked_equal([1.0, 2.0], 2.0))


@pytest.mark.parametrize(
    ("numbers", "column"),
    [
        (np.array([[0, 2**53 + 1]]), "1"),
        (np.array([[0, 2**64 - 1]], dtype=np.uint64), "1"),
        ([[0, -(2**53) - 1]], "1"),
        ([[0, 2**70 + 1]], "1"),
        (pd.DataFrame({"a": [0.5, 1.0], "id": [1, 2**53 + 1]}), "'id'"),
        (pd.DataFrame({"id": pd.array([1, 2**53 + 1], dtype="Int64")}), "'id'"),
        (pl.DataFrame({"a": [0.5], "id": [2**53 + 1]}), "'id'"),
        (array_api_strict.asarray([[2**53 + 1]]), "0"),
    ],
)
def test_integers_that_float64_would_change_are_refused(numbers, column):
    with pytest.raises(
        ValueError, match=f"whole numbers that float64 cannot hold in column {column}"
    ):
        check_points(numbers, "X")


def test_large_integers_that_float64_holds_are_taken():
    exact = [[2**53, -(2**53) - 2, -(2**63), 3 * 2**60]]
    assert check_points(np.array(exact), "X").tolist() == exact


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
    for train, target in ((narrow, values), (values, narrow), (values, pl.DataFrame(narrow))):
        V = v_matrix(train, target)
        assert V.dtype == train.dtype
        np.testing.assert_allclose(V, expected, atol=1e-6)
    assert v_matrix(np.array([[0.7]]), np.float32([[0.7]])) == 1


@pytest.mark.parametrize(("wide", "name"), [(0, "X"), (1, "X_target")])
def test_numbers_beyond_the_coarser_precision_are_refused(wide, name):
    samples = [np.ones((2, 1), dtype=np.float32), np.ones((2, 1), dtype=np.float32)]
    samples[wide] = np.array([[1.0], [1e300]])
    with pytest.raises(ValueError, match=f"^{name} holds numbers beyond float32"):
        v_matrix(*samples)


HUGE = np.array([[1e308, -1e308], [-1e308, 1e308], [0.0, 1.0]])


@pytest.mark.parametrize("correction", FAMILY, ids=str)
def test_huge_numbers_give_a_finite_v(correction):
    assert np.isfinite(correction.operator(HUGE, HUGE[::-1]).dense()).all()


def test_a_box_as_wide_as_the_floats_is_cut_in_half_in_the_middle():
    V = Uniform().operator([[-1e308], [0.0], [1e308]])
    np.testing.assert_allclose(V.diagonal(), [1.0, 0.5, 0.0])


@pytest.mark.parametrize("tiny", [1e-20, 1e-320])
def test_extreme_target_weights_leave_anderson_darling_finite(tiny):
    """F rounds to 1 at all points but the first; 1 - F does not, summed from the other end."""
    T = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    weight = [1.0, tiny, tiny]
    one = Additive(phi="anderson-darling").operator(T[:, :1], T[:, :1], target_weight=weight)
    np.testing.assert_allclose(-np.diff([*one.diagonal(), 0.0]), [4, 2 / 3, 2])
    joint = Multiplicative(phi="anderson-darling").operator(T, T, target_weight=weight).dense()
    assert np.isfinite(joint).all()
    assert joint.max() <= 8


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


def test_whole_numbers_of_400_digits_are_refused():
    rows = np.array([[10**400, 1], [2, 3]], dtype=object)
    with pytest.raises(InputError, match="whole numbers that float64 cannot hold in column 0"):
        check_points(rows, "X")
