"""Text tables, read strictly: a CSV or TSV file gives its header and its cells, or an error."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ..exceptions import InputError
from ..show.notes import Note
from .arrays import library
from .encodings import Utf8
from .missing import is_number
from .reading import ReadOptions
from .rows import WholeRows
from .separators import SEPARATORS, SHOWN, found_separator, said_separator, usual_separator
from .spelling import decimal_comma
from .values import Block, Source, Spelling, short

_NAMELESS = re.compile(r"Unnamed: \d+")


class TextTable(Source):
    """The header of a text table, and its rows in blocks of text; one block is held at a time."""

    def __init__(
        self, title: str, name: str, plain: Utf8, notes: list[Note], reading: ReadOptions
    ) -> None:
        self.title, self.notes = title, notes
        self._rows = WholeRows(title, plain)
        sample = self._rows.sample()
        said = said_separator(sample)
        usual = said or usual_separator(name)
        self._told = reading.separator is not None
        self._separator = reading.separator or usual
        rows: list[list[str]] = []
        if not self._told:
            rest = re.split(r"\r\n|\r|\n", sample, maxsplit=1)[1] if said else sample
            self._separator, rows = found_separator(rest, usual)
            if self._separator != usual:
                mark = SEPARATORS[self._separator]
                text = f"Separated by {mark}: {title} (--sep overrides this)."
                self.notes.append(Note("separator", text))
        self.spelled = self._spelling(rows, reading)
        header = self._rows.header(self._separator, said is not None)
        names = self._check_header([name.strip() for name in header])
        self.names, self.nameless = named_columns(title, names)

    def blocks(self, size: int, names: Sequence[str] | None = None) -> Iterator[Block]:
        """Yield blocks of at most ``size`` rows with the columns ``names``."""
        wanted = self.names if names is None else [*names]
        mark = self._separator
        for line, text in self._rows.blocks(mark, len(self.names)):
            self.done = self._rows.plain.done
            table = self._parsed(line, text, wanted)

            def place(row: int, line: int = line, text: bytes = text) -> str:
                return f"{self.title}, line {self._rows.line_of(text, row, mark, line)}"

            for start in range(0, table.num_rows, size):
                yield Block(table.slice(start, size), start, place)

    def _parsed(self, line: int, text: bytes, wanted: list[str]) -> Any:
        """Return rows as a table of text."""
        arrow, compute, arrow_csv = library(), library("compute"), library("csv")
        names = [str(k) for k in range(len(self.names))]
        kept = [str(self.names.index(name)) for name in wanted]
        quotes = '"' if b'"' in text else False
        if text.startswith(codecs.BOM_UTF8):  # which would be dropped
            text = codecs.BOM_UTF8 + text
        strange: list[Any] = []

        def refuse(row: Any) -> str:
            strange.append(row)
            return "error"

        options = (
            arrow_csv.ReadOptions(column_names=names, block_size=len(text) + 1, use_threads=False),
            arrow_csv.ParseOptions(
                delimiter=self._separator,
                quote_char=quotes,
                newlines_in_values=bool(quotes),
                ignore_empty_lines=False,
                invalid_row_handler=refuse,
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, arrow.string()),
                include_columns=kept or names[:1],
                strings_can_be_null=False,
            ),
        )
        try:
            table = arrow_csv.read_csv(arrow.BufferReader(text), *options)
        except arrow.ArrowInvalid:
            if not strange:
                raise
            raise self._ragged(line, text, strange[0]) from None
        longest = csv.field_size_limit()  # a quote may be open in a longer cell
        for column in table.columns if quotes else ():
            if (compute.max(compute.binary_length(column)).as_py() or 0) > longest:
                self._rows.check_cells(text, self._separator, line)
        return table.rename_columns(wanted or self.names[:1])

    def _ragged(self, line: int, text: bytes, row: Any) -> InputError:
        place = self._rows.line_of(text, row.number - 1, self._separator, line)
        mark = SHOWN.get(self._separator, repr(self._separator))
        values, width = row.actual_columns, row.expected_columns
        return InputError(
            f"{self.title}, line {place}: {values} value{'s' * (values != 1)}, but the header has "
            f"{width} columns. A value that holds {mark} must stand in quotes; if the separator is "
            "a different one, name it with --sep."
        )

    def _spelling(self, rows: list[list[str]], reading: ReadOptions) -> Spelling:
        decimal, thousands = reading.decimal, reading.thousands
        if decimal is None and thousands is None and self._separator == ";":
            decimal, thousands = decimal_comma(cell for row in rows[1:] for cell in row)
            if decimal:
                more = " and points between thousands" * (thousands == ".")
                text = f"Numbers with a decimal comma{more}: {self.title}"
                text += " (--decimal . overrides this)."
                self.notes.append(Note("decimal mark", text))
        if decimal is None:
            decimal = "," if thousands == "." else "."
        return Spelling(decimal, thousands)

    def _check_header(self, names: list[str]) -> list[str]:
        counts = {mark: names[0].count(mark) for mark in SEPARATORS if mark in names[0]}
        counts.pop(self._separator, None)
        if len(names) == 1 and counts and self._told:
            mark = max(counts, key=lambda key: counts[key])
            raise InputError(
                f"{self.title} has one column, {short(names[0])}. It looks separated by "
                f"{SHOWN[mark]}: --sep is for both files: use the same separator in both."
            )
        if all(map(is_number, names)):
            raise InputError(
                f"{self.title}: the first line holds numbers only, so the header seems to be "
                "missing. Add a line with the names of the columns."
            )
        return names


def named_columns(title: str, names: list[str]) -> tuple[list[str], frozenset[str]]:
    """Return the names of a header, and which of them was none and is made by its place."""
    nameless = [k for k, name in enumerate(names) if not name]
    if len(nameless) > 1:
        raise no_name(title, [str(k + 1) for k in nameless])
    own = {*names}
    names = [name or f"Unnamed: {k}" for k, name in enumerate(names)]
    refuse_repeated(title, names)
    return names, frozenset(names) - own


def refuse_repeated(title: str, names: Sequence[str]) -> None:
    """Refuse columns of one name."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError(
            f"{title}: the header names {', '.join(map(repr, repeated[:5]))} more than once. "
            "Rename or remove the repeated columns."
        )


def no_name(title: str, numbers: list[str]) -> InputError:
    """Refuse a column without a name that does not number the rows."""
    return InputError(
        f"{title}: column {', '.join(numbers[:5])} has no name in the header. Name it, or leave it "
        "out (pandas writes its index so: to_csv(..., index=False))."
    )


def may_be_index(name: str) -> bool:
    """Tell whether a column has the name that pandas gives to an index without one."""
    return _NAMELESS.fullmatch(name) is not None
