"""Intervals: those of their definition and of MAPIE, with coverage on the target."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import reference
from contract import either_routing, run_check
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, QuantileRegressor, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from covshift import VSVR, Reweighted
from covshift.conformal import ConformalRegressor, shift
from covshift.conformal import coverage as calibrated
from covshift.conformal.data import deal_folds, split_rows
from covshift.exceptions import InputError
from covshift.numerics.crossfit import deal
from covshift.weights import Weighter

RECORD = json.loads(
    (Path(__file__).parents[1] / "recorded" / "conformal_peers.json").read_text("utf-8")
)


# Known ratios are wrong on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.*weights of Known")


class Known(Weighter):
    """The density ratio of N(shift, 1) and N(0, 1) in the first column."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def _solve(self, problem):
        return self._ratio(problem.X)

    def _ratio(self, X):
        return np.exp(self.shift * X[:, 0] - self.shift**2 / 2)


class Level(RegressorMixin, BaseEstimator):
    """Predicts zero, so that scores are sizes of outcomes."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.zeros(len(X))


def skewed(n, shift, rng):
    """Outcomes whose spread grows with x, as the shift does."""
    X = np.column_stack([rng.normal(shift, 1, n), rng.normal(size=n)])
    return X, np.exp(0.7 * X[:, 0]) * rng.normal(size=n)


rng = np.random.default_rng(0)
X, y = skewed(300, 0.0, rng)
T, y_T = skewed(300, 0.8, rng)
LEVEL = Level().fit(X, y)


@parametrize_with_checks(
    [
        ConformalRegressor(LinearRegression(), random_state=0),
        ConformalRegressor(LinearRegression(), method="cv+", n_folds=3, random_state=0),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    run_check(estimator, check)


# the definition


def test_weights_and_threshold_are_those_of_the_definition():
    model = ConformalRegressor(LEVEL, weighter=Known(0.8), prefit=True).fit(X, y, X_target=T)

    def weighed(rows, others):
        scaler = StandardScaler().fit(others)
        ratio = [Known(0.8)._ratio(scaler.transform(part)) for part in (rows, others)]
        return ratio[0] / ratio[1].mean()

    fold = deal(X, np.zeros(len(X)), 5)
    apart = [weighed(X[fold == k], X[fold != k]) for k in range(5)]
    np.testing.assert_allclose(model.weights_, weighed(X, X) * np.concatenate(apart).mean())
    np.testing.assert_array_equal(model.scores_, np.abs(y))
    new = T[:20]
    own = weighed(new, X)
    low, high = model.predict_interval(new, coverage=0.8)
    expected = [reference.conformal_threshold(np.abs(y), model.weights_, v, 0.8) for v in own]
    np.testing.assert_allclose(high, expected)
    np.testing.assert_allclose(low, -np.array(expected))
    assert len(np.unique(expected)) > 3


@pytest.mark.part(3)
@pytest.mark.parametrize("odds", [1.0, 1.5, 3.0])
def test_with_sensitivity_the_threshold_is_that_of_the_worst_weights(odds):
    model = ConformalRegressor(LEVEL, weighter=Known(0.8), prefit=True, sensitivity=odds)
    model.fit(X, y, X_target=T)
    new = T[:20]
    own = model._shift.weigh(new, 20)
    _, high = model.predict_interval(new, coverage=0.8)
    given = np.abs(y), model.weights_
    expected = [reference.robust_threshold(*given, v, 0.8, odds) for v in own]
    np.testing.assert_allclose(high, expected)
    if odds == 1:
        plain = ConformalRegressor(LEVEL, weighter=Known(0.8), prefit=True).fit(X, y, X_target=T)
        np.testing.assert_array_equal(high, plain.predict_interval(new, coverage=0.8).upper)


def test_with_sensitivity_large_outcomes_that_are_more_common_are_covered():
    """The odds of the target are three times as large for outcomes beyond one than within."""
    rng = np.random.default_rng(3)
    y, there = rng.normal(size=4000), rng.normal(size=40_000)
    kept = there[rng.random(40_000) < np.where(np.abs(there) > 1, 1.0, 1 / 3)]
    X, T = np.zeros((4000, 1)), np.zeros((len(kept), 1))
    covered = []
    for odds in (1.0, 2.0):  # by which the densities differ at most: 1.83, and 0.61
        made = ConformalRegressor(LEVEL, weighter=None, prefit=True, sensitivity=odds)
        covered.append(made.fit(X, y).predict_interval(T, coverage=0.9).covers(kept).mean())
    assert covered[0] < 0.85
    assert covered[1] >= 0.9


@pytest.mark.parametrize(
    "options", [{"method": "cv+"}, {"threshold": "dr"}, {"randomized": True}], ids=str
)
def test_sensitivity_is_refused_where_no_worst_case_is_known(options):
    made = ConformalRegressor(LinearRegression(), sensitivity=2.0, **options)
    with pytest.raises(InputError, match="whose worst case is not known"):
        made.fit(X, y, X_target=T)
    with pytest.raises(InputError, match=r"sensitivity=0.5 must be a finite number of at least 1"):
        ConformalRegressor(LinearRegression(), sensitivity=0.5).fit(X, y, X_target=T)


@pytest.mark.parametrize("coverage", ["0.5", "0.75", "0.9", "0.95"])
def test_without_a_shift_it_is_the_split_rule_of_mapie(coverage):
    record = RECORD["regression"]
    X, y, new = (np.array(record[name]) for name in ("X", "y", "new"))
    n = record["trained"]
    fitted = LinearRegression().fit(X[:n], y[:n])
    model = ConformalRegressor(fitted, prefit=True).fit(X[n:], y[n:])
    ends = np.asarray(model.predict_interval(new, coverage=float(coverage)))
    np.testing.assert_allclose(ends, np.array(record["split"][coverage], dtype=float), rtol=1e-12)


def test_the_split_form_trains_and_weighs_on_rows_of_their_own():
    model = ConformalRegressor(LinearRegression(), random_state=3).fit(X, y, X_target=T)
    trains, calibrates = split_rows(y, 0.5, model._seed, classes=False)
    assert sorted([*trains, *calibrates]) == list(range(300))
    inner = LinearRegression().fit(X[trains], y[trains])
    np.testing.assert_allclose(model.scores_, np.abs(y - inner.predict(X))[calibrates])
    scaler = StandardScaler().fit(X[trains])
    weighter = clone(model.weighter_)
    weighter.fit(scaler.transform(X[trains]), X_target=scaler.transform(T))
    expected = weighter.predict_weights(scaler.transform(X[calibrates]))
    np.testing.assert_allclose(model.weights_, expected)
    other = y.copy()
    other[calibrates] += 100  # outcomes of calibration rows move neither model nor weights
    moved = ConformalRegressor(LinearRegression(), random_state=3).fit(X, other, X_target=T)
    np.testing.assert_array_equal(moved.weights_, model.weights_)
    np.testing.assert_array_equal(moved.predict(T), model.predict(T))
    assert (moved.scores_ > model.scores_ + 50).all()


@pytest.mark.parametrize("method", ["cv+", "jackknife+"])
def test_cv_plus_is_that_of_its_loops(method):
    few, z = X[:24], y[:24]
    model = ConformalRegressor(
        LinearRegression(), weighter=Known(0.8), method=method, n_folds=4, random_state=0
    ).fit(few, z, X_target=T)
    K = 24 if method == "jackknife+" else 4
    fold = np.arange(24) if K == 24 else deal_folds(z, K, model._seed, classes=False)
    assert np.bincount(fold).tolist() == [24 // K] * K
    models = [LinearRegression().fit(few[fold != k], z[fold != k]) for k in range(K)]
    scores = [abs(z[i] - models[fold[i]].predict(few[[i]])[0]) for i in range(24)]
    scaler = StandardScaler().fit(few)
    ratio = Known(0.8)._ratio(scaler.transform(few))
    own = Known(0.8)._ratio(scaler.transform(T[:10]))
    low, high = model.predict_interval(T[:10], coverage=0.6)
    for j in range(10):
        bands = [(f, f, 1.0) for f in (m.predict(T[[j]])[0] for m in models)]
        expected = reference.plus_interval(bands, fold, scores, ratio, own[j], 0.6)
        assert (low[j], high[j]) == pytest.approx(expected)
    assert np.isfinite(low).any()


def test_jackknife_plus_of_a_machine_takes_one_fit():
    few, z = X[:30], y[:30]
    model = ConformalRegressor(VSVR("additive"), weighter=None, method="jackknife+")
    model.fit(few, z, X_target=T[:40])
    left_out = model.estimator_.leave_one_out(few, z, X_target=T[:40])
    np.testing.assert_allclose(model.scores_, np.abs(left_out.residuals()))
    low, high = model.predict_interval(T[:5], coverage=0.8)
    for j, row in enumerate(left_out.predict(T[:5])):
        bands = [(f, f, 1.0) for f in row]
        given = range(30), model.scores_, np.ones(30), 1.0
        assert (low[j], high[j]) == pytest.approx(reference.plus_interval(bands, *given, 0.8))
    assert not model._models


# coverage


def covered(model, runs, coverage, n=40, m=40, **options):
    """Shares of new outcomes inside, of many samples."""
    rng, found = np.random.default_rng(5), []
    for _ in range(runs):
        X, y = skewed(n, 0.0, rng)
        T, y_T = skewed(m, 0.8, rng)
        fitted = model.fit(X, y, X_target=T, **options)
        found.append(fitted.predict_interval(T, coverage=coverage).covers(y_T).mean())
    return np.mean(found), np.std(found) / np.sqrt(runs)


@pytest.mark.thorough
@pytest.mark.parametrize("randomized", [False, True])
def test_coverage_of_forty_rows_under_known_ratios(randomized, monkeypatch):
    """The guarantee holds at any size: conservative at least, randomised exactly."""

    class Same:
        def fit(self, X, sample_weight=None):
            return self

        def transform(self, X):
            return X

    monkeypatch.setattr(shift, "StandardScaler", Same)
    monkeypatch.setattr(shift, "uncovered", lambda *_: ())  # the ratio is known everywhere
    state = np.random.RandomState(0)  # another seed for every fit
    model = ConformalRegressor(
        LEVEL, weighter=Known(0.8), prefit=True, randomized=randomized, random_state=state
    )
    share, error = covered(model, 150, 0.8)
    assert error < 0.012
    assert share > 0.8 - 4 * error
    if randomized:
        assert share < 0.8 + 4 * error
    plain, error = covered(ConformalRegressor(LEVEL, weighter=None, prefit=True), 60, 0.8)
    assert plain < 0.8 - 5 * error


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["cv+", "jackknife+"])
def test_cv_plus_has_the_coverage_without_a_shift(method):
    model = ConformalRegressor(Ridge(), weighter=None, method=method, n_folds=5, random_state=0)
    rng, found = np.random.default_rng(6), []
    for _ in range(30 if method == "cv+" else 10):
        X, y = skewed(25, 0.0, rng)
        new, y_new = skewed(50, 0.0, rng)
        found.append(model.fit(X, y).predict_interval(new, coverage=0.8).covers(y_new).mean())
    assert 0.75 < np.mean(found) < 0.9


def test_ties_are_inside_of_conservative_and_random_in_randomised_intervals():
    """Outcomes in steps of a tenth around predictions of a third: sums are rounded."""
    rng = np.random.default_rng(7)
    rows, z = np.zeros((4000, 1)), rng.integers(0, 4, 4000) / 10
    model = DummyRegressor(strategy="constant", constant=1 / 3).fit(rows, z)
    options = {"prefit": True, "weighter": None, "random_state": 1}
    plain = ConformalRegressor(model, **options).fit(rows[:2000], z[:2000])
    inside = plain.predict_interval(rows[2000:], coverage=0.6).covers(z[2000:])
    assert inside.mean() == np.mean(np.abs(z[2000:] - 1 / 3) <= 0.24)  # all but the zeros
    exact = ConformalRegressor(model, randomized=True, **options).fit(rows[:2000], z[:2000])
    inside = exact.predict_interval(rows[2000:], coverage=0.6).covers(z[2000:])
    assert inside.mean() == pytest.approx(0.6, abs=0.05)


def with_outcome_model(monkeypatch, model):
    """Let the doubly robust share rest on this model of the scores; return the weights it saw."""
    asked, seen = calibrated.estimate, []

    def estimate(X, y, X_target, **given):
        seen.append(given["weighter"])
        return asked(X, y, X_target, outcome_model=model, **given)

    monkeypatch.setattr(calibrated, "estimate", estimate)
    return seen


@pytest.mark.thorough
def test_the_doubly_robust_threshold_survives_wrong_weights(monkeypatch):
    """Weights of one, and scores that a model can explain: plain covers much less."""
    rng = np.random.default_rng(8)
    X, y = skewed(600, 0.0, rng)
    T, _ = skewed(600, 0.8, rng)
    new, y_new = skewed(5000, 0.8, rng)
    options = {"weighter": Known(0.0), "prefit": True}
    plain = ConformalRegressor(LEVEL, **options).fit(X, y, X_target=T)
    wrong = plain.predict_interval(new)
    assert wrong.covers(y_new).mean() < 0.8
    assert wrong.expected_coverage.interval[1] < 0.88  # it notices that the weights are wrong
    with_outcome_model(monkeypatch, make_pipeline(PolynomialFeatures(2), LogisticRegression()))
    robust = ConformalRegressor(LEVEL, threshold="dr", **options).fit(X, y, X_target=T)
    found = robust.predict_interval(new)
    assert found.share_infinite == 0
    assert found.covers(y_new).mean() == pytest.approx(0.9, abs=0.04)


@pytest.mark.thorough
def test_the_doubly_robust_threshold_survives_a_model_that_knows_nothing(monkeypatch):
    """The weights are right, and the model of the scores is a constant."""
    seen = with_outcome_model(monkeypatch, DummyRegressor())
    rng = np.random.default_rng(9)
    X, y = skewed(600, 0.0, rng)
    T, _ = skewed(600, 0.8, rng)
    new, y_new = skewed(5000, 0.8, rng)
    options = {"prefit": True, "threshold": "dr"}
    right = ConformalRegressor(LEVEL, weighter=Known(0.8), **options).fit(X, y, X_target=T)
    assert right.predict_interval(new).covers(y_new).mean() == pytest.approx(0.9, abs=0.05)
    np.testing.assert_array_equal(seen[0], right.weights_)  # the weights of the calibration
    both_wrong = ConformalRegressor(LEVEL, weighter=Known(0.0), **options).fit(X, y, X_target=T)
    assert both_wrong.predict_interval(new).covers(y_new).mean() < 0.82


def test_without_a_shift_weights_change_little():
    rng = np.random.default_rng(10)
    X, y = skewed(1000, 0.0, rng)
    T, _ = skewed(1000, 0.0, rng)
    fits = [ConformalRegressor(Ridge(), weighter=w, random_state=0) for w in ("cdf", None)]
    ours, plain = (fit.fit(X, y, X_target=T).predict_interval(T) for fit in fits)
    assert ours.mean_width == pytest.approx(plain.mean_width, rel=0.1)
    assert ours.effective_sample_size > 400


# weights of rows


def test_weights_have_no_scale():
    model = ConformalRegressor(Ridge(), weighter="gaussian-ratio", random_state=0)
    d, e = rng_weights(60), rng_weights(300)
    found = [
        np.asarray(
            clone(model)
            .fit(X[:60], y[:60], X_target=T, sample_weight=a * d, target_weight=b * e)
            .predict_interval(T)
        )
        for a, b in ((1, 1), (1e3, 1e-3))
    ]
    np.testing.assert_allclose(*found)


def rng_weights(n):
    return np.random.default_rng(n).uniform(0.5, 2, n)


def test_design_weights_multiply_and_rows_of_weight_zero_are_not_there():
    d = np.where(np.arange(300) < 200, rng_weights(300), 0.0)
    options = {"weighter": "gaussian-ratio", "prefit": True}
    model = ConformalRegressor(LEVEL, **options).fit(X, y, X_target=T, sample_weight=d)
    short = ConformalRegressor(LEVEL, **options)
    short.fit(X[:200], y[:200], X_target=T, sample_weight=d[:200])
    assert len(model.scores_) == 200
    np.testing.assert_allclose(model.weights_, short.weights_)
    factor = short.weighter_.weights_
    np.testing.assert_allclose(short.weights_ / short.weights_.mean(), product(factor, d[:200]))
    weights, part = short._shift.weigh(X[:200], 200), np.arange(200)
    own = short._by_sample.own_weights(weights, part) / short.weighter_.weights_
    np.testing.assert_allclose(own, np.average(d[:200] / d[:200].mean(), weights=short.weights_))


def product(factor, d):
    return factor * d / (factor * d).mean()


@pytest.mark.parametrize("form", [{"prefit": True}, {"method": "cv+"}])
def test_new_rows_weigh_as_calibration_rows_do(form):
    """Weights of the rows that they were fitted to have mean one, those of others here four."""
    rng = np.random.default_rng(0)
    X, fresh, T = (rng.normal(size=(size, 5)) for size in (100, 1000, 200))
    T[:, 0] += 0.8
    estimator = LinearRegression()
    if "prefit" in form:
        estimator.fit(rng.normal(size=(100, 5)), rng.normal(size=100))
    model = ConformalRegressor(estimator, random_state=0, **form)
    model.fit(X, rng.normal(size=100), X_target=T)
    assert model._shift.weigh(fresh, len(fresh)).mean() == pytest.approx(
        model.weights_.mean(), rel=0.5
    )


def test_the_order_of_calibration_rows_says_nothing():
    order = np.random.default_rng(1).permutation(300)
    model = ConformalRegressor(LEVEL, prefit=True, weighter="gaussian-ratio")
    found = [
        np.asarray(
            clone(model).set_params(estimator=LEVEL).fit(X[i], y[i], X_target=T).predict_interval(T)
        )
        for i in (slice(None), order)
    ]
    np.testing.assert_allclose(*found)


# forms of intervals


def test_normalized_and_quantile_intervals_are_narrow_where_outcomes_are():
    widths = {}
    for score, estimator in {
        "absolute": Ridge(),
        "normalized": Ridge(),
        "quantile": make_pipeline(PolynomialFeatures(2), QuantileRegressor(alpha=0)),
    }.items():
        model = ConformalRegressor(estimator, conformity_score=score, random_state=0)
        low, high = model.fit(X, y, X_target=T).predict_interval(np.array([[-1.0, 0], [1.0, 0]]))
        widths[score] = high - low
    assert widths["absolute"][0] == pytest.approx(widths["absolute"][1])
    for score in ("normalized", "quantile"):
        assert widths[score][0] < 0.7 * widths[score][1]


def test_prefit_forms():
    half = len(X) // 2
    low, high = (
        GradientBoostingRegressor(loss="quantile", alpha=q, n_estimators=20).fit(X[:half], y[:half])
        for q in (0.1, 0.9)
    )
    rest, z = X[half:], y[half:]
    pair = ConformalRegressor((low, high), conformity_score="quantile", prefit=True).fit(rest, z)
    expected = np.maximum(low.predict(rest) - z, z - high.predict(rest))
    np.testing.assert_allclose(pair.scores_, expected)
    np.testing.assert_allclose(pair.predict(T), (low.predict(T) + high.predict(T)) / 2)
    spread = Ridge(fit_intercept=False).fit(np.ones((5, 2)), np.full(5, 4.0))
    options = {"prefit": True, "conformity_score": "normalized"}
    with pytest.raises(InputError, match="pass spread"):
        ConformalRegressor(LEVEL, **options).fit(rest, z)
    with pytest.raises(InputError, match="not positive"):
        ConformalRegressor(LEVEL, spread=spread, **options).fit(rest, z)
    ones = DummyRegressor(strategy="constant", constant=2.0).fit(X, y)
    model = ConformalRegressor(LEVEL, spread=ones, **options).fit(rest, z)
    np.testing.assert_allclose(model.scores_, np.abs(z) / 2)
    frozen = clone(ConformalRegressor(FrozenEstimator(LEVEL), prefit=True)).fit(X, y)
    np.testing.assert_array_equal(frozen.scores_, np.abs(y))


@pytest.mark.parametrize(
    "estimator", [Ridge(), GradientBoostingRegressor(), make_pipeline(StandardScaler(), Ridge())]
)
def test_only_models_of_quantiles_make_quantile_intervals(estimator):
    """A penalty may be called alpha as well."""
    with pytest.raises(InputError, match="needs an estimator of quantiles"):
        ConformalRegressor(estimator, conformity_score="quantile").fit(X, y)


# around it


@pytest.mark.parametrize(
    "estimator",
    [
        VSVR("additive"),
        make_pipeline(StandardScaler(), VSVR("additive")),
        Reweighted(Ridge(), weighter="gaussian-ratio"),
    ],
)
def test_estimators_that_take_the_target_get_it(estimator):
    model = ConformalRegressor(estimator, weighter="gaussian-ratio", random_state=0)
    model.fit(X[:80], y[:80], X_target=T[:60])
    trains, _ = split_rows(y[:80], 0.5, model._seed, classes=False)
    expected = clone(estimator)
    if isinstance(estimator, VSVR | Reweighted):
        expected.fit(X[trains], y[trains], X_target=T[:60])
        np.testing.assert_allclose(model.predict(T), expected.predict(T))
    unaware = clone(model).set_params(weighter=None).fit(X[:80], y[:80])
    assert np.abs(model.predict(T) - unaware.predict(T)).max() > 1e-6


@either_routing
def test_the_target_reaches_it_through_a_search(routing):
    model = ConformalRegressor(Ridge(), weighter="gaussian-ratio", random_state=0)
    with config_context(enable_metadata_routing=routing):
        search = GridSearchCV(model, {"estimator__alpha": [0.1, 10.0]}, cv=2)
        search.fit(X, y, X_target=(T,))
        assert search.best_estimator_.weighter_ is not None
        assert search.predict(T).shape == (300,)
        scores = cross_val_score(model, X, y, params={"X_target": (T,)}, cv=2)
    assert scores.shape == (2,)


def test_parameters_are_kept_and_cloned():
    model = ConformalRegressor(Ridge(alpha=3.0), n_folds=7, by=0, quantiles=(0.1, 0.8))
    again = clone(model)
    assert again.get_params()["estimator__alpha"] == 3.0
    assert {**again.get_params(), "estimator": 0} == {**model.get_params(), "estimator": 0}
    assert model.score is not None
    assert callable(model.score)


# results


@pytest.fixture(scope="module")
def fitted():
    return ConformalRegressor(Ridge(), weighter="gaussian-ratio", random_state=0).fit(
        X, y, X_target=T
    )


def test_a_result_says_how_far_it_can_be_trusted(fitted, monkeypatch):
    found = fitted.predict_interval(T, coverage=0.8)
    low, high = found
    np.testing.assert_array_equal(np.asarray(found), np.column_stack([low, high]))
    assert np.asarray(found, dtype=np.float32).dtype == np.float32
    assert len(found) == 300
    assert found.mean_width == pytest.approx((high - low).mean())
    assert found.effective_sample_size == pytest.approx(fitted.effective_sample_size_)
    assert found.n_calibration == 150
    first = found.expected_coverage
    assert found.expected_coverage is first
    assert fitted.expected_coverage(0.8) is first  # once for all results of the fit
    assert first.interval[0] < 0.8 < first.interval[1]
    text = str(found)
    assert "300 intervals of coverage 80%" in text
    assert f"Expected coverage on the target: {first}" in text
    assert "150 rows, effective calibration size" in text
    frame = found.to_frame()
    assert list(frame.columns) == ["prediction", "lower", "upper"]
    np.testing.assert_array_equal(frame["prediction"], fitted.predict(T))
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["expected_coverage"]["value"] == pytest.approx(first.value)
    assert plain["share_infinite"] == 0.0
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.lower, low)
    assert again.expected_coverage == first
    assert str(again) == text
    model = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(np.asarray(model.predict_interval(T, 0.8)), np.asarray(found))


def test_a_result_keeps_to_its_own_fit():
    model = ConformalRegressor(LEVEL, weighter=None, prefit=True).fit(X, y)
    first = model.predict_interval(T, coverage=0.9)
    model.fit(X[:25], y[:25])
    assert (
        first.expected_coverage.standard_error
        < 0.03
        < 0.9 * model.expected_coverage(0.9).standard_error / np.sqrt(2)
    )


def test_infinite_intervals_say_so():
    rows, z = X[:8], y[:8]
    model = ConformalRegressor(LEVEL, weighter=None, prefit=True).fit(rows, z)
    found = model.predict_interval(T[:4], coverage=0.9)  # 8 / 9 is less than that
    assert found.infinite.all()
    assert (found.share_infinite, found.mean_width) == (1.0, np.inf)
    assert {note.kind for note in found.notes} == {"infinite", "few rows"}
    assert "100.0% infinite" in str(found)
    assert found.to_dict()["mean_width"] is None
    assert found.covers(y_T[:4]).all()
    assert not model.predict_interval(T[:4], coverage=8 / 9).infinite.any()


def test_intervals_of_positive_outcomes_say_where_they_reach_below_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y = np.exp(X[:, 0] + rng.normal(size=200))
    model = ConformalRegressor(LinearRegression(), random_state=0)
    for outcomes, told in ((y, True), (y - 1.0, False), (y + 100.0, False)):
        found = model.fit(X, outcomes, X_target=X + 0.1).predict_interval(X)
        notes = [note.text for note in found.notes if note.kind == "below zero"]
        assert bool(notes) == told
        if told:
            share = (found.lower < 0).mean()
            assert notes[0].startswith(f"{share:.1%} of the intervals reach below zero")
