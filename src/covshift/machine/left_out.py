"""What every row does to the fitted function: f without row i in closed form (theory, section 3.8).

f minimises  r'Vr + reg ||f||^2  with r = f(X) - Y; without row i it minimises the same, row and
column i of V left out. Let e_i = f_{-i}(x_i) - y_i. If y_i moves to y_i + e_i, row i has no
residual at f_{-i}, and nothing but the pull (Vr)_i of the other rows on f(x_i) tells the two
problems apart: a force t_i takes it away. With P the covariance G of eq. 3.6 at the training rows
and the smoother H = PV, both move f along a line,

    f_{-i}(x) = f(x) + e_i [P(x, X) V]_i + t_i P(x, x_i) ,

       (1 - H_ii) e_i  -         P_ii t_i  =  r_i ,
    (V - VPV)_ii e_i  +  (1 - H_ii) t_i  =  (Vr)_i .

With diagonal V there is no pull, t = 0, and e_i = r_i / (1 - H_ii).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from .._types import Real, Rows
from ..operators import Diagonal, VOperator
from .dual import Dual, small_factor

_ALONE = 1e-6  # share of 1'V1 below which the other rows hardly have an intercept


@dataclass(frozen=True)
class LeftOut:
    """f and all f_{-i} as coefficients of D basis functions, and of one for the intercept."""

    coef: Real  # (D + 1, k), of f
    errors: Real  # (N, k): f_{-i}(x_i) - y_i
    moves: tuple[tuple[Real, Real], ...]  # (D + 1, N) and (N, k): f_{-i} - f is their sum
    alone: Rows  # rows without which the others have no intercept, and which were fitted again,
    others: Real  # (D + 1, alone, k): the coefficients then

    def f(self, basis: Real) -> Real:
        """Return f from basis functions (rows, D): (rows, k)."""
        return np.asarray(basis @ self.coef[:-1] + self.coef[-1])

    def values(self, basis: Real) -> Real:
        """Return all f_{-i} from basis functions (rows, D): (rows, N, k); O(D) per entry."""
        found = np.repeat(self.f(basis)[:, None, :], len(self.errors), axis=1)
        for move, size in self.moves:
            found += (basis @ move[:-1] + move[-1])[:, :, None] * size
        if len(self.alone):
            found[:, self.alone] = np.tensordot(basis, self.others[:-1], 1) + self.others[-1]
        return found


def exact_left_out(V: VOperator, K: Real, Y: Real, reg: float) -> LeftOut:
    """Leave out every row of the exact machine; the basis are the kernels of the N rows.

    With W = R'MR, M = S^-1 - S^-1 r r'S^-1 / rho, rho = r'S^-1 r and s = R'S^-1 r / rho:
    A = WY, c = s'Y, H = KW + 1s', V - VPV = reg W. O(N^3) time, O(N^2) memory.
    """
    N = len(Y)
    dual = Dual(small_factor(V), K)
    inverse, condition = dual.system(reg)
    solution = dual.solution(inverse, condition, Y)
    coef = np.vstack([solution.A, solution.c])

    def without(i: int) -> Real:
        rest = np.delete(np.arange(N), i)
        part, found = V.subset(rest), np.zeros_like(coef)
        if not part.diagonal().any():  # nothing is seen: what Dual makes of it, at no cost
            found[-1] = Y[rest].mean(axis=0)
            return found
        again = Dual(small_factor(part), K[np.ix_(rest, rest)]).solve(Y[rest], reg)
        found[rest], found[-1] = again.A, again.c
        return found

    r = dual.R.forward(np.ones((N, 1)))
    S_r = inverse(r)
    rho = float((r.T @ S_r)[0, 0])
    if rho <= 0:
        return _refitted(coef, np.column_stack([K, np.ones(N)]), Y, np.arange(N), without)
    s = dual.R.backward(S_r)[:, 0] / rho
    W = dual.R.backward(inverse(dual.R.dense()))
    W = (W + W.T) / 2 - rho * np.outer(s, s)
    residual = K @ solution.A + solution.c - Y
    by_outcome = np.vstack([W, s])
    w = np.diag(W)[:, None]
    if isinstance(V, Diagonal):
        seen = V.diagonal()[:, None] > 0
        errors = np.where(seen, -solution.A / np.where(seen & (w > 0), w, 1.0), residual)
        moves = _joined([(by_outcome, errors)])
    else:
        U = np.eye(N) - W @ K - s[:, None]  # I - H'
        rise = 1 / rho - K @ s
        P = np.maximum(np.einsum("ij,ji->i", K, U) + rise, 0)[:, None] / reg
        errors, forces = _two_unknowns(np.diag(U)[:, None], P, reg * w, residual, -reg * solution.A)
        moves = _joined([(by_outcome, errors), (np.vstack([U, rise]) / reg, forces)])
    found = LeftOut(coef, errors, moves, *_none(coef))
    return _mended(found, V, np.column_stack([K, np.ones(N)]), Y, without)


def landmark_left_out(V: VOperator, Psi: Real, W: Real, Y: Real, reg: float) -> LeftOut:
    """Leave out every row of the fit on landmarks, with features Psi = K(X, Z) W (N, r).

    The basis are the kernels of the D landmarks. With B = [Psi, 1] and G = B'VB + reg diag(1, 0):
    P = B G^-1 B'. One factorisation of G; O(N D^2) time, O(N D) memory, and what V B costs.
    """
    N, r = Psi.shape
    B = np.column_stack([Psi, np.ones(N)])

    def solved(V: VOperator, B: Real) -> tuple[Real, Callable[[Real], Real]] | None:
        VB = np.asarray(V.matmat(B))
        G = B.T @ VB
        if G[r, r] <= 0:
            return None
        G[np.diag_indices(r)] += reg
        return VB, _inverse((G + G.T) / 2)

    def on_landmarks(coef: Real) -> Real:
        return np.vstack([W @ coef[:-1], coef[-1:]])

    def without(i: int) -> Real:
        rest = np.delete(np.arange(N), i)
        system = solved(V.subset(rest), B[rest])
        if system is None:
            return np.zeros((r + 1, Y.shape[1]))
        return system[1](system[0].T @ Y[rest])

    system = solved(V, B)
    if system is None:
        coef = np.zeros((r + 1, Y.shape[1]))
        found = _refitted(coef, B, Y, np.arange(N), without)
    else:
        VB, inverse = system
        by_outcome = inverse(VB.T)
        coef = by_outcome @ Y
        residual = B @ coef - Y
        left = 1 - np.einsum("ij,ji->i", B, by_outcome)[:, None]  # 1 - H_ii
        if isinstance(V, Diagonal):
            errors = residual / np.where(left > 0, left, 1.0)
            moves = _joined([(by_outcome, errors)])
        else:
            by_force = inverse(B.T)
            P = np.einsum("ij,ji->i", B, by_force)[:, None]
            d = np.asarray(V.diagonal()) - np.einsum("ij,ji->i", VB, by_outcome)
            pull = np.asarray(V.matmat(residual))
            errors, forces = _two_unknowns(left, P, np.maximum(d, 0)[:, None], residual, pull)
            moves = _joined([(by_outcome, errors), (by_force, forces)])
        found = _mended(LeftOut(coef, errors, moves, *_none(coef)), V, B, Y, without)
    return LeftOut(
        on_landmarks(found.coef),
        found.errors,
        tuple((on_landmarks(move), size) for move, size in found.moves),
        found.alone,
        np.concatenate([np.tensordot(W, found.others[:-1], 1), found.others[-1:]]),
    )


def _inverse(G: Real) -> Callable[[Real], Real]:
    """Return a function that applies G^-1: by Cholesky; by eigenvalues where rounding spoils it."""
    try:
        factor = cho_factor(G, lower=True, check_finite=False)
        return lambda b: np.asarray(cho_solve(factor, b, check_finite=False))
    except LinAlgError:
        values, Q = eigh(G, check_finite=False)
        values = np.maximum(values, np.finfo(float).eps * values[-1])
        return lambda b: np.asarray(Q @ ((Q.T @ b) / values[:, None]))


def _two_unknowns(a: Real, b: Real, d: Real, residual: Real, pull: Real) -> tuple[Real, Real]:
    """Solve  a e - b t = residual ,  d e + a t = pull  for every row and output: (N, k) each."""
    determinant = a**2 + b * d
    determinant = np.where(determinant > 0, determinant, 1.0)  # zero for rows fitted again
    return (a * residual + b * pull) / determinant, (a * pull - d * residual) / determinant


def _joined(moves: list[tuple[Real, Real]]) -> tuple[tuple[Real, Real], ...]:
    """Add up the moves of a single output, so that new rows need one product."""
    if moves[0][1].shape[1] > 1:
        return tuple(moves)
    for move, size in moves:
        move *= size[:, 0]
    total = moves[0][0]
    for move, _ in moves[1:]:
        total += move
    return ((total, np.ones((total.shape[1], 1))),)


def _none(coef: Real) -> tuple[Rows, Real]:
    return np.empty(0, dtype=np.intp), np.empty((len(coef), 0, coef.shape[1]))


def _mended(
    found: LeftOut, V: VOperator, B: Real, Y: Real, without: Callable[[int], Real]
) -> LeftOut:
    """Fit again without the row, if there is one, that alone holds the intercept."""
    V1 = np.asarray(V.matmat(np.ones((len(Y), 1))))[:, 0]
    rest = V1.sum() - 2 * V1 + np.asarray(V.diagonal())  # 1'V1 without row i
    alone = np.flatnonzero(rest <= _ALONE * V1.sum())
    if not len(alone):
        return found
    again = _refitted(found.coef, B, Y, alone, without)
    errors = found.errors.copy()
    errors[alone] = again.errors[alone]
    return LeftOut(found.coef, errors, found.moves, alone, again.others)


def _refitted(coef: Real, B: Real, Y: Real, rows: Rows, without: Callable[[int], Real]) -> LeftOut:
    """Fit again without each of some rows; B (N, D + 1) are the basis functions at all rows."""
    others = np.stack([without(i) for i in rows], axis=1)
    errors = np.zeros_like(Y)
    errors[rows] = np.einsum("id,dik->ik", B[rows], others) - Y[rows]
    return LeftOut(coef, errors, (), rows, others)
