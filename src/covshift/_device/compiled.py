"""Gaussian kernel values on a GPU in one pass, by compiled kernels (Triton comes with PyTorch).

Written with tensors, a value passes through memory four times (distance, cut at zero, exponential,
weight). A compiled kernel writes it once: as a number, for sums into bins, or as digits to the base
128, for products with the 0/1 dominance matrix, which are then exact products of whole numbers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .._types import Real
from .products import DIGITS, SIZES, whole_products

_MOST_FEATURES = 64  # which the kernels unroll
_VALUES = {"ROWS": 8, "COLUMNS": 128}  # a program writes
_DIGITS = {"ROWS": 64, "COLUMNS": 16}


class CompiledGaussian:
    """w exp(-gamma |x - z|^2) for the landmarks Z (D, n), on one device."""

    def __init__(self, gamma: float, Z: Real, example: Any) -> None:
        import torch

        self._root, center = float(np.sqrt(gamma)), Z.mean(axis=0)
        z = (Z - center) * self._root
        self.count = len(Z)
        self._center, self._z, self._squares = (
            torch.asarray(part, device=example.device)
            for part in (center, np.ascontiguousarray(z.T), (z**2).sum(axis=1))
        )

    def write(self, X: Any, w: Any, out: Any) -> None:
        """Write the values of the rows X (b, n), of weights w (b,), to ``out`` (b, D), float64."""
        from .gaussian_kernels import write_values

        given, grid = self._given(X, w, out, _VALUES)
        write_values[grid](*given, out.stride(0), FEATURES=X.shape[1], **_VALUES)

    def digits(self, X: Any, w: Any) -> Any:
        """Return values of at most one as digits: (DIGITS, D, b) of int8, D and b rounded up."""
        import torch

        from .gaussian_kernels import write_digits

        D, b = (-(-size // SIZES) * SIZES for size in (self.count, X.shape[0]))
        out = torch.zeros((DIGITS, D, b), dtype=torch.int8, device=X.device)
        given, grid = self._given(X, w, out, _DIGITS)
        write_digits[grid](*given, b, D * b, FEATURES=X.shape[1], DIGITS=DIGITS, **_DIGITS)
        return out

    def _given(self, X: Any, w: Any, out: Any, tile: dict[str, int]) -> tuple[Any, Any]:
        x = ((X.double() - self._center) * self._root).contiguous()
        b = len(x)
        grid = (-(-b // tile["ROWS"]), -(-self.count // tile["COLUMNS"]))
        given = (x, (x**2).sum(dim=1), w.contiguous(), self._z, self._squares, out, b, self.count)
        return given, grid


def compiled_gaussian(kernel: Any, Z: Real, example: Any) -> CompiledGaussian | None:
    """Return the compiled form of a Gaussian kernel, where the device has it."""
    if example.device.type != "cuda" or kernel.name != "rbf" or Z.shape[1] > _MOST_FEATURES:
        return None
    return CompiledGaussian(kernel.gamma, Z, example) if _has_triton() else None


def digits_serve(X: Any) -> bool:
    """Whether products of whole numbers serve rows X (b, n)."""
    return len(X) >= 1 << 14 and whole_products(X.device)


@cache
def _has_triton() -> bool:
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True
