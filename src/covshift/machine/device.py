"""The sums of the fit on landmarks on a GPU: features, views and products where the rows lie.

Only sums come to the host, and the small solve is that of `Primal`. In single precision directions
of K(Z, Z) below 1e-6 of the largest eigenvalue are left out: the rounding of kernel values, 6e-8,
is divided by the root of the eigenvalue and would be seen in their features.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array, like, to_numpy
from .._folds import hashed_folds
from .._kernels import Kernel
from .._types import Real
from ..operators import TargetSums
from ..operators.device import device_gram, split_product
from .primal import FoldSums, Partial, Primal

KERNELS = ("rbf", "laplacian", "linear")
"""Kernels that are computed on the device."""

_BLOCK_BYTES = {"cuda": 1 << 30, "cpu": 64 << 20}  # of kernel values at a time


class DevicePrimal(Primal):
    """`Primal` for PyTorch tensors: X (N, n), Y (N, k) and w (N,) on one device, in one dtype."""

    def __init__(
        self, kernel: Kernel, Z: Real, target_sums: TargetSums, *, n_folds: int, example: Array
    ) -> None:
        smallest = 1e-6 if example.element_size() == 4 else 1e-10
        super().__init__(kernel, Z, target_sums, n_folds=n_folds, smallest=smallest)
        self._features = Features(kernel, Z, example)
        self._device_W = like(self._W, example)

    def partial(self, X: Array, Y: Array, w: Array) -> Partial:
        """Sum over the rows, block by block."""
        import torch

        folds = hashed_folds(X, Y, self.n_folds, w) if self.n_folds > 1 else {}
        dealt = {
            number: (torch.as_tensor(fold.rows, device=X.device), like(fold.weight, X))
            for number, fold in folds.items()
        }
        size = max(256, _BLOCK_BYTES[_kind(X)] // (X.element_size() * (len(self.Z) + 1)))
        found: Partial = {}
        for start in range(0, X.shape[0], size):
            rows = slice(start, start + size)
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
        import torch

        r = self._W.shape[1]
        A = torch.empty((X.shape[0], r + 1 + Y.shape[1]), dtype=X.dtype, device=X.device)
        A[:, :r] = split_product(self._features(X), self._device_W)
        A[:, r] = 1.0
        A[:, r + 1 :] = Y
        return A

    def _device_block(self, X: Array, A: Array, w: Array, rows: Any) -> FoldSums:
        plain = to_numpy(device_gram(A, w)) if self.n_folds > 1 else None
        return FoldSums(self.target_sums.sums(X, A, w, rows), plain)

    def _gram(self, sums: FoldSums) -> Real:
        return np.asarray(to_numpy(self.target_sums.gram(sums.V)), dtype=np.float64)


class Features:
    """K(x, Z) on a device."""

    def __init__(self, kernel: Kernel, Z: Real, example: Array) -> None:
        self.kernel = kernel
        self._gamma = 0.0 if kernel.gamma is None else kernel.gamma  # "linear" has no width
        # Centred, so that |x - z|^2 = |x|^2 - 2 x'z + |z|^2 cancels as little as it can.
        center = Z.mean(axis=0) if kernel.name == "rbf" else np.zeros(Z.shape[1])
        self._center, self._Z = like(center, example), like(Z - center, example)
        if kernel.name == "rbf":
            z, gamma = Z - center, self._gamma
            table = np.vstack(
                [2 * gamma * z.T, -gamma * np.ones(len(Z)), -gamma * (z**2).sum(axis=1)]
            )
            self._table = like(table, example)

    def __call__(self, X: Array) -> Array:
        """Kernel values of the rows X (b, n): (b, D)."""
        import torch

        name = self.kernel.name
        if name == "linear":
            return X @ self._Z.T
        if name == "laplacian":
            return torch.cdist(X, self._Z, p=1.0).mul_(-self._gamma).exp_()
        x = X - self._center
        ones = torch.ones_like(x[:, :1])
        augmented = torch.cat([x, (x**2).sum(dim=1, keepdim=True), ones], dim=1)
        return (augmented @ self._table).clamp_(max=0.0).exp_()


def _kind(X: Array) -> str:
    return "cuda" if X.device.type == "cuda" else "cpu"


class DeviceExpansion:
    """f(x) = sum_i K(x, z_i) coef_i + c for PyTorch tensors, computed in double precision."""

    def __init__(self, kernel: Kernel, Z: Real, coef: Real, c: Real) -> None:
        self._kernel, self._Z, self._coef, self._c = kernel, Z, coef, c

    def __call__(self, X: Array) -> Array:
        """Return f at the rows X (rows, n): (rows, k), on the device and in the dtype of X."""
        import torch

        example = X[:1].double()
        features = Features(self._kernel, self._Z, example)
        coef, c = like(self._coef, example), like(self._c, example)
        f = torch.empty((X.shape[0], len(self._c)), dtype=X.dtype, device=X.device)
        size = max(256, _BLOCK_BYTES[_kind(X)] // (8 * len(self._Z)))
        for start in range(0, X.shape[0], size):
            rows = slice(start, start + size)
            f[rows] = (features(X[rows].double()) @ coef + c).to(X.dtype)
        return f
