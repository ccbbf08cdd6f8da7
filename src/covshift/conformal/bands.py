"""Bands around a prediction, whose width follows from one score.

A model gives every row a band [low, high] and a unit; the score of an outcome says how far outside
it is, and the interval of score s is the band widened by it:

    score(x, y) = max(low(x) - y, y - high(x)) / unit(x) ,
    interval(x, s) = [low(x) - s unit(x), high(x) + s unit(x)] .

- "absolute": low = high = f(x), unit one. Intervals of one width.
- "normalized": low = high = f(x), the unit an estimate of |y - f(x)| given x, learned from held-out
  residuals. Wide where the outcome is uncertain.
- "quantile": low and high are quantile models, unit one (Romano, Patterson and Candès 2019,
  *Conformalized quantile regression*).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from ..data.validation import check_points, column_names
from ..encoding import TableEncoder
from ..encoding.samples import takes_tables
from ..exceptions import InputError, UnseenLevelWarning
from ..machine.reweighted import fit_for_target
from ..numerics.array import Flags, Real, Rows, take_rows
from ..numerics.parallel import one_thread
from ..numerics.quiet import quiet
from .data import LabelledRows

SCORES = ("absolute", "normalized", "quantile")
_FOLDS = 5
_ROUNDINGS = 4  # in units of the last digit, by which an end may miss an outcome
_LEAST_UNIT = 0.05  # of the mean unit of the training rows
_QUANTILE_NAMES = ("quantile", "alpha")  # under which scikit-learn's models take one


class Band(NamedTuple):
    """For each row the ends of its band, and its unit."""

    low: Real
    high: Real
    unit: Real

    def scores(self, y: Real) -> Real:
        """How far each outcome lies outside of its band, in its unit."""
        return np.asarray(np.maximum(self.low - y, y - self.high) / self.unit)

    def interval(self, score: Real, open_: Flags | None = None) -> tuple[Real, Real]:
        """Widen each band by its score; a band that is narrowed away is its middle.

        The ends move by a few roundings of their own: outwards, so that an outcome of this very
        score is inside, or inwards where it is not to be (``open_``).
        """
        reach = score * self.unit
        sizes = (np.abs(self.low), np.abs(self.high), np.where(np.isfinite(reach), abs(reach), 0))
        slack = _ROUNDINGS * np.finfo(np.float64).eps * np.maximum.reduce(sizes)
        reach = reach + (slack if open_ is None else np.where(open_, -slack, slack))
        low, high = self.low - reach, self.high + reach
        middle = (self.low + self.high) / 2
        crossed = low > high
        return np.where(crossed, middle, low), np.where(crossed, middle, high)


class FitOptions(NamedTuple):
    """What every fit of the wrapped estimator gets besides rows and outcomes."""

    target: Any = None
    target_weight: Any = None

    def fit(self, estimator: Any, X: Any, y: Any, weight: Real | None) -> Any:
        return fit_for_target(
            clone(estimator), X, y, self.target, self.target_weight, sample_weight=weight
        )


class AbsoluteBand:
    """Intervals of one width around the prediction."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @classmethod
    def fit(cls, asked: Any, X: Any, y: Real, weight: Any, options: FitOptions) -> AbsoluteBand:
        return cls(options.fit(asked.estimator, X, y, weight))

    def predict(self, X: Any) -> Real:
        return _numbers(self.estimator, X)

    def band(self, X: Any) -> Band:
        f = self.predict(X)
        return Band(f, f, np.ones(len(f)))


class NormalizedBand(AbsoluteBand):
    """Intervals as wide as residuals usually are at such rows."""

    def __init__(self, estimator: Any, spread: Any, least: float | None = None) -> None:
        super().__init__(estimator)
        self.spread, self.least = spread, least

    @classmethod
    def fit(cls, asked: Any, X: Any, y: Real, weight: Any, options: FitOptions) -> NormalizedBand:
        """Fit the estimator to all rows, and the spread to residuals of rows left out."""
        if len(y) < 2:
            raise InputError(
                "conformity_score='normalized' needs at least 2 training rows; got n_samples=1: "
                "one predicts the other."
            )
        residual = np.empty(len(y))
        folds = KFold(min(_FOLDS, len(y)), shuffle=True, random_state=0)
        for kept, held in folds.split(y):
            w = None if weight is None else weight[kept]
            part = options.fit(asked.estimator, take_rows(X, kept), y[kept], w)
            residual[held] = np.abs(y[held] - _numbers(part, take_rows(X, held)))
        return cls.with_spread(options.fit(asked.estimator, X, y, weight), asked, X, residual)

    @classmethod
    def with_spread(cls, estimator: Any, asked: Any, X: Any, residual: Real) -> NormalizedBand:
        """Learn the spread from absolute residuals (N,)."""
        spread = clone(asked.spread) if asked.spread is not None else BoostedSpread()
        mean = float(residual.mean()) or 1.0
        least = _LEAST_UNIT * mean
        spread.fit(X, np.maximum(residual, 1e-6 * mean))
        return cls(estimator, spread, least)

    def band(self, X: Any) -> Band:
        f = self.predict(X)
        unit = _numbers(self.spread, X)
        if self.least is not None:
            return Band(f, f, np.maximum(unit, self.least))
        if not (unit > 0).all():
            raise InputError(
                f"spread predicts absolute residuals that are not positive, down to {unit.min():g}."
                " Use a model whose predictions are positive, such as "
                "HistGradientBoostingRegressor(loss='gamma')."
            )
        return Band(f, f, unit)


class BoostedSpread:
    """Boosted trees for absolute residuals; of frames, categories become zeros and ones."""

    def fit(self, X: Any, residual: Real) -> BoostedSpread:
        self._frame = TableEncoder.learn(X, None)
        self._trees = HistGradientBoostingRegressor(
            loss="gamma", learning_rate=0.05, max_leaf_nodes=8, min_samples_leaf=20, random_state=0
        )
        with one_thread(len(residual)):
            self._trees.fit(self._encoded(X), residual)
        return self

    def predict(self, X: Any) -> Real:
        rows = self._encoded(X)
        with one_thread(len(rows)):
            return np.asarray(self._trees.predict(rows))

    def _encoded(self, X: Any) -> Any:
        if self._frame is None:
            return X
        with quiet(UnseenLevelWarning):  # levels of the target alone are like none
            return self._frame.encode(X, "X")


class QuantileBand:
    """Intervals between two quantile models."""

    def __init__(self, low: Any, high: Any, estimator: Any = None) -> None:
        self.low, self.high, self.estimator = low, high, estimator  # that of the median

    @classmethod
    def fit(cls, asked: Any, X: Any, y: Real, weight: Any, options: FitOptions) -> QuantileBand:
        low, high = asked.quantiles
        models = [
            options.fit(at_quantile(asked.estimator, q), X, y, weight) for q in (low, high, 0.5)
        ]
        return cls(*models)

    def predict(self, X: Any) -> Real:
        if self.estimator is None:  # the middle of a pair
            return (_numbers(self.low, X) + _numbers(self.high, X)) / 2
        return _numbers(self.estimator, X)

    def band(self, X: Any) -> Band:
        low, high = _numbers(self.low, X), _numbers(self.high, X)
        low, high = np.minimum(low, high), np.maximum(low, high)
        return Band(low, high, np.ones(len(low)))


BANDS: dict[str, Any] = dict(zip(SCORES, (AbsoluteBand, NormalizedBand, QuantileBand), strict=True))


def at_quantile(estimator: Any, q: float) -> Any:
    """Return a clone that predicts the quantile q, or say which estimators can."""
    made = clone(estimator)
    last = made.steps[-1][1] if isinstance(made, Pipeline) else made
    known = last.get_params(deep=False)
    name = next((name for name in _QUANTILE_NAMES if name in known), None)
    losses = [str(known[key]) for key in ("loss", "objective") if key in known]
    able = "quantile" in losses or (name == "quantile" and not losses)  # alpha is often a penalty
    if name is None or not able:
        raise InputError(
            "conformity_score='quantile' needs an estimator of quantiles, and "
            f"{type(last).__name__} is not one: use QuantileRegressor(), "
            "GradientBoostingRegressor(loss='quantile') or "
            "HistGradientBoostingRegressor(loss='quantile', quantile=0.5); or "
            "conformity_score='normalized', which works with any regressor."
        )
    last.set_params(**{name: q})
    return made


def _numbers(estimator: Any, X: Any) -> Real:
    check_new_rows(estimator, X)
    return np.asarray(estimator.predict(X), dtype=np.float64).reshape(-1)


def check_new_rows(estimator: Any, X: Any) -> None:
    """Refuse text and gaps of a frame that a model knows nothing of: it was fitted without any."""
    if not takes_tables(estimator) and column_names(X) is not None:
        check_points(X, "X")


# CV+ and jackknife+: every calibration row with the model that did not see it.
#
# Row i has the score s_i by the model of its fold k(i), which was fitted without it, and a new row
# has a band by every fold's model. With p_i the weights over their sum and the new row's own
# weight,
#
#     upper = quantile at 1 - alpha of  sum_i p_i delta(high_k(i)(x) + s_i unit_k(i)(x))
#                                       + p_x delta(inf) ,
#     lower = minus the same of minus the lower ends,
#
# and a class y belongs to the set if sum_i p_i 1[s_i >= score_k(i)(x, y)] + p_x > alpha. All rows
# train and calibrate. With known weights the guarantee of jackknife+ is 1 - 2 alpha whatever the
# model, that of CV+ slightly less; in practice it is about 1 - alpha.
#
# Sources: Foygel Barber, Candès, Ramdas and Tibshirani (2021), *Predictive inference with the
# jackknife+*; with weights, their (2023) *Conformal prediction beyond exchangeability*. Cost: a
# sort of one value per calibration row, for each new row.


_CELLS = 4_000_000  # of the arrays (new rows, calibration rows) at a time
_ROUNDING = 1e-12


def plus_interval(
    bands: Sequence[Band], fold: Rows, scores: Real, weights: Real, own: Real, coverage: float
) -> tuple[Real, Real]:
    """Ends (m,), (m,) for new rows of weight ``own`` (m,).

    ``bands`` are those of the new rows by each fold's model; ``fold``, ``scores`` and ``weights``
    (N,) belong to the calibration rows.
    """
    m = len(own)
    lower, upper = np.empty(m), np.empty(m)
    step = max(1, _CELLS // max(1, len(scores)))
    for start in range(0, m, step):
        part = slice(start, start + step)
        low, high, unit = (
            np.stack([getattr(band, name)[part] for band in bands], axis=1)[:, fold]
            for name in ("low", "high", "unit")
        )
        lower[part] = -_quantile(scores * unit - low, weights, own[part], coverage)
        upper[part] = _quantile(scores * unit + high, weights, own[part], coverage)
        most = np.maximum(np.abs(low).max(axis=1), np.abs(high).max(axis=1))
        lower[part] -= _slack(lower[part], most)
        upper[part] += _slack(upper[part], most)
    crossed = lower > upper
    lower[crossed] = upper[crossed] = (lower[crossed] + upper[crossed]) / 2
    return lower, upper


def _slack(end: Real, most: Real) -> Real:
    """A few roundings, by which an end may miss the outcome that it is made of."""
    size = np.maximum(np.where(np.isfinite(end), np.abs(end), 0.0), most)
    return np.asarray(4 * np.finfo(np.float64).eps * size)


def _quantile(values: Real, weights: Real, own: Real, coverage: float) -> Real:
    """Smallest of each row's values (m, N) at which the weight reaches the level; or infinite."""
    order = np.argsort(values, axis=1)
    upto = np.cumsum(weights[order], axis=1)
    needed = coverage * (weights.sum() + own) * (1 - _ROUNDING)
    place = (upto < needed[:, None]).sum(axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    found = ranked[np.arange(len(own)), np.minimum(place, values.shape[1] - 1)]
    none = weights.sum() + own == 0  # nothing is known of such rows
    return np.where((place < values.shape[1]) & ~none, found, np.inf)


def plus_sets(
    matrices: Sequence[Real],
    fold: Rows,
    scores: Real,
    weights: Real,
    own: Real,
    coverage: float,
    u: Real | None = None,
) -> Flags:
    """Classes (m, K) of the sets; ``matrices`` are the new rows' scores by each fold's model."""
    at_least = np.zeros(matrices[0].shape)
    ties = np.zeros(matrices[0].shape)
    for k, matrix in enumerate(matrices):
        inside = fold == k
        order = np.argsort(scores[inside], kind="stable")
        ranked = scores[inside][order]
        upto = np.concatenate([[0.0], np.cumsum(weights[inside][order])])
        below = upto[np.searchsorted(ranked, matrix, side="left")]
        at_least += upto[-1] - below
        ties += upto[np.searchsorted(ranked, matrix, side="right")] - below
    known = np.isfinite(own)[:, None]
    own = np.where(known, own[:, None], 0.0)
    share = at_least + own
    if u is not None:
        share = share - (1 - u[:, None]) * (ties + own)
    inside = share > (1 - coverage) * (weights.sum() + own) * (1 + _ROUNDING)
    none = weights.sum() + own == 0
    return np.asarray(inside | ~known | none)


# Jackknife+ of a kernel machine from one fit: its leave-one-out predictions in closed form.


def closed_form(estimator: Any, rows: LabelledRows) -> Any:
    """Return what predicts rows without each training row, or None where it takes refits."""
    if not hasattr(estimator, "leave_one_out"):
        return None
    given: dict[str, Any] = {} if rows.design is None else {"sample_weight": rows.design}
    if rows.target is not None:
        given |= {"X_target": (rows.target,), **rows.of_target}
    try:
        return estimator.leave_one_out(rows.X, rows.y, **given)
    except InputError:  # it says which of its forms have none
        return None


def columns(values: Real) -> list[Real]:
    """Return one array of the new rows for each row left out: N of (m,) or (m, K)."""
    return [values[:, i] for i in range(values.shape[1])]
