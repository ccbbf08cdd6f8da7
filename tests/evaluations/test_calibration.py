"""Probabilities from held-out predictions (theory, eq. 3.12)."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from covshift import VSVC
from covshift.machine.calibration import _newton, _stacked, calibrate, probabilities
from covshift.numerics.folds import ranked_folds

rng = np.random.default_rng(0)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_linear_model_is_that_of_scikit_learn(classes):
    """The same penalised likelihood; scikit-learn's penalises all classes alike, so two only."""
    X = rng.normal(size=(120, 3))
    y = rng.integers(0, classes, 120)
    w = rng.integers(1, 4, 120).astype(float)
    hot = np.eye(classes)[y]
    coef = _newton(X, hot, w, 3.0, None)

    def objective(flat):
        c = flat.reshape(4, classes - 1)
        score = np.column_stack([np.zeros(120), c[0] + X @ c[1:]])
        share = np.log(np.exp(score).sum(axis=1)) - (hot * score).sum(axis=1)
        ridge = 3.0 * np.sum(c[1:] ** 2) + 1e-6 * w.sum() * np.sum(c[0] ** 2)
        return w @ share + ridge / 2

    best = minimize(objective, np.zeros(coef.size), method="BFGS", options={"gtol": 1e-7}).x
    np.testing.assert_allclose(coef, best.reshape(coef.shape), atol=1e-5)
    if classes == 2:
        peer = LogisticRegression(C=1 / 3, tol=1e-10).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(coef[1:, 0], peer.coef_[0], atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_slopes_and_intercepts_are_the_bounded_minimum(classes):
    y = rng.integers(0, classes, 200)
    hot = np.eye(classes)[y]
    good = 1.5 * hot[:, 1:] + rng.normal(size=(200, classes - 1))
    bad = -hot[:, 1:] + rng.normal(size=(200, classes - 1))  # would have a negative slope
    w = rng.uniform(0.5, 2, 200)
    k = classes - 1
    center = np.concatenate([np.zeros(k), [0.0, 1.0]])
    found = _stacked([good, bad], hot, w, center)
    precision = np.concatenate([np.full(k, 0.1), [5.0, 5.0]])

    def objective(b):
        score = np.column_stack([np.zeros(200), b[:k] + b[k] * good + b[k + 1] * bad])
        loss = np.log(np.exp(score).sum(axis=1)) - (hot * score).sum(axis=1)
        return w @ loss + precision @ (b - center) ** 2 / 2

    bounds = [(None, None)] * k + [(0, None)] * 2
    best = minimize(objective, center, bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9}).x
    np.testing.assert_allclose(found, best, atol=1e-4)
    assert found[k + 1] == 0


def test_one_class_alone_cannot_be_calibrated():
    X = rng.normal(size=(20, 2))
    Y = np.ones((20, 1))
    folds = ranked_folds(X, Y, 4)
    assert calibrate(np.ones((20, 1)), X, Y, np.ones(20), folds) is None


def test_probabilities_add_up_and_follow_the_scores():
    found = probabilities(np.array([[800.0, -800.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found, [[0, 1, 0], [1 / 3, 1 / 3, 1 / 3]], atol=1e-12)


def separable(seed, N):
    """Log-odds linear and steep: least squares on 0 and 1 is wrong in its tails."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(N, 3))
    p = 1 / (1 + np.exp(-(4 * X[:, 0] + 3 * X[:, 1] - 3)))
    return X, (draw.uniform(size=N) < p).astype(int)


@pytest.mark.thorough
@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_steep_log_odds_have_a_smaller_log_loss_than_clipping(solver):
    X, y = separable(1, 300)
    T, y_T = separable(2, 2000)
    loss = {
        probability: log_loss(
            y_T,
            VSVC(probability=probability, solver=solver, fast=True)
            .fit(X, y)
            .predict_proba(T)
            .clip(1e-3, 1 - 1e-3),
        )
        for probability in ("logistic", "clip")
    }
    assert loss["logistic"] < 0.95 * loss["clip"]


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_classes_and_probabilities_agree(classes):
    X = rng.normal(size=(150, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [0.0, 1.0][: classes - 1])]
    machine = VSVC(fast=True).fit(X, y)
    p, score = machine.predict_proba(X), machine.decision_function(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(machine.predict(X), machine.classes_[p.argmax(axis=1)])
    if classes == 2:
        np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-score)))
    else:
        assert score.shape == (150, 3)
        np.testing.assert_array_equal(score.argmax(axis=1), p.argmax(axis=1))


@pytest.mark.thorough
def test_probabilities_are_calibrated_on_new_rows():
    draw = np.random.default_rng(5)
    X, T = draw.normal(size=(600, 2)), draw.normal(size=(20_000, 2))

    def truth(Z):
        return 1 / (1 + np.exp(-np.sin(2 * Z[:, 0]) - Z[:, 1]))

    y = (draw.uniform(size=600) < truth(X)).astype(int)
    p = VSVC().fit(X, y).predict_proba(T)[:, 1]
    for low, high in ((0.0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.0)):
        inside = (p >= low) & (p < high)
        assert abs(p[inside].mean() - truth(T)[inside].mean()) < 0.06
