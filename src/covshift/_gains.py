"""Whether the best of several contenders is clearly better than the baseline: one rule for all.

All contenders are judged by their losses on the same rows, paired with the baseline's. With the
differences g_ij = loss_i(baseline) - loss_i(contender j) and the weights w_i of the rows, the gain
of contender j and its standard error are

    G_j = sum_i w_i g_ij / sum w ,    s_j^2 = sum_i psi_ij^2 ,
    psi_ij = (N / (N - 1))^(1/2) w_i (g_ij - G_j) / sum w .

If no contender were better, the best of k would still look good by luck; how good, depends on how
alike they are. The multiplier bootstrap answers it: multiply the centred psi by independent
standard normal xi_i and take the largest statistic, T* = max_j sum_i xi_i psi_ij / s_j. A gain is
clear where G_j / s_j exceeds the 1 - level quantile of T*. Given the rows, (sum_i xi_i psi_ij /
s_j)_j is exactly normal with the correlations of the psi, so it is drawn from these, O(k^2)
numbers, and no multiplier is needed. Contenders that are nearly one cost nearly nothing, where
Bonferroni's correction would charge for all of them; independent ones cost what they cost there.

Sources: Chernozhukov, Chetverikov and Kato (2013), *Gaussian approximations and multiplier
bootstrap for maxima of sums of high-dimensional random vectors*; Romano and Wolf (2005), *Stepwise
multiple testing as formalized data snooping*, for the studentised maximum: the chance that any
contender without a gain is called clear is at most ``level``, so the best of those that are clear
may be taken. The tail that the quantile leaves is read in Student's distribution, with one degree
of freedom less than Kish's effective number of rows: twenty rows do not recommend by luck.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from ._types import Real

CLEAR = 0.05
"""Level of a recommendation: to change the model where nothing is gained is an error."""

_DRAWS = 20_000
_ROUNDING = 1e-12  # of the largest loss: differences below it are none


@dataclass(frozen=True)
class Gains:
    """Gains of k contenders over the baseline, and what tells luck from them."""

    values: Real  # (k,)
    errors: Real  # (k,), zero where every row gains the same
    correlation: Real  # (k, k) of their estimates; zero for those without an error
    size: float  # effective number of rows

    def needed(self, level: float = CLEAR) -> float:
        """Return how many standard errors a gain must exceed to be clear among all of them."""
        varying = np.flatnonzero((self.errors > 0) & np.isfinite(self.errors))
        one, all_apart = -ndtri(level), -ndtri(level / max(1, len(varying)))
        quantile = float(one)
        if len(varying) > 1:
            root = _root(self.correlation[np.ix_(varying, varying)])
            draws = np.random.default_rng(0).standard_normal((_DRAWS, len(varying)))
            drawn = np.quantile((draws @ root).max(axis=1), 1 - level)
            quantile = float(np.clip(drawn, one, all_apart))  # between these it must be
        freedom = max(1.0, self.size - 1)
        return float(-stdtrit(freedom, ndtr(-quantile)))

    def clear(self, level: float = CLEAR) -> NDArray[np.bool_]:
        """Tell which gains are clear: (k,)."""
        return (self.values > 0) & (self.values > self.needed(level) * self.errors)


def paired_gains(reference: Real, losses: Real, w: Real) -> Gains:
    """Compare losses (k, N) with those of the baseline (N,) on rows of weights w (N,)."""
    differences = reference[:, None] - np.asarray(losses).reshape(-1, len(reference)).T  # (N, k)
    differences[np.abs(differences) <= _ROUNDING * np.abs(reference).max(initial=0)] = 0.0
    values, psi = weighted_means(differences, w)
    errors = np.sqrt((psi**2).sum(axis=0))
    constant = ~np.isfinite(errors) | (errors <= _ROUNDING * np.abs(differences).max(axis=0))
    units = np.where(constant, 1.0, errors)
    psi = np.where(constant, 0.0, psi / units)
    if len(reference) > 1:
        errors = np.where(constant, 0.0, errors)
    size = float(w.sum() ** 2 / (w @ w))
    return Gains(values, errors, psi.T @ psi, size)


def weighted_means(Y: Real, w: Real) -> tuple[Real, Real]:
    """Return the weighted means (k,) of the columns of Y (N, k), and the influence of each row.

    The influence (N, k) holds psi as above: its squares sum to the squared standard error. From a
    single row it is infinite.
    """
    N, total = len(Y), w.sum()
    unit = np.abs(Y).max(axis=0, initial=0)  # so that squares do not overflow
    unit = np.where(unit > 0, unit, 1.0)
    means = w @ (Y / unit) / total
    if N == 1:
        return means * unit, np.full(Y.shape, np.inf)
    psi = np.sqrt(N / (N - 1)) * (w / total)[:, None] * (Y / unit - means)
    return means * unit, psi * unit


def _root(correlation: Real) -> Real:
    """Return L with L'L = correlation, which may be singular."""
    values, vectors = np.linalg.eigh(correlation)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)
