"""Weights that the training rows have by the design of the sample: factors on them, no counts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import reference
import sklearn
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

import covshift
from covshift import Reweighted
from covshift.corrections import Additive
from covshift.data import Samples
from covshift.numerics.support import uncovered
from covshift.testing import check_weighter
from covshift.weights import (
    KDE,
    KLIEP,
    KMM,
    RULSIF,
    ULSIF,
    CDFWeights,
    Discriminative,
    EnergyWeights,
    EntropyBalancing,
    GaussianRatio,
    NearestNeighbors,
)
from covshift.weights.base import Weighter
from covshift.weights.kde import _choose_tau

rng = np.random.default_rng(0)
X, T = rng.normal(size=(50, 2)), rng.normal(0.4, 1.0, size=(40, 2))
TIMES = rng.integers(1, 5, size=50)
REPEATED = np.repeat(X, TIMES, axis=0)


def factors(weighter, X, d=None, target=T):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(weighter).fit(X, X_target=target, sample_weight=d).weights_


# The problems, by naive oracles


def test_energy_weights_are_those_of_the_naive_problem():
    few, target, d = X[:8], T[:5] + 0.5, DESIGN
    for reg in (0.01, 3.0):
        expected = reference.energy_weights(few, target, reg, d)
        found = factors(EnergyWeights(reg, standardize=False), few, d, target)
        np.testing.assert_allclose(found, expected, atol=1e-7)
        assert (found < 1e-9).any() == (reg == 0.01)


DESIGN = np.array([0.2, 1.0, 3.0, 1.0, 0.7, 2.0, 0.1, 1.0])
SOLVERS = ["dense", "thresholds"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("phi", [None, "anderson-darling"])
@pytest.mark.parametrize("reg", [0.01, 1.0])
def test_cdf_weights_are_those_of_the_naive_problem(solver, phi, reg):
    few, target = X[:8], X[2:7] * 0.5 + 0.4
    expected = reference.cdf_weights(few, target, [[0], [1]], reg, d=DESIGN, tails=phi is not None)
    options = {"views": Additive(phi=phi), "reg": reg, "solver": solver, "tol": 1e-9}
    found = factors(CDFWeights(**options, allow_no_overlap=True), few, DESIGN, target)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    assert (found < 1e-9).any() == (reg < 1)


@pytest.mark.parametrize("solver", ["dense", "thresholds"])
@pytest.mark.parametrize(
    ("views", "groups"), [("pairwise", [[0, 1]]), ("multiplicative", [[0, 1]])]
)
def test_cdf_weights_in_boxes_are_those_of_the_naive_problem(views, groups, solver):
    few, target = X[:8], T[:6]
    expected = reference.cdf_weights(few, target, groups, 0.1, d=DESIGN)
    weighter = CDFWeights(views, reg=0.1, solver=solver, tol=1e-9, allow_no_overlap=True)
    np.testing.assert_allclose(factors(weighter, few, DESIGN, target), expected, atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS[1:])
def test_the_solvers_of_cdf_weights_agree_where_a_preconditioner_is_at_work(solver):
    draw = np.random.default_rng(1)
    many, target = draw.normal(size=(600, 3)), draw.normal(0.5, 1.0, size=(700, 3))
    d = np.exp(1.5 * draw.normal(size=600))
    exact = factors(CDFWeights(reg=0.02, solver="dense"), many, d, target)
    found = factors(CDFWeights(reg=0.02, solver=solver, tol=1e-8), many, d, target)
    np.testing.assert_allclose(found, exact, atol=1e-5)


@pytest.mark.parametrize("B", [2.0, 1000.0])
def test_kernel_mean_matching_is_the_naive_problem(B):
    """Its objective over 0 <= w <= B is not above that of any other weights, and they sum to N."""
    d = 0.1 + rng.random(50)
    g = 50 * d / d.sum()
    kmm = KMM(B, width=1.0, eps=0.0, standardize=False).fit(X, X_target=T, sample_weight=d)
    K, kappa = (np.exp(-(cdist(X, Z) ** 2) / 2) for Z in (X, T))

    def objective(w):
        return (g * w) @ K @ (g * w) / 2 - 50 * (g * w) @ kappa.mean(axis=1)

    w = kmm.weights_
    assert w.max() <= B * (1 + 1e-9)
    np.testing.assert_allclose(kmm.objective_, objective(w), rtol=1e-9)
    draw = np.random.default_rng(0)
    for _ in range(200):
        other = np.minimum(w + 0.05 * np.abs(draw.normal(size=50)), B)
        other = w + 0.3 * (other * (50 / (g @ other)) - w)
        if other.max() <= B:
            assert objective(other) >= kmm.objective_ - 1e-9


def test_least_squares_and_likelihood_use_weighted_means():
    d = 0.1 + rng.random(50)
    own, kernel = d / d.sum(), np.exp(-(cdist(X, T) ** 2) / 2)  # (N, M), centres T
    at_T = np.exp(-(cdist(T, T) ** 2) / 2)
    options = {"width": 1.0, "standardize": False}
    found = ULSIF(reg=0.1, **options).fit(X, X_target=T, sample_weight=d)
    H = kernel.T @ (own[:, None] * kernel) + 0.1 * np.eye(40)
    raw = np.maximum(kernel @ np.linalg.solve(H, at_T.mean(axis=0)), 0)
    np.testing.assert_allclose(found.weights_, raw / (own @ raw), rtol=1e-8)
    likely = KLIEP(**options).fit(X, X_target=T, sample_weight=d)
    fit = np.log(likely.predict_weights(T)).mean()
    for _ in range(100):
        a = likely.coef_ * rng.uniform(0.5, 1.5, size=40)
        order = np.argsort(likely.centers_[:, 0]), np.argsort(T[:, 0])
        a[order[1]] = a[order[0]].copy()
        a /= own @ kernel @ a
        assert np.log(at_T @ a).mean() <= fit + 1e-7


def test_the_normal_ratio_has_weighted_moments():
    d = 0.1 + rng.random(50)
    found = factors(GaussianRatio(0.0), X, d)
    logs = [
        multivariate_normal(
            np.average(Z, axis=0, weights=w), np.cov(Z.T, aweights=w, bias=True)
        ).logpdf(X)
        for Z, w in ((T, np.ones(40)), (X, d))
    ]
    ratio = np.exp(logs[0] - logs[1])
    np.testing.assert_allclose(found, ratio / np.average(ratio, weights=d), rtol=1e-6)


def test_neighbours_count_by_their_share():
    d = 0.1 + rng.random(50)
    raw = []
    for x in X:
        to_X, to_T = np.linalg.norm(X - x, axis=1), np.linalg.norm(T - x, axis=1)
        radius = np.sort(to_X)[6]
        raw.append((to_T <= radius).mean() / (d[to_X <= radius].sum() / d.sum()))
    expected = np.array(raw) / np.average(raw, weights=d)
    found = factors(NearestNeighbors(7, standardize=False), X, d)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_the_choice_of_tau_weighs_both_sides_of_the_cross_validation():
    """With design weights d it is trained with d w^tau and judged with d w."""
    d, log_w, Y = 0.1 + rng.random(50), X.sum(axis=1), np.sin(3 * X[:, :1])

    def risks(own, log_ratio):
        return _choose_tau(X, Y, own, log_ratio, np.random.RandomState(0))[1]

    ones = np.ones(50)
    np.testing.assert_allclose(risks(d, log_w)[-1], risks(ones, log_w + np.log(d))[-1])
    np.testing.assert_allclose(risks(d, 0 * log_w), risks(ones, np.log(d))[-1])
    assert abs(risks(d, log_w)[0] / risks(ones, log_w)[0] - 1) > 1e-3


def test_entropy_balancing_tilts_the_design_weights():
    """The moments agree under the products, and the factor is an exponential of the features."""
    d = 0.1 + rng.random(50)
    found = EntropyBalancing().fit(X, X_target=T, sample_weight=d)
    np.testing.assert_allclose(np.average(X, axis=0, weights=d * found.weights_), T.mean(axis=0))
    design = np.column_stack([np.ones(50), X])
    log = np.log(found.weights_)
    np.testing.assert_allclose(design @ np.linalg.lstsq(design, log, rcond=None)[0], log, atol=1e-7)


def test_a_discriminative_ratio_is_that_of_the_weighted_classifier():
    d = 0.1 + rng.random(50)
    own, size = d / d.sum(), d.sum() ** 2 / (d @ d)
    classifier = LogisticRegression(C=3.0, tol=1e-8)
    found = factors(Discriminative(clone(classifier), cv=None), X, d)
    classifier.fit(
        np.vstack([X, T]),
        np.repeat([0, 1], [50, 40]),
        sample_weight=size * np.concatenate([own, np.full(40, 1 / 40)]),
    )
    odds = np.exp(classifier.decision_function(X))
    np.testing.assert_allclose(found, odds / (own @ odds), rtol=1e-6)


# Repeated rows


REPEATS = {
    "entropy": (EntropyBalancing(), EntropyBalancing(), 1e-8),
    "entropy, penalised": (EntropyBalancing(2, reg=0.1), EntropyBalancing(2, reg=0.1), 1e-8),
    # A penalty for N rows; where more are counted, it is so many times as large.
    "energy": (EnergyWeights(0.1), EnergyWeights(0.1 * TIMES.sum() / 50), 1e-8),
    "cdf": (CDFWeights(reg=0.1), CDFWeights(reg=0.1 * TIMES.sum() / 50), 1e-8),
    "cdf, products": (
        CDFWeights(reg=0.1, solver="thresholds", tol=1e-9),
        CDFWeights(reg=0.1 * TIMES.sum() / 50, solver="thresholds", tol=1e-9),
        1e-7,
    ),
    "kmm": (KMM(5, eps=0.1), KMM(5, eps=0.1), 1e-4),
    "normal": (GaussianRatio(), GaussianRatio(), 1e-8),
    "kde": (KDE(0.5), KDE(0.5), 1e-8),
    "kliep": (KLIEP(1.0), KLIEP(1.0), 1e-5),
    "ulsif": (ULSIF(1.0, reg=0.1), ULSIF(1.0, reg=0.1), 1e-8),
    "rulsif": (RULSIF(0.3, width=1.0, reg=0.1), RULSIF(0.3, width=1.0, reg=0.1), 1e-8),
}


@pytest.mark.parametrize("name", REPEATS)
def test_shares_of_repeated_rows_are_their_weights_at_a_fixed_penalty(name):
    weighter, of_repeats, tolerance = REPEATS[name]
    repeated = np.repeat(factors(weighter, X, TIMES), TIMES)
    np.testing.assert_allclose(repeated, factors(of_repeats, REPEATED), atol=tolerance)


# Input


def test_a_classifier_that_takes_no_weights_is_refused():
    weighter = Discriminative(KNeighborsClassifier(), random_state=0)
    with pytest.raises(ValueError, match="sample_weight was given, but KNeighborsClassifier"):
        weighter.fit(X, X_target=T, sample_weight=TIMES)
    np.testing.assert_array_equal(factors(weighter, X, np.full(50, 3.0)), factors(weighter, X))


class Plain(Weighter):
    """Knows nothing of shares of the training rows."""

    def _solve(self, problem):
        self._center = problem.share @ problem.T
        return self._ratio(problem.X)

    def _ratio(self, X):
        return np.exp(-np.abs(X - self._center).sum(axis=1))


def test_a_weighter_that_would_ignore_unequal_weights_refuses_them():
    with pytest.raises(ValueError, match="Plain takes no unequal sample_weight"):
        Plain().fit(X, X_target=T, sample_weight=TIMES)
    kept = TIMES > 1
    found = factors(Plain(), X, kept.astype(float))
    np.testing.assert_allclose(found[kept], factors(Plain(), X[kept]))


class Deaf(Plain):
    """Says that it takes shares, and does not."""

    _takes_sample_weight = True


class Counting(EntropyBalancing):
    """Takes weights by their scale."""

    def fit(self, X, y=None, *, sample_weight=None, **given):
        super().fit(X, y, **given, sample_weight=sample_weight)
        if sample_weight is not None and np.mean(sample_weight) > 100:
            self.weights_ = self.weights_**0.5
        return self


def test_the_contract_finds_sample_weights_that_change_nothing():
    with pytest.raises(AssertionError, match="unequal sample weights change"):
        check_weighter(Deaf(), calm=0.0)


def test_the_contract_finds_sample_weights_that_count():
    with pytest.raises(AssertionError, match="scale of sample_weight"):
        check_weighter(Counting())


def test_without_a_target_the_weighted_sample_is_the_target():
    np.testing.assert_allclose(factors(EntropyBalancing(), X, TIMES, target=None), 1.0)
    assert np.ptp(factors(EntropyBalancing(), X, TIMES, target=X)) > 0.1


def test_energy_weights_without_a_penalty_leave_unused_rows_out():
    d = np.where(TIMES > 1, TIMES, 0.0)
    found = factors(EnergyWeights(0), X, d)
    assert (found[d == 0] == 0).all()
    assert found[d > 0].max() > 0


def test_a_huge_or_tiny_scale_changes_nothing():
    plain = factors(EntropyBalancing(), X, TIMES)
    for scale in (1e-300, 1e300):
        np.testing.assert_allclose(factors(EntropyBalancing(), X, TIMES * scale), plain, rtol=1e-8)


def test_weights_over_six_orders_of_magnitude_are_within_the_tolerance():
    """The closed form holds for rows that hardly count, and the solvers agree."""
    d = np.where(np.arange(50) < 3, 1e-6, 1.0)
    energy = EnergyWeights(0.1).fit(X, X_target=T, sample_weight=d)
    np.testing.assert_allclose(energy.predict_weights(X), energy.weights_, atol=1e-6)
    options = {"reg": 0.1, "tol": 1e-9, "allow_no_overlap": True}
    dense, products = (factors(CDFWeights(solver=s, **options), X, d) for s in SOLVERS[:2])
    np.testing.assert_allclose(dense, products, atol=1e-6)
    lost = np.where(np.arange(50) < 3, 1e-12, 1.0)
    np.testing.assert_allclose(
        factors(EnergyWeights(0.1), X, lost), factors(EnergyWeights(0.1), X, lost > 1e-9)
    )


# The self-check


def test_the_warning_of_few_rows_counts_the_design():
    """Weights that the design alone makes uneven are no fault of the factors."""
    d = np.where(np.arange(50) < 3, 1.0, 0.001)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = EntropyBalancing().fit(X, X_target=X, target_weight=d, sample_weight=d)
    assert found.effective_sample_size_ < 4
    np.testing.assert_allclose(found.weights_, 1.0)


def test_the_shift_before_is_that_of_the_weighted_sample():
    """Flat factors leave a shift that only the design weights make."""
    many = rng.normal(size=(400, 1))
    flat = EnergyWeights(1e9)
    flat.fit(many, X_target=many)
    with pytest.warns(UserWarning, match="do not move the sample towards the target"):
        flat.fit(many, X_target=many, sample_weight=np.exp(many[:, 0]))


# Precision: Kish's number of rows in place of N


def test_the_noise_of_cdf_weights_counts_effective_rows():
    """Half of the rows hardly count: the penalty is chosen nearly as if they were not there."""
    draw = np.random.default_rng(3)
    many, target = draw.normal(size=(400, 1)), draw.normal(0.2, 1.0, size=(300, 1))
    d = np.where(np.arange(400) < 200, 1.0, 1e-4)
    found = CDFWeights().fit(many, X_target=target, sample_weight=d)
    without = CDFWeights().fit(many[:200], X_target=target)
    np.testing.assert_allclose(found.mismatch_, without.mismatch_, rtol=0.1)
    np.testing.assert_allclose(found.weights_[:200], without.weights_, atol=0.1)


def test_parts_without_training_rows_are_judged_by_effective_rows():
    draw = np.random.default_rng(4)
    many, target = draw.random((100, 1)), 1.3 * draw.random((200, 1))
    share, own = np.full(200, 1 / 200), np.full(100, 0.1 / 60)
    own[:40] = 0.9 / 40
    (all_count,) = uncovered(many, target, share, 200.0)
    (found,) = uncovered(many, target, share, 200.0, own=own)
    size = 1 / (own @ own)
    np.testing.assert_allclose(found.share - found.excess, 10 / size)
    np.testing.assert_allclose(all_count.share - all_count.excess, 10 / 100)
    assert found.p_value > all_count.p_value


def test_a_saved_weighter_of_a_weighted_sample_gives_the_same_weights(tmp_path):
    d = np.where(TIMES > 1, TIMES, 0)
    for weighter in (CDFWeights(allow_no_overlap=True), KMM(5), EnergyWeights(), GaussianRatio()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(weighter).fit(X, X_target=T, sample_weight=d)
        covshift.save(fitted, tmp_path / "one.covshift")
        again = covshift.load(tmp_path / "one.covshift")
        np.testing.assert_array_equal(again.predict_weights(X), fitted.predict_weights(X))


# The wrapper


def test_the_wrapper_weighs_the_weighted_sample():
    """The estimator gets the product, on the scale of one row."""
    y, d = X[:, 0] ** 2, TIMES / TIMES.mean()
    model = Reweighted(Ridge(), weighter="entropy").fit(X, y, X_target=T, sample_weight=TIMES)
    np.testing.assert_allclose(model.weights_, factors(EntropyBalancing(), X, TIMES))
    alone = Ridge().fit(X, y, sample_weight=d * model.weights_)
    np.testing.assert_allclose(model.predict(T), alone.predict(T), rtol=1e-9)


def test_the_wrapper_without_a_target_leaves_the_weighted_sample_alone():
    model = Reweighted(Ridge(), weighter="entropy").fit(X, X[:, 0], sample_weight=TIMES)
    np.testing.assert_allclose(model.weights_, 1.0)


def test_the_wrapper_refuses_a_weighter_that_would_ignore_sample_weights():
    class Bare(BaseEstimator):
        def fit(self, X, y=None, *, X_target=None, target_weight=None):
            self.weights_ = np.ones(len(X))
            return self

    model = Reweighted(Ridge(), weighter=Bare()).fit(X, X[:, 0], X_target=T)
    with pytest.raises(TypeError, match=r"Bare\.fit takes no sample_weight"):
        model.fit(X, X[:, 0], X_target=T, sample_weight=TIMES)


def test_rows_that_stay_on_a_device_are_refused():
    class OnDevice(CDFWeights):
        def _runs_on_device(self, X):
            return True

    with pytest.raises(ValueError, match="takes no sample_weight where the rows stay on a device"):
        OnDevice().fit(X, X_target=T, sample_weight=TIMES)


def test_a_search_does_not_route_sample_weight_to_a_weighter_unasked():
    with sklearn.config_context(enable_metadata_routing=True):
        asked = EntropyBalancing().set_fit_request(sample_weight=True)
        for weighter, request in ((EntropyBalancing(), None), (asked, True)):
            requests = weighter.get_metadata_routing().fit.requests
            assert requests["sample_weight"] is request
            assert requests["X_target"] is requests["target_weight"] is True


def test_a_row_of_weight_zero_teaches_nothing_about_the_columns():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frames = [
        pandas.DataFrame(
            {"town": rng.choice(["a", "b"], 60), "income": rng.normal(size=60), "w": 1.0}
        )
        for _ in range(2)
    ]
    for frame in frames:
        frame.loc[:2, "town"], frame.loc[:2, "income"], frame.loc[:2, "w"] = "elsewhere", np.nan, 0
    frame, target = frames
    frame["y"] = rng.normal(size=60)
    whole = Samples.of(frame, "y", target, sample_weight="w", target_weight="w")
    part = Samples.of(frame[3:], "y", target[3:], sample_weight="w", target_weight="w")
    assert whole.names == part.names
    np.testing.assert_allclose(whole.X[3:], part.X)
    np.testing.assert_allclose(whole.T[3:], part.T)
