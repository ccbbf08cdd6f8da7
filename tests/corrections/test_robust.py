"""The minimax classifier: its conditions, its limits, and what it does far from the sample."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from covshift import RobustBiasAware
from covshift.weights import GaussianRatio, NearestNeighbors


@parametrize_with_checks([RobustBiasAware()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def problem(N=200, M=300, n_classes=2, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 2)), rng.normal(shift, 1.0, size=(M, 2))
    score = X[:, 0] - X[:, 1] + rng.normal(size=N)
    return X, np.digitize(score, np.linspace(-1, 1, n_classes + 1)[1:-1]), T


@pytest.mark.parametrize(("n_classes", "factor"), [(2, 2), (3, 1)])
def test_without_a_target_it_is_logistic_regression(n_classes, factor):
    """With two classes, two opposite vectors share the penalty of one: twice C."""
    X, y, _ = problem(n_classes=n_classes)
    model = RobustBiasAware(reg=0.02).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    expected = LogisticRegression(C=factor / (0.02 * len(X)), tol=1e-10, max_iter=1000).fit(Z, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(Z), atol=1e-6)
    assert model.weighter_ is None


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_model_has_the_features_of_the_sample(n_classes, weighted):
    """Stationarity: mean features under the model and under the data differ by the penalty."""
    X, y, T = problem(n_classes=n_classes)
    w = np.random.default_rng(1).uniform(size=len(X)) if weighted else np.ones(len(X))
    model = RobustBiasAware(reg=0.05).fit(X, y, X_target=T, sample_weight=w)
    share = w / w.sum()
    mean = share @ X
    std = np.sqrt(share @ (X - mean) ** 2)
    F = (X - mean) / std
    P = model.predict_proba(X)
    Y = (y[:, None] == model.classes_).astype(float)
    theta = model.coef_.T * std[:, None]
    np.testing.assert_allclose(share @ P, share @ Y, atol=1e-7)
    gap = F.T @ (share[:, None] * (P - Y))
    np.testing.assert_allclose(gap, -0.05 * theta, atol=1e-7)


def test_the_probabilities_have_the_stated_form():
    X, y, T = problem()
    model = RobustBiasAware(GaussianRatio(), clip=5.0).fit(X, y, X_target=T)
    w = model.weighter_.predict_weights(X)
    r = np.clip(1 / w, 0.2, 5.0)
    logits = r[:, None] * (X @ model.coef_.T + model.intercept_)
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])


def test_the_objective_has_the_gradient_and_hessian_it_says():
    from covshift import robust

    rng = np.random.default_rng(0)
    F = np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    codes, share = rng.integers(0, 3, size=30), rng.dirichlet(np.ones(30))
    r = rng.uniform(0.1, 10, size=30)
    seen = {}

    def spy(value, start, jac, hessp, method, options):
        seen.update(value=value, hessp=hessp, size=len(start))
        raise StopIteration

    original = robust.minimize
    robust.minimize = spy
    try:
        with pytest.raises(StopIteration):
            robust._minimise(F, codes, share, r, 0.1)
    finally:
        robust.minimize = original
    theta, direction = rng.normal(size=(2, seen["size"])) / 5
    value = seen["value"]
    assert check_grad(lambda t: value(t)[0], lambda t: value(t)[1], theta) < 1e-6
    step = 1e-6
    change = (value(theta + step * direction)[1] - value(theta - step * direction)[1]) / (2 * step)
    np.testing.assert_allclose(seen["hessp"](theta, direction), change, atol=1e-7)


def test_it_is_unsure_where_only_the_target_is():
    X, y, T = problem(N=400, shift=2.0)
    model = RobustBiasAware(clip=100.0).fit(X, y, X_target=T)
    plain = RobustBiasAware().fit(X, y)
    far = np.array([[6.0, 1.0], [1.0, 6.0]])
    assert np.abs(model.predict_proba(far) - 0.5).max() < 0.1
    assert np.abs(plain.predict_proba(far) - 0.5).min() > 0.45
    near = np.array([[-1.0, -2.5], [-2.5, -1.0]])
    assert np.abs(model.predict_proba(near) - 0.5).min() > 0.3


def test_its_log_loss_under_a_strong_shift_is_no_worse_than_that_of_ignorance():
    """The minimax property, on labels that the linear model extrapolates wrongly."""
    losses = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, T = rng.normal(size=(300, 2)), rng.normal(2.0, 1.0, size=(2000, 2))

        def label(Z, rng=rng):
            return (rng.uniform(size=len(Z)) < 1 / (1 + np.exp(-3 * np.sin(2 * Z[:, 0])))).astype(
                int
            )

        y, truth = label(X), label(T)
        robust = RobustBiasAware().fit(X, y, X_target=T)
        plain = LogisticRegression().fit(X, y)
        losses.append([log_loss(truth, model.predict_proba(T)) for model in (robust, plain)])
    robust_loss, plain_loss = np.mean(losses, axis=0)
    assert robust_loss < np.log(2) + 0.03
    assert plain_loss > robust_loss + 0.05


def test_no_overlap_gives_no_warning():
    """Little overlap is what the classifier is for; warnings are errors here."""
    X, y, T = problem(shift=5.0)
    model = RobustBiasAware().fit(X, y, X_target=T)
    assert np.isfinite(model.predict_proba(np.vstack([X, T]))).all()


def test_far_rows_have_finite_probabilities():
    X, y, T = problem()
    model = RobustBiasAware().fit(X, y, X_target=T)
    P = model.predict_proba([[1e308, -1e308], [-1e308, 1e308], [0.0, 0.0]])
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_weights_count_as_repetitions_and_zero_as_absence():
    X, y, T = problem(N=60)
    w = np.random.default_rng(0).integers(0, 3, size=60)
    weighted = RobustBiasAware(NearestNeighbors(10)).fit(X, y, X_target=T, sample_weight=w)
    kept = RobustBiasAware(NearestNeighbors(10)).fit(
        X[w > 0], y[w > 0], X_target=T, sample_weight=w[w > 0]
    )
    np.testing.assert_allclose(weighted.predict_proba(T), kept.predict_proba(T), atol=1e-8)
    plain, repeated = RobustBiasAware().fit(X, y, sample_weight=w), np.repeat(np.arange(60), w)
    again = RobustBiasAware().fit(X[repeated], y[repeated])
    np.testing.assert_allclose(plain.predict_proba(X), again.predict_proba(X), atol=1e-7)


def test_target_weights_equal_repeated_target_rows():
    X, y, T = problem(N=80, M=40)
    times = np.random.default_rng(0).integers(0, 3, size=40)
    weighted = RobustBiasAware().fit(X, y, X_target=T, target_weight=times)
    repeated = RobustBiasAware().fit(X, y, X_target=np.repeat(T, times, axis=0))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_a_one_tuple_target_goes_through_a_search_whole():
    X, y, T = problem(N=120, M=120)
    search = GridSearchCV(RobustBiasAware(), {"reg": [0.01, 1.0]}, cv=3)
    search.fit(X, y, X_target=(T,))
    assert search.best_estimator_.weighter_ is not None
    scores = cross_val_score(
        RobustBiasAware("gaussian-ratio"), X, y, params={"X_target": (T,)}, cv=3
    )
    assert scores.mean() > 0.6


def test_text_classes_and_data_frames():
    X, y, T = problem(n_classes=3)
    names = np.array(["low", "middle", "high"])[y]
    frame, target = (pd.DataFrame(points, columns=["a", "b"]) for points in (X, T))
    model = RobustBiasAware().fit(frame, names, X_target=target)
    assert set(model.predict(target)) <= {"low", "middle", "high"}
    plain = RobustBiasAware().fit(X, names, X_target=T)
    np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(X), atol=1e-8)


def test_a_constant_column_does_no_harm():
    X, y, T = problem()
    wide, wide_target = (np.column_stack([points, np.ones(len(points))]) for points in (X, T))
    model = RobustBiasAware().fit(wide, y, X_target=wide_target)
    plain = RobustBiasAware().fit(X, y, X_target=T)
    np.testing.assert_allclose(model.predict_proba(wide), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weighter": "nothing"}, "weighter='nothing' is unknown"),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, y, T = problem()
    with pytest.raises(ValueError, match=message):
        RobustBiasAware(**options).fit(X, y, X_target=T)


def test_the_weighter_is_cloned():
    X, y, T = problem()
    weighter = GaussianRatio()
    model = clone(RobustBiasAware(weighter)).fit(X, y, X_target=T)
    assert not hasattr(weighter, "weights_")
    assert hasattr(model.weighter_, "weights_")
