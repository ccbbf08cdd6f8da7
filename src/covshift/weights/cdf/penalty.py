"""How strong the penalty of the CDF weights is: by the target's noise, or by held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.utils import check_random_state

from ...data.row_weights import shares_of
from ...numerics.array import Real
from ...numerics.folds import fold_of, held_shares
from ..points import Distinct
from .matching import Match, Matching
from .thresholds import ThresholdMatching
from .views import TargetSide

WEAKEST = 0.01  # weaker penalties did not lower errors in trials, and cost effective sample size
NEARLY_NONE = 1e-4  # stands for no penalty, where the overlap is in doubt
_GRID = np.geomspace(100.0, WEAKEST, 9)  # two a decade, from nearly equal weights on
ROUGH = 1e-3  # tolerance of the weights during a search
_SEARCHES = 12  # penalties at most, each a fit from the one before
_FOLDS = 5  # four fifths of the rows are about as many as all
_CLOSE = 0.9  # a mismatch from here to one times its limit ends the search
_TINY = np.finfo(np.float64).tiny  # its logarithm is finite
_STRICT = 0.1  # share of the noise that a plain shift may leave as mismatch


def sampling_noise(target: TargetSide, M: float) -> float:
    """Mean squared distance of M target rows' distribution functions from the true ones.

    One row has no information about it: no distance is too large then.
    """
    return target.spread / (M - 1) if M > 1 else np.inf


def noise_limit(noise: float, both: float, unweighted: float) -> float:
    """Mismatch that the target's sampling noise allows, from that of ``both`` samples.

    All of it where the samples are no farther apart than two samples of one distribution, so that
    the weights stay near one; a tenth of it under a plain shift, because what is left of a shift
    is systematic: it adds up over the features, where noise averages out.
    """
    alike = (both / unweighted) ** 2 if unweighted > 0 else 1.0
    return noise * min(max(alike, _STRICT), 1.0)


def by_discrepancy(problem: Matching | ThresholdMatching, limit: float, alarm: float) -> Match:
    """The largest penalty whose mismatch is within ``limit``, or `WEAKEST` where none is.

    The mismatch falls with the penalty; secants in logarithms, each solution starting the next.
    Where no weights bring the mismatch below ``alarm``, the search ends at weights whose mismatch
    is at most twice the smallest: weaker penalties would rest on a few rows for little.
    """
    above = problem.unweighted()
    if above.mismatch <= limit:
        return above
    reg = max(problem.N * problem.target.spread, 10 * WEAKEST)
    below: Match | None = None
    slope = 1.0  # of log mismatch over log penalty
    for _ in range(_SEARCHES):
        match = problem.solve(reg, above if below is None else below, ROUGH)
        if match.bound > max(alarm, match.mismatch / 2):
            return match
        if match.mismatch > limit:
            if np.isfinite(above.reg) and match.reg < above.reg:
                slope = _slope(match, above)
            above = match
            if reg <= WEAKEST:
                return above
        else:
            below = match
            if match.mismatch >= _CLOSE * limit:
                break
        reg = _next(above, below, limit, slope)
    return below if below is not None else above


def _slope(one: Match, other: Match) -> float:
    rise = np.log(other.mismatch / one.mismatch) / np.log(other.reg / one.reg)
    return float(np.clip(rise, 0.3, 2.0))


def _next(above: Match, below: Match | None, limit: float, slope: float) -> float:
    """Penalty at which a straight line in logarithms meets a little less than the limit."""
    aim = np.log(max(limit * (1 + _CLOSE) / 2, _TINY))  # constants: the limit is zero
    if below is None:
        step = (np.log(above.mismatch) - aim) / slope
        return float(max(above.reg * np.exp(-np.clip(step, 0.05, 5.0)), WEAKEST))
    if np.isinf(above.reg):
        return below.reg * 4
    low, high = np.log(max(below.mismatch, _TINY)), np.log(above.mismatch)
    share = float(np.clip((aim - low) / (high - low), 0.1, 0.9))
    return float(below.reg ** (1 - share) * above.reg**share)


def overlap(problem: Matching | ThresholdMatching, match: Match, limit: float) -> bool:
    """Whether some weights bring the mismatch down to ``limit``, the noise of both samples.

    Weaker and weaker penalties are tried, until the mismatch is low enough or proven not to be.
    """
    while match.mismatch > limit:
        if match.bound > limit:
            return False
        if match.reg <= NEARLY_NONE:
            return not match.converged  # an unfinished solution proves nothing
        reg = min(match.reg, problem.N * problem.target.spread) / 10
        match = problem.solve(max(reg, NEARLY_NONE), match, ROUGH)
    return True


def by_folds(
    fit: Callable[[Real, Real, Real, Real], Matching | ThresholdMatching],
    X: Real,
    own: Real,
    target: Distinct,
    *,
    random_state: object,
) -> tuple[Real, Real]:
    """Held-out criterion E_p[w^2] / 2 - E_q[w] of each penalty of a grid; (grid, scores).

    Half the squared error of w as a density ratio, up to a constant (Kanamori, Hido and Sugiyama,
    2009). ``own`` are the shares of the rows X. ``fit`` sets up the problem for part of the rows.
    """
    rng = check_random_state(random_state)
    n_folds = min(_FOLDS, len(X), target.size)
    if n_folds < 2:
        return _GRID[-1:], np.zeros(1)
    folds_X, shares_T = (
        fold_of(X, n_folds, rng),
        held_shares(target.share, target.repeats, n_folds, rng),
    )
    scores = np.zeros(len(_GRID))
    for fold in range(n_folds):
        out_X, out_T = folds_X == fold, shares_T[:, fold]
        held, kept = out_T > 0, out_T < target.share
        rest = (target.share - out_T)[kept]
        problem = fit(X[~out_X], shares_of(own[~out_X]), target.points[kept], rest / rest.sum())
        tests = X[out_X], target.points[held]
        test_X, test_T = (problem.target.rows(rows) for rows in tests)
        share = out_T[held] / out_T[held].sum()
        weight = shares_of(own[out_X])
        for k, match in enumerate(_path(problem)):
            squares = match.ratio(test_X) ** 2
            scores[k] += float(weight @ squares / 2 - share @ match.ratio(test_T)) / n_folds
    return _GRID, scores


def _path(problem: Matching | ThresholdMatching) -> Iterator[Match]:
    match = problem.unweighted()
    for reg in _GRID:
        match = problem.solve(float(reg), match, ROUGH)
        yield match
