"""Prediction intervals that keep their coverage on the target."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..data.labels import one_outcome
from ..data.parameters import Rule, Rules, flag, number, one_of, whole
from ..engine.weights import DEFAULT
from ..exceptions import InputError
from ..numerics.array import Real, take_rows
from .bands import BANDS, SCORES, AbsoluteBand, Band, FitOptions, NormalizedBand, QuantileBand
from .base import METHODS, Conformal
from .calibration import Calibration
from .data import LabelledRows
from .held_out import closed_form, columns, plus_interval
from .result import Intervals, below_zero

_CELLS = 4_000_000  # of the predictions (new rows, models) at a time


class ConformalRegressor(RegressorMixin, Conformal):  # type: ignore[misc]
    """Prediction intervals with coverage on the target, around any regressor (conformal).

    The outcomes of calibration rows are compared with their predictions, each gets a score S_i, and
    the threshold is the quantile of the scores weighted as the target asks for, the new row's own
    weight w(x) among them (`covshift.conformal.coverage`): the smallest s with

        sum_i w_i 1[S_i <= s] >= coverage (sum_i w_i + w(x)) .

    If the weights are the density ratio, the coverage is ``coverage`` at least, for any estimator
    and any sample size (Tibshirani et al. 2019). Where the new row alone weighs too much, the
    interval is infinite.

    Parameters
    ----------
    estimator : regressor or Pipeline
        Cloned and fitted; with ``prefit=True`` taken as it is. One that takes ``X_target`` gets the
        target.
    weighter : str, weighter or None
        A name or an object of `covshift.weights`, fitted without outcomes: in the split form to the
        rows that train, else to all, and scaled as for new rows. Default:
        the weights of `covshift.estimate`, "tilted-cdf"; of margins "cdf". None: weights of one,
        ordinary conformal prediction.
    method : {"split", "cv+", "jackknife+"}
        Rows of their own calibrate; or every row does, by a model fitted without it
        (`covshift.conformal.bands`). Jackknife+ fits the estimator once for each row, `VSVR` and
        `VSVC` once.
    conformity_score : {"absolute", "normalized", "quantile"}
        What an interval looks like (`covshift.conformal.bands`): of one width; as wide as residuals
        at such rows; between quantile models, for which ``estimator`` must have a parameter
        ``quantile`` or ``alpha``.
    threshold : {"weighted", "dr"}
        "dr" is doubly robust: coverage in large samples if either the weights or a model of the
        scores is right (`covshift.conformal.coverage`). For "split" and ``prefit``.
    by : str or int, optional
        A column of groups: the coverage is then kept in every group, by its own rows.
    prefit : bool
        Whether the estimator is fitted already, so that all rows given to `fit` calibrate. For
        "quantile" then a pair of fitted models (low, high), for "normalized" a fitted ``spread``.
    calibration_size : float
        Share of the rows that calibrate in the split form.
    n_folds : int
        Of "cv+".
    quantiles : pair of float
        Levels of the quantile models.
    spread : regressor, optional
        Model of absolute residuals for "normalized". Default: boosted trees.
    randomized : bool
        Exact rather than conservative coverage, by a random number for each new row; for "split"
        and ``prefit``. The numbers belong to the places in X, so that equal calls agree: pass rows
        together rather than one at a time. An interval that should hold no outcome at all is the
        prediction alone.
    sensitivity : float
        Up to how many-fold unobserved factors may change the odds of being in the target, among
        rows with the same columns (`covshift.conformal.coverage`). The coverage then holds in the
        worst case; 1 is the plain form. For "split" and ``prefit``, with weighted thresholds.
    random_state : int, RandomState or None
        Of the split, the folds and the randomised form.

    Attributes
    ----------
    estimator_ : the fitted estimator
    weighter_ : the fitted weighter, or None
    scores_, weights_ : (n,) arrays
        Of the calibration rows.
    effective_sample_size_ : float
        Kish's number of calibration rows.
    n_features_in_, feature_names_in_ : as of X

    Notes
    -----
    Cost beyond the fits: one sort of the calibration scores, O(log n) for each new row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from covshift.conformal import ConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(2000, 1)), rng.normal(0.7, 1, size=(2000, 1))
    >>> y = X[:, 0] + np.exp(X[:, 0] / 2) * rng.normal(size=2000)
    >>> y_T = T[:, 0] + np.exp(T[:, 0] / 2) * rng.normal(size=2000)
    >>> plain = ConformalRegressor(LinearRegression(), weighter=None, random_state=0).fit(X, y)
    >>> print(f"{plain.predict_interval(T, coverage=0.9).covers(y_T).mean():.2f}")
    0.78
    >>> model = ConformalRegressor(LinearRegression(), random_state=0).fit(X, y, X_target=T)
    >>> intervals = model.predict_interval(T, coverage=0.9)
    >>> low, high = intervals
    >>> print(f"{intervals.covers(y_T).mean():.2f}")
    0.87
    """

    _rules: ClassVar[Rules] = {
        "method": one_of(*METHODS),
        "conformity_score": one_of(*SCORES),
        "threshold": one_of("weighted", "dr"),
        "prefit": flag(),
        "calibration_size": number(above=0, below=1),
        "n_folds": whole(2),
        "randomized": flag(),
        "sensitivity": number(least=1),
        "quantiles": Rule(
            ("two increasing numbers between 0 and 1",),
            lambda pair: np.shape(pair) == (2,) and bool(0 < pair[0] < pair[1] < 1),
        ),
    }

    def __init__(
        self,
        estimator: Any,
        *,
        weighter: Any = DEFAULT,
        method: str = "split",
        conformity_score: str = "absolute",
        threshold: str = "weighted",
        by: str | int | None = None,
        prefit: bool = False,
        calibration_size: float = 0.5,
        n_folds: int = 10,
        quantiles: tuple[float, float] = (0.05, 0.95),
        spread: Any = None,
        randomized: bool = False,
        sensitivity: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.weighter = weighter
        self.method = method
        self.conformity_score = conformity_score
        self.threshold = threshold
        self.by = by
        self.prefit = prefit
        self.calibration_size = calibration_size
        self.n_folds = n_folds
        self.quantiles = quantiles
        self.spread = spread
        self.randomized = randomized
        self.sensitivity = sensitivity
        self.random_state = random_state

    def predict(self, X: Any) -> Real:
        """Predict with the fitted estimator; for "quantile" its median."""
        check_is_fitted(self, "scores_")
        return np.asarray(self._model.predict(self._features(X)))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Intervals:
        """Return an interval for each row: ``low, high = model.predict_interval(X)``."""
        X = self._check_new(X, coverage)
        used, *others = self._calibrations(coverage)
        weights = self._weights_beside(used, X)
        lower, upper = self._ends(used, X, weights, coverage)
        for rows in others:
            low, high = self._ends(rows, X, self._weights_beside(rows, X), coverage)
            lower, upper = np.minimum(lower, low), np.maximum(upper, high)
        infinite = ~(np.isfinite(lower) & np.isfinite(upper))
        notes = self._notes(used, X, coverage, weights, infinite, "intervals are infinite")
        if used.rows is not None and (used.rows.y > 0).all():
            notes += below_zero(float(((lower < 0) & ~infinite).mean()))
        return Intervals(
            self.predict(X),
            coverage,
            used.effective_size,
            len(used),
            used.of_target,
            tuple(notes),
            self._lazily(coverage),
            lower,
            upper,
        )

    def _ends(self, rows: Calibration, X: Any, weights: Real, coverage: float) -> tuple[Real, Real]:
        """Ends of the intervals of new rows, which weigh ``weights`` (m,) beside the others."""
        m = len(weights)
        most = -np.inf if rows.of_target else np.inf  # labels that are not there ask for nothing
        lower, upper = np.full(m, -most), np.full(m, most)
        u = self._random(m, "threshold")
        for part, new, group in self._parts(rows, X):
            if not len(part):
                continue
            some = X if len(new) == m else take_rows(X, new)
            own = rows.own_weights(weights[new], part)
            if self._held or rows.of_target:
                distribution = self._distribution(rows, coverage, part, group)
                asked = None if u is None else u[new]
                level = rows.level(coverage, part, own, float(self.sensitivity))
                q = distribution.thresholds(level, own, asked)
                lower[new], upper[new] = self._model.band(some).interval(*q)
            else:
                lower[new], upper[new] = self._plus(some, own, part, coverage)
        return lower, upper

    def _plus(self, X: Any, own: Real, part: Any, coverage: float) -> tuple[Real, Real]:
        ends = []
        step = max(1, _CELLS // len(self.scores_))
        for start in range(0, len(own), step):
            some = np.arange(start, min(start + step, len(own)))
            rows = take_rows(X, some)
            bands = self._left_out_bands(rows)
            given = self._fold[part], self.scores_[part], self.weights_[part]
            ends.append(plus_interval(bands, *given, own[some], coverage))
        return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])

    # fitting

    def _check_outcomes(self, y: Any) -> NDArray[Any]:
        if self.threshold == "dr" and not self._held:
            raise InputError(
                f"threshold='dr' is for method='split' and prefit=True, not {self.method!r}."
            )
        if self.randomized and not self._held:
            raise InputError(
                f"randomized=True is for method='split' and prefit=True, not {self.method!r}, "
                "whose exact coverage is not known."
            )
        return one_outcome(y, "y", None, "X")

    def _left_out_bands(self, X: Any) -> list[Band]:
        """Bands of the rows X by every model that leaves some rows out."""
        if self._closed is None:
            return [model.band(X) for model in self._models]
        found = columns(self._closed.predict(X))
        return [Band(f, f, np.ones(len(f))) for f in found]

    def _fit_model(self, rows: LabelledRows) -> None:
        self._model = self._fitted(rows)
        self.estimator_ = self._model.estimator

    def _closed_form(self, rows: LabelledRows) -> Any:
        return closed_form(self.estimator_, rows) if self.conformity_score == "absolute" else None

    def _fitted(self, rows: LabelledRows) -> Any:
        options = FitOptions(rows.target, rows.target_weight)
        return BANDS[str(self.conformity_score)].fit(self, rows.X, rows.y, rows.design, options)

    def _fit_prefit(self, rows: LabelledRows) -> None:
        if self.conformity_score == "quantile":
            if not (isinstance(self.estimator, tuple | list) and len(self.estimator) == 2):
                raise InputError(
                    "With prefit=True and conformity_score='quantile', estimator is a pair of "
                    "fitted models (low, high)."
                )
            for model in self.estimator:
                check_is_fitted(model)
            self._model = QuantileBand(*self.estimator)
        else:
            check_is_fitted(self.estimator)
            self._model = AbsoluteBand(self.estimator)
            if self.conformity_score == "normalized":
                if self.spread is None:
                    raise InputError(
                        "With prefit=True and conformity_score='normalized', pass spread: a fitted "
                        "model of absolute residuals, which was not fitted to these rows."
                    )
                check_is_fitted(self.spread)
                self._model = NormalizedBand(self.estimator, self.spread)
        self.estimator_ = self._model.estimator

    def _scored(self, model: Any, rows: LabelledRows, u: Real | None) -> Real:
        return np.asarray(model.band(rows.X).scores(rows.y))

    def _scored_apart(self, rows: LabelledRows, u: Real | None) -> Real:
        return np.asarray(np.abs(self._closed.residuals()))
