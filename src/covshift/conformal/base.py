"""What intervals and sets share: rows, weights, scores, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data import Samples, validation
from ..data.columns import NamedColumns
from ..data.features import without_others
from ..data.labels import refuse_none
from ..data.parameters import check_parameters, number
from ..encoding.samples import takes_tables
from ..engine.labels import Labels
from ..engine.overlap import refuse_uncovered
from ..exceptions import InputError, NoOverlapError
from ..machine.fit import TARGET_REQUEST
from ..numerics.array import Flags, Real, Rows, row_count
from ..numerics.crossfit import deal
from ..numerics.quiet import quiet
from ..show.notes import Note
from .calibration import Calibration
from .coverage import expected, expected_by_class, expected_by_shares
from .data import (
    LabelledRows,
    deal_folds,
    groups_of,
    labelled_rows,
    labelled_target,
    rows_of,
    split_rows,
)
from .result import ExpectedCoverage
from .scores import ScoreDistribution, at_worst
from .shift import Shift

METHODS = ("split", "cv+", "jackknife+")
_USES = ("calibration", "threshold", "classes", "expected")
_WEIGHING_FOLDS = 5
_MANY = 20_000  # rows, of which one fold tells the mean
_ENOUGH = 30  # effective calibration rows below which a note says that there are few


class Conformal(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of `ConformalRegressor` and `ConformalClassifier`."""

    __metadata_request__fit = TARGET_REQUEST | {"y_target": True}
    _classes = False
    _by_shares = False  # of the classes, which label shift changes alone
    _by_labels: Calibration | None = None  # target rows with an outcome
    _shares: Any = None  # of the classes in the target, under label shift
    _by_sample: Calibration
    _shift: Shift
    classes_: Any
    _closed: Any
    _fold: Any
    _model: Any
    _models: tuple[Any, ...]

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
                of_target = replace(of_target, groups=np.array(list(map(str, of_target.y))))
            u = self._random(len(of_target), "calibration")
            scores = self._scored(self._model, of_target, u)
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

    def _features(self, X: Any) -> Any:
        """Leave out columns of new rows that held outcomes and weights of the rows of the fit."""
        others = getattr(self, "_other_columns", ())
        names = validation.column_names(X)
        if not len(others) or names is None:
            return X
        return without_others(X, [name for name in names if name not in others])

    def _begin(self, X: Any, y: Any, **given: Any) -> LabelledRows:
        """Check parameters and rows, and forget an earlier fit."""
        check_parameters(self)
        self._check_sensitivity()
        text = self._takes_text()
        X = rows_of(X, "X", text=text)
        validation.check_columns(self, X, reset=True)
        refuse_none(self, y)
        y, by = self._check_outcomes(y), None if self._by_class(self.by, X) else self.by
        rows = labelled_rows(X, y, by, text=text, **given)
        if self._by_class(self.by, X):
            rows = replace(rows, groups=np.array(list(map(str, rows.y))))
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._closed, self._models, self._fold, self._by_labels = None, (), None, None
        self._shares = None
        return rows

    @property
    def _held(self) -> bool:
        """Whether calibration rows have trained nothing."""
        return bool(self.prefit or self.method == "split")

    def _check_sensitivity(self) -> None:
        """Refuse forms whose worst case is not known."""
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

    def _labels_suffice(self, coverage: float) -> bool:
        """Whether labelled target rows reach the coverage, in every group of calibration rows."""
        by_labels = self._by_labels
        return by_labels is not None and by_labels.suffice(coverage, self._by_sample.groups)

    def _calibrations(self, coverage: float) -> list[Calibration]:
        """Rows that calibrate: target rows alone where they suffice, else the sample's first."""
        if self._by_labels is None:
            return [self._by_sample]
        alone = self._labels_suffice(coverage)
        return [self._by_labels] if alone else [self._by_sample, self._by_labels]

    def _weights_beside(self, rows: Calibration, X: Any) -> Real:
        """Weights (m,) of new rows, on the scale of those that calibrate."""
        m = row_count(X)
        return np.ones(m) if rows.of_target else self._shift.weigh(X, m)

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
            self._closed = self._closed_form(rows)
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
        self._by_sample = Calibration.of(self._calibration_scores(rows), rows, factor)

    def _calibration_scores(self, rows: LabelledRows) -> Real:
        """Score every row by what was fitted without it."""
        u = self._random(len(rows), "calibration")
        if self._held:
            return np.asarray(self._scored(self._model, rows, u))
        if self._closed is not None:
            return np.asarray(self._scored_apart(rows, u))
        scores = np.empty(len(rows))
        for k, model in enumerate(self._models):
            inside = np.flatnonzero(self._fold == k)
            asked = None if u is None else u[inside]
            scores[inside] = self._scored(model, rows.rows(inside), asked)
        return scores

    @property
    def scores_(self) -> Real:
        """Scores (n,) of the calibration rows."""
        return self._by_sample.scores

    @property
    def weights_(self) -> Real:
        """Weights (n,) of the calibration rows."""
        return self._by_sample.weights

    @property
    def effective_sample_size_(self) -> float:
        """Kish's number of equally weighted calibration rows."""
        return self._by_sample.effective_size

    # copies and files

    def for_file(self) -> Self:
        """Return a copy without the calibration rows, which no file keeps."""
        made: Self = copy(self)
        made._by_sample, made._shares = made._by_sample.for_file(), None
        if made._by_labels is not None:
            made._by_labels = made._by_labels.for_file()
        return made

    def __copy__(self) -> Self:
        """Return a copy that shares what was found at some coverages."""
        made = type(self).__new__(type(self))
        made.__dict__.update(vars(self))
        return made

    # prediction

    def _by_class(self, by: Any, X: Any) -> bool:
        """Whether the groups are the classes that are predicted, and no column of X."""
        return False

    def _parts(self, rows: Calibration, X: Any) -> Iterator[tuple[Rows, Rows, Any]]:
        """Calibration rows and new rows that belong together, and the group's name."""
        if self.by is None:
            yield np.arange(len(rows)), np.arange(row_count(X)), None
            return
        if self._by_class(self.by, X):  # every new row may be of every class
            for name in map(str, self.classes_):
                yield np.flatnonzero(rows.groups == name), np.arange(row_count(X)), name
            return
        new, own = groups_of(X, self.by, "X"), rows.groups
        for group in np.unique(new):
            yield np.flatnonzero(own == group), np.flatnonzero(new == group), str(group)

    def _distribution(
        self, rows: Calibration, coverage: float, part: Rows, group: Any
    ) -> ScoreDistribution:
        return rows.distribution(coverage, part, group, doubly_robust=self.threshold == "dr")

    def _random(self, m: int, use: str) -> Real | None:
        """Random numbers (m,) of the randomised form, independent for every use."""
        if not self.randomized:
            return None
        return np.random.default_rng([self._seed, _USES.index(use)]).uniform(size=m)

    def _check_new(self, X: Any, coverage: float) -> Any:
        """Return the new rows, checked."""
        check_is_fitted(self, "scores_")
        number(above=0, below=1).check(coverage, "coverage")
        X = rows_of(self._features(X), "X", text=self._takes_text())
        validation.check_columns(self, X, reset=False)
        return X

    def _takes_text(self) -> bool:
        """Whether the models, of which there may be a pair, take more than numbers."""
        models = self.estimator if isinstance(self.estimator, tuple) else (self.estimator,)
        return all(map(takes_tables, models))

    def _lazily(self, coverage: float) -> Callable[[], ExpectedCoverage]:
        """The expected coverage of this fit, also if another one follows."""
        return partial(copy(self).expected_coverage, coverage)

    # how far it can be trusted

    def expected_coverage(self, coverage: float = 0.9, *, by: Any = None) -> ExpectedCoverage:
        """Estimate the coverage on the target, of all and by group.

        Every calibration row is a new row to the threshold of all others, and the share that is
        covered is carried to the target by `covshift.estimate`, doubly robust: it also notices
        where the weights are wrong. For "cv+" and "jackknife+" the threshold is that of the
        scores.

        Parameters
        ----------
        coverage : float between 0 and 1
        by : str, optional
            A column of groups; default: that of the calibration, ``by``. "class" of a classifier:
            the share covered of each class, the ratio of two estimated means.
        """
        check_is_fitted(self, "scores_")
        number(above=0, below=1).check(coverage, "coverage")
        used, key = self._calibrations(coverage)[0], (coverage, by)
        if key not in used.expected:
            if used.rows is None:
                levels = sorted(f"{level:.4g}" for level, column in used.expected if column == by)
                known = (
                    f"; it was estimated before saving for {', '.join(levels)}" if levels else ""
                )
                note = f"the file keeps no calibration rows{known}."
                return ExpectedCoverage(float("nan"), float("nan"), (0.0, 1.0), note=note)
            used.expected[key] = self._estimated(used, used.rows, coverage, by)
        return used.expected[key]

    def _estimated(
        self, used: Calibration, rows: LabelledRows, coverage: float, by: Any
    ) -> ExpectedCoverage:
        """Carry the share of calibration rows that the others cover to the target."""
        covered = np.zeros(len(used), dtype=bool)
        u = self._random(len(covered), "expected")
        level = coverage if used.of_target else at_worst(coverage, float(self.sensitivity))
        for part, _, group in self._parts(used, rows.X):
            distribution = self._distribution(used, coverage, part, group)
            asked = None if u is None else u[part]
            covered[part] = distribution.covers_own(level, used.scores[part], asked)
        covered |= used.beyond
        column = self.by if by is None else by
        if self._shares is not None and not used.of_target:
            return self._expected_by_shares(used, rows, covered, column)
        if self._by_class(column, rows.X):
            return expected_by_class(covered, rows)
        return expected(covered, rows, self._named(rows, by))

    def _expected_by_shares(
        self, used: Calibration, rows: LabelledRows, covered: Flags, by: Any
    ) -> ExpectedCoverage:
        """Estimate the coverage under label shift: that of each class, by their shares."""
        code = np.searchsorted(self.classes_, rows.y)
        groups = None
        if self._by_class(by, rows.X):
            groups = np.array(list(map(str, rows.y)))
        elif by is not None:
            groups = groups_of(rows.X, by, "X")
        return expected_by_shares(covered, code, used.weights, used.design, self._shares, groups)

    def _named(self, rows: LabelledRows, by: Any) -> Any:
        """Groups in the form that `estimate` takes."""
        column = self.by if by is None else by
        if column is None:
            return None
        if rows.target is None:
            return groups_of(rows.X, column, "X")
        if validation.is_margins(rows.target):  # they tell of the groups, or not
            told = rows.target.margin(str(column)) is not None
            return str(column) if told or by is not None else None
        if isinstance(column, str):
            return column
        return groups_of(rows.X, column, "X"), groups_of(rows.target, column, "X_target")

    def _notes(
        self,
        used: Calibration,
        X: Any,
        coverage: float,
        own: Real,
        infinite: NDArray[Any],
        what: str,
    ) -> list[Note]:
        """Notes on new rows of weights ``own`` (m,), by the rows that calibrate."""
        notes = []
        level = at_worst(coverage, float(self.sensitivity))
        weighty = infinite & np.isfinite(own)
        lost = np.zeros(len(own), dtype=bool)
        if self.by is not None and not self._by_class(self.by, X):
            lost = weighty & ~np.isin(groups_of(X, self.by, "X"), np.asarray(used.groups))
            weighty = weighty & ~lost
        if weighty.any():
            text = (
                f"{weighty.mean():.1%} of the {what}: such rows alone weigh more than "
                f"{100 * (1 - level):.3g}% of the calibration rows and themselves, so that "
                "nothing less has the coverage. Use more calibration rows, or a lower coverage."
            )
            notes.append(Note("infinite", text, "warning"))
        if lost.any():
            text = f"{lost.mean():.1%} of the {what}: their group has no calibration rows."
            notes.append(Note("absent groups", text, "warning"))
        if not used.of_target:
            notes += [Note("no overlap", text, "warning") for text in self._shift.described()]
        if self._by_labels is not None and not used.of_target:
            L = len(self._by_labels)
            text = (
                f"Outcomes of target rows: {L}, which are too few to calibrate alone at a coverage "
                f"of {coverage:.0%}{' in every group' if self.by is not None else ''}. The answer "
                "uses the larger of theirs and the sample's."
            )
            notes.append(Note("few labels", text, "warning"))
        if used.effective_size < _ENOUGH:
            size = f"{used.effective_size:.0f}"
            text = (
                f"The {len(used)} calibration rows count as {size} for the target, so the "
                "widths are imprecise."
            )
            notes.append(Note("few rows", text, "warning"))
        return notes if used.of_target else [*notes, *self._shift.notes]


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
