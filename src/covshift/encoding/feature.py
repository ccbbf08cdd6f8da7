"""How one column of a table becomes columns of numbers: a rule, learned once and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..numerics.array import Real, Rows
from .cells import Cells

FeatureKind = Literal["number", "boolean", "category", "ordered", "date", "season"]
KINDS = get_args(FeatureKind)
MISSING = "(missing)"
OTHER = "(other)"
SEASONS = ("Jan-Mar", "Apr-Jun", "Jul-Sep", "Oct-Dec")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class Feature:
    """The rule of one column.

    A number, a boolean (0, 1) and an ordered category (0, 1, 2, ...) become one column, and a
    date becomes days since 1970-01-01; where they have gaps, these are filled and ``indicator``
    adds a column that marks them. A category becomes one column of zeros and ones per level; one
    of two levels becomes a single column, which marks the second. A season is the month and the
    weekday of a date, without its trend.
    """

    name: str
    kind: FeatureKind
    levels: tuple[str, ...] = ()  # of a category; of an ordered one, in order
    fill: float | None = None  # what a gap becomes where it is no level
    gaps: bool = False  # whether there were any
    indicator: bool = False  # whether a column marks them
    season: bool = False  # of a date: whether the quarter of the year is a category beside it
    hour: bool = False  # of a date: whether the hour of the day is a column beside it
    spelling: tuple[Any, ...] = ()  # of amounts such as $1,012, as `amounts.Spelling` holds it

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError("a feature of unknown kind")
        texts = isinstance(self.levels, tuple) and all(isinstance(v, str) for v in self.levels)
        if not texts or len(set(self.levels)) < len(self.levels):
            raise ValueError("levels that are not different texts")
        if (self.kind in ("category", "ordered", "season")) == (not self.levels):
            raise ValueError("levels of something that is not a category")
        number = isinstance(self.fill, int | float) and not isinstance(self.fill, bool)
        if self.fill is not None and not (number and np.isfinite(self.fill)):
            raise ValueError("a fill value that is not finite")

    @property
    def shown(self) -> tuple[str, ...]:
        """Levels of a category that have a column of their own."""
        return self.levels if len(self.levels) > 2 else self.levels[-1:]

    @property
    def made(self) -> list[tuple[str, str | None]]:
        """For each of its columns: whose values it holds, or which level of what it marks."""
        if self.kind == "category":
            return [(self.name, level) for level in self.shown]
        found: list[tuple[str, str | None]] = [(self.name, None)]
        if self.kind == "season":
            found = [(f"{self.name} {calendar_part(level)}", level) for level in self.levels]
        if self.season:
            found += [(f"{self.name} season", level) for level in SEASONS]
        if self.hour:
            found.append((f"{self.name} hour", None))
        if self.indicator:
            found.append((f"{self.name} missing", None))
        return found

    @property
    def columns(self) -> list[str]:
        """Names of its columns: "age", "region=north", "age missing"."""
        return [name if level is None else f"{name}={level}" for name, level in self.made]

    def encode(self, cells: Cells, unseen: Unseen) -> Real:
        """Return the columns (rows, columns); count in ``unseen`` what the rule has no place for.

        Cells must be of the rule's kind, as `aligned` makes them.
        """
        if self.kind == "category":
            return self._one_hot(cells, unseen)
        if self.kind == "season":
            return self._calendar(cells, unseen)
        values = self._ranks(cells, unseen) if self.kind == "ordered" else cells.values
        gaps = np.isnan(values)
        lost = int(gaps.sum())
        if lost:
            if not self.gaps:
                unseen.gaps = lost
            values = np.where(gaps, 0.0 if self.fill is None else self.fill, values)
        parts = [values]
        if self.season:
            quarter = np.where(gaps, -1, _quarters(values))
            parts += [(quarter == k).astype(np.float64) for k in range(len(SEASONS))]
        if self.hour:
            parts.append(hours_of(values))
        if self.indicator:
            parts.append(gaps.astype(np.float64))
        return np.column_stack(parts)

    def _one_hot(self, cells: Cells, unseen: Unseen) -> Real:
        place: dict[Any, float] = {level: float(k) for k, level in enumerate(self.levels)}
        rest = place.get(OTHER, -1.0)
        place[None] = place.get(MISSING, -1.0)
        codes = cells.mapped(place, rest)
        unseen.count(cells, codes < 0)
        every = [self.levels.index(level) for level in self.shown]
        return np.column_stack([(codes == k).astype(np.float64) for k in every])

    def _calendar(self, cells: Cells, unseen: Unseen) -> Real:
        unseen.gaps = 0 if self.gaps else int(cells.gaps.sum())
        parts = [calendar(cells.values)[level] for level in self.levels]
        return np.column_stack([*parts, *[cells.gaps] * self.indicator]).astype(np.float64)

    def _ranks(self, cells: Cells, unseen: Unseen) -> Real:
        place: dict[Any, float] = {level: float(k) for k, level in enumerate(self.levels)}
        place[None] = np.nan
        ranks = cells.mapped(place, -1.0)
        unseen.count(cells, ranks < 0)
        return np.where(ranks < 0, 0.0 if self.fill is None else self.fill, ranks)


@dataclass
class Unseen:
    """Cells that a rule has no place for."""

    levels: set[str] = field(default_factory=set)
    rows: int = 0
    gaps: int = 0

    def add(self, other: Unseen) -> None:
        """Count those of further rows as well."""
        self.levels |= other.levels
        self.rows += other.rows
        self.gaps += other.gaps

    def count(self, cells: Cells, unknown: NDArray[np.bool_]) -> None:
        """Keep the words of unknown cells, and how many rows have them."""
        self.rows = int(unknown.sum())
        if self.rows:
            places = np.unique(cells.values[unknown])
            self.levels = {MISSING if k < 0 else cells.words[k] for k in places}


def hours_of(days: Real) -> Real:
    """Hour of the day of days since 1970-01-01, to a millisecond: 0 to 24."""
    return np.asarray(np.round(days % 1.0 * 86_400, 3) % 86_400 / 3600)


def calendar_part(level: str) -> str:
    """Tell whether a level is a month or a weekday."""
    return "month" if level in MONTHS else "weekday"


def calendar(days: Real) -> dict[str, NDArray[np.bool_]]:
    """Return which days since 1970-01-01 (rows,) lie in each month, and on each weekday."""
    whole = np.where(np.isnan(days), 0.0, np.floor(days))
    month = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    weekday = (whole + 3) % 7  # 1970-01-01 was a Thursday
    known = ~np.isnan(days)
    found = {name: known & (month == k) for k, name in enumerate(MONTHS)}
    return found | {name: known & (weekday == k) for k, name in enumerate(WEEKDAYS)}


def _quarters(days: Real) -> NDArray[np.intp]:
    """Quarter of the year, 0 to 3, of days since 1970-01-01."""
    month = np.floor(days).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    return np.asarray(month // 3, dtype=np.intp)


# Rows of numbers that know which of their columns belong to one feature.


class Encoded(np.ndarray):
    """An array (rows, columns) with ``groups``, the number of the feature of each column.

    What `TableEncoder` returns. It is an array like any other, and rows taken from it are
    again such an array; everything else (other columns, sums, a copy made by another library) is
    plain. What fits covshift's estimators to it treats the columns of a category as one feature.
    """

    groups: Rows | None = None

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        of_rows = not isinstance(key, tuple) or all(map(_is_all, key[1:]))
        if isinstance(found, Encoded):
            if not (of_rows and found.ndim == self.ndim):
                return np.asarray(found)
            found.groups = self.groups
        return found

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def copy(self, order: Any = "C") -> Any:
        return encoded(np.array(self, order=order), self.groups)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        return encoded, (np.array(self), self.groups)


def _is_all(key: Any) -> bool:
    """Whether an index keeps all columns."""
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


def encoded(values: Real, groups: Rows | None) -> Real:
    """Return rows of numbers (rows, columns) with the groups of their columns."""
    if groups is None or len(np.unique(groups)) == len(groups):
        return values
    found = np.asarray(values).view(Encoded)
    found.groups = groups
    return found


def scaled(scaler: Any, X: Real) -> Real:
    """Scale rows by a fitted scaler; they keep their groups."""
    return encoded(scaler.transform(X), groups_of(X))


def groups_of(X: Any) -> Rows | None:
    """Return the groups of the columns of encoded rows; None where each is a feature by itself."""
    return X.groups if isinstance(X, Encoded) else None


def with_groups(part: Any, groups: Rows | None, *rows: Real) -> tuple[Any, ...]:
    """Tell a weighter, and the rows it is fitted to, which columns are one feature."""
    if groups is None:
        return (part, *rows)
    known = getattr(part, "_given_groups", None) is not None
    seeing = part.of_features(groups) if hasattr(part, "of_features") and not known else part
    return (seeing, *(encoded(values, groups) for values in rows))
