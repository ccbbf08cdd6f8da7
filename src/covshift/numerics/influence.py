"""Errors from influence values: how much each row moves an estimate.

An estimate from two independent samples is, up to smaller terms, the truth plus a sum over the
training rows plus a sum over the target rows,

    theta_hat - theta = sum_i psi_i + sum_q chi_q ,

so that its variance is that of the two sums. Smooth functions of estimates have the influence
values of their linear part (the delta method), so errors of ratios, groups, differences and
coefficients all follow from those of means:

    R = a / b :    psi_R = (psi_a - R psi_b) / b .

The variance of a sum over rows follows the design: in stratum h of n_h primary units c (clusters,
or rows), drawn with replacement, with totals z_c of the influence values,

    Var = sum_h (1 - f_h) n_h / (n_h - 1) sum_c (z_c - mean_h z)^2 ,

f_h = 0 unless the share of its units that a stratum has in the sample is known (the finite
population correction of the first stage).

Sources: Särndal, Swensson and Wretman (1992), *Model assisted survey sampling*, section 5.5;
Hampel (1974), *The influence curve and its role in robust estimation*. Cost O(N k + M k).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .array import Flags, Real, Rows, Whole


@dataclass(frozen=True)
class Design:
    """Which rows were drawn together: units (clusters, or rows) within strata."""

    unit: Rows | None  # (N,), numbers of the primary units; None: every row is one
    stratum: Rows  # (units,), numbers of the strata
    lonely: int = 0  # strata of a single unit, whose spread is taken from all units
    sampled: Real | None = None  # (strata,): f, the share of the population's units that are here

    @classmethod
    def simple(cls, size: int) -> Design:
        """Rows drawn one by one."""
        return cls(None, np.zeros(size, dtype=np.intp))

    @classmethod
    def of(
        cls,
        size: int,
        strata: NDArray[Any] | None,
        cluster: NDArray[Any] | None,
        fpc: Real | None = None,
    ) -> Design:
        """Number strata and clusters; equal names of clusters in two strata are two clusters.

        ``fpc`` (N,) is the number of units in the population of the row's stratum, or f itself.
        """
        rows = None if strata is None else np.unique(strata, return_inverse=True)[1].reshape(-1)
        stratum = np.zeros(size, dtype=np.intp)
        if strata is not None:
            stratum = np.asarray(rows)
        unit = None
        if cluster is not None:
            named = np.unique(cluster, return_inverse=True)[1].reshape(-1)
            pairs = np.column_stack([stratum, named])
            found, unit = np.unique(pairs, axis=0, return_inverse=True)
            if len(found) < size:  # else every row is a cluster, and there are none
                unit, stratum = unit.reshape(-1), found[:, 0]
            else:
                unit = None
        counts = np.bincount(stratum)
        lonely = int((counts == 1).sum()) if len(counts) > 1 else 0
        sampled = None
        if fpc is not None:
            sampled = _sampled(fpc, np.zeros(size, np.intp) if rows is None else rows, counts)
        return cls(unit, stratum, lonely, sampled)

    @property
    def units(self) -> int:
        """Number of primary units."""
        return len(self.stratum)

    @property
    def _not_sampled(self) -> Real:
        """1 - f: (strata,)."""
        return np.ones(self.stratum.max() + 1) if self.sampled is None else 1 - self.sampled

    def degrees_within(self, rows: Flags) -> int:
        """Degrees of freedom of the units and strata that hold some of the rows (N,)."""
        units = np.flatnonzero(rows) if self.unit is None else np.unique(self.unit[rows])
        return len(units) - len(np.unique(self.stratum[units]))

    def totals(self, psi: Real) -> Real:
        """Sum the influence values (N, k) over the rows of each unit."""
        if self.unit is None:
            return psi
        return np.column_stack(
            [np.bincount(self.unit, weights=column, minlength=self.units) for column in psi.T]
        )

    def covariance(self, psi: Real) -> Real:
        """Covariance (k, k) of the sums of the influence values (N, k); infinite from one unit."""
        z = self.totals(psi)
        if self.units < 2:
            return np.full((z.shape[1], z.shape[1]), np.inf)
        counts = np.bincount(self.stratum)
        if len(counts) == 1:
            centred = z - z.mean(axis=0)
            factor = self.units / (self.units - 1) * self._not_sampled[0]
            return np.asarray(factor * (centred.T @ centred))
        sums = np.column_stack([np.bincount(self.stratum, weights=column) for column in z.T])
        means = sums / counts[:, None]
        means[counts == 1] = z.mean(axis=0)
        factor = np.where(counts == 1, 1.0, counts / np.maximum(counts - 1, 1))
        factor = (factor * self._not_sampled)[self.stratum]
        centred = z - means[self.stratum]
        return np.asarray((factor[:, None] * centred).T @ centred)


def _sampled(fpc: Real, stratum: Rows, units: Whole) -> Real:
    """Return f of each stratum, of so many ``units``, from the rows' sizes or shares."""
    found = np.zeros(len(units))
    for h in range(len(units)):
        values = fpc[stratum == h]
        if np.ptp(values) > 1e-9 * values.max():
            raise InputError(
                f"fpc differs within a stratum ({values.min():g} to {values.max():g}): it is the "
                "number of units in the population of a stratum, or the share that was drawn."
            )
        size = float(values[0])
        found[h] = size if size <= 1 else units[h] / size
        if not 0 < found[h] <= 1:
            raise InputError(
                f"fpc says that a stratum has {size:g} units in the population, but the sample "
                f"has {units[h]} of them. Units are the clusters where these are given, else rows."
            )
    return found


@dataclass(frozen=True)
class Influence:
    """Estimates (k,) with the influence of every training row (N, k) and target row (M, k).

    ``apart`` (k,) is how far they are from other estimates of the same, which counts as an error.
    """

    value: Real
    train: Real
    target: Real
    apart: Real | float = 0.0

    def linear(self, A: Real) -> Influence:
        """Return A theta, with A (j, k)."""
        apart = A @ np.broadcast_to(self.apart, self.value.shape)
        return Influence(A @ self.value, self.train @ A.T, self.target @ A.T, apart)

    def column(self, k: int) -> Influence:
        """Return one of the estimates."""
        apart = np.broadcast_to(self.apart, self.value.shape)[k : k + 1]
        kept = slice(k, k + 1)
        return Influence(self.value[kept], self.train[:, kept], self.target[:, kept], apart)

    def over(self, other: Influence) -> Influence:
        """Return the ratio of each estimate to one ``other`` estimate, or to those of another."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.value / other.value
            train = (self.train - ratio * other.train) / other.value
            target = (self.target - ratio * other.target) / other.value
            apart = (self.apart - ratio * other.apart) / other.value
        return Influence(ratio, train, target, apart)

    def minus(self, other: Influence) -> Influence:
        """Return the differences."""
        return Influence(
            self.value - other.value,
            self.train - other.train,
            self.target - other.target,
            self.apart - other.apart,
        )

    def times(self, factor: float) -> Influence:
        """Return multiples."""
        value, apart = factor * self.value, factor * self.apart
        return Influence(value, factor * self.train, factor * self.target, apart)

    def known_target(self) -> Influence:
        """Return the same where the target rows are the whole population."""
        return replace(self, target=np.zeros_like(self.target))

    def covariance(self, design: Design) -> Real:
        """Covariance (k, k) of the estimates: both samples' parts."""
        found = design.covariance(self.train)
        if self.target.any():
            found = found + Design.simple(len(self.target)).covariance(self.target)
        return np.asarray(found)

    def standard_error(self, design: Design) -> Real:
        """Standard errors (k,); they do not overflow where the influence values do not."""
        unit = max(np.abs(self.train).max(initial=0.0), np.abs(self.target).max(initial=0.0))
        if not (0 < unit < np.inf):
            return np.full(len(self.value), 0.0 if unit == 0 and design.units > 1 else np.inf)
        scaled = Influence(self.value, self.train / unit, self.target / unit)
        return np.asarray(unit * np.sqrt(np.diag(scaled.covariance(design))))


def mean_influence(values: Real, weight: Real) -> tuple[Real, Real]:
    """Weighted means (k,) of the columns (N, k), and the influence of each row.

    mu = sum w L / sum w ,  psi_i = w_i (L_i - mu) / sum w .
    """
    share = weight / weight.sum()
    means = share @ values
    return means, share[:, None] * (values - means)
