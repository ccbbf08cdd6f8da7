"""What the estimators with a second sample share in their tests."""

from __future__ import annotations

from typing import ClassVar
from unittest import SkipTest

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from covshift.corrections import Additive

COUNTED = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
"""Checks that take ``sample_weight`` for a number of repeats (`covshift.repeat_rows`)."""

either_routing = pytest.mark.parametrize("routing", [False, True], ids=["unrouted", "routed"])


def run_check(estimator, check):
    """Run one of scikit-learn's own checks; it may skip for one reason only."""
    if getattr(check, "func", check).__name__ in COUNTED:
        pytest.skip("sample_weight has no scale here; test_weight_meaning.py says how")
    try:
        check(estimator)
    except SkipTest as skipped:
        # Array-API input is checked only where SCIPY_ARRAY_API is set; nothing else may skip.
        if "SCIPY_ARRAY_API" not in str(skipped):
            pytest.fail(f"A check was skipped: {skipped}")
        pytest.skip(str(skipped))


def run_all_checks(estimator):
    """Run all of scikit-learn's own checks in one test, for a variant that is thorough."""
    for one, check in estimator_checks_generator(estimator):
        try:
            run_check(one, check)
        except pytest.skip.Exception:
            continue


def unscaled_samples(N):
    """Training rows, labels and target rows, in units that need a scaler."""
    rng = np.random.default_rng(0)
    unit, origin = np.array([10.0, 1e4, 2.0]), np.array([50.0, 3e4, 4.0])
    X, T = rng.normal(size=(N, 3)), rng.normal(0.5, 1.0, size=(N, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=N) > 0).astype(int)
    return X * unit + origin, y, T * unit + origin


class Spy(Additive):
    """Additive, and keeps every target that reaches it."""

    received: ClassVar[list[np.ndarray]] = []  # of the class, since searches clone

    def operator(self, X, X_target=None, **weights):
        (T,) = X_target
        self.received.append(T)
        return super().operator(X, X_target, **weights)

    @classmethod
    def lengths(cls):
        return [len(T) for T in cls.received]


def values(model, X):
    """The fitted function, not only the class it picks."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
