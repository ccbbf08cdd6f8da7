"""The V-loss for other engines: derivatives, the bound on the Hessian, weights, shapes, errors."""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from covshift import v_matrix
from covshift.corrections import (
    Additive,
    Gaussian,
    Importance,
    Multiplicative,
    Pairwise,
    Precomputed,
    Sliced,
    Uniform,
    Unweighted,
)
from covshift.exceptions import CoverageWarning
from covshift.objectives import VObjective, lightgbm_objective, xgboost_objective

N = 25
CORRECTIONS = [
    Unweighted(),
    Importance(np.linspace(0, 2, N)),
    Uniform(low=-4, high=4),
    Gaussian(normalize=True),
    Multiplicative(symmetric=True),
    Additive(),
    Additive(symmetric=True, normalize=True, blend=0.5),
    Additive(phi="anderson-darling"),
    Additive(weights=np.linspace(0.5, 1.5, N)),
    Pairwise(symmetric=True),
    Sliced(n_directions=7, random_state=0, symmetric=True),
]
SQUASHES = [None, "sigmoid"]


def problem(seed=0, columns=None):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 3)), rng.normal(0.3, 1.2, size=(40, 3))
    shape = N if columns is None else (N, columns)
    y = rng.integers(0, 2, size=shape).astype(float)
    return X, T, y, rng.normal(size=shape), rng


def negative_v():
    """Positive semidefinite, with negative entries."""
    rng = np.random.default_rng(1)
    R = rng.normal(size=(6, N))
    return R.T @ R


class Data:
    """What the engines' own data sets offer to an objective."""

    def __init__(self, label, weight=None):
        self._label, self._weight = label, weight

    def get_label(self):
        return self._label

    def get_weight(self):
        return self._weight


def scaled_loss(objective, X, T, y, f, weight=None):
    """Return the function whose derivatives the objective returns: r'Vr times a constant scale."""
    raw = VObjective(X, T, objective.correction, squash=objective.squash, unit_hessian=False)
    scale = objective(y, f, weight)[1].sum() / raw(y, f, weight)[1].sum()
    total = N  # whatever the scale of the weights
    return lambda f: scale * total**2 * objective.loss(y, f, weight)


@pytest.mark.part(3)
@pytest.mark.parametrize("squash", SQUASHES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unit_hessian", [False, True])
@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda c: type(c).__name__)
def test_the_gradient_is_that_of_finite_differences(correction, unit_hessian, weighted, squash):
    X, T, y, f, rng = problem()
    weight = rng.uniform(0, 2, size=N) if weighted else None
    objective = VObjective(X, T, correction, squash=squash, unit_hessian=unit_hessian)
    gradient, _ = objective(y, f, weight)
    loss, step = scaled_loss(objective, X, T, y, f, weight), 1e-5
    for i in range(0, N, 6):
        ahead, behind = f.copy(), f.copy()
        ahead[i] += step
        behind[i] -= step
        slope = (loss(ahead) - loss(behind)) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-7)


@pytest.mark.part(3)
@pytest.mark.parametrize("squash", SQUASHES)
@pytest.mark.parametrize("correction", [*CORRECTIONS, Precomputed(negative_v())])
def test_the_quadratic_model_lies_above_the_loss(correction, squash):
    X, T, y, f, rng = problem(2)
    objective = VObjective(X, T, correction, squash=squash)
    gradient, hessian = objective(y, f)
    loss = scaled_loss(objective, X, T, y, f)
    assert (hessian >= 0).all()
    for _ in range(100):
        d = rng.normal(size=N) * rng.choice([0.01, 1, 30]) * (rng.uniform(size=N) < rng.uniform())
        model = loss(f) + gradient @ d + hessian @ d**2 / 2
        assert loss(f + d) <= model + 1e-9 * (1 + abs(model))


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_a_full_step_never_raises_the_loss(seed):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 2)), rng.normal(0.5, 1.0, size=(15, 2))
    y, f = rng.integers(0, 2, size=N).astype(float), 5 * rng.normal(size=N)
    for squash in SQUASHES:
        objective = VObjective(X, T, squash=squash)
        gradient, hessian = objective(y, f)
        rate = rng.uniform(0, 2)
        assert objective.loss(y, f - rate * gradient / hessian) <= objective.loss(y, f) + 1e-12


def test_a_common_step_attains_the_bound():
    X, T, y, f, _ = problem()
    objective = VObjective(X, T, Additive(symmetric=True))
    gradient, hessian = objective(y, f)
    loss = scaled_loss(objective, X, T, y, f)
    model = loss(f) + 0.7 * gradient.sum() + 0.7**2 * hessian.sum() / 2
    assert loss(f + 0.7) == pytest.approx(model, rel=1e-12)


def test_the_curvature_of_the_sigmoid_is_the_largest_of_its_bound():
    p = np.linspace(0, 1, 100001)
    s = p * (1 - p)
    bound = s * (0.25 + abs(1 - 2 * p))
    assert bound.max() == pytest.approx(9 / 64, rel=1e-9)
    assert min(p[bound.argmax()], 1 - p[bound.argmax()]) == pytest.approx(0.25)


def test_a_sum_of_rows_does_not_bound_a_v_with_negative_entries():
    V = negative_v()
    assert np.linalg.eigvalsh(np.diag(V.sum(axis=1)) - V).min() < -1
    assert np.linalg.eigvalsh(np.diag(abs(V).sum(axis=1)) - V).min() > -1e-9
    X, _, y, f, _ = problem()
    _, hessian = VObjective(X, None, Precomputed(V), unit_hessian=False)(y, f)
    np.testing.assert_allclose(hessian, 2 * abs(V).sum(axis=1))


def test_an_unknown_correction_gets_the_same_bound_as_a_known_one(monkeypatch):
    X, T, y, f, _ = problem()
    known = VObjective(X, T, "additive")(y, f)
    monkeypatch.setattr(Additive, "nonnegative", False)
    for mine, theirs in zip(VObjective(X, T, "additive")(y, f), known, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_gradient_and_hessian_are_those_of_the_oracle():
    X, T, y, f, _ = problem()
    V = reference.algorithm_2(X, T)
    gradient, hessian = xgboost_objective(X, T, "additive", unit_hessian=False)(y, f)
    np.testing.assert_allclose(gradient, 2 * V @ (f - y), rtol=1e-12)
    np.testing.assert_allclose(hessian, 2 * V.sum(axis=1), rtol=1e-12)
    loss = xgboost_objective(X, T, "additive").loss(y, f)
    assert loss == pytest.approx(reference.rho_squared(f - y, V))


def test_without_correction_it_is_half_the_squared_error():
    X, T, y, f, _ = problem()
    gradient, hessian = lightgbm_objective(X, T, "none")(y, f)
    np.testing.assert_allclose(gradient, f - y)
    np.testing.assert_allclose(hessian, 1)


@pytest.mark.parametrize("squash", SQUASHES)
def test_the_scale_of_v_does_not_matter(squash):
    X, T, y, f, _ = problem()
    for once, thrice in zip(
        VObjective(X, None, Precomputed(v_matrix(X, T)), squash=squash)(y, f),
        VObjective(X, None, Precomputed(3 * v_matrix(X, T)), squash=squash)(y, f),
        strict=True,
    ):
        np.testing.assert_allclose(once, thrice, rtol=1e-12)


@pytest.mark.parametrize("squash", SQUASHES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_hessian_has_mean_one(weighted, squash):
    X, T, y, f, rng = problem()
    weight = rng.uniform(0, 3, size=N) if weighted else None
    _, hessian = VObjective(X, T, squash=squash)(y, f, weight)
    assert hessian.sum() == pytest.approx(N)


@pytest.mark.parametrize("squash", SQUASHES)
@pytest.mark.parametrize("with_target", [False, True])
@pytest.mark.parametrize("correction", ["none", "additive", "blended"])
def test_the_scale_of_weights_says_nothing(correction, with_target, squash):
    """And a V of weights in the ratio of repeats is that of the repeated rows, but for its size."""
    X, T, y, f, rng = problem()
    T = T if with_target else None
    repeats = rng.integers(0, 4, size=N)
    owner = np.repeat(np.arange(N), repeats)
    weighted = VObjective(X, T, correction, squash=squash)
    found = weighted(y, f, 1000.0 * repeats)
    for mine, same in zip(found, weighted(y, f, repeats.astype(float)), strict=True):
        np.testing.assert_allclose(mine, same, rtol=1e-9, atol=1e-12)
    if correction != "blended":  # whose share of V depends on the number of rows
        repeated = VObjective(X[owner], T, correction, squash=squash)
        for mine, theirs in zip(found, repeated(y[owner], f[owner]), strict=True):
            expected = np.bincount(owner, theirs, minlength=N)
            ratio = (repeats > 0).sum() / repeats.sum()
            np.testing.assert_allclose(mine, ratio * expected, atol=1e-12)
        constant = repeated.constant(y[owner])
        assert weighted.constant(y, repeats.astype(float)) == pytest.approx(constant)


def test_weights_may_come_and_go():
    X, T, y, f, rng = problem()
    objective, weight = VObjective(X, T), rng.uniform(size=N)
    plain, with_weight = objective(y, f)[0], objective(y, f, weight)[0]
    assert abs(plain - with_weight).max() > 1e-3
    kept = weight.copy()
    weight[:] = 1  # a caller may reuse the array
    np.testing.assert_array_equal(objective(y, f)[0], plain)
    np.testing.assert_array_equal(objective(y, f, kept)[0], with_weight)
    np.testing.assert_allclose(objective(y, f, weight)[0], plain)


def test_both_calling_forms_agree():
    X, T, y, f, rng = problem()
    weight = rng.uniform(size=N)
    objective = VObjective(X, T)
    for given_weight, expected in [
        (None, objective(y, f)),
        (np.empty(0), objective(y, f)),  # a DMatrix without weights
        (weight, objective(y, f, weight)),
    ]:
        for mine, theirs in zip(objective(f, Data(y, given_weight)), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_several_columns_are_several_problems_with_one_v():
    X, T, Y, F, _ = problem(columns=3)
    for squash in SQUASHES:
        objective = VObjective(X, T, squash=squash)
        gradient, hessian = objective(Y, F)
        for k in range(3):
            one = objective(Y[:, k], F[:, k])
            np.testing.assert_allclose(gradient[:, k], one[0])
            np.testing.assert_allclose(hessian[:, k], one[1])
        np.testing.assert_array_equal(objective(F, Data(Y.ravel()))[0], gradient)
        best = [objective.constant(Y[:, k]) for k in range(3)]
        np.testing.assert_allclose(objective.constant(Y), best)


def test_classes_become_one_hot():
    X, T, _, F, rng = problem(columns=3)
    classes = rng.integers(0, 3, size=N)
    objective = VObjective(X, T)
    np.testing.assert_array_equal(objective(classes, F)[0], objective(np.eye(3)[classes], F)[0])


@pytest.mark.parametrize("squash", SQUASHES)
def test_the_constant_is_the_best_one(squash):
    X, T, y, _, _ = problem()
    objective = VObjective(X, T, "additive", squash=squash)
    best = objective.constant(y)
    losses = [objective.loss(y, np.full(N, best + d)) for d in (-1e-3, 0, 1e-3)]
    assert losses[1] < min(losses[0], losses[2])
    assert objective(y, np.full(N, best))[0].sum() == pytest.approx(0, abs=1e-12)


def test_probabilities_of_raw_predictions():
    X, T, *_ = problem()
    plain, squashed = VObjective(X, T), VObjective(X, T, squash="sigmoid")
    np.testing.assert_allclose(plain.probability([-0.5, 0.25, 2]), [[1, 0], [0.75, 0.25], [0, 1]])
    p = expit([-1.0, 3.0])
    np.testing.assert_allclose(squashed.probability([[-1.0], [3.0]]), np.column_stack([1 - p, p]))
    three = plain.probability([[0.5, 0.5, -1], [-1, -1, -1], [2, 1, 0.5]])
    np.testing.assert_allclose(three, [[0.5, 0.5, 0], [1 / 3] * 3, [0.4, 0.4, 0.2]])


def test_rows_that_the_target_does_not_see_have_no_say():
    X, T, y, f, _ = problem()
    X[:2] = 100.0
    objective = VObjective(X, T, "additive")
    gradient, hessian = objective(y, f)
    assert (gradient[:2] == 0).all()
    assert (hessian[:2] == 0).all()
    assert objective.target_coverage_ == pytest.approx((N - 2) / N)
    X[:10] = 100.0
    with pytest.warns(CoverageWarning, match="10 of 25 training points") as caught:
        xgboost_objective(X, T, "additive")
    assert caught[0].filename == __file__


def test_no_square_array_is_held():
    rng = np.random.default_rng(0)
    X, T, y = rng.normal(size=(20_000, 2)), rng.normal(size=(500, 2)), rng.uniform(size=20_000)
    tracemalloc.start()
    gradient, _ = VObjective(X, T)(y, np.zeros(20_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert gradient.shape == (20_000,)
    assert peak < 100e6  # V would take 3.2 GB


def test_it_can_be_copied_and_pickled():
    X, T, y, f, _ = problem()
    objective = VObjective(X, T, squash="sigmoid")
    for twin in (copy.deepcopy(objective), pickle.loads(pickle.dumps(objective))):
        np.testing.assert_array_equal(twin(y, f)[0], objective(y, f)[0])


@pytest.mark.parametrize(
    ("y", "f", "message"),
    [
        (np.zeros(N - 1), np.zeros(N - 1), "do not fit the 25 training rows"),
        (np.zeros(N), np.zeros(2 * N), "in a cross-validation, one for every fold"),
        (np.zeros((N, 2)), np.zeros((N, 3)), "do not fit the 25 training rows"),
        (np.zeros(0), np.zeros(N), "do not fit the 25 training rows"),
        (np.full(N, 7), np.zeros((N, 3)), "classes 0 to 2"),
        (np.full(N, np.nan), np.zeros(N), "NaN or inf"),
        (np.full(N, -1.0), np.zeros(N), "between 0 and 1, got -1 to -1"),
    ],
)
def test_what_does_not_fit_is_refused(y, f, message):
    X, T, *_ = problem()
    with pytest.raises(ValueError, match=message):
        VObjective(X, T, squash="sigmoid")(y, f)


def test_options_and_weights_are_checked():
    X, T, y, f, _ = problem()
    with pytest.raises(ValueError, match=r"squash='softmax' must be 'sigmoid' or None"):
        xgboost_objective(X, T, squash="softmax")
    with pytest.raises(ValueError, match="unit_hessian='yes' must be True or False"):
        lightgbm_objective(X, T, unit_hessian="yes")
    with pytest.raises(ValueError, match=r"'cdf', .*, or pass an object"):
        xgboost_objective(X, T, "blend")
    with pytest.raises(ValueError, match="X_target has 2 features"):
        xgboost_objective(X, T[:, :2])
    with pytest.raises(ValueError, match="sample_weight contains 1 negative"):
        VObjective(X, T)(y, f, np.r_[-1, np.ones(N - 1)])


@pytest.mark.filterwarnings("ignore::covshift.exceptions.CoverageWarning")
def test_a_zero_v_has_no_best_constant():
    X, T, y, f, _ = problem()
    objective = VObjective(X + 100, T, "additive")
    assert not np.concatenate(objective(y, f)).any()
    with pytest.raises(ValueError, match="no training row is within"):
        objective.constant(y)
