"""Reliability and ROC curves on the target: against scikit-learn, loops and the metrics' path."""

from __future__ import annotations

import json

import numpy as np
import pytest
from calls import evaluate_with
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.calibration import calibration_curve

from covshift import Predictions, diagnose, evaluate
from covshift.data import Samples
from covshift.engine.weights import weigh
from covshift.evaluations.bins import score_bins
from covshift.evaluations.curves import bins_of, curves_of, number_within, reliability, roc
from covshift.evaluations.masses import Masses
from covshift.evaluations.methods import METHODS, Classified
from covshift.evaluations.metrics import bin_metrics
from covshift.evaluations.problem import ScoredProblem
from covshift.evaluations.scored import Scored
from covshift.exceptions import InputError
from covshift.numerics.statistics import equal_weight_bins

N, M = 120, 100
_rng = np.random.default_rng(0)
X, T = _rng.normal(size=(N, 2)), _rng.normal(0.4, 1, size=(M, 2))
W = _rng.exponential(size=N) + 0.1
SLOPES = np.array([1.0, -0.8])


def chance(X, slopes=SLOPES):
    return 1 / (1 + np.exp(-np.asarray(X)[:, :2] @ np.asarray(slopes)))


Y = (_rng.uniform(size=N) < chance(X)).astype(int)
P, Q = chance(X, (0.9, -0.4)), chance(T, (0.9, -0.4))
MONTHS = np.array(["2024-01", "2024-02"])[(np.arange(M) >= 50).astype(int)]


class Chance(RegressorMixin, BaseEstimator):
    """An outcome model that learns nothing."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return chance(X)


class Line(RegressorMixin, BaseEstimator):
    """A fitted regression."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


class Sign(ClassifierMixin, BaseEstimator):
    """A fitted classifier without scores."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(X, T, methods=())


@pytest.fixture
def ask(diagnosis):
    def asked(scores=P, X=X, y=Y, T=T, target_scores=Q, **options):
        usual = {"outcome_model": Chance(), "weighter": W}
        options = {**usual, **options, "target_scores": target_scores}
        return evaluate_with(diagnosis, scores, X, y, T, **options)

    return asked


def judged(p, q, y=Y, X=X, T=T, w=W, given="probabilities"):
    """Put scores, rows and weights together, as `evaluate` does."""
    nothing = dict.fromkeys(["by", "sample_weight", "target_weight", "strata", "cluster"])
    sample = Samples.of(X, None, T, **nothing)
    weights = weigh(sample, w, max_weight=None, random_state=0)
    both = [np.column_stack([1 - part, part]) for part in (p, q)]
    chosen = [(part >= 0.5).astype(int) for part in (p, q)]
    scored = Scored("scores", *both, given, ("0", "1"), 1, *chosen)
    problem = ScoredProblem(
        sample, weights, "dr", 0.95, 2, Chance(), False, 0, scores=scored.columns()
    )
    return Classified(problem, scored, y)


def test_on_the_same_rows_the_curves_are_scikit_learns():
    found = evaluate(
        Predictions(P, P), X, Y, X, weighter=np.ones(N), outcome_model=Chance(), method="weights"
    )
    (curves,) = found.curves
    assert curves.positive == "1"
    share, score = calibration_curve(Y, P, n_bins=6, strategy="quantile")  # 20 rows each
    x, y, _ = sk.roc_curve(Y, P, drop_intermediate=False)
    for curve in (curves.reliability, curves.reliability_labelled):
        np.testing.assert_allclose(curve.share, share)
        np.testing.assert_allclose(curve.score, score)
        np.testing.assert_allclose(curve.mass, 1 / 6)
    for curve in (curves.roc, curves.roc_labelled):
        np.testing.assert_allclose(curve.false_positive_rate, x, atol=1e-12)
        np.testing.assert_allclose(curve.true_positive_rate, y, atol=1e-12)
        assert curve.auc == pytest.approx(sk.roc_auc_score(Y, P))


def test_ties_are_one_point_of_the_roc_curve_and_one_bin():
    tied, there = np.round(P, 1), np.round(Q, 1)
    judge = judged(tied, there)
    x, y, _ = sk.roc_curve(Y, tied, sample_weight=W, drop_intermediate=False)
    found = roc(judge.masses("weights"), 1)
    np.testing.assert_allclose(found.false_positive_rate, x, atol=1e-12)
    np.testing.assert_allclose(found.true_positive_rate, y, atol=1e-12)
    bins = bins_of(judge)
    both = np.concatenate([tied, there])
    for value in np.unique(both):
        assert len(set(bins.place[both == value])) == 1
    curve = reliability(judge, bins, "weights")
    for k in range(bins.count):
        inside = bins.place[:N] == k
        assert curve.share[k] == pytest.approx(np.average(Y[inside], weights=W[inside]))
        assert curve.score[k] == pytest.approx(np.average(tied[inside], weights=W[inside]))
        assert curve.mass[k] == pytest.approx(W[inside].sum() / W.sum())


def test_bins_are_of_equal_weight_on_the_target():
    share = _rng.exponential(size=M)
    share[:3] = 0.0  # rows that count for nothing make no bin
    bins = score_bins(P, Q, share / share.sum(), 5)
    mass = np.bincount(bins.place[N:], weights=share) / share.sum()
    np.testing.assert_allclose(mass, 0.2, atol=share.max() / share.sum())
    inner = bins.bounds[1:-1]
    expected = [sum(s > bound for bound in inner) for s in np.concatenate([P, Q])]
    np.testing.assert_array_equal(bins.place, expected)
    assert (bins.bounds[0], bins.bounds[-1]) == (0, 1)
    assert (np.diff(bins.bounds) > 0).all()


def test_bins_of_neighbouring_numbers_are_told_apart():
    low = 0.5
    high = np.nextafter(low, 1)
    bins = score_bins(np.array([low, high]), np.array([low, high]), np.full(2, 0.5), 2)
    np.testing.assert_array_equal(bins.place, [0, 1, 0, 1])


def test_equal_values_share_the_bin_of_the_first_and_no_number_is_left_out():
    values = np.array([3.0, 1, 1, 1, 2, 1])
    np.testing.assert_array_equal(equal_weight_bins(values, np.ones(6), 6), [2, 0, 0, 0, 1, 0])


@pytest.mark.parametrize("method", METHODS)
def test_all_bins_at_once_are_the_metric_bin_by_bin(method):
    """`reliability` is a shorter way to what `Classified.influence` says of every bin."""
    judge = judged(P, Q)
    bins = bins_of(judge)
    curve = reliability(judge, bins, method)
    for k, metric in enumerate(bin_metrics(bins, 1)):
        number = number_within(judge, metric, method)
        assert curve.share[k] == pytest.approx(number.value, abs=1e-12)
        assert curve.standard_error[k] == pytest.approx(number.standard_error, rel=1e-9)
        np.testing.assert_allclose(curve.interval[k], (number.low, number.high), rtol=1e-9)


def test_the_doubly_robust_curve_is_the_target_s_expectation_plus_weighted_residuals():
    judge = judged(P, Q)
    bins = bins_of(judge)
    curve = reliability(judge, bins, "dr")
    q_train, q_target = chance(X), chance(T)
    for k in range(bins.count):
        here, there = bins.place[:N] == k, bins.place[N:] == k
        top = q_target[there].sum() / M + (W * (Y - q_train))[here].sum() / W.sum()
        assert curve.share[k] == pytest.approx(np.clip(top / there.mean(), 0, 1))
        assert curve.score[k] == pytest.approx(Q[there].mean())


def test_errors_of_a_bin_shrink_with_its_rows_and_cover_the_truth():
    """Exact weights and scores: shares of the bins are covered about as often as promised."""
    rng = np.random.default_rng(1)
    hit, count = 0, 0
    T = rng.normal(size=(400, 2))
    q = chance(T)
    for _ in range(25):
        X = rng.normal(size=(400, 2))
        p = chance(X)
        y = (rng.uniform(size=400) < p).astype(int)
        judge = judged(p, q, y, X, T, np.ones(400))
        bins = bins_of(judge, 5)
        curve = reliability(judge, bins, "dr")
        truth = np.array([q[bins.place[400:] == k].mean() for k in range(5)])
        hit += int(((curve.interval[:, 0] <= truth) & (truth <= curve.interval[:, 1])).sum())
        count += 5
    assert 0.88 <= hit / count <= 1
    np.testing.assert_allclose(curve.standard_error, np.sqrt(truth * (1 - truth) / 80), rtol=0.5)


def test_signed_masses_give_a_monotone_roc_curve_within_zero_and_one():
    rng = np.random.default_rng(2)
    mass = rng.exponential(size=(400, 2)) - 0.6 * rng.exponential(size=(400, 2))
    s = rng.uniform(size=400)
    masses = Masses(mass, np.column_stack([1 - s, s]), np.zeros(400, int))
    order = np.argsort(-s)
    raw = np.cumsum(mass[order, 1]) / mass[:, 1].sum()
    assert (np.diff(raw) < 0).any()  # or this would be no test
    full, thin = roc(masses, 1, most=1000), roc(masses, 1, most=50)
    for curve in (full, thin):
        x, y = curve.false_positive_rate, curve.true_positive_rate
        assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
        assert (np.diff(x) >= 0).all()
        assert (np.diff(y) >= 0).all()
    highest = np.clip(np.maximum.accumulate(raw), 0, 1)
    assert set(np.round(full.true_positive_rate, 9)) <= {0.0, *np.round(highest, 9)}
    assert len(thin.false_positive_rate) <= 50
    between = np.interp(full.false_positive_rate, thin.false_positive_rate, thin.true_positive_rate)
    assert np.abs(between - full.true_positive_rate).max() < 0.1


def test_constant_scores_are_one_bin_and_the_diagonal(ask):
    found = ask(np.full(N, 0.3), target_scores=np.full(M, 0.3))
    (curves,) = found.curves
    assert len(curves.reliability.share) == 1
    np.testing.assert_allclose(curves.reliability.score, 0.3)
    assert curves.reliability_labelled.share[0] == pytest.approx(Y.mean())
    np.testing.assert_array_equal(curves.roc.false_positive_rate, [0, 1])
    np.testing.assert_array_equal(curves.roc.true_positive_rate, [0, 1])
    assert curves.roc.auc == pytest.approx(0.5)


def test_a_class_that_is_missing_in_a_bin_has_an_interval_of_that_bin_s_rows():
    y = np.where(P < np.quantile(P, 0.4), 0, Y)
    judge = judged(P, Q, y)
    bins = bins_of(judge, 5)
    found = reliability(judge, bins, "none")
    rows = int((bins.place[:N] == 0).sum())
    assert found.share[0] == 0
    assert found.interval[0, 0] == 0
    assert found.interval[0, 1] == pytest.approx(1 - 0.025 ** (1 / rows))


def test_a_bin_without_labelled_rows_tells_nothing():
    p = np.linspace(0.5, 0.9, N)
    q = np.concatenate([np.full(20, 0.1), np.linspace(0.5, 0.9, M - 20)])
    judge = judged(p, q)
    bins = bins_of(judge, 5)
    assert not (bins.place[:N] == 0).any()
    none, dr = (reliability(judge, bins, method) for method in ("none", "dr"))
    assert np.isnan([none.share[0], none.score[0], none.standard_error[0]]).all()
    assert none.mass[0] == 0
    assert np.isfinite(dr.share[0])
    np.testing.assert_array_equal(dr.interval[0], [0, 1])
    for curve in (none, dr):
        assert np.isfinite(curve.interval[1:]).all()


def test_twenty_rows_are_enough_to_be_drawn():
    rows = slice(0, 20)
    judge = judged(P[rows], Q[rows], Y[rows], X[rows], T[rows], W[rows])
    curves = curves_of(judge, "dr", bins_of(judge))
    assert len(curves.reliability.share) == 1
    assert np.isfinite(curves.reliability.interval).all()
    assert curves.roc is not None


def test_scores_beyond_zero_and_one_have_a_roc_curve_alone(ask):
    odds = [np.log(part / (1 - part)) for part in (P, Q)]
    (curves,) = ask(odds[0], target_scores=odds[1], metrics="roc_auc").curves
    assert curves.reliability is None
    assert curves.reliability_labelled is None
    (same,) = ask(metrics="roc_auc", method="none").curves
    np.testing.assert_allclose(
        curves.roc_labelled.true_positive_rate, same.roc.true_positive_rate, atol=1e-12
    )


def test_other_models_have_no_curves(ask):
    assert ask(Sign(), target_scores=None).curves == ()
    assert ask(Line(), y=X[:, 0] + Y, target_scores=None).curves == ()
    three = np.column_stack([P / 2, P / 2, 1 - P]), np.column_stack([Q / 2, Q / 2, 1 - Q])
    y = Y + (X[:, 1] > 1)
    found = ask(three[0], y=y, target_scores=three[1], metrics="accuracy")
    assert found.curves == ()


def test_the_metric_calibration_curve_is_one_line_per_bin(ask):
    found = ask(metrics=["calibration_curve", "accuracy"])
    curve = found.curves[0].reliability
    rows = [row for row in found if row.metric.startswith("calibration")]
    assert len(rows) == len(curve.share) == N // 20
    np.testing.assert_allclose([row.value for row in rows], curve.share)
    np.testing.assert_allclose([row.interval for row in rows], curve.interval)
    assert sum(row.rows for row in rows) == N
    low, high = curve.bounds[1:3]
    assert rows[1].metric == f"calibration 2 ({low:.2g} to {high:.2g})"
    assert rows[1].metric in str(found)


@pytest.mark.thorough
def test_bins_of_the_outcome_model_have_the_lines_of_the_metric():
    rows = evaluate(Predictions(P, Q), X, Y, T, metrics=["calibration_curve"])
    curve = rows.curves[0].reliability
    lines = [row for row in rows if row.metric.startswith("calibration")]
    np.testing.assert_allclose([row.interval for row in lines], curve.interval)


def test_bins_of_groups_are_those_of_the_target_with_the_rows_of_the_group(ask):
    by = (X[:, 1] > 0, T[:, 1] > 0)
    found = ask(metrics="calibration_curve", by=by, method="weights")
    judge = judged(P, Q)
    place = bins_of(judge).place[:N]
    for row in found.performances.where(group="True"):
        k = int(row.metric.split()[1]) - 1
        inside = (place == k) & by[0]
        assert row.rows == inside.sum()
        if inside.any():
            assert row.value == pytest.approx(np.average(Y[inside], weights=W[inside]))


def test_calibration_curves_need_probabilities_of_two_classes(ask):
    with pytest.raises(InputError, match="probabilities of two classes"):
        ask(10 * P, target_scores=10 * Q, metrics="calibration_curve")


def test_curves_are_stored_as_plain_numbers(ask):
    stored = json.loads(json.dumps(ask().to_dict()))["curves"]
    assert [one["model"] for one in stored] == ["scores"]
    assert len(stored[0]["reliability"]["share"]) == N // 20
    assert stored[0]["roc_auc"] == pytest.approx(ask()["roc_auc"].value)


def lines(ax):
    """Points of all lines, by label."""
    return {line.get_label(): np.column_stack(line.get_data()) for line in ax.get_lines()}


def all_finite(ax):
    """Whether nothing that is drawn is NaN or infinite."""
    points = [np.asarray(line.get_xydata(), float) for line in ax.get_lines()]
    points += [np.vstack(part.get_segments()) for part in ax.collections if part.get_segments()]
    return all(np.isfinite(part).all() for part in points)


@pytest.fixture
def axes():
    """Axes of a figure that nobody has to close."""
    figure = pytest.importorskip("matplotlib.figure")
    return lambda: figure.Figure().subplots()


def test_the_reliability_picture_shows_both_curves_and_the_target_s_intervals(ask, axes):
    found = ask(confidence=0.9)
    ax = axes()
    display = found.plot("reliability", ax)
    assert display.ax_ is ax
    curves = found.curves[0]
    bars, _ = ax.get_legend_handles_labels()
    drawn = {bar.get_label(): np.column_stack(bar.lines[0].get_data()) for bar in bars}
    for name, curve in (
        ("target", curves.reliability),
        ("labelled rows", curves.reliability_labelled),
    ):
        np.testing.assert_allclose(drawn[name], np.column_stack([curve.score, curve.share]))
    (segments,) = (part.get_segments() for part in ax.collections)
    np.testing.assert_allclose([part[:, 1] for part in segments], curves.reliability.interval)
    assert "90%" in ax.get_ylabel()
    assert all_finite(ax)


def test_bins_without_rows_are_not_drawn(ask, axes):
    p = np.linspace(0.5, 0.9, N)
    q = np.concatenate([np.full(30, 0.1), np.linspace(0.5, 0.9, M - 30)])
    found = ask(p, target_scores=q, method="weights")
    assert np.isnan(found.curves[0].reliability.share).any()
    ax = found.plot("reliability", axes()).ax_
    assert all_finite(ax)
    assert all(len(bar.lines[0].get_xdata()) for bar in ax.get_legend_handles_labels()[0])


def test_the_roc_picture_names_the_areas(ask, axes):
    ax = ask(metrics=["accuracy", "roc_auc"]).plot("roc", axes()).ax_
    found = ask(metrics="accuracy")
    plain = found.plot("roc", axes()).ax_
    target, labelled = found.curves[0].roc, found.curves[0].roc_labelled
    names = [name for name in lines(plain) if "AUC" in name]
    assert names == [
        f"labelled rows: AUC {labelled.auc:.3f}",
        f"target: AUC {target.auc:.3f}",
    ]
    assert any(name.startswith(names[1] + " (") for name in lines(ax))  # asked for: an interval
    np.testing.assert_array_equal(lines(plain)[names[1]][:, 1], target.true_positive_rate)
    assert all_finite(plain)


def test_several_models_share_a_picture_or_one_is_chosen(ask, axes):
    both = ask(
        {"a": P, "b": 1 - P}, target_scores={"a": Q, "b": 1 - Q}, metrics=["accuracy", "roc_auc"]
    )
    named = both.plot("roc", axes()).curves
    assert [name.partition(":")[0] for name in named] == [
        "a, labelled rows",
        "a, target",
        "b, labelled rows",
        "b, target",
    ]
    assert len(both.plot("reliability", axes()).curves) == 4
    assert len(both.plot("reliability", axes(), model="b").curves) == 2
    assert both.plot("metrics", axes()).labels == (
        "a: accuracy",
        "a: AUC",
        "b: accuracy",
        "b: AUC",
    )
    assert both.plot(ax=axes(), model="b").labels == ("accuracy", "AUC")
    with pytest.raises(InputError, match="model='c' was not evaluated"):
        both.plot("roc", model="c")


def test_metrics_without_a_value_are_not_drawn(ask, axes):
    never = ask(metrics=["precision", "accuracy"], threshold=2.0)
    assert np.isnan(never["precision"].value)
    ax = never.plot(ax=axes()).ax_
    assert all_finite(ax)
    assert [len(line.get_xdata()) for line in ax.get_lines()] == [1, 1]


@pytest.mark.thorough
def test_batches_are_drawn_in_order_beside_the_labelled_rows(ask, axes):
    found = ask(metrics=["accuracy", "brier"], batch=MONTHS)
    seen = {"2024-02": 0.25}
    display = found.plot("batches", axes(), metric="brier", observed=seen)
    ax = display.ax_
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2024-01", "2024-02"]
    points = lines(ax)["expected on the batch"]
    expected = [part["brier"].value for part in found.batches.values()]
    np.testing.assert_allclose(points, np.column_stack([[0, 1], expected]))
    plain = found.table.where(metric="brier", method="none", group=None)[0].value
    np.testing.assert_allclose(lines(ax)["labelled rows"][:, 1], plain)
    np.testing.assert_allclose(lines(ax)["observed"], [[1, 0.25]])
    assert all_finite(ax)
    assert ax.get_ylabel() == "Brier score"
    assert found.plot("batches", axes()).ylabel == "accuracy"


def test_batches_without_a_value_are_left_empty_and_many_names_are_thinned(axes):
    plot = pytest.importorskip("covshift.plot")
    values = np.column_stack([np.full(40, 0.5), np.full(40, -np.inf), np.full(40, 0.6)])
    values[3] = np.nan
    display = plot.BatchesDisplay([f"week {k}" for k in range(40)], values).plot(axes())
    assert all_finite(display.ax_)
    assert len(lines(display.ax_)["expected on the batch"]) == 39
    assert len(display.ax_.get_xticks()) <= 14
    nothing = plot.BatchesDisplay(["a"], [[np.nan] * 3], reference=np.nan, observed={"a": np.nan})
    assert all_finite(nothing.plot(axes()).ax_)


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("options", "asked", "message"),
    [
        ({}, {"kind": "pie"}, "kind"),
        ({}, {"kind": "batches"}, "batch="),
        ({}, {"kind": "roc", "metric": "brier"}, 'for kind="batches"'),
        ({"batch": MONTHS}, {"kind": "batches", "metric": "f1"}, "metric='f1' was not computed"),
        (
            {"batch": MONTHS, "metrics": "calibration_curve"},
            {"kind": "batches"},
            "every batch has bins of its own",
        ),
        ({"batch": MONTHS}, {"kind": "batches", "observed": {"May": 1}}, "observed names"),
        ({"scores": Line(), "y": X[:, 0] + Y}, {"kind": "roc"}, "two classes with scores"),
        ({"scores": Line(), "y": X[:, 0] + Y}, {"kind": "reliability"}, "with probabilities"),
        ({"scores": Sign()}, {"kind": "roc"}, "two classes with scores"),
        ({"scores": 9 * P, "target_scores": 9 * Q}, {"kind": "reliability"}, "with probabilities"),
    ],
)
def test_pictures_that_cannot_be_are_refused_in_plain_words(ask, options, asked, message):
    pytest.importorskip("matplotlib")
    if hasattr(options.get("scores"), "predict"):
        options = {**options, "target_scores": None}
    found = ask(**{"metrics": None, **options})
    with pytest.raises(InputError, match=message):
        found.plot(**asked)


def test_few_labels_of_the_target_check_the_bins_that_they_are_in(ask):
    known = np.full(M, None, dtype=object)
    rows = np.argsort(Q)[:30]  # the lowest scores alone
    known[rows] = (chance(T)[rows] > 0.3).astype(int)
    found = ask(metrics="calibration_curve", y_target=known)
    place = bins_of(judged(P, Q)).place[N:][rows]
    labels = known[rows].astype(float)
    checks = found.table.where(method="labels")
    for k, check in enumerate(checks):
        share = found.curves[0].reliability.share[k]
        assert np.clip(found.same(check, "model").value, 0, 1) == pytest.approx(share)
        if (place == k).any():
            assert check.value == pytest.approx(labels[place == k].mean())
        else:
            assert np.isnan(check.value)
    assert any(np.isnan(check.value) for check in checks)  # or the last line was not tried
    assert "calibration 1" in str(found)
    json.dumps(found.to_dict())
