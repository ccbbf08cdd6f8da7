"""Counts of rows: `repeat_rows` makes the rows that they stand for; weights have no scale."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import covshift
from covshift import Margins, Predictions, estimate, evaluate, repeat_rows
from covshift.exceptions import InputError

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


def test_rows_are_repeated_in_their_own_kind():
    values, counts = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [2, 0, 1]
    expected = [[0.0, 1.0], [0.0, 1.0], [4.0, 5.0]]
    X, y = repeat_rows(np.array(values), np.array([1, 2, 3]), counts)
    assert X.tolist() == expected
    assert y.tolist() == [1, 1, 3]
    frame = pandas.DataFrame(values, columns=["a", "b"], index=[7, 8, 9])
    X, y = repeat_rows(frame, pandas.Series([1, 2, 3], index=[7, 8, 9], name="y"), counts)
    assert X.to_numpy().tolist() == expected
    assert X.index.tolist() == y.index.tolist() == [0, 1, 2]  # fresh, and the same
    assert y.name == "y"
    X, y = repeat_rows(polars.DataFrame(values, schema=["a", "b"], orient="row"), None, counts)
    assert isinstance(X, polars.DataFrame)
    assert X.rows() == [tuple(row) for row in expected]
    assert y is None


def test_text_and_categories_stay_what_they_are():
    frame = pandas.DataFrame({"k": pandas.Categorical(["u", "v"]), "t": ["a", None]})
    X, _ = repeat_rows(frame, None, np.array([1.0, 2.0]))
    assert X["k"].dtype == frame["k"].dtype
    assert X["k"].tolist() == ["u", "v", "v"]
    assert X["t"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([1, 0.5, 1.5], r"counts holds 2 values that are not whole numbers.*are sample_weight"),
        ([10**9, 0, 0], "counts sums to 1,000,000,000, and at most 5,000,000 rows"),
        ([2.0**60, 0, 0], "counts sums to 1.15e"),
    ],
)
def test_what_counts_nothing_is_refused(counts, words):
    with pytest.raises(InputError, match=words):
        repeat_rows(np.ones((3, 1)), None, counts)


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(90, 2)), rng.normal(0.4, 1.0, size=(70, 2))
    y = (X[:, 0] + rng.normal(size=90) > 0).astype(float)
    return X, T, y, rng.integers(0, 4, 90), rng.integers(0, 4, 70)


@pytest.mark.thorough
def test_an_estimate_of_repeated_rows_counts_them(samples):
    """They are people who are equal; copies of one person are named as clusters, and err more."""
    X, T, y, times, seen = samples
    again = np.repeat(np.arange(90), times)
    X, y = repeat_rows(X, y, times)
    T, _ = repeat_rows(T, None, seen)
    found, named = estimate(X, y, T), estimate(X, y, T, cluster=again)
    assert found.n_train == times.sum()
    for row, other in zip(found.table, named.table, strict=True):
        assert abs(row.value - other.value) < 0.2 * other.standard_error
    assert found.standard_error < named.standard_error


def test_margins_of_repeated_rows_count_them(samples):
    _, T, _, _, seen = samples
    found = Margins.from_rows(repeat_rows(T, None, seen)[0])
    assert found.size == seen.sum()


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [1000.0, pytest.param(1e-3, marks=pytest.mark.thorough)])
def test_the_scale_of_weights_says_nothing(scale, samples):
    X, T, y, _, _ = samples
    rng = np.random.default_rng(1)
    d, v = rng.uniform(0.5, 3, 90), rng.uniform(0.5, 3, 70)
    scores, there = 1 / (1 + np.exp(-X[:, 0])), 1 / (1 + np.exp(-T[:, 0]))
    found = []
    for factor in (1.0, scale):
        weights = {"sample_weight": factor * d, "target_weight": factor * v}
        one = estimate(X, y, T, **weights)
        other = evaluate(Predictions(scores, there), X, y, T, metrics="accuracy", **weights)
        found.append([[row.value, row.standard_error] for row in (*one.table, *other.table)])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-8)


def test_no_signature_has_counts_of_rows():
    """Whoever has counts repeats the rows: there is one way, and weights mean one thing."""
    for name in covshift.__all__:
        value = getattr(covshift, name)
        methods = [] if not inspect.isclass(value) else [value.__init__, value.__dict__.get("fit")]
        for call in [value, *methods]:
            if callable(call):
                given = inspect.signature(call).parameters
                assert not {"frequency_weight", "target_frequency", "frequency"} & set(given), name
