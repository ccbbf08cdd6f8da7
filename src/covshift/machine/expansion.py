"""A fitted function: a sum of kernels and an intercept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._coordinates import OnCoordinates
from .._fields import Kind, OrNone, Part, Reals
from .._kernel_sum import KernelSum
from .._kernels import Kernel
from .._parallel import over_rows
from .._types import Real
from ..operators.base import blocks

_ENTRIES = 1 << 20  # kernel values that a thread holds at a time


@dataclass(frozen=True)
class Expansion:
    """f(x) = sum_i K(x, z_i) coef_i + c; without a kernel the rows given are K(x, Z) themselves."""

    kernel: Any  # of the rows; None: they are kernel values
    Z: Real  # (D, n)
    coef: Real  # (D, k)
    c: Real  # (k,)

    _saved: ClassVar[dict[str, Kind]] = {
        "kernel": OrNone(Part(Kernel, KernelSum, OnCoordinates, n="n")),
        "Z": Reals("D", "n"),
        "coef": Reals("D", "k"),
        "c": Reals("k"),
    }

    @classmethod
    def _from_saved(cls, kernel: Any, Z: Real, coef: Real, c: Real) -> Expansion:
        if kernel is None and Z.shape[1] != len(coef):
            raise ValueError("kernel values of other rows")
        return cls(kernel, Z, coef, c)

    def __call__(self, X: Real) -> Real:
        """Return f at the rows of ``X``: (rows, k), in blocks of bounded memory."""
        f = np.empty((len(X), len(self.c)))
        size = max(16, _ENTRIES // max(1, len(self.coef)))

        def fill(chunk: slice) -> None:
            for part in blocks(chunk.stop - chunk.start, size):
                rows = slice(chunk.start + part.start, chunk.start + part.stop)
                values = X[rows] if self.kernel is None else self.kernel(X[rows], self.Z)
                f[rows] = values @ self.coef + self.c

        over_rows(fill, len(X), at_least=size)
        return f
