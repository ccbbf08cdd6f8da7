"""Replicates: the jackknife sees the whole error of weights that a bootstrap sees half of."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from reference import delete_one_variance
from sklearn.linear_model import LinearRegression

from covshift import estimate
from covshift.numerics.influence import Design
from covshift.numerics.resampling import bootstrap_draws, jackknife_draws, plan, replicate
from covshift.weights import CDFWeights, Discriminative, EntropyBalancing

STRATUM = np.repeat(np.arange(5), [1, 2, 3, 4, 20])


def draw(seed, N, M):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 2)), np.random.default_rng(10**6).normal(0.4, 1, size=(M, 2))
    return X, T, X[:, 0] + X[:, 1] ** 2 / 2 + rng.normal(size=N)


def weighted_means(weighter, N, M, samples):
    """Means of many samples, whose spread is what an error must be."""
    found = []
    for seed in range(samples):
        X, T, y = draw(seed, N, M)
        w = weighter.fit(X, X_target=(T,)).weights_
        found.append(w @ y / w.sum())
    return np.array(found)


def errors(weighter, kind, N, M, *, count, samples, means):
    """Root mean square of the standard errors of the first samples."""
    found = []
    for seed in range(samples):
        X, T, y = draw(seed, N, M)

        def fit(d, _, X=X, T=T):
            return weighter.fit(X, X_target=(T,), sample_weight=d).weights_

        given = fit, np.ones(N), Design.simple(N), None
        drawn = replicate(*given, kind=kind, count=count, random_state=seed)
        thetas = y @ drawn.weights / drawn.weights.sum(axis=0)
        found.append(float(drawn.plan.variance(thetas, means[seed])))
    return np.sqrt(np.mean(found))


def slope(weighter, draws=3):
    """By how much the final weights follow the rows' multipliers: 1 where a bootstrap holds."""
    X, T, _ = draw(0, 60, 80)
    fitted = weighter.fit(X, X_target=(T,)).weights_
    found, drawn = [], bootstrap_draws(Design.simple(60), None, np.random.default_rng(0))
    for own, _ in islice(drawn, draws):
        final = own * weighter.fit(X, X_target=(T,), sample_weight=own).weights_
        there = fitted > 0
        ratio = final[there] / final.mean() / fitted[there]
        found.append(np.polyfit(own[there], ratio, 1, w=np.sqrt(fitted[there]))[0])
    return np.mean(found)


@pytest.mark.parametrize("weighter", [EntropyBalancing(), Discriminative(random_state=0)])
def test_weights_that_solve_an_equation_follow_the_draws_of_a_bootstrap(weighter):
    assert 0.8 < slope(weighter) < 1.2
    assert weighter._has_mean_influence()


def test_cdf_weights_take_back_what_a_draw_gives_and_have_no_bootstrap():
    weighter = CDFWeights(allow_no_overlap=True)
    assert slope(weighter) < 0.7
    assert not weighter._has_mean_influence()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("weighter", "kind"),
    [
        (CDFWeights(), "jackknife"),
        (EntropyBalancing(), "bootstrap"),
        (EntropyBalancing(), "jackknife"),
    ],
)
def test_errors_of_two_hundred_rows_are_the_spread_of_the_means(weighter, kind):
    asked = {"N": 200, "M": 200, "count": 30, "samples": 10}
    means = weighted_means(weighter, 200, 200, 150)
    found = errors(weighter, kind, means=means, **asked)
    assert found == pytest.approx(means.std(ddof=1), rel=0.2)


@pytest.mark.part(20)
@pytest.mark.parametrize(
    ("weighter", "expected"),
    [
        ("cdf", "jackknife"),
        (None, "jackknife"),
        ("entropy", "bootstrap"),
        (np.ones(40), "bootstrap"),
    ],
)
def test_estimate_draws_what_is_valid_for_the_weights(weighter, expected):
    X, T, y = draw(0, 40, 50)
    given = {"weighter": weighter, "outcome_model": LinearRegression(), "method": "weights"}
    found = estimate(X, y, T, replicates=50, **given)
    count = 40 if expected == "jackknife" else 50
    assert found.errors == expected
    assert found.replicate_weights.shape == (40, count)
    thetas = y @ found.replicate_weights / found.replicate_weights.sum(axis=0)
    variance = found.replicate_scales @ (thetas - found.value) ** 2
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=1e-6)
    told = [note.text for note in found.notes if note.kind == "draws"]
    assert len(told) == (expected == "jackknife")


def test_few_groups_have_few_degrees_of_freedom():
    X, T, y = draw(0, 40, 50)
    given = {"weighter": "cdf", "outcome_model": LinearRegression(), "method": "weights"}
    found = estimate(X, y, T, replicates=5, **given)
    low, high = found.interval
    assert (high - low) / 2 / found.standard_error == pytest.approx(2.776, abs=0.001)  # t, 4 d.f.


# Draws


@pytest.mark.parametrize("clusters", [False, True])
def test_the_delete_one_jackknife_of_strata_is_a_loop(clusters):
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(30), rng.integers(1, 4, 30)) if clusters else np.arange(30)
    y, d = rng.normal(size=len(unit)), rng.uniform(1, 2, len(unit))
    design = Design(unit if clusters else None, STRATUM, 1)
    made, draws = plan(design, None, "jackknife", 50, rng)
    own = np.array([own for own, _ in draws])
    assert (made.type, made.count, made.freedom) == ("JKn", 29, 25)
    thetas = (own * d) @ y / (own @ d)
    expected = delete_one_variance(y, d, STRATUM[unit], unit)
    assert made.variance(thetas, d @ y / d.sum()) == pytest.approx(expected)


def test_a_jackknife_leaves_out_whole_units_and_no_parts_of_them():
    """Weights without an equation would give a part back."""
    design = Design(None, STRATUM, 1)
    for groups in (2, 7, 12, 29):
        for own, _ in jackknife_draws(design, None, groups, np.random.default_rng(groups)):
            assert ((own == 0) | (own >= 1)).all()


def test_the_target_of_a_jackknife_of_strata_has_its_own_variance():
    design, target = Design(None, np.repeat(np.arange(10), 2)), Design.simple(45)
    z = np.random.default_rng(1).normal(size=45)
    expected = z.var(ddof=1) / 45
    found = []
    for seed in range(200):
        made, draws = plan(design, target, "jackknife", 20, np.random.default_rng(seed))
        means = np.array([others @ z / 45 for _, others in draws])
        found.append(float(made.variance(means, z.mean())))
    assert made.type == "JKn"
    assert np.mean(found) == pytest.approx(expected, rel=0.1)
