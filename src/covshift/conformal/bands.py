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
from ..numerics.array import Flags, Real, Rows, take_rows
from ..numerics.parallel import one_thread
from ..numerics.quiet import quiet
from .data import LabelledRows
from .held_out import plus_interval
from .scores import Thresholds

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

    def take(self, rows: Rows) -> Band:
        """Keep the bands of some of the rows."""
        return Band(*(part[rows] for part in self))

    def within(self, which: Any, limits: Thresholds) -> tuple[Real, Real]:
        """Ends (m, 1) of the intervals of some of the rows, by a threshold for each."""
        low, high = self.take(which[0][:, 0]).interval(*limits)
        return low[:, None], high[:, None]

    @staticmethod
    def by_all(
        bands: Sequence[Band], which: Any, rows: tuple[Any, ...], u: Real | None
    ) -> tuple[Real, Real]:
        """The same by the models of all folds; nobody knows a randomised form (``u``)."""
        some = [band.take(which[0][:, 0]) for band in bands]
        low, high = plus_interval(some, *rows)
        return low[:, None], high[:, None]

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


class AbsoluteBand:
    """Intervals of one width around the prediction."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @classmethod
    def fit(cls, asked: Any, rows: LabelledRows) -> AbsoluteBand:
        return cls(rows.fitted(asked.estimator))

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
    def fit(cls, asked: Any, rows: LabelledRows) -> NormalizedBand:
        """Fit the estimator to all rows, and the spread to residuals of rows left out."""
        if len(rows) < 2:
            raise InputError(
                "conformity_score='normalized' needs at least 2 training rows; got n_samples=1: "
                "one predicts the other."
            )
        residual = np.empty(len(rows))
        folds = KFold(min(_FOLDS, len(rows)), shuffle=True, random_state=0)
        for kept, held in folds.split(rows.y):
            part = rows.rows(kept).fitted(asked.estimator)
            residual[held] = np.abs(rows.y[held] - _numbers(part, take_rows(rows.X, held)))
        spread = clone(asked.spread) if asked.spread is not None else BoostedSpread()
        mean = float(residual.mean()) or 1.0
        spread.fit(rows.X, np.maximum(residual, 1e-6 * mean))
        return cls(rows.fitted(asked.estimator), spread, _LEAST_UNIT * mean)

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
    def fit(cls, asked: Any, rows: LabelledRows) -> QuantileBand:
        low, high = asked.quantiles
        return cls(*(rows.fitted(at_quantile(asked.estimator, q)) for q in (low, high, 0.5)))

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
