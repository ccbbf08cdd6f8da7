"""A category is one feature of the diagnosis: against scipy, against all deals, without a shift."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats

from covshift import TableEncoder, diagnose
from covshift.data import Samples
from covshift.data.features import made_of
from covshift.diagnostics.distances import feature_differences
from covshift.diagnostics.features import feature_shifts
from covshift.diagnostics.levels import _moments, chi_square_p_value, level_shares
from covshift.exceptions import InputError

pandas = pytest.importorskip("pandas")


def one_hot(codes, n_levels):
    return (np.asarray(codes)[:, None] == np.arange(n_levels)).astype(float)


def named(samples, names):
    """Samples of arrays whose columns have these names."""
    return replace(samples, names=tuple(names), made=made_of(names))


def shifts(X, T, names, groups, **given):
    samples = named(Samples.of_rows(X, T, groups=groups, **given), names)
    return feature_shifts(samples, None, np.zeros(len(samples.features)))


def of_levels(x, t, n_levels, **given):
    """The line of one category, given the codes of its levels in both samples."""
    names = [f"town={'abcdefghijklmnopqrstuvwxyz'[k]}" for k in range(n_levels)]
    groups = np.zeros(n_levels, dtype=int)
    (found,) = shifts(one_hot(x, n_levels), one_hot(t, n_levels), names, groups, **given)
    return found


# The distance and the test


@pytest.mark.parametrize("n_levels", [3, 8])
def test_the_p_value_is_that_of_scipys_chi_square_test(n_levels):
    rng = np.random.default_rng(n_levels)
    p = rng.dirichlet(np.full(n_levels, 5.0))
    x, t = (
        rng.choice(n_levels, 4000, p=p),
        rng.choice(n_levels, 3000, p=(p + 0.02) / (p + 0.02).sum()),
    )
    found = of_levels(x, t, n_levels)
    table = [np.bincount(x, minlength=n_levels), np.bincount(t, minlength=n_levels)]
    expected = stats.chi2_contingency(table, correction=False).pvalue
    assert found.p_value == pytest.approx(expected, rel=0.02)
    shares = [row / row.sum() for row in table]
    assert found.ks == pytest.approx(np.abs(shares[0] - shares[1]).sum() / 2)


@pytest.mark.parametrize("both", [(2, 1, 3), (1, 1, 1, 4), (3, 3)])
def test_mean_and_variance_are_those_over_all_deals(both):
    N = 4
    n, values, chances = sum(both), [], []
    for train in product(*(range(k + 1) for k in both)):
        if sum(train) == N:
            rows = np.array([train, np.subtract(both, train)], dtype=float)
            expected = rows.sum(axis=1)[:, None] * rows.sum(axis=0) / n
            values.append(((rows - expected) ** 2 / expected).sum())
            chances.append(np.prod([comb(k, a) for k, a in zip(both, train, strict=True)]))
    chances = np.array(chances) / comb(n, N)
    mean = chances @ values
    variance = chances @ (np.array(values) - mean) ** 2
    assert chances.sum() == pytest.approx(1)
    assert _moments(np.array(both, dtype=float), N, n - N) == pytest.approx((mean, variance))


@pytest.mark.parametrize("rows", [100, 1000])
@pytest.mark.parametrize("levels", ["3", "30", "rare"])
def test_without_a_shift_alarms_are_as_rare_as_they_should_be(rows, levels):
    p = {"3": np.ones(3), "30": np.ones(30), "rare": 0.6 ** np.arange(30.0)}[levels]
    p = p / p.sum()
    rng = np.random.default_rng(rows)
    draws = zip(rng.multinomial(rows, p, 2000), rng.multinomial(rows, p, 2000), strict=True)
    found = np.array([chi_square_p_value(a / rows, b / rows, rows, rows) for a, b in draws])
    for level in (0.05, 0.015):
        error = 3 * np.sqrt(level / 2000)
        assert np.mean(found <= level) == pytest.approx(level, abs=error + 0.1 * level)


def test_rare_levels_of_few_target_rows_raise_no_alarms():
    # Pearson's distribution gives nine percent here.
    p = 0.6 ** np.arange(30.0) / np.sum(0.6 ** np.arange(30.0))
    rng = np.random.default_rng(0)
    draws = zip(rng.multinomial(1000, p, 2000), rng.multinomial(50, p, 2000), strict=True)
    found = [chi_square_p_value(a / 1000, b / 50, 1000, 50) for a, b in draws]
    assert np.mean(np.array(found) <= 0.015) < 0.025


def test_two_levels_are_the_same_in_one_column_and_in_two():
    rng = np.random.default_rng(0)
    x, t = rng.integers(0, 2, 60), (rng.uniform(size=50) < 0.7).astype(int)
    (single,) = shifts(x[:, None] * 1.0, t[:, None] * 1.0, ["town=b"], [0])
    (number,) = shifts(x[:, None] * 1.0, t[:, None] * 1.0, ["town"], None)
    double = of_levels(x, t, 2)
    assert (single.kind, number.kind, double.kind) == ("category", "number", "category")
    assert single.name == double.name == "town"
    for found in (single, double):
        assert found.ks == pytest.approx(number.ks)
        assert abs(found.smd) == pytest.approx(abs(number.smd))
        assert found.energy == pytest.approx(number.energy)
    assert single.p_value == number.p_value  # an exact test
    assert double.p_value == pytest.approx(number.p_value, abs=0.05)


def test_weights_count_by_kishs_number_and_integers_are_no_repeats():
    x, t = np.repeat([0, 1, 2], [40, 40, 40]), np.repeat([0, 1, 2], [60, 30, 30])
    equal = of_levels(x, t, 3)
    assert of_levels(x, t, 3, sample_weight=np.full(120, 5.0)).p_value == pytest.approx(
        equal.p_value
    )
    d = np.tile([1.0, 3.0], 60)  # of the same shares
    found = of_levels(x, t, 3, sample_weight=d)
    assert found.ks == pytest.approx(equal.ks)
    size = d.sum() ** 2 / (d @ d)
    expected = chi_square_p_value(np.ones(3) / 3, np.array([0.5, 0.25, 0.25]), size, 120.0)
    assert found.p_value == pytest.approx(expected)
    assert found.p_value > equal.p_value


def test_the_order_and_the_names_of_levels_say_nothing():
    rng = np.random.default_rng(1)
    x, t = rng.integers(0, 5, 100), rng.integers(0, 4, 100)
    other = rng.permutation(5)
    one, two = of_levels(x, t, 5), of_levels(other[x], other[t], 5)
    for field in ("ks", "p_value", "energy"):
        assert getattr(one, field) == pytest.approx(getattr(two, field))
    assert abs(one.smd) == pytest.approx(abs(two.smd))


def test_rows_in_none_of_the_levels_are_a_level_of_their_own():
    X, T = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    half = np.full(2, 0.5)
    found = level_shares(("a", "b"), X, T, half, half)
    assert found.names == ("a", "b", "(others)")
    assert found.distance == 0.5


# The lines of a data frame


def frame(n, p=(0.25, 0.25, 0.5), seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "age": rng.normal(40 + 10 * shift, 10, n),
            "region": rng.choice(["east", "north", "south"], n, p=p),
            "smoker": rng.choice(["no", "yes"], n, p=[0.7, 0.3]),
        }
    )


def test_a_frame_has_one_line_per_column_and_names_the_level():
    found = diagnose(frame(300), frame(300, (0.25, 0.5, 0.25), seed=1), methods=())
    assert [f.name for f in found.features] == ["age", "region", "smoker"]
    assert [f.kind for f in found.features] == ["number", "category", "number"]
    region = found.worst[0]
    assert (region.name, region.level) in {("region", "north"), ("region", "south")}
    assert f"'region' ({region.detail})" in found.reason
    assert f"region: {region.detail}" in " ".join(str(found).split())
    assert region.level_train == pytest.approx((frame(300)["region"] == region.level).mean())
    assert region.detail.count("%") == 2
    assert "region" in found.to_frame().index
    assert found.to_dict()["features"][1]["kind"] == "category"


def test_a_frame_is_diagnosed_as_the_same_numbers_with_groups():
    X, T = frame(120), frame(150, (0.2, 0.2, 0.6), seed=1, shift=0.5)
    encoder = TableEncoder().fit(X, X_target=T)
    levels = [name.partition("=")[2] for name in encoder.columns if name.startswith("region=")]

    def by_hand(table):
        of_region = [table["region"] == level for level in levels]
        rows = np.column_stack([table["age"], *of_region, table["smoker"] == "yes"])
        return pandas.DataFrame(rows.astype(float), columns=names)

    names = ["age", *(f"region={level}" for level in levels), "smoker"]
    given = {"groups": [0, 1, 1, 1, 2], "random_state": 3}
    expected = diagnose(by_hand(X), by_hand(T), **given).to_dict()
    found = diagnose(X, T, random_state=3).to_dict()
    assert encoder.columns == tuple(names)
    assert {**found, "notes": []} == {**expected, "notes": []}


def test_a_level_that_only_the_target_has_is_uncovered_and_named():
    X, T = frame(300), frame(300, seed=1)
    T.loc[:59, "region"] = "islands"
    found = diagnose(X, T, methods=())
    assert found.verdict == "no overlap"
    assert "20% of the target has 'region' = 'islands', which no training row has" in found.reason
    assert found.features[1].outside_range == pytest.approx(0.2)
    assert found.features[1].level == "islands"


def test_a_level_that_only_the_training_sample_has_is_covered():
    X, T = frame(300), frame(300, (0.5, 0.5, 0.0), seed=1)
    found = diagnose(X, T, methods=())
    assert found.support.uncovered == ()
    assert found.features[1].outside_range == 0
    assert (found.features[1].level, found.features[1].level_target) == ("south", 0)


def test_groups_are_refused_beside_a_frame_that_has_its_own():
    with pytest.raises(InputError, match="data frame has text"):
        diagnose(frame(30), frame(30), groups=[0, 1, 2])
    with pytest.raises(InputError, match="number of the feature"):
        diagnose(np.zeros((5, 2)), np.zeros((5, 2)), groups=[0])


# Gaps


def with_gaps(n, share, shift=0.0, seed=0):
    """Columns "income", filled with zero where it is missing, and "income missing"."""
    rng = np.random.default_rng(seed)
    lost = rng.uniform(size=n) < share
    rows = np.column_stack([np.where(lost, 0.0, rng.normal(shift, 1, n)), lost])
    return pandas.DataFrame(rows, columns=["income", "income missing"])


def test_more_gaps_in_the_target_are_a_finding_and_the_number_is_compared_where_known():
    X, T = with_gaps(400, 0.02), with_gaps(400, 0.3, seed=1)
    found = diagnose(X, T, groups=[0, 1], methods=())
    income, gaps = found.features
    assert (income.kind, gaps.kind) == ("number", "missing")
    assert income.p_value > 0.05
    known = [rows.income[rows["income missing"] == 0] for rows in (X, T)]
    assert income.ks == pytest.approx(stats.ks_2samp(*known).statistic)
    assert gaps.p_value < 1e-6
    assert "the missing values of 'income'" in found.reason
    assert f"income: {gaps.detail}" in " ".join(str(found).split())


def test_gaps_that_training_rows_never_have_are_uncovered():
    X, T = with_gaps(300, 0.0), with_gaps(300, 0.4, seed=1)
    found = diagnose(X, T, groups=[0, 1], methods=())
    assert found.verdict == "no overlap"
    assert "lacks 'income', which is known in all training rows" in found.reason


@pytest.mark.parametrize("shares", [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
def test_a_number_that_a_sample_never_has_tells_nothing_but_its_gaps_do(shares):
    X, T = with_gaps(50, shares[0]), with_gaps(50, shares[1], seed=1)
    found = diagnose(X, T, groups=[0, 1])
    assert (found.features[0].ks, found.features[0].p_value) == (0, 1)
    assert found.features[1].ks == (shares[0] != shares[1])
    assert "Verdict" in str(found)


def test_differences_are_the_largest_of_the_columns_before_and_after():
    x, t = np.repeat([0, 1, 2], [50, 30, 20]), np.repeat([0, 1, 2], [20, 30, 50])
    both = Samples.of_rows(one_hot(x, 3), one_hot(t, 3), groups=np.zeros(3, dtype=int))
    samples = named(both, ["a=x", "a=y", "a=z"])
    before = feature_differences(samples)
    assert before.shape == (1,)
    assert abs(before[0]) == pytest.approx(0.3 / np.sqrt((0.25 + 0.16) / 2))
    weights = np.repeat([0.4, 1.0, 2.5], [50, 30, 20])
    assert feature_differences(samples, weights)[0] == pytest.approx(0, abs=1e-9)
