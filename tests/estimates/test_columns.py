"""The number corrected for sets of columns, and the Shapley values of columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import reference

from covshift import Margins
from covshift.data import Samples
from covshift.engine import columns
from covshift.engine.columns import ColumnSets
from covshift.numerics.influence import Design


def shifted(N=200, M=150, n=4, seed=0, weights=False):
    rng = np.random.default_rng(seed)
    mix = np.eye(n) + 0.3
    X = rng.normal(size=(N, n)) @ mix
    T = rng.normal(size=(M, n)) @ mix + np.linspace(0.8, 0.0, n)
    y = X[:, 0] + 0.5 * X[:, 1] * X[:, -1] + np.maximum(X[:, 1], 0) + 0.3 * rng.normal(size=N)
    more = {}
    if weights:
        more = {"sample_weight": rng.uniform(0.5, 2, N), "target_weight": rng.uniform(0.5, 2, M)}
    return Samples.of(X, y, T, **more), y


def naive(sets, sample):
    """v(J) by the oracle, from the basis as it is."""
    t = sets.moves / sample.share[:, None] + sets.sides[:, 1]

    def value(J):
        inside = [k for k, pair in enumerate(sets.parents) if set(pair) <= set(J)]
        y = sets.y + sets.mean
        return reference.corrected_for(sets.B, t, y, sets.d, sample.share, inside, sets.penalty)

    return value


@pytest.mark.parametrize("weights", [False, True])
def test_values_and_shares_are_those_of_the_oracle(weights):
    sample, y = shifted(weights=weights)
    sets = ColumnSets.of(sample, y)
    value = naive(sets, sample)
    for J in ([], [0], [1, 3], range(4)):
        assert sets.value(J) == pytest.approx(value(J), abs=1e-10)
        w = sets.weights(J)
        assert np.mean(w) == pytest.approx(1)
        assert np.average(y, weights=w) == pytest.approx(value(J), abs=1e-10)
        assert sets.influence(J).value[0] == pytest.approx(value(J), abs=1e-10)
    expected = reference.shapley_values(value, 4)
    found = sets.shapley()
    np.testing.assert_allclose(found.value, expected, atol=1e-10)
    assert found.value.sum() == pytest.approx(value(range(4)) - value([]), abs=1e-10)


def test_products_belong_to_both_of_their_columns():
    sample, y = shifted()
    sets = ColumnSets.of(sample, y)
    pairs = sets.parents[sets.parents[:, 0] != sets.parents[:, 1]]
    assert {tuple(sorted(pair)) for pair in pairs} == {
        (a, b) for a in range(4) for b in range(a + 1, 4)
    }


def test_an_order_has_the_values_of_its_sets():
    sample, y = shifted(n=5)
    sets = ColumnSets.of(sample, y)
    order = np.array([3, 0, 4, 1, 2])
    found = sets._along(sets.parents, order)
    one_by_one = [sets.influence(order[:k]) for k in range(6)]
    for k, feature in enumerate(order):
        added = one_by_one[k + 1].minus(one_by_one[k])
        assert found.value[feature] == pytest.approx(added.value[0], abs=1e-10)
        np.testing.assert_allclose(found.train[:, feature], added.train[:, 0], atol=1e-12)
        np.testing.assert_allclose(found.target[:, feature], added.target[:, 0], atol=1e-12)


def test_drawn_orders_are_near_all_sets(monkeypatch):
    sample, y = shifted(n=5, N=300)
    sets = ColumnSets.of(sample, y)
    exact = sets.shapley()
    monkeypatch.setattr(columns, "_EXACT", 1)
    drawn = sets.shapley()
    error = exact.standard_error(Design.simple(300))
    assert (np.abs(drawn.value - exact.value) <= 0.4 * error).all()
    assert drawn.value.sum() == pytest.approx(exact.value.sum(), abs=1e-10)
    np.testing.assert_allclose(drawn.standard_error(Design.simple(300)), error, rtol=0.2)


def test_joined_features_come_and_go_together():
    sample, y = shifted()
    sets = ColumnSets.of(sample, y)
    found = sets.shapley([[0, 2], [1], [3]])
    value = naive(sets, sample)
    parts = ([0, 2], [1], [3])
    expected = reference.shapley_values(lambda J: value([k for j in J for k in parts[j]]), 3)
    np.testing.assert_allclose(found.value, expected, atol=1e-10)


def test_equal_columns_have_equal_shares_and_constant_ones_none():
    rng = np.random.default_rng(1)
    x, t = rng.normal(size=300), rng.normal(size=200) + 1
    z, u = rng.normal(size=300), rng.normal(size=200)
    X = np.column_stack([x, x, z, np.ones(300)])
    T = np.column_stack([t, t, u, np.ones(200)])
    y = 2 * x + z + 0.1 * rng.normal(size=300)
    found = ColumnSets.of(Samples.of(X, y, T), y).shapley().value
    assert found[0] == pytest.approx(found[1], abs=1e-10)
    assert found[0] + found[1] == pytest.approx(2 * (t.mean() - x.mean()), abs=0.05)
    assert found[3] == pytest.approx(0, abs=1e-12)


def test_a_column_that_neither_moved_nor_matters_has_no_share():
    rng = np.random.default_rng(2)
    X, T = rng.normal(size=(2000, 3)), rng.normal((1, 0, 1), size=(2000, 3))
    y = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=2000)
    found = ColumnSets.of(Samples.of(X, y, T), y).shapley()
    error = found.standard_error(Design.simple(2000))
    assert found.value[0] == pytest.approx(1, abs=4 * error[0])
    assert abs(found.value[1]) < 4 * error[1]
    assert abs(found.value[2]) < 4 * error[2]
    assert error[2] < 0.1


def test_columns_of_a_table_are_one_feature_each():
    rng = np.random.default_rng(3)

    def rows(n, rare):
        income = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
        level = rng.choice([f"l{k}" for k in range(120)], n)
        town = rng.choice(["a", "b", "c"], n, p=[1 - 2 * rare, rare, rare])
        when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
        return pd.DataFrame({"income": income, "level": level, "town": town, "when": when})

    X, T = rows(500, 0.1), rows(400, 0.3)
    y = (X["town"] == "a") * 1.0 + 0.1 * rng.normal(size=500)
    sets = ColumnSets.of(Samples.of(X, y, T), y.to_numpy())
    assert set(sets.names) == {"income", "level", "town", "when"}
    found = dict(zip(sets.names, sets.shapley().value, strict=True))
    assert found["town"] == pytest.approx(
        (T["town"] == "a").mean() - (X["town"] == "a").mean(), abs=0.05
    )
    assert max(abs(found[name]) for name in ("income", "level", "when")) < 0.05


def test_fifty_rows_of_many_columns_have_finite_shares():
    rng = np.random.default_rng(4)
    X, T = rng.normal(size=(50, 20)), rng.normal(size=(60, 20)) + 0.2
    y = X[:, 0] + rng.normal(size=50)
    sets = ColumnSets.of(Samples.of(X, y, T), y)
    found = sets.shapley()
    assert np.isfinite(found.train).all()
    assert found.value.sum() == pytest.approx(sets.value(range(20)) - sets.value([]), abs=1e-10)


@pytest.mark.parametrize("size", [None, 500])
def test_margins_have_the_columns_that_they_publish(size):
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], 400), "age": rng.uniform(20, 80, 400)})
    ages = {(0, 35): 0.25, (35, 50): 0.25, (50, 65): 0.25, (65, None): 0.25}
    margins = Margins({"sex": {"f": 0.2, "m": 0.8}, "age": ages}, size=size)
    y = (X["sex"] == "m").to_numpy() + 0.1 * rng.normal(size=400)
    sample = Samples.of(X, y, margins)
    sets = ColumnSets.of(sample, y)
    assert sets.names == ("sex", "age")
    found = sets.shapley()
    assert found.value[0] == pytest.approx(0.8 - np.mean(X["sex"] == "m"), abs=0.05)
    assert found.target.any() == (size is not None)
    assert len(found.target) == (800 if size else 1)
