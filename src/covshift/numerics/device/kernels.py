"""Kernel values on a device, and what is made of them block by block (PyTorch)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..array import Array, Real, is_numpy, like
from ..coordinates import OnCoordinates
from ..kernels import KernelSum, NamedKernel

KERNELS = ("rbf", "laplacian", "linear")
"""Kernels that are computed on the device."""

_BLOCK_BYTES = {"cuda": 2 << 30, "cpu": 64 << 20}  # of kernel values: larger blocks are not faster


def features(kernel: Any, Z: Real, example: Array) -> Any:
    """Return what computes K(x, Z) where ``example`` lies."""
    if isinstance(kernel, OnCoordinates):
        return OnDeviceCoordinates(kernel, Z, example)
    if isinstance(kernel, KernelSum):
        return SumFeatures(kernel, Z, example)
    return KernelValues(kernel, Z, example)


class OnDeviceCoordinates:
    """K(c(x), c(Z)): a kernel of coordinates."""

    def __init__(self, kernel: OnCoordinates, Z: Real, example: Array) -> None:
        self._coordinates = kernel.coordinates
        self._inner = features(kernel.kernel, kernel.coordinates(Z), example)

    def __call__(self, X: Array) -> Array:
        """Kernel values of the rows X (b, n): (b, D)."""
        return self._inner(self._coordinates(X))


class SumFeatures:
    """A sum of kernels on a device: every part by `Features`, on coordinates times relevances."""

    def __init__(self, kernel: KernelSum, Z: Real, example: Array) -> None:
        roots = {"rbf": np.sqrt(kernel.relevance), "laplacian": kernel.gap_roots}
        n = len(kernel.features)
        width = {"rbf": 1.0, "laplacian": 1 / kernel.ratio}
        self._linear = kernel.linear / n if kernel.linear else 0.0
        self._plain = KernelValues(NamedKernel("linear"), Z, example)
        self._parts = [
            (
                amplitude,
                like(roots[part], example),
                KernelValues(NamedKernel(part, width[part]), Z * roots[part], example),
            )
            for part, amplitude in kernel.amplitudes.items()
            if part in width
        ]
        by_gaps, root = NamedKernel("laplacian", width["laplacian"]), kernel.gap_roots
        self._main_effects = [
            (
                kernel.main_effects / n,
                k,
                like(root[k], example),
                KernelValues(by_gaps, Z[:, k] * root[k], example),
            )
            for k in kernel.features
            if kernel.main_effects
        ]

    def __call__(self, X: Array) -> Array:
        """Kernel values of the rows X (b, n): (b, D)."""
        K = self._plain(X) * self._linear
        for amplitude, root, part in self._parts:
            K += part(X * root).mul_(amplitude)
        for amplitude, k, root, part in self._main_effects:
            K += part(X[:, k] * root).mul_(amplitude)
        return K


class KernelValues:
    """K(x, Z) on a device."""

    def __init__(self, kernel: NamedKernel, Z: Real, example: Array) -> None:
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


def block_rows(X: Array, bytes_per_row: int) -> int:
    """Return for how many rows of ``X`` kernel values are made at a time."""
    kind = "cuda" if not is_numpy(X) and X.device.type == "cuda" else "cpu"
    return max(256, _BLOCK_BYTES[kind] // bytes_per_row)


class DeviceExpansion:
    """f(x) = sum_i K(x, z_i) coef_i + c for PyTorch tensors, computed in double precision."""

    def __init__(self, kernel: Any, Z: Real, coef: Real, c: Real) -> None:
        self._kernel, self._Z, self._coef, self._c = kernel, Z, coef, c

    def __call__(self, X: Array) -> Array:
        """Return f at the rows X (rows, n): (rows, k), on the device and in the dtype of X."""
        import torch

        example = X[:1].double()
        values = features(self._kernel, self._Z, example)
        coef, c = like(self._coef, example), like(self._c, example)
        f = torch.empty((X.shape[0], len(self._c)), dtype=X.dtype, device=X.device)
        size = block_rows(X, 8 * len(self._Z))
        for start in range(0, X.shape[0], size):
            rows = slice(start, start + size)
            f[rows] = (values(X[rows].double()) @ coef + c).to(X.dtype)
        return f


@contextmanager
def enough_memory(work: str, instead: str) -> Iterator[None]:
    """Say which work did not fit into the memory of a device, and what to do ``instead``."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":  # PyTorch's, which need not be installed
            raise
        raise MemoryError(
            f"The device has not enough memory for {work}: {str(error).partition('. ')[0]}. "
            f"{instead}, or free what other tensors take (torch.cuda.empty_cache()), or pass "
            "NumPy arrays, which are worked on by the CPU in blocks."
        ) from error
