"""Base of the weighters that know the logarithm of the density ratio."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .._fields import FINITE, Kind
from .._types import Real
from .base import Weighter

LARGEST_EXPONENT = 600.0  # far above any weight that is used, and exp() does not overflow


class LogRatioWeighter(Weighter):
    """Base of the weighters that know the logarithm of the density ratio, up to a constant.

    A subclass implements ``_fit_log(X, T, share)`` and ``_log_ratio(X)``; the exponential is taken
    relative to the largest training row, so that it cannot overflow.
    """

    _saved: ClassVar[dict[str, Kind]] = {"_largest": FINITE}

    def _fit(self, X: Real, T: Real, share: Real) -> Real:
        return self._exponential(self._fit_log(X, T, share))

    def _exponential(self, log_ratio: Real) -> Real:
        self._largest = float(log_ratio.max())
        if self._largest == -np.inf:
            return np.zeros_like(log_ratio)
        return np.exp(log_ratio - self._largest)

    def _ratio(self, X: Real) -> Real:
        return np.exp(np.minimum(self._log_ratio(X) - self._largest, LARGEST_EXPONENT))

    def _fit_log(self, X: Real, T: Real, share: Real) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _fit_log.")

    def _log_ratio(self, X: Real) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _log_ratio.")
