"""Cells of text become a column, block by block; its kind is decided when all are there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..numerics.array import Real
from . import columns as spelling
from .columns import Column, Doubt, Kind, floats, objects
from .reading import MissingValues

_LEADING_ZERO = re.compile(r"\n[ \t]*[-+]?0[0-9]")
_LARGE = 1 << 25  # bytes of an array that has pages of its own, which go back when it does
_TEXT_BYTES = 64  # of a short text


def newlines(cell: str) -> int:
    """Count the ends of lines in a cell."""
    return len(re.findall(r"\r\n|\r|\n", cell))


@dataclass(frozen=True)
class TextBlock:
    """Some rows of a text table: their cells column by column, and where they stand."""

    title: str
    line: int  # of the first row
    cells: Sequence[Any]  # of each column: text, or float64 where all are numbers
    whole_lines: bool = True  # whether every row is one line
    zeros: frozenset[int] = frozenset()  # columns of numbers with leading zeros

    def __len__(self) -> int:
        return len(self.cells[0])

    def place(self, row: int) -> str:
        """Name the line of a row, in a message."""
        more = 0
        if not self.whole_lines:
            more = sum(newlines(cell) for part in self.cells for cell in part[:row])
        return f"{self.title}, line {self.line + row + more}"


@dataclass(frozen=True)
class Spelling:
    """How the numbers and dates of a text table are spelled."""

    decimal: str = "."
    thousands: str | None = None
    date: str | None = None  # a format; None: ISO

    @property
    def is_plain(self) -> bool:
        """Whether Python reads such numbers."""
        return self.decimal == "." and self.thousands is None


class ColumnBuilder:
    """Collects the cells of one column block by block.

    ``kind`` is what the user declared, or None to find out; "text" keeps the cells as they are
    (identifiers), and "outcome" is a category that may be float64 where all cells are numbers.
    """

    def __init__(
        self, name: str, place: int, kind: Kind | None, missing: MissingValues, spelled: Spelling
    ) -> None:
        self.name, self._place, self.kind = name, place, kind
        self._missing, self._spelled = missing, spelled
        self._parts: list[NDArray[Any]] = []
        self._numbers = 0
        self._joined, self._small = 0, 0  # parts that are large, and bytes of those after them
        self._words: dict[str, None] = {}
        self._zeros = False
        self.held = 0  # bytes, about

    def add(self, block: TextBlock) -> None:
        """Add the cells of a block."""
        cells = block.cells[self._place]
        if isinstance(cells, np.ndarray):
            self._zeros = self._zeros or (self.kind is None and self._place in block.zeros)
            self._add_numbers(cells)
        elif self.kind == "text":
            self._parts.append(objects(cells))
        elif self.kind in ("category", "ordered"):
            self._parts.append(self._text(cells))
        elif self.kind in ("date", "boolean"):
            self._parts.append(self._mapped(block, cells, self.kind))
        else:
            self._add_any(block, cells)
        last = self._parts[-1]
        self.held += last.nbytes
        if last.dtype == object:
            self.held += _TEXT_BYTES * (len(cells) if self.kind == "text" else len(set(cells)))

    def finish(self) -> Column:
        """Return the column, with a doubt where its kind is uncertain; the blocks are let go."""
        column = self._finished()
        self._parts = []
        return column

    def _finished(self) -> Column:
        if self.kind == "outcome":
            typed = all(part.dtype != object for part in self._parts)
            parts = self._parts if typed else map(_as_text, self._parts)
            return Column(self.name, "category", _joined([*parts], float if typed else object))
        if self.kind in ("text", "category", "ordered"):
            return Column(self.name, self.kind, _joined(self._parts, object))
        if self.kind is not None or not self._words:
            values = _joined(self._parts, np.float64)
            doubt = None
            if self._zeros:
                doubt = Doubt("codes", "holds numbers with leading zeros, as codes have them")
            elif self.kind is None and spelling.too_long(values):
                doubt = spelling.LONG_NUMBERS
            return Column(self.name, self.kind or "number", values, doubt)
        values = _joined([_without_nan(part) for part in self._parts], object)
        if self._numbers:  # blocks of numbers have lost their spelling, which nobody will need
            return Column(self.name, "category", values, self._doubt_of_mixture())
        return spelling.text_column(self.name, values)

    def _add_any(self, block: TextBlock, cells: Sequence[str]) -> None:
        values = self._fast(cells)
        if values is None:
            numbers = self._slow(cells)
            words = [k for k, number in enumerate(numbers) if number is None]
            if words and self.kind == "number":
                raise self._no_number(block, words[0], cells[words[0]])
            if words and self.kind == "outcome":
                self._parts.append(self._text(cells))
                return
            if words:
                self._numbers += sum(x is not None and x == x for x in numbers)
                self._words |= dict.fromkeys(cells[k].strip() for k in words)
                self._parts.append(self._text(cells))
                return
            values = floats(numbers)
            self._note_zeros("\n" + "\n".join(cells))
        self._add_numbers(values)

    def _add_numbers(self, values: Real) -> None:
        values = self._missing.blank_numbers(values)
        self._numbers += int((~np.isnan(values)).sum())
        self._parts.append(values)
        self._small += values.nbytes
        if self._small > _LARGE:  # many small arrays would leave holes in memory, between columns
            last = self._parts[self._joined :]
            if all(part.dtype != object for part in last):
                self._parts[self._joined :] = [np.concatenate(last)]
            self._joined, self._small = len(self._parts), 0

    def _fast(self, cells: Sequence[str]) -> Real | None:
        """Read cells that are all numbers as Python spells them, or return None."""
        if not self._spelled.is_plain and not self._is_decimal(cells):
            return None
        if self._spelled.decimal == ",":
            cells = [cell.replace(",", ".") for cell in cells]
        try:
            values = np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            return None
        text = "\n" + "\n".join(cells)
        if "_" in text:  # Python reads 1_000 as a number
            return None
        self._note_zeros(text)
        return values

    def _note_zeros(self, text: str) -> None:
        if not self._zeros and self.kind is None:
            self._zeros = _LEADING_ZERO.search(text) is not None

    def _is_decimal(self, cells: Sequence[str]) -> bool:
        text = "".join(cells)
        point = self._spelled.decimal == "," and "." in text
        return not point and (self._spelled.thousands or "\n") not in text

    def _slow(self, cells: Sequence[str]) -> list[float | None]:
        """Read numbers, NaN for what is missing, None for words."""
        seen: dict[str, float | None] = {}
        for cell in cells:
            if cell not in seen:
                seen[cell] = self._number(cell.strip())
        return [seen[cell] for cell in cells]

    def _number(self, cell: str) -> float | None:
        if cell in self._missing:
            return float("nan")
        if not self._spelled.is_plain:
            cell = self._plain(cell) or "a word"
            if cell in self._missing:
                return float("nan")
        try:
            return None if "_" in cell else float(cell)
        except ValueError:
            return None

    def _plain(self, cell: str) -> str | None:
        return spelling.plain_number(cell, self._spelled.decimal, self._spelled.thousands)

    def _text(self, cells: Sequence[str]) -> NDArray[Any]:
        seen: dict[str, str | None] = {}
        for cell in cells:
            if cell not in seen:
                stripped = cell.strip()
                if not self._spelled.is_plain:
                    stripped = self._plain(stripped) or stripped
                seen[cell] = None if stripped in self._missing else stripped
        return objects([seen[cell] for cell in cells])

    def _mapped(self, block: TextBlock, cells: Sequence[str], kind: Kind) -> Real:
        seen: dict[str, float] = {}
        for k, cell in enumerate(cells):
            if cell not in seen:
                text = cell.strip()
                try:
                    gap = text in self._missing
                    seen[cell] = np.nan if gap else spelling.read_as(kind, text, self._spelled.date)
                except ValueError:
                    refuse = self._no_date if kind == "date" else self._no_truth
                    raise refuse(block, k, cell) from None
        return floats([seen[cell] for cell in cells])

    def _no_date(self, block: TextBlock, row: int, cell: str) -> InputError:
        wanted = "date of the form 2026-11-15 or 2026-11-15T12:30"
        remedy = "Convert the column first"
        if self._spelled.date is not None:
            wanted = f"date of the form {self._spelled.date}"
            remedy = "Repair it, or say that it stands for a missing value: --missing"
            remedy += f" {f'{self.name}={cell.strip()}'!r}"
        else:
            forms = spelling.formats_of([cell.strip()])
            if forms:
                remedy = f"Say how it is written: --date {f'{self.name}={forms[0]}'!r}"
        return InputError(
            f"{block.place(row)}: {cell!r} in column {self.name!r} is not a {wanted}. {remedy}."
        )

    def _no_truth(self, block: TextBlock, row: int, cell: str) -> InputError:
        return InputError(
            f"{block.place(row)}: {cell!r} in column {self.name!r} is not true, false, yes, no, "
            "1 or 0. Repair it, or say that it stands for a missing value: --missing "
            f"{f'{self.name}={cell.strip()}'!r}."
        )

    def _no_number(self, block: TextBlock, row: int, cell: str) -> InputError:
        shown = cell.strip()
        spelled = spelling.look_like_numbers([shown])
        options = spelling.advice([shown], self._spelled.decimal) if spelled else ""
        remedy = f"Repair it, or say that it stands for a missing value: --missing {short(shown)}"
        if options:
            remedy = f"Say how numbers are spelled: {options}"
        return InputError(
            f"{block.place(row)}: {short(cell)} in column {self.name!r} is not a number. {remedy}."
        )

    def _doubt_of_mixture(self) -> Doubt:
        odd = [word for word in self._words if spelling.look_like_numbers([word])]
        if len(odd) == len(self._words):
            text = f"holds numbers written in two ways (such as {odd[0]!r})"
            return Doubt("numbers as text", text)
        some = next(word for word in self._words if word not in odd)
        return Doubt("mixed", f"holds numbers and text (such as {short(some)})")


def short(text: str, limit: int = 60) -> str:
    """Quote a text, cut where it is long."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


def _without_nan(part: NDArray[Any]) -> NDArray[Any]:
    """Turn a block of numbers into objects, with None for what is missing."""
    if part.dtype == object:
        return part
    return objects([None if np.isnan(value) else value for value in part])


def _as_text(part: NDArray[Any]) -> NDArray[Any]:
    """Turn a block of numbers into text, with None for what is missing."""
    if part.dtype == object:
        return part
    return objects([None if np.isnan(value) else repr(value) for value in part.tolist()])


def _joined(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype=dtype)
