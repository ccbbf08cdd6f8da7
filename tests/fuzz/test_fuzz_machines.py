"""Machines on any samples: sound predictions, and no order or repeat changes them."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.cases import fuzz, unless_refused
from fuzz.samples import Samples, samples
from hypothesis import assume
from hypothesis import strategies as st

from covshift import VSVC, VSVR, VBoostClassifier, VBoostRegressor

CASES = samples(rows=(4, 12), features=(1, 3), units=(1.0, 1e-3, 1e3))
CORRECTION = st.sampled_from(["none", "blended", "additive", "multiplicative"])
KERNEL = st.sampled_from(["rbf", "laplacian", "linear"])
KIND = st.sampled_from(["vsvm", "vboost"])


def outcomes(drawn: Samples, classes: int) -> np.ndarray:
    """Labels of every class, at random; numbers where there are no classes."""
    if not classes:
        return drawn.rng.normal(size=len(drawn.X))
    return drawn.rng.permutation(np.arange(len(drawn.X)) % classes)


def machine(kind, correction, kernel, classes):
    if kind == "vboost":
        make = VBoostClassifier if classes else VBoostRegressor
        return make(correction, n_estimators=3, min_samples_leaf=1)
    make = VSVC if classes else VSVR
    return make(correction, kernel=kernel, reg=0.1)


def fitted(model, X, y, T, **options):
    return unless_refused(model.fit, X, y, X_target=T, **options)


@fuzz(CASES, KIND, CORRECTION, KERNEL, st.sampled_from([2, 3]), of_100_000=4_800)
def test_probabilities_are_probabilities_and_agree_with_the_label(
    drawn, kind, correction, kernel, classes
):
    y = outcomes(drawn, classes)
    model = fitted(machine(kind, correction, kernel, classes), drawn.X, y, drawn.T)
    assume(model is not None)
    for points in (drawn.X, drawn.T, drawn.X * 100, -1000 - drawn.T):
        p = model.predict_proba(points)
        assert np.isfinite(p).all()
        assert (p >= 0).all()
        assert (p <= 1).all()
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
        labels = model.predict(points)
        assert set(labels) <= set(model.classes_)
        chosen = p[np.arange(len(p)), np.searchsorted(model.classes_, labels)]
        np.testing.assert_allclose(chosen, p.max(axis=1), atol=1e-9)


@pytest.mark.thorough
@fuzz(CASES, KIND, CORRECTION, KERNEL, of_100_000=2_400)
def test_predictions_do_not_depend_on_the_order_of_rows(drawn, kind, correction, kernel):
    y, (rows, order) = outcomes(drawn, 0), drawn.orders
    model = fitted(machine(kind, correction, kernel, 0), drawn.X, y, drawn.T)
    assume(model is not None)
    assume(kind == "vsvm")  # of splits of equal gain, trees take the first
    again = machine(kind, correction, kernel, 0)
    again = fitted(again, drawn.X[rows], y[rows], drawn.T[order])
    assert again is not None, "refused in another order"
    np.testing.assert_allclose(again.predict(drawn.T), model.predict(drawn.T), atol=1e-5)


@fuzz(CASES, KIND, CORRECTION, KERNEL, of_100_000=1_600)
def test_a_constant_outcome_is_predicted(drawn, kind, correction, kernel):
    y = np.full(len(drawn.X), 3.5)
    model = fitted(machine(kind, correction, kernel, 0), drawn.X, y, drawn.T)
    assume(model is not None)
    np.testing.assert_allclose(model.predict(drawn.X), y, atol=1e-6)
