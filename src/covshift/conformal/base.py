"""What intervals and sets share: rows, weights and scores."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from ..data import Samples, validation
from ..data.columns import NamedColumns
from ..data.labels import refuse_none
from ..data.parameters import Rules, check_parameters, flag, number, one_of, whole
from ..engine.labels import Labels
from ..engine.overlap import refuse_uncovered
from ..exceptions import InputError, NoOverlapError
from ..machine.fit import TARGET_REQUEST
from ..numerics.array import Real, Rows, row_count
from ..numerics.crossfit import deal
from ..numerics.quiet import quiet
from .calibration import Calibration
from .data import (
    LabelledRows,
    deal_folds,
    labelled_rows,
    labelled_target,
    rows_of,
    split_rows,
)
from .held_out import closed_form
from .shift import Shift
from .trust import Calibrated

METHODS = ("split", "cv+", "jackknife+")
RULES: Rules = {
    "method": one_of(*METHODS),
    "threshold": one_of("weighted", "dr"),
    "prefit": flag(),
    "calibration_size": number(above=0, below=1),
    "n_folds": whole(2),
    "randomized": flag(),
    "sensitivity": number(least=1),
}
_WEIGHING_FOLDS = 5
_MANY = 20_000  # rows, of which one fold tells the mean
_ENOUGH = 30  # rows from which the weights of some are told from the others


class Conformal(Calibrated):
    """Base of `ConformalRegressor` and `ConformalClassifier`."""

    __metadata_request__fit = TARGET_REQUEST | {"y_target": True}
    _classes = False
    _by_shares = False  # of the classes, which label shift changes alone
    _has_closed_form = True

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_target: Any = None,
        y_target: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> Self:
        """Fit the estimator and the weighter, and score the calibration rows.

        Parameters
        ----------
        X, y : rows and their outcomes, or the name of the column of X that holds them
            With ``prefit=True`` calibration rows only, which did not train the estimator.
        X_target : rows of the target, `covshift.Margins`, or a one-tuple, optional
            None: the target is the population of X, and this is ordinary conformal prediction; a
            warning says so, unless ``weighter=None``.
        y_target : name of a column of X_target, (M,) array, `covshift.Labels`, or a one-tuple
            Outcomes of some target rows, missing where they are not known. Where they suffice
            (from 1 / (1 - coverage) - 1 rows, in every group), they alone calibrate, so that the
            coverage holds whatever the outcome does given the features; where they are fewer,
            intervals and sets are the larger of theirs, at the coverage that they reach, and of
            the sample's. They train nothing.
        sample_weight, target_weight : names of columns, or (N,) and (M,) arrays, optional
            Probability weights of the rows, on any scale.

        Columns that are named are not features; new rows may have them or not.
        """
        self.__dict__.pop("_other_columns", None)
        labels = Labels.of(validation.unwrap_target(y_target))
        if labels is not None and labels.selected:
            raise InputError(
                "Labels(..., selected=True) is for estimate and evaluate: pass probability here."
            )
        if labels is not None:
            target = validation.unwrap_target(X_target)
            if target is None or validation.is_margins(target):
                raise InputError(
                    "y_target holds outcomes of target rows: pass these rows as X_target."
                )
        named: list[Any] = [y, sample_weight, validation.unwrap_target(target_weight)]
        named += [None, None] if labels is None else [labels.y, labels.probability]
        if any(isinstance(values, str) for values in named):
            X, X_target, *named = self._by_name(X, X_target, *named)
            y, sample_weight, target_weight, *given = named
            labels = None if labels is None else Labels(*given)
        rows = self._begin(
            X,
            y,
            X_target=X_target,
            sample_weight=sample_weight,
            target_weight=target_weight,
        )
        if rows.target is None and self.weighter is not None:
            validation.warn_of_no_target(self)
        if self.weighter is not None and labels is None and not self._by_shares:
            refuse_without_overlap(rows)
        of_target = None
        if labels is not None:
            of_target = labelled_target(rows, labels, self.classes_ if self._classes else None)
        if self.prefit:
            self._calibrate(rows, rows)
        elif self.method == "split":
            trains, calibrates = self._split(rows)
            part = rows.rows(trains)
            self._fit_model(part)
            self._keep(rows.rows(calibrates), self._fit_shift(part))
        else:
            if len(rows) < 2:
                raise InputError(f"method={self.method!r} needs at least 2 rows; got n_samples=1.")
            self._fit_model(rows)
            self._fit_left_out(rows)
            shift = self._fit_shift(rows)
            self._keep(rows, shift, self._weigh_apart(rows, shift))
        if of_target is not None:
            if self._by_class(self.by, X):
                of_target = of_target.by_class
            u = self._random(len(of_target), "calibration")
            scores = self._seen_by(self._model, of_target.X, u).scores(of_target.y)
            equal = np.ones(len(of_target))
            self._by_labels = Calibration.of(scores, of_target, equal, of_target=True)
        return self

    def _by_name(self, X: Any, X_target: Any, *values: Any) -> list[Any]:
        """Read the columns that outcomes and weights name: X and X_target without them, these."""
        target = validation.unwrap_target(X_target)
        has_rows = target is not None and not validation.is_margins(target)
        columns = NamedColumns(X, target if has_rows else None)
        read = [
            (columns.of_rows, "y"),
            (columns.of_rows, "sample_weight"),
            (columns.of_target, "target_weight"),
            (columns.of_target, "y_target"),
            (columns.of_target, "probability"),
        ]
        found = [
            of(given, name) if isinstance(given, str) else given
            for given, (of, name) in zip(values, read, strict=True)
        ]
        self._other_columns = np.array([name for name in values if isinstance(name, str)])
        features, rows = columns.features
        return [features, rows if has_rows else X_target, *found]

    def _begin(self, X: Any, y: Any, **given: Any) -> LabelledRows:
        """Check parameters and rows, and forget an earlier fit."""
        check_parameters(self)
        self._check_forms()
        text = self._takes_text()
        X = rows_of(X, "X", text=text)
        validation.check_columns(self, X, reset=True)
        refuse_none(self, y)
        y, by_class = self._check_outcomes(y), self._by_class(self.by, X)
        rows = labelled_rows(X, y, None if by_class else self.by, text=text, **given)
        rows = rows.by_class if by_class else rows
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._closed, self._models, self._fold, self._by_labels = None, (), None, None
        self._shares = None
        return rows

    def _check_forms(self) -> None:
        """Refuse forms that have no exact coverage, or no known worst case."""
        held, classes = "is for method='split' and prefit=True", self._classes
        if self.threshold == "dr" and not self._held:
            raise InputError(f"threshold='dr' {held}, not {self.method!r}.")
        if self.randomized and not (self._held or classes):
            raise InputError(
                f"randomized=True {held}, not {self.method!r}, whose exact coverage is not known."
            )
        if self.sensitivity == 1:
            return
        for bad, what in (
            (not self._held, f"method={self.method!r}"),
            (self.threshold == "dr", "threshold='dr'"),
            (self.randomized, "randomized=True"),
        ):
            if bad:
                raise InputError(
                    f"sensitivity={self.sensitivity:g} is for method='split' and prefit=True, with "
                    f"threshold='weighted' and randomized=False, not {what}, whose worst case "
                    "is not known."
                )

    def _calibrate(self, rows: LabelledRows, weighed: LabelledRows) -> Self:
        """Calibrate the fitted estimator; the weighter is fitted to the rows ``weighed``."""
        self._fit_prefit(rows)
        shift = self._fit_shift(weighed)
        self._keep(rows, shift, self._weigh_apart(rows, shift) if weighed is rows else None)
        return self

    def _fit_left_out(self, rows: LabelledRows) -> None:
        """Find what predicts each row without it: models of folds, or one in closed form."""
        if self.method == "jackknife+":
            self._fold = np.arange(len(rows))
            self._closed = closed_form(self.estimator_, rows) if self._has_closed_form else None
        else:
            self._fold = deal_folds(rows.y, int(self.n_folds), self._seed, classes=self._classes)
        if self._closed is None:
            parts = (np.flatnonzero(self._fold != k) for k in range(int(self._fold.max()) + 1))
            self._models = tuple(self._fitted(rows.rows(part)) for part in parts)

    def _split(self, rows: LabelledRows) -> tuple[Rows, Rows]:
        if len(rows) < 2:
            raise InputError(
                "method='split' needs at least 2 rows: one to train and one to calibrate; got "
                "n_samples=1."
            )
        return split_rows(rows.y, float(self.calibration_size), self._seed, classes=self._classes)

    def _fit_shift(self, rows: LabelledRows) -> Shift:
        if self.weighter is None or rows.target is None:
            return Shift()
        return Shift.fit(
            self.weighter, rows.X, rows.target, rows.design, rows.of_target, self._seed
        )

    def _weigh_apart(self, rows: LabelledRows, shift: Shift) -> Real:
        """Weigh rows that the weighter was fitted to, on the scale on which it weighs others.

        Their mean weight is one, and that of other rows from the same population may be larger:
        then new rows would weigh too much beside them. Weighters of some rows tell it from the
        others.
        """
        whole = shift.weigh(rows.X, len(rows))
        if shift.scaler is None or len(rows) < _ENOUGH:  # margins, no weighter, or few rows
            return whole
        fold = deal(shift.encoded(rows.X), np.zeros(len(rows)), _WEIGHING_FOLDS)
        apart = np.full(len(rows), np.nan)
        with quiet():  # the weighter of all rows has said it
            for k in range(_WEIGHING_FOLDS if len(rows) <= _MANY else 1):
                inside, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
                try:
                    part = self._fit_shift(rows.rows(others))
                except NoOverlapError:
                    return whole
                apart[inside] = part.weigh(rows.rows(inside).X, len(inside))
        d = np.ones(len(rows)) if rows.design is None else rows.design
        known = d * (np.isfinite(whole) & np.isfinite(apart))
        means = [known @ np.where(known > 0, found, 0.0) for found in (apart, whole)]
        return whole * (means[0] / means[1]) if min(means) > 0 else whole

    def _keep(self, rows: LabelledRows, shift: Shift, factor: Real | None = None) -> None:
        """Score the calibration rows, and weigh them, unless their ``factor`` is known."""
        self._shift, self.weighter_ = shift, shift.weighter
        factor = shift.weigh(rows.X, len(rows)) if factor is None else factor
        form = {"odds": float(self.sensitivity), "doubly_robust": self.threshold == "dr"}
        self._by_sample = Calibration.of(self._calibration_scores(rows), rows, factor, **form)

    def _calibration_scores(self, rows: LabelledRows) -> Real:
        """Score every row by what was fitted without it."""
        u = self._random(len(rows), "calibration")
        if self._held:
            return np.asarray(self._seen_by(self._model, rows.X, u).scores(rows.y))
        if self._closed is not None:
            return np.asarray(self._seen_as(self._closed_values(), u).scores(rows.y))
        scores = np.empty(len(rows))
        for k, model in enumerate(self._models):
            inside = np.flatnonzero(self._fold == k)
            part, asked = rows.rows(inside), None if u is None else u[inside]
            scores[inside] = self._seen_by(model, part.X, asked).scores(part.y)
        return scores


def refuse_without_overlap(rows: LabelledRows) -> None:
    """Refuse target rows of which none is covered: all of their intervals would be infinite."""
    if rows.target is None or validation.is_margins(rows.target):
        return
    given = {"sample_weight": rows.design, **rows.of_target}
    with quiet():  # the fit says what else there is to say
        refuse_uncovered(Samples.of_rows(rows.X, rows.target, **given))


# Calibration of a fitted estimator by rows that were held out of those that trained it.


def calibrate(
    model: Conformal,
    X: Any,
    y: Any,
    trained: Any,
    X_target: Any,
    *,
    sample_weight: Any = None,
    trained_weight: Any = None,
    target_weight: Any = None,
) -> Conformal:
    """Calibrate ``model``, whose estimator is fitted, by the rows X, and return it.

    As ``fit`` with ``prefit=True``, but that the weighter is fitted to the rows ``trained``, of
    weights ``trained_weight``, as in the split form: weights that have not seen the calibration
    rows suit these and new rows alike.
    """
    of_target = {"X_target": X_target, "target_weight": target_weight}
    rows = model._begin(X, y, sample_weight=sample_weight, **of_target)
    without = np.zeros(row_count(trained))  # outcomes, of which weights know nothing
    given = {"sample_weight": trained_weight, **of_target}
    weighed = labelled_rows(trained, without, None, text=model._takes_text(), **given)
    return model._calibrate(rows, weighed)
