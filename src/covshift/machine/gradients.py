"""The exact machine at one penalty without a decomposition of V: conjugate gradients.

The intercept goes first. The least of (f + c - Y)'V (f + c - Y) over c is the same form with
V_c = V - V11'V / 1'V1, and with f = KA eq. 3.1 becomes

    (V_c K + reg I) A = V_c Y ,     c = 1'V (Y - KA) / 1'V1 ,

self-adjoint in the inner product a'Kb. A step of conjugate gradients costs one product each with V
and with K. Few are needed, as the same system with V_0 = diag(d) + ZZ' for V_c, which has one
Cholesky factorisation (in single precision where that is enough) and Woodbury's identity, is solved
in every step: Z Z' is the Nyström approximation of V_c from products with some random vectors, d
what it leaves of the diagonal (theory, section 3.9). f is that of `Dual` to 1e-8 at least; A may
differ in directions in which K is zero, where f is, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from .._types import Real
from ..operators import Diagonal, VOperator

_FEWEST_ROWS = 800  # below, decompositions are as fast
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


def solve_by_gradients(V: VOperator, K: Real, Y: Real, reg: float) -> tuple[Real, Real] | None:
    """Return A (N, k) and c (k,), or None where conjugate gradients converge too slowly.

    One Cholesky factorisation of N rows, O(N^2) for each of some twenty steps; O(N^2) memory.
    """
    if not largest_condition(V, K, reg) <= _WORST:  # of kernels with a negative diagonal: nan
        return None
    product = _product(V)
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


def _product(V: VOperator) -> Product:
    """Multiply by V: by its factor, or by its entries where it has none."""
    if V.factor() is not None:
        return lambda B: np.asarray(V.matmat(B), dtype=np.float64)
    entries = np.asarray(V.dense(), dtype=np.float64)
    return lambda B: np.asarray(entries @ B)


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
