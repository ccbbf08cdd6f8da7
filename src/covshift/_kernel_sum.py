"""A sum of kernels with one relevance per feature (theory, eq. 3.10).

    K(u, v) = a_1 sum_k u_k v_k / n                          linear
            + a_2 exp(-sum_k r_k (u_k - v_k)^2 / 2)          "rbf": smooth, all features together
            + a_3 exp(-q sum_k sqrt(r_k) |u_k - v_k|)        "laplacian": rough, as trees are
            + a_4 sum_k exp(-q sqrt(r_k) |u_k - v_k|) / n    "main_effects": one feature at a time

The width of feature k is 1 / sqrt(r_k): a feature of relevance zero plays no part. The amplitudes
a are in units of the noise, so that reg = 1 is the penalty of largest evidence
(`covshift.machine.evidence` finds them).

Columns of one feature, such as the levels of a category, count as one: n is the number of features,
and |u - v| of a feature is the sum over its columns over sqrt 2 (`covshift._groups`), one for two
rows of different levels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from ._fields import NONNEGATIVE, POSITIVE, Kind, Maybe, OrNone, Reals, Wholes
from ._gaussian import Gaussian
from ._groups import gap_factors, members
from ._parallel import over_rows
from ._types import Real, Rows

PARTS = ("linear", "rbf", "laplacian", "main_effects")
_ENTRIES = 1 << 17  # kernel values that a thread works on at a time: they stay in its cache


@dataclass(frozen=True)
class KernelSum:
    """K(u, v) on coordinates; a part of amplitude zero is not computed."""

    relevance: Real  # (n,), the r_k
    linear: float = 0.0
    rbf: float = 0.0
    laplacian: float = 0.0
    main_effects: float = 0.0
    ratio: float = 1.0  # q
    groups: Rows | None = None  # (n,), of the columns, where some of them are one feature

    _saved: ClassVar[dict[str, Kind]] = {
        "relevance": Reals("n", least=0),
        "linear": NONNEGATIVE,
        "rbf": NONNEGATIVE,
        "laplacian": NONNEGATIVE,
        "main_effects": NONNEGATIVE,
        "ratio": POSITIVE,
        "groups": Maybe(OrNone(Wholes("n", below="n"))),
    }

    @property
    def name(self) -> str:
        """What it is called where a kernel's name is asked for."""
        return "sum"

    @property
    def width(self) -> Real:
        """Width of every feature in the Gaussian part: (n,)."""
        return np.asarray(1 / np.sqrt(self.relevance))

    @property
    def amplitudes(self) -> dict[str, float]:
        """Amplitude of each part that plays one."""
        return {part: getattr(self, part) for part in PARTS if getattr(self, part) > 0}

    @property
    def features(self) -> list[list[int]]:
        """Columns of every feature."""
        if self.groups is None:
            return [[k] for k in range(len(self.relevance))]
        return members(self.groups)

    @property
    def gap_roots(self) -> Real:
        """What every column is multiplied by where differences are added without squares: (n,)."""
        root = np.sqrt(self.relevance)
        return np.asarray(root if self.groups is None else root * gap_factors(self.groups))

    def __call__(self, U: Real, Z: Real) -> Real:
        """Kernel values of the rows of U (a, n) with those of Z (b, n): (a, b)."""
        K, fill = np.empty((len(U), len(Z))), self.values_at(Z)
        size = max(1, 2 * _ENTRIES // len(Z))
        over_rows(lambda rows: fill(U[rows], K[rows]), len(U), at_least=size)
        return K

    def values_at(self, Z: Real) -> Callable[[Real, Real], None]:
        """Return what writes the values of rows U (a, n) with Z (b, n) to an array (a, b)."""
        size, features = max(1, _ENTRIES // len(Z)), self.features
        n, root, gap_root = len(features), np.sqrt(self.relevance), self.gap_roots
        smooth, flat = Gaussian(1.0, Z * root), Z * gap_root

        def write(U: Real, K: Real) -> None:
            if self.rbf:
                smooth.fill(U * root, K)
                K *= self.rbf
            else:
                K[:] = 0.0
            if self.linear:
                K += self.linear / n * (U @ Z.T)
            u = U * gap_root
            if self.laplacian:
                K += self.laplacian * np.exp(-self.ratio * cdist(u, flat, "cityblock"))
            if self.main_effects:
                for k in features:
                    gap = cdist(u[:, k], flat[:, k], "cityblock")
                    K += self.main_effects / n * np.exp(-self.ratio * gap)

        def fill(U: Real, out: Real) -> None:
            for start in range(0, len(U), size):
                write(U[start : start + size], out[start : start + size])

        return fill
