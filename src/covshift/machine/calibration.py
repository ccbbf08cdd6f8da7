"""Probabilities from held-out predictions (theory, eq. 3.12).

The machine's f is least squares on labels 0 and 1: a good score, but no probability where it leaves
[0, 1], and where classes are nearly separable its tails are wrong. So the log-odds are a logistic
model of what rows that were held out got:

    log-odds of class c = b_c + b_f s (f_c - f_1) + b_l l_c(x) ,    b_f, b_l >= 0 ,    s = 5 ,

against the first class; of two classes, f - 1/2 takes the place of f_c - f_1. l is a logistic
regression on the machine's coordinates, whose ridge penalty has the least held-out log-loss. The
prior of b is centred at the linear model alone, (b_f, b_l) = (0, 1), with precision 5: few rows do
not tell how much f adds, and many do (settled in benchmarks/tables.py). What both gain over the
shares of the classes then shrinks them (`_shrunken`): on noise nothing but the shares is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

from ..numerics.array import Real
from ..numerics.folds import Fold
from ..numerics.kernels import Spread

_SCALE = 5.0  # f in [0, 1] becomes log-odds of about -2.5 to 2.5
_PRECISION = 5.0  # of the prior
_PENALTIES = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)  # two a decade, from hardly a slope
_LARGEST = 12.0  # log-odds of the linear model beyond are cut off
_MOST_PARAMETERS = 600  # of the linear model; beyond, f is calibrated alone
_MANY = 50  # classes beyond which none has an intercept of its own
_STEPS, _TOLERANCE = 50, 1e-10  # bounds alone: each step squares the error


@dataclass(frozen=True)
class Logistic:
    """Log-odds of every class but the first: [1, u] @ coef, against a first class of zero."""

    coef: Real  # (n + 1, classes - 1)

    def __call__(self, U: Real) -> Real:
        """Log-odds at rows U (rows, n): (rows, classes - 1)."""
        return np.asarray(np.clip(self.coef[0] + U @ self.coef[1:], -_LARGEST, _LARGEST))


@dataclass(frozen=True)
class Calibration:
    """Turns f, and the coordinates, into log-odds."""

    linear: Logistic | None
    intercept: Real  # (classes - 1,), the b_c
    slope: Real  # (2,): b_f, b_l

    def log_odds(self, f: Real, U: Real | None) -> Real:
        """Return (rows, classes - 1) from f (rows, k) and coordinates U (rows, n)."""
        score: Real = self.intercept + self.slope[0] * _score(f)
        if self.linear is not None and U is not None:
            score = score + self.slope[1] * self.linear(U)
        return score


def probabilities(log_odds: Real) -> Real:
    """Return (rows, classes) from log-odds against the first class (rows, classes - 1)."""
    return np.asarray(softmax(np.column_stack([np.zeros(len(log_odds)), log_odds]), axis=1))


def calibrate(
    f: Real,
    U: Real | None,
    Y: Real,
    w: Real,
    folds: Sequence[Fold],
    *,
    in_units: bool = False,
) -> Calibration | None:
    """Learn from predictions f (h, k) for the rows of each fold in turn, which did not see them.

    A row whose repeats are in several folds has one for each. U are coordinates (N, n), Y is (N, 1)
    with the second of two classes as one, or (N, classes), w are weights (N,). ``in_units`` says
    that U are columns in units of measurement. Returns None where the rows hold one class only.
    O(penalties x folds x Newton steps x N p^2), p coefficients.
    """
    classes = np.column_stack([1 - Y[:, 0], Y[:, 0]]) if Y.shape[1] == 1 else Y
    if (classes.max(axis=0) > 0).sum() < 2 or len(folds) < 2:
        return None
    k = classes.shape[1]
    linear, held_out = None, None
    if U is not None and (U.shape[1] + 1) * (k - 1) <= _MOST_PARAMETERS:
        center, unit = _origin(U, w) if in_units else (np.zeros(U.shape[1]), 1.0)
        linear, held_out = _linear_model((U - center) / unit, classes, w, folds)
        slopes = linear.coef[1:] / unit
        linear = Logistic(np.vstack([linear.coef[0] - center @ slopes, slopes]))
    rows = np.concatenate([fold.rows for fold in folds])
    weight = np.concatenate([fold.weight for fold in folds])
    center = np.concatenate([np.zeros(k - 1), [0.0, 1.0] if linear else [1.0]])
    terms = [_score(f)] if held_out is None else [_score(f), held_out]
    intercept, slopes = _shrunken(terms, classes[rows], weight, center)
    slope = np.zeros(2)
    slope[: len(terms)] = slopes
    return Calibration(linear, intercept, slope)


def _origin(U: Real, w: Real) -> tuple[Real, float]:
    """Return the mean of each column and the spread of all: a penalty would follow the units."""
    spread = Spread.of(U, w)
    size = spread.unit * float(np.sqrt(spread.square / spread.weight))
    return (w / w.sum()) @ U, size if size > 0 else 1.0


def _score(f: Real) -> Real:
    """Scores against the first class: (rows, classes - 1)."""
    return _SCALE * (f - 0.5) if f.shape[1] == 1 else _SCALE * (f[:, 1:] - f[:, :1])


def _linear_model(U: Real, classes: Real, w: Real, folds: Sequence[Fold]) -> tuple[Logistic, Real]:
    """Return the logistic regression of least held-out log-loss, and what rows held out got."""
    best, chosen, held_out = np.inf, _PENALTIES[0], np.empty((0, classes.shape[1] - 1))
    starts: list[Real | None] = [None] * len(folds)
    for penalty in _PENALTIES:
        loss, found = 0.0, []
        for j, fold in enumerate(folds):
            kept, share = fold.rest(w)
            coef = _newton(U[kept], classes[kept], w[kept] * share, penalty, starts[j])
            starts[j], log_odds = coef, Logistic(coef)(U[fold.rows])
            loss += float(fold.weight @ _losses(log_odds, classes[fold.rows]))
            found.append(log_odds)
        if loss < best:
            best, chosen, held_out = loss, penalty, np.concatenate(found)
    return Logistic(_newton(U, classes, w, chosen, None)), held_out


def _losses(log_odds: Real, classes: Real) -> Real:
    """Log-loss of every row: (rows,)."""
    score = np.column_stack([np.zeros(len(log_odds)), log_odds])
    return np.asarray(logsumexp(score, axis=1) - np.sum(classes * score, axis=1))


def _newton(U: Real, classes: Real, w: Real, penalty: float, start: Real | None) -> Real:
    """Penalised multinomial logistic regression: coefficients (n + 1, classes - 1).

    Newton's method with halved steps; the intercept has a penalty of 1e-6 so that one class alone
    has a solution.
    """
    A = np.column_stack([np.ones(len(U)), U])
    p, k = A.shape[1], classes.shape[1] - 1
    ridge = np.full((p, k), penalty)
    ridge[0] = 1e-6 * max(1.0, float(w.sum()))
    coef = np.zeros((p, k)) if start is None else start

    def objective(coef: Real) -> float:
        return float(w @ _losses(A @ coef, classes) + 0.5 * np.sum(ridge * coef**2))

    def step(coef: Real) -> Real:
        share = probabilities(A @ coef)[:, 1:]
        gradient = A.T @ (w[:, None] * (share - classes[:, 1:])) + ridge * coef
        together = (share[:, :, None] * A[:, None, :]).reshape(len(A), k * p)
        hessian = -(together * w[:, None]).T @ together
        for a in range(k):
            own = slice(a * p, (a + 1) * p)
            hessian[own, own] += (A * (w * share[:, a])[:, None]).T @ A
        hessian[np.diag_indices(k * p)] += ridge.T.reshape(-1)
        return np.asarray(np.linalg.solve(hessian, gradient.T.reshape(-1)).reshape(k, p).T)

    return _descended(coef, objective, step, lambda coef: coef)


def _descended(
    start: Real,
    objective: Callable[[Real], float],
    step: Callable[[Real], Real],
    allowed: Callable[[Real], Real],
) -> Real:
    """Go steps of Newton's method, halved until they lower the objective at what is allowed."""
    here, value = start, objective(start)
    for _ in range(_STEPS):
        whole, size = step(here), 1.0
        while (new := objective(allowed(here - size * whole))) > value and size > 1e-4:
            size /= 2
        if new > value:
            break
        here, gained, value = allowed(here - size * whole), value - new, new
        if gained <= _TOLERANCE * max(1.0, abs(value)):
            break
    return here


def _shrunken(terms: Sequence[Real], classes: Real, w: Real, center: Real) -> tuple[Real, Real]:
    """Return intercepts (classes - 1,), and the slopes of the terms, shrunken to what they explain.

    With G twice the log-likelihood that p slopes gain over none, all are multiplied by 1 - p / G,
    by zero where G < p: nothing but the shares of the classes is left where nothing was found.
    J. C. van Houwelingen, S. le Cessie, "Predictive value of statistical models", Statistics in
    Medicine 9 (1990), eq. 5: the factor that slopes estimated on other rows have on average.
    """
    k = classes.shape[1] - 1
    found = _stacked(terms, classes, w, center)
    score: Real = sum(slope * term for slope, term in zip(found[k:], terms, strict=True))
    nothing = np.zeros_like(score)
    alone = _stacked([], classes, w, np.zeros(k), nothing)
    gain = 2 * float(w @ (_losses(alone + nothing, classes) - _losses(found[:k] + score, classes)))
    share = max(0.0, 1 - len(terms) / gain) if gain > 0 else 0.0
    return _stacked([], classes, w, np.zeros(k), share * score), share * found[k:]


def _stacked(
    terms: Sequence[Real], classes: Real, w: Real, center: Real, offset: Real | float = 0.0
) -> Real:
    """Minimise the log-loss of intercepts plus non-negative multiples of the terms, with a prior.

    ``offset`` (rows, classes - 1) are log-odds that are there already.
    Projected Newton: a slope that would turn negative is held at zero. Of many classes the
    intercepts stay at zero. O(N k^2) per step.
    """
    k = classes.shape[1] - 1
    precision = np.concatenate([np.full(k, 0.1), np.full(len(terms), _PRECISION)])

    def log_odds(b: Real) -> Real:
        added = (slope * term for slope, term in zip(b[k:], terms, strict=True))
        return np.asarray(b[:k] + sum(added, start=offset))

    def objective(b: Real) -> float:
        return float(w @ _losses(log_odds(b), classes) + 0.5 * precision @ (b - center) ** 2)

    def step(b: Real) -> Real:
        share = probabilities(log_odds(b))[:, 1:]
        residual = w[:, None] * (share - classes[:, 1:])
        gradient = precision * (b - center)
        gradient[:k] += residual.sum(axis=0)
        gradient[k:] += [float(np.sum(residual * term)) for term in terms]
        hessian = np.diag(precision) + _curvature(share, terms, w)
        held = np.concatenate([np.full(k, k > _MANY), (b[k:] <= 0) & (gradient[k:] > 0)])
        free = np.flatnonzero(~held)
        found = np.zeros(len(b))
        found[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        return found

    return _descended(center, objective, step, lambda b: _projected(b, k))


def _curvature(share: Real, terms: Sequence[Real], w: Real) -> Real:
    """Second derivatives of the log-loss by intercepts and slopes: (k + terms, k + terms)."""
    weighted = w[:, None] * share  # (N, k)
    mean = [np.sum(share * term, axis=1) for term in terms]  # of a term over the classes, (N,)
    k = share.shape[1]
    H = np.zeros((k + len(terms),) * 2)
    if k <= _MANY:  # else nobody reads them
        H[:k, :k] = np.diag(weighted.sum(axis=0)) - weighted.T @ share
    for a, term in enumerate(terms):
        centred = term - mean[a][:, None]
        H[:k, k + a] = H[k + a, :k] = np.sum(weighted * centred, axis=0)
        for b, other in enumerate(terms):
            H[k + a, k + b] = float(np.sum(weighted * centred * other))
    return H


def _projected(b: Real, k: int) -> Real:
    b = b.copy()
    b[k:] = np.maximum(b[k:], 0.0)
    return b
