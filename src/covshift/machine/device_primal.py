"""The sums of the fit on landmarks on a GPU: features, views and products where the rows lie.

Only sums come to the host, and the small solve is that of `Primal`. In single precision directions
of K(Z, Z) below 1e-6 of the largest eigenvalue are left out: the rounding of kernel values, 6e-8,
is divided by the root of the eigenvalue and would be seen in their features.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array, like, namespace, to_numpy
from .._device.kernels import features, row_blocks
from .._device.products import device_gram, split_product
from .._folds import hashed_folds
from .._types import Real, Whole
from ..operators import TargetSums
from .primal import FoldSums, Partial, Primal


class DevicePrimal(Primal):
    """`Primal` for PyTorch tensors: X (N, n), Y (N, k) and w (N,) on one device, in one dtype."""

    def __init__(
        self, kernel: Any, Z: Real, target_sums: TargetSums, *, n_folds: int, example: Array
    ) -> None:
        smallest = 1e-6 if example.element_size() == 4 else 1e-10
        super().__init__(kernel, Z, target_sums, n_folds=n_folds, smallest=smallest)
        self._features = features(kernel, Z, example)
        self._device_W = like(self._W, example)
        if example.element_size() == 4:
            self.rounding = 1e-7

    def partial(self, X: Array, Y: Array, w: Array, repeats: Whole | None = None) -> Partial:
        """Sum over the rows, block by block."""
        xp = namespace(X)
        folds = hashed_folds(X, Y, self.n_folds, w, repeats) if self.n_folds > 1 else {}
        dealt = {
            number: (xp.asarray(fold.rows, device=X.device), like(fold.weight, X))
            for number, fold in folds.items()
        }
        found: Partial = {}
        for rows in row_blocks(X, X.element_size() * (len(self.Z) + 1)):
            start = rows.start
            x, y, v = X[rows], Y[rows], w[rows]
            A = self._columns(x, y)
            if not dealt:
                self._put(found, 0, self._device_block(x, A, v, rows))
            for number, (every, weight) in dealt.items():
                first, last = np.searchsorted(folds[number].rows, [start, start + len(x)])
                if first < last:
                    inside = every[first:last] - start
                    sums = self._device_block(
                        x[inside], A[inside], weight[first:last], every[first:last]
                    )
                    self._put(found, number, sums)
        return found

    @staticmethod
    def _put(found: Partial, fold: int, sums: FoldSums) -> None:
        found[fold] = found[fold].combine(sums) if fold in found else sums

    def _columns(self, X: Array, Y: Array) -> Array:
        r = self._W.shape[1]
        A = namespace(X).empty((X.shape[0], r + 1 + Y.shape[1]), dtype=X.dtype, device=X.device)
        A[:, :r] = split_product(self._features(X), self._device_W)
        A[:, r] = 1.0
        A[:, r + 1 :] = Y
        return A

    def _device_block(self, X: Array, A: Array, w: Array, rows: Any) -> FoldSums:
        plain = to_numpy(device_gram(A, w)) if self.n_folds > 1 else None
        return FoldSums(self.target_sums.sums(X, A, w, rows), plain)

    def _gram(self, sums: FoldSums) -> Real:
        return np.asarray(to_numpy(self.target_sums.gram(sums.V)), dtype=np.float64)
