"""Scores of calibration rows, and what the target makes of them.

The doubly robust threshold moves the weighted distribution of the scores by what
`covshift.estimate` finds at the weighted quantile c_0: with F_dr(c_0) the doubly robust share of
target rows whose score is at most c_0,

    F(c) = F_w(c) + F_dr(c_0) - F_w(c_0) .

It has the coverage in large samples if either the weights or the model of the scores is right.

Source: Yang, Kuchibhotla and Tchetgen Tchetgen (2024), *Doubly robust calibration of prediction
sets under covariate shift*.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from .._types import Flags, Real
from .._validation import is_margins
from ..estimates import Estimates, estimate
from ..exceptions import NoOverlapError
from .data import LabelledRows
from .distribution import ScoreDistribution
from .result import ExpectedCoverage

_Z = 1.959963984540054  # of a 95 % interval
_LEAST = 20  # rows from which `estimate` carries a share to the target


def lifted(
    distribution: ScoreDistribution, scores: Real, rows: LabelledRows, coverage: float
) -> ScoreDistribution:
    """Move the distribution to its doubly robust value at the quantile.

    It stays where the target has rows unlike all calibration rows, of which no model knows: new
    rows there have infinite intervals by either threshold.
    """
    if rows.target is None or is_margins(rows.target) or len(rows) < _LEAST:
        return distribution
    c = float(distribution.thresholds(coverage, np.zeros(1))[0])
    inside = np.asarray(scores <= c, dtype=np.float64)
    if np.ptp(inside) == 0:
        return distribution
    try:
        share = _carried(inside, rows).table.where(method="dr")[0].value
    except NoOverlapError:
        return distribution
    upto = distribution.upto
    lift = share * distribution.total - float(upto[np.searchsorted(distribution.scores, c)])
    return replace(distribution, upto=np.clip(upto + lift, 0.0, None))


def expected(covered: Flags, rows: LabelledRows, by: Any = None) -> ExpectedCoverage:
    """Carry the share of covered calibration rows to the target."""
    values = np.asarray(covered, dtype=np.float64)
    if rows.target is None:
        return _plain(values, rows.design)
    if len(values) < _LEAST:
        note = f"{len(values)} calibration rows are too few to estimate it."
        return ExpectedCoverage(float("nan"), float("nan"), (0.0, 1.0), note=note)
    try:
        found = _carried(values, rows, by)
    except NoOverlapError as error:
        note = str(error).partition(". ")[0] + "."
        return ExpectedCoverage(float("nan"), float("nan"), (0.0, 1.0), note=note)
    whole = found.table.where(method="dr", group=None)[0]
    groups = {
        row.group: (_share(row.value), _within(row.interval))
        for row in found.table.where(method="dr")
        if row.group is not None
    }
    return ExpectedCoverage(
        _share(whole.value), whole.standard_error, _within(whole.interval), groups
    )


def _carried(values: Real, rows: LabelledRows, by: Any = None) -> Estimates:
    """Estimate the mean of the values in the target."""
    given: dict[str, Any] = dict(rows.of_target)
    if rows.design is not None:
        given["sample_weight"] = rows.design
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimate(values, rows.X, rows.target, by=by, **given)


def _plain(values: Real, design: Real | None) -> ExpectedCoverage:
    """Wilson's interval of a share, of the sample itself."""
    w = np.ones(len(values)) if design is None else design
    n, p = float(w.sum() ** 2 / (w @ w)), float(w @ values / w.sum())
    middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * np.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    error = float(np.sqrt(p * (1 - p) / n))
    return ExpectedCoverage(p, error, _within((middle - half, middle + half)))


def _share(value: float) -> float:
    return float(min(1.0, max(0.0, value)))


def _within(interval: tuple[float, float]) -> tuple[float, float]:
    return _share(interval[0]), _share(interval[1])
