"""What a calibrated model says of new rows, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from ..data import validation
from ..data.features import without_others
from ..data.parameters import number
from ..encoding.samples import takes_tables
from ..numerics.array import Flags, Real, Rows, row_count, take_rows
from ..show.notes import Note
from .calibration import Calibration
from .coverage import expected, expected_by_class, expected_by_shares
from .data import LabelledRows, groups_of, rows_of
from .result import ExpectedCoverage
from .scores import at_worst
from .shift import Shift

Regions = tuple[Any, ...]  # arrays (m, columns): low and high ends, or members and bounds
_USES = ("calibration", "threshold", "classes", "expected")
_CELLS = 4_000_000  # of the arrays (new rows, calibration rows) at a time
_ENOUGH = 30  # effective calibration rows below which a note says that there are few


class Calibrated(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted model and the rows that calibrate it.

    A subclass says what a model makes of rows (`_seen_by`), and how that becomes a region.
    """

    _by_labels: Calibration | None = None  # target rows with an outcome
    _shares: Any = None  # of the classes in the target, under label shift
    _by_sample: Calibration
    _shift: Shift
    classes_: Any
    _closed: Any
    _fold: Any
    _model: Any
    _models: tuple[Any, ...]

    @property
    def _held(self) -> bool:
        """Whether calibration rows have trained nothing."""
        return bool(self.prefit or self.method == "split")

    def _calibrations(self, coverage: float) -> list[Calibration]:
        """Rows that calibrate: target rows alone where they suffice, else the sample's first."""
        sample, labels = self._by_sample, self._by_labels
        if labels is None:
            return [sample]
        return [labels] if labels.suffice(coverage, sample.groups) else [sample, labels]

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

    def _features(self, X: Any) -> Any:
        """Leave out columns of new rows that held outcomes and weights of the rows of the fit."""
        others = getattr(self, "_other_columns", ())
        names = validation.column_names(X)
        if not len(others) or names is None:
            return X
        return without_others(X, [name for name in names if name not in others])

    def _regions(self, X: Any, coverage: float) -> tuple[Calibration, Real, Regions]:
        """What calibrates, the weights (m,) of new rows beside it, and their regions.

        Of two sets of rows that calibrate, a region is the larger one.
        """
        used, *others = self._calibrations(coverage)
        weights, found = self._regions_by(used, X, coverage)
        for rows in others:
            found = self._larger(found, self._regions_by(rows, X, coverage)[1])
        return used, weights, found

    def _regions_by(self, rows: Calibration, X: Any, coverage: float) -> tuple[Real, Regions]:
        """Weights (m,) of new rows beside those that calibrate, and their regions."""
        m, held = row_count(X), self._held or rows.of_target
        weights = np.ones(m) if rows.of_target else self._shift.weigh(X, m)
        u, v = self._random(m, "threshold"), self._random(m, "classes")
        found = self._blank(m, not rows.of_target)  # labels that are not there ask for nothing
        step = m if held else max(1, _CELLS // len(rows))
        for start in range(0, m, step):
            here = np.arange(start, min(m, start + step))
            some = X if len(here) == m else take_rows(X, here)
            seen = self._seen(some, held, None if v is None else v[here])
            for part, inside, group in self._parts(rows, some):
                if not len(part):
                    continue
                new = here[inside]
                asked = None if u is None else u[new]
                for columns, ratio in self._candidates(rows, group):
                    own = rows.own_weights(ratio * weights[new], part)
                    which = np.ix_(inside, columns)
                    if held:
                        limits = rows.limits(coverage, part, group, own, asked)
                        pieces = seen[0].within(which, limits)
                    else:
                        given = self._fold[part], rows.scores[part], rows.weights[part]
                        pieces = seen[0].by_all(seen, which, (*given, own, coverage), asked)
                    for region, piece in zip(found, pieces, strict=True):
                        region[np.ix_(new, columns)] = piece
        return weights, found

    def _seen(self, X: Any, held: bool, v: Real | None) -> list[Any]:
        """What is said of the rows X: by one model, or by all that leave some rows out."""
        if held:
            return [self._seen_by(self._model, X, v)]
        if self._closed is None:
            return [self._seen_by(model, X, v) for model in self._models]
        values = self._closed_values(X)
        return [self._seen_as(values[:, i], v) for i in range(values.shape[1])]

    def _candidates(self, rows: Calibration, group: Any) -> Iterator[tuple[Rows, float]]:
        """Columns of the regions in which new rows weigh alike, and by which factor."""
        yield np.arange(1), 1.0

    def _facts(self, used: Calibration, X: Any, coverage: float) -> dict[str, Any]:
        """What intervals and sets say alike; the expected coverage is that of this very fit."""
        return {
            "prediction": self.predict(X),
            "coverage": coverage,
            "effective_sample_size": used.effective_size,
            "n_calibration": len(used),
            "calibrated_on_target": used.of_target,
            "_expected": partial(copy(self).expected_coverage, coverage),
        }

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
                return ExpectedCoverage.unknown(f"the file keeps no calibration rows{known}.")
            used.expected[key] = self._estimated(used, used.rows, coverage, by)
        return used.expected[key]

    def _estimated(
        self, used: Calibration, rows: LabelledRows, coverage: float, by: Any
    ) -> ExpectedCoverage:
        """Carry the share of calibration rows that the others cover to the target."""
        covered = np.zeros(len(used), dtype=bool)
        u = self._random(len(covered), "expected")
        level = at_worst(coverage, used.odds)
        for part, _, group in self._parts(used, rows.X):
            distribution = used.distribution(coverage, part, group)
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
            groups = rows.by_class.groups
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
        level = at_worst(coverage, used.odds)
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
