"""Choose the penalty, and the kernel's width, by cross-validated error (theory, section 3.1).

Never by the V-loss: cumulative residuals are strongly dependent, and the V-loss of held-out rows
picks penalties far too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels import Kernel
from ..operators import VOperator
from .dual import Dual, small_factor
from .folds import Fold, part_of

Real = NDArray[np.float64]

N_PENALTIES = 20


@dataclass(frozen=True)
class Tuning:
    """Squared errors of held-out rows, and the choice that makes them least."""

    gammas: tuple[float | None, ...]
    regs: Real  # (P,)
    errors: Real  # (widths, P), mean squared error over the held-out rows

    @property
    def best(self) -> tuple[int, int]:
        """Position of the least error; among equals the strongest penalty."""
        width, reversed_reg = np.unravel_index(np.argmin(self.errors[:, ::-1]), self.errors.shape)
        return int(width), int(len(self.regs) - 1 - reversed_reg)

    @property
    def gamma(self) -> float | None:
        return self.gammas[self.best[0]]

    @property
    def reg(self) -> float:
        return float(self.regs[self.best[1]])


def penalties(K: Real, w: Real) -> Real:
    """Return the grid of penalties: eight decades around the scale of the kernel."""
    return kernel_scale(K, w) * np.logspace(-4, 4, N_PENALTIES)


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
    ``regs`` where the grid is not to be chosen.
    O(folds x widths x N^3) time, O(N^2) memory.
    """
    parts = [fold.rest(w) for fold in folds]
    factors = [small_factor(part_of(V, *part)) for part in parts]
    errors = []
    for kernel in kernels:
        values = kernel(X, X) if K is None else K
        regs = penalties(values, w) if regs is None else regs
        total = np.zeros(len(regs))
        for fold, (train, _), R in zip(folds, parts, factors, strict=True):
            held_out = values[np.ix_(fold.rows, train)]
            path = Dual(R, values[np.ix_(train, train)]).path(Y[train], regs)
            for j, (A, c) in enumerate(path):
                residuals = held_out @ A + c - Y[fold.rows]
                total[j] += fold.weight @ (residuals**2).sum(axis=1)
        errors.append(total / w.sum())
    return Tuning(tuple(kernel.gamma for kernel in kernels), np.asarray(regs), np.array(errors))
