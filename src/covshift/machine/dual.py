"""The kernel machine, exact: the smaller of the two sides of V = R'R (theory, section 3).

Minimise  (KA + c - Y)' V (KA + c - Y) + reg A'KA  over A (N, k) and the free intercept c (k,).

With S = R K R' + reg I and r = R 1 (theory, eq. 3.2)

    c = r'S^-1 R Y / r'S^-1 r ,    beta = S^-1 (R Y - r c) ,    A = R' beta .

S is symmetric positive definite where the paper's V K + reg I is not even symmetric, and stays
solvable where V or K is singular. Its size is the number of rows of R when that is at most N;
otherwise V is made dense and R is its Cholesky factor. O(N^2 min(m, N)) time, O(N^2) memory.
For one penalty and many rows `solve_dual` needs less (`covshift.machine.dual`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import (
    LinAlgError,
    blas,
    cho_factor,
    cho_solve,
    cython_blas,
    cython_lapack,
    eigh,
    lapack,
)

from ..numerics.array import Real
from ..operators import Diagonal, DiagonalFactor, Factor, VOperator
from .expansion import Expansion

_ILL_CONDITIONED = 1e14


@dataclass(frozen=True)
class DualSolution:
    """f(x) = sum_i A_i K(x_i, x) + c, and how the system was."""

    A: Real  # (N, k)
    c: Real  # (k,)
    rank: int  # rows of the factor that was used, or that would be, were V not singular
    condition: float  # estimate for S

    @property
    def ill_conditioned(self) -> bool:
        """Whether rounding may dominate the coefficients (the predictions suffer far less)."""
        return self.condition > _ILL_CONDITIONED


class SmallFactor(Protocol):
    """A factor R of V with at most N rows."""

    rank: int

    def forward(self, Y: Real) -> Real:
        """R Y."""
        ...

    def backward(self, Z: Real) -> Real:
        """R' Z."""
        ...

    def congruence(self, K: Real) -> Real:
        """R K R', of which the lower triangle is used."""
        ...

    def dense(self) -> Real:
        """R itself: (rank, N)."""
        ...


def solve_dual(
    V: VOperator, K: Real, Y: Real, *, reg: float, entries: Real | None = None
) -> DualSolution:
    """Solve for one penalty ``reg`` and all k columns of ``Y`` (N, k).

    By conjugate gradients on many rows, and by decompositions otherwise and where those fail.
    ``entries`` (N, N) are those of V, where they are at hand.
    """
    if is_worth_trying(V, len(Y)):
        solution = solve_by_gradients(V, K, Y, reg, entries)
        if solution is not None:
            R = V.factor()
            rank = len(Y) if R is None else min(R.shape[0], len(Y))
            return DualSolution(*solution, rank, largest_condition(V, K, reg))
    return Dual(small_factor(V), K).solve(Y, reg)


class Dual:
    """V and K met once: S without its penalty, for one solution or for a whole path."""

    def __init__(self, R: SmallFactor, K: Real) -> None:
        self.R = R
        self._RKR = self.R.congruence(K)  # (m, m), lower triangle

    def solve(self, Y: Real, reg: float) -> DualSolution:
        """Solve at one penalty, by Cholesky; by eigenvalues where rounding spoils that."""
        return self.solution(*self.system(reg), Y)

    def system(self, reg: float) -> tuple[Any, float]:
        """Return a function that applies S^-1 at one penalty, and the condition of S."""
        S = np.array(self._RKR, order="F")
        S[np.diag_indices_from(S)] += reg
        condition = (float(np.trace(self._RKR)) + reg) / reg
        try:
            if condition > _ILL_CONDITIONED:
                raise LinAlgError
            factor = cho_factor(S, lower=True, overwrite_a=True, check_finite=False)
            return lambda b: cho_solve(factor, b, check_finite=False), condition
        except LinAlgError:
            values, Q = eigh(self._RKR, lower=True, check_finite=False)
            shifted = np.maximum(values, 0) + reg
            return lambda b: Q @ ((Q.T @ b) / shifted[:, None]), condition

    def solution(self, inverse: Any, condition: float, Y: Real) -> DualSolution:
        """Put the coefficients together from S^-1."""
        RY, r = self.R.forward(Y), self.R.forward(np.ones((len(Y), 1)))
        solved = inverse(np.column_stack([RY, r]))
        S_RY, S_r = solved[:, :-1], solved[:, -1:]
        c = _intercept((r.T @ S_RY)[0], float((r.T @ S_r)[0, 0]), Y)
        return DualSolution(self.R.backward(S_RY - S_r * c), c, self.R.rank, condition)

    def path(self, Y: Real, regs: Iterable[float]) -> list[tuple[Real, Real]]:
        """Solve for every penalty: (A, c) each, from one reduction to band form.

        S = Q (B + reg I) Q' costs O(m^3) once; every further penalty costs O(m^2).
        """
        RY, r = self.R.forward(Y), self.R.forward(np.ones((len(Y), 1)))
        form = BandForm.of(self._RKR)
        rotated = form.rotated(np.column_stack([RY, r]), back=False)
        betas, intercepts = [], []
        for reg in regs:
            z = form.solve(rotated, reg)
            c = _intercept(rotated[:, -1] @ z[:, :-1], float(rotated[:, -1] @ z[:, -1]), Y)
            betas.append(z[:, :-1] - z[:, -1:] * c)
            intercepts.append(c)
        k = Y.shape[1]
        A = self.R.backward(form.rotated(np.column_stack(betas), back=True))
        return [(A[:, j * k : (j + 1) * k], c) for j, c in enumerate(intercepts)]


def small_factor(V: VOperator) -> SmallFactor:
    """Return R with at most N rows: V's own factor where it is small, else by Cholesky."""
    R = V.factor()
    if R is not None and R.shape[0] <= R.shape[1]:
        return _ThinFactor(R)
    return _CholeskyFactor(np.asarray(V.dense(), dtype=np.float64))


class _ThinFactor:
    """V's own factor, of no more rows than columns."""

    def __init__(self, R: Factor) -> None:
        self._R = R
        self.rank = R.shape[0]

    def forward(self, Y: Real) -> Real:
        return np.asarray(self._R.matmat(Y))

    def backward(self, Z: Real) -> Real:
        return np.asarray(self._R.rmatmat(Z))

    def congruence(self, K: Real) -> Real:
        if isinstance(self._R, DiagonalFactor):
            root = self.forward(np.ones((self.rank, 1)))
            # K is symmetric: transposed, it is in LAPACK's order without a copy.
            return K.T if (root == 1).all() else K.T * root * root.T
        return np.asarray(self._R.matmat(np.ascontiguousarray(self._R.matmat(K).T)))

    def dense(self) -> Real:
        return np.asarray(self._R.matmat(np.eye(self._R.shape[1])))


class _CholeskyFactor:
    """R = L' with P V P' = L L'; pivoted, and cut at its rank, where V is singular."""

    def __init__(self, V: Real) -> None:
        N = len(V)
        # As K, V is symmetric.
        L = cholesky(V.T)
        self._order: NDArray[np.intp] | None = None
        if L is None or np.diag(L).min() ** 2 <= 1e-10 * np.diag(V).max():
            tolerance = N * np.finfo(float).eps * float(np.diag(V).max())
            L, pivots, rank, _ = lapack.dpstrf(V.T, lower=1, tol=tolerance)
            L, self._order = np.tril(L)[:, :rank], pivots - 1
        self._L = L
        self.rank = L.shape[1]

    def forward(self, Y: Real) -> Real:
        return np.asarray(self._L.T @ (Y if self._order is None else Y[self._order]))

    def backward(self, Z: Real) -> Real:
        product: Real = self._L @ Z
        if self._order is None:
            return product
        A = np.empty_like(product)
        A[self._order] = product
        return A

    def congruence(self, K: Real) -> Real:
        if self._order is not None:
            K = K[np.ix_(self._order, self._order)]
        if self.rank == len(K):  # L'KL with half the work of two full products
            return congruence(K.T, self._L)
        return np.asarray(self._L.T @ (K @ self._L))

    def dense(self) -> Real:
        if self._order is None:
            return np.asarray(self._L.T)
        R = np.empty((self.rank, len(self._L)))
        R[:, self._order] = self._L.T
        return R


def _intercept(numerator: Real, denominator: float, Y: Real) -> Real:
    """Return c, or the plain mean where V does not see any training point."""
    return numerator / denominator if denominator > 0 else Y.mean(axis=0)


# The exact machine at one penalty without a decomposition of V: conjugate gradients.
#
# The intercept goes first. The least of (f + c - Y)'V (f + c - Y) over c is the same form with V_c
# = V - V11'V / 1'V1, and with f = KA eq. 3.1 becomes
#
#     (V_c K + reg I) A = V_c Y ,     c = 1'V (Y - KA) / 1'V1 ,
#
# self-adjoint in the inner product a'Kb. A step of conjugate gradients costs one product each with
# V and with K. Few are needed, as the same system with V_0 = diag(d) + ZZ' for V_c, which has one
# Cholesky factorisation (in single precision where that is enough) and Woodbury's identity, is
# solved in every step: Z Z' is the Nyström approximation of V_c from products with some random
# vectors, d what it leaves of the diagonal (theory, section 3.9). f is that of `Dual` to 1e-8 at
# least; A may differ in directions in which K is zero, where f is, too.


_FEWEST_ROWS = 1200  # below, decompositions are as fast
_SKETCH = 100  # random vectors that V is multiplied with
_TOLERANCE = 1e-11  # of the error in the norm that the machine minimises, to that of f = 0
_PROVEN = 1e-8  # bound of the error of f, to f, both in the norm of the kernel
_STARTS = 3
_MOST_STEPS = 60
# After so many steps so little of the error is left, or it is given up.
_TRIAL, _PROMISING = 20, 1e-3
_WORST = 1e12  # condition beyond which decompositions are safer
_SINGLE = 1e6  # condition up to which single precision serves

Product = Callable[[Real], Real]


def is_worth_trying(V: VOperator, N: int) -> bool:
    """Whether V is neither diagonal nor of so small a rank that its own factor is faster."""
    if N < _FEWEST_ROWS or isinstance(V, Diagonal):
        return False
    R = V.factor()
    return R is None or 4 * R.shape[0] > N


def largest_condition(V: VOperator, K: Real, reg: float) -> float:
    """Bound the condition of S = R K R' + reg I: its trace is at most (sum_i sqrt(V_ii K_ii))^2."""
    with np.errstate(invalid="ignore", over="ignore"):
        return float(1 + np.sqrt(np.asarray(V.diagonal()) * np.diag(K)).sum() ** 2 / reg)


def solve_by_gradients(
    V: VOperator, K: Real, Y: Real, reg: float, entries: Real | None = None
) -> tuple[Real, Real] | None:
    """Return A (N, k) and c (k,), or None where conjugate gradients converge too slowly.

    One Cholesky factorisation of N rows, O(N^2) for each of some twenty steps; O(N^2) memory.
    """
    if not largest_condition(V, K, reg) <= _WORST:  # of kernels with a negative diagonal: nan
        return None
    product = _product(V, entries)
    V1 = product(np.ones((len(K), 1)))
    seen, diagonal = float(V1.sum()), np.asarray(V.diagonal())
    if not seen > 1e-8 * float(diagonal.sum()):
        return None

    def centred(B: Real) -> Real:
        return product(B) - V1 * ((V1.T @ B) / seen)

    d, Z = _diagonal_and_rest(centred, diagonal - V1[:, 0] ** 2 / seen)
    is_easy = float(d @ np.diag(K)) <= _SINGLE * reg
    steps = iter(range(_MOST_STEPS))
    for precision in (np.float32, np.float64) if is_easy else (np.float64,):
        nearby = _Nearby.of(d, Z, K, reg, precision)
        A = None if nearby is None else _solve(centred, K, Y, reg, nearby.solve, steps)
        if A is not None:
            return A, (V1.T @ (Y - K @ A))[0] / seen
        if next(steps, None) is None:
            break
    return None


def _product(V: VOperator, entries: Real | None = None) -> Product:
    """Multiply by V: by its factor, or by its entries where it has none or they are at hand."""
    if entries is None and V.factor() is not None:
        return lambda B: np.asarray(V.matmat(B), dtype=np.float64)
    known = np.asarray(V.dense() if entries is None else entries, dtype=np.float64)
    return lambda B: np.asarray(known @ B)


def _solve(
    product: Product, K: Real, Y: Real, reg: float, near: Product, steps: Iterator[int]
) -> Real | None:
    """Solve (V K + reg I) A = V Y; None without convergence.

    In the norm of K, in which V K + reg I is at least reg, what is left of the equations over reg
    bounds the error of f, whatever the approximation of V is worth. Where the bound is too large,
    conjugate gradients start again, after one plain step: what K does not see, they do not see.
    """
    aim = rest = product(Y)
    A = np.zeros_like(Y)
    for _ in range(_STARTS):
        found = _conjugate_gradients(product, K, rest, reg, near, steps)
        if found is None:
            return None
        A += found
        rest = aim - product(K @ A) - reg * A
        if (_norm(rest, K) <= _PROVEN * reg * _norm(A, K)).all():
            return A
        A += near(rest)
        rest = aim - product(K @ A) - reg * A
    return None


def _conjugate_gradients(
    product: Product, K: Real, aim: Real, reg: float, near: Product, steps: Iterator[int]
) -> Real | None:
    """Solve (V K + reg I) A = aim in the inner product of K; None where the steps run out."""
    A, rest, step = np.zeros_like(aim), aim, near(aim)
    K_step = K @ step
    square = first = _inner(rest, K_step)
    for count in steps:
        image = product(K_step) + reg * step
        curvature = _inner(K_step, image)
        if not ((square >= 0).all() and (curvature >= 0).all()):
            return A  # as far as rounding allows, or K is no kernel matrix
        length = _ratio(square, curvature)
        A += length * step
        rest = rest - length * image
        towards = near(rest)
        K_towards = K @ towards
        before, square = square, _inner(rest, K_towards)
        if (square <= _TOLERANCE**2 * first).all():
            return A
        if count == _TRIAL and (square > _PROMISING**2 * first).any():
            break
        share = _ratio(square, before)
        step = towards + share * step
        K_step = K_towards + share * K_step
    return None


def _norm(B: Real, K: Real) -> Real:
    return np.sqrt(np.maximum(_inner(B, K @ B), 0))


def _inner(a: Real, b: Real) -> Real:
    return np.asarray(np.einsum("ij,ij->j", a, b))


def _ratio(a: Real, b: Real) -> Real:
    """Return a / b, zero where b is: columns that are solved stay as they are."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


class _Nearby:
    """Solve (V_0 K + reg I) x = g for V_0 = D + ZZ', D = diag(d): B = D K + reg I and Woodbury.

    B = reg D^1/2 (I + D^1/2 K D^1/2 / reg) D^-1/2, and K B^-1 = D^-1 (I - reg B^-1).
    """

    def __init__(self, d: Real, Z: Real, L: Real, reg: float) -> None:
        self._root, self._L, self._reg = np.sqrt(d)[:, None], L, reg
        self._BZ = self._solve_diagonal(Z)
        self._ZKB = ((Z - reg * self._BZ) / d[:, None]).T
        self._C = np.linalg.inv(np.eye(Z.shape[1]) + self._ZKB @ Z)

    @classmethod
    def of(cls, d: Real, Z: Real, K: Real, reg: float, precision: Any) -> _Nearby | None:
        """Factorise I + D^1/2 K D^1/2 / reg; None where K is no kernel matrix."""
        root = np.sqrt(d / reg).astype(precision)
        # K is symmetric: transposed, it is in LAPACK's order without a copy.
        S = np.array(K.T, dtype=precision, order="F")
        S *= root[:, None]
        S *= root
        S[np.diag_indices_from(S)] += 1
        potrf = lapack.get_lapack_funcs("potrf", (S,))
        L, info = potrf(S, lower=1, overwrite_a=1)
        return cls(d, Z, L, reg) if info == 0 else None

    def solve(self, g: Real) -> Real:
        """(V_0 K + reg I)^-1 g."""
        return self._solve_diagonal(g) - self._BZ @ (self._C @ (self._ZKB @ g))

    def _solve_diagonal(self, g: Real) -> Real:
        scaled = np.asfortranarray(g / self._root, dtype=self._L.dtype)
        whole = _solve_triangular(self._L, _solve_triangular(self._L, scaled, 0), 1)
        return self._root * whole.astype(np.float64, copy=False) / self._reg


def _solve_triangular(L: Real, b: Real, transposed: int) -> Real:
    """L^-1 b or L'^-1 b; few columns one by one, which takes half of the time."""
    trsv, trsm = blas.get_blas_funcs(("trsv", "trsm"), (L, b))
    if b.shape[1] > 2:
        return np.asarray(trsm(1.0, L, b, lower=1, trans_a=transposed))
    solved = np.empty_like(b)
    for column in range(b.shape[1]):
        solved[:, column] = trsv(L, b[:, column], lower=1, trans=transposed)
    return solved


def _diagonal_and_rest(product: Product, diagonal: Real) -> tuple[Real, Real]:
    """Approximate V by diag(d) + ZZ', d (N,) and Z (N, q), from q products with random vectors."""
    Z = _nystrom(product, len(diagonal))
    d, mean = diagonal - np.einsum("ij,ij->i", Z, Z), float(diagonal.mean())
    # Not so small that rounding in B^-1 Z would show in K B^-1 Z.
    least = max(1e-3, 0.1 * float(d.mean()) / mean)
    return np.maximum(d, least * np.maximum(diagonal, 1e-3 * mean)), Z


def _nystrom(product: Product, N: int) -> Real:
    """Return Z (N, q) with ZZ' = (V G)(G'V G)^+ (V G)' for a random G: near V, and at most V."""
    G = np.random.default_rng(0).normal(size=(N, _SKETCH))
    VG = product(G)
    small = G.T @ VG
    values, vectors = np.linalg.eigh((small + small.T) / 2)
    kept = values > 1e-12 * max(float(values[-1]), 0.0)
    return np.asarray(VG @ (vectors[:, kept] / np.sqrt(values[kept])))


# The kernel machine with 0 <= f <= 1 at given points: a convex quadratic programme.
#
# The unconstrained machine is Gaussian in form: tilting its objective by 2 mu'f(Z) moves f(Z) from
# f0 to f0 - G mu, with G the covariance of f(Z) that belongs to it (theory, eq. 3.6). So the
# constrained f is f0 - G(., Z) mu with mu > 0 only where f = 1, mu < 0 only where f = 0: a linear
# complementarity problem in the few points that touch a bound.


_BOUND_TOLERANCE = 1e-8


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
        if excess[worst] <= _BOUND_TOLERANCE:
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


# Calls of LAPACK and BLAS during which other threads may work.
#
# SciPy's wrappers of these routines keep the interpreter's lock, so that two of them never run at a
# time, and copy what is a part of an array. The routines themselves are those that
# `scipy.linalg.cython_lapack` and `cython_blas` offer to compiled code.


def cholesky(S: Real) -> Real | None:
    """Return L with S = LL', of which the lower triangle is read; None where there is none."""
    L = np.array(S, dtype=np.float64, order="F")
    N = len(L)
    if _call("dpotrf", b"L", N, L, N) != 0:
        return None
    for column in range(1, N):
        L[:column, column] = 0
    return L


def congruence(K: Real, L: Real) -> Real:
    """L'KL with half of the work of two products; lower triangles of K and of the answer."""
    product = np.array(K, dtype=np.float64, order="F")
    N = len(product)
    _check("dsygst", _call("dsygst", 2, b"L", N, product, N, np.asfortranarray(L), N))
    return product


@dataclass(frozen=True)
class BandForm:
    """S = Q B Q' with a band matrix B: one reduction, and systems S + reg I at little cost.

    A band of some width is enough, and half of the work for a tridiagonal T would be products with
    single vectors, which wait for memory: this takes less than two thirds of the time of dsytrd.
    Q = (I - V_1 T_1 V_1')(I - V_2 T_2 V_2')... is a product of block reflectors.
    C. Bischof, B. Lang, X. Sun, "A framework for symmetric band reduction", ACM TOMS 26 (2000).
    4/3 N^3 operations.
    """

    bands: Real  # (width + 1, N): B's diagonal, and what is below it
    reflectors: tuple[tuple[Real, Real], ...]  # V (rows, width) of the last rows, and T

    @classmethod
    def of(cls, S: Real) -> BandForm:
        """Reduce S (N, N), of which the lower triangle is read."""
        A = np.array(S, dtype=np.float64, order="F")
        N, width = len(A), max(0, min(_BAND, len(A) - 1))
        reflectors = []
        for first in range(0, N - width - 1, max(1, width)):
            rows = slice(first + width, N)
            panel = slice(first, first + width)
            V, T, R = _reflector(A[rows, panel])
            A[rows, panel] = R
            # (I - VTV')' A (I - VTV') = A - VW' - WV' with W = AVT - V (VT)'AVT / 2.
            VT = np.asfortranarray(V @ T)
            left, count = A[rows, rows], V.shape
            W = np.zeros(count, order="F")
            _blas("dsymm", b"L", b"L", *count, 1.0, left, N, VT, len(VT), 0.0, W, len(W))
            W -= V @ (VT.T @ W) / 2
            _blas("dsyr2k", b"L", b"N", *count, -1.0, V, len(V), W, len(W), 1.0, left, N)
            reflectors.append((V, T))
        bands = np.zeros((width + 1, N), order="F")
        for k in range(width + 1):
            bands[k, : N - k] = np.diag(A, -k)
        return cls(bands, tuple(reflectors))

    def rotated(self, b: Real, *, back: bool) -> Real:
        """Return Q'b, or Q b to go ``back``: (N, k)."""
        b = np.array(b, dtype=np.float64)
        for V, T in reversed(self.reflectors) if back else self.reflectors:
            rows = b[-len(V) :]
            rows -= V @ ((T if back else T.T) @ (V.T @ rows))
        return b

    def solve(self, b: Real, reg: float) -> Real:
        """Solve (B + reg I) z = b (N, k)."""
        if not len(b):  # V is zero
            return np.array(b, dtype=np.float64)
        shifted = self.bands.copy(order="F")
        shifted[0] += reg
        _, z, info = lapack.dpbsv(shifted, b, lower=1)
        if info == 0:
            return np.asarray(z)
        width, N = len(shifted) - 1, shifted.shape[1]  # rounding made it indefinite
        both = np.zeros((3 * width + 1, N))
        for k in range(width + 1):
            both[2 * width + k, : N - k] = both[2 * width - k, k:] = self.bands[k, : N - k]
        both[2 * width] += reg
        _, _, z, info = lapack.dgbsv(width, width, both, b)
        _check("dgbsv", info)
        return np.asarray(z)


_BAND = 64


def _reflector(panel: Real) -> tuple[Real, Real, Real]:
    """(I - VTV')'panel = R, upper triangular: V (m, k), T (k, k) and R (m, columns)."""
    R, tau, _, info = lapack.dgeqrf(panel)
    _check("dgeqrf", info)
    k = len(tau)
    V = np.asfortranarray(np.tril(R[:, :k], -1))
    V[np.diag_indices(k)] = 1
    products, T = V.T @ V, np.zeros((k, k))
    for j in range(k):
        T[:j, j] = -tau[j] * (T[:j, :j] @ products[:j, j])
        T[j, j] = tau[j]
    return V, T, np.triu(R)


def _check(name: str, info: int) -> None:
    if info != 0:
        raise LinAlgError(f"{name} failed with info = {info}.")


def _call(name: str, *arguments: Any) -> int:
    """Call a routine of LAPACK, which changes the arrays, and return its info."""
    info = ctypes.c_int()
    _blas(name, *arguments, info)
    return info.value


def _blas(name: str, *arguments: Any) -> None:
    """Call a routine, which changes the arrays; parts of them start where they start."""
    values = [_value(argument) for argument in arguments]  # which have to outlive the call
    _routine(name)(*[_address(value) for value in values])


def _value(argument: Any) -> Any:
    kinds = {bytes: ctypes.c_char, int: ctypes.c_int, float: ctypes.c_double}
    kind = kinds.get(type(argument))
    return argument if kind is None else kind(argument)


def _address(value: Any) -> int:
    return int(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.addressof(value)


@cache
def _routine(name: str) -> Callable[..., None]:
    capsule = {**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__}[name]
    interface = ctypes.pythonapi
    interface.PyCapsule_GetName.restype = ctypes.c_char_p
    interface.PyCapsule_GetName.argtypes = [ctypes.py_object]
    interface.PyCapsule_GetPointer.restype = ctypes.c_void_p
    interface.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = interface.PyCapsule_GetName(capsule)
    pointer = interface.PyCapsule_GetPointer(capsule, signature)
    kinds = [ctypes.c_void_p] * signature.count(b"*")
    return ctypes.CFUNCTYPE(None, *kinds)(pointer)  # which frees the lock
