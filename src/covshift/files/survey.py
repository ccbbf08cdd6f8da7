"""Stata and SPSS files: value labels become categories, user-missing values are missing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..encoding.learning import are_brackets
from ..exceptions import InputError
from ..numerics.progress import import_extra
from ..show.notes import Note
from .columns import Column, Doubt, Kind, floats, objects, read_as
from .reading import MissingValues, ReadOptions, title_of

_EPOCH = datetime(1970, 1, 1)
_TIME = Doubt("dates", "holds times of the day")


class SurveyTable:
    """The columns of a Stata or SPSS file, and its rows in blocks.

    A column whose values all have a label holds these labels. They are ordered as their values are,
    where SPSS calls the variable ordinal, and where they are numbers or brackets that grow with the
    values, such as "18-29", "30-44", "45+", unless SPSS calls it nominal: Stata does not say, and
    regions have values too. Where only some values have labels, as on a scale with named ends, the
    column stays a number. The whole file is held in memory.
    """

    is_text = False

    def __init__(self, source: str, file: BinaryIO | None, form: str, reading: ReadOptions) -> None:
        self.title, self._reading = title_of(source), reading
        library: Any = import_extra("pyreadstat", extra="survey", needed_by=f"Reading {form} files")
        read = library.read_dta if form == "Stata" else library.read_sav
        kept = None
        if file is not None:  # a pipe, and pyreadstat reads by name
            with tempfile.NamedTemporaryFile(suffix=".dat", delete=False) as kept:
                kept.write(file.read())
        path = source if kept is None else kept.name
        try:
            found, about = read(path, output_format="dict")
            _, shown = read(path, metadataonly=True, user_missing=True, output_format="dict")
        except Exception as error:  # pyreadstat has errors of its own, and passes on others
            reason = str(error).rstrip(".")[:200]
            raise InputError(f"{self.title} is not a readable {form} file: {reason}.") from None
        finally:
            if kept is not None:
                Path(kept.name).unlink()
        self.names = [str(name) for name in about.column_names]
        self._cells = {name: _with_none(found.pop(name)) for name in about.column_names}
        self.index: set[str] = set()
        self.notes: list[Note] = []
        self._measure = about.variable_measure
        self._labels = {
            name: _kept_labels(labels, shown.missing_ranges.get(name, []))
            for name, labels in about.variable_value_labels.items()
        }
        self._say_partial()

    def blocks(self, size: int, names: list[str] | None = None, *_: Any) -> Iterator[range]:
        """Yield ranges of at most ``size`` rows."""
        rows = len(self._cells[self.names[0]]) if self.names else 0
        for start in range(0, rows, size):
            yield range(start, min(start + size, rows))

    def column(self, rows: range, name: str, kind: Kind | None, missing: MissingValues) -> Column:
        """Return some rows of a column as what the file, or the user, says it is."""
        cells = self._cells[name][rows.start : rows.stop]
        labels = self._labels.get(name)
        if labels and kind not in ("number", "text") and self._all_labelled(name):
            return self._labelled(name, cells, labels, kind, missing)
        some = next((cell for cell in self._cells[name] if cell is not None), None)
        if kind in ("text", "category", "ordered") or isinstance(some, str):
            texts = [None if cell is None else _spelled(cell) for cell in cells]
            return self._texts(name, texts, kind, missing)
        if isinstance(some, date):
            days = floats([np.nan if cell is None else _days(cell) for cell in cells])
            return Column(name, "date", missing.blank_days(days))
        if some is None or isinstance(some, int | float):
            numbers = floats([np.nan if cell is None else cell for cell in cells])
            return Column(name, kind or "number", missing.blank_numbers(numbers))
        texts = [None if cell is None else str(cell) for cell in cells]  # times of the day
        return Column(name, "category", objects(texts), _TIME)

    def _all_labelled(self, name: str) -> bool:
        labels = self._labels[name]
        found = {cell for cell in self._cells[name] if cell is not None}
        return found <= {*labels}

    def _labelled(
        self,
        name: str,
        cells: list[Any],
        labels: Mapping[Any, str],
        kind: Kind | None,
        missing: MissingValues,
    ) -> Column:
        known: dict[Any, str | None] = {
            code: None if label in missing or _spelled(code) in missing else label
            for code, label in labels.items()
        }
        values = objects([None if cell is None else known[cell] for cell in cells])
        if kind == "boolean":
            return self._texts(name, list(values), kind, missing)
        levels = tuple(dict.fromkeys(label for label in known.values() if label is not None))
        measure = self._measure.get(name)
        ordinal = measure == "ordinal" or (measure != "nominal" and are_brackets(levels))
        if kind in (None, "ordered") and ordinal:
            return Column(name, "ordered", values, levels=levels)
        return Column(name, kind or "category", values)

    def _texts(
        self, name: str, texts: list[str | None], kind: Kind | None, missing: MissingValues
    ) -> Column:
        if kind == "text":
            return Column(name, kind, objects(["" if text is None else text for text in texts]))
        known = {
            text: None if text is None or text.strip() in missing else text.strip()
            for text in set(texts)
        }
        stripped = [known[text] for text in texts]
        if kind not in ("number", "date", "boolean"):
            return Column(name, kind or "category", objects(stripped))
        form = self._reading.dates.get(name)
        try:
            numbers = [np.nan if t is None else read_as(kind, t, form) for t in stripped]
            return Column(name, kind, floats(numbers))
        except ValueError as error:
            raise InputError(
                f"{self.title}: column {name!r} cannot be read as {kind}: {error}. Repair it first."
            ) from None

    def _say_partial(self) -> None:
        partial = [name for name, labels in self._labels.items() if labels]
        partial = [name for name in partial if not self._all_labelled(name)]
        if partial:
            shown = []
            for name in partial[:5]:
                some = list(self._labels[name].items())[:3]
                words = ", ".join(f"{_spelled(code)} {label!r}" for code, label in some)
                shown.append(f"{name!r} ({words})")
            more = f" and {len(partial) - 5} more" if len(partial) > 5 else ""
            text = (
                f"{self.title}: only some values have labels in {'; '.join(shown)}{more}. These "
                "columns are numbers; if a label means that there is no answer: --missing COL=CODE."
            )
            self.notes.append(Note("value labels", text))


def _kept_labels(labels: Mapping[Any, str], ranges: list[Any]) -> dict[Any, str]:
    """Return the labels of values that are not user-missing, in the order of the values."""
    codes = [code for code in labels if not _is_lost(code, ranges)]
    order = sorted(codes, key=lambda code: (isinstance(code, str), code))
    return {code: str(labels[code]).strip() for code in order}


def _is_lost(code: Any, ranges: list[Any]) -> bool:
    for part in ranges:
        low, high = (part["lo"], part["hi"]) if isinstance(part, dict) else (part, part)
        if isinstance(code, str) == isinstance(low, str) and low <= code <= high:
            return True
    return False


def _with_none(cells: Any) -> list[Any]:
    """Return a list of the cells, None for what is missing; older pyreadstat has arrays and NaN."""
    plain = cells if isinstance(cells, list) else np.asarray(cells).tolist()
    return [None if cell is None or cell != cell else cell for cell in plain]


def _spelled(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _days(cell: date) -> float:
    moment = cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)
    return (moment - _EPOCH).total_seconds() / 86_400
