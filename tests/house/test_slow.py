"""What takes long says so before it begins, and equal rows cost nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest

from covshift import VSVC, Kernel
from covshift.corrections import Pairwise
from covshift.exceptions import InputError, SlowWarning
from covshift.machine import calibration
from covshift.numerics import progress as _slow
from covshift.numerics.progress import warn_if_slow
from covshift.weights import KMM, EnergyWeights
from covshift.weights.tilt import free_tilt

rng = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("seconds", "said"), [(31, "31 s"), (200, "3 min"), (7200, "2 h"), (1e6, "278 h")]
)
def test_the_time_is_said_in_a_unit_to_read(seconds, said):
    with pytest.warns(SlowWarning, match=re.escape(f"This will take about {said}. Use that.")):
        warn_if_slow("This", seconds, "Use that.", stacklevel=1)


def test_what_is_short_says_nothing():
    warn_if_slow("This", _slow.LONG, "Use that.", stacklevel=1)


@pytest.mark.parametrize("kind", [KMM, EnergyWeights])
def test_many_rows_are_told_before_the_work_begins(monkeypatch, kind):
    """Also to whoever stops there: the warning is an error here, and nothing was done yet."""
    monkeypatch.setattr("covshift.weights.kmm.solve_simplex", None)
    monkeypatch.setattr("covshift.weights.energy.solve_simplex", None)
    X = rng.normal(size=(7000, 1))
    with pytest.raises(SlowWarning, match=r"7000 different training rows .*CDFWeights"):
        kind().fit(X, X_target=X[:10])


def test_the_warning_points_at_the_call_of_fit(monkeypatch):
    monkeypatch.setattr(_slow, "LONG", 0.0)
    X = rng.normal(size=(20, 1))
    for kind in (KMM, EnergyWeights):
        with pytest.warns(SlowWarning) as found:
            kind().fit(X, X_target=X)
        assert {item.filename for item in found} == {__file__}
    with pytest.warns(SlowWarning, match="10 pairs of features .* additive") as found:
        Pairwise().operator(rng.normal(size=(4, 5)), rng.normal(size=(4, 5)))
    assert [item.filename for item in found] == [__file__]


def test_many_classes_are_told_before_the_work_begins(monkeypatch):
    monkeypatch.setattr("covshift.machine.base.KernelMachine._tune", None)
    X, labels = rng.normal(size=(2000, 1)), np.arange(2000) // 4
    fixed = {"kernel": Kernel("rbf", width=1.0, coordinates="none"), "reg": 1.0}
    with pytest.raises(SlowWarning, match=r"2000 rows and 500 classes .* solver=\"primal\""):
        VSVC(**fixed).fit(X, labels)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::covshift.exceptions.WeightWarning")
def test_a_million_equal_target_rows_are_a_few_points():
    X, values = rng.normal(size=(60, 1)), np.array([[-0.5], [0.0], [0.7]])
    counts = np.array([200_000, 500_000, 300_000])
    many = np.repeat(values, counts, axis=0)
    for kind in (KMM, EnergyWeights):
        few = kind().fit(X, X_target=values, target_weight=counts)
        found = kind().fit(X, X_target=many)
        np.testing.assert_allclose(found.weights_, few.weights_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(
            found.predict_weights(X), few.predict_weights(X), rtol=1e-6, atol=1e-8
        )


def test_equal_training_rows_share_one_variable():
    """The limit on rows is one on different rows; the weights are those of the rows one by one."""
    X, T = rng.integers(0, 4, size=(400, 2)).astype(float), rng.normal(1.5, 0.7, size=(50, 2))
    for kind in (KMM, EnergyWeights):
        found = kind(refuse_above=16).fit(X, X_target=T)
        assert found.weights_.mean() == pytest.approx(1.0)
        for point in np.unique(X, axis=0):
            assert np.ptp(found.weights_[(X == point).all(axis=1)]) == 0
        with pytest.raises(InputError, match="refuse_above=15"):
            kind(refuse_above=15).fit(X, X_target=T)
    apart = EnergyWeights().fit(X + 1e-9 * rng.normal(size=X.shape), X_target=T)
    np.testing.assert_allclose(found.weights_, apart.weights_, atol=1e-5)
    np.testing.assert_allclose(found.predict_weights(T), apart.predict_weights(T), atol=1e-5)


def test_the_second_derivatives_of_many_classes_are_those_of_one_pair_at_a_time():
    """Of the step to the optimum: there the gradient of the penalised log-loss vanishes."""
    U = rng.normal(size=(60, 2))
    classes = np.eye(5)[rng.integers(0, 5, size=60)]
    w = rng.uniform(0.5, 2.0, size=60)
    coef = calibration._newton(U, classes, w, 1.0, None)
    A = np.column_stack([np.ones(60), U])
    ridge = np.ones((3, 4))
    ridge[0] = 1e-6 * w.sum()
    share = calibration.probabilities(A @ coef)[:, 1:]
    gradient = A.T @ (w[:, None] * (share - classes[:, 1:])) + ridge * coef
    assert np.abs(gradient).max() < 1e-4


def test_more_moments_than_rows_are_balanced_in_their_span():
    """A wide sample is solved in as many numbers as it has rows: the slope is zero in all."""
    Z, share = rng.normal(0.2, 1.0, size=(30, 40)), np.full(30, 1 / 30)
    found = free_tilt(Z, share, reg=0.5, tol=1e-12, max_iter=100)
    np.testing.assert_allclose(found.gap, -0.5 * found.theta, atol=1e-10)
    w = np.exp(Z @ found.theta + found.level)
    np.testing.assert_allclose(found.w, w, rtol=1e-10)
    assert w.mean() == pytest.approx(1.0)
