"""The kernel machine at scale: explicit features, one pass over the rows (theory, section 4).

With landmarks Z and features Psi = K(X, Z) W, W'K(Z, Z)W = I, all that is needed from the data is
A'VA for the columns A = [Psi, 1, Y]: sums over rows, in blocks, in memory that does not depend on
N. Sums kept by fold give cross-validation for nothing. Then a ridge problem of the landmarks' size:

    minimise  ||R Psi v + c R 1 - R Y||^2 + reg ||v||^2 .

Rows are whitened before they are summed: whitening the sums of K(X, Z) afterwards would be cheaper,
but smooth kernels have eigenvalues of K(Z, Z) down to rounding, and it multiplies the rounding of
the sums by their inverse.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._folds import Fold, hashed_folds
from .._kernels import whitening
from .._parallel import one_blas_thread, over_rows
from .._types import Real, Whole
from ..exceptions import InputError
from ..operators import Sums, TargetSums
from ..operators.base import blocks
from ..operators.target_sums import weighted_gram
from .tuning import Tuning, kernel_scale, penalties

SMALLEST = 1e-10
"""Eigenvalues of K(Z, Z), relative to the largest, below which their directions are left out."""

_SOUND = 0.01  # part of an error that may be rounding
_BLOCK_BYTES = 40 << 20  # of kernel values that a thread holds at a time
_SHARED_ROWS = 4096  # fewest rows that are worth a thread


@dataclass(frozen=True)
class FoldSums:
    """What rows add to A'VA, and to the plain A'A that scores them when they are held out."""

    V: Sums
    plain: Real | None  # (q, q): A' diag(w) A, where penalties are to be compared

    def combine(self, other: FoldSums) -> FoldSums:
        """Add the sums over other rows."""
        plain = None if self.plain is None or other.plain is None else self.plain + other.plain
        return FoldSums(self.V.combine(other.V), plain)


Partial = dict[int, FoldSums]
"""The sums over some rows, by fold: a plain value."""


def combine(one: Partial, other: Partial) -> Partial:
    """Add the sums over other rows, fold by fold; neither argument changes."""
    both = dict(one)
    for fold, sums in other.items():
        both[fold] = both[fold].combine(sums) if fold in both else sums
    return dict(sorted(both.items()))


class Primal:
    """Sums over blocks of rows, and the fits that follow from them.

    `partial` makes the sums of a block and changes nothing, so that blocks may be summed anywhere;
    `combine` adds them up; `add` does both here.
    """

    rounding = 1e-16  # of the sums, relative

    def __init__(
        self,
        kernel: Any,
        Z: Real,
        target_sums: TargetSums,
        *,
        n_folds: int,
        smallest: float = SMALLEST,
    ) -> None:
        self.kernel, self.Z, self.n_folds = kernel, Z, n_folds
        self.target_sums = target_sums
        self.folds: Partial = {}
        self._without: dict[tuple[int, float], tuple[Real, Real]] = {}  # v and c, by fold and reg
        K = kernel(Z, Z)
        with one_blas_thread(K.size):
            self._W = whitening(K, smallest)
        self._scale = kernel_scale(K, np.ones(len(K)))

    def partial(self, X: Real, Y: Real, w: Real, repeats: Whole | None = None) -> Partial:
        """Sum over training rows X (N, n) with outcomes Y (N, k), weights w and repeats (N,)."""
        if self.n_folds == 1:
            folds = {0: Fold(np.arange(len(X)), w)}
        else:
            folds = hashed_folds(X, Y, self.n_folds, w, repeats)
        return {number: self._sums(X, Y, fold) for number, fold in folds.items()}

    def add(self, X: Real, Y: Real, w: Real, repeats: Whole | None = None) -> None:
        """Add training rows to the sums kept here."""
        self.folds = combine(self.folds, self.partial(X, Y, w, repeats))
        self._without = {}

    def fit(self, reg: float) -> tuple[Real, Real]:
        """Coefficients on the landmarks (D, k) and intercept (k,) at one penalty."""
        v, c = self._path(self.folds.values(), [reg])[0]
        return self._W @ v, c

    def tune(self) -> Tuning:
        """Compare the grid of penalties by the squared error of held-out folds."""
        weight = sum(sums.V.weight for sums in self.folds.values())
        regs = penalties(self._scale, weight)
        errors, sizes = np.zeros(len(regs)), np.zeros(len(regs))
        self._without = {}
        for fold, held_out in self.folds.items():
            if held_out.plain is None:
                raise InputError("Penalties can be compared only where n_folds > 1.")
            for j, (v, c) in enumerate(self._path(self._others(fold), regs)):
                self._without[fold, float(regs[j])] = v, c
                direction = np.vstack([v, c, -np.eye(len(c))])  # A @ direction: residuals
                errors[j] += float(np.sum(direction * (held_out.plain @ direction)))
                size = np.abs(direction)
                sizes[j] += float(np.sum(size * (np.abs(held_out.plain) @ size)))
        # Where terms cancel beyond the precision of the sums, an error is rounding, even negative.
        sound = self.rounding * sizes <= _SOUND * errors
        if sound.any():
            errors[~sound] = np.inf
        return Tuning((self.kernel,), regs[None, :], errors[None, :] / weight)

    def held_out(
        self, X: Real, Y: Real, w: Real, repeats: Whole, reg: float
    ) -> tuple[Real, list[Fold]]:
        """Predict rows X (c, n) of the sums, each without its fold, at one penalty.

        Returns what the rows of each fold in turn get, (h, k), and the folds, those of the sums.
        """
        folds = {
            number: fold
            for number, fold in hashed_folds(X, Y, self.n_folds, w, repeats).items()
            if number in self.folds
        }
        Psi = self.kernel(X, self.Z) @ self._W
        found = []
        for number, fold in folds.items():
            if (number, reg) not in self._without:  # no penalties were compared
                self._without[number, reg] = self._path(self._others(number), [reg])[0]
            v, c = self._without[number, reg]
            found.append(Psi[fold.rows] @ v + c)
        return np.concatenate(found), list(folds.values())

    def _others(self, fold: int) -> list[FoldSums]:
        return [sums for number, sums in self.folds.items() if number != fold]

    def total(self) -> Sums:
        """Sums over all rows so far."""
        return reduce(Sums.combine, (sums.V for sums in self.folds.values()))

    def _sums(self, X: Real, Y: Real, fold: Fold) -> FoldSums:
        """Sum over the rows of a fold, in blocks, one thread for every consecutive part of them."""
        inside = fold.rows
        size = max(256, _BLOCK_BYTES // (8 * (len(self.Z) + 1 + Y.shape[1])))
        found: dict[int, FoldSums] = {}

        def work(chunk: slice) -> None:
            for part in blocks(chunk.stop - chunk.start, size):
                place = slice(chunk.start + part.start, chunk.start + part.stop)
                rows, w = inside[place], fold.weight[place]
                sums = self._block(X[rows], Y[rows], w, rows)
                found[chunk.start] = (
                    found[chunk.start].combine(sums) if chunk.start in found else sums
                )

        with one_blas_thread(len(inside) * len(self.Z)):  # where our own threads have no use
            over_rows(work, len(inside), at_least=_SHARED_ROWS)
        return reduce(FoldSums.combine, (found[start] for start in sorted(found)))

    def _block(self, X: Real, Y: Real, w: Real, rows: NDArray[np.intp]) -> FoldSums:
        r = self._W.shape[1]
        A = np.empty((len(X), r + 1 + Y.shape[1]))
        np.matmul(self.kernel(X, self.Z), self._W, out=A[:, :r])
        A[:, r], A[:, r + 1 :] = 1.0, Y
        plain = weighted_gram(A, w) if self.n_folds > 1 else None
        return FoldSums(self.target_sums.sums(X, A, w, rows), plain)

    def _gram(self, sums: FoldSums) -> Real:
        return np.asarray(self.target_sums.gram(sums.V))

    def _path(self, parts: Iterable[FoldSums], regs: Iterable[float]) -> list[tuple[Real, Real]]:
        """Solve the ridge problem for every penalty, from one decomposition: v and c."""
        G = self._gram(reduce(FoldSums.combine, parts))
        r = self._W.shape[1]
        H, h = G[:r, :r], G[:r, r]  # Psi'V Psi, Psi'V1
        B, b, one = G[:r, r + 1 :], G[r, r + 1 :], G[r, r]  # Psi'VY, 1'VY, 1'V1
        if one > 0:  # the intercept is free: take it out
            H, B = H - np.outer(h, h) / one, B - np.outer(h, b) / one
        found = []
        with one_blas_thread(H.size):
            values, Q = np.linalg.eigh((H + H.T) / 2)
            values, QB = np.maximum(values, 0), Q.T @ B
            for reg in regs:
                v = Q @ (QB / (values + reg)[:, None])
                c = (b - h @ v) / one if one > 0 else np.zeros(len(b))
                found.append((v, c))
        return found
