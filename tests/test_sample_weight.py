"""Weights that the training rows have by the design of the sample: factors on them, no counts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import reference
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from covshift.testing import check_weighter
from covshift.weights import Discriminative, EnergyWeights, EntropyBalancing
from covshift.weights.base import Weighter

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
    few, target, d = X[:8], T[:5] + 0.5, np.array([0.2, 1.0, 3.0, 1.0, 0.7, 2.0, 0.1, 1.0])
    for reg in (0.01, 3.0):
        expected = reference.energy_weights(few, target, reg, d)
        found = factors(EnergyWeights(reg, standardize=False), few, d, target)
        np.testing.assert_allclose(found, expected, atol=1e-7)
        assert (found == 0).any() == (reg == 0.01)


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
}


@pytest.mark.parametrize("name", REPEATS)
def test_integer_weights_are_repeated_rows_at_a_fixed_penalty(name):
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

    def _fit(self, X, T, share):
        self._center = share @ T
        return self._ratio(X)

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

    def fit(self, X, y=None, *, X_target=None, target_weight=None, sample_weight=None):
        given = {"X_target": X_target, "target_weight": target_weight}
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


@pytest.mark.parametrize(
    ("d", "words"),
    [
        (np.ones(49), "shape"),
        (-np.ones(50), "negative"),
        (np.zeros(50), "zero for every row"),
        (np.full(50, np.nan), "NaN"),
    ],
)
def test_wrong_sample_weights_are_errors_that_name_them(d, words):
    with pytest.raises(ValueError, match=f"sample_weight.*{words}"):
        EntropyBalancing().fit(X, X_target=T, sample_weight=d)


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
    """The moments hold however unequal the rows are; of energy weights, the closed form."""
    d = 10.0 ** rng.uniform(-6, 0, size=50)
    energy = EnergyWeights(0.1).fit(X, X_target=T, sample_weight=d, target_weight=None)
    np.testing.assert_allclose(energy.predict_weights(X), energy.weights_, atol=1e-6)


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
