"""`TableEncoder`: a table of any kind of columns, as numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..data.numbers import category_columns, date_columns, decimal_columns
from ..data.parameters import Rules, check_parameters, whole
from ..data.validation import check_columns, column_names, unwrap_target
from ..exceptions import InputError, UnseenLevelWarning
from ..numerics.array import Flags, Real, Rows
from ..show.notes import Note, Severity
from .alike import of_kind
from .cells import PLURAL, Cells, is_table, read_cells
from .decisions import Undo, undo_by_encoder
from .feature import MISSING, Feature, Unseen, encoded
from .learning import Limits, learn, refuse_infinite
from .words import TRUTHS, as_days, as_numbers, as_truths


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Make numbers of a table as it comes: text, categories, dates, booleans and gaps.

    ============================  ================================================================
    column                        becomes
    ============================  ================================================================
    number, boolean               itself; true is 1
    text such as $1,012 or 5 km   the number, where all cells are spelled the same way
    text of yes and no, true and  1 for yes and true, 0 for no and false
    false, 0 and 1
    text or category              one column of 0 and 1 per level; one column for two levels
    ordered category, and text    0, 1, 2, ... in one column
    such as <5, 5-9 and 10+
    date, ISO date as text        days since 1970-01-01; over a year apart, the quarter of the year
                                  as a category; with times, the hour of the day
    gap in a number or a date     the median of the training rows, and a column that marks gaps
    gap in a category             the level "(missing)"
    level with few rows           "(other)", together with other such levels; a column of which
                                  most rows are at such levels is left out
    text different in every row   left out, as an identifier
    constant column, or a copy    left out
    ============================  ================================================================

    It learns from training and target rows together (no outcome is looked at), so that a level or
    a gap that only the target has is seen. All estimators, weighters and functions of covshift use
    it for data frames that are not numbers already; use it yourself to see or to change what they
    do, or to give other estimators the same numbers.

    Parameters
    ----------
    kinds : dict, optional
        What some columns are: "number", "category", "date", "season" (the month and the weekday of
        a date, without its trend), "drop", or for ordered categories the list of levels, lowest
        first. Others are found out.
    max_levels : int
        Levels of a category that are kept, the most frequent ones; others become "(other)".
    min_rows : int
        A level with fewer rows, and less than 2% of each sample, is joined to "(other)". With one,
        only levels of fewer than five rows are, where two thirds of these rows are at levels that
        the other sample lacks, or where they have less than 2.25 rows on average; models shrink
        what rare levels say (random effects, kernels).

    Attributes
    ----------
    features_ : tuple of Feature
        One rule per column that is kept.
    feature_names_in_, n_features_in_ : as in scikit-learn

    Notes
    -----
    Cost: O((N + M) columns); 10^6 rows of a text column take about 0.5 s. At `transform`, a new
    level counts as "(other)" if there is such a level, and else as none of the
    known ones, with an `UnseenLevelWarning`.

    Examples
    --------
    >>> import pandas as pd
    >>> from covshift import TableEncoder
    >>> survey = pd.DataFrame({"age": [30, None, 51], "region": ["north", "east", "north"]})
    >>> people = pd.DataFrame({"age": [44, 62, 38], "region": ["south", "north", "east"]})
    >>> encoder = TableEncoder().fit(survey, X_target=people)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age missing', 'region=north', 'region=east', 'region=south']
    >>> encoder.transform(survey)
    array([[30. ,  0. ,  1. ,  0. ,  0. ],
           [40.5,  1. ,  0. ,  1. ,  0. ],
           [51. ,  0. ,  1. ,  0. ,  0. ]])
    >>> for note in encoder.notes_:
    ...     print(note)
    Categories, with the number of levels: 'region' (3).
    Gaps (in training and target rows) were filled and marked: 'age' (1 and 0).
    """

    _rules: ClassVar[Rules] = {"max_levels": whole(2), "min_rows": whole(1)}

    features_: tuple[Feature, ...]
    _said: tuple[tuple[str, str, Severity, str], ...]  # notes, as files have them

    def __init__(
        self, kinds: Mapping[str, Any] | None = None, *, max_levels: int = 500, min_rows: int = 1
    ) -> None:
        self.kinds = kinds
        self.max_levels = max_levels
        self.min_rows = min_rows

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_target: Any = None,
    ) -> Self:
        """Learn what each column is.

        Parameters
        ----------
        X : data frame, or array (N, n)
            Training rows. Columns of an array are called x0, x1, ...
        y : ignored
        X_target : data frame, or array (M, n), or a one-tuple of it, optional
            Target rows, aligned by the names of their columns.
        """
        self._learn(X, unwrap_target(X_target), {})
        check_columns(self, X, reset=True)
        return self

    @classmethod
    def learn(
        cls,
        X: Any,
        X_target: Any = None,
        *,
        more: Mapping[str, Iterable[str]] | None = None,
    ) -> TableEncoder | None:
        """Learn from a table; None where all columns are numbers without gaps, and need no rule.

        ``more`` are further levels of some columns, known without rows.
        """
        target = unwrap_target(X_target)
        if not need_rules(X, target):
            return None
        return cls()._learn(X, target, more or {})

    def _learn(
        self,
        X: Any,
        target: Any,
        more: Mapping[str, Iterable[str]],
    ) -> Self:
        check_parameters(self)
        kinds = dict(self.kinds or {})
        train = rows_of(X, "X")
        refuse_unknown(kinds, train)
        there = None if target is None else aligned(rows_of(target, "X_target"), train)
        return self.fit_cells(train, there, more)

    def fit_cells(
        self,
        train: Mapping[str, Cells],
        target: Mapping[str, Cells] | None,
        more: Mapping[str, Iterable[str]] | None = None,
        kept: tuple[Flags | None, Flags | None] = (None, None),
        undo: Undo = undo_by_encoder,
    ) -> Self:
        """Learn from columns of cells; both samples have the same columns.

        ``kept`` says which rows of each sample are there; None: all of them. ``undo`` spells, in
        the notes, how a column is read otherwise.
        """
        limits = Limits(int(self.max_levels), int(self.min_rows))
        kinds = dict(self.kinds or {})
        found = learn(train, target, kinds=kinds, limits=limits, more=more or {}, kept=kept)
        self.features_ = tuple(found.features)
        self._said = tuple(map(parts_of, found.notes(undo)))
        self._names = np.array(list(train), dtype=object)
        if not self.features_:
            one = " There is only one sample." if len(next(iter(train.values()))) == 1 else ""
            notes = " ".join(map(str, self.notes_))
            raise InputError(f"No column is left that varies.{one} {notes}".strip())
        return self

    def transform(self, X: Any) -> Real:
        """Return the rows as numbers: (rows, columns)."""
        check_is_fitted(self, "features_")
        values = self.encode(X, "X")
        if not is_table(X):
            check_columns(self, X, reset=False)
        return values

    def encode(self, X: Any, title: str) -> Real:
        """Do the same; ``title`` says in messages which rows it was."""
        if not is_table(X) and not all(name == f"x{k}" for k, name in enumerate(self._names)):
            raise InputError(
                f"{title} must be a data frame with the columns of the fit: "
                f"{', '.join(map(repr, self._names[:10]))}{' ...' * (len(self._names) > 10)}."
            )
        return self.encode_read(rows_of(X, title), title)

    def encode_read(self, cells: Mapping[str, Cells], title: str) -> Real:
        """Do the same for columns that were read."""
        absent = [feature.name for feature in self.features_ if feature.name not in cells]
        if absent:
            raise InputError(f"{title} lacks the columns {', '.join(map(repr, absent))}.")
        values, unseen = self.encode_cells(cells, title)
        for feature, found in unseen:
            for text in in_words(feature, found, len(values), title):
                warnings.warn(text, UnseenLevelWarning, stacklevel=4)
        return values

    def encode_cells(
        self, cells: Mapping[str, Cells], title: str
    ) -> tuple[Real, list[tuple[Feature, Unseen]]]:
        """Return cells by name as numbers; and what rules had no place for."""
        width = [len(feature.columns) for feature in self.features_]
        rows = len(next(iter(cells.values())))
        values = np.empty((rows, sum(width)))
        at, strange = 0, []
        for feature, columns in zip(self.features_, width, strict=True):
            unseen = Unseen()
            strange_truths(feature, cells[feature.name], unseen)
            part = fitted_to(feature, cells[feature.name], title)
            refuse_infinite(part, title)
            values[:, at : at + columns] = feature.encode(part, unseen)
            if unseen.rows or unseen.gaps:
                strange.append((feature, unseen))
            at += columns
        return encoded(values, self.groups), strange

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns: "age", "age missing", "region=north"."""
        check_is_fitted(self, "features_")
        return np.array(self.columns, dtype=object)

    @property
    def notes_(self) -> tuple[Note, ...]:
        """What was done, in words."""
        check_is_fitted(self, "features_")
        return tuple(Note(*said) for said in self._said)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the result."""
        return tuple(column for feature in self.features_ for column in feature.columns)

    @property
    def dates(self) -> frozenset[int]:
        """Numbers of the columns of the result that hold days since 1970-01-01."""
        days = {feature.name for feature in self.features_ if feature.kind == "date"}
        return frozenset(k for k, name in enumerate(self.columns) if name in days)

    @property
    def made(self) -> list[tuple[str, str | None]]:
        """For each column of the result: whose values it holds, or which level of what it marks."""
        return [pair for feature in self.features_ for pair in feature.made]

    @property
    def groups(self) -> Rows:
        """Number of the feature that each column of the result belongs to.

        The columns of one category are one feature.
        """
        place: dict[tuple[int, str], int] = {}
        made = ((k, name) for k, rule in enumerate(self.features_) for name, _ in rule.made)
        return np.array([place.setdefault(key, len(place)) for key in made], np.intp)

    @property
    def group_names(self) -> tuple[str, ...]:
        """Name of every feature that `groups` numbers."""
        made = [name for name, _ in self.made]
        return tuple(made[k] for k in np.unique(self.groups, return_index=True)[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def parts_of(note: Note) -> tuple[str, str, Severity, str]:
    """Return a note as files have it."""
    return note.kind, note.text, note.severity, note.command


# A table meets another, or the rules that were learned: by name, or refused by name.


def need_rules(X: Any, target: Any) -> bool:
    """Whether rows have to be encoded; refuse a table beside an array, unless both are numbers."""
    if is_plain(X) and is_plain(target, "X_target"):
        return False
    pair = [X] if target is None else [X, target]
    if all(map(is_table, pair)):
        return True
    if not any(map(has_text, pair)):  # gaps beside an array, which the check of numbers refuses
        return False
    raise InputError(
        "X and X_target must both be data frames with the same columns, since one of them holds "
        "text, dates or gaps."
    )


def has_text(X: Any) -> bool:
    """Whether some columns of a frame hold text or dates."""
    return bool(category_columns(X) or date_columns(X))


def is_plain(X: Any, title: str = "X") -> bool:
    """Whether rows are numbers without gaps, or no table at all."""
    if X is None or not is_table(X):
        return True
    names = column_names(X) or []
    if len(set(names)) < len(names):  # which the check of numbers refuses
        return True
    if has_text(X) or decimal_columns(X):
        return False
    return not any(np.isnan(cells.values).any() for cells in read_cells(X, title).values())


def rows_of(X: Any, title: str) -> dict[str, Cells]:
    """Read every column; refuse a table without any, or without rows."""
    cells = read_cells(X, title)
    if not cells or not len(next(iter(cells.values()))):
        raise InputError(f"{title} is empty: it has no {'rows' if cells else 'columns'}.")
    return cells


def refuse_unknown(kinds: Mapping[str, Any], train: Mapping[str, Cells]) -> None:
    """Refuse to be told about columns that are not there."""
    unknown = [name for name in kinds if name not in train]
    if unknown:
        raise InputError(
            f"kinds names {unknown[0]!r}, which X does not have. Its columns are: "
            f"{', '.join(map(repr, train))}."
        )


def aligned(target: dict[str, Cells], train: dict[str, Cells]) -> dict[str, Cells]:
    """Put the target's columns in the order of X; others are refused by name."""
    absent = [name for name in train if name not in target]
    extra = [name for name in target if name not in train]
    if absent or extra:
        parts = [f"lacks {', '.join(map(repr, absent[:10]))}"] * bool(absent)
        parts += [f"has {', '.join(map(repr, extra[:10]))} besides"] * bool(extra)
        raise InputError(
            f"X_target must have the columns of X: it {' and '.join(parts)}. Select the columns "
            "that both have."
        )
    return {name: target[name] for name in train}


def fitted_to(feature: Feature, cells: Cells, title: str) -> Cells:
    """Return cells as the rule takes them; refuse, by name, what it cannot take."""
    wanted: Any = "date" if feature.kind == "season" else feature.kind
    if cells.kind == wanted or cells.empty:
        return of_kind(cells, wanted)
    numbers = ("number", "boolean")
    if wanted in ("category", "ordered"):
        return of_kind(cells, wanted)
    if cells.kind in numbers and wanted in numbers:
        strange = ~np.isin(cells.values, (0.0, 1.0)) & ~np.isnan(cells.values)
        if wanted == "boolean" and strange.any():
            raise InputError(
                f"{title}: column {cells.name!r} holds {cells.values[strange][0]:g}, and fit was "
                "given true and false."
            )
        return of_kind(cells, wanted)
    if cells.is_text and wanted == "boolean":
        return Cells(cells.name, wanted, as_truths(cells, feature.fill or 0.0))
    if cells.is_text:
        try:
            return Cells(
                cells.name,
                wanted,
                as_days(cells) if wanted == "date" else as_numbers(cells, feature.spelling),
            )
        except InputError:
            pass
    raise InputError(
        f"{title}: column {cells.name!r} holds {PLURAL[cells.kind]}, and fit was given "
        f"{PLURAL[wanted]}."
    )


def strange_truths(feature: Feature, cells: Cells, unseen: Unseen) -> None:
    """Count words that are neither true nor false, where fit was given these alone."""
    if feature.kind == "boolean" and cells.is_text:
        strange = cells.mapped({w: w.lower() not in TRUTHS for w in cells.words}, False)
        unseen.count(cells, strange.astype(bool))


def _taken_as(feature: Feature) -> str:
    """Say what cells count as that a rule has no place for."""
    if feature.kind == "ordered":
        return f"{feature.levels[int(feature.fill or 0)]!r}, the middle of the training rows"
    if feature.kind == "boolean":
        return f"{'true' if feature.fill else 'false'}, as the middle of the training rows is"
    if len(feature.levels) == 2:
        return f"{feature.levels[0]!r}, the more frequent of the two known levels"
    return "none of the known levels"


def in_words(feature: Feature, unseen: Unseen, rows: int, title: str) -> list[str]:
    """Tell of cells that a rule has no place for, and say what they count as."""
    told = []
    if unseen.rows:
        levels = sorted(unseen.levels)
        if levels == [MISSING]:
            what = "gaps, and fit was given none"
        else:
            more = " ..." * (len(levels) > 5)
            what = f"levels that fit was not given: {', '.join(map(repr, levels[:5]))}{more}"
        told.append(
            f"{title}: column {feature.name!r} has {what} ({unseen.rows:,} of {rows:,} rows). They "
            f"count as {_taken_as(feature)}."
        )
    if unseen.gaps:
        told.append(
            f"{title}: column {feature.name!r} has {unseen.gaps:,} gap{'s' * (unseen.gaps > 1)}, "
            f"and fit was given none. Gaps count as {feature.fill:.6g}, the median of the training "
            "rows."
        )
    return told
