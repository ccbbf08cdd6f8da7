"""Entropy balancing: equal moments by weights as even as possible."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lstsq
from sklearn.exceptions import ConvergenceWarning

from ..data.parameters import Rules, flag, number, whole
from ..exceptions import NoOverlapError, WeightWarning
from ..margins import Margins
from ..margins.features import moment_features
from ..margins.reading import Reading, reading_of
from ..numerics.array import Real
from ..numerics.quiet import quiet
from .base import LogRatioWeighter
from .cells import bounded_tilt
from .limits import LIMITS, clipped, inside, only_one
from .m_estimation import Influences, tilted
from .points import pooled_units

_FEW_MOMENTS = 300
_LARGEST_STEP = 50.0  # of a log weight, in one step of Newton's method


class EntropyBalancing(LogRatioWeighter):
    """Weights of largest entropy under which the moments are those of the target.

        minimise  sum_i w_i log w_i   over   mean of w_i f(x_i) = target mean of f,  mean w = 1 ,

    with f the features, and their squares and products for two moments. The solution is an
    exponential tilt, w(x) = exp(theta'f(x) - a), and theta minimises the convex dual

        log mean_i exp(theta'(f(x_i) - target mean of f)) + (reg / 2) |theta|^2 .

    With ``sample_weight`` the means over i are weighted, and the entropy is relative to these
    weights: survey statistics calls it calibration by raking. With ``limits`` the tilt is clipped
    to these, and theta solves the clipped equations (`weights._bounded_tilt`).

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
    _labels: Sequence[str] = ()  # of the moments that margins give, while fit runs

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

    def _fit_margins(self, Z: Real, margins: Margins) -> Real:
        _, means, self._labels = moment_features(margins, tuple(margins.columns))
        try:
            return self._fit(Z, means[None, :], np.ones(1))
        finally:
            del self._labels

    def _fit(self, X: Real, T: Real, share: Real) -> Real:
        self._level: float | None = None
        if self.limits is None:
            return super()._fit(X, T, share)
        with quiet(ConvergenceWarning):
            try:
                raw = super()._fit(X, T, share)
                free: Real | None = raw / float(self._own @ raw)
            except NoOverlapError:
                self.coef_, self.n_iter_, free = np.zeros(0), self.max_iter, None
        self._unlimited = free
        if free is not None and inside(free, self.limits):
            return raw
        return self._within_limits(X, T, share)

    def _within_limits(self, X: Real, T: Real, share: Real) -> Real:
        """Clip the tilt, and solve the clipped equations; tell of what is left."""
        Z, center = self._centred(X, T, share)
        if only_one(self.limits):
            self.coef_, self._level = np.zeros(Z.shape[1]), 0.0
            gap, exact = self._own @ Z, False
        else:
            start = self.coef_ if len(self.coef_) else np.zeros(Z.shape[1])
            low, high = (float(end) for end in self.limits)
            given = {"reg": float(self.reg), "tol": max(self.tol, 1e-10)}
            tilt = bounded_tilt(Z, self._own, low, high, start=start, **given)
            self.coef_, self._level = tilt.theta, tilt.level - float(center @ tilt.theta)
            gap, exact = tilt.gap, tilt.exact
        self.imbalance_ = float(np.abs(gap).max())
        if not (exact or self.reg) and self.imbalance_ > max(self.tol, 1e-7):
            name = self._moment_name(int(np.abs(gap).argmax()))
            warnings.warn(
                f"Within limits={tuple(self.limits)} no weights balance all moments: {name} is off "
                f"by {self.imbalance_:.2g} standard deviations, of what comes nearest. Widen the "
                "limits, or leave out features.",
                WeightWarning,
                stacklevel=5,
            )
        return self._ratio(X)

    def _centred(self, X: Real, T: Real, share: Real) -> tuple[Real, Real]:
        """Moments of the rows less the target's (N, q), and the target's (q,), in their units."""
        self._units = pooled_units(X, T, share, own=self._own)
        f_X, f_T = self._raw_moments(X), self._raw_moments(T)
        self._scales = pooled_units(f_X, f_T, share, own=self._own)
        center = share @ self._scales(f_T)
        return self._scales(f_X) - center, center

    def _ratio(self, X: Real) -> Real:
        level: float | None = getattr(self, "_level", None)
        if level is None:
            return super()._ratio(X)
        with np.errstate(over="ignore"):
            raw = np.exp(self._log_ratio(X) + level)
        return clipped(raw, self.limits)

    def _fit_log(self, X: Real, T: Real, share: Real) -> Real:
        given, _ = self._centred(X, T, share)  # zero is the target
        Q, Z = _in_their_span(given)
        theta = np.zeros(Z.shape[1])
        lowest = float(np.log(self._own.min()))  # no solution has a smaller value
        value, gradient, weight = self._dual(Z, theta)
        for step in range(self.max_iter + 1):
            self.n_iter_ = step
            if np.abs(gradient).max() <= self.tol:
                break
            if not self.reg and value < lowest - 1e-9:
                self._refuse(given, weight)
            theta, value, gradient, weight = self._newton(Z, theta, value, gradient, weight)
        self.coef_ = theta if Q is None else Q @ theta
        self.imbalance_ = float(np.abs(weight @ given).max())
        if np.abs(gradient).max() > max(self.tol, 1e-7):
            if not self.reg and value < 0.9 * lowest:
                self._refuse(given, weight)  # all weight on a row or two, and still not balanced
            warnings.warn(
                f"EntropyBalancing did not converge in max_iter={self.max_iter} steps: a moment "
                f"still differs by {self.imbalance_:.2g} standard deviations. Raise max_iter, or "
                "allow a difference with reg > 0.",
                ConvergenceWarning,
                stacklevel=6,
            )
        return self._log_ratio(X)

    def _log_ratio(self, X: Real) -> Real:
        with np.errstate(over="ignore", invalid="ignore"):
            value = self._scales(self._raw_moments(X)) @ self.coef_
        return np.nan_to_num(value, nan=-np.inf, neginf=-np.inf)

    def _has_mean_influence(self) -> bool:
        bounded = getattr(self, "_level", None) is not None
        return getattr(self, "_reading", None) is None and not bounded

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

    def _dual(self, Z: Real, theta: Real) -> tuple[float, Real, Real]:
        """Value and gradient of the dual, and the shares of the rows, (N,)."""
        exponent = Z @ theta
        top = float(exponent.max())
        raw = self._own * np.exp(exponent - top)
        value = top + float(np.log(raw.sum())) + self.reg / 2 * float(theta @ theta)
        weight = raw / raw.sum()
        return value, weight @ Z + self.reg * theta, weight

    def _newton(
        self, Z: Real, theta: Real, value: float, gradient: Real, weight: Real
    ) -> tuple[Real, float, Real, Real]:
        """One step of Newton's method with backtracking."""
        mean = weight @ Z
        H = (Z * weight[:, None]).T @ Z - np.outer(mean, mean)
        ridge = self.reg + 1e-13 * max(float(np.trace(H)) / len(H), 1e-13)
        H[np.diag_indices_from(H)] += ridge
        driver = "gelsd" if len(H) <= _FEW_MOMENTS else "gelsy"  # a tenth of the time
        direction = -lstsq(H, gradient, cond=1e-14, check_finite=False, lapack_driver=driver)[0]
        largest = float(np.abs(Z @ direction).max())
        direction *= min(1.0, _LARGEST_STEP / max(largest, 1e-300))
        slope = float(gradient @ direction)
        if not slope < 0:
            direction, slope = -gradient, -float(gradient @ gradient)
        t = 1.0
        for _ in range(60):
            found = self._dual(Z, theta + t * direction)
            if found[0] <= value + 1e-4 * t * slope or abs(t * slope) < 1e-15 * (1 + abs(value)):
                break
            t /= 2
        return theta + t * direction, *found

    def _refuse(self, Z: Real, weight: Real) -> None:
        n = len(self._units.center)
        worst = np.argsort(-np.abs(weight @ Z))[:3]
        low, high = Z.min(axis=0), Z.max(axis=0)
        outside = np.flatnonzero((low > 0) | (high < 0))
        columns = sorted({int(k) for k in (outside[:5] if len(outside) else worst) if k < n})
        nameless = self._layout.columns is None and not self._labels
        named = ", ".join(str(k) if nameless else self._moment_name(k) for k in columns)
        where = f" ({'columns ' if nameless else ''}{named})" if columns else ""
        raise NoOverlapError(
            f"No weights give the training rows the moments of the target{where}: there is too "
            "little overlap. Restrict the target, leave out features, use moments=1, or allow a "
            "difference with reg > 0."
        )

    def _moment_name(self, k: int) -> str:
        """What a message calls the k-th moment."""
        columns, n = self._layout, len(self._units.center)
        if self._labels:
            return self._labels[k]
        if columns.columns is None:
            return f"moment {k}"
        if k < 2 * n:
            return f"{'the square of ' if k >= n else ''}{columns.column(k % n)}"
        first, second = (int(part[k - 2 * n]) for part in np.triu_indices(n, 1))
        return f"the product of {columns.column(first)} and {columns.column(second)}"


def _in_their_span(Z: Real) -> tuple[Real | None, Real]:
    """Return Q and ZQ, which has no more columns than rows; None and Z where that has not.

    Every step of theta is a combination of rows of Z, so theta = Qa with Q orthonormal, and the
    problem in a, with ZQ for Z, is the same one.
    """
    if Z.shape[1] <= Z.shape[0]:
        return None, Z
    Q, R = np.linalg.qr(Z.T)
    return Q, np.asarray(R.T)
