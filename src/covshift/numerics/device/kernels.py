"""Kernel values on a device, and what is made of them block by block (PyTorch)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..array import Array, Real, is_numpy, like
from ..coordinates import OnCoordinates
from ..kernels import KernelSum

KERNELS = ("rbf", "laplacian", "linear")
"""Kernels that are computed on the device."""

_BLOCK_BYTES = {"cuda": 2 << 30, "cpu": 64 << 20}  # of kernel values: larger blocks are not faster


def features(kernel: Any, Z: Real, example: Array) -> Callable[[Array], Array]:
    """Return what computes K(x, Z) (b, D) of rows (b, n) where ``example`` lies."""
    points = like(Z, example)
    return lambda X: _values(kernel, X, points)


def _values(kernel: Any, X: Any, Z: Any) -> Any:
    """Kernel values of the rows X (b, n) with those of Z (D, n), both in double precision."""
    if isinstance(kernel, OnCoordinates):
        return _values(kernel.kernel, kernel.coordinates(X), kernel.coordinates(Z))
    if isinstance(kernel, KernelSum):
        return _sum(kernel, X, Z)
    gamma = 0.0 if kernel.gamma is None else kernel.gamma  # "linear" has no width
    if kernel.name == "linear":
        return X @ Z.T
    return _gaussian(X, Z, gamma) if kernel.name == "rbf" else _laplacian(X, Z, gamma)


def _sum(kernel: KernelSum, X: Any, Z: Any) -> Any:
    n, root, gap_root = len(kernel.features), np.sqrt(kernel.relevance), kernel.gap_roots
    K = (X @ Z.T).mul_(kernel.linear / n)
    if kernel.rbf:
        wide = like(root, X)
        K += _gaussian(X * wide, Z * wide, 0.5).mul_(kernel.rbf)
    if kernel.laplacian or kernel.main_effects:
        wide = like(gap_root, X)
        X, Z = X * wide, Z * wide
    if kernel.laplacian:
        K += _laplacian(X, Z, kernel.ratio).mul_(kernel.laplacian)
    if kernel.main_effects:
        for k in kernel.features:
            K += _laplacian(X[:, k], Z[:, k], kernel.ratio).mul_(kernel.main_effects / n)
    return K


def _laplacian(X: Any, Z: Any, gamma: float) -> Any:
    import torch

    return torch.cdist(X, Z, p=1.0).mul_(-gamma).exp_()


def _gaussian(X: Any, Z: Any, gamma: float) -> Any:
    """exp(-gamma |x - z|^2), by |x - z|^2 = |x|^2 - 2 x'z + |z|^2 from the mean of the z."""
    import torch

    center = Z.mean(dim=0)
    X, Z = X - center, Z - center
    exponent = torch.addmm(-gamma * (Z**2).sum(dim=1), X, Z.T, alpha=2 * gamma)
    exponent -= gamma * (X**2).sum(dim=1, keepdim=True)
    return exponent.clamp_(max=0.0).exp_()


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
