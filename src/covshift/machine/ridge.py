"""Ridge on features: the one system behind every kernel machine, its path and its folds.

With features Psi (N, r) of the rows, K = Psi Psi', and A = [Psi, 1, Y], the machine

    minimise  (Psi v + c - Y)' V (Psi v + c - Y) + reg ||v||^2   over v (r, k) and c (k,)

asks the data for G = A'VA alone. Landmarks give few features and sums over rows; the pivoted
Cholesky factor of K gives all of them, and with these the machine is the exact one. Penalties are
chosen by the squared error of held-out rows, never by the V-loss: cumulative residuals are strongly
dependent, and the V-loss of held-out rows picks penalties far too small (theory, section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack, solve_triangular

from ..corrections.auto import LEVEL
from ..numerics.array import Real, Rows
from ..numerics.folds import Fold
from ..numerics.statistics import least, paired_gains, rounding_of
from ..operators import Dense, VOperator, is_diagonal
from ..operators.target_sums import weighted_gram

_SMALLEST = -4.0  # decades below the scale of the kernel
STEP = 8 / 19
"""Decades from one penalty to the next: twenty over the eight of the paper's experiments."""

_INDEFINITE = 1e-8  # of the largest kernel value: more than rounding leaves of a kernel matrix
_EQUAL = 1e-9  # differences of weights that are equal
_FEW = 4  # penalties up to which a factorisation of each is faster than one reduction
_FEATURES = 400  # of a comparison: of more rows these choose the same penalties, and as good ones


# Features of a kernel matrix


@dataclass(frozen=True)
class Features:
    """Psi (N, r) with K = Psi Psi', up to what is left out, and the rows that span it."""

    Psi: Real  # (N, r)
    pivots: Rows  # (r,): Psi of these rows is triangular; of an indefinite K all rows
    diagonal: Real  # (N,), of K
    sizes: Real | None = None  # (r,), of an indefinite K: its positive eigenvalues

    @classmethod
    def of(cls, K: Real) -> Features:
        """Factor K (N, N) by Cholesky with pivots, up to rounding: O(N^3).

        Of an indefinite K, as that of the sigmoid, take the positive part.
        """
        N, diagonal = len(K), np.diag(K).copy()
        largest = max(float(diagonal.max()), 0.0)
        L, pivots, rank, _ = lapack.dpstrf(K.T, lower=1, tol=N * np.finfo(float).eps * largest)
        Psi = np.empty((N, rank))
        Psi[pivots - 1] = np.tril(L[:, :rank])
        probe = np.random.default_rng(0).normal(size=N)
        rest = np.abs(K @ probe - Psi @ (Psi.T @ probe)).max()
        if not rest > _INDEFINITE * largest * N:
            return cls(Psi, np.asarray(pivots[:rank] - 1, dtype=np.intp), diagonal)
        s, Q = np.linalg.eigh((K + K.T) / 2)
        s, Q = s[s > _INDEFINITE * s[-1]][::-1], Q[:, s > _INDEFINITE * s[-1]][:, ::-1]
        return cls(Q * np.sqrt(s), np.arange(N), diagonal, s)

    def first(self, most: int) -> Features:
        """Keep so many features at most: the largest, as each pivot was the largest left."""
        if self.sizes is not None:
            return replace(self, Psi=self.Psi[:, :most], sizes=self.sizes[:most])
        return replace(self, Psi=self.Psi[:, :most], pivots=self.pivots[:most])

    @property
    def W(self) -> Real:
        """What makes features of kernel values: Psi(x) = K(x, pivots) W, (pivots, r)."""
        return self.on_pivots(np.eye(self.Psi.shape[1]))

    def on_pivots(self, v: Real) -> Real:
        """W v: coefficients on the pivots of what is Psi v at the rows."""
        if self.sizes is not None:
            return self.Psi @ (v / self.sizes[:, None])
        L = self.Psi[self.pivots]
        return np.asarray(solve_triangular(L, v, lower=True, trans="T", check_finite=False))

    @property
    def left_out(self) -> float:
        """Mean of K(x, x) - |Psi(x)|^2: nearly zero between two rows, as a larger penalty is."""
        size = np.einsum("ij,ij->i", self.Psi, self.Psi)
        return max(0.0, float(np.mean(self.diagonal - size)))


# The system


def ridge_path(G: Real, r: int, regs: Sequence[float] | Real) -> list[tuple[Real, Real]]:
    """Minimise ||R Psi v + c R 1 - R Y||^2 + reg ||v||^2 for every penalty: v (r, k) and c (k,).

    G = A'VA for the columns A = [Psi, 1, Y]. Few penalties by Cholesky, many from one reduction to
    tridiagonal form; by eigenvalues where, of a tiny penalty, rounding has the last word.
    """
    H, h = G[:r, :r], G[:r, r]  # Psi'V Psi, Psi'V1
    B, b, one = G[:r, r + 1 :], G[r, r + 1 :], G[r, r]  # Psi'VY, 1'VY, 1'V1
    if one > 0:  # the intercept is free: take it out
        H, B = H - np.outer(h, h) / one, B - np.outer(h, b) / one
    solve = _by_cholesky if len(regs) <= _FEW or r < 2 else _by_tridiagonal
    try:
        found = solve((H + H.T) / 2, B, regs)
    except LinAlgError:
        values, Q = np.linalg.eigh((H + H.T) / 2)
        values, QB = np.maximum(values, 0), Q.T @ B
        found = [Q @ (QB / (values + reg)[:, None]) for reg in regs]
    return [(v, (b - h @ v) / one if one > 0 else np.zeros(len(b))) for v in found]


def _by_cholesky(H: Real, B: Real, regs: Sequence[float] | Real) -> list[Real]:
    """Solve (H + reg I) v = B for every penalty."""
    found = []
    for reg in regs:
        S = np.array(H, order="F")
        S[np.diag_indices_from(S)] += reg
        factor = cho_factor(S, lower=True, overwrite_a=True, check_finite=False)
        found.append(np.asarray(cho_solve(factor, B, check_finite=False)))
    return found


def _by_tridiagonal(H: Real, B: Real, regs: Sequence[float] | Real) -> list[Real]:
    """Do the same from H = Q T Q': half of the time of eigenvalues, whose Q is never formed."""
    T, d, e, tau, _ = lapack.dsytrd(H, lower=1, lwork=64 * len(H))
    Q = np.asfortranarray(T[1:, :-1])  # its reflectors leave the first row alone

    def rotated(b: Real, transpose: str) -> Real:
        turned = lapack.dormqr("L", transpose, Q, tau, np.asfortranarray(b[1:]), 64 * 64)[0]
        return np.vstack([b[:1], turned])

    QB, solved = rotated(B, "T"), []
    for reg in regs:
        _, _, z, info = lapack.dptsv(d + reg, e, QB)
        if info != 0:
            raise LinAlgError("not positive definite")
        solved.append(z)
    return list(np.hsplit(rotated(np.hstack(solved), "N"), len(solved)))


@dataclass(frozen=True)
class ExactFit:
    """f(x) = sum_i A_i K(x_i, x) + c, and how the system was."""

    A: Real  # (N, k)
    c: Real  # (k,)
    condition: float  # of the system, an upper bound


def solve_exactly(V: VOperator, features: Features, Y: Real, reg: float) -> ExactFit:
    """Fit in all features of K: O(N^2 r). The coefficients are A = V (Y - f) / reg (eq. 3.3)."""
    Psi, r = features.Psi, features.Psi.shape[1]
    B = np.column_stack([Psi, np.ones(len(Y)), Y])
    diagonal = is_diagonal(V)
    G = weighted_gram(B, V.diagonal()) if diagonal else B.T @ np.asarray(V.matmat(B))
    v, c = ridge_path(G, r, [reg])[0]
    if not G[r, r] > 0:  # V does not see any training row
        c = Y.mean(axis=0)
    A = np.zeros_like(Y)
    if features.sizes is None:
        A = np.asarray(V.matmat(Y - Psi @ v - c)) / reg
    A[features.pivots] += features.on_pivots(v - Psi.T @ A)  # rounding, over reg, is made good
    return ExactFit(A, c, float(np.trace(G[:r, :r])) / reg + 1)


def entries(V: VOperator) -> VOperator:
    """Return V by its entries, unless it is diagonal: of many columns other products are slow."""
    return V if isinstance(V, Dense) or is_diagonal(V) else Dense(V.dense())


# Held-out rows


def held_out_paths(
    V: VOperator, Psi: Real, Y: Real, w: Real, folds: Sequence[Fold], regs: Real
) -> list[list[Real]]:
    """Predict the rows of every fold from the others at every penalty: (h, k) each.

    With A = [Psi, 1, Y] and VA at hand, leaving out rows takes but their own part of V. Of a row
    whose repeats are in several folds, a part of its weight w (N,) is left out.
    """
    A = np.column_stack([Psi, np.ones(len(Y)), Y])
    VA = np.asarray(V.matmat(A))
    whole, found = A.T @ VA, []
    for fold in folds:
        part, own = fold.weight / w[fold.rows], V.subset(fold.rows)
        held = A[fold.rows]
        if (part < 1).any():
            own = own.weighted(part)
        cross = (part[:, None] * held).T @ VA[fold.rows]
        gram = whole - cross - cross.T + held.T @ np.asarray(own.matmat(held))
        path = ridge_path(gram, Psi.shape[1], regs)
        found.append([Psi[fold.rows] @ v + c for v, c in path])
    return found


@dataclass(frozen=True)
class Tuning:
    """Squared errors of held-out rows, and the choice that makes them least."""

    kernels: tuple[Any, ...]
    regs: Real  # (kernels, P)
    errors: Real  # (kernels, P), mean squared error over the held-out rows
    held_out: Real | None = None  # (h, k), what the best predicts for the rows of the folds in turn
    features: Features | None = None  # all of them, of the best kernel
    rounding: float = 0.0  # differences of errors that say nothing
    places: tuple[int, ...] = ()  # of the penalty on every kernel's path, where weights chose it

    @property
    def best(self) -> tuple[int, int]:
        """Position of the least error; among equals the first kernel, and its strongest penalty.

        Equal up to rounding: of two to five rows many penalties predict the same.
        """
        kernel, place = least(self.errors, self.rounding)
        return kernel, self.places[kernel] if self.places else place

    @property
    def reg(self) -> float:
        return float(self.regs[self.best])

    def path(self) -> dict[str, Any]:
        """Return what was compared, as plain data."""
        widths = tuple(None if kernel is None else kernel.width for kernel in self.kernels)
        return {"reg": self.regs, "width": widths, "error": self.errors}


def penalties(scale: float, weight: float) -> Real:
    """Return the grid of penalties for a kernel of this scale and rows of this weight in all.

    From 1e-4 of the scale to where nothing but the constant is left: with N rows, centred K and a V
    of unit mean diagonal, R K R' has no eigenvalue above N^2 times the scale.
    """
    largest = max(4.0, 2 * float(np.log10(weight)))
    steps = int(np.ceil(round((largest - _SMALLEST) / STEP, 6)))
    return np.asarray(scale * 10.0 ** (_SMALLEST + STEP * np.arange(steps + 1)))


def kernel_scale(K: Real, w: Real) -> float:
    """Mean of the centred kernel's diagonal, over rows of weights w (N,)."""
    scale = _spread(K, w)
    return scale if scale > 1e-12 * float(np.abs(np.diag(K)).max()) else 1.0


def kernel_spread(K: Real, w: Real) -> float:
    """Return the same as a part of the largest value: small where these are nearly constant."""
    return _spread(K, w) / (float(np.abs(np.diag(K)).max()) or 1.0)


def _spread(K: Real, w: Real) -> float:
    share = w / w.sum()
    return float(share @ np.diag(K) - share @ K @ share)


def tune(
    V: VOperator,
    Y: Real,
    w: Real,
    kernels: Sequence[Any],
    values: Callable[[Any], Real],
    folds: Sequence[Fold],
    regs: Real | None = None,
) -> Tuning:
    """Cross-validate kernels, whose ``values`` are (N, N), in a few hundred features of each.

    ``regs`` (P,) are given where the grid is not to be chosen; else every kernel has its own.
    Importance weights, a diagonal V that is not w, have a say in the penalty: `by_importance`.
    O(kernels x (N^2 r + folds x r^3)) time, O(N^2) memory.
    """
    rounding = rounding_of(Y, w)
    weights = importance_of(V, w)
    grids, errors, held_out, places = [], [], [], []
    for kernel in kernels:
        K = values(kernel)
        grid = penalties(kernel_scale(K, w), float(w.sum())) if regs is None else regs
        known = Features.of(K)
        some = known.first(_FEATURES)
        paths = held_out_paths(V, some.Psi, Y, w, folds, grid + some.left_out)
        total = np.zeros(len(grid))
        for fold, predicted in zip(folds, paths, strict=True):
            total += [fold.weight @ ((f - Y[fold.rows]) ** 2).sum(axis=1) for f in predicted]
        grids.append(grid)
        errors.append(total / w.sum())
        _, place = least(errors[-1][None], rounding)
        if weights is not None:
            place = by_importance(paths, Y, folds, weights, place, rounding)
        places.append(place)
        held_out.append(np.concatenate([predicted[place] for predicted in paths]))
    chosen, compared = () if weights is None else tuple(places), (np.array(grids), np.array(errors))
    found = Tuning(tuple(kernels), *compared, rounding=rounding, places=chosen)
    best = found.best[0]
    if best < len(kernels) - 1:
        known = Features.of(values(kernels[best]))
    return replace(found, held_out=held_out[best], features=known)


def importance_of(V: VOperator, w: Real) -> Real | None:
    """Return the importance weights (N,) in V on top of w; None where there are none."""
    if not is_diagonal(V):
        return None
    factors = np.asarray(V.diagonal()) / w
    return factors if np.ptp(factors) > _EQUAL * np.abs(factors).max() else None


def by_importance(
    paths: Sequence[Sequence[Real]],
    Y: Real,
    folds: Sequence[Fold],
    weights: Real,
    place: int,
    rounding: float,
) -> int:
    """Return the place of the penalty for importance weights (N,): mostly ``place``, as without.

    Of a model too simple for the truth, the squared error of all rows picks a penalty that undoes
    the weights; the weighted one, which is that of the target, is noisy, and of a flexible model
    picks worse penalties. So the penalty of least weighted error is taken where its gain over
    ``place``, that of least error, is clear at the level 0.1, as with corrections
    (benchmarks/results/discrepancy.md). O(penalties N k).
    """
    losses = np.column_stack(
        [
            [((f - Y[fold.rows]) ** 2).sum(axis=1) for f in path]
            for fold, path in zip(folds, paths, strict=True)
        ]
    )
    w = np.concatenate([fold.weight * weights[fold.rows] for fold in folds])
    _, other = least((losses @ w / w.sum())[None], rounding)
    clear = paired_gains(losses[place], losses[[other]], w).clear(LEVEL)
    return other if clear[0] else place
