"""The simplex problems against solvers of other packages."""

from __future__ import annotations

import numpy as np
import pytest

from covshift.numerics.qp import Polytope, solve_simplex

from .conftest import require

CASES = {
    "simplex": (np.inf, 60.0),
    "loose": (1000.0, (8.0, 112.0)),
    "cap and sum": (1.5, (59.0, 61.0)),
}


def kernel_problem(seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(60, 2)), rng.normal(0.6, 1.0, size=(50, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    return K, 60 / 50 * np.exp(-((X[:, None] - T) ** 2).sum(axis=2)).sum(axis=1)


@pytest.mark.parametrize("name", CASES)
def test_minimum_is_that_of_daqp(name):
    daqp = require("daqp")
    upper, total = CASES[name]
    for seed in range(5):
        K, kappa = kernel_problem(seed)
        C = Polytope.of(60, 0.0, upper, total)
        above = np.minimum(np.append(C.upper, C.most), 1e30)
        sense = np.zeros(61, dtype=np.int32)
        sense[-1] = 5 if C.least == C.most else 0
        below = np.append(C.lower, C.least)
        exact = daqp.solve(K, -kappa, np.ones((1, 60)), above, below, sense, primal_tol=1e-11)
        found = solve_simplex(K, kappa, upper=upper, total=total)
        assert exact[2] == 1
        assert found.objective == pytest.approx(exact[1], rel=1e-7)
