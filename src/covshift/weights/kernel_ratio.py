"""What KLIEP and the least-squares ratios share: Gaussian kernels at points of the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from ..data.parameters import VERBOSE, Rules, flag, whole
from ..numerics.array import Real, Whole
from ..numerics.parallel import one_blas_thread
from .base import LARGEST_EXPONENT, Weighter
from .points import (
    CANDIDATES,
    Distinct,
    blocks,
    distinct,
    draw_centers,
    squared_distances,
    typical_distance,
)
from .problem import Problem


@dataclass(frozen=True)
class Setting:
    """Both samples in the units of the kernel, and its centres."""

    X: Real  # (N, n)
    own: Real  # (N,)
    target: Distinct
    chosen: Whole  # (b,): which of its values are centres
    unit: float  # typical distance of the centres
    rng: np.random.RandomState

    @property
    def centers(self) -> Real:
        """The centres (b, n)."""
        return self.target.points[self.chosen]


class KernelRatio(Weighter):
    """Base of the ratios w(x) = [sum_l a_l K(x, c_l)]_+ with a Gaussian kernel.

    A subclass implements ``_choose(setting)``, which sets ``width_`` and returns log s_l and
    a_l s_l: kernels are divided by s_l, so that none overflows or vanishes.
    """

    _takes_sample_weight = True
    _rules: ClassVar[Rules] = {
        "width": CANDIDATES,
        "n_centers": whole(1),
        "standardize": flag(),
        "verbose": VERBOSE,
    }
    width_: float

    def __init__(
        self,
        width: Any = "cv",
        *,
        n_centers: int = 100,
        standardize: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.width = width
        self.n_centers = n_centers
        self.standardize = standardize
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, problem: Problem) -> Real:
        rng = check_random_state(self.random_state)
        self._units = problem.units(standardize=self.standardize)
        X, target = self._units(problem.X), distinct(self._units(problem.T), problem.share)
        chosen = draw_centers(target.points, target.share, self.n_centers, rng)
        self.centers_ = target.points[chosen]  # (b, n)
        unit = typical_distance(self.centers_, X)
        with one_blas_thread((len(X) + len(target.points)) * len(chosen)):
            setting = Setting(X, problem.own, target, chosen, unit, rng)
            self._log_unit, self._amount = self._choose(setting)
            used = self._amount != 0
            self.coef_ = np.zeros(len(used))
            largest = np.minimum(-self._log_unit[used], LARGEST_EXPONENT)
            self.coef_[used] = self._amount[used] * np.exp(largest)
            return self._values(X)

    def _choose(self, setting: Setting) -> tuple[Real, Real]:
        raise NotImplementedError

    def _ratio(self, X: Real) -> Real:
        return self._values(self._units(X))

    def _values(self, X: Real) -> Real:
        used, values = self._amount != 0, np.empty(len(X))
        centers, log_unit = self.centers_[used], self._log_unit[used]
        for block in blocks(len(X), len(centers)):
            exponent = squared_distances(X[block], centers) * (-0.5 / self.width_**2) - log_unit
            values[block] = np.exp(np.minimum(exponent, LARGEST_EXPONENT)) @ self._amount[used]
        return np.maximum(values, 0.0)


def gaussian(D: Real, width: float) -> Real:
    """Values of the kernel at squared distances."""
    exponent = D * (-0.5 / width**2)
    return np.exp(exponent, out=exponent)
