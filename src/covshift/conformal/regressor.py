"""Prediction intervals that keep their coverage on the target."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..data.labels import one_outcome
from ..data.parameters import Rule, Rules, one_of
from ..engine.weights import DEFAULT
from ..exceptions import InputError
from ..numerics.array import Real
from .bands import BANDS, SCORES, AbsoluteBand, Band, NormalizedBand, QuantileBand
from .base import RULES, Conformal
from .data import LabelledRows
from .result import Intervals, below_zero
from .trust import Regions


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
        **RULES,
        "conformity_score": one_of(*SCORES),
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
        used, weights, ends = self._regions(X, coverage)
        lower, upper = (end[:, 0] for end in ends)
        infinite = ~(np.isfinite(lower) & np.isfinite(upper))
        notes = self._notes(used, X, coverage, weights, infinite, "intervals are infinite")
        if used.rows is not None and (used.rows.y > 0).all():
            notes += below_zero(float(((lower < 0) & ~infinite).mean()))
        facts = self._facts(used, X, coverage)
        return Intervals(**facts, notes=tuple(notes), lower=lower, upper=upper)

    def _blank(self, m: int, whole: bool) -> tuple[Real, Real]:
        most = np.inf if whole else -np.inf
        return np.full((m, 1), -most), np.full((m, 1), most)

    def _larger(self, one: Regions, other: Regions) -> Regions:
        return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])

    def _seen_by(self, model: Any, X: Any, u: Real | None) -> Band:
        return model.band(X)  # type: ignore[no-any-return]

    def _seen_as(self, f: Real, u: Real | None) -> Band:
        return Band(f, f, np.ones(len(f)))

    def _closed_values(self, *X: Any) -> Real:
        return np.asarray(self._closed.predict(*X))

    # fitting

    def _check_outcomes(self, y: Any) -> NDArray[Any]:
        return one_outcome(y, "y", None, "X")

    @property
    def _has_closed_form(self) -> bool:  # type: ignore[override]
        return bool(self.conformity_score == "absolute")

    def _fit_model(self, rows: LabelledRows) -> None:
        self._model = self._fitted(rows)
        self.estimator_ = self._model.estimator

    def _fitted(self, rows: LabelledRows) -> Any:
        return BANDS[str(self.conformity_score)].fit(self, rows)

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
