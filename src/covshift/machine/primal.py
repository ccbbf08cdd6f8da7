"""The kernel machine at scale: explicit features, one pass over the rows (theory, section 4).

With landmarks Z and features Psi = K(X, Z) W, W'K(Z, Z)W = I, all that is needed from the data is
A'VA for the columns A = [Psi, 1, Y]: sums over rows, in blocks, in memory that does not depend on
N. Sums kept by fold give cross-validation for nothing. Then a ridge problem of the landmarks' size:

    minimise  ||R Psi v + c R 1 - R Y||^2 + reg ||v||^2 .

"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..numerics.array import (
    Array,
    Real,
    Rows,
    Whole,
    is_numpy,
    like,
    namespace,
    take_rows,
    to_numpy,
)
from ..numerics.device.kernels import block_rows, features
from ..numerics.folds import Fold, hashed_folds
from ..numerics.hashing import RowUnits
from ..numerics.kernels import values_at
from ..numerics.parallel import one_blas_thread, over_rows
from ..operators import Sums, TargetSums
from ..operators.base import blocks
from ..operators.target_sums import weighted_gram
from .expansion import whitening
from .ridge import Tuning, kernel_scale, penalties, ridge_path

_SOUND = 0.01  # part of an error that may be rounding
_SHARED_ROWS = 4096  # fewest rows that are worth a thread


@dataclass(frozen=True)
class FoldSums:
    """What rows add to A'VA, and to the plain A'A that scores them when they are held out."""

    V: Sums
    plain: Array | None  # where penalties are to be compared

    def combine(self, other: FoldSums, *, here: bool = False) -> FoldSums:
        """Add the sums over other rows; ``here`` in the arrays of this value, which is used up."""
        plain = None if self.plain is None or other.plain is None else self.plain + other.plain
        return FoldSums(self.V.combine(other.V, here=here), plain)


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
    `combine` adds them up; `add` does both here. Rows are NumPy's, or tensors that lie where the
    ``example`` (1, n) does, in any precision: what is made of them is double precision, and the
    small solve is the host's.
    """

    rounding = 1e-16  # of the sums, relative

    def __init__(
        self,
        kernel: Any,
        Z: Real,
        target_sums: TargetSums,
        *,
        n_folds: int,
        units: RowUnits,
        example: Array | None = None,
    ) -> None:
        self.kernel, self.Z, self.n_folds, self.units = kernel, Z, n_folds, units
        self.target_sums = target_sums
        self.folds: Partial = {}
        self._without: dict[tuple[int, float], tuple[Real, Real]] = {}  # v and c, by fold and reg
        K = kernel(Z, Z)
        self.W = whitening(K)
        self._scale = kernel_scale(K, np.ones(len(K)))
        self._example = None if example is None else example.double()
        self._features = self._make_features()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_without": {}, "_features": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._features = self._make_features()

    def _make_features(self) -> Callable[[Array, Real], Array]:
        """Return what makes Psi (b, r) of rows; on the host in a buffer for kernel values."""
        if self._example is not None:
            on_device = features(self.kernel, self.Z, self._example)
            W = like(self.W, self._example)
            return lambda X, K: on_device(X.double()) @ W
        values = values_at(self.kernel, self.Z)

        def made(X: Array, K: Real) -> Array:
            values(X, K)
            return K @ self.W

        return made

    def partial(self, X: Array, Y: Array, w: Array) -> Partial:
        """Sum over training rows X (N, n) with outcomes Y (N, k) and weights w (N,)."""
        if self.n_folds == 1:
            folds = {0: Fold(np.arange(int(X.shape[0])), to_numpy(w))}
        else:
            folds = hashed_folds(X, Y, self.n_folds, w, units=self.units)
        return {number: self._sums(X, Y, fold) for number, fold in folds.items()}

    def add(self, X: Real, Y: Real, w: Real) -> None:
        """Add training rows to the sums kept here."""
        self.folds = combine(self.folds, self.partial(X, Y, w))
        self._without = {}

    def fit(self, reg: float) -> tuple[Real, Real]:
        """Coefficients on the landmarks (D, k) and intercept (k,) at one penalty."""
        v, c = self._path([sums.V for sums in self.folds.values()], [reg])[0]
        return self.W @ v, c

    def tune(self) -> Tuning:
        """Compare the grid of penalties by the squared error of held-out folds."""
        weight = sum(sums.V.weight for sums in self.folds.values())
        regs = penalties(self._scale, weight)
        errors, sizes = np.zeros(len(regs)), np.zeros(len(regs))
        self._without = {}
        for fold, held_out in self.folds.items():
            if held_out.plain is None:
                raise InputError("Penalties can be compared only where n_folds > 1.")
            plain, others = to_numpy(held_out.plain), self._other_than(fold)
            for j, (v, c) in enumerate(self._path(others, regs)):
                self._without[fold, float(regs[j])] = v, c
                residual = np.vstack([v, c, -np.eye(len(c))])  # A @ residual: f(X) - Y
                errors[j] += float(np.sum(residual * (plain @ residual)))
                size = np.abs(residual)
                sizes[j] += float(np.sum(size * (np.abs(plain) @ size)))
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
        every = hashed_folds(X, Y, self.n_folds, w, repeats, units=self.units)
        folds = {number: fold for number, fold in every.items() if number in self.folds}
        Psi = self.kernel(X, self.Z) @ self.W
        found = []
        for number, fold in folds.items():
            if (number, reg) not in self._without:  # no penalties were compared
                self._without[number, reg] = self._path(self._other_than(number), [reg])[0]
            v, c = self._without[number, reg]
            found.append(Psi[fold.rows] @ v + c)
        return np.concatenate(found), list(folds.values())

    def total(self) -> Sums:
        """Sums over all rows so far."""
        return reduce(Sums.combine, (sums.V for sums in self.folds.values()))

    def _sums(self, X: Array, Y: Array, fold: Fold) -> FoldSums:
        """Sum over the rows of a fold, in blocks, one thread for every consecutive part of them."""
        inside, D = fold.rows, len(self.Z)
        size, threads = block_rows(X, 8 * (D + 1 + Y.shape[1])), is_numpy(X)
        found: dict[int, FoldSums] = {}

        def work(chunk: slice) -> None:
            K = np.empty((min(size, chunk.stop - chunk.start) if threads else 0, D))
            for part in blocks(chunk.stop - chunk.start, size):
                place = slice(chunk.start + part.start, chunk.start + part.stop)
                rows, w = inside[place], like(fold.weight[place], X)
                sums = self._block(take_rows(X, rows), take_rows(Y, rows), w, rows, K)
                before = found.get(chunk.start)
                found[chunk.start] = sums if before is None else before.combine(sums, here=True)

        at_least = _SHARED_ROWS if threads else len(inside) + 1
        with one_blas_thread(len(inside) * D):  # where our own threads have no use
            over_rows(work, len(inside), at_least=at_least)
        return reduce(FoldSums.combine, (found[start] for start in sorted(found)))

    def _block(self, X: Array, Y: Array, w: Array, rows: Rows, K: Real) -> FoldSums:
        """Sum over rows whose kernel values may be written to ``K``, as columns [Psi, 1, y]."""
        Psi = self._features(X, K[: X.shape[0]])
        xp = namespace(Psi)
        A = xp.concat([Psi, xp.ones_like(Psi[:, :1]), xp.astype(Y, Psi.dtype)], axis=1)
        plain = weighted_gram(A, w) if self.n_folds > 1 else None
        return FoldSums(self.target_sums.sums(X, A, w, rows, plain), plain)

    def _other_than(self, fold: int) -> list[Sums]:
        return [sums.V for number, sums in self.folds.items() if number != fold]

    def _path(self, parts: Iterable[Sums], regs: Iterable[float]) -> list[tuple[Real, Real]]:
        """Solve the ridge problem for every penalty, from one decomposition: v and c."""
        G = to_numpy(self.target_sums.gram(reduce(Sums.combine, parts)))
        with one_blas_thread(G.size):
            return ridge_path(G, self.W.shape[1], list(regs))
