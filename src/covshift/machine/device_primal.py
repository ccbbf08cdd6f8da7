"""The sums of the fit on landmarks on a GPU: features, views and products where the rows lie.

Rows may come in single precision; what is made of them is double precision, as on the host. Only
sums of the landmarks' size come to the host, and the small solve is that of `Primal`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.array import Array, Real, like, namespace, to_numpy
from ..numerics.device.arrays import DeviceColumns, device_eigh
from ..numerics.device.kernels import features, row_blocks
from ..numerics.folds import hashed_folds
from ..numerics.hashing import RowUnits
from ..operators import TargetSums
from .primal import FoldSums, Partial, Primal, SquaresOnce


class DevicePrimal(Primal):
    """`Primal` for PyTorch tensors: X (N, n), Y (N, k) and w (N,) on one device, in one dtype."""

    def __init__(
        self,
        kernel: Any,
        Z: Real,
        target_sums: TargetSums,
        *,
        n_folds: int,
        units: RowUnits,
        example: Array,
    ) -> None:
        example = example.double()
        super().__init__(
            kernel,
            Z,
            target_sums,
            n_folds=n_folds,
            units=units,
            eigh=lambda K: device_eigh(K, example),
        )
        self._features = features(kernel, Z, example)

    def partial(self, X: Array, Y: Array, w: Array) -> Partial:
        """Sum over the rows, block by block."""
        xp = namespace(X)
        folds = {}
        if self.n_folds > 1:
            folds = hashed_folds(X, Y, self.n_folds, w, units=self.units)
        dealt = {
            number: (xp.asarray(fold.rows, device=X.device), like(fold.weight, X))
            for number, fold in folds.items()
        }
        found: Partial = {}
        for rows in row_blocks(X, 8 * (len(self.Z) + 1)):
            start = rows.start
            x, y, v = X[rows], Y[rows], w[rows]
            if not dealt:
                self._put(found, 0, self._device_block(x, y, v, rows))
            for number, (every, weight) in dealt.items():
                first, last = np.searchsorted(folds[number].rows, [start, start + len(x)])
                if first < last:
                    inside = every[first:last] - start
                    sums = self._device_block(
                        x[inside], y[inside], weight[first:last], every[first:last]
                    )
                    self._put(found, number, sums)
        return found

    @staticmethod
    def _put(found: Partial, fold: int, sums: FoldSums) -> None:
        found[fold] = found[fold].combine(sums, here=True) if fold in found else sums

    def _device_block(self, X: Array, Y: Array, w: Array, rows: Any) -> FoldSums:
        xp = namespace(X)
        others = xp.concat([xp.ones_like(Y[:, :1]), Y], axis=1)
        columns = DeviceColumns(X, others, self._features)
        squares = SquaresOnce(lambda A, w: self.basis.squares(A.array, w.double()), columns, w)
        V = self.target_sums.sums(X, columns, w, rows, squares)
        return FoldSums(V, squares(columns, w) if self.n_folds > 1 else None)

    def tune(self) -> Any:
        """Compare the grid of penalties by the squared error of held-out folds."""
        self.folds = {
            number: FoldSums(sums.V, None if sums.plain is None else to_numpy(sums.plain))
            for number, sums in self.folds.items()
        }
        return super().tune()
