"""Choose the penalty, and the kernel's width, by cross-validated error (theory, section 3.1).

Never by the V-loss: cumulative residuals are strongly dependent, and the V-loss of held-out rows
picks penalties far too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._folds import Fold, part_of
from .._kernels import Kernel
from .._types import Real
from ..operators import VOperator
from .dual import Dual, small_factor

_SMALLEST = -4.0  # decades below the scale of the kernel
_STEP = 8 / 19  # decades from one penalty to the next


@dataclass(frozen=True)
class Tuning:
    """Squared errors of held-out rows, and the choice that makes them least."""

    widths: tuple[float | None, ...]
    regs: Real  # (widths, P)
    errors: Real  # (widths, P), mean squared error over the held-out rows

    @property
    def best(self) -> tuple[int, int]:
        """Position of the least error; among equals the strongest penalty."""
        row, reversed_reg = np.unravel_index(np.argmin(self.errors[:, ::-1]), self.errors.shape)
        return int(row), int(self.errors.shape[1] - 1 - reversed_reg)

    @property
    def width(self) -> float | None:
        return self.widths[self.best[0]]

    @property
    def reg(self) -> float:
        return float(self.regs[self.best])


def penalties(scale: float, weight: float) -> Real:
    """Return the grid of penalties for a kernel of this scale and rows of this weight in all.

    From 1e-4 of the scale to where nothing but the constant is left: with N rows, centred K and a V
    of unit mean diagonal, R K R' has no eigenvalue above N^2 times the scale.
    """
    largest = max(4.0, 2 * float(np.log10(weight)))
    steps = int(np.ceil(round((largest - _SMALLEST) / _STEP, 6)))
    return np.asarray(scale * 10.0 ** (_SMALLEST + _STEP * np.arange(steps + 1)))


def kernel_scale(K: Real, w: Real) -> float:
    """Mean of the centred kernel's diagonal, over rows of weights w (N,)."""
    share = w / w.sum()
    scale = float(share @ np.diag(K) - share @ K @ share)
    return scale if scale > 1e-12 * float(np.abs(np.diag(K)).max()) else 1.0


def tune_dual(
    V: VOperator,
    X: Real,
    Y: Real,
    w: Real,
    kernels: Sequence[Kernel],
    folds: Sequence[Fold],
    K: Real | None = None,
    regs: Real | None = None,
) -> Tuning:
    """Cross-validate the exact machine, one decomposition a fold and width.

    V of a fold's training rows is a part of V. ``K`` is given where the kernel is precomputed,
    ``regs`` (P,) where the grid is not to be chosen; else every width has its own.
    O(folds x widths x N^3) time, O(N^2) memory.
    """
    parts = [fold.rest(w) for fold in folds]
    factors = [small_factor(part_of(V, *part)) for part in parts]
    grids, errors = [], []
    for kernel in kernels:
        values = kernel(X, X) if K is None else K
        grid = penalties(kernel_scale(values, w), float(w.sum())) if regs is None else regs
        total = np.zeros(len(grid))
        for fold, (train, _), R in zip(folds, parts, factors, strict=True):
            held_out = values[np.ix_(fold.rows, train)]
            path = Dual(R, values[np.ix_(train, train)]).path(Y[train], grid)
            for j, (A, c) in enumerate(path):
                residuals = held_out @ A + c - Y[fold.rows]
                total[j] += fold.weight @ (residuals**2).sum(axis=1)
        grids.append(grid)
        errors.append(total / w.sum())
    return Tuning(tuple(kernel.width for kernel in kernels), np.array(grids), np.array(errors))
