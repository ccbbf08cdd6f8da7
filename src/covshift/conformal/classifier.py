"""Prediction sets that keep their coverage on the target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from ..data.labels import class_labels
from ..data.parameters import Rules, number, one_of, whole
from ..data.validation import column_names, is_margins
from ..engine.label_shift import (
    SHIFTS,
    WHY_NOT,
    Shares,
    refuse_with_label_shift,
    rejection,
)
from ..engine.weights import DEFAULT
from ..exceptions import InputError, InputTypeError
from ..numerics.array import Flags, Real, Rows, row_count
from ..show.notes import Note
from .bands import check_new_rows
from .base import RULES, Conformal
from .calibration import Calibration
from .classes import SCORES, ClassScore, ClassScores
from .data import LabelledRows, several
from .result import Sets
from .shift import Shift
from .trust import Regions

_CLASS = "class"  # of ``by``: groups are the classes, not those of a column
_SHOWN = 5  # classes in a note


class ConformalClassifier(ClassifierMixin, Conformal):  # type: ignore[misc]
    """Sets of classes that hold the true one with a given probability on the target (conformal).

    Every class gets a score from the probabilities of a classifier
    (`covshift.conformal.classifier`); a set holds the classes whose score is at most the quantile
    of the calibration rows' scores, weighted as the target asks for, the new row's own weight among
    them (Tibshirani et al. 2019). Where the new row alone weighs too much, the set holds all
    classes.

    Parameters
    ----------
    estimator : classifier or Pipeline
        With ``predict_proba``. Cloned and fitted; with ``prefit=True`` taken as it is. One that
        takes ``X_target`` gets the target.
    weighter, method, threshold, prefit, calibration_size, n_folds, sensitivity, random_state
        As of `ConformalRegressor`.
    by : str or int, optional
        "class": every class has the coverage, by a threshold from its own calibration rows
        (label-conditional or Mondrian: Vovk, Gammerman and Shafer 2005). Without it the coverage is
        that of all rows together, and a rare class may be left out nearly always. A class of too
        few rows (9 at 90%, with equal weights) cannot be left out: it is in every set, and a note
        says so (Ding et al. 2023). A column of groups: the coverage is kept in every group.
    conformity_score : {"lac", "aps", "raps"}
        "lac" gives the smallest sets, "aps" larger ones at hard rows, "raps" is for many classes.
    penalty, start : float and int
        Of "raps": every class after the first ``start`` adds ``penalty``.
    randomized : bool
        Exact rather than conservative coverage, by random numbers for the places in X (pass rows
        together, rather than one at a time). Sets may then be empty, and those of "aps" are
        smaller. With "cv+" and "jackknife+" no exact coverage is known.
    shift : {"covariate", "label"}
        What is the same in sample and target: the class given the columns (the default), or the
        columns given the class. With "label" a calibration row of class c weighs r_c, its share in
        the target over that in the sample, and so does a new row as a candidate of class c
        (Podkopaev and Ramdas 2021); shares are those of `covshift.engine.label_shift`, from the
        rows that train. There is no ``weighter`` then.

    Attributes
    ----------
    classes_ : (K,) array
    estimator_, weighter_, scores_, weights_, effective_sample_size_ : as of `ConformalRegressor`

    Notes
    -----
    A set may be empty: no class is usual for such a row. ``sets.share_empty`` says how often.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from covshift.conformal import ConformalClassifier
    >>> from covshift.datasets import make_survey
    >>> data = make_survey(500, 500, random_state=0)
    >>> classifier = make_pipeline(StandardScaler(), LogisticRegression())
    >>> model = ConformalClassifier(classifier, random_state=0)
    >>> model = model.fit(data.X, data.y, X_target=data.X_target)
    >>> sets = model.predict_set(data.X_target, coverage=0.9)
    >>> sets.member.shape
    (500, 2)
    """

    _rules: ClassVar[Rules] = {
        **RULES,
        "conformity_score": one_of(*SCORES),
        "shift": one_of(*SHIFTS),
        "penalty": number(least=0),
        "start": whole(0),
    }
    _classes = True
    _ratios: Any = None  # (K,): of class shares, target over sample, under label shift

    def __init__(
        self,
        estimator: Any,
        *,
        weighter: Any = DEFAULT,
        method: str = "split",
        conformity_score: str = "lac",
        threshold: str = "weighted",
        by: str | int | None = None,
        prefit: bool = False,
        calibration_size: float = 0.5,
        n_folds: int = 10,
        penalty: float = 0.01,
        start: int = 2,
        randomized: bool = False,
        sensitivity: float = 1.0,
        shift: str = "covariate",
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
        self.penalty = penalty
        self.start = start
        self.randomized = randomized
        self.sensitivity = sensitivity
        self.shift = shift
        self.random_state = random_state

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        check_is_fitted(self, "scores_")
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> Real:
        """Class probabilities of the fitted estimator."""
        check_is_fitted(self, "scores_")
        return self._probabilities(self.estimator_, self._features(X))

    def predict_set(self, X: Any, coverage: float = 0.9) -> Sets:
        """Return a set of classes for each row; ``sets.member`` says which it holds."""
        X = self._check_new(X, coverage)
        used, weights, (member, bound) = self._regions(X, coverage)
        alone = np.asarray(~bound.any(axis=1))  # no smaller set has the coverage
        notes = self._notes(used, X, coverage, weights, alone, "sets hold all classes")
        notes += self._rare_classes(used, coverage, ~bound & ~alone[:, None])
        tests = None
        if self.shift == "label":  # whether the target is a mixture of the classes
            known = self._shares is not None and not used.of_target  # a file does not keep it
            tests = (self._shares.test,) if known else ()
            notes += [note for test in tests for note in rejection(test)]
        facts = self._facts(used, X, coverage)
        return Sets(
            **facts,
            notes=tuple(notes),
            member=member,
            classes=self.classes_,
            label_shift=tests,
        )

    def _blank(self, m: int, whole: bool) -> tuple[Flags, Flags]:
        """Classes (m, K) of the sets of new rows, and whether they could be left out at all."""
        K = len(self.classes_)
        return np.full((m, K), whole), np.zeros((m, K), dtype=bool)

    def _larger(self, one: Regions, other: Regions) -> Regions:
        return one[0] | other[0], one[1]

    def _seen_by(self, model: Any, X: Any, u: Real | None) -> ClassScores:
        return self._seen_as(self._probabilities(model, X), u)

    def _seen_as(self, p: Real, u: Real | None) -> ClassScores:
        return ClassScores(self._score.matrix(p, u), self.classes_)

    def _closed_values(self, *X: Any) -> Real:
        return np.asarray(self._closed.predict_proba(*X))

    def _candidates(self, rows: Calibration, group: Any) -> Iterator[tuple[Rows, float]]:
        """Classes with the same weight of a new row: all, or each with its own (label shift)."""
        columns = np.arange(len(self.classes_))
        if self.by == _CLASS:  # the group is a class
            columns = columns[[str(name) == group for name in self.classes_]]
        if self._ratios is None or rows.of_target:
            yield columns, 1.0
            return
        for k in columns:
            yield np.array([k]), float(self._ratios[k])

    def _by_class(self, by: Any, X: Any) -> bool:
        if by != _CLASS:
            return False
        if _CLASS in (column_names(X) or ()):
            raise InputError(
                "by='class' stands for the class that is predicted, and X has a column 'class' as "
                "well: rename the column."
            )
        return True

    def _rare_classes(self, rows: Calibration, coverage: float, free: Flags) -> list[Note]:
        """Say which classes are in sets for want of calibration rows: ``free`` (m, K)."""
        shares = free.mean(axis=0)
        if not shares.any():
            return []
        some = np.flatnonzero(shares)
        counts = ["" for _ in self.classes_]
        if rows.groups is not None:
            counts = [f"{np.sum(rows.groups == str(c))} calibration rows; " for c in self.classes_]
        shown = ", ".join(
            f"{str(self.classes_[k])!r} ({counts[k]}{shares[k]:.1%} of the sets)"
            for k in some[:_SHOWN]
        )
        more = "" if len(some) <= _SHOWN else f" and {len(some) - _SHOWN} more"
        text = (
            f"Too few calibration rows to leave out a class with a coverage of {coverage:.0%}: "
            f"{shown}{more}."
        )
        return [Note("rare classes", text, "warning")]

    # fitting

    @property
    def _by_shares(self) -> bool:  # type: ignore[override]
        return bool(self.shift == "label")

    def _fit_shift(self, rows: LabelledRows) -> Shift:
        """Fit the weights, or under label shift find the shares of the classes."""
        if self.shift != "label":
            return super()._fit_shift(rows)
        if rows.target is None:
            return Shift()
        code = np.searchsorted(self.classes_, rows.y)
        self._shares = Shares.of_rows(
            rows.X,
            code,
            rows.target,
            sample_weight=rows.design,
            names=list(map(str, self.classes_)),
            random_state=self._seed,
            **rows.of_target,
        )
        self._ratios = self._shares.value / self._shares.sample
        return Shift()

    def _keep(self, rows: LabelledRows, shift: Shift, factor: Real | None = None) -> None:
        if self._ratios is not None:
            factor = self._ratios[np.searchsorted(self.classes_, rows.y)]
        super()._keep(rows, shift, factor)

    def _begin(self, X: Any, y: Any, **given: Any) -> LabelledRows:
        self._ratios = None
        rows = super()._begin(X, y, **given)
        if self.shift == "label":
            if self.sensitivity != 1:
                raise InputError(
                    f"sensitivity={self.sensitivity:g} is for covariate shift, not for "
                    'shift="label".'
                )
            if self.threshold == "dr":
                raise InputError(
                    "threshold='dr' carries scores to the target by covariate shift: it is not for "
                    'shift="label".'
                )
            if not (isinstance(self.weighter, str) and self.weighter == DEFAULT):
                raise InputError(f'weighter is not for shift="label": {WHY_NOT["weighter"]}.')
            refuse_with_label_shift(is_margins(rows.target))
        return rows

    @property
    def _score(self) -> ClassScore:
        return ClassScore(str(self.conformity_score), float(self.penalty), int(self.start))

    def _check_outcomes(self, y: Any) -> NDArray[Any]:
        if self.threshold == "dr" and self.by == _CLASS:
            raise InputError(
                "threshold='dr' is not for by='class': it carries scores to the target's rows of "
                "a class, which are not known."
            )
        values = class_labels(y, None)
        self.classes_ = np.unique(values)
        if self.prefit:
            check_is_fitted(self.estimator)
            unknown = np.setdiff1d(self.classes_, self.estimator.classes_)
            if len(unknown):
                shown = ", ".join(map(repr, unknown[:5].tolist()))
                raise InputError(f"y has classes that the estimator does not know: {shown}.")
            self.classes_ = self.estimator.classes_
        elif len(self.classes_) < 2:
            raise InputError(
                f"y has only one class ({str(self.classes_[0])!r}); at least two are required."
            )
        return np.asarray(values)

    def _probabilities(self, model: Any, X: Any) -> Real:
        """Probabilities of all classes, also where some rows of a class trained no model."""
        check_new_rows(model, X)
        found = np.zeros((row_count(X), len(self.classes_)))
        found[:, np.searchsorted(self.classes_, model.classes_)] = model.predict_proba(X)
        return found

    def _fitted(self, rows: LabelledRows) -> Any:
        if not hasattr(self.estimator, "predict_proba"):
            raise InputTypeError(
                f"{type(self.estimator).__name__} has no predict_proba. Pass a classifier that "
                "has, or wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        if not several(rows.y):  # the only row of the other class is left out
            return DummyClassifier(strategy="prior").fit(np.zeros((len(rows), 1)), rows.y)
        return rows.fitted(self.estimator)

    def _fit_model(self, rows: LabelledRows) -> None:
        if not several(rows.y):
            raise InputError(
                f"The rows that train have only one class, {str(rows.y[0])!r}: pass more rows of "
                "other classes, or a smaller calibration_size."
            )
        self.estimator_ = self._model = self._fitted(rows)

    def _fit_prefit(self, rows: LabelledRows) -> None:
        self.estimator_ = self._model = self.estimator
