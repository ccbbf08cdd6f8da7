"""Influence values: against loops, against derivatives, and how they behave under changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import design_variance, doubly_robust, ratio_of
from sklearn.linear_model import LinearRegression, LogisticRegression

from covshift.data import Groups, Samples
from covshift.engine.measures import METHODS, Measures, Signal
from covshift.engine.problem import Problem
from covshift.engine.weights import Weights
from covshift.estimates import regressions
from covshift.numerics.crossfit import CrossFit, Features
from covshift.numerics.influence import Design, Influence, mean_influence
from covshift.weights import Discriminative, EntropyBalancing


def weights_of(w, M=1):
    return Weights(w, None, np.zeros((len(w), 1)), np.zeros((M, 1)), 0.0)


def engine_of(w, share, **options):
    return Measures(np.ones(len(w)), weights_of(w, len(share)), share, **options)


def made_up(seed, N=25, M=15, k=1, K=3):
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(N, k))
    h = CrossFit(L + rng.normal(size=(N, k)), rng.normal(size=(K, M, k)))
    w, share = rng.exponential(size=N), rng.exponential(size=M)
    return Signal(L, h), w / w.mean(), share / share.sum()


# Oracles


@pytest.mark.parametrize("seed", range(5))
def test_doubly_robust_means_and_errors_are_those_of_loops(seed):
    signal, w, share = made_up(seed)
    found = engine_of(w, share).means(signal, "dr")
    target = signal.h.folds.mean(axis=0)[:, 0]
    value, error, train, chi = doubly_robust(
        signal.values[:, 0], signal.h.train[:, 0], target, w, share
    )
    assert found.value[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found.train[:, 0], train, atol=1e-14)
    np.testing.assert_allclose(found.target[:, 0], chi, atol=1e-14)
    # Both sums of influence values are zero, so that the design adds N / (N - 1) alone.
    N, M = len(w), len(share)
    variance = N / (N - 1) * np.dot(train, train) + M / (M - 1) * np.dot(chi, chi)
    assert found.standard_error(Design.simple(N))[0] ** 2 == pytest.approx(variance, rel=1e-12)
    assert error**2 == pytest.approx(np.dot(train, train) + np.dot(chi, chi))


def test_ratios_and_groups_are_those_of_loops():
    signal, w, share = made_up(3, k=2)
    signal = Signal(signal.values + 5, signal.h)
    found = engine_of(w, share).means(signal, "dr")
    ratio = found.column(0).over(found.column(1))
    for part in ("train", "target"):
        psi = getattr(found, part)
        value, expected = ratio_of((found.value[0], psi[:, 0]), (found.value[1], psi[:, 1]))
        assert ratio.value[0] == pytest.approx(value)
        np.testing.assert_allclose(getattr(ratio, part)[:, 0], expected, atol=1e-14)


@pytest.mark.parametrize(
    ("strata", "clusters"), [(1, 40), (4, 40), (1, 6), (4, 6), (7, 3), (40, 40)]
)
@pytest.mark.parametrize("seed", range(3))
def test_the_variance_of_a_design_is_that_of_loops(seed, strata, clusters):
    """Many strata and few clusters leave strata of a single unit."""
    rng = np.random.default_rng(seed)
    stratum = rng.integers(0, strata, 40)
    cluster = rng.integers(0, clusters, 40) if clusters < 40 else np.arange(40)
    psi = rng.normal(size=(40, 2))
    design = Design.of(40, stratum.astype(str), cluster.astype(str) if clusters < 40 else None)
    covariance = design.covariance(psi)
    for k in range(2):
        assert covariance[k, k] == pytest.approx(design_variance(psi[:, k], stratum, cluster))
    both = design_variance(psi[:, 0] + psi[:, 1], stratum, cluster)
    assert both == pytest.approx(covariance.sum())


def test_equal_names_of_clusters_in_two_strata_are_two_clusters():
    psi = np.arange(8.0)[:, None] ** 2
    stratum, cluster = np.repeat([0, 1], 4), np.tile([0, 0, 1, 1], 2)
    other = cluster + 10 * stratum
    one, two = (Design.of(8, stratum, c) for c in (cluster, other))
    assert one.units == two.units == 4
    assert one.covariance(psi) == pytest.approx(two.covariance(psi))


def test_one_unit_says_nothing_of_the_spread():
    assert Design.simple(1).covariance(np.ones((1, 1)))[0, 0] == np.inf
    assert Design.of(5, None, np.zeros(5)).covariance(np.ones((5, 1)))[0, 0] == np.inf
    found = Influence(np.ones(1), np.zeros((1, 1)), np.zeros((0, 1)))
    assert found.standard_error(Design.simple(1))[0] == np.inf


def test_degrees_of_freedom_count_units_less_strata_that_hold_rows():
    stratum, cluster = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 0, 1, 5])
    design = Design.of(6, stratum, cluster)
    assert design.lonely == 1
    assert design.degrees_within(np.ones(6, dtype=bool)) == 5 - 3
    assert design.degrees_within(np.array([1, 1, 1, 0, 0, 0], dtype=bool)) == 2 - 1
    assert design.degrees_within(np.zeros(6, dtype=bool)) == 0


# Invariants

numbers = st.integers(0, 10_000)


@settings(max_examples=30, deadline=None)
@given(numbers, st.floats(1e-8, 1e8), st.floats(-1e3, 1e3), st.floats(0.01, 100))
def test_scales_shifts_and_orders_do_what_they_should(seed, scale, shift, unit):
    signal, w, share = made_up(seed)
    order, target_order = (np.random.default_rng(seed).permutation(n) for n in (25, 15))
    moved = Signal(
        unit * signal.values[order] + shift,
        CrossFit(
            unit * signal.h.train[order] + shift, unit * signal.h.folds[:, target_order] + shift
        ),
    )
    for method in METHODS:
        before = engine_of(w, share).means(signal, method)
        after = engine_of(scale * w[order], share[target_order]).means(moved, method)
        size = max(abs(shift), unit)
        np.testing.assert_allclose(after.value, unit * before.value + shift, atol=1e-11 * size)
        train = before.train if method == "model" else before.train[order]
        np.testing.assert_allclose(after.train, unit * train, atol=1e-11 * size)
        np.testing.assert_allclose(
            after.target, unit * before.target[target_order], atol=1e-11 * size
        )


@settings(max_examples=30, deadline=None)
@given(numbers)
def test_totals_of_groups_sum_to_the_total(seed):
    signal, w, share = made_up(seed)
    rng = np.random.default_rng(seed)
    train, target = rng.integers(0, 3, 25), rng.integers(0, 3, 15)
    engine = engine_of(w, share)
    for method in METHODS:
        parts = [
            engine.means(signal.times((train == g) * 1.0, (target == g) * 1.0), method)
            for g in range(3)
        ]
        whole = engine.means(signal, method)
        assert sum(part.value for part in parts) == pytest.approx(whole.value)
        np.testing.assert_allclose(sum(part.train for part in parts), whole.train, atol=1e-12)
        np.testing.assert_allclose(sum(part.target for part in parts), whole.target, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(numbers, st.integers(1, 5))
def test_twice_the_same_strata_have_twice_the_variance(seed, strata):
    rng = np.random.default_rng(seed)
    psi, stratum = rng.normal(size=(30, 1)), np.arange(30) % strata
    once = Design.of(30, stratum, None).covariance(psi)
    names = np.concatenate([stratum, stratum + strata])
    twice = Design.of(60, names, None).covariance(np.vstack([psi, psi]))
    assert twice == pytest.approx(2 * once)


@settings(max_examples=30, deadline=None)
@given(numbers, st.integers(2, 4))
def test_one_row_in_halves_is_a_cluster(seed, times):
    """Rows repeated with a part of their weight, and clustered, change nothing."""
    signal, w, _ = made_up(seed)
    value, psi = mean_influence(signal.values, w)
    again, parts = mean_influence(
        np.repeat(signal.values, times, axis=0), np.repeat(w / times, times)
    )
    assert again == pytest.approx(value)
    clustered = Design.of(25 * times, None, np.repeat(np.arange(25), times))
    assert clustered.covariance(parts) == pytest.approx(Design.simple(25).covariance(psi))


def test_errors_do_not_overflow():
    psi = np.array([[1e200], [-1e200], [3e200]])
    found = Influence(np.ones(1), psi, np.zeros((0, 1)))
    assert found.standard_error(Design.simple(3))[0] == pytest.approx(
        1e200 * np.sqrt(design_variance([1, -1, 3], [0, 0, 0], [0, 1, 2]))
    )


def test_a_known_target_has_no_error_of_its_own():
    signal, w, share = made_up(0)
    for method in METHODS:
        found = engine_of(w, share, finite_population=True).means(signal, method)
        assert not found.target.any()
        assert found.value == pytest.approx(engine_of(w, share).means(signal, method).value)


# The infinitesimal jackknife: psi_i is d theta / d epsilon where row i counts w_i (1 + epsilon)

N, M = 30, 20


def problem_of(seed=0, method="dr", w=None, share=None):
    rng = np.random.default_rng(seed)
    Z, T = rng.normal(size=(N, 2)), rng.normal(0.3, 1, size=(M, 2))
    final = rng.exponential(size=N) if w is None else w
    v = rng.exponential(size=M) if share is None else share
    labels = ("a", "b", "c")
    groups = Groups(labels, rng.integers(0, 3, N), rng.integers(0, 3, M))
    features = Features(Z, T)
    sample = Samples(Z, T, ("p", "q"), np.ones(N), v / v.sum(), inputs=features, groups=groups)
    weights = Weights(final, None, Z, T, 0.0)
    return Problem(sample, weights, method, 0.95, 3, LinearRegression(), False, 0)


def outcomes(problem, binary=False):
    rng = np.random.default_rng(9)
    y = problem.sample.X @ [1.0, -0.5] + rng.normal(size=N) + 3
    return (y > 3).astype(float) if binary else y


def mean(problem, method):
    y = outcomes(problem)
    return problem.ratio(problem.numbers(y, "y"), None, method)


def ratio(problem, method):
    y = outcomes(problem)
    z = np.exp(0.3 * y)
    return problem.ratio(problem.numbers(y, "y"), problem.numbers(z, "z"), method)


def group(problem, method):
    return problem.ratio(*problem.in_group(problem.numbers(outcomes(problem), "y"), 1, "y"), method)


def difference(problem, method):
    signal = problem.numbers(outcomes(problem), "y")
    one, other = (problem.ratio(*problem.in_group(signal, k, "y"), method) for k in (0, 1))
    return one.minus(other)


def cdf(problem, method):
    flags = (outcomes(problem) <= 2.5) * 1.0
    return problem.ratio(problem.indicator(flags, "y <= 2.5"), None, method)


def linear(problem, method):
    return fitted(problem, method, "linear")


def logistic(problem, method):
    return fitted(problem, method, "logistic")


def fitted(problem, method, family):
    y = outcomes(problem, binary=family == "logistic")
    signal = problem.indicator(y, "b") if family == "logistic" else problem.numbers(y, "y")
    X, T = (np.column_stack([np.ones(len(p)), p]) for p in (problem.sample.X, problem.sample.T))
    return regressions._solve(problem.measures, signal, X, T, family, method)


QUANTITIES = (mean, ratio, group, difference, cdf, linear, logistic)


@pytest.mark.part(3)
@pytest.mark.parametrize("method", ["dr", "weights", "none"])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_influence_is_the_derivative_by_the_weight_of_a_row(quantity, method):
    problem = problem_of()
    found = quantity(problem, method)
    sample, w = problem.sample, problem.weights.final
    step = 1e-5

    def nudged(row, side, sign):
        d, final, share = sample.d.copy(), w.copy(), sample.share.copy()
        if side == "train":
            d[row] *= 1 + sign * step
            final[row] *= 1 + sign * step
        else:
            share[row] *= 1 + sign * step
        return quantity(problem.with_weights(d, final, share / share.sum()), method).value

    for side, rows in (("train", range(0, N, 5)), ("target", range(0, M, 4))):
        for row in rows:
            slope = (nudged(row, side, 1) - nudged(row, side, -1)) / (2 * step)
            np.testing.assert_allclose(getattr(found, side)[row], slope, atol=1e-8, err_msg=side)


def solved(gradient_and_slope, size):
    """Root of a gradient by Newton's method, in short steps at first."""
    beta = np.zeros(size)
    for _ in range(40):
        gradient, slope = gradient_and_slope(beta)
        step = np.linalg.solve(slope, gradient)
        beta = beta - step / max(1.0, 2 * np.abs(step).max())
    return beta


def tilted_mean(f, f_target, d, share, reg, L):
    """Weighted means under an exponential tilt that solves its equations, from the beginning."""
    apart = f - share @ f_target / share.sum()

    def equations(theta):
        w = d * np.exp(apart @ theta)
        w = w / w.sum()
        mean = w @ apart
        slope = (apart * w[:, None]).T @ apart - np.outer(mean, mean) + reg * np.eye(len(mean))
        return mean + reg * theta, slope

    w = d * np.exp(apart @ solved(equations, f.shape[1]))
    return w @ L / w.sum()


def odds_mean(f, f_target, d, v, v_target, ridge, cap, L):
    """Weighted means under the odds of a logistic regression, from the beginning."""

    def equations(beta):
        p, p_target = (1 / (1 + np.exp(-rows @ beta)) for rows in (f, f_target))
        gradient = f.T @ (v * p) - f_target.T @ (v_target * (1 - p_target)) + ridge * beta
        slope = f.T @ (f * (v * p * (1 - p))[:, None]) + np.diag(ridge)
        slope += f_target.T @ (f_target * (v_target * p_target * (1 - p_target))[:, None])
        return gradient, slope

    w = d * np.minimum(np.exp(f @ solved(equations, f.shape[1])), cap)
    return w @ L / w.sum()


def two_samples():
    rng = np.random.default_rng(1)
    X, T = rng.normal(size=(60, 2)), rng.normal(0.3, 1, size=(40, 2))
    d, share = rng.uniform(0.5, 2, 60), rng.uniform(0.5, 2, 40)
    L = np.column_stack([X[:, 0] ** 2, X[:, 1] + rng.normal(size=60)])
    return X, T, d, share / share.sum(), L


def assert_derivative(psi, mean, weight, step=1e-5, atol=1e-8):
    """The values psi (n, k) are derivatives of ``mean(weight)`` by log weights."""
    for row in range(0, len(psi), 7):
        up, down = weight.copy(), weight.copy()
        up[row] *= 1 + step
        down[row] *= 1 - step
        np.testing.assert_allclose(psi[row], (mean(up) - mean(down)) / (2 * step), atol=atol)


@pytest.mark.parametrize("options", [{}, {"moments": 2}, {"reg": 0.1}], ids=str)
def test_influence_under_a_tilt_is_the_derivative_with_the_tilt_solved_again(options):
    X, T, d, share, L = two_samples()
    weighter = EntropyBalancing(**options, tol=1e-13).fit(
        X, X_target=T, sample_weight=d, target_weight=share
    )
    assert weighter._has_mean_influence()
    value, train, target = weighter._mean_influence(L, X, T, d, share)
    f, f_target = (weighter._scales(weighter._raw_moments(rows)) for rows in (X, T))
    reg = weighter.reg
    np.testing.assert_allclose(value, tilted_mean(f, f_target, d, share, reg, L), rtol=1e-9)
    assert_derivative(train, lambda d: tilted_mean(f, f_target, d, share, reg, L), d)
    assert_derivative(target, lambda v: tilted_mean(f, f_target, d, v, reg, L), share)


@pytest.mark.parametrize(
    ("classifier", "max_ratio"),
    [
        (None, 1e6),
        (None, 1.5),
        (LogisticRegression(C=1e12, solver="newton-cholesky", tol=1e-12), 1e6),
        (LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-12), 1e6),
        (LogisticRegression(fit_intercept=False, tol=1e-10), 1e6),
    ],
    ids=["default", "capped", "no penalty", "much penalty", "no intercept"],
)
def test_influence_under_odds_is_the_derivative_with_the_regression_solved_again(
    classifier, max_ratio
):
    """The penalty grows with the number of rows here, which is what centres the scores."""
    X, T, d, share, L = two_samples()
    weighter = Discriminative(classifier, cv=None, max_ratio=max_ratio).fit(
        X, X_target=T, sample_weight=d, target_weight=share
    )
    assert weighter._has_mean_influence()
    value, train, target = weighter._mean_influence(L, X, T, d, share)
    if max_ratio < 10:
        assert np.unique(weighter.weights_.round(9)).size < 60  # some are cut off
    f, f_target = (weighter._features(rows) for rows in (X, T))
    ridge = np.full(2, 0.0 if classifier is not None and classifier.C > 1e6 else 1.0)
    if classifier is not None and classifier.C == 0.1:
        ridge *= 10
    if classifier is None or classifier.fit_intercept:
        f, f_target = (np.column_stack([np.ones(len(rows)), rows]) for rows in (f, f_target))
        ridge = np.append(0.0, ridge)
    per_share = d.sum() ** 2 / (d @ d)

    def mean(d_, share_):
        v, v_target = per_share * d_ / d.sum(), per_share * share_
        grown = ridge * (v.sum() + v_target.sum()) / (2 * per_share)
        return odds_mean(f, f_target, d_, v, v_target, grown, max_ratio, L)

    np.testing.assert_allclose(value, mean(d, share), rtol=1e-4)
    tolerance = 1e-8 if classifier is not None and classifier.fit_intercept else 1e-5
    for psi, derivative, weight in (
        (train, lambda d_: mean(d_, share), d),
        (target, lambda v: mean(d, v), share),
    ):
        assert_derivative(psi, derivative, weight, atol=tolerance)
