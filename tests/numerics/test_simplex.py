"""The quadratic programmes of the weights: feasible, optimal, against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, linprog, minimize

from covshift.numerics.qp import Polytope, solve_simplex


def problem(seed, N, rank=None, scale=1.0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(N if rank is None else rank, N))
    return A.T @ A, scale * rng.normal(size=N)


def value(H, b, w):
    return w @ H @ w / 2 - b @ w


def brute_force(H, b, lower, upper, least, most):
    """Try every entry at its lower bound, at its upper bound and free, and both ends of the sum."""
    N = len(b)
    minimum = np.inf
    for state in product((-1, 0, 1), repeat=N):
        state = np.array(state)
        fixed = np.where(state < 0, lower, upper)
        if not np.isfinite(fixed[state != 0]).all():
            continue
        free = np.flatnonzero(state == 0)
        w = np.where(state == 0, 0.0, fixed)
        for held in {None, least, most} if least < most else {least}:
            right = b[free] - H[free] @ w
            if held is None:
                x = np.linalg.lstsq(H[np.ix_(free, free)], right, rcond=None)[0]
            else:
                system = np.ones((len(free) + 1, len(free) + 1))
                system[:-1, :-1] = H[np.ix_(free, free)]
                system[-1, -1] = 0
                right = np.append(right, held - w.sum())
                x = np.linalg.lstsq(system, right, rcond=None)[0][:-1]
            candidate = w.copy()
            candidate[free] = x
            inside = (candidate >= lower - 1e-9).all() and (candidate <= upper + 1e-9).all()
            if inside and least - 1e-9 <= candidate.sum() <= most + 1e-9:
                minimum = min(minimum, value(H, b, candidate))
    return minimum


def is_feasible(w, lower, upper, least, most):
    size = max(abs(least), 1.0)
    inside = (w >= lower - 1e-8).all() and (w <= upper + 1e-8).all()
    return inside and least - 1e-8 * size <= w.sum() <= most + 1e-8 * size


CASES = {
    "simplex": (0.0, np.inf, 5.0, 5.0),
    "loose sum": (0.0, 1000.0, 0.1, 9.9),
    "cap": (0.0, 1.2, 5.0, 5.0),
    "cap and sum": (0.0, 1.5, 4.5, 5.5),
    "sum at its least": (0.0, np.inf, 40.0, 50.0),
    "sum at its most": (0.0, np.inf, 0.0, 0.01),
    "signed box": (-1.0, 0.7, -0.5, 0.5),
    "everything at the cap": (0.0, 1.0, 5.0, 5.0),
    "everything at the floor": (0.5, 3.0, 2.5, 2.5),
    "box alone": (0.0, 2.0, 0.0, np.inf),
}


@pytest.mark.part(4)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_minimum_is_that_of_brute_force(name, rank):
    lower, upper, least, most = CASES[name]
    for seed, scale in enumerate((1.0, 30.0)):
        H, b = problem(seed, 5, rank, scale)
        expected = brute_force(H, b, np.full(5, lower), np.full(5, upper), least, most)
        found = solve_simplex(H, b, lower=lower, upper=upper, total=(least, most))
        assert is_feasible(found.w, lower, upper, least, most)
        np.testing.assert_allclose(value(H, b, found.w), expected, rtol=1e-8, atol=1e-8)
        assert found.objective == pytest.approx(value(H, b, found.w), rel=1e-9, abs=1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # scipy's own
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_minimum_is_that_of_scipy(method):
    N = 25
    H, b = problem(3, N, rank=12, scale=3.0)
    bounds = [(0.0, 2.0)] * N
    found = solve_simplex(H, b, upper=2.0, total=(0.9 * N, 1.1 * N))
    options = {"ftol": 1e-13, "maxiter": 1000} if method == "SLSQP" else {"gtol": 1e-9}
    exact = minimize(
        lambda w: value(H, b, w),
        np.ones(N),
        jac=lambda w: H @ w - b,
        hess=lambda w: H,
        bounds=bounds,
        constraints=LinearConstraint(np.ones((1, N)), 0.9 * N, 1.1 * N),
        method=method,
        options=options,
    )
    assert value(H, b, found.w) <= exact.fun + 1e-6
    assert value(H, b, found.w) >= exact.fun - 1e-4  # scipy's own error is of this size


@pytest.mark.parametrize("seed", range(3))
def test_gap_certifies_a_large_problem(seed):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(250, 2)), rng.normal(0.5, 1.0, size=(200, 2))
    X = np.vstack([X, X[:50]])  # duplicate rows make K singular
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    kappa = 300 / 200 * np.exp(-((X[:, None] - T) ** 2).sum(axis=2)).sum(axis=1)
    for upper, total in ((1000.0, (17.0, 583.0)), (1.5, (290.0, 310.0)), (np.inf, 300.0)):
        found = solve_simplex(K, kappa, upper=upper, total=total)
        least, most = np.broadcast_to(total, (2,))
        assert is_feasible(found.w, 0.0, upper, least, most)
        assert found.gap <= 1e-8 * abs(found.objective)


def test_kkt_conditions_hold():
    H, b = problem(0, 40, scale=5.0)
    found = solve_simplex(H, b, upper=3.0, total=40.0)
    g = H @ found.w - b - found.level
    assert np.abs(g[found.free]).max() < 1e-8
    assert (g[found.w == 0] > -1e-8).all()
    assert (g[found.w == 3] < 1e-8).all()
    assert (found.w == 0).any()


def test_where_exchanges_circle_the_minimum_is_still_found():
    """Kernels so wide that rounding decides which entries are free: PIQP takes over."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(200, 4)), rng.normal(0.4, 1.0, size=(200, 4))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 400)
    kappa = np.exp(-((X[:, None] - T) ** 2).sum(axis=2) / 400).sum(axis=1)
    found = solve_simplex(K, kappa, upper=5.0, total=(180.0, 220.0))
    assert is_feasible(found.w, 0.0, 5.0, 180.0, 220.0)
    assert found.gap <= 1e-8 * abs(found.objective)


def test_a_start_does_not_change_the_result():
    H, b = problem(2, 30)
    found = solve_simplex(H, b, total=30.0)
    again = solve_simplex(H, b, total=30.0, start=found.w > 0)
    np.testing.assert_allclose(again.w, found.w, atol=1e-8)
    assert again.n_iter <= found.n_iter


def test_entries_may_be_fixed():
    H, b = problem(4, 6)
    lower, upper = np.zeros(6), np.full(6, 2.0)
    lower[2] = upper[2] = 1.3
    found = solve_simplex(H, b, lower=lower, upper=upper, total=6.0)
    assert found.w[2] == 1.3
    expected = brute_force(H, b, lower, upper, 6.0, 6.0)
    assert found.objective == pytest.approx(expected, rel=1e-8)


def test_a_zero_matrix_is_a_linear_programme():
    b = np.array([1.0, 3.0, 2.0])
    found = solve_simplex(np.zeros((3, 3)), b, upper=1.5, total=2.0)
    np.testing.assert_allclose(found.w, [0.0, 1.5, 0.5], atol=1e-6)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"total": 5.0, "upper": 1.0}, "sum from 5 to 5"),
        ({"total": (3.0, 2.0)}, "sum from 3 to 2"),
        ({"total": 1.0, "lower": 2.0, "upper": 1.0}, "exceeds upper"),
        ({"total": 1.0, "lower": -np.inf}, "lower must be finite"),
        ({"total": (0.0, np.inf)}, "both are infinite"),
    ],
)
def test_impossible_problems_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        solve_simplex(np.eye(3), np.ones(3), **options)


# The set


@pytest.mark.parametrize("name", CASES)
def test_projection_is_the_nearest_point(name):
    lower, upper, least, most = CASES[name]
    C = Polytope.of(5, lower, upper, (least, most))
    rng = np.random.default_rng(0)
    for _ in range(5):
        u = 3 * rng.normal(size=5)
        w = C.project(u)
        assert is_feasible(w, lower, upper, least, most)
        # No feasible direction leads closer: w minimises (w - u)'y over the set.
        assert C.lowest(w - u) >= (w - u) @ w - 1e-8


@pytest.mark.parametrize("name", CASES)
def test_linear_minimum_is_that_of_linear_programming(name):
    lower, upper, least, most = CASES[name]
    C = Polytope.of(5, lower, upper, (least, most))
    rng = np.random.default_rng(1)
    for _ in range(5):
        g = rng.normal(size=5)
        ones = np.ones((1, 5))
        A, limit = np.vstack([ones, -ones]), np.array([most, -least])
        finite = np.isfinite(limit)
        expected = linprog(g, A[finite], limit[finite], bounds=[(lower, upper)] * 5)
        assert C.lowest(g) == pytest.approx(expected.fun, abs=1e-9)
