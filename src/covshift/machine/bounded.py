"""The kernel machine with 0 <= f <= 1 at given points: a convex quadratic programme.

The unconstrained machine is Gaussian in form: tilting its objective by 2 mu'f(Z) moves f(Z) from
f0 to f0 - G mu, with G the covariance of f(Z) that belongs to it (theory, eq. 3.6). So the
constrained f is f0 - G(., Z) mu with mu > 0 only where f = 1, mu < 0 only where f = 0: a linear
complementarity problem in the few points that touch a bound.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._types import Real
from .dual import Dual
from .expansion import Expansion

_TOLERANCE = 1e-8


def bounded_expansion(
    f0: Expansion, dual: Dual, X: Real, T: Real, K: Real, reg: float
) -> Expansion:
    """Return f with 0 <= f <= 1 at training rows X (N, n) and target rows T (M, n).

    ``f0`` is the unconstrained solution that ``dual`` gave at penalty ``reg``; ``K`` is K(X, X).
    Columns of several classes are bounded one by one. O((N + M)^2) memory, O((N + M)^3) time.
    """
    Z = np.vstack([X, T])
    K_ZX, K_ZZ = K, K
    if len(T):
        assert f0.kernel is not None
        K_ZX, K_ZZ = f0.kernel(Z, X), f0.kernel(Z, Z)
    inverse, _ = dual.system(reg)
    r = dual.R.forward(np.ones((len(X), 1)))  # (m, 1)
    RK = dual.R.forward(np.ascontiguousarray(K_ZX.T))  # (m, p)
    solved = inverse(np.column_stack([RK, r]))
    S_RK, S_r = solved[:, :-1], solved[:, -1:]
    u = 1 - RK.T @ S_r  # (p, 1)
    spread = float((r.T @ S_r)[0, 0])
    G = (K_ZZ - RK.T @ S_RK + u @ u.T / spread) / reg
    values = K_ZX @ f0.coef + f0.c
    mu = np.column_stack([tilt_into_box(f, G) for f in values.T])  # (p, k)
    lift = u.T @ mu / spread  # (1, k)
    on_X = dual.R.backward(S_RK @ mu + S_r @ lift) / reg
    coef = np.vstack([f0.coef + on_X, np.zeros((len(T), mu.shape[1]))]) - mu / reg
    return Expansion(f0.kernel, Z if len(T) else f0.Z, coef, f0.c - lift[0] / reg)


def tilt_into_box(f0: Real, G: Real, *, low: float = 0.0, high: float = 1.0) -> Real:
    """Find mu (p,) with low <= f0 - G mu <= high and the signs that belong to the minimum.

    Lawson and Hanson's active set, with signs: hold the point that violates its bound most at it;
    where that turns another multiplier round, go back to where it vanishes and release that point.
    Ends after finitely many steps; O(a^3) per step with a points held, which are few for smooth f.
    """
    p = len(f0)
    G = G + 1e-13 * float(np.trace(G)) / p * np.eye(p)  # equal points make G singular
    mu, sign = np.zeros(p), np.zeros(p)  # sign: +1 held at the upper bound, -1 at the lower
    for _ in range(20 * p):
        f = f0 - G @ mu
        excess = np.where(sign == 0, np.maximum(f - high, low - f), -np.inf)
        worst = int(np.argmax(excess))
        if excess[worst] <= _TOLERANCE:
            return mu
        sign[worst] = 1.0 if f[worst] > high else -1.0
        _settle(f0, G, mu, sign, low, high)
    raise RuntimeError("The bounds 0 <= f <= 1 could not be met. Use probability='clip'.")


def _settle(f0: Real, G: Real, mu: Real, sign: Real, low: float, high: float) -> None:
    """Move ``mu`` to the solution for the points held, releasing those that it turns round."""
    while True:
        held = np.flatnonzero(sign)
        gap = f0[held] - np.where(sign[held] > 0, high, low)
        factor = cho_factor(G[np.ix_(held, held)], lower=True, check_finite=False)
        goal = cho_solve(factor, gap, check_finite=False)
        turned = sign[held] * goal <= 0
        if not turned.any():
            mu[held] = goal
            return
        now = mu[held]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(turned, now / (now - goal), np.inf)
        share = np.where(np.isnan(share), 0.0, share)
        step = float(share.min())
        mu[held] = now + step * (goal - now)
        gone = held[turned & (share <= step)]
        mu[gone] = sign[gone] = 0.0
