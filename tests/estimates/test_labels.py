"""Outcomes of some target rows: the interval by its definition, and the number between the two."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import reference
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin

from covshift import Labels, Margins, Quantile, Ratio, estimate
from covshift.engine.intervals import Number
from covshift.engine.labels import Known, chances_of_draw, combined, slopes
from covshift.exceptions import InputError, NoOverlapError
from covshift.numerics.influence import Influence

N, M, L = 80, 60, 25
_rng = np.random.default_rng(0)
X, T = _rng.normal(size=(N, 2)), _rng.normal(0.3, 1, size=(M, 2))
Y = X[:, 0] + _rng.normal(size=N)
ALL = T[:, 0] + 0.5 + _rng.normal(size=M)  # p(y | x) has changed
ASKED = np.sort(_rng.choice(M, L, replace=False))
Y_TARGET = np.full(M, np.nan)
Y_TARGET[ASKED] = ALL[ASKED]


class Line(RegressorMixin, BaseEstimator):
    """A model that learns nothing: its predictions are known beforehand."""

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0] + np.asarray(X)[:, 1] / 2


class Nothing(Line):
    def predict(self, X):
        return np.zeros(len(X))


def row(found, method):
    return found.same(found.headline, method)


@pytest.mark.parametrize("chance", [None, np.where(T[:, 0] > 0, 0.8, 0.3)])
def test_the_interval_is_that_of_prediction_powered_inference(chance):
    given = Y_TARGET if chance is None else Labels(Y_TARGET, probability=chance)
    found = estimate(X, Y, T, y_target=given, outcome_model=Line())
    h = Line().predict(T)
    u = np.ones(L) if chance is None else 1 / chance[ASKED]
    value, power, variance = reference.prediction_powered(ALL[ASKED], h[ASKED], h, u)
    assert 0 < power <= 1
    low, high = row(found, "both").interval
    assert (low + high) / 2 == pytest.approx(value)
    assert row(found, "both").standard_error == pytest.approx(variance**0.5)
    t = (high - low) / 2 / variance**0.5
    assert stats.t(M).ppf(0.975) < t <= stats.t(len(ASKED) - 1).ppf(0.975) + 1e-9
    assert row(found, "labels").value == pytest.approx(np.average(ALL[ASKED], weights=u))
    assert (found.method, found.n_labels) == ("both", L)


def test_means_and_coefficients_of_ppi_py_with_the_same_predictor():
    """Recorded from ppi-python 0.2.3: ppi_mean_pointestimate and ppi_ols_pointestimate.

    Its regression divides what the predictor leaves by the moments of the labelled rows, ours by
    those of the target, which are known better; the recorded one follows from ours by that.
    """
    rng = np.random.default_rng(0)
    T = rng.normal(0.3, 1, size=(60, 2))
    h, noise, rows = Line().predict(T), 0.2 * np.sin(np.arange(60)), np.arange(0, 50, 2)
    X = rng.normal(0.3, 1, size=(80, 2))
    Y = Line().predict(X)
    for y, recorded in (
        (1.4 * h + noise, 0.6509931251557886),
        (0.4 * h + noise, 0.2088839204361373),
    ):
        known = np.full(60, np.nan)
        known[rows] = y[rows]
        found = estimate(X, Y, T, y_target=known, outcome_model=Line())
        assert np.mean(row(found, "both").interval) == pytest.approx(recorded, abs=1e-12)
    known[rows] = (1.4 * h + noise)[rows]
    found = estimate(X, Y, T, y_target=known, outcome_model=Line(), what="coefficients")
    ours = np.array([np.mean(line.interval) for line in found])
    Z = np.column_stack([np.ones(60), T])
    there = np.linalg.solve(Z.T @ Z / 60, Z.T @ h / 60)
    left = Z[rows].T @ (known - h)[rows] / len(rows)
    np.testing.assert_allclose(ours, there + np.linalg.solve(Z.T @ Z / 60, left), atol=1e-10)
    theirs = there + np.linalg.solve(Z[rows].T @ Z[rows] / len(rows), left)
    recorded = [0.0026132099936634584, 1.3735654189854998, 0.704768924957924]
    np.testing.assert_allclose(theirs, recorded, atol=1e-10)


def test_the_number_lies_between_labels_and_correction():
    rng = np.random.default_rng(1)
    for _ in range(20):
        theta_L, theta_0 = rng.normal(size=2)
        v_0 = float(rng.exponential())
        own, others = rng.normal(size=(4, 1)), rng.normal(size=(6, 1))
        first = Influence(np.array([theta_L]), own, others)
        second = Influence(np.array([theta_0]), rng.normal(size=(3, 1)), rng.normal(size=(6, 1)))
        rows = np.array([0, 2, 3, 5])
        whole = others[:, 0].copy()
        whole[rows] += own[:, 0]
        v_L = float(whole @ whole)
        known = [
            Known(Number(value, error, -9.0, 9.0), influence)
            for value, error, influence in (
                (theta_L, v_L**0.5, first),
                (theta_0, v_0**0.5, second),
            )
        ]
        shared = float(whole @ second.target[:, 0])
        found, z = combined(*known, rows)
        if v_L + v_0 - 2 * shared <= 0 or v_L <= shared:
            assert found.value == theta_L
            continue
        right = reference.between(theta_L, theta_0, v_L, v_0, shared)
        assert found.value == pytest.approx(np.clip(right, -9, 9))
        assert np.sign(z) == np.sign(theta_L - theta_0)


def test_with_every_outcome_known_the_number_of_the_labels_is_their_mean():
    found = estimate(X, Y, T, y_target=ALL)
    low, high = row(found, "both").interval
    assert (low + high) / 2 == pytest.approx(ALL.mean())


def test_a_group_without_outcomes_has_the_corrected_number_and_a_note():
    by = (np.where(X[:, 1] > 0, "a", "b"), np.where(T[:, 1] > 0, "a", "b"))
    y_target = np.where(T[:, 1] > 0, Y_TARGET, np.nan)
    found = estimate(X, Y, T, y_target=y_target, by=by, outcome_model=Line())
    line = next(line for line in found if line.group == "b")
    same = found.same(line, "dr")
    assert (line.value, line.interval) == (same.value, same.interval)
    note = next(note for note in found.notes if note.kind == "groups without outcomes")
    assert "No target row of b has" in note.text


def test_a_group_s_residuals_are_divided_by_its_own_labels():
    by = (np.where(X[:, 1] > 0, "a", "b"), np.where(T[:, 1] > 0, "a", "b"))
    found = estimate(X, Y, T, y_target=Y_TARGET, by=by, outcome_model=Line())
    h = Line().predict(T)
    _, power, _ = reference.prediction_powered(ALL[ASKED], h[ASKED], h, np.ones(L))
    for group in ("a", "b"):
        there = by[1] == group
        rows = ASKED[there[ASKED]]
        value = power * h[there].mean() + np.mean(ALL[rows] - power * h[rows])
        line = next(line for line in found if line.group == group)
        assert np.mean(line.interval) == pytest.approx(value)
        assert line.standard_error < 2 * ALL[rows].std(ddof=1) / len(rows) ** 0.5


def test_alike_outcomes_of_a_rare_share_do_not_hide_the_correction():
    y = (np.arange(N) % 20 == 0) * 1.0
    found = estimate(X, y, T, y_target=np.where(np.isnan(Y_TARGET), np.nan, 0.0))
    both, corrected = row(found, "both"), row(found, "dr")
    assert row(found, "labels").value == 0.0
    assert 0 < both.value <= corrected.value
    assert both.interval[1] > 0.05


def test_slopes_stay_between_nothing_and_all():
    rng = np.random.default_rng(0)
    h = rng.normal(size=(30, 1))
    for factor, right in ((-1.0, 0.0), (0.4, 0.4), (3.0, 1.0)):
        assert slopes(factor * h, h, np.ones(30)) == pytest.approx([right])
    assert slopes(h, np.ones((30, 1)), np.ones(30)) == [0.0]


@pytest.mark.parametrize("what", ["mean", "median", Quantile([0.2, 0.8])])
def test_every_quantity_and_group_has_a_line_of_labels_and_of_both(what):
    by = (X[:, 1] > 0, T[:, 1] > 0)
    found = estimate(X, Y, T, y_target=Y_TARGET, what=what, by=by, outcome_model=Line())
    for line in found:
        assert line.method == "both"
        assert line.interval[0] <= line.value <= line.interval[1]
        assert np.isfinite(found.same(line, "labels").value)
        assert found.same(line, "labels").rows <= L


def test_columns_of_frames_and_categories():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "won": np.where(Y > 0, "yes", "no")})
    there = pd.DataFrame({"a": T[:, 0], "b": T[:, 1]})
    there["won"] = [None if np.isnan(y) else "yes" if y > 0 else "no" for y in Y_TARGET]
    found = estimate(frame, "won", there, y_target="won")
    assert found.headline.what == "yes"
    assert row(found, "labels").value == pytest.approx((ALL[ASKED] > 0).mean())
    assert "using 25 of its own outcomes" in found.sentence
    assert "chosen at random" in found.assumption


def test_it_says_whether_labels_and_correction_agree():
    agree = estimate(X, Y, T, y_target=Y_TARGET - 0.5, outcome_model=Line())
    assert "agree" in next(note.text for note in agree.notes if note.kind == "assumption")
    apart = estimate(X, Y, T, y_target=Y_TARGET + 5, outcome_model=Line())
    note = next(note for note in apart.notes if note.kind == "assumption")
    assert note.severity == "warning"
    assert "seems to differ" in note.text


def test_a_method_that_is_asked_for_stays():
    found = estimate(X, Y, T, y_target=Y_TARGET, method="dr", outcome_model=Line())
    assert found.method == "dr"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.full(M, np.nan), "is missing in every row"),
        (np.where(np.arange(M) < 3, ALL, np.nan), "has 3 outcomes"),
        (ALL[:-1], f"{M - 1}"),
        (np.column_stack([ALL, ALL]), "2 columns, but y has 1"),
        (Labels(Y_TARGET, probability=np.zeros(M)), "must be above 0"),
    ],
)
def test_bad_labels_are_refused_in_one_sentence(given, said):
    with pytest.raises(InputError, match=said):
        estimate(X, Y, T, y_target=given, outcome_model=Line())


def test_other_classes_and_margins_are_refused():
    y, there = np.where(Y > 0, "yes", "no"), np.where(ALL > 0, "Yes", "no")
    with pytest.raises(InputError, match="'Yes', which no row of the sample has"):
        estimate(X, y, T, y_target=there)
    margins = Margins({"a": {"mean": 0.3}}, size=100)
    with pytest.raises(InputError, match="X_target is margins"):
        estimate(pd.DataFrame({"a": X[:, 0]}), Y, margins, y_target=ALL)


@pytest.mark.thorough
def test_rows_that_were_selected_by_columns_are_weighted_to_the_target():
    rng, errors, held = np.random.default_rng(3), {True: [], False: []}, []
    for _ in range(20):
        X, T = rng.normal(size=(60, 1)), rng.normal(size=(400, 1))
        y, there = -X[:, 0], 2 * T[:, 0] + rng.normal(size=400)  # y given x has changed
        asked = rng.uniform(size=400) < 0.3 / (1 + np.exp(-2 * T[:, 0]))
        y_target = np.where(asked, there, np.nan)
        for selected in (True, False):
            labels = Labels(y_target, selected=selected)
            found = row(estimate(X, y, T, y_target=labels, outcome_model=Nothing()), "both")
            errors[selected].append(np.mean(found.interval))
        low, high = found.interval
        held.append(low <= 0 <= high)
    assert abs(np.mean(errors[True])) < 0.3 * np.mean(errors[False])
    assert np.mean(held) < 0.5  # taken for a random part


def test_rows_that_are_unlike_the_rest_get_a_note():
    y_target = np.where(T[:, 0] > np.quantile(T[:, 0], 0.6), ALL, np.nan)
    found = estimate(X, Y, T, y_target=y_target, outcome_model=Line())
    note = next(note for note in found.notes if note.kind == "selected labels")
    assert "'x0'" in note.text
    quiet = [Y_TARGET, Labels(y_target, probability=np.ones(M)), Labels(y_target, selected=True)]
    for given in quiet:
        found = estimate(X, Y, T, y_target=given, outcome_model=Line())
        assert not [note for note in found.notes if note.kind == "selected labels"]
    with pytest.raises(InputError, match="or selected=True"):
        estimate(X, Y, T, y_target=Labels(ALL, probability=np.ones(M), selected=True))


def rare_levels(rows, seed):
    """A table as they come: levels of .3 to 60 %, counts that are mostly zero, skewed spending."""
    rng = np.random.default_rng(seed)
    levels = rng.choice(12, rows, p=[0.6, 0.2, 0.1, 0.04, 0.02, 0.01] + [0.005] * 6)
    spending, visits = np.exp(2 * rng.normal(size=rows)), rng.poisson(0.05, rows)
    return np.column_stack([np.eye(12)[:, :11][levels], spending, visits])


def test_a_rare_level_among_random_labels_is_no_alarm():
    there = rare_levels(400, 0)
    rare = int(np.argmin(there[:, :11].sum(axis=0)))
    order = np.argsort(-there[:, rare], kind="stable")
    for rows in (np.r_[order[:1], order[50:79]], order[50:80]):  # one of these rows, and none
        assert chances_of_draw(there, rows)[rare] > 0.05


@pytest.mark.thorough
@pytest.mark.parametrize("count", [25, 50, 100])
def test_random_labels_are_rarely_called_selected_and_selected_ones_mostly(count):
    there = rare_levels(1000, 1)
    rng = np.random.default_rng(count)
    chance = there[:, 11] ** 0.5  # log-odds of one per standard deviation of log-spending

    def alarms(p):
        draws = (rng.choice(1000, count, replace=False, p=p) for _ in range(400))
        return np.mean([13 * chances_of_draw(there, rows).min() < 0.01 for rows in draws])

    assert alarms(None) <= 0.02
    assert alarms(chance / chance.sum()) > 0.7


@pytest.mark.parametrize("far", [0.0, 9.0])
def test_labels_answer_for_what_the_sample_does_not_cover(far):
    there = T.copy()
    there[T[:, 0] > 0.3, 1] += 9
    there[:, 0] += far
    with pytest.raises(NoOverlapError):
        estimate(X, Y, there)
    found = estimate(X, Y, there, y_target=Y_TARGET, outcome_model=Line())
    low, high = row(found, "both").interval
    assert row(found, "both").value == pytest.approx((low + high) / 2)  # nothing of the correction
    assert low <= ALL.mean() <= high
    assert [note for note in found.notes if note.kind == "uncovered target"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Labels(Y_TARGET, probability=["a"] * M), "must hold numbers"),
        (Labels(Y_TARGET, probability=[0.1] * 3), f"3 values, but X_target has {M}"),
        (Labels(Y_TARGET, probability=np.where(np.arange(M) == ASKED[0], 1e-9, 0.4)), "count as"),
        (Labels(Y_TARGET, selected="yes"), "selected is True or False"),
    ],
)
def test_chances_that_cannot_be_are_refused_in_one_sentence(given, said):
    with pytest.raises(InputError, match=said):
        estimate(X, Y, T, y_target=given, outcome_model=Line())


def test_outcomes_beyond_zero_and_one_and_columns_of_training_rows_are_refused():
    y = (Y > 0) * 1.0
    with pytest.raises(InputError, match="outcome 2, but in the sample all are 0 or 1"):
        estimate(X, y, T, y_target=np.where(np.isnan(Y_TARGET), np.nan, 2.0))
    with pytest.raises(InputError, match=r"what=Ratio\(...\) has a column of the training rows"):
        estimate(X, Y, T, y_target=Y_TARGET, what=Ratio(np.ones(N)), outcome_model=Line())


def test_several_outcomes_are_matched_by_their_names():
    given = pd.DataFrame({"a": Y, "b": 10 + Y})
    there = pd.DataFrame({"b": 10 + Y_TARGET, "a": Y_TARGET})
    found = estimate(X, given, T, y_target=there, outcome_model=Line())
    labels = {line.outcome: found.same(line, "labels").value for line in found}
    assert labels == pytest.approx({"a": ALL[ASKED].mean(), "b": 10 + ALL[ASKED].mean()})


def test_alike_outcomes_are_told_and_end_as_they_are():
    y = (np.arange(N) % 3 == 0) * 1.0
    found = estimate(X, y, T, y_target=np.where(np.isnan(Y_TARGET), np.nan, 1.0))
    assert 0.9 < row(found, "both").value <= row(found, "both").interval[1] == 1.0
    assert {"alike outcomes", "assumption"} <= {note.kind for note in found.notes}


def test_nothing_bounds_a_quantile_beyond_all_outcomes():
    what = Quantile(0.99)
    found = estimate(X, Y, T, y_target=Y_TARGET, what=what, outcome_model=Line())
    assert row(found, "labels").interval[1] == row(found, "both").interval[1] == np.inf
