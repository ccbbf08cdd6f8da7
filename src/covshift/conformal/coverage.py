"""Scores of calibration rows, and what the target makes of them.

With F_w(c) the weighted share of calibration rows whose score is at most c, and F_dr(c) that of
`covshift.estimate` with the same weights and a cross-fitted model of the share given x, the doubly
robust threshold uses

    F(c) = F_w(c) + F_dr(c*) - F_w(c*) ,   F_dr(c*) = 1 - alpha ,

c* found by false position, between F_dr = 0 below all scores and one at the largest. It has the
coverage in large samples if either the weights or the model of the scores is right. Cost: two to
five estimates for each coverage and group.

Source: Yang, Kuchibhotla and Tchetgen Tchetgen (2024), *Doubly robust calibration of prediction
sets under covariate shift*.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.validation import is_margins
from ..engine.label_shift import Shares
from ..estimates import Estimates, Ratio, estimate
from ..exceptions import NoOverlapError
from ..numerics.array import Flags, Real, Rows, row_count
from ..numerics.quiet import quiet
from .data import LabelledRows
from .result import ExpectedCoverage
from .scores import ScoreDistribution

_Z = 1.959963984540054  # of a 95% interval
_LEAST = 20  # rows from which `estimate` carries a share to the target
_STEPS = 5
_CLOSE = 1.0  # standard errors to the coverage at which the search ends


def lifted(
    distribution: ScoreDistribution,
    scores: Real,
    rows: LabelledRows,
    factor: Real,
    coverage: float,
) -> ScoreDistribution:
    """Move the distribution to its doubly robust value where that is the coverage.

    ``factor`` (n,) are the weights of the rows without those of the design. Without target rows, or
    where they do not overlap with the calibration rows, nothing is known, and nothing moves.
    """
    if rows.target is None or is_margins(rows.target) or len(rows) < _LEAST:
        return distribution
    if not row_count(rows.target) or not distribution.total > 0:
        return distribution
    try:
        lift = _lift(distribution, scores, rows, factor, coverage)
    except NoOverlapError:
        return distribution
    return replace(distribution, upto=np.clip(distribution.upto + lift, 0.0, None))


def _lift(
    distribution: ScoreDistribution,
    scores: Real,
    rows: LabelledRows,
    factor: Real,
    coverage: float,
) -> float:
    """Weight by which F_w falls short of F_dr where the latter is the coverage."""
    total, level = distribution.total, coverage
    below, above = (0.0, 0.0), (1.0, 1.0)  # F_w and F_dr on both sides of c*
    nearest, lift = np.inf, 0.0
    for _ in range(_STEPS):
        c = float(distribution.thresholds(level, np.zeros(1)).scores[0])
        weighted = float(distribution.upto[np.searchsorted(distribution.scores, c)]) / total
        share, error = _share_upto(c, scores, rows, factor)
        gap = abs(share - coverage)
        if gap < nearest:
            nearest, lift = gap, total * (share - weighted)
        if gap <= _CLOSE * error or not below[0] < weighted < above[0]:
            break
        if share < coverage:
            below = weighted, share
        else:
            above = weighted, share
        rise = (coverage - below[1]) / (above[1] - below[1])
        level = below[0] + rise * (above[0] - below[0])
    return lift


def _share_upto(c: float, scores: Real, rows: LabelledRows, factor: Real) -> tuple[float, float]:
    """Share of the target with a score of at most c, doubly robust, and its standard error."""
    inside = np.asarray(scores <= c, dtype=np.float64)
    if np.ptp(inside) == 0:
        return float(inside[0]), 0.0
    found = _carried(inside, rows, weighter=factor).table.where(method="dr")[0]
    return _share(found.value), found.standard_error


def expected(covered: Flags, rows: LabelledRows, by: Any = None) -> ExpectedCoverage:
    """Carry the share of covered calibration rows to the target."""
    values = np.asarray(covered, dtype=np.float64)
    if rows.target is None:
        return _plain(values, rows.design, by)
    if len(values) < _LEAST:
        few = f"{len(values)} calibration rows are too few to estimate it."
        return ExpectedCoverage.unknown(few)
    try:
        found = _carried(values, rows, by)
    except NoOverlapError as error:
        return ExpectedCoverage.unknown(str(error).partition(". ")[0] + ".")
    whole = found.table.where(method="dr", group=None)[0]
    groups = {
        row.group: (_share(row.value), _within(row.interval))
        for row in found.table.where(method="dr")
        if row.group is not None
    }
    return ExpectedCoverage(
        _share(whole.value), whole.standard_error, _within(whole.interval), groups
    )


def expected_by_class(covered: Flags, rows: LabelledRows) -> ExpectedCoverage:
    """Carry the share of covered calibration rows to the target, of all and of each class.

    The class of a target row is not known: the share of a class is the ratio of the mean of
    "covered and of this class" and that of "of this class", both doubly robust.
    """
    if rows.target is None:
        return _plain(np.asarray(covered, dtype=np.float64), rows.design, rows.y)
    whole, groups = expected(covered, rows), {}
    if np.isnan(whole.value):
        return whole
    for name in np.unique(rows.y):
        inside = np.asarray(rows.y == name, dtype=np.float64)
        design = None if rows.design is None else rows.design[inside > 0]
        part = _plain(np.asarray(covered, dtype=np.float64)[inside > 0], design)
        if part.standard_error > 0:  # else all of them are covered, or none
            found = _carried(covered * inside, rows, what=Ratio(inside))
            row = found.table.where(method="dr")[0]
            groups[str(name)] = _share(row.value), _within(row.interval)
        else:
            groups[str(name)] = part.value, part.interval
    return replace(whole, groups=groups)


def expected_by_shares(
    covered: Flags,
    code: Rows,
    weights: Real,
    design: Real | None,
    shares: Shares,
    groups: NDArray[Any] | None,
) -> ExpectedCoverage:
    """Estimate the coverage under label shift, where that of a class is the same in both samples.

    sum_c pi_c k_c, k_c the covered share of the calibration rows of class c (``code`` (n,) their
    numbers); its variance is that of pi and those of the k_c. Groups weigh as their rows do.
    """
    d = np.ones(len(code)) if design is None else design
    pi, values = shares.value, np.asarray(covered, dtype=np.float64)
    k, own = np.zeros(len(pi)), 0.0
    for c in np.unique(code):
        part = _plain(values[code == c], d[code == c])
        k[c], own = part.value, own + (pi[c] * part.standard_error) ** 2
    moved = shares.influence.linear(k[None, :])
    error = float(np.sqrt(moved.standard_error(shares.problem.design)[0] ** 2 + own))
    p, parts = _share(float(pi @ k)), {}
    for group in () if groups is None else np.unique(groups):
        inside = groups == group
        one = _plain(values[inside], weights[inside])
        parts[str(group)] = one.value, one.interval
    if not 0 < p < 1 or not 0 < error < np.inf:
        return replace(_plain(values, weights), value=p, standard_error=error, groups=parts)
    logit, half = np.log(p / (1 - p)), _Z * error / (p * (1 - p))
    low, high = (float(1 / (1 + np.exp(-end))) for end in (logit - half, logit + half))
    return ExpectedCoverage(p, error, (low, high), parts)


def _carried(values: Real, rows: LabelledRows, by: Any = None, **options: Any) -> Estimates:
    """Estimate the mean of the values in the target."""
    given: dict[str, Any] = {**rows.of_target, **options}
    if rows.design is not None:
        given["sample_weight"] = rows.design
    with quiet():
        return estimate(rows.X, values, rows.target, by=by, **given)


def _plain(values: Real, design: Real | None, groups: Any = None) -> ExpectedCoverage:
    """Wilson's interval of a share, of the sample itself and of its groups (n,)."""
    w = np.ones(len(values)) if design is None else design
    parts = {}
    for group in () if groups is None else np.unique(groups):
        part = _plain(values[groups == group], w[groups == group])
        parts[str(group)] = part.value, part.interval
    n, p = float(w.sum() ** 2 / (w @ w)), float(w @ values / w.sum())
    middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * np.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    error = float(np.sqrt(p * (1 - p) / n))
    return ExpectedCoverage(p, error, _within((middle - half, middle + half)), parts)


def _share(value: float) -> float:
    return float(min(1.0, max(0.0, value)))


def _within(interval: tuple[float, float]) -> tuple[float, float]:
    return _share(interval[0]), _share(interval[1])
