"""Inputs of `estimate` that once gave a wrong number, or none, without a word."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from covshift import CDF, Ratio, Total, estimate
from covshift.engine.intervals import Errors
from covshift.engine.weights import with_names
from covshift.estimates import Trimmed
from covshift.estimates.quantiles import Steps, _woodruff
from covshift.exceptions import InputTypeError, NoOverlapError
from covshift.numerics.influence import Design
from covshift.numerics.resampling import multipliers

N, M = 90, 60
_rng = np.random.default_rng(0)
X, T = _rng.normal(size=(N, 2)), _rng.normal(0.2, 1, size=(M, 2))
Y = X[:, 0] + _rng.normal(size=N)
RARE = (Y > 1.2) * 1.0
GROUP, GROUP_T = (np.where(rows[:, 1] > 0, "a", "b").astype("<U3") for rows in (X, T))


def ask(y=Y, X=X, T=T, **options):
    return estimate(X, y, T, **{"outcome_model": Ridge(), "weighter": "entropy", **options})


def named(values, name):
    return type("Column", (list,), {"name": name})(values.tolist())


def words(found, kind):
    return " ".join(str(note) for note in found.notes if note.kind == kind)


# Names of outcomes


def test_an_outcome_may_be_called_denominator():
    below = np.exp(X[:, 1])
    found = ask(named(Y + 5, "denominator"), what=Ratio(below))
    assert found.value == ask(named(Y + 5, "z"), what=Ratio(below)).value


@pytest.mark.thorough
@pytest.mark.parametrize("y", [Y, RARE])
def test_an_outcome_may_be_called_group(y):
    found, other = (ask(named(y, name), by=GROUP) for name in ("group", "z"))
    assert [row.value for row in found] == [row.value for row in other]


# Models and weighters


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "options",
    [{"what": Total(1)}, {"what": Ratio(np.ones(N))}],
)
def test_a_classifier_predicts_chances_whatever_is_asked(options):
    model = LogisticRegression()
    share = ask(RARE, outcome_model=model, method="model").value
    assert ask(RARE, outcome_model=model, method="model", **options).value == pytest.approx(share)


def test_a_classifier_predicts_chances_in_groups_of_the_sample():
    found = ask(RARE, by=GROUP, outcome_model=LogisticRegression(), method="model")
    overall, *groups = [row.value for row in found]
    assert min(groups) < overall < max(groups)


def test_a_classifier_is_refused_where_the_outcome_has_other_numbers():
    with pytest.raises(InputTypeError, match="is a classifier, but the outcome has numbers"):
        ask(np.round(Y), outcome_model=LogisticRegression())


def test_a_forest_is_not_taken_for_weights_though_it_has_a_length():
    with pytest.raises(TypeError, match="X_target"):
        ask(weighter=RandomForestClassifier(2))


# Groups


def test_a_group_whose_target_rows_have_no_weight_is_named():
    found = ask(X=X[:, :1], T=T[:, :1], by=(GROUP, GROUP_T), target_weight=(GROUP_T == "a") * 1.0)
    assert [row.group for row in found] == [None, "a"]
    assert "without target rows, so that they have no number: 'b'" in words(found, "absent groups")


def test_a_group_that_the_restriction_leaves_without_target_rows_is_named():
    far, far_t = np.where(X[:, 1] < -1, "far", GROUP), np.where(T[:, 1] > 0.3, "far", GROUP_T)
    shifted = T + np.where(far_t == "far", 50.0, 0.0)[:, None]
    found = ask(T=shifted, by=(far, far_t), restrict="overlap")
    assert all(np.isfinite(row.value) for row in found)
    assert "'far'" in words(found, "absent groups")


def test_a_group_without_outcomes_is_named():
    y, group, target = Y.copy(), GROUP.copy(), GROUP_T.copy()
    y[:9], group[:9], target[:3] = np.nan, "ccc", "ccc"
    found = ask(y, by=(group, target), weighter="energy")
    assert [row.group for row in found] == [None, "a", "b"]
    assert "no row has the outcome 'y'" in words(found, "absent groups")


def test_target_rows_of_an_absent_group_do_not_pass_for_the_first_group():
    target = GROUP_T.copy()
    target[:20] = "zzz"
    with pytest.raises(NoOverlapError, match="33% of the target has 'group' = 'zzz'"):
        ask(by=(GROUP, target))
    found = ask(by=(GROUP, target), restrict="overlap", method="weights")
    assert found.covered_share == pytest.approx(2 / 3)
    kept = ask(T=T[20:], by=(GROUP, target[20:]), method="weights")
    assert [row.value for row in found] == pytest.approx([row.value for row in kept])


def test_a_median_without_weighted_rows_in_a_group_is_not_a_number():
    found = ask(what="median", by=(GROUP, GROUP_T), weighter=(GROUP == "b") * 1.0)
    a, b = found.estimates[1:]
    assert np.isnan(a.value)
    assert a.interval == (-np.inf, np.inf)
    assert np.isfinite(b.value)


# Leaning, and drawing again


def test_a_point_below_all_outcomes_does_not_decide_for_the_others():
    options = {"weighter": None, "outcome_model": DummyRegressor(), "T": T + 0.3}
    alone, beside = ask(what=CDF(0.3), **options), ask(what=CDF([-99, 0.3]), **options)
    assert beside.value[1] == alone.value


@pytest.mark.parametrize("n", [2, 3, 4, 30])
def test_multipliers_have_the_covariance_of_the_influence_values(n):
    rng = np.random.default_rng(1)
    design = Design(None, np.repeat([0, 1, 2], [n, 1, n]))
    drawn = np.array([multipliers(design, rng) for _ in range(4000)])
    assert drawn.min() >= 0
    np.testing.assert_allclose(drawn[:, :n].mean(axis=1), 1)
    np.testing.assert_allclose(drawn[:, n], 1)
    z = np.random.default_rng(2).normal(size=2 * n + 1)
    z[n] = 0
    expected = sum(n / (n - 1) * ((part - part.mean()) ** 2).sum() for part in (z[:n], z[n + 1 :]))
    assert (drawn @ z).var() == pytest.approx(expected, rel=0.1)


# Quantiles that many rows share


def simple(rows):
    return Errors(Design.simple(rows), rows - 1, rows, rows, 0.95)


@pytest.mark.parametrize("rows", [60, 100, 300])
@pytest.mark.parametrize("p", [0.05, 0.95])
def test_ends_of_small_quantiles_are_outcomes_where_the_rows_tell_so(rows, p):
    """44 % zeros: nothing lies below, unless more than p could without a row that shows it."""
    rng, held = np.random.default_rng(rows), 0
    truth = 0.0 if p < 0.5 else 5.0
    for _ in range(200):
        y = np.where(rng.random(rows) < 0.44, 0.0, rng.integers(1, 6, rows))
        values, count = np.unique(y, return_counts=True)
        steps = Steps(values, np.cumsum(count) / rows, count)
        F = steps.at(steps.inverse(p))
        found = _woodruff(steps, p, np.sqrt(F * (1 - F) / rows), 1.97, simple(rows))
        held += found.low <= truth <= found.high
        if 1 - 0.025 ** (1 / rows) < 0.05:
            assert np.isfinite([found.low, found.high]).all()
    assert held >= 0.95 * 200


@pytest.mark.parametrize(
    ("shares", "truth"), [((0.2, 0.31, 0.29, 0.2), 2), ((0.2, 0.29, 0.31, 0.2), 3)]
)
def test_intervals_of_a_shared_median_cover(shares, truth):
    rng, rows, covered = np.random.default_rng(0), 300, 0
    for _ in range(300):
        values, count = np.unique(rng.choice(4, p=shares, size=rows) + 1.0, return_counts=True)
        steps = Steps(values, np.cumsum(count) / rows, count)
        F = steps.at(steps.inverse(0.5))
        found = _woodruff(steps, 0.5, np.sqrt(F * (1 - F) / rows), 1.97, simple(rows))
        covered += found.low <= truth <= found.high
    assert covered >= 0.95 * 300  # it was 0.65 of them where F at the median stood for p


def test_a_median_that_is_clear_has_an_interval_of_one_value():
    steps = Steps(
        np.array([1.0, 2, 3, 4]), np.array([0.1, 0.3, 0.7, 1]), np.array([30, 60, 120, 90])
    )
    found = _woodruff(steps, 0.5, np.sqrt(0.21 / 300), 1.97, simple(300))
    assert (found.low, found.value, found.high) == (3, 3, 3)


def test_overlap_is_looked_for_where_there_are_outcomes():
    """Rows without the outcome cover nothing, and the error names the column."""
    rng = np.random.default_rng(0)
    X, T = rng.uniform(size=(300, 2)), rng.uniform(size=(200, 2))
    y = np.where(X[:, 0] > 0.5, np.nan, X[:, 0])
    pandas = pytest.importorskip("pandas")
    frame = partial(pandas.DataFrame, columns=["age", "height"])
    frames = frame(X), y, frame(T)
    with pytest.raises(NoOverlapError, match="largest training value of 'age'"):
        estimate(*frames)
    found = estimate(*frames, restrict="overlap")
    assert 0.4 < found.covered_share < 0.6
    assert found.value == pytest.approx(T[T[:, 0] <= 0.5, 0].mean(), abs=0.02)


def test_a_part_of_the_target_beyond_the_last_day_is_named_by_its_date():
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2024-01-01", periods=200)
    X = pandas.DataFrame({"day": days[:120].repeat(2), "age": np.tile(np.arange(24.0), 10)})
    T = pandas.DataFrame({"day": days, "age": np.tile(np.arange(20.0), 10)})
    with pytest.raises(NoOverlapError, match="lies above 2024-04-29, the largest training value"):
        estimate(X, X["age"], T)


def test_a_weighter_that_refuses_names_the_columns():
    """Outcomes of two columns, one of them known only where the target is not."""
    assert with_names("moments (columns 0, 2): x", ("a", "b", "c")) == "moments ('a', 'c'): x"
    rng = np.random.default_rng(0)
    X, T = rng.uniform(size=(200, 1)), rng.uniform(size=(100, 1))
    half = np.where(X[:, 0] > 0.4, np.nan, X[:, 0])
    pandas = pytest.importorskip("pandas")
    with pytest.raises(NoOverlapError, match="'age'"):
        ask(
            np.column_stack([X[:, 0], half]),
            pandas.DataFrame({"age": X[:, 0]}),
            pandas.DataFrame({"age": T[:, 0]}),
        )


def test_the_sample_as_it_is_has_its_own_effective_size():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(200, 1)), rng.normal(0.8, 1, size=(200, 1))
    found = estimate(X, X[:, 0] + rng.normal(size=200), T, outcome_model=LinearRegression())
    sizes = {row.method: row.effective_sample_size for row in found.table}
    assert sizes["none"] == 200
    assert sizes["dr"] == sizes["weights"] == found.effective_sample_size < 200


def test_what_trimmed_weights_leave_unbalanced_counts_as_an_error():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(300, 1)), rng.normal(1.0, 1, size=(300, 1))
    y = 3 * X[:, 0] + rng.normal(size=300)
    options = {"outcome_model": LinearRegression(), "method": "weights"}
    found = estimate(X, y, T, weighter=Trimmed(1.5, "entropy"), **options)
    assert found.trimmed_share > 0
    low, high = found.interval
    assert low < 3 * T.mean() < high
