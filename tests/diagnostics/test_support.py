"""Target rows where a column has no training rows: the chance, false alarms, and what is found."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from covshift.exceptions import NoOverlapError, WeightWarning
from covshift.numerics.support import LEVEL, NO_OVERLAP, STRONG, Uncovered, beyond_extremes, chance
from covshift.numerics.support import uncovered as find
from covshift.weights import CDFWeights


def uncovered(X, T, weight=None):
    weight = np.ones(len(T)) if weight is None else weight
    return find(X, T, weight / weight.sum(), float(weight.sum()))


DRAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "skewed": lambda rng, shape: rng.lognormal(0, 2, size=shape),
    "rounded": lambda rng, shape: rng.normal(size=shape).round(1),
    "five levels": lambda rng, shape: rng.integers(0, 5, size=shape).astype(float),
    "rare ones": lambda rng, shape: (rng.random(shape) < 0.04).astype(float),
}


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5, 6], [1, 2, 2, 5, 5, 5], [1, 1, 3, 3, 4, 6]])
def test_the_chance_is_the_share_of_all_ways_to_deal_the_rows(values):
    N, M = 2, 4
    above = []
    for train in combinations(range(N + M), N):
        rest = [values[i] for i in range(N + M) if i not in train]
        above.append(sum(v > max(values[i] for i in train) for v in rest))
    above = np.array(above)
    for k in set(above):
        assert chance(k, N, M) == pytest.approx((above >= k).mean())


def test_a_value_lacks_with_the_chance_that_all_its_rows_are_target_rows():
    N, M, k = 3, 4, 2  # rows 0 and 1 have the value
    lacking = [not {0, 1} & set(train) for train in combinations(range(N + M), N)]
    assert chance(k, N, M) == pytest.approx(np.mean(lacking))


@pytest.mark.part(20)
@pytest.mark.parametrize("draw", list(DRAWS))
@pytest.mark.parametrize("n", [5, 50])
@pytest.mark.parametrize(
    ("N", "M", "pairs"), [(50, 50, 200), (500, 500, 30), (2000, 50, 30), (50, 2000, 30)]
)
def test_equal_samples_raise_no_alarm_beyond_the_level(draw, n, N, M, pairs):
    rng = np.random.default_rng(0)
    found = [
        bool(uncovered(DRAWS[draw](rng, (N, n)), DRAWS[draw](rng, (M, n)))) for _ in range(pairs)
    ]
    assert sum(found) <= 1 + 4 * LEVEL * pairs


@pytest.mark.parametrize("draw", list(DRAWS))
def test_a_hundred_thousand_equal_rows_raise_no_alarm(draw):
    rng = np.random.default_rng(1)
    X, T = (DRAWS[draw](rng, (100_000, 5)) for _ in range(2))
    assert not uncovered(X, T)


@pytest.mark.thorough
def test_the_level_is_used_where_many_target_rows_meet_few_training_rows():
    """One feature and side: more than 0.3 % of equal samples, or the test would be too timid."""
    rng = np.random.default_rng(2)
    found = [
        bool(uncovered(rng.normal(size=(30, 1)), rng.normal(size=(300, 1)))) for _ in range(3000)
    ]
    assert 0.003 < np.mean(found) <= LEVEL + 0.005


@pytest.mark.parametrize("side", [-1, 1])
def test_one_column_of_fifty_is_found_with_its_side_and_share(side):
    rng = np.random.default_rng(3)
    X, T = rng.uniform(-1, 1, size=(500, 50)), rng.uniform(-1, 1, size=(500, 50))
    T[:60, 17] = side * rng.uniform(1.1, 2, 60)
    (found,) = uncovered(X, T)
    extreme = X[:, 17].max() if side > 0 else X[:, 17].min()
    assert (found.column, found.side, found.value) == (
        17,
        "above" if side > 0 else "below",
        extreme,
    )
    assert found.share == pytest.approx(0.12, abs=0.01)
    assert found.p_value <= LEVEL


def test_a_value_inside_the_range_that_training_lacks_is_found():
    rng = np.random.default_rng(4)
    X, T = (rng.integers(0, 6, size=(400, 8)).astype(float) for _ in range(2))
    X[X[:, 2] == 3, 2] = 4.0
    (found,) = uncovered(X, T)
    assert (found.column, found.side, found.value) == (2, "at", 3.0)
    assert found.share == (T[:, 2] == 3).mean()


@pytest.mark.parametrize("unit", [1.0, 1000.0, 0.1])
def test_a_number_between_covered_neighbours_is_covered(unit):
    rng = np.random.default_rng(4)
    X, T = rng.integers(18, 91, size=(2, 600, 1)).astype(float)
    T[:60] = 72.0

    def told(kept):
        return [part.value for part in uncovered(X[kept, None] * unit, T * unit)]

    assert not told(X != 72)
    assert not told((X != 72) & (X != 71))  # 70 and 73 are near enough
    assert told((X < 60) | (X > 80)) == [72 * unit]


def test_neighbours_of_a_narrow_column_are_its_steps():
    rng = np.random.default_rng(4)
    X, T = rng.binomial(200, 0.1, size=(2, 600, 1)).astype(float)  # quartiles six apart
    T[:60] = 21.0
    assert not uncovered(X[X != 21, None], T)
    assert uncovered(X[(X != 21) & (X != 22), None], T)[0].value == 21


def test_a_value_of_the_target_among_finer_training_values_is_covered():
    rng = np.random.default_rng(4)
    X, T = rng.normal(size=(400, 1)), np.round(rng.normal(size=(400, 1)))
    assert not [part for part in uncovered(X, T) if part.side == "at"]


def test_a_single_new_value_at_the_end_is_told_as_a_value():
    X, T = np.zeros((300, 1)), np.zeros((300, 1))
    T[:90] = 1.0
    (found,) = uncovered(X, T)
    assert found.describe(["owns a car"]) == (
        "30% of the target has 'owns a car' = 1, which no training row has"
    )
    assert "column 0" in found.describe()


def test_integer_weights_are_repeats_and_a_heavy_row_is_one_row():
    rng = np.random.default_rng(5)
    X, T = rng.normal(size=(200, 3)), rng.normal(size=(80, 3))
    T[:10, 1] += 8
    weight = rng.integers(1, 4, 80).astype(float)
    repeated = uncovered(X, np.repeat(T, weight.astype(int), axis=0))
    weighted = uncovered(X, T, weight)
    assert [(p.column, p.side) for p in weighted] == [(p.column, p.side) for p in repeated]
    assert weighted[0].share == pytest.approx(repeated[0].share)
    assert weighted[0].p_value == pytest.approx(repeated[0].p_value)
    heavy = np.full(80, 0.011)
    heavy[0] = 0.3
    T[1:10, 1] -= 8
    share = heavy / heavy.sum()
    assert share[0] > NO_OVERLAP
    assert not find(X, T, share, float(1 / (share @ share)))


def test_extremes_alone_tell_the_same_of_the_sides():
    rng = np.random.default_rng(6)
    X, T = rng.normal(size=(300, 4)), rng.normal(size=(200, 4))
    T[:, 2] += 3
    share = np.full(200, 1 / 200)
    sides = beyond_extremes(X.min(axis=0), X.max(axis=0), 300, T, share, 200.0)
    assert sides == uncovered(X, T)


def test_the_error_of_the_weights_names_column_and_share():
    rng = np.random.default_rng(7)
    X, T = rng.uniform(size=(500, 20)), rng.uniform(size=(500, 20))
    T[:, 3] /= 0.61
    with pytest.raises(NoOverlapError, match=r"40% of the target lies above .* of column 3"):
        CDFWeights().fit(X, X_target=T)
    pandas = pytest.importorskip("pandas")
    names = [f"feature {k}" for k in range(20)]
    X, T = (pandas.DataFrame(rows, columns=names) for rows in (X, T))
    with pytest.warns(WeightWarning, match="'feature 3'"):
        found = CDFWeights(allow_no_overlap=True).fit(X, X_target=T)
    assert not found.overlap_
    assert isinstance(found.uncovered_[0], Uncovered)
    assert 0 < STRONG < NO_OVERLAP < found.uncovered_[0].excess


def test_many_columns_are_counted_after_the_first_few():
    X, T = np.random.default_rng(8).uniform(size=(2, 300, 9))
    with pytest.raises(NoOverlapError, match="and 4 more such columns"):
        CDFWeights().fit(X, X_target=T + 0.5)


@pytest.mark.part(3)
@pytest.mark.parametrize("N", [50, 100, 200, 500])
def test_a_shift_by_one_standard_deviation_raises_no_alarm_at_any_size(N):
    """The training extreme of few rows is near; what lies beyond it is not out of reach."""
    rng = np.random.default_rng(9)
    alarms = 0
    for _ in range(200):
        found = uncovered(rng.normal(size=(N, 5)), rng.normal([1, 0, 0, 0, 0], size=(1000, 5)))
        alarms += bool(found) and found[0].excess >= NO_OVERLAP
    assert alarms <= 14  # 0.035 expected at most: a chance below 0.02


def test_the_excess_is_the_share_beyond_what_few_rows_may_miss():
    X, T = np.zeros((100, 1)), np.zeros((100, 1))
    T[:30] = 1.0
    (found,) = uncovered(X, T)
    assert (found.share, found.excess) == (0.3, pytest.approx(0.2))


def test_a_part_holds_the_rows_that_were_counted_in_it():
    """Below and above are beyond the extremes, which training rows have; "at" is one value."""
    rng = np.random.default_rng(10)
    X, T = rng.integers(0, 6, size=(400, 3)).astype(float), np.zeros((400, 3))
    X[X[:, 1] == 3, 1] = 4.0
    T[:100, 0], T[100:180, 0] = rng.uniform(-2, -1, 100), rng.uniform(6, 7, 80)
    T[:150, 1] = 3.0
    found = {(part.column, part.side): part for part in uncovered(X, T)}
    assert set(found) == {(0, "below"), (0, "above"), (1, "at")}
    for part in found.values():
        assert part.holds(T).mean() == pytest.approx(part.share)
        assert not part.holds(X).any()
    edge = np.array([[5.0, 3.0, 0], [np.nextafter(5.0, 6), np.nextafter(3.0, 4), 0]])
    assert found[0, "above"].holds(edge).tolist() == [False, True]
    assert found[1, "at"].holds(edge).tolist() == [True, False]
    assert found[0, "below"].holds(-edge).tolist() == [True, True]


@pytest.mark.parametrize("decimals", [0, 1, 2, 6])
@pytest.mark.parametrize("N", [40, 400])
def test_samples_without_ties_are_passed_over_and_no_others(decimals, N, monkeypatch):
    rng = np.random.default_rng(decimals)
    X, T = (np.round(rng.normal(size=(rows, 3)), decimals) for rows in (N, 2 * N))
    X = X[X[:, 0] != 0] if decimals == 0 else X
    found = uncovered(X, T)
    monkeypatch.setattr("covshift.numerics.support._has_ties", lambda *given: True)
    assert uncovered(X, T) == found
    assert bool(found) == (decimals == 0)
