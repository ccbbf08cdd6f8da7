"""Cells become columns: numbers, categories or dates, decided for the whole column at once.

What a column is must not depend on luck. Numbers are numbers in every row; text is text; whatever
could be read in two ways (dates, codes with leading zeros, numbers stored as text, numbers with a
few words among them) keeps a `doubt`, and is refused later unless the user declared the column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..exceptions import InputError

Kind = Literal["number", "boolean", "category", "ordered", "date", "text"]

_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?|"
    r"\d{1,2}:\d{2}(:\d{2})?|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}"
)
_LOOSE_NUMBER = re.compile(r"[-+(]?\s*[$€£]?\s*\d[\d.,' \u00a0]*\s*(%|[$€£])?\s*\)?")
_LEADING_ZERO = re.compile(r"(?:^|\n)\s*[-+]?0[0-9]")
_EXACT = 2.0**53  # whole numbers beyond are not all float64


@dataclass(frozen=True)
class Doubt:
    """Why the kind of a column is uncertain."""

    kind: Literal["dates", "codes", "identifiers", "mixed", "numbers as text"]
    text: str
    example: str = ""


@dataclass(frozen=True)
class Column:
    """One column: float64 with NaN for missing cells, or objects with None for them."""

    name: str
    kind: Kind
    values: NDArray[Any]
    doubt: Doubt | None = None
    levels: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)


LONG_NUMBERS = Doubt(
    "identifiers", "holds whole numbers of more than 15 digits, as identifiers have them"
)


class ColumnBuilder:
    """Collects the cells of one column block by block.

    ``kind`` is what the user declared, or None to find out: "number", "category", "date" (ISO), or
    "text", which keeps the cells as they are (identifiers).
    """

    def __init__(self, title: str, name: str, kind: Kind | None, missing: Iterable[str]) -> None:
        self.title, self.name, self.kind = title, name, kind
        self._missing = frozenset(missing)
        self._missing_numbers = [float(w) for w in self._missing if re.fullmatch(r"-?[\d.]+", w)]
        self._parts: list[NDArray[Any]] = []
        self._numbers = self._words = 0
        self._first_word = ""
        self._zeros = False

    def add(self, cells: Sequence[str], line: int) -> None:
        """Add the cells of a block whose first row stands in ``line``."""
        if self.kind == "text":
            self._parts.append(_objects(cells))
        elif self.kind in ("category", "ordered"):
            self._parts.append(self._text(cells))
        elif self.kind == "date":
            self._parts.append(self._days(cells, line))
        else:
            self._add_any(cells, line)

    def finish(self) -> Column:
        """Return the column, with a doubt where its kind is uncertain."""
        if self.kind in ("text", "category", "ordered"):
            return Column(self.name, self.kind, _joined(self._parts, object))
        if self.kind in ("number", "date") or not self._words:
            values = _joined(self._parts, np.float64)
            doubt = None if self.kind else self._doubt_of_numbers(values)
            return Column(self.name, "date" if self.kind == "date" else "number", values, doubt)
        values = _joined([_without_nan(part) for part in self._parts], object)
        if self._numbers:  # blocks of numbers have lost their spelling, which nobody will need
            text = f"holds numbers and text (such as {self._first_word!r})"
            return Column(self.name, "category", values, Doubt("mixed", text, self._first_word))
        return Column(self.name, "category", values, doubt_of_text(values))

    def _add_any(self, cells: Sequence[str], line: int) -> None:
        try:
            values = np.fromiter(map(float, cells), np.float64, len(cells))
            strange = "_" in "".join(cells)  # Python reads 1_000 as a number
        except ValueError:
            strange = True
        if strange:
            numbers = [self._number(cell) for cell in cells]
            words = [k for k, number in enumerate(numbers) if number is None]
            if words and self.kind == "number":
                raise InputError(
                    f"{self.title}, line {line + words[0]}: {cells[words[0]]!r} in column "
                    f"{self.name!r} is not a number. Repair it, or say that it stands for a "
                    f"missing value: --missing {cells[words[0]]!r}."
                )
            if words:
                self._numbers += sum(x is not None and x == x for x in numbers)
                self._words += len(words)
                self._first_word = self._first_word or cells[words[0]].strip()
                self._parts.append(self._text(cells))
                return
            values = np.array(numbers, dtype=np.float64)
        for number in self._missing_numbers:
            values[values == number] = np.nan
        self._numbers += int((~np.isnan(values)).sum())
        self._zeros = self._zeros or bool(_LEADING_ZERO.search("\n".join(cells)))
        self._parts.append(values)

    def _number(self, cell: str) -> float | None:
        """Return a number, NaN for what is missing, None for a word."""
        cell = cell.strip()
        if cell in self._missing:
            return float("nan")
        try:
            return None if "_" in cell else float(cell)
        except ValueError:
            return None

    def _text(self, cells: Sequence[str]) -> NDArray[Any]:
        seen: dict[str, str | None] = {}
        for cell in cells:
            if cell not in seen:
                stripped = cell.strip()
                seen[cell] = None if stripped in self._missing else stripped
        return _objects([seen[cell] for cell in cells])

    def _days(self, cells: Sequence[str], line: int) -> Real:
        days = np.empty(len(cells))
        for k, cell in enumerate(cells):
            stripped = cell.strip()
            try:
                days[k] = np.nan if stripped in self._missing else days_of(stripped)
            except ValueError:
                raise InputError(
                    f"{self.title}, line {line + k}: {cell!r} in column {self.name!r} is not a "
                    "date of the form 2026-11-15 or 2026-11-15T12:30. Convert the column first."
                ) from None
        return days

    def _doubt_of_numbers(self, values: Real) -> Doubt | None:
        if self._zeros:
            return Doubt("codes", "holds numbers with leading zeros, as codes have them")
        return LONG_NUMBERS if too_long(values) else None


def too_long(values: Real) -> bool:
    """Whether all are whole numbers, some of more digits than a number should have."""
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max(initial=0))
    return _EXACT < largest < 1e22 and bool((np.mod(finite, 1) == 0).all())


def days_of(text: str) -> float:
    """Return days since 1970-01-01 for an ISO date, with or without a time."""
    if not re.match(r"\d{4}-\d{2}-\d{2}", text):
        raise InputError(text)
    moment = np.datetime64(text.replace(" ", "T").removesuffix("Z"), "us")
    return float(moment.astype(np.int64)) / 86_400e6


def doubt_of_text(values: NDArray[Any]) -> Doubt | None:
    """Say why a column of text may be something else than categories, or nothing."""
    levels = {value for value in values if value is not None}
    some = next(iter(sorted(levels)), "")
    if levels and all(map(_DATE.fullmatch, levels)):
        return Doubt("dates", f"holds dates or times (such as {some!r})", some)
    if levels and all(map(_LOOSE_NUMBER.fullmatch, levels)):
        text = f"holds numbers written as text (such as {some!r})"
        return Doubt("numbers as text", text, some)
    return None


def _without_nan(part: NDArray[Any]) -> NDArray[Any]:
    """Turn a block of numbers into objects, with None for what is missing."""
    if part.dtype == object:
        return part
    return _objects([None if np.isnan(value) else value for value in part])


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _joined(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype) if parts else np.empty(0, dtype=dtype)
