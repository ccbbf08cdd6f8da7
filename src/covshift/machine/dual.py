"""The kernel machine, exact: the smaller of the two sides of V = R'R (theory, section 3).

Minimise  (KA + c - Y)' V (KA + c - Y) + reg A'KA  over A (N, k) and the free intercept c (k,).

With S = R K R' + reg I and r = R 1 (theory, eq. 3.2)

    c = r'S^-1 R Y / r'S^-1 r ,    beta = S^-1 (R Y - r c) ,    A = R' beta .

S is symmetric positive definite where the paper's V K + reg I is not even symmetric, and stays
solvable where V or K is singular. Its size is the number of rows of R when that is at most N;
otherwise V is made dense and R is its Cholesky factor. O(N^2 min(m, N)) time, O(N^2) memory.
For one penalty and many rows `solve_dual` needs less (`covshift.machine.gradients`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, lapack

from .._lapack import cholesky, congruence, tridiagonal
from .._types import Real
from ..operators import DiagonalFactor, Factor, VOperator
from .gradients import is_worth_trying, largest_condition, solve_by_gradients

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


def solve_dual(V: VOperator, K: Real, Y: Real, *, reg: float) -> DualSolution:
    """Solve for one penalty ``reg`` and all k columns of ``Y`` (N, k).

    By conjugate gradients on many rows, and by decompositions otherwise and where those fail.
    """
    if is_worth_trying(V, len(Y)):
        found = solve_by_gradients(V, K, Y, reg)
        if found is not None:
            R = V.factor()
            rank = len(Y) if R is None else min(R.shape[0], len(Y))
            return DualSolution(*found, rank, largest_condition(V, K, reg))
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
        """Solve for every penalty: (A, c) each, from one reduction to tridiagonal form.

        S = Q (T + reg I) Q' costs O(m^3) once; every further penalty costs O(m^2).
        """
        m = len(self._RKR)
        RY, r = self.R.forward(Y), self.R.forward(np.ones((len(Y), 1)))
        if m < 3:
            return [(s.A, s.c) for s in (self.solve(Y, reg) for reg in regs)]
        reflectors, d, e, tau = tridiagonal(self._RKR)
        rotated = _apply_Q(reflectors, tau, np.column_stack([RY, r]), transpose=True)
        betas, intercepts = [], []
        for reg in regs:
            _, _, _, z, _ = lapack.dgtsv(e, d + reg, e, rotated)
            c = _intercept(rotated[:, -1] @ z[:, :-1], float(rotated[:, -1] @ z[:, -1]), Y)
            betas.append(z[:, :-1] - z[:, -1:] * c)
            intercepts.append(c)
        k = Y.shape[1]
        A = self.R.backward(_apply_Q(reflectors, tau, np.column_stack(betas), transpose=False))
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


def _apply_Q(reflectors: Real, tau: Real, b: Real, *, transpose: bool) -> Real:
    """Multiply by the orthogonal matrix that dsytrd left in its reflectors, or its transpose."""
    b = np.asfortranarray(b)
    trans = "T" if transpose else "N"
    below = np.asfortranarray(reflectors[1:, :-1])
    rest = np.asfortranarray(b[1:])
    _, work, _ = lapack.dormqr("L", trans, below, tau, rest, -1)
    rest, _, info = lapack.dormqr("L", trans, below, tau, rest, int(work[0]))
    if info != 0:
        raise LinAlgError(f"dormqr failed with info = {info}.")
    return np.vstack([b[:1], rest])
