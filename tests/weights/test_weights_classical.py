"""The classical weighters: contracts, known answers, and the traps of their hyper-parameters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import gaussian_kde, norm
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from covshift.corrections import Importance
from covshift.exceptions import WeightWarning
from covshift.numerics.folds import fold_of
from covshift.testing import check_weighter
from covshift.weights import (
    KDE,
    KLIEP,
    RULSIF,
    ULSIF,
    WEIGHTERS,
    Discriminative,
    GaussianRatio,
    NearestNeighbors,
    Weighter,
    as_weighter,
    cdf_mismatch,
    effective_sample_size,
    kliep,
    neighbors,
)
from covshift.weights.points import distinct, squared_distances

CLASSICAL = [
    GaussianRatio(),
    KDE(),
    KDE("cv"),
    KDE(width=0.8, tau=0.5),
    KLIEP(random_state=0),
    KLIEP(1.0, n_centers=10, random_state=0),
    ULSIF(random_state=0),
    ULSIF(n_centers=20, random_state=0),
    RULSIF(random_state=0),
    Discriminative(cv=None),
    NearestNeighbors(),
    NearestNeighbors(12, standardize=False),
]
CROSS_FITTED = [
    Discriminative(random_state=0),
    Discriminative(LogisticRegression(tol=1e-8, max_iter=10_000), cv=3, random_state=0),
]
ONE_OF_EACH = [
    GaussianRatio(),
    KDE(),
    KLIEP(random_state=0),
    ULSIF(random_state=0),
    RULSIF(random_state=0),
    Discriminative(random_state=0),
    NearestNeighbors(),
]


def named(weighter):
    return str(weighter).replace("random_state=0", "").replace(" ", "")


def gaussian_shift(N, M, n, shift, seed=0):
    """Standard normal rows, a target moved by ``shift``, and the true ratio at the rows."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, n)), rng.normal(shift, 1.0, size=(M, n))
    return X, T, np.exp(shift * X.sum(axis=1) - n * shift**2 / 2)


def nmse(w, truth):
    return np.mean((w / w.mean() - truth) ** 2) / np.mean(truth**2)


# Contracts


@pytest.mark.part(20)
@pytest.mark.parametrize("weighter", CLASSICAL, ids=named)
def test_the_contract_holds(weighter):
    check_weighter(weighter)


@pytest.mark.thorough
@pytest.mark.parametrize("weighter", CROSS_FITTED, ids=named)
def test_the_contract_holds_with_cross_fitting(weighter):
    check_weighter(weighter, predicts_training_rows=False)


def not_ours(estimator):
    """The check of sample weights sets cv to a list of splits, which ours does not take."""
    names = ["check_sample_weight_equivalence_on_dense_data"]
    reason = "cv is a number of folds"
    return dict.fromkeys(names, reason) if isinstance(estimator, Discriminative) else {}


@pytest.mark.part(4)
@parametrize_with_checks(
    [*(clone(weighter) for weighter in ONE_OF_EACH), KDE(tau="cv")],
    expected_failed_checks=not_ours,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class Inverted(Weighter):
    """The mistake of some packages: p / q in the place of q / p."""

    def _solve(self, problem):
        given = {"X_target": problem.T, "target_weight": problem.share}
        self._inner = GaussianRatio().fit(problem.X, **given)
        return 1 / np.maximum(self._inner.weights_, 1e-6)

    def _ratio(self, X):
        return 1 / np.maximum(self._inner.predict_weights(X), 1e-6)


def test_the_contract_finds_inverted_weights():
    with pytest.raises(AssertionError, match="moves towards the target"):
        check_weighter(Inverted(), calm=0.0)


class Careless(Weighter):
    def _solve(self, problem):
        return 1.0 + (np.arange(len(problem.X)) % 2)

    def _ratio(self, X):
        return 1.0 + (np.arange(len(X)) % 2)


def test_the_contract_finds_weights_that_depend_on_the_order():
    with pytest.raises(AssertionError, match=r"permut|depend on the others"):
        check_weighter(Careless())


# The true ratio


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("weighter", "bound"),
    [
        (GaussianRatio(), 0.03),
        (KDE(), 0.1),
        (KDE("cv"), 0.1),
        (KLIEP(random_state=0), 0.1),
        (ULSIF(random_state=0), 0.1),
        (Discriminative(random_state=0), 0.03),
        (NearestNeighbors(), 0.1),
    ],
    ids=lambda value: named(value) if isinstance(value, Weighter) else "",
)
def test_a_gaussian_mean_shift_is_recovered(weighter, bound):
    X, T, truth = gaussian_shift(1000, 1200, 2, 0.5)
    fitted = clone(weighter).fit(X, X_target=T)
    assert nmse(np.ones(len(X)), truth) > 0.3
    assert nmse(fitted.weights_, truth) < bound
    new, _, new_truth = gaussian_shift(500, 1, 2, 0.5, seed=1)
    assert nmse(fitted.predict_weights(new), new_truth) < 2 * bound


def test_rulsif_recovers_the_relative_ratio():
    X, T, truth = gaussian_shift(1000, 1200, 2, 0.5)
    relative = truth / (0.3 * truth + 0.7)
    fitted = RULSIF(alpha=0.3, random_state=0).fit(X, X_target=T)
    assert nmse(fitted.weights_, relative / relative.mean()) < 0.02
    assert fitted.weights_.max() < 1 / 0.3 / relative.mean() * 1.1


def test_a_narrower_target_is_recovered_by_the_gaussian_ratio():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(4000, 1)), rng.normal(0.3, 0.5, size=(4000, 1))
    truth = norm.pdf(X[:, 0], 0.3, 0.5) / norm.pdf(X[:, 0])
    assert nmse(GaussianRatio().fit(X, X_target=T).weights_, truth) < 0.005


@pytest.mark.parametrize("weighter", ONE_OF_EACH, ids=named)
def test_in_ten_dimensions_the_weights_beat_none_at_all(weighter):
    if isinstance(weighter, KDE):
        weighter = KDE(width=1.0)  # Scott's is too small for a ratio in ten dimensions
    X, T, truth = gaussian_shift(600, 600, 10, 0.3)
    fitted = clone(weighter).fit(X, X_target=T)
    assert nmse(fitted.weights_, truth) < 0.8 * nmse(np.ones(600), truth)


@pytest.mark.parametrize("weighter", [KLIEP(random_state=0), ULSIF(random_state=0)], ids=named)
def test_first_do_no_harm(weighter):
    shares = []
    for seed in range(5):
        X, T, _ = gaussian_shift(300, 300, 3, 0.0, seed=seed)
        shares.append(clone(weighter).fit(X, X_target=T).effective_sample_size_ / 300)
    assert np.median(shares) > 0.95
    assert min(shares) > 0.8


# Invariance


def test_the_gaussian_ratio_is_affine_invariant():
    X, T, _ = gaussian_shift(80, 60, 3, 0.4)
    mixing = np.random.default_rng(1).normal(size=(3, 3))
    plain = GaussianRatio().fit(X, X_target=T).weights_
    mapped = GaussianRatio().fit(X @ mixing + 7, X_target=T @ mixing + 7).weights_
    np.testing.assert_allclose(mapped, plain, rtol=1e-7)


@pytest.mark.parametrize("weighter", ONE_OF_EACH, ids=named)
def test_units_do_not_matter(weighter):
    X, T, _ = gaussian_shift(120, 100, 2, 0.4)
    units = np.array([1000.0, 1e-5])
    plain = clone(weighter).fit(X, X_target=T).weights_
    scaled = clone(weighter).fit(X * units - 3, X_target=T * units - 3).weights_
    np.testing.assert_allclose(scaled, plain, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("weighter", ONE_OF_EACH, ids=named)
def test_a_constant_column_changes_nothing(weighter):
    X, T, _ = gaussian_shift(100, 80, 1, 0.4)
    plain = clone(weighter).fit(X, X_target=T).weights_
    ones = np.ones((100, 1))
    wider = clone(weighter).fit(np.hstack([X, 5 * ones]), X_target=np.hstack([T, 5 * ones[:80]]))
    if not isinstance(weighter, KDE):  # whose width knows the number of features
        np.testing.assert_allclose(wider.weights_, plain, rtol=1e-6, atol=1e-9)
    assert np.corrcoef(wider.weights_, plain)[0, 1] > 0.95


@pytest.mark.parametrize("weighter", ONE_OF_EACH, ids=named)
@pytest.mark.filterwarnings("ignore::covshift.exceptions.WeightWarning")
def test_huge_and_tiny_numbers_give_finite_weights(weighter):
    X, T, _ = gaussian_shift(60, 50, 2, 0.4)
    for scale in (1e200, 1e-200):
        fitted = clone(weighter).fit(X * scale, X_target=T * scale)
        assert np.isfinite(fitted.weights_).all()
        assert np.isfinite(fitted.predict_weights([[1e308, -1e308], [0.0, 0.0]])).all()


def test_a_data_frame_and_float32_give_the_same_weights():
    X, T, _ = gaussian_shift(60, 50, 2, 0.4)
    plain = GaussianRatio().fit(X, X_target=T)
    frame = GaussianRatio().fit(
        pd.DataFrame(X, columns=["a", "b"]), X_target=pd.DataFrame(T, columns=["a", "b"])
    )
    np.testing.assert_allclose(frame.weights_, plain.weights_, rtol=1e-12)
    assert frame.feature_names_in_.tolist() == ["a", "b"]
    single = GaussianRatio().fit(X.astype(np.float32), X_target=T)
    np.testing.assert_allclose(single.weights_, plain.weights_, rtol=1e-4)


# KDE


def kde_by_hand(X, points, share, h):
    return [
        sum(s * np.prod(norm.pdf(x, point, h)) for s, point in zip(share, points, strict=True))
        for x in X
    ]


def test_kde_with_a_number_is_the_ratio_of_densities_in_the_given_units():
    X, T, _ = gaussian_shift(15, 12, 2, 0.5)
    share = np.random.default_rng(1).dirichlet(np.ones(12))
    q, p = kde_by_hand(X, T, share, 0.7), kde_by_hand(X, X, np.full(15, 1 / 15), 0.7)
    raw = np.array(q) / np.array(p)
    fitted = KDE(width=0.7).fit(X, X_target=T, target_weight=share)
    np.testing.assert_allclose(fitted.weights_, raw / raw.mean(), rtol=1e-9)
    np.testing.assert_allclose(fitted.width_, 0.7)


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_the_rules_of_thumb_are_those_of_scipy(rule):
    X, T, _ = gaussian_shift(50, 40, 1, 0.5)
    densities = []
    for sample in (X[:, 0], T[:, 0]):
        density = gaussian_kde(sample, bw_method=rule)
        # SciPy divides the variance by m - 1.
        density.set_bandwidth(density.factor * np.sqrt(1 - 1 / len(sample)))
        densities.append(density)
    raw = densities[1](X[:, 0]) / densities[0](X[:, 0])
    fitted = KDE(rule).fit(X, X_target=T)
    np.testing.assert_allclose(fitted.weights_, raw / raw.mean(), rtol=1e-9)


def test_the_width_of_cv_has_the_largest_leave_one_out_likelihood():
    X, T, _ = gaussian_shift(25, 20, 2, 0.5)
    scott = KDE().fit(X, X_target=T).width_[0]
    likelihood = {}
    for factor in np.geomspace(0.25, 4, 9):
        likelihood[factor] = 0.0
        for i in range(25):
            rest = np.delete(X, i, axis=0)
            share = np.full(24, 1 / 24)
            likelihood[factor] += np.log(kde_by_hand(X[[i]], rest, share, scott * factor)[0])
    best = max(likelihood, key=likelihood.get)
    np.testing.assert_allclose(KDE("cv").fit(X, X_target=T).width_[0], scott * best)


def test_tau_is_a_power():
    X, T, _ = gaussian_shift(50, 40, 2, 0.5)
    full = KDE().fit(X, X_target=T).weights_
    half = KDE(tau=0.5).fit(X, X_target=T)
    np.testing.assert_allclose(half.weights_, np.sqrt(full) / np.sqrt(full).mean())
    np.testing.assert_allclose(half.predict_weights(X), half.weights_)
    np.testing.assert_array_equal(KDE(tau=0.0).fit(X, X_target=T).weights_, np.ones(50))


def test_tau_by_cross_validation_needs_labels():
    X, T, _ = gaussian_shift(30, 20, 1, 0.5)
    with pytest.raises(ValueError, match=r'KDE\(tau="cv"\) requires y.*fit\(X, y, X_target'):
        KDE(tau="cv").fit(X, X_target=T)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        KDE(tau="cv").fit(X, np.zeros(29), X_target=T)
    with pytest.raises(ValueError, match="y contains NaN"):
        KDE(tau="cv").fit(X, np.array([np.nan] * 3 + list(range(27))), X_target=T)


@pytest.mark.parametrize("labels", ["numbers", "text"])
def test_tau_has_the_smallest_importance_weighted_risk(labels):
    X, T, _ = gaussian_shift(80, 60, 2, 0.7)
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    Y = y[:, None]
    if labels == "text":
        y = np.where(y > 0, "yes", "no")
        Y = np.stack([y == "no", y == "yes"], axis=1).astype(float)
    fitted = KDE(tau="cv", random_state=3).fit(X, y, X_target=T)
    w = KDE().fit(X, X_target=T).weights_
    Z = fitted._units(X)
    folds = fold_of(Z, 5, check_random_state(3))
    risks = []
    for tau in np.linspace(0, 1, 11):
        risk = 0.0
        for fold in range(5):
            held = folds == fold
            share = w[~held] ** tau / (w[~held] ** tau).sum()
            model = Ridge(alpha=1e-3).fit(Z[~held], Y[~held], sample_weight=share)
            error = ((model.predict(Z[held]).reshape(-1, Y.shape[1]) - Y[held]) ** 2).sum(axis=1)
            risk += w[held] @ error
        risks.append(risk / w.sum())
    np.testing.assert_allclose(fitted.tau_scores_, risks, rtol=1e-6)
    assert fitted.tau_ == np.linspace(0, 1, 11)[np.argmin(risks)]


def test_tau_is_zero_or_small_where_the_model_is_right():
    rng = np.random.default_rng(0)
    taus = []
    for seed in range(5):
        X, T, _ = gaussian_shift(200, 200, 2, 0.8, seed=seed)
        taus.append(
            KDE(tau="cv", random_state=0).fit(X, X @ [1, 2] + rng.normal(size=200), X_target=T).tau_
        )
    assert np.mean(taus) < 0.8


# uLSIF and RuLSIF


def kernels(model, X, T):
    width = 2 * model.width_**2
    centers = model.centers_
    return (np.exp(-squared_distances(model._units(points), centers) / width) for points in (X, T))


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_the_coefficients_are_the_closed_form(alpha):
    X, T, _ = gaussian_shift(60, 50, 2, 0.4)
    model = RULSIF(alpha, width=1.3, reg=0.05).fit(X, X_target=T)
    KX, KT = kernels(model, X, T)
    H = (1 - alpha) * KX.T @ KX / 60 + alpha * KT.T @ KT / 50
    coef = np.linalg.solve(H + 0.05 * np.eye(50), KT.mean(axis=0))
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-8)
    raw = np.maximum(KX @ coef, 0)
    np.testing.assert_allclose(model.weights_, raw / raw.mean(), rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.4])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refits(alpha, weighted):
    """Each row is left out of the sums, which are divided by what remains."""
    X, T, _ = gaussian_shift(25, 20, 2, 0.6)
    share = np.random.default_rng(1).dirichlet(np.ones(20)) if weighted else np.full(20, 0.05)
    widths, penalties = [0.7, 2.0], [0.01, 0.1, 1.0]
    model = RULSIF(alpha, width=widths, reg=penalties).fit(X, X_target=T, target_weight=share)
    points, weights, *_ = distinct(model._units(T), share)
    omega = np.concatenate([np.full(25, (1 - alpha) / 25), alpha * weights])
    s = np.concatenate([np.zeros(25), weights])
    Z = np.concatenate([model._units(X), points])
    for a, width in enumerate(widths):
        K = np.exp(-squared_distances(Z, model.centers_) / (2 * width**2))
        for b, penalty in enumerate(penalties):
            score = 0.0
            for row in range(len(Z)):
                rest = np.arange(len(Z)) != row
                left, shares = omega[rest] / omega[rest].sum(), s[rest] / s[rest].sum()
                H = (K[rest] * left[:, None]).T @ K[rest]
                coef = np.linalg.solve(H + penalty * np.eye(20), shares @ K[rest])
                value = max(K[row] @ coef, 0)
                score += omega[row] * value**2 / 2 - s[row] * value
            np.testing.assert_allclose(model.scores_[a, b], score, rtol=1e-8)
    best = np.unravel_index(model.scores_.argmin(), model.scores_.shape)
    assert (model.width_, model.reg_) == (widths[best[0]], penalties[best[1]])


def test_rulsif_with_alpha_zero_is_ulsif():
    X, T, _ = gaussian_shift(80, 60, 2, 0.4)
    relative = RULSIF(alpha=0.0, random_state=0).fit(X, X_target=T)
    np.testing.assert_array_equal(
        relative.weights_, ULSIF(random_state=0).fit(X, X_target=T).weights_
    )


def test_blocks_do_not_change_the_fit(monkeypatch):
    X, T, _ = gaussian_shift(90, 70, 2, 0.4)
    weighters = [ULSIF(random_state=0), RULSIF(random_state=0), KDE("cv"), NearestNeighbors()]
    monkeypatch.setattr(neighbors, "_TREE_FEATURES", 0)
    whole = [clone(weighter).fit(X, X_target=T) for weighter in weighters]
    monkeypatch.setattr("covshift.weights.points._BLOCK", 500)
    for before, weighter in zip(whole, weighters, strict=True):
        after = clone(weighter).fit(X, X_target=T)
        np.testing.assert_allclose(after.weights_, before.weights_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            after.predict_weights(T), before.predict_weights(T), rtol=1e-6, atol=1e-9
        )


def test_centres_are_drawn_with_the_seed():
    X, T, _ = gaussian_shift(100, 300, 2, 0.4)
    for make in (ULSIF, KLIEP):
        first, again, other = (
            make(n_centers=15, random_state=seed).fit(X, X_target=T) for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(first.weights_, again.weights_)
        assert not np.array_equal(first.centers_, other.centers_)


# KLIEP


@pytest.mark.parametrize(
    ("width", "weighted"), [(0.3, False), (1.0, False), (1.0, True), (4.0, False)]
)
def test_kliep_reaches_the_maximum_of_the_likelihood(width, weighted):
    X, T, _ = gaussian_shift(50, 12, 2, 0.5)
    share = np.random.default_rng(1).dirichlet(np.ones(12)) if weighted else np.full(12, 1 / 12)
    model = KLIEP(width=width).fit(X, X_target=T, target_weight=share)
    KX, KT = kernels(model, X, T)
    likelihood = share @ np.log(KT @ model.coef_)
    assert np.isclose((KX @ model.coef_).mean(), 1.0, atol=1e-12)
    assert (model.coef_ >= 0).all()
    means = KX.mean(axis=0)
    found = minimize(
        lambda b: -share @ np.log(KT @ (b / means)),
        np.full(12, 1 / 12),
        jac=lambda b: -(KT / means).T @ (share / (KT @ (b / means))),
        bounds=[(0, None)] * 12,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1, "jac": lambda b: np.ones(12)},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert likelihood >= -found.fun - 1e-8
    assert likelihood <= -found.fun + 1e-5


def test_kliep_fulfils_the_optimality_conditions_on_many_centres():
    X, T, _ = gaussian_shift(400, 500, 3, 0.5)
    for width in (0.4, 1.0, 5.0):
        model = KLIEP(width=width, random_state=0).fit(X, X_target=T)
        KX, KT = kernels(model, X, T)
        slope = (KT / (KT @ model.coef_)[:, None]).mean(axis=0) / KX.mean(axis=0)
        assert slope.max() <= 1 + 1e-7
        np.testing.assert_allclose(slope[model.coef_ > 1e-9], 1.0, atol=1e-3)


def test_kliep_does_not_drift_to_the_smallest_width():
    chosen = []
    for seed in range(6):
        X, T, truth = gaussian_shift(300, 300, 2, 0.7, seed=seed)
        model = KLIEP(random_state=0).fit(X, X_target=T)
        widths = sorted(model.scores_)
        chosen.append((model.width_, nmse(model.weights_, truth)))
        assert model.scores_[widths[0]] < model.scores_[model.width_]
        assert model.width_ > 0.25
    assert np.median([error for _, error in chosen]) < 0.2
    grid = KLIEP(width=np.geomspace(0.05, 5, 9), random_state=0).fit(X, X_target=T)
    assert grid.width_ > 0.25


def test_the_published_cross_validation_would_favour_the_smallest_width():
    """The trap: a held-out point sits on its own bump, and the bumps between training rows cost
    nothing.
    """
    X, T, _ = gaussian_shift(100, 60, 2, 0.5)
    widths = [2.0, 1.0, 0.5, 0.25, 0.1]
    folds = fold_of(T, 5, check_random_state(0))
    published = []
    for width in widths:
        KX, KT = (np.exp(-squared_distances(points, T) / (2 * width**2)) for points in (X, T))
        A, score = KT / KX.mean(axis=0), 0.0
        for fold in range(5):
            share = (folds != fold) / (folds != fold).sum()
            b = kliep._proportions(A.T, np.ones(60), share, np.ones(60), tolerance=1e-6)
            score += np.log(A[folds == fold] @ b).sum()
        published.append(score)
    assert np.argmax(published) == len(widths) - 1
    ours = KLIEP(width=widths, standardize=False, random_state=0).fit(X, X_target=T)
    assert ours.width_ >= 0.5


def test_kliep_searches_from_a_large_width_downwards():
    X, T, _ = gaussian_shift(200, 150, 2, 0.5)
    tried = list(KLIEP(random_state=0).fit(X, X_target=T).scores_)
    coarse = tried[:-2]
    np.testing.assert_allclose(np.diff(np.log2(coarse)), -1.0)
    assert len(coarse) < 8


@pytest.mark.filterwarnings("ignore::covshift.exceptions.WeightWarning")
def test_kliep_without_overlap_stays_finite():
    X, T, _ = gaussian_shift(60, 50, 2, 0.0)
    model = KLIEP(random_state=0).fit(X, X_target=T + 1e4)
    assert np.isfinite(model.weights_).all()
    assert np.isfinite(model.predict_weights(T + 1e4)).all()


def test_one_row_leaves_nothing_to_choose():
    target = [[1.0, 2.0], [2.0, 1.0]]
    for weighter in (KLIEP([1.0, 2.0]), KLIEP(), ULSIF([1.0, 2.0]), ULSIF(reg=1.0), RULSIF()):
        weighter.fit([[0.0, 1.0]], X_target=target)
        assert weighter.weights_.tolist() == [1.0]
        assert not hasattr(weighter, "scores_")


# Discriminative


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "classifier",
    [
        None,
        LogisticRegression(),
        GaussianNB(),
        KNeighborsClassifier(100),
        RandomForestClassifier(20, min_samples_leaf=40, random_state=0),
        make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression()),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
@pytest.mark.parametrize("M", [150, 1500])
def test_any_classifier_points_in_the_right_direction(classifier, M):
    X, T, truth = gaussian_shift(500, M, 2, 0.6)
    fitted = Discriminative(classifier, random_state=0).fit(X, X_target=T)
    assert np.corrcoef(np.log(fitted.weights_ + 1e-3), np.log(truth))[0, 1] > 0.6
    new = fitted.predict_weights([[-1.5, -1.5], [1.5, 1.5]])
    assert new[1] > 2 * new[0]


@pytest.mark.parametrize("classifier", [LogisticRegression(), KNeighborsClassifier(200)])
def test_the_class_prior_is_taken_out_of_the_odds(classifier):
    """Ten times more target rows do not make every row look like the target."""
    X, T, _ = gaussian_shift(400, 4000, 1, 0.0)
    fitted = Discriminative(classifier, cv=None).fit(X, X_target=T)
    log_odds = fitted._log_ratio(X)
    assert abs(log_odds.mean()) < 0.3


def test_cross_fitting_hides_a_row_from_its_own_classifier():
    X, T, truth = gaussian_shift(300, 300, 1, 0.5)
    by_heart = DecisionTreeClassifier(random_state=0)
    with pytest.raises(ValueError, match="no usable weights"):
        Discriminative(by_heart, cv=None).fit(X, X_target=T)
    leaves = DecisionTreeClassifier(min_samples_leaf=3, random_state=0)
    seen = Discriminative(leaves, cv=None).fit(X, X_target=T).weights_
    hidden = Discriminative(leaves, cv=5, random_state=0).fit(X, X_target=T).weights_
    assert np.corrcoef(hidden, truth)[0, 1] > 0.2
    assert (seen == 0).mean() > (hidden == 0).mean()


def test_target_weights_reach_the_classifier_or_are_refused():
    X, T, _ = gaussian_shift(60, 50, 1, 0.5)
    weight = np.arange(50) + 1.0
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        Discriminative(KNeighborsClassifier()).fit(X, X_target=T, target_weight=weight)
    equal = Discriminative(KNeighborsClassifier(20)).fit(
        X, X_target=T, target_weight=np.full(50, 3)
    )
    assert np.isfinite(equal.weights_).all()
    for classifier in (GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())):
        plain, weighted = (
            Discriminative(classifier, cv=None).fit(X, X_target=T, target_weight=given).weights_
            for given in (None, np.where(T[:, 0] > 0.5, 5.0, 1.0))
        )
        assert (weighted @ X)[0] > (plain @ X)[0]


def test_the_user_s_classifier_is_not_touched():
    X, T, _ = gaussian_shift(60, 50, 1, 0.5)
    classifier = LogisticRegression()
    Discriminative(classifier).fit(X, X_target=T)
    assert not hasattr(classifier, "coef_")


def test_a_regressor_is_no_classifier():
    with pytest.raises(TypeError, match="no predict_proba"):
        Discriminative(LinearRegression()).fit([[0.0], [1.0]], X_target=[[1.0]])


# Nearest neighbours


def neighbours_by_hand(X, T, share, k, new):
    values = []
    for x in new:
        train = np.sqrt(((X - x) ** 2).sum(axis=1))
        radius = np.sort(train)[k - 1] + 1e-9
        target = np.sqrt(((T - x) ** 2).sum(axis=1))
        values.append(share[target <= radius].sum() / (train <= radius).mean())
    return np.array(values)


@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("kind", ["plain", "weighted", "tied"])
def test_neighbours_are_counted_as_defined(n, kind):
    X, T, _ = gaussian_shift(40, 30, n, 0.3)
    if kind == "tied":
        X, T = np.round(X), np.round(T)
    share = np.random.default_rng(1).dirichlet(np.ones(30)) if kind == "weighted" else None
    fitted = NearestNeighbors(5, standardize=False).fit(X, X_target=T, target_weight=share)
    share = np.full(30, 1 / 30) if share is None else share
    raw = neighbours_by_hand(X, T, share, 5, X)
    np.testing.assert_allclose(fitted.weights_, raw / raw.mean())
    new = np.random.default_rng(2).normal(size=(9, n))
    expected = neighbours_by_hand(X, T, share, 5, new) / raw.mean()
    np.testing.assert_allclose(fitted.predict_weights(new), expected)


def test_the_number_of_neighbours_has_the_smallest_leave_one_out_criterion():
    X, T, _ = gaussian_shift(40, 30, 2, 0.3)
    fitted = NearestNeighbors(standardize=False).fit(X, X_target=T)
    assert list(fitted.scores_) == [4, 8, 16]
    for k, score in fitted.scores_.items():
        expected = 0.0
        for i in range(40):
            rest = np.delete(X, i, axis=0)
            expected += neighbours_by_hand(rest, T, np.full(30, 1 / 30), k, X[[i]])[0] ** 2 / 80
        for j in range(30):
            rest = np.delete(T, j, axis=0)
            expected -= neighbours_by_hand(X, rest, np.full(29, 1 / 29), k, T[[j]])[0] / 30
        np.testing.assert_allclose(score, expected)
    assert fitted.n_neighbors_ == min(fitted.scores_, key=fitted.scores_.get)


# The self-check


@pytest.mark.filterwarnings("ignore::covshift.exceptions.OverlapWarning")
def test_collapsed_weights_warn():
    X, T, _ = gaussian_shift(300, 300, 1, 0.0)
    with pytest.warns(WeightWarning, match="rest on few rows: the effective sample size is"):
        GaussianRatio().fit(X, X_target=T * 0.1 + 4)


def test_weights_that_move_away_from_the_target_warn():
    X, T, _ = gaussian_shift(300, 300, 2, 0.5)
    with pytest.warns(WeightWarning, match="Inverted move the sample away from the target"):
        Inverted().fit(X, X_target=T)


def test_sound_weights_do_not_warn():
    for seed in range(10):
        X, T, _ = gaussian_shift(100, 100, 2, 0.0, seed=seed)
        ULSIF(random_state=0).fit(X, X_target=T)


def test_the_mismatch_is_the_distance_of_distribution_functions():
    X, T, _ = gaussian_shift(7, 5, 1, 0.5)
    w, share = np.arange(1.0, 8.0), np.full(5, 0.2)
    below = (X[:, 0] <= T).astype(float) @ w / w.sum()
    expected = np.mean((below - (T[:, 0] <= T).astype(float).mean(axis=1)) ** 2)
    assert np.isclose(cdf_mismatch(X, T, share, w), expected)
    assert effective_sample_size(np.array([1.0, 1.0, 2.0])) == pytest.approx(16 / 6)


class Broken(Weighter):
    def __init__(self, value=np.nan):
        self.value = value

    def _solve(self, problem):
        return np.full(len(problem.X), self.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 0.0, 1e-310])
def test_unusable_weights_are_an_error(value):
    with pytest.raises(ValueError, match="Broken found no usable weights"):
        Broken(value).fit([[0.0], [1.0]], X_target=[[1.0]])


def test_a_weighter_says_what_it_lacks():
    with pytest.raises(NotImplementedError, match="Weighter does not implement _solve"):
        Weighter().fit([[0.0]])


@pytest.mark.parametrize("weighter", ONE_OF_EACH, ids=named)
def test_new_rows_of_another_width_are_refused(weighter):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="2 features"):
        clone(weighter).fit(X, X_target=X).predict_weights(X[:, :1])


# By name


def test_every_name_stands_for_a_weighter():
    X, T, _ = gaussian_shift(40, 30, 2, 0.3)
    for name, make in WEIGHTERS.items():
        assert isinstance(as_weighter(name), make)
    for name in sorted(set(WEIGHTERS) - {"cdf", "entropy", "energy", "kmm", "poststratification"}):
        assert as_weighter(name).fit(X, X_target=T).weights_.shape == (40,)
    weighter = KLIEP()
    assert as_weighter(weighter) is weighter


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"weighter='klip' is unknown.*'kliep'"):
        as_weighter("klip")
    for wrong in (KLIEP, 3, [1.0, 2.0]):
        with pytest.raises(TypeError, match="no usable fit"):
            as_weighter(wrong)


def test_importance_takes_a_weighter_or_its_name():
    X, T, _ = gaussian_shift(40, 30, 2, 0.3)
    expected = GaussianRatio().fit(X, X_target=T).weights_
    for weights in ("gaussian-ratio", GaussianRatio(), expected):
        V = Importance(weights).operator(X, T)
        np.testing.assert_array_equal(V.diagonal(), expected)
    assert Importance("kliep").operator(X, T).shape == (40, 40)
    with pytest.raises(ValueError, match="weighter='nothing' is unknown"):
        Importance("nothing").operator(X, T)
    weighted = Importance("gaussian-ratio").operator(X, T, target_weight=np.arange(30) + 1)
    assert not np.allclose(weighted.diagonal(), expected)


def test_a_copy_of_a_row_in_the_target_teaches_nothing_about_it():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(400, 2))
    chance = np.exp(T[:, 0]) / np.exp(T[:, 0]).sum()
    X = T[rng.choice(400, 150, replace=False, p=chance)]
    nearest = Discriminative(KNeighborsClassifier(1), random_state=0).fit(X, X_target=T)
    assert np.corrcoef(nearest.weights_, X[:, 0])[0, 1] < -0.2


@pytest.mark.thorough
def test_equal_means_end_without_a_warning_of_the_solver():
    # Shuffled, so that the gradient at the optimum is rounding in some of these draws and not zero.
    for seed in range(250):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(48, 1))
        found = Discriminative(cv=None).fit(X, X_target=rng.permutation(X))
        np.testing.assert_allclose(found.weights_, 1.0, atol=1e-9)
