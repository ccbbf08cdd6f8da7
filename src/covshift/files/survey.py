"""Stata and SPSS files: value labels become categories, user-missing values are missing."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from datetime import time
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..encoding.words import are_brackets
from ..exceptions import InputError, import_extra
from ..show.notes import Note
from .arrays import library, texts
from .missing import MissingValues
from .reading import title_of
from .spelling import Kind
from .values import Block, ColumnReader, Source, coded_in, recoded


class SurveyTable(Source):
    """The columns of a Stata or SPSS file, and its rows in blocks.

    A column whose values all have a label holds these labels. They are ordered as their values are,
    where SPSS calls the variable ordinal, and where they are numbers or brackets that grow with the
    values, such as "18-29", "30-44", "45+", unless SPSS calls it nominal: Stata does not say, and
    regions have values too. Where only some values have labels, as on a scale with named ends, the
    column stays a number. The whole file is held in memory.
    """

    def __init__(self, source: str, file: BinaryIO | None, form: str) -> None:
        self.title = title_of(source)
        module: Any = import_extra("pyreadstat", extra="survey", needed_by=f"Reading {form} files")
        read = module.read_dta if form == "Stata" else module.read_sav
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
        cells = [_as_array(found.pop(name)) for name in about.column_names]
        self.table = library().table(cells, names=self.names)
        self.notes = []
        self._measure = about.variable_measure
        labels = {
            name: _kept_labels(known, shown.missing_ranges.get(name, []))
            for name, known in about.variable_value_labels.items()
        }
        self._labels = {name: known for name, known in labels.items() if self._covers(name, known)}
        self._say_partial(
            {k: known for k, known in labels.items() if known and k not in self._labels}
        )

    def reader(
        self, name: str, kind: Kind | None, missing: MissingValues, form: str | None
    ) -> ColumnReader:
        """Return what reads a column."""
        return _SurveyReader(
            self, name, kind, missing, form, self._labels.get(name, {}), self._measure.get(name)
        )

    def _covers(self, name: str, labels: Mapping[Any, str]) -> bool:
        cells = library("compute").unique(self.table[name]).to_pylist()
        return bool(labels) and {cell for cell in cells if cell is not None} <= {*labels}

    def _say_partial(self, partial: Mapping[str, Mapping[Any, str]]) -> None:
        if partial:
            shown = []
            for name, labels in list(partial.items())[:5]:
                words = ", ".join(f"{_spelled(c)} {w!r}" for c, w in list(labels.items())[:3])
                shown.append(f"{name!r} ({words})")
            more = f" and {len(partial) - 5} more" if len(partial) > 5 else ""
            text = (
                f"{self.title}: only some values have labels in {'; '.join(shown)}{more}. These "
                "columns are numbers; if a label means that there is no answer: --missing COL=CODE."
            )
            self.notes.append(Note("value labels", text))


class _SurveyReader(ColumnReader):
    """Reads one column: its labels where all values have one."""

    def __init__(
        self,
        source: Source,
        name: str,
        kind: Kind | None,
        missing: MissingValues,
        form: str | None,
        labels: Mapping[Any, str],
        measure: str | None,
    ) -> None:
        super().__init__(source, name, kind, missing, form)
        self._labels, self._measure = labels, measure

    def typed(self, block: Block, cells: Any) -> Any:
        arrow = library()
        if self._labels and self.kind not in ("number", "text"):
            known = {
                code: None if label in self._missing or _spelled(code) in self._missing else label
                for code, label in self._labels.items()
            }
            by_word = cells.dictionary_encode()
            words = [known[code] for code in by_word.dictionary.to_pylist()]
            levels = [*dict.fromkeys(label for label in known.values() if label is not None)]
            measure = self._measure
            ordinal = measure == "ordinal" or (measure != "nominal" and are_brackets(levels))
            if self.kind in (None, "ordered") and ordinal:
                return coded_in(levels, by_word.indices, words)
            return super().typed(block, recoded(by_word.indices, words))
        whole = self.kind in ("text", "category", "ordered") and arrow.types.is_floating(cells.type)
        if whole:  # 1, where Stata keeps 1.0
            spelled = [None if cell is None else _spelled(cell) for cell in cells.to_pylist()]
            cells = texts(spelled)
        return super().typed(block, cells)


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


def _as_array(cells: Any) -> Any:
    """Return an array of the cells; older pyreadstat has arrays of NumPy, and NaN for gaps."""
    arrow = library()
    plain = cells if isinstance(cells, list) else np.asarray(cells).tolist()
    plain = [None if cell is None or cell != cell else cell for cell in plain]
    if any(isinstance(cell, time) for cell in plain):
        plain = [None if cell is None else str(cell) for cell in plain]
    return arrow.array(plain)


def _spelled(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
