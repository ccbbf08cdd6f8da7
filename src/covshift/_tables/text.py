"""Text tables, read strictly: a CSV or TSV file gives its header and blocks of cells, or an error.

Nothing is repaired: a row of another length, a repeated column name, a NUL byte or an open quote
stops the reading, with the line where it was found. Rows are streamed: one block is held at a time.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import BinaryIO

from ..exceptions import InputError
from ..show.notes import Note
from .builder import Spelling, TextBlock
from .formats.encodings import Utf8
from .formats.separators import SEPARATORS, SHOWN, found_separator, said_separator, usual_separator
from .reading import MISSING as MISSING
from .reading import ReadOptions as ReadOptions
from .reading import is_number
from .reading import title_of as title_of
from .spelling import decimal_comma

_SAMPLE = 1 << 16  # characters by which separator and decimal mark are found
_NAMELESS = re.compile(r"Unnamed: \d+")


class TextTable:
    """The header of a text table, and its rows in blocks."""

    is_text = True

    def __init__(
        self, title: str, name: str, file: BinaryIO, head: bytes, reading: ReadOptions
    ) -> None:
        self.title = title
        if not head:
            raise InputError(f"{self.title} is empty. It needs a header line and rows.")
        self.notes: list[Note] = []
        plain = Utf8(title, file, head, reading.encoding, self.notes)
        text = io.TextIOWrapper(io.BufferedReader(plain, 1 << 18), "utf-8", newline="")
        sample = _whole_lines(text, _SAMPLE)
        said = said_separator(sample)
        usual = said or usual_separator(name)
        self._told = reading.separator is not None
        self._separator = reading.separator or usual
        rows: list[list[str]] = []
        if not self._told:
            self._separator, rows = found_separator(_without_first(sample, said), usual)
            if self._separator != usual:
                self._say_separator()
        self.spelled = self._spelling(rows, reading)
        lines = chain(io.StringIO(sample, newline=""), text)
        self._reader = csv.reader(lines, delimiter=self._separator, strict=True)
        if said:
            self._rows(1)
        header = next(iter(self._rows(1)), None)
        if not header:
            if any(self._rows(1000)):
                raise InputError(f"{self.title}, line 1 is empty. Remove it.")
            raise InputError(f"{self.title} is empty. It needs a header line and rows.")
        self.nameless: set[str] = set()  # columns without a name in the header, named by place
        self.index: set[str] = set()  # known before any row is read: none
        self.names = self._check_header([name.strip() for name in header])

    def blocks(self, size: int) -> Iterator[TextBlock]:
        """Yield blocks of at most ``size`` rows."""
        width = len(self.names)
        while True:
            start = self._reader.line_num + 1
            rows = self._rows(size)
            if not rows:
                return
            if set(map(len, rows)) != {width}:
                rows = self._mended(rows, start)
            lines = self._reader.line_num - start + 1
            if rows:
                yield TextBlock(
                    self.title, start, list(zip(*rows, strict=True)), lines == len(rows)
                )

    def _mended(self, rows: list[list[str]], start: int) -> list[list[str]]:
        """Return rows without blank lines at the end of the file; refuse rows of other lengths."""
        width = len(self.names)
        if width == 1:
            rows = [row or [""] for row in rows]
        end = len(rows)
        while end and not rows[end - 1]:
            end -= 1
        line = start
        for row in rows[:end]:
            if not row:
                raise InputError(f"{self.title}, line {line} is empty. Remove it.")
            if len(row) != width:
                raise self._ragged(len(row), line)
            line += 1 + sum(_newlines(cell) for cell in row)
        while end < len(rows) and (more := self._rows(1)):
            if more[0]:  # rows after blank lines
                raise InputError(f"{self.title}, line {line} is empty. Remove it.")
        return rows[:end]

    def _rows(self, count: int) -> list[list[str]]:
        try:
            return list(islice(self._reader, count))
        except csv.Error as error:
            if "field larger" in str(error):
                error = csv.Error("a cell never ends; a quote may be open")
            elif "unexpected end" in str(error):
                error = csv.Error("the file ends inside a quoted cell")
            raise InputError(
                f"{self.title}, line {self._reader.line_num}: {error}. Quotes around a cell come "
                'in pairs, and a quote inside one is doubled ("").'
            ) from None

    def _spelling(self, rows: list[list[str]], reading: ReadOptions) -> Spelling:
        decimal, thousands = reading.decimal, reading.thousands
        if decimal is None and thousands is None and self._separator == ";":
            decimal, thousands = decimal_comma(cell for row in rows[1:] for cell in row)
            if decimal:
                more = " and points between thousands" * (thousands == ".")
                text = f"Numbers with a decimal comma{more}: {self.title}"
                text += " (--decimal . says otherwise)."
                self.notes.append(Note("decimal mark", text))
        if decimal is None:
            decimal = "," if thousands == "." else "."
        return Spelling(decimal, thousands)

    def _check_header(self, names: list[str]) -> list[str]:
        others = {
            mark: names[0].count(mark)
            for mark in SEPARATORS
            if mark != self._separator and mark in names[0]
        }
        if len(names) == 1 and others and self._told:
            mark = max(others, key=lambda key: others[key])
            raise InputError(
                f"{self.title} has one column, {_short(names[0])}. It looks separated by "
                f"{SHOWN[mark]}: --sep is for both files: make them alike."
            )
        if all(map(is_number, names)):
            raise InputError(
                f"{self.title}: the first line holds numbers only, so the header seems to be "
                "missing. Add a line with the names of the columns."
            )
        nameless = [k for k, name in enumerate(names) if not name]
        if len(nameless) > 1:
            raise no_name(self.title, [str(k + 1) for k in nameless])
        self.nameless |= {f"Unnamed: {k}" for k in nameless} - {*names}
        names = [name or f"Unnamed: {k}" for k, name in enumerate(names)]
        repeated = [name for name, times in Counter(names).items() if times > 1]
        if repeated:
            raise InputError(
                f"{self.title}: the header names {', '.join(map(repr, repeated[:5]))} more than "
                "once. Rename or remove the repeated columns."
            )
        return names

    def _ragged(self, found: int, line: int) -> InputError:
        return InputError(
            f"{self.title}, line {line}: {found} value{'s' * (found != 1)}, but the header has "
            f"{len(self.names)} columns. A value that holds "
            f"{SHOWN.get(self._separator, repr(self._separator))} must stand in quotes; if the "
            "separator is another one, say so with --sep."
        )

    def _say_separator(self) -> None:
        mark = SEPARATORS[self._separator]
        text = f"Separated by {mark}: {self.title} (--sep says otherwise)."
        self.notes.append(Note("separator", text))


def no_name(title: str, numbers: list[str]) -> InputError:
    """Refuse a column without a name that does not number the rows."""
    return InputError(
        f"{title}: column {', '.join(numbers[:5])} has no name in the header. Name it, or leave it "
        "out (pandas writes its index so: to_csv(..., index=False))."
    )


def may_be_index(name: str) -> bool:
    """Tell whether a column has the name that pandas gives to an index without one."""
    return _NAMELESS.fullmatch(name) is not None


def _whole_lines(text: io.TextIOWrapper, size: int) -> str:
    """Read about ``size`` characters, up to the end of a line."""
    sample = text.read(size)
    if len(sample) == size:
        sample += text.readline()
    return sample


def _without_first(sample: str, said: str | None) -> str:
    """Return a sample without the line that says the separator."""
    return re.split(r"\r\n|\r|\n", sample, maxsplit=1)[1] if said else sample


def _newlines(cell: str) -> int:
    return len(re.findall(r"\r\n|\r|\n", cell))


def _short(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")
