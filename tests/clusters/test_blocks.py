"""Fits from blocks of rows: the fit of all rows at once, in bounded memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import with_kernel
from sklearn.linear_model import Ridge

from covshift import VSVC, VSVR
from covshift.corrections import Additive, Importance, Sliced
from covshift.distributed import fit_blocks, from_arrays, from_parquet
from covshift.distributed.reduce import Blocks
from covshift.distributed.target import FeaturePoints, margins
from covshift.exceptions import ConstantColumnWarning
from covshift.numerics.hashing import HashedSample, RowUnits, row_hash
from covshift.numerics.kernels import Spread

rng = np.random.default_rng(0)
N, M, n = 2000, 150, 3
X = rng.normal(size=(N, n))
T = rng.normal(0.4, 1.0, size=(M, n))
y = np.sin(X[:, 0]) + X[:, 1] + rng.normal(size=N)
labels = np.array(["no", "yes"])[(y > 0).astype(int)]
w = rng.integers(0, 3, N).astype(float)


def machine(kind=VSVR, **parameters):
    """One kernel by name, so that the sums alone are compared, and quickly."""
    fixed = {"kernel": "rbf", "width": "scale", "coordinates": "none"}
    others = {"correction": "blended", "n_components": 40, "random_state": 0}
    return kind(**with_kernel({**others, **fixed, **parameters}))


def whole(X, y, T, kind=VSVR, sample_weight=None, **parameters):
    model = machine(kind, solver="primal", **parameters)
    return model.fit(X, y, X_target=T, sample_weight=sample_weight)


# Choices by content


def test_a_hashed_sample_depends_neither_on_order_nor_on_blocks_nor_on_repeats():
    expected = HashedSample.of(X, 50, 7, RowUnits.of(X)).sorted_rows
    order = rng.permutation(np.repeat(np.arange(N), 2))
    parts = [HashedSample.of(X[some], 50, 7, RowUnits.of(X)) for some in np.array_split(order, 7)]
    found = parts[0]
    for part in parts[1:]:
        found = found.combine(part)
    np.testing.assert_array_equal(found.sorted_rows, expected)
    assert len(expected) == 50
    assert not np.array_equal(HashedSample.of(X, 50, 8, RowUnits.of(X)).sorted_rows, expected)


def test_a_hashed_sample_is_fair():
    grid = np.arange(1000.0)[:, None]
    units = RowUnits.of(grid)
    samples = [HashedSample.of(grid, 100, seed, units) for seed in range(200)]
    chosen = np.concatenate([sample.rows[:, 0] for sample in samples])
    counts = np.bincount(chosen.astype(int), minlength=1000)
    assert np.abs(counts - 20).max() < 6 * np.sqrt(20)  # binomial(200, 0.1)
    assert chosen.mean() == pytest.approx(499.5, abs=6 * 289 / np.sqrt(20000))


def test_zero_and_minus_zero_are_the_same_row():
    zeros = np.zeros((2, 3))
    np.testing.assert_array_equal(row_hash(-zeros), row_hash(zeros))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 1999), st.floats(1e-150, 1e150))
def test_the_spread_of_two_parts_is_that_of_the_whole(cut, unit):
    rows = X * unit
    both = Spread.of(rows[:cut], w[:cut] + 1).combine(Spread.of(rows[cut:], w[cut:] + 1))
    whole = Spread.of(rows, w + 1)
    share = (w + 1) / (w + 1).sum()
    mean = share @ X.mean(axis=1)
    variance = share @ ((X - mean) ** 2).mean(axis=1)
    assert whole.square / whole.weight * whole.unit**2 == pytest.approx(variance * unit**2)
    assert both.width("rbf", n) == pytest.approx(whole.width("rbf", n), rel=1e-11)


# The same fit


@pytest.mark.part(20)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "cv", "width": "cv", "coordinates": "standard", "fast": True},
        {"kernel": "main_effects", "width": "cv", "coordinates": "cdf", "fast": True},
        {"correction": "none", "width": "cv"},
        {"correction": "additive", "kernel": "laplacian"},
        {"correction": "multiplicative", "reg": 1.0},
        {"correction": Sliced(10, random_state=0), "width": "median"},
        {"correction": "none", "kernel": "linear"},
        {"correction": Additive(phi="anderson-darling"), "width": 1.3},
    ],
    ids=str,
)
def test_blocks_give_the_fit_of_all_rows(parameters):
    one = whole(X, y, T, sample_weight=w, **parameters)
    for rows in (7 * n, 333, N):
        if rows < 100:
            continue
        two = fit_blocks(machine(**parameters), from_arrays(X, y, w, batch_rows=rows), T)
        assert two.reg_ == pytest.approx(one.reg_, rel=1e-9)
        if one.width_ is not None:
            np.testing.assert_allclose(two.width_, one.width_, rtol=1e-9)
        np.testing.assert_array_equal(two.landmarks_, one.landmarks_)
        np.testing.assert_allclose(two.predict(T), one.predict(T), rtol=0, atol=1e-8)


def test_classes_are_found_wherever_they_are():
    order = np.argsort(labels)  # the first blocks hold one class only
    one = whole(X, labels, T, VSVC)
    blocks = [(X[k], labels[k]) for k in np.array_split(order, 9)]
    two = fit_blocks(machine(VSVC), blocks, T)
    assert two.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(two.predict_proba(T), one.predict_proba(T), atol=1e-10)


def test_several_outcomes_and_single_precision():
    Y = np.column_stack([y, -y])
    single = X.astype(np.float32)
    one = whole(single, Y, T)
    two = fit_blocks(machine(), from_arrays(single, Y, batch_rows=500), T)
    assert two.predict(T).shape == (M, 2)
    np.testing.assert_allclose(two.predict(T), one.predict(T), atol=1e-10)


def test_smooth_kernels_with_many_landmarks_are_sound():
    """Whitening sums of raw kernel values gave predictions of size 1000 here."""
    rows = rng.normal(size=(5000, 2))
    model = whole(rows, rows[:, 0], T[:, :2], n_components=150, reg=1e-3)
    assert np.abs(model.predict(T[:, :2]) - T[:, 0]).max() < 0.3


def test_constant_columns_are_left_out_as_in_fit():
    wide, wide_T = np.insert(X, 1, 5.0, axis=1), np.insert(T, 1, 5.0, axis=1)
    with pytest.warns(ConstantColumnWarning):
        one = whole(wide, y, wide_T)
    with pytest.warns(ConstantColumnWarning, match=r"\[1\]"):
        two = fit_blocks(machine(), from_arrays(wide, y, batch_rows=600), wide_T)
    np.testing.assert_array_equal(two.landmarks_, one.landmarks_)
    np.testing.assert_allclose(two.predict(wide_T), one.predict(wide_T), atol=1e-10)


def test_memory_mapped_arrays(tmp_path):
    for name, array in (("X", X), ("y", y)):
        np.save(tmp_path / f"{name}.npy", array)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy"]
    two = fit_blocks(machine(), from_arrays(*mapped, batch_rows=512), T)
    np.testing.assert_allclose(two.predict(T), whole(X, y, T).predict(T), atol=1e-10)


def test_parquet_files(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(label=labels, weight=w)
    for part, rows in enumerate(np.array_split(np.arange(N), 3)):
        pq.write_table(pa.Table.from_pandas(frame.iloc[rows]), tmp_path / f"{part}.parquet")
    blocks = from_parquet(tmp_path, label="label", weight="weight", batch_rows=300)
    assert max(len(block[0]) for block in blocks()) <= 300
    target = pd.DataFrame(T, columns=list("abc"))
    two = fit_blocks(machine(VSVC), blocks, target)
    assert two.feature_names_in_.tolist() == ["a", "b", "c"]
    one = whole(frame[list("abc")], labels, target, VSVC, sample_weight=w)
    np.testing.assert_allclose(two.predict_proba(target), one.predict_proba(target), atol=1e-10)
    with pytest.raises(ValueError, match=r"no columns \['d'\]"):
        from_parquet(tmp_path, label="label", columns=["d"])


def test_the_index_that_pandas_keeps_in_a_file_is_no_feature(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(label=labels).sample(frac=1, random_state=0)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "shuffled.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "shuffled.parquet").names
    blocks = from_parquet(tmp_path, label="label")
    assert next(iter(blocks()))[0].column_names == list("abc")


# The target, reduced


def test_quantile_points_are_as_near_as_stated():
    rows = np.column_stack(
        [rng.normal(size=20000), rng.integers(0, 5, 20000), rng.pareto(1, 20000)]
    )
    weight = rng.integers(0, 4, 20000).astype(float)
    for bins in (10, 100):
        parts = np.array_split(np.arange(20000), 23)
        blocks = [(rows[k], None, weight[k]) for k in parts]
        found = margins(Blocks(lambda blocks=blocks: blocks), bins)
        assert found.error <= 0.5 / bins
        points = found.points()
        for k in range(3):
            at = np.unique(rows[:, k])
            true = np.array([weight[rows[:, k] <= t].sum() for t in at[:: max(1, len(at) // 500)]])
            near = np.searchsorted(np.sort(points[:, k]), at[:: max(1, len(at) // 500)], "right")
            gap = np.abs(true / weight.sum() - near / bins).max()
            assert gap <= 1 / bins
            assert gap <= found.error + 0.5 / bins + 1e-12


def test_margins_of_few_values_are_exact():
    rows = rng.integers(0, 10, (500, 2)).astype(float)
    found = margins(Blocks(lambda: [(rows[:200], None), (rows[200:], None)]), 20)
    direct = FeaturePoints.of(rows, np.ones(500), 20)
    assert found.error == 0
    np.testing.assert_array_equal(found.points(), direct.points())
    assert found.size == 500


def test_a_reduced_target_gives_nearly_the_same_fit():
    large = np.random.default_rng(5).normal(0.4, 1.0, size=(20000, n))
    every = {"reg": 1.0, "n_components": 300}  # the target's units choose among rows
    rows = [(X[:300], y[:300])]
    exact = fit_blocks(machine(**every), rows, large)
    errors = []
    for bins in (20, 200):
        model = fit_blocks(
            machine(**every), rows, lambda: np.array_split(large, 9), target_bins=bins
        )
        errors.append(np.abs(model.predict(T) - exact.predict(T)).max())
    assert errors[1] < 0.01
    assert errors[1] < errors[0] / 3


def test_the_training_rows_can_be_the_target():
    model = fit_blocks(machine(reg=1.0), from_arrays(X, y, batch_rows=500), target_bins=2000)
    exact = whole(X, y, None, reg=1.0)
    np.testing.assert_allclose(model.predict(T), exact.predict(T), atol=1e-8)


# Errors


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (iter([(X, y)]), "can be read once only"),
        ([], "There are no blocks"),
        ([X], "A block must be"),
        ([(X, y), (X[:, :2], y)], "In block 1: X has 2 features"),
        ([(X, y), (np.full((3, n), np.nan), y[:3])], r"In block 1: X contains NaN"),
        ([(X, y), (X, y[:5])], "In block 1: y has 5 values, but X has"),
        ([(X, y, -w)], "In block 0: sample_weight contains"),
        ([(X, y, 0 * w)], "no rows of positive weight"),
    ],
)
def test_bad_blocks_are_named(blocks, message):
    with pytest.raises(ValueError, match=message):
        fit_blocks(machine(), blocks, T)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "dual"}, "all pairs"),
        ({"correction": Importance("kliep")}, "whole training sample"),
    ],
)
def test_what_needs_all_rows_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit_blocks(machine(**parameters), [(X, y)], T)


def test_other_misuse_is_refused():
    with pytest.raises(TypeError, match="not Ridge"):
        fit_blocks(Ridge(), [(X, y)], T)
    with pytest.raises(TypeError, match="not an iterable"):
        fit_blocks(machine(), 3, T)
    with pytest.raises(ValueError, match="X_target is missing"):
        fit_blocks(machine(), [(X, y)])
    with pytest.raises(ValueError, match="Pass target_bins"):
        fit_blocks(machine(), [(X, y)], lambda: [T])
    with pytest.raises(ValueError, match="looks at more"):
        fit_blocks(machine(correction="multiplicative"), [(X, y)], T, target_bins=20)
    with pytest.raises(ValueError, match="target_bins=1"):
        fit_blocks(machine(), [(X, y)], T, target_bins=1)
    with pytest.raises(ValueError, match="only one class"):
        fit_blocks(machine(VSVC), [(X, np.zeros(N))], T)
    with pytest.raises(ValueError, match="their length differs"):
        from_arrays(X, y[:5])
    with pytest.raises(ValueError, match="batch_rows=0"):
        from_arrays(X, y, batch_rows=0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.thorough
def test_memory_does_not_grow_with_the_rows():
    """Peak memory of a process that fits 40 times as many rows is nearly the same."""
    code = """
        import re, sys
        from pathlib import Path
        import numpy as np
        from covshift import VSVR
        from covshift.distributed import fit_blocks
        def blocks():
            for seed in range(int(sys.argv[1])):
                X = np.random.default_rng(seed).normal(size=(20_000, 5))
                yield X, X[:, 0]
        T = np.random.default_rng(0).normal(size=(100, 5))
        fit_blocks(VSVR(n_components=20, reg=1.0), blocks, T)
        print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
    """
    peaks = []
    for count in ("1", "40"):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), count],
            capture_output=True,
            text=True,
            check=True,
        )
        peaks.append(int(done.stdout) / 1024)  # MB
    assert (
        peaks[1] - peaks[0] < 25
    )  # all rows at once would take 32 MB more, and their features 128
