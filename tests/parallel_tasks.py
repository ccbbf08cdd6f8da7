"""Answers that must not depend on threads and processes; as a script, those of child processes."""

from __future__ import annotations

import multiprocessing
import sys
import warnings

import numpy as np

from covshift import VSVC, Kernel, VBoostRegressor, estimate
from covshift.weights import CDFWeights, Discriminative, EnergyWeights

PATIENCE = 120  # seconds, after which a child counts as one that hangs


def answers():
    """Numbers of machines, trees, weights and an estimate, from samples of their own."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(120, 3)), rng.normal(0.3, 1.0, size=(90, 3))
    y = X[:, 0] + rng.normal(size=120)
    fixed = {"kernel": Kernel("rbf", width=1.0, coordinates="none"), "reg": 1.0, "random_state": 0}
    machine = VSVC("blended", **fixed).fit(X, y > 0, X_target=T)
    trees = VBoostRegressor(n_estimators=3, random_state=0).fit(X, y, X_target=T)
    weighters = CDFWeights(random_state=0), Discriminative(random_state=0), EnergyWeights()
    return [
        machine.predict_proba(T),
        trees.predict(T),
        *(weighter.fit(X, X_target=T).weights_ for weighter in weighters),
        [item.value for item in estimate(X, y, T)],
    ]


def check_equal(found, expected):
    """Rounding of sums in another order is all that may differ."""
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def main(methods):
    expected = answers()
    for method in methods:
        with multiprocessing.get_context(method).Pool(1) as pool:
            check_equal(pool.apply_async(answers).get(PATIENCE), expected)
        check_equal(answers(), expected)  # and the parent goes on


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons: of a fork beside threads
    main(sys.argv[1:])
