"""Metrics of a classifier as functions of masses on the score axis, with their derivatives.

Every row is an atom: it has a score for each of K classes, a predicted class, and a mass of each
class. A labelled row with weight w carries w of its own class; a target row, whose class is not
known, carries s q_c of class c. What the outcome model left over is a signed mass w (y - q). All
metrics here are functions T(m) of the masses m (n, K), which do not change where all masses are
multiplied by a number. Their derivatives

    g_c(j) = dT / dm_c(j)

turn a metric into the mean of a value per row, sum_c y_c g_c, whose influence values are known.

For one class c, p is its mass and n that of the others. Sums over thresholds need one sort:

    ROC AUC             sum_ij p_i n_j (1[s_i > s_j] + 1[s_i = s_j] / 2) / (sum p sum n)
    average precision   sum_k p_k P_k / (P_k + N_k) / sum p ,   P, N the sums from the top to k

Cost O(n K), with a sort O(n log n).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.array import Flags, Real, Rows

BINS = 10  # of equal width, of the expected calibration error
_SMALLEST = float(np.finfo(np.float64).eps)  # probability, as in scikit-learn's log-loss
_LARGEST_ODDS = 30.0  # log-odds beyond are cut off
NOTHING = 1e-12  # of the mass of all rows
_STEPS, _TOLERANCE = 60, 1e-12


@dataclass(frozen=True)
class Masses:
    """Atoms with a mass, a score and a prediction for every class."""

    mass: Real  # (n, K); may be negative
    scores: Real  # (n, K)
    chosen: Rows  # (n,): number of the predicted class

    @property
    def classes(self) -> range:
        """Numbers of the classes."""
        return range(self.mass.shape[1])

    @property
    def hits(self) -> Real:
        """One where a class is the predicted one, (n, K)."""
        return np.asarray(self.chosen[:, None] == np.arange(self.mass.shape[1]), dtype=np.float64)

    def only(self, c: int) -> Real:
        """Ones in the column of class c, (n, K)."""
        found = np.zeros_like(self.mass)
        found[:, c] = 1.0
        return found

    def pair(self, c: int) -> tuple[Real, Real]:
        """Masses (n,) of class c and of all others."""
        return self.mass[:, c], np.delete(self.mass, c, axis=1).sum(axis=1)


@dataclass(frozen=True)
class Slope:
    """A metric's value and its derivative (n, K) by the masses."""

    value: float
    gradient: Real

    def times(self, factor: float) -> Slope:
        """Return a multiple."""
        return Slope(factor * self.value, factor * self.gradient)


Whole = Callable[[Masses], Slope]


def ratio(masses: Masses, top: Any, bottom: Any) -> Slope:
    """Return sum m a / sum m b, for values a, b of every atom and class (n, K)."""
    under = float(np.sum(masses.mass * bottom))
    if under == 0:
        return undefined(masses)
    value = float(np.sum(masses.mass * top)) / under
    return Slope(value, np.asarray((top - value * bottom) / under))


def undefined(masses: Masses) -> Slope:
    """Return a metric that has no value, as no row is of the class or predicted so."""
    return Slope(np.nan, np.full_like(masses.mass, np.nan))


def accuracy(masses: Masses) -> Slope:
    """Share of rows whose class is the predicted one."""
    return ratio(masses, masses.hits, np.ones_like(masses.mass))


def balanced_accuracy(masses: Masses) -> Slope:
    """Mean of the recall of all classes."""
    return mean([recall(masses, c) for c in masses.classes])


def brier(masses: Masses) -> Slope:
    """Mean squared distance of the probabilities from the class; half of it for two classes."""
    squares = np.sum(masses.scores**2, axis=1, keepdims=True)
    distance = squares - 2 * masses.scores + 1  # sum_k (s_k - 1[k = c])^2
    half = 0.5 if len(masses.classes) == 2 else 1.0
    return ratio(masses, half * distance, np.ones_like(masses.mass))


def log_loss(masses: Masses) -> Slope:
    """Mean of minus the logarithm of the probability of the class."""
    p = np.clip(masses.scores, _SMALLEST, 1 - _SMALLEST)
    return ratio(masses, -np.log(p), np.ones_like(masses.mass))


def recall(masses: Masses, c: int) -> Slope:
    """Share of the rows of class c that are predicted so."""
    only = masses.only(c)
    return ratio(masses, only * masses.hits[:, [c]], only)


def precision(masses: Masses, c: int) -> Slope:
    """Share of the rows predicted as class c that are."""
    hit = masses.hits[:, [c]]
    return ratio(masses, masses.only(c) * hit, hit * np.ones_like(masses.mass))


def specificity(masses: Masses, c: int) -> Slope:
    """Share of the rows of other classes that are predicted as another class than c."""
    others = 1 - masses.only(c)
    return ratio(masses, others * (1 - masses.hits[:, [c]]), others)


def f1(masses: Masses, c: int) -> Slope:
    """Harmonic mean of precision and recall of class c."""
    only, hit = masses.only(c), masses.hits[:, [c]]
    return ratio(masses, 2 * only * hit, only + hit)


def share(masses: Masses, true: int, predicted: int) -> Slope:
    """Share of the rows of one class that are predicted as another: a cell of the table."""
    top = masses.only(true) * masses.hits[:, [predicted]]
    return ratio(masses, top, np.ones_like(masses.mass))


def share_within(masses: Masses, c: int, inside: Flags) -> Slope:
    """Share of class c among the rows inside (n,), such as a bin of the score."""
    part = inside[:, None] * np.ones_like(masses.mass)
    total = float(masses.mass.sum())
    if not float(np.sum(masses.mass * part)) > NOTHING * total:  # what rounding leaves is no mass
        return undefined(masses)
    return ratio(masses, masses.only(c) * part, part)


def cost(masses: Masses, costs: Real) -> Slope:
    """Mean of costs[true, predicted], (K, K)."""
    return ratio(masses, costs.T[masses.chosen], np.ones_like(masses.mass))


def roc_auc(masses: Masses, c: int) -> Slope:
    """Chance that a row of class c has a larger score than another; ties count a half."""
    p, n = masses.pair(c)
    _, level = np.unique(masses.scores[:, c], return_inverse=True)
    level = level.reshape(-1)
    by_level = [np.bincount(level, weights=part) for part in (p, n)]
    P, N = (float(part.sum()) for part in by_level)
    # Of the others below, and of the class above; of those at the same score a half.
    below = np.cumsum(by_level[1]) - by_level[1] / 2
    above = P - np.cumsum(by_level[0]) + by_level[0] / 2
    if P * N == 0:
        return undefined(masses)
    value = float(by_level[0] @ below) / (P * N)
    gp = (below[level] - value * N) / (P * N)
    gn = (above[level] - value * P) / (P * N)
    return Slope(value, _spread(masses, c, gp, gn))


def average_precision(masses: Masses, c: int) -> Slope:
    """Precision at the score of every row of class c, averaged over these rows.

    Signed masses may put the precision at the highest scores beyond 0 and 1: it is cut off there.
    At scores above all masses it is that of the first mass.
    """
    p, n = masses.pair(c)
    _, level = np.unique(-masses.scores[:, c], return_inverse=True)
    level = level.reshape(-1)
    at, total = (np.bincount(level, weights=part) for part in (p, p + n))
    hits, total = np.cumsum(at), np.cumsum(total)
    P = float(hits[-1])
    there = np.flatnonzero(total > _SMALLEST * abs(total[-1]))
    if not len(there) or not P > 0:
        return undefined(masses)
    some = total >= total[there[0]]
    safe = np.where(some, total, 1.0)
    right = np.where(some, hits / safe, hits[there[0]] / total[there[0]])
    free = some & (right >= 0) & (right <= 1 + _SMALLEST)
    right = np.clip(right, 0.0, 1.0)
    value = float(at @ right) / P
    # A further mass at k changes the precision at k and at all scores below it.
    gain = np.where(free, at * (1 - right) / safe, 0.0)
    loss = np.where(free, at * right / safe, 0.0)
    gp = (right + np.cumsum(gain[::-1])[::-1] - value) / P
    gn = -np.cumsum(loss[::-1])[::-1] / P
    return Slope(value, _spread(masses, c, gp[level], gn[level]))


def calibration_error(masses: Masses, c: int) -> Slope:
    """Expected calibration error: |share of the class - mean score|, over ten bins of the score."""
    (p, n), s, place = masses.pair(c), masses.scores[:, c], _bin_of(masses, c)
    gap = np.bincount(place, weights=p * (1 - s) - n * s, minlength=BINS)
    return _calibration(masses, c, np.sign(gap)[place])


def calibration_gap(masses: Masses, c: int, k: int) -> Slope:
    """What bin k adds to the calibration error, with its sign: that of share - mean score."""
    return _calibration(masses, c, (_bin_of(masses, c) == k).astype(np.float64))


def _bin_of(masses: Masses, c: int) -> Rows:
    return np.minimum((masses.scores[:, c] * BINS).astype(np.intp), BINS - 1)


def _calibration(masses: Masses, c: int, side: Real) -> Slope:
    """Mean of the class less the score, each row with the factor ``side`` (n,)."""
    s = masses.scores[:, c]
    top = np.empty_like(masses.mass)
    top[:] = (-side * s)[:, None]
    top[:, c] = side * (1 - s)
    return ratio(masses, top, np.ones_like(masses.mass))


def calibration_slope(masses: Masses, c: int) -> Slope:
    """Slope b of the logistic regression of the class on a + b log-odds of the score; ideal 1."""
    return _logistic(masses, c, slope=True)


def calibration_intercept(masses: Masses, c: int) -> Slope:
    """Intercept a of the logistic regression with a slope of one (calibration in the large)."""
    return _logistic(masses, c, slope=False)


def _logistic(masses: Masses, c: int, *, slope: bool) -> Slope:
    """Solve sum (p (1 - f) - n f) z = 0, f = sigmoid(offset + z'b), by Newton's method."""
    p, n = masses.pair(c)
    odds = log_odds(masses.scores[:, c])
    seen = odds[p + n != 0]
    inner = np.abs(seen) < _LARGEST_ODDS
    if not inner.any() or (slope and np.ptp(seen) == 0):  # zeros and ones, or all alike
        return undefined(masses)
    z = np.column_stack([np.ones_like(odds), odds]) if slope else np.ones((len(odds), 1))
    offset = np.zeros_like(odds) if slope else odds
    b = np.array([0.0, 1.0])[: z.shape[1]]
    for _ in range(_STEPS):
        f = _sigmoid(offset + z @ b)
        hessian = (z * ((p + n) * f * (1 - f))[:, None]).T @ z
        try:
            step = np.linalg.solve(hessian, (p * (1 - f) - n * f) @ z)
        except np.linalg.LinAlgError:
            return undefined(masses)
        b = b + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < _TOLERANCE:
            break
    if not np.abs(b).max() < _LARGEST_ODDS:  # separated classes
        return undefined(masses)
    f = _sigmoid(offset + z @ b)
    hessian = (z * ((p + n) * f * (1 - f))[:, None]).T @ z
    row = np.linalg.solve(hessian, np.eye(len(b))[-1])
    direction = z @ row
    return Slope(float(b[-1]), _spread(masses, c, direction * (1 - f), -direction * f))


def log_odds(s: Real) -> Real:
    """log(s / (1 - s)) of probabilities, cut off at 30."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(s) - np.log1p(-s), -_LARGEST_ODDS, _LARGEST_ODDS))


def _sigmoid(z: Real) -> Real:
    return np.asarray(0.5 * (1 + np.tanh(z / 2)))


def mean(parts: Sequence[Slope]) -> Slope:
    """Plain mean of several metrics: of all classes, "macro"."""
    total = sum((part.gradient for part in parts), np.zeros_like(parts[0].gradient))
    return Slope(sum(part.value for part in parts) / len(parts), total / len(parts))


def weighted_mean(masses: Masses, parts: Sequence[Slope]) -> Slope:
    """Mean of a metric of every class, by the classes' shares."""
    total = float(masses.mass.sum())
    if total == 0:
        return undefined(masses)
    pi = masses.mass.sum(axis=0) / total
    value = float(sum(w * part.value for w, part in zip(pi, parts, strict=True)))
    gradient = sum(
        (w * part.gradient for w, part in zip(pi, parts, strict=True)), np.zeros_like(masses.mass)
    )
    moved = np.array([part.value for part in parts]) - value  # by the shares themselves
    return Slope(value, np.asarray(gradient + moved / total))


def _spread(masses: Masses, c: int, own: Real, others: Real) -> Real:
    """Derivatives by the mass of class c and by that of every other class, (n, K)."""
    found = np.repeat(others[:, None], masses.mass.shape[1], axis=1)
    found[:, c] = own
    return found
