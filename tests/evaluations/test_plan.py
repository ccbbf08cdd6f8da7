"""Which rows to label: probabilities by their definition, draws by counting, widths by drawing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import reference
from scipy import stats
from sklearn.linear_model import LinearRegression, LogisticRegression

from covshift import (
    Coefficients,
    Labels,
    Margins,
    Predictions,
    Quantile,
    Ratio,
    Target,
    estimate,
    evaluate,
    plan,
)
from covshift.engine.problem import Problem
from covshift.evaluations import Plan, plans, spreads
from covshift.evaluations import masses as on
from covshift.exceptions import InputError

N, M = 48, 120  # so few that no trees are grown
_rng = np.random.default_rng(0)
X, T, SEEN = (_rng.normal(mean, 1, size=(n, 2)) for mean, n in ((0, N), (0.3, M), (0, 60)))
YES, YES_THERE, YES_SEEN = (
    (_rng.uniform(size=len(rows)) < 1 / (1 + np.exp(-2 * rows[:, 0]))).astype(int)
    for rows in (X, T, SEEN)
)
NUMBERS, NUMBERS_SEEN = (
    rows[:, 1] + np.exp(0.8 * rows[:, 0]) * _rng.normal(size=len(rows)) for rows in (X, SEEN)
)
MODEL = LogisticRegression().fit(SEEN, YES_SEEN)
SETTINGS = plans.Settings(None, None, 0.95, 0)


def mixed(sigma, share=None):
    """Sizes that probabilities are proportional to, by their definition."""
    share = np.full(len(sigma), 1 / len(sigma)) if share is None else share
    a = plans._UNIFORM
    return (1 - a) * share * sigma / (share @ sigma) + a * share


def test_probabilities_sum_to_the_count_and_are_at_most_one():
    sizes = np.random.default_rng(1).exponential(size=30) ** 2
    sizes[4] = 0.0
    for count in (1, 5, 12, 29):
        pi = plans.probabilities(sizes, count)
        assert pi == pytest.approx(reference.inclusion_probabilities(sizes, count))
        assert (pi.sum(), pi[4]) == (pytest.approx(count), 0.0)
    assert (plans.probabilities(sizes, 29) == 1).sum() == 29


def test_rows_are_drawn_with_exactly_their_probabilities():
    pi = plans.probabilities(np.array([5.0, 1, 1, 2, 0, 0.5, 0.5, 3]), 4)
    rng, draws = np.random.default_rng(0), 8000
    seen = np.zeros(len(pi))
    for _ in range(draws):
        rows = plans.systematic(pi, rng)
        assert len(set(rows.tolist())) == 4
        seen[rows] += 1
    error = np.sqrt(pi * (1 - pi) / draws)
    assert (np.abs(seen / draws - pi) <= 4 * error).all()


def test_for_the_accuracy_rows_are_drawn_by_the_root_of_q_times_1_less_q():
    found = plan(X, YES, T, model=MODEL, count=40)
    settings = plans.Settings(None, MODEL, 0.95, 0)
    judge = spreads.judged(settings, X, YES, T, {})[2]
    q = judge.predicted("model").target[:, 1]
    expected = reference.inclusion_probabilities(mixed(np.sqrt(q * (1 - q))), 40)
    assert found.probability == pytest.approx(np.array(expected))
    assert found.table[0].what == "accuracy"


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["roc_auc", "f1", "average_precision", "brier"])
def test_metrics_spread_by_their_derivatives(metric):
    settings = plans.Settings(metric, MODEL, 0.95, 0)
    judge = spreads.judged(settings, X, YES, T[:40], {})[2]
    (spread,) = spreads.spreads_of_classes(judge, metric)
    q, scored = judge.predicted("model").target, judge.scored

    def value(mass):
        masses = on.Masses(mass, scored.target, scored.chosen_target)
        slope = getattr(on, metric)(*([masses] if metric == "brier" else [masses, 1]))
        return slope.value

    expected = reference.spread_of_influence(value, q / len(q), q)
    assert spread.sigma == pytest.approx(np.array(expected), rel=1e-4, abs=1e-8)


def test_for_a_share_rows_are_drawn_by_the_root_of_q_times_1_less_q():
    found = plan(X, YES, T, count=40)
    problem = Problem(**spreads._flat(plans.Samples.of(X, YES, T), YES, SETTINGS))
    signal = problem.indicator(YES, "y")
    q = signal.h.target[:, 0] + (signal.values - signal.h.train).mean()
    q = np.clip(q, 0, 1)
    expected = reference.inclusion_probabilities(mixed(np.sqrt(q * (1 - q))), 40)
    assert found.probability == pytest.approx(np.array(expected))


def test_for_a_mean_rows_are_drawn_by_the_spread_of_their_outcomes():
    rng = np.random.default_rng(3)
    X, T = rng.normal(size=(400, 2)), rng.normal(size=(300, 2))
    y = X[:, 1] + np.exp(0.8 * X[:, 0]) * rng.normal(size=400)
    ratio = plan(X, y, T, count=40).probability / mixed(np.exp(0.8 * T[:, 0])) / 40
    assert np.quantile(ratio, [0.1, 0.5, 0.9]) == pytest.approx([1, 1, 1], abs=0.35)


def test_target_weights_are_shares_of_the_target():
    weight = np.where(T[:, 1] > 0, 3.0, 1.0)
    weight[:5] = 0.0
    found = plan(X, YES, T, target_weight=weight, count=40)
    assert (found.probability[:5] == 0).all()
    (spread,) = spreads.of_quantity(SETTINGS, X, YES, T, {"target_weight": weight})[2]
    sizes = mixed(spread.sigma, weight / weight.sum())
    assert found.probability == pytest.approx(
        np.array(reference.inclusion_probabilities(sizes, 40))
    )


def test_rows_that_no_training_row_is_like_are_as_likely_as_the_most_uncertain():
    far = T.copy()
    far[:20, 0] += 50
    found = plan(X, YES, far, count=30)
    assert found.n_uncovered == 24  # and those beyond the last training row
    assert found.probability[:20] == pytest.approx(found.probability.max())
    assert [note.kind for note in found.notes] == ["uncovered rows"]
    assert "24 target rows (20% of the target)" in found.notes[0].text


def test_the_width_is_that_of_drawn_labels():
    """Outcomes of a known spread, drawn again and again around what is predicted of them."""
    rng, count, M = np.random.default_rng(0), 30, 300
    sigma, share = np.exp(rng.normal(size=M) / 2), np.full(M, 1 / M)
    spread = plans.Spread("mean", None, sigma, 0.0)
    widths = plans.Widths([spread], share, True, 0.95)
    t = stats.t(count - 1).ppf(0.975)
    for sizes in (widths.sizes, widths.even):
        pi, found = plans.probabilities(sizes, count), []
        for _ in range(2000):
            rows = plans.systematic(pi, rng)
            found.append(np.average(sigma[rows] * rng.normal(size=count), weights=1 / pi[rows]))
        assert np.std(found) * t == pytest.approx(widths.of(spread, sizes, count), rel=0.06)
    assert widths.widest(widths.sizes, count) < 0.95 * widths.widest(widths.even, count)


def test_as_many_rows_as_a_half_width_needs():
    found = plan(X, YES, T, half_width=0.13)
    assert found.half_width <= 0.13 < plan(X, YES, T, count=found.count - 1).half_width
    assert found.count == len(found.rows) < found.count_at_random
    assert found.table[0].half_width_at_random > found.half_width
    assert f"Label {found.count} of 120 target rows" in found.sentence
    assert f"as with {found.count_at_random} rows drawn at random" in found.sentence


def test_a_whole_population_has_no_sampling_error_of_its_own():
    sample, whole = (plan(X, YES, T_, count=60) for T_ in (T, Target(T, finite_population=True)))
    assert whole.half_width < sample.half_width
    assert (whole.rows == sample.rows).all()


@pytest.mark.thorough
def test_the_labels_give_an_interval_of_the_planned_width():
    found = plan(X, YES, T, count=80)
    labels = found.labels(YES_THERE[found.rows])
    assert isinstance(labels, Labels)
    assert np.flatnonzero(~np.isnan(labels.y)).tolist() == found.rows.tolist()
    answer = estimate(X, YES, T, y_target=labels)
    low, high = answer.interval
    assert (high - low) / 2 == pytest.approx(found.half_width, rel=0.25)
    assert answer.n_labels == 80


@pytest.mark.thorough
def test_labels_of_a_plan_give_evaluate_a_narrower_interval():
    """All that is unknown lies between -0.4 and 0.4, and nearly all labels go there."""
    rng = np.random.default_rng(1)
    X, T = rng.normal(size=(400, 1)), rng.normal(size=(900, 1))
    here, there = (
        np.where(np.abs(rows[:, 0]) < 0.4, rng.integers(0, 2, len(rows)), rows[:, 0] > 0)
        for rows in (X, T)
    )
    scores = Predictions(X[:, 0], T[:, 0], threshold=0.0)
    sizes = np.where(np.abs(T[:, 0]) < 0.4, 1.0, 0.2)
    errors = {}
    for name, chances in (("plan", sizes), ("random", np.ones(900))):
        pi = plans.probabilities(chances, 60)
        y, rows = np.full(900, np.nan), plans.systematic(pi, rng)
        y[rows] = there[rows]
        whole, given = Target(T, finite_population=True), Labels(y, probability=pi)
        found = evaluate(scores, X, here, whole, y_target=given, metrics="accuracy")
        errors[name] = found["accuracy"].standard_error
    assert errors["plan"] < 0.85 * errors["random"]


def test_labels_may_be_words_and_some_may_be_missing():
    words = np.where(YES_THERE == 1, "yes", "no").astype(object)
    found = plan(X, np.where(YES == 1, "yes", "no"), T, count=40)
    answers = words[found.rows]
    answers[3] = None
    said = estimate(X, np.where(YES == 1, "yes", "no"), T, y_target=found.labels(answers))
    assert said.n_labels == 39
    assert [line.what for line in found.table] == ["no", "yes"]


def test_the_draw_follows_the_seed():
    first, again, other = (plan(X, YES, T, count=20, random_state=k) for k in (0, 0, 1))
    assert (first.rows == again.rows).all()
    assert (first.rows != other.rows).any()
    assert np.corrcoef(first.probability, other.probability)[0, 1] > 0.9  # other folds


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("what", "lines"),
    [
        ("median", ["median"]),
        (Quantile([0.2, 0.8]), ["quantile 0.2", "quantile 0.8"]),
        (Ratio(np.exp(X[:, 0])), ["ratio"]),
        (Coefficients(), ["intercept", "x0", "x1"]),
    ],
)
def test_every_quantity_of_estimate_can_be_planned_for(what, lines):
    found = plan(X, NUMBERS, T, what=what, count=40)
    assert [line.what for line in found.table] == lines
    assert all(0 < line.half_width < np.inf for line in found.table)
    assert found.probability.sum() == pytest.approx(40)


@pytest.mark.thorough
def test_a_quantile_is_as_wide_as_its_share_over_the_density():
    """Of normal outcomes that features say nothing of: root of p (1 - p) / n over the density."""
    rng = np.random.default_rng(5)
    X, T, y = rng.normal(size=(900, 1)), rng.normal(size=(3000, 1)), rng.normal(size=900)
    found = plan(X, y, T, what="median", count=100)
    assert found.half_width == pytest.approx(1.98 * 0.5 / 10 / 0.399, rel=0.2)


@pytest.mark.thorough
def test_groups_share_the_plan():
    group = tuple(np.where(rows[:, 1] > 0.8, "few", "many") for rows in (X, T))
    alone, found = plan(X, YES, T, count=60), plan(X, YES, T, by=group, count=60)
    assert [line.group for line in found.table] == [None, "few", "many"]
    few = group[1] == "few"
    assert found.probability[few].mean() > alone.probability[few].mean()
    other = plan(X, YES, T, model=MODEL, by=group, count=60)
    assert [line.group for line in other.table] == [None, "few", "many"]


@pytest.mark.thorough
@pytest.mark.parametrize("metric", [None, "mse", "mae", "r2", "median_absolute_error"])
def test_metrics_of_numbers_can_be_planned_for(metric):
    model = LinearRegression().fit(SEEN, NUMBERS_SEEN)
    found = plan(X, NUMBERS, T, model=model, what=metric, count=50)
    assert found.probability.sum() == pytest.approx(50)
    assert 0 < found.half_width < np.inf
    if metric != "median_absolute_error":
        high = T[:, 0] > np.median(T[:, 0])  # where the outcomes spread
        assert found.probability[high].mean() > 1.2 * found.probability[~high].mean()


@pytest.mark.thorough
def test_scores_columns_and_rows_that_trained_the_model():
    rows = np.vstack([SEEN, X])
    train, there = pd.DataFrame(rows, columns=["a", "b"]), pd.DataFrame(T, columns=["a", "b"])
    train["p"], there["p"] = MODEL.predict_proba(rows)[:, 1], MODEL.predict_proba(T)[:, 1]
    train["y"], train["seen"] = np.append(YES_SEEN, YES), np.arange(len(rows)) < len(SEEN)
    given = Predictions("p", trained_on="seen")
    by_name = plan(train, "y", there, model=given, what=["f1", "accuracy"], count=30)
    scores = Predictions(train["p"].to_numpy()[len(SEEN) :], there["p"].to_numpy())
    plain = plan(X, YES, T, model=scores, what=["f1", "accuracy"], count=30)
    assert by_name.probability == pytest.approx(plain.probability)
    assert [line.what for line in by_name.table] == ["F1", "accuracy"]


def test_an_outcome_that_never_varies_is_drawn_at_random():
    found = plan(X, np.ones(N), T, count=30)
    assert found.probability == pytest.approx(30 / M)
    assert found.half_width == pytest.approx(0, abs=1e-9)


def test_the_answer_is_data():
    found = plan(X, YES, T, count=30)
    assert isinstance(found, Plan)
    data = json.loads(json.dumps(found.to_dict()))
    assert (data["count"], data["n_target"], len(data["rows"])) == (30, M, 30)
    assert data["table"][0]["count_at_random"] == found.count_at_random
    assert list(found.to_frame()["what"]) == ["mean"]
    assert "half-width" in str(found)
    assert "rests on the labels and their probabilities" in str(found)
    assert "half-width" in found._repr_html_()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"count": 4}, "count"),
        ({"count": M + 1}, "count=121, but the target has 120 rows to label"),
        ({"half_width": 0}, "half_width"),
        ({"half_width": 0.01}, "cannot be reached: with the labels of all 120 target rows"),
        ({"half_width": 0.1, "count": 50}, "count and half_width"),
        ({"confidence": 1}, "confidence"),
        ({"what": "meen"}, "mean"),
        ({"what": "accuracy"}, "what"),
        ({"model": {"a": MODEL, "b": MODEL}}, "one model"),
        ({"model": MODEL, "what": "mse"}, "not a metric for classes"),
        ({"y": np.column_stack([YES, YES])}, "one outcome"),
        ({"y": np.full(N, np.nan)}, "outcome|missing"),
        ({"X_target": T[:3]}, "3 rows"),
        ({"X_target": Margins({"x0": {"mean": 0.2}})}, "target rows"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_words(given, told):
    arguments = {"X": X, "y": YES, "X_target": T} | given
    with pytest.raises(InputError, match=told):
        plan(**arguments)


def test_labels_of_other_rows_are_refused():
    found = plan(X, YES, T, count=30)
    with pytest.raises(InputError, match="Pass 30 outcomes"):
        found.labels(YES_THERE)


def test_a_metric_without_a_value_is_refused():
    never = Predictions(np.zeros(N), np.zeros(M))
    with pytest.raises(InputError, match="has no value on the target"):
        plan(X, YES, T, model=never, what="precision")
