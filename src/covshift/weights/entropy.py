"""Entropy balancing: equal moments by weights as even as possible."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..data.parameters import Rules, flag, number, whole
from ..exceptions import NoOverlapError, WeightWarning
from ..margins import Margins
from ..margins.features import moment_features
from ..margins.reading import Reading, reading_of
from ..numerics.array import Real
from .base import LARGEST_EXPONENT, Weighter
from .limits import LIMITS, clipped, inside, only_one
from .m_estimation import Influences, tilted
from .points import pooled_units
from .problem import Problem
from .tilt import Tilt, bounded_tilt, free_tilt


class EntropyBalancing(Weighter):
    """Weights of largest entropy under which the moments are those of the target.

        minimise  sum_i w_i log w_i   over   mean of w_i f(x_i) = target mean of f,  mean w = 1 ,

    with f the features, and their squares and products for two moments. The solution is an
    exponential tilt, w(x) = exp(theta'f(x) - a), and theta minimises the convex dual

        log mean_i exp(theta'(f(x_i) - target mean of f)) + (reg / 2) |theta|^2 .

    With ``sample_weight`` the means over i are weighted, and the entropy is relative to these
    weights: survey statistics calls it calibration by raking. With ``limits`` the tilt is clipped
    to these, and theta solves the clipped equations (`covshift.weights.tilt`).

    Parameters
    ----------
    moments : {1, 2}
        1: means. 2: also squares.
    interactions : bool
        With two moments, products of different features too.
    reg : float
        With 0 the moments agree exactly. A positive penalty lets them differ by reg theta, in
        units of the standard deviation, and always has a solution.
    limits : (low, high), optional
        Bounds of the weights, whose mean is one. Where no weights within them balance all moments,
        those of the smallest sum of squared differences are taken, and a warning says what is left.
    tol : float
        Largest difference of a moment, in units of its standard deviation.
    max_iter : int
        Most steps of Newton's method.

    Attributes
    ----------
    coef_ : (q,) array
        theta, for moments in units of their standard deviation.
    imbalance_ : float
        Largest difference of a moment that is left, in these units.
    n_iter_ : int
        Steps of Newton's method, without limits.
    balance_cost_ : BalanceCost
        With ``limits``: largest gap and effective sample size with and without them.
    weights_, effective_sample_size_
        See `Weighter`.

    Notes
    -----
    Source: Hainmueller (2012), *Entropy balancing for causal effects*; with limits, Deville and
    Särndal (1992), *Calibration estimators in survey sampling*. Where the target's moments
    lie outside what the training rows can represent, the dual has no minimum: its value falls
    below the logarithm of the smallest share of a row, -log N of equal ones, which no solution
    does, and `NoOverlapError` names the moments. New rows get the
    same exponential. Cost: O(N q^2) per step, a handful of steps; O(N q) memory.

    `covshift.Margins` as a target: f holds what they give the mean of, whatever ``moments`` says:
    the numbers and their squares where a mean and a standard deviation are known, and the
    indicators of brackets, categories and cells of tables. With cells alone this is raking.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import EntropyBalancing
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(300, 2)), rng.normal(0.5, 1.0, size=(300, 2))
    >>> balanced = EntropyBalancing().fit(X, X_target=T)
    >>> bool(np.abs(np.average(X, axis=0, weights=balanced.weights_) - T.mean(axis=0)).max() < 1e-8)
    True
    """

    _takes_sample_weight = True

    _rules: ClassVar[Rules] = {
        "moments": whole(1, 2),
        "interactions": flag(),
        "reg": number(least=0),
        "limits": LIMITS,
        "tol": number(least=0),
        "max_iter": whole(1),
    }

    def __init__(
        self,
        moments: int = 1,
        *,
        interactions: bool = False,
        reg: float = 0.0,
        limits: Any = None,
        tol: float = 1e-9,
        max_iter: int = 200,
    ) -> None:
        self.moments = moments
        self.interactions = interactions
        self.reg = reg
        self.limits = limits
        self.tol = tol
        self.max_iter = max_iter

    def _read(self, margins: Margins, X: Any) -> Reading:
        reading = reading_of(margins, X, margins.columns, type(self).__name__)
        return replace(reading, features=moment_features(margins, reading.names)[0])

    def _solve_margins(self, problem: Problem, margins: Margins) -> Real:
        _, means, labels = moment_features(margins, tuple(margins.columns))
        target = replace(problem, T=means[None, :], share=np.ones(1))
        return self._balanced(target, labels)

    def _solve(self, problem: Problem) -> Real:
        return self._balanced(problem, ())

    def _balanced(self, problem: Problem, labels: Sequence[str]) -> Real:
        """Find the tilt, within limits where these bind; ``labels`` name the moments of margins."""
        Z, center = self._centred(problem)
        free = free_tilt(Z, problem.own, reg=float(self.reg), tol=self.tol, max_iter=self.max_iter)
        self.n_iter_ = self.max_iter if free.unbounded else free.steps
        self._bounded = self.limits is not None and (
            free.unbounded or not inside(free.w, self.limits)
        )
        self._unlimited = None if free.unbounded else free.w
        tilt = self._within_limits(Z, problem.own, free) if self._bounded else free
        self.coef_, self.imbalance_ = tilt.theta, float(np.abs(tilt.gap).max())
        self._level = tilt.level - float(center @ tilt.theta)
        if not self._bounded:
            self._judge(free, Z, problem, labels)
        elif not (tilt.exact or self.reg) and self.imbalance_ > max(self.tol, 1e-7):
            name = _moment_name(problem, labels, int(np.abs(tilt.gap).argmax()))
            warnings.warn(
                f"Within limits={tuple(self.limits)} no weights balance all moments: {name} is off "
                f"by {self.imbalance_:.2g} standard deviations, of what comes nearest. Widen the "
                "limits, or leave out features.",
                WeightWarning,
                stacklevel=4,
            )
        return self._ratio(problem.X)

    def _within_limits(self, Z: Real, own: Real, free: Tilt) -> Tilt:
        """Clip the tilt, and solve the clipped equations."""
        start = np.zeros(Z.shape[1]) if free.unbounded else free.theta
        if only_one(self.limits):
            return Tilt(np.zeros(Z.shape[1]), 0.0, np.ones(len(Z)), own @ Z, False)
        low, high = (float(end) for end in self.limits)
        given = {"reg": float(self.reg), "tol": max(self.tol, 1e-10)}
        return bounded_tilt(Z, own, low, high, start=start, **given)

    def _centred(self, problem: Problem) -> tuple[Real, Real]:
        """Moments of the rows less the target's (N, q), and the target's (q,), in their units."""
        self._units = problem.units(by_feature=False)
        f, f_target = self._raw_moments(problem.X), self._raw_moments(problem.T)
        self._scales = pooled_units(f, f_target, problem.share, own=problem.own)
        center = problem.share @ self._scales(f_target)
        return self._scales(f) - center, center

    def _ratio(self, X: Real) -> Real:
        with np.errstate(over="ignore", invalid="ignore"):
            value = self._scales(self._raw_moments(X)) @ self.coef_ + self._level
        value = np.nan_to_num(value, nan=-np.inf, neginf=-np.inf)
        return clipped(np.exp(np.minimum(value, LARGEST_EXPONENT)), self.limits)

    def _has_mean_influence(self) -> bool:
        return getattr(self, "_reading", None) is None and not self._bounded

    def _mean_influence(
        self, values: Real, X: Real, T: Real, d: Real, share: Real
    ) -> Influences | None:
        f, f_target = (self._scales(self._raw_moments(rows)) for rows in (X, T))
        return tilted(values, f, f_target, d * self.weights_, share, self.reg)

    def _raw_moments(self, X: Real) -> Real:
        Z = self._units(X)
        parts = [Z]
        if self.moments == 2 and getattr(self, "_reading", None) is None:
            parts.append(Z**2)
            if self.interactions:
                first, second = np.triu_indices(Z.shape[1], 1)
                parts.append(Z[:, first] * Z[:, second])
        return np.hstack(parts)

    def _judge(self, free: Tilt, Z: Real, problem: Problem, labels: Sequence[str]) -> None:
        """Refuse what no weights balance, and tell of steps that were too few."""
        if free.unbounded:
            n = problem.X.shape[1]
            outside = np.flatnonzero((Z.min(axis=0) > 0) | (Z.max(axis=0) < 0))
            worst = outside[:5] if len(outside) else np.argsort(-np.abs(free.gap))[:3]
            columns = sorted({int(k) for k in worst if k < n})
            nameless = problem.features.columns is None and not labels
            named = ", ".join(
                str(k) if nameless else _moment_name(problem, labels, k) for k in columns
            )
            where = f" ({'columns ' if nameless else ''}{named})" if columns else ""
            raise NoOverlapError(
                f"No weights give the training rows the moments of the target{where}: there is too "
                "little overlap. Restrict the target, leave out features, use moments=1, or allow "
                "a difference with reg > 0."
            )
        if not free.exact:
            warnings.warn(
                f"EntropyBalancing did not converge in max_iter={self.max_iter} steps: a moment "
                f"still differs by {self.imbalance_:.2g} standard deviations. Raise max_iter, or "
                "allow a difference with reg > 0.",
                ConvergenceWarning,
                stacklevel=5,
            )


def _moment_name(problem: Problem, labels: Sequence[str], k: int) -> str:
    """What a message calls the k-th moment."""
    features, n = problem.features, problem.X.shape[1]
    if labels:
        return labels[k]
    if features.columns is None:
        return f"moment {k}"
    if k < 2 * n:
        return f"{'the square of ' if k >= n else ''}{features.column(k % n)}"
    first, second = (int(part[k - 2 * n]) for part in np.triu_indices(n, 1))
    return f"the product of {features.column(first)} and {features.column(second)}"
