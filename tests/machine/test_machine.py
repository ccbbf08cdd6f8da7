"""The kernel machines against the paper's closed form, scikit-learn and brute force."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import VSVC, VSVR
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import pairwise_kernels

import covshift
from covshift import v_matrix
from covshift.corrections import (
    Additive,
    Gaussian,
    Importance,
    Multiplicative,
    Precomputed,
    Sliced,
    Uniform,
    Unweighted,
)
from covshift.exceptions import ConditionWarning, ConstantColumnWarning, CoverageWarning
from covshift.machine import calibration
from covshift.machine.primal import Primal
from covshift.machine.ridge import Features, penalties, ridge_path, solve_exactly
from covshift.numerics.folds import hashed_folds, ranked_folds
from covshift.numerics.hashing import RowUnits
from covshift.numerics.kernels import NamedKernel

rng = np.random.default_rng(0)
X, T = rng.normal(size=(50, 3)), rng.normal(0.4, 1, size=(30, 3))
y = (X[:, 0] + 0.5 * rng.normal(size=50) > 0).astype(int)
outcome = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.normal(size=50)
WIDTH = 1.3
GAMMA = 1 / (2 * WIDTH**2)
K = pairwise_kernels(X, metric="rbf", gamma=GAMMA)

CORRECTIONS = [
    Unweighted(),
    Importance(np.linspace(0.1, 2, 50)),
    Uniform(),
    Gaussian(),
    Multiplicative(symmetric=True),
    Additive(),
    Additive(symmetric=True, normalize=True, blend=0.5),
    Sliced(20, random_state=0),
]
quiet = pytest.mark.filterwarnings("ignore::covshift.exceptions.CoverageWarning")


# Against the paper's closed form


@pytest.mark.parametrize("correction", CORRECTIONS, ids=str)
@pytest.mark.parametrize("reg", [0.01, 1.0, 100.0])
def test_the_exact_machine_is_the_papers_closed_form(correction, reg):
    V = correction.operator(X, T)
    A, c = reference.closed_form(V.dense(), K, outcome, reg)
    solution = solve_exactly(V, Features.of(K), outcome[:, None], reg)
    np.testing.assert_allclose(solution.A[:, 0], A, rtol=1e-8, atol=1e-8)
    assert solution.c[0] == pytest.approx(c, abs=1e-8)


@quiet
@pytest.mark.parametrize("correction", CORRECTIONS, ids=str)
def test_the_estimators_solve_that_system(correction):
    model = VSVR(correction, width=WIDTH, reg=0.5).fit(X, outcome, X_target=T)
    A, c = reference.closed_form(correction.operator(X, T).dense(), K, outcome, 0.5)
    np.testing.assert_allclose(model.dual_coef_[:, 0], A, rtol=1e-8, atol=1e-8)
    new = rng.normal(size=(7, 3))
    expected = pairwise_kernels(new, X, metric="rbf", gamma=GAMMA) @ A + c
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-8)


@pytest.mark.parametrize(
    ("points", "correction", "reg"),
    [
        (np.repeat(X[:6], 4, axis=0), Additive(), 1e-10),  # equal rows: K and V are singular
        (np.repeat(X[:6], 4, axis=0), Uniform(low=-3, high=3), 1e-3),
        (X[:20], Multiplicative(), 1e-10),  # rows that no target point dominates
        (X[:20], Additive(symmetric=True), 1e-10),
        (X[:20], Unweighted(), 1e-10),
    ],
)
def test_it_stays_accurate_where_the_closed_form_is_ill_conditioned(points, correction, reg):
    Y = np.sin(np.arange(len(points)))
    kernel = pairwise_kernels(points, metric="rbf", gamma=0.05)
    V = correction.operator(points, T)
    exact = reference.exact_fit(V.dense(), kernel, Y, reg)
    solution = solve_exactly(V, Features.of(kernel), Y[:, None], reg)
    fitted = kernel @ solution.A[:, 0] + solution.c[0]
    r, r_exact = fitted - Y, exact - Y
    loss, least = r @ V.dense() @ r, r_exact @ V.dense() @ r_exact
    assert loss == pytest.approx(least, rel=1e-3, abs=1e-7)
    seen = V.diagonal() > 1e-12
    np.testing.assert_allclose(fitted[seen], exact[seen], atol=2e-3)


def test_no_neighbouring_function_has_a_smaller_loss():
    V = v_matrix(X, T)
    model = VSVR("additive", width=WIDTH, reg=0.2).fit(X, outcome, X_target=T)
    A, c = model.dual_coef_[:, 0], model.intercept_[0]
    least = reference.penalised_loss(K @ A + c, A, K, V, outcome, 0.2)
    for seed in range(20):
        step = 1e-3 * np.random.default_rng(seed).normal(size=51)
        B, d = A + step[:50], c + step[50]
        assert reference.penalised_loss(K @ B + d, B, K, V, outcome, 0.2) >= least


@pytest.mark.parametrize("correction", CORRECTIONS, ids=str)
def test_the_path_equals_single_solutions(correction):
    Psi, Y = Features.of(K).Psi, np.column_stack([outcome, y])
    B = np.column_stack([Psi, np.ones(50), Y])
    G = B.T @ correction.operator(X, T).dense() @ B
    regs = [1e-3, 0.01, 0.1, 1.0, 10.0]
    for reg, (v, c) in zip(regs, ridge_path(G, Psi.shape[1], regs), strict=True):
        v_single, c_single = ridge_path(G, Psi.shape[1], [reg])[0]
        np.testing.assert_allclose(Psi @ v, Psi @ v_single, atol=1e-8)
        np.testing.assert_allclose(c, c_single, atol=1e-8)


# Against scikit-learn


def test_without_correction_it_is_kernel_ridge_with_a_free_intercept():
    """KernelRidge on centred labels and kernel has the same solution as a free intercept."""
    model = VSVR("none", width=WIDTH, reg=0.7).fit(X, outcome)
    center = np.eye(50) - 1 / 50
    ridge = KernelRidge(alpha=0.7, kernel="precomputed").fit(
        center @ K @ center, outcome - outcome.mean()
    )
    expected = center @ K @ center @ ridge.dual_coef_ + outcome.mean()
    np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-9)


def test_importance_weights_with_a_linear_kernel_are_weighted_ridge():
    w = np.linspace(0.1, 3, 50)
    model = VSVR(Importance(w), kernel="linear", reg=2.0).fit(X, outcome)
    ridge = Ridge(alpha=2.0).fit(X, outcome, sample_weight=w)
    np.testing.assert_allclose(model.predict(T), ridge.predict(T), atol=1e-9)


# Landmarks


@quiet
@pytest.mark.parametrize(
    "correction",
    [
        Unweighted(),
        Additive(),
        Multiplicative(symmetric=True),
        Sliced(9, random_state=0),
        Additive(symmetric=True, normalize=True, blend=0.5),
        Additive(normalize=True, blend=0.2, weights=np.linspace(0.1, 2, 50)),
        Importance(np.linspace(0.1, 2, 50)),
    ],
    ids=str,
)
def test_primal_with_all_rows_as_landmarks_is_the_dual(correction):
    for reg in (0.1, "cv"):
        options = {"correction": correction, "width": WIDTH, "reg": reg}
        dual = VSVR(**options, solver="dual").fit(X, outcome, X_target=T)
        options["reg"] = dual.reg_
        primal = VSVR(**options, solver="primal", n_components=50).fit(X, outcome, X_target=T)
        # The primal works with squares, A'VA: half the digits where the penalty is smallest.
        np.testing.assert_allclose(primal.predict(T), dual.predict(T), atol=1e-5)


@pytest.mark.parametrize("correction", ["blended", "none", "multiplicative"])
@pytest.mark.parametrize("reg", [0.3, "cv"])
def test_partial_fit_in_blocks_is_the_fit_of_all_rows(correction, reg):
    options = {"correction": correction, "reg": reg, "width": WIDTH, "n_components": 20}
    whole = VSVC(**options, solver="primal", random_state=0).fit(X[:, :2], y, X_target=T[:, :2])
    parts = VSVC(**options, random_state=0)
    for rows in (slice(0, 50),):
        parts.partial_fit(X[rows, :2], y[rows], X_target=T[:, :2], classes=[0, 1])
    np.testing.assert_allclose(parts.decision_function(T[:, :2]), whole.decision_function(T[:, :2]))
    blocks = VSVC(**options, random_state=0)
    blocks.partial_fit(X[:20, :2], y[:20], X_target=T[:, :2], classes=[0, 1])
    for rows in (slice(20, 21), slice(21, 50)):
        blocks.partial_fit(X[rows, :2], y[rows])
    again = VSVC(**options, random_state=0)
    again.partial_fit(X[:20, :2], y[:20], X_target=T[:, :2], classes=[0, 1])
    again.partial_fit(X[20:, :2], y[20:])
    assert blocks.reg_ == again.reg_
    np.testing.assert_allclose(
        blocks.decision_function(T[:, :2]), again.decision_function(T[:, :2]), atol=1e-9
    )


def test_primal_tuning_is_brute_force_over_its_folds():
    model = VSVR("additive", width=WIDTH, solver="primal", n_components=50)
    model.fit(X, outcome, X_target=T)
    errors = np.zeros(len(model.reg_path_["reg"][0]))
    for fold in hashed_folds(X, outcome[:, None], 5, units=RowUnits.of(T)).values():
        train, test = np.setdiff1d(np.arange(50), fold.rows), fold.rows
        for j, reg in enumerate(model.reg_path_["reg"][0]):
            part = VSVR("additive", width=WIDTH, reg=reg).fit(X[train], outcome[train], X_target=T)
            errors[j] += ((part.predict(X[test]) - outcome[test]) ** 2).sum()
    np.testing.assert_allclose(model.reg_path_["error"][0], errors / 50, rtol=1e-5)


def test_auto_stays_exact_where_v_needs_all_pairs(monkeypatch):
    monkeypatch.setattr("covshift.machine.base._DUAL_ROWS", 40)
    model = VSVR("gaussian").fit(X, outcome, X_target=T)
    assert hasattr(model, "dual_coef_")
    assert hasattr(VSVR("additive").fit(X, outcome, X_target=T), "landmarks_")
    monkeypatch.setattr("covshift.machine.base._PAIRED_ROWS", 45)
    with pytest.raises(ValueError, match=r"Gaussian needs all pairs of the 50 training rows"):
        VSVR("gaussian").fit(X, outcome, X_target=T)


def test_an_analytic_v_says_that_it_needs_the_exact_solver():
    with pytest.raises(ValueError, match="solver='dual'"):
        VSVR("gaussian", solver="primal").fit(X, outcome, X_target=T)


# Tuning


def test_penalties_whose_errors_are_rounding_are_not_compared():
    kernel = NamedKernel("rbf", 1.0)
    target_sums = Unweighted().target_sums(T, None)
    primal = Primal(kernel, X[:20], target_sums, n_folds=4, units=RowUnits.of(T))
    primal.add(X, y[:, None].astype(float), np.ones(len(X)))
    exact = primal.tune()
    assert np.isfinite(exact.errors).all()
    primal.rounding = 2e-3  # as if the sums had hardly three digits
    coarse = primal.tune()
    lost = ~np.isfinite(coarse.errors[0])
    assert lost[0]
    assert not lost[-1]
    assert coarse.reg >= exact.reg
    np.testing.assert_array_equal(coarse.errors[0][~lost], exact.errors[0][~lost])


def test_fold_errors_are_those_of_brute_force_refits():
    model = VSVR("additive", width=WIDTH).fit(X, outcome, X_target=T)
    errors = np.zeros(len(model.reg_path_["reg"][0]))
    for fold in ranked_folds(X, outcome[:, None], 5):
        train, test = np.setdiff1d(np.arange(50), fold.rows), fold.rows
        for j, reg in enumerate(model.reg_path_["reg"][0]):
            part = VSVR("additive", width=WIDTH, reg=reg).fit(X[train], outcome[train], X_target=T)
            errors[j] += ((part.predict(X[test]) - outcome[test]) ** 2).sum()
    np.testing.assert_allclose(model.reg_path_["error"][0], errors / 50, rtol=1e-7)
    assert model.reg_ == model.reg_path_["reg"][0, np.argmin(errors)]


def test_penalties_on_landmarks_are_no_stronger_than_exact_ones():
    steps = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 2))
        outcome = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=80)
        options = {"correction": "none", "width": 1.0, "n_components": 80}
        exact, other = (VSVR(**options, solver=s).fit(X, outcome) for s in ("dual", "primal"))
        steps.append(np.log10(other.reg_ / exact.reg_) * 19 / 8)
    assert np.mean(steps) < 0.75  # other folds: a step of the grid or two either way


def test_the_width_by_cv_has_the_least_error():
    model = VSVR("blended", width="cv").fit(X, outcome, X_target=T)
    path = model.reg_path_
    row, reg = np.unravel_index(np.argmin(path["error"]), path["error"].shape)
    assert (model.width_, model.reg_) == (path["width"][row], path["reg"][row, reg])
    assert len(path["width"]) == 5
    for width, regs in zip(path["width"], path["reg"], strict=True):  # each width has its own grid
        alone = VSVR("blended", width=width).fit(X, outcome, X_target=T)
        np.testing.assert_allclose(alone.reg_path_["reg"][0], regs)


def test_the_grid_of_penalties_reaches_the_constant_at_every_number_of_rows():
    for N in (50, 400):
        Z, T = rng.normal(size=(N, 2)), rng.normal(size=(20, 2))
        noise = rng.normal(size=N)
        for correction in ("none", "blended", "additive"):
            model = VSVR(correction, kernel="linear").fit(Z, noise, X_target=T)
            top = VSVR(correction, kernel="linear", reg=model.reg_path_["reg"].max())
            top.fit(Z, noise, X_target=T)
            assert np.ptp(top.predict(Z)) < 0.2 * np.ptp(
                VSVR(correction, kernel="linear", reg=1e-4).fit(Z, noise, X_target=T).predict(Z)
            )
    small, large = penalties(1.0, 100), penalties(1.0, 30_000)
    np.testing.assert_allclose(large[: len(small)], small)
    assert large[-1] >= 9e8


@pytest.mark.parametrize(
    ("kernel", "multiples"),
    [("rbf", [4, 2, 1, 1 / 2, 1 / 4]), ("laplacian", [16, 4, 1, 1 / 4, 1 / 16])],
)
def test_the_widths_compared_make_gamma_run_from_a_sixteenth_to_sixteen_times(kernel, multiples):
    scale = VSVR("none", kernel=kernel).fit(X, outcome).width_
    found = VSVR("none", kernel=kernel, width="cv").fit(X, outcome).reg_path_["width"]
    np.testing.assert_allclose(found, np.multiply(scale, multiples))


def test_a_width_by_cv_with_a_fixed_penalty_compares_widths_only():
    model = VSVR("blended", width="cv", reg=1.0).fit(X, outcome, X_target=T)
    assert model.reg_path_["error"].shape == (5, 1)
    assert model.reg_ == 1.0


# Invariances


@pytest.mark.parametrize("estimator", [VSVC(), VSVC("additive", kernel="laplacian")], ids=str)
def test_the_order_of_the_rows_does_not_matter(estimator):
    order = rng.permutation(50)
    expected = estimator.fit(X, y, X_target=T).decision_function(T)
    got = estimator.fit(X[order], y[order], X_target=T[::-1]).decision_function(T)
    np.testing.assert_allclose(got, expected, atol=1e-7)


def test_swapped_labels_give_one_minus_p():
    model = VSVC("additive", reg=0.1)
    p = model.fit(X, y, X_target=T).predict_proba(T)
    q = model.fit(X, 1 - y, X_target=T).predict_proba(T)
    np.testing.assert_allclose(q, p[:, ::-1], atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian"])
def test_a_constant_column_is_left_out_with_a_warning(kernel):
    def with_constant(points):
        return np.column_stack([points, np.full(len(points), 7.0)])

    expected = VSVC(kernel=kernel).fit(X, y, X_target=T).decision_function(T)
    with pytest.warns(ConstantColumnWarning, match=r"\[3\] are constant"):
        model = VSVC(kernel=kernel).fit(with_constant(X), y, X_target=with_constant(T))
    np.testing.assert_array_equal(model.decision_function(with_constant(T)), expected)
    assert model.n_features_in_ == 4


def test_adding_a_constant_to_the_outcome_moves_the_intercept_only():
    a = VSVR("additive", reg=0.1).fit(X, outcome, X_target=T)
    b = VSVR("additive", reg=0.1).fit(X, outcome + 100, X_target=T)
    np.testing.assert_allclose(b.dual_coef_, a.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(b.intercept_, a.intercept_ + 100, atol=1e-8)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([1e-4, 0.1, 10.0]), st.booleans())
def test_the_exact_machine_equals_the_closed_form_on_any_sample(seed, reg, tied):
    generator = np.random.default_rng(seed)
    points, target = generator.normal(size=(12, 2)), generator.normal(size=(7, 2))
    if tied:
        points, target = np.round(points), np.round(target)
    Y = generator.normal(size=12)
    kernel = pairwise_kernels(points, metric="laplacian", gamma=0.5)
    V = Additive(symmetric=True).operator(points, target)
    A, c = reference.closed_form(V.dense(), kernel, Y, reg)
    solution = solve_exactly(V, Features.of(kernel), Y[:, None], reg)
    np.testing.assert_allclose(kernel @ solution.A[:, 0] + solution.c, kernel @ A + c, atol=1e-6)


# Classes, outputs, probabilities


def test_many_classes_share_one_solution_and_their_f_sum_to_one():
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = VSVC("additive", width=WIDTH, reg=0.2).fit(X, labels, X_target=T)
    f = model.decision_function(T)
    np.testing.assert_allclose(f.sum(axis=1), 1, atol=1e-9)
    for k, name in enumerate("abc"):
        alone = VSVR("additive", width=WIDTH, reg=0.2).fit(X, labels == name, X_target=T)
        np.testing.assert_allclose(f[:, k], alone.predict(T), atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(T).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(T), model.classes_[f.argmax(axis=1)])


def test_several_outputs_are_separate_problems():
    Y = np.column_stack([outcome, -3 * outcome, y])
    model = VSVR("additive", reg=0.2).fit(X, Y, X_target=T)
    for k in range(3):
        alone = VSVR("additive", reg=0.2).fit(X, Y[:, k], X_target=T)
        np.testing.assert_allclose(model.predict(T)[:, k], alone.predict(T), atol=1e-9)


def test_the_second_class_is_predicted_where_f_reaches_one_half():
    model = VSVC().fit(X, np.where(y == 1, "yes", "no"), X_target=T)
    expected = np.where(model.decision_function(T) >= 0, "yes", "no")
    np.testing.assert_array_equal(model.predict(T), expected)


def test_clipping_changes_no_class_and_stays_inside():
    raw = VSVC("additive", reg=1e-3, probability=None).fit(X, y, X_target=T)
    cut = VSVC("additive", reg=1e-3).fit(X, y, X_target=T)
    f = raw.decision_function(T) + 0.5
    assert f.min() < 0 or f.max() > 1
    assert not hasattr(raw, "predict_proba")  # values outside of [0, 1] are no probabilities
    np.testing.assert_allclose(cut.predict_proba(T)[:, 1], np.clip(f, 0, 1), atol=1e-12)
    np.testing.assert_array_equal(cut.predict(T), raw.predict(T))


# Kernels


def chi2(D, Z):
    return (D**2 / (Z[:, None] + Z[None])).sum(axis=2)


KERNELS = {  # of differences D (N, N, n), rows Z (N, n) and a width h; degree 2, coef0 1/2
    "rbf": lambda D, Z, h: np.exp(-(D**2).sum(axis=2) / (2 * h**2)),
    "laplacian": lambda D, Z, h: np.exp(-np.abs(D).sum(axis=2) / h),
    "poly": lambda D, Z, h: (Z @ Z.T / h**2 + 0.5) ** 2,
    "polynomial": lambda D, Z, h: (Z @ Z.T / h**2 + 0.5) ** 2,
    "sigmoid": lambda D, Z, h: np.tanh(Z @ Z.T / h**2 + 0.5),
    "chi2": lambda D, Z, h: np.exp(-chi2(D, Z) / h),
    "linear": lambda D, Z, h: Z @ Z.T,
    "cosine": lambda D, Z, h: (Z @ Z.T) / np.sqrt(np.outer((Z**2).sum(1), (Z**2).sum(1))),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_has_the_width_that_the_documentation_says(kernel):
    Z, h = (np.exp(X), 2.5) if kernel == "chi2" else (X, 2.5)  # chi2 takes no negative numbers
    model = VSVR("none", kernel=kernel, width=h, degree=2, coef0=0.5, reg=1.0).fit(Z, outcome)
    values = KERNELS[kernel](Z[:, None] - Z[None], Z, h)
    if kernel == "sigmoid":  # indefinite: the machine takes the positive part
        sizes, Q = np.linalg.eigh(values)
        values = Q @ np.diag(np.maximum(sizes, 0)) @ Q.T
    A, c = reference.closed_form(np.eye(len(Z)), values, outcome, 1.0)
    np.testing.assert_allclose(model.predict(Z), values @ A + c, atol=1e-6)
    assert model.width_ == (None if kernel in ("linear", "cosine") else h)


def test_a_callable_kernel_is_called():
    def kernel(a, b, power=1):
        return (a @ b) ** power

    squared = VSVR("additive", kernel=kernel, params={"power": 2}, reg=1.0)
    poly = VSVR("additive", kernel="poly", width=1, coef0=0, degree=2, reg=1.0)
    expected = poly.fit(X, outcome, X_target=T).predict(T)
    np.testing.assert_allclose(squared.fit(X, outcome, X_target=T).predict(T), expected, atol=1e-8)


@pytest.mark.parametrize("reg", [0.3, "cv"])
def test_a_precomputed_kernel_takes_a_precomputed_v(reg):
    V = v_matrix(X, T, "additive")
    given_kernel = VSVC(Precomputed(V), kernel="precomputed", reg=reg)
    f = given_kernel.fit(K, y).decision_function(pairwise_kernels(T, X, metric="rbf", gamma=GAMMA))
    points = VSVC(Precomputed(V), width=WIDTH, reg=given_kernel.reg_).fit(X, y, X_target=T)
    np.testing.assert_allclose(f, points.decision_function(T), atol=1e-9)


def test_a_precomputed_kernel_refuses_a_correction_that_needs_points():
    with pytest.raises(ValueError, match=r"Precomputed\(v_matrix"):
        VSVC("additive", kernel="precomputed").fit(K, y)


def test_the_scale_width_is_that_of_svc_and_follows_units():
    assert VSVC().fit(X, y).width_ == pytest.approx(np.sqrt(3 * X.var() / 2))
    assert VSVC(kernel="laplacian").fit(X, y).width_ == pytest.approx(3 * X.std())
    assert VSVC(kernel="poly").fit(X, y).width_ == pytest.approx(np.sqrt(3 * X.var()))
    a = VSVC().fit(X, y, X_target=T).decision_function(T)
    b = VSVC().fit(1024 * X, y, X_target=1024 * T).decision_function(1024 * T)
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_the_median_width_is_the_root_of_half_the_median_square():
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)[np.triu_indices(50, 1)]
    assert VSVC(width="median").fit(X, y).width_ == pytest.approx(np.sqrt(np.median(squares) / 2))


# What the fit tells


def test_coverage_counts_the_rows_that_the_target_sees():
    half = np.quantile(X[:, 0], 0.5)
    with pytest.warns(CoverageWarning, match="25 of 50 training points are out of"):
        model = VSVC("multiplicative").fit(X[:, :1], y, X_target=[[half]])
    assert model.target_coverage_ == 0.5
    assert VSVC().fit(X, y, X_target=T).target_coverage_ == 1.0


def test_a_faint_v_suggests_other_views():
    points = np.random.default_rng(0).normal(size=(200, 12))
    with pytest.warns(CoverageWarning, match=r"nearly zero.*'additive' or 'sliced'"):
        VSVC("multiplicative").fit(points, points[:, 0] > 0, X_target=points + 0.01)


def test_the_primal_solver_warns_as_well():
    with pytest.warns(CoverageWarning, match=r"\d+% of the training points are out of"):
        VSVC("multiplicative", solver="primal").fit(X, y, X_target=T - 1)
    with pytest.warns(CoverageWarning, match="are out of"):
        model = VSVC("multiplicative").partial_fit(X, y, X_target=T - 1, classes=[0, 1])
    model.partial_fit(X, y)  # once is enough


def test_warnings_point_at_the_users_line():
    for solver in ("dual", "primal"):
        with pytest.warns(CoverageWarning) as caught:
            VSVC("multiplicative", solver=solver).fit(X, y, X_target=T - 1)
        assert caught[0].filename == __file__
    with pytest.warns(CoverageWarning) as caught:
        v_matrix(X, T - 1, "multiplicative")
    assert caught[0].filename == __file__


def test_a_tiny_penalty_is_reported():
    with pytest.warns(ConditionWarning, match="ill conditioned"):
        VSVR("additive", reg=1e-14).fit(X, outcome, X_target=T)


@pytest.mark.filterwarnings("ignore::covshift.exceptions.OverlapWarning")
def test_a_target_apart_from_the_sample_gives_a_constant_and_a_warning():
    with pytest.warns(CoverageWarning, match="50 of 50"):
        model = VSVR("additive", reg=1.0).fit(X, outcome, X_target=T - 100)
    np.testing.assert_allclose(model.predict(T), outcome.mean())


def test_the_correction_uses_the_target_where_the_model_is_too_simple():
    """A straight line through a curve: which part it fits is the correction's choice."""
    generator = np.random.default_rng(0)
    points = generator.uniform(-1, 1, size=(300, 1))
    target = generator.uniform(0.5, 1, size=(300, 1))
    slopes = {}
    for name in ("none", "additive"):
        model = VSVR(name, kernel="linear", reg=1e-3).fit(
            points, points[:, 0] ** 2, X_target=target
        )
        slopes[name] = float(np.diff(model.predict([[0.6], [0.9]]))[0] / 0.3)
    assert abs(slopes["none"]) < 0.2
    assert slopes["additive"] > 0.2


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "precomputed", "solver": "primal"}, "needs points"),
        ({"correction": "addditive"}, "correction='addditive' is unknown"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        VSVC(**options).fit(X, y, X_target=T)


def test_a_missing_outcome_is_asked_for():
    with pytest.raises(ValueError, match="y to be passed"):
        VSVR().fit(X, None)


def test_partial_fit_refuses_what_does_not_fit_together():
    with pytest.raises(ValueError, match="needs classes"):
        VSVC().partial_fit(X, y, X_target=T)
    model = VSVC().partial_fit(X, y, X_target=T, classes=[0, 1])
    with pytest.raises(ValueError, match=r"\[2\], which are not among the classes"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="belong to the first call"):
        model.partial_fit(X, y, X_target=T)
    with pytest.raises(ValueError, match="whole training sample"):
        VSVC(Importance(np.ones(50))).partial_fit(X, y, X_target=T, classes=[0, 1])


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_tiny_samples_give_finite_predictions(n_rows):
    model = VSVR().fit(X[:n_rows], outcome[:n_rows], X_target=T[:1])
    assert np.isfinite(model.predict(T)).all()


def test_huge_features_give_finite_predictions_or_an_error():
    for kernel in ("rbf", "laplacian"):
        model = VSVC(kernel=kernel).fit(1e150 * X, y, X_target=1e150 * T)
        assert np.isfinite(model.decision_function(1e150 * T)).all()


def test_a_new_fit_forgets_the_old_route():
    model = VSVR().fit(X, outcome, X_target=T)
    assert hasattr(model, "reg_path_")
    model.set_params(reg=1.0, solver="primal").fit(X, outcome, X_target=T)
    assert not hasattr(model, "reg_path_")
    assert not hasattr(model, "dual_coef_")
    assert hasattr(model.set_params(solver="dual").fit(X, outcome, X_target=T), "dual_coef_")
    assert not hasattr(model, "landmarks_")


def test_the_fitted_correction_is_a_copy():
    model = VSVR(Additive()).fit(X, outcome, X_target=T)
    model.set_params(correction__blend=0.9)
    assert model.correction_.blend == 0.0


def test_numpy_numbers_are_penalties_too():
    assert VSVR(reg=np.int64(2)).fit(X, outcome, X_target=T).reg_ == 2.0


def test_target_weights_pass_a_search_as_a_one_tuple():
    w = np.linspace(1, 2, 30)
    a = VSVR("additive", reg=1.0).fit(X, outcome, X_target=T, target_weight=w)
    b = VSVR("additive", reg=1.0).fit(X, outcome, X_target=(T,), target_weight=(w,))
    np.testing.assert_array_equal(a.predict(T), b.predict(T))


def test_later_blocks_must_have_as_many_outputs():
    model = VSVR().partial_fit(X, outcome, X_target=T)
    with pytest.raises(ValueError, match="y has 2 outputs"):
        model.partial_fit(X, np.column_stack([outcome, outcome]))
    assert model.partial_fit(X, outcome[:, None]).predict(T).shape == (30,)
    with pytest.raises(ValueError, match="these differ"):
        VSVC().partial_fit(X, y, X_target=T, classes=[0, 1]).partial_fit(X, y, classes=[0, 1, 2])


# Probabilities where little or nothing is found


def test_on_noise_hardly_more_than_the_shares_of_the_classes_is_left():
    """Where luck looked like signal in forty rows: a log-loss .04 above the constant's."""
    excess = []
    for seed in (3, 4, 14):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 2 + seed % 8)), rng.integers(0, 2, 40)
        model = covshift.VSVC(fast=True, random_state=0).fit(X, y)
        p = model.predict_proba(rng.normal(size=(300, X.shape[1])))[:, 1]
        ours, constant = (-np.mean(np.log(q) + np.log(1 - q)) / 2 for q in (p, y.mean()))
        excess.append(ours - constant)
    assert np.mean(excess) < 0.015


@pytest.mark.parametrize("strength", [0.0, 0.6, 3.0])
@pytest.mark.parametrize("linear", [False, True])
def test_slopes_shrink_by_what_they_gain_for_each_of_them(strength, linear):
    rng = np.random.default_rng(4)
    U = rng.normal(size=(200, 3))
    y = rng.uniform(size=200) < 1 / (1 + np.exp(-strength * U[:, 0] + 1))
    classes, w = np.column_stack([~y, y]).astype(float), np.ones(200)
    f = 1 / (1 + np.exp(-strength * U[:, :1] - 0.3 * rng.normal(size=(200, 1))))
    terms = [5 * (f - 0.5), U[:, :1]] if linear else [5 * (f - 0.5)]
    center = np.array([0.0, 0.0, 1.0] if linear else [0.0, 1.0])
    plain = calibration._stacked(terms, classes, w, center)
    intercept, slopes = calibration._shrunken(terms, classes, w, center)

    def log_likelihood(log_odds):
        p = 1 / (1 + np.exp(-log_odds))
        return np.log(np.where(y, p, 1 - p)).sum()

    share = np.log(y.mean() / (1 - y.mean()))
    score = sum(b * term[:, 0] for b, term in zip(plain[1:], terms, strict=True))
    gain = 2 * (log_likelihood(plain[0] + score) - log_likelihood(np.full(200, share)))
    factor = max(0.0, 1 - len(terms) / gain) if gain > 0 else 0.0
    np.testing.assert_allclose(slopes, factor * plain[1:], atol=2e-3)
    p = 1 / (1 + np.exp(-intercept - factor * score))
    assert p.mean() == pytest.approx(y.mean(), abs=2e-3)  # but for the prior of the intercept
    if strength == 3.0:
        assert factor > 0.95
    if strength == 0.0 and not linear:
        assert factor < 0.5
