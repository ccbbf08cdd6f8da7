"""Text tables, read strictly: a CSV or TSV file gives its header and blocks of cells, or an error.

Arrow reads what is certain. Where it would repair or guess in silence, at a blank line, a row of
another length, a quote that stands where none belongs, Python's reader goes on from there, and
refuses with the line. Rows are streamed: one block is held at a time.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..show.notes import Note
from .arrays import library, texts
from .cells import Block, Spelling, TextSource, newlines, short
from .columns import decimal_comma
from .encodings import Utf8, line_ends
from .reading import ReadOptions, is_number
from .separators import SEPARATORS, SHOWN, found_separator, said_separator, usual_separator

_SAMPLE = 1 << 16  # bytes by which separator and decimal mark are found
_BLOCK = 1 << 22  # bytes that are held at a time
_ROWS = 20_000  # that Python reads at a time
_LONGEST_ROW = 1 << 26  # bytes
_NAMELESS = re.compile(r"Unnamed: \d+")
_BLANK = re.compile(rb"\n\n|\n\r|\r\r")


class TextTable(TextSource):
    """The header of a text table, and its rows in blocks of text."""

    def __init__(
        self, title: str, name: str, plain: Utf8, notes: list[Note], reading: ReadOptions
    ) -> None:
        self.title, self.notes = title, notes
        self._rows = _Rows(plain)
        sample = self._rows.sample()
        if not sample:
            raise InputError(f"{self.title} is empty. It needs a header line and rows.")
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
        self._reader = csv.reader(self._rows, delimiter=self._separator, strict=True)
        if said:
            self._read(1)
        header = next(iter(self._read(1)), None)
        if not header:
            if any(self._read(1000)):
                raise InputError(f"{self.title}, line 1 is empty. Remove it.")
            raise InputError(f"{self.title} is empty. It needs a header line and rows.")
        names = self._check_header([name.strip() for name in header])
        self.names, self.nameless = named_columns(title, names)

    def blocks(self, size: int, names: Sequence[str] | None = None) -> Iterator[Block]:
        """Yield blocks of at most ``size`` rows with the columns ``names``."""
        wanted = self.names if names is None else [*names]
        certain = len(self.names) > 1 and self._separator.isascii()  # an empty line is no gap
        while certain and (text := self._rows.taken(self._separator)):
            self.done = self._rows.plain.done
            line = self._rows.line
            table = self._arrow(text, wanted)
            if table is None:
                self._rows.put_back(text)
                break
            self._rows.line += line_ends(text)
            whole_lines = b'"' not in text
            for start in range(0, table.num_rows, size):
                yield Block(self.title, line, table, start, size, whole_lines)
        yield from self._by_python(size, wanted)

    def _arrow(self, text: bytes, wanted: list[str]) -> Any:
        """Return rows where Arrow has them as Python's reader would, or None."""
        if text.startswith(codecs.BOM_UTF8):  # which it would drop
            return None
        arrow, compute = library(), library("compute")
        arrow_csv = library("csv")
        names = [str(k) for k in range(len(self.names))]
        kept = [str(self.names.index(name)) for name in wanted]
        quotes = '"' if b'"' in text else False
        try:
            table = arrow_csv.read_csv(
                arrow.BufferReader(text),
                arrow_csv.ReadOptions(
                    column_names=names, block_size=len(text) + 1, use_threads=False
                ),
                arrow_csv.ParseOptions(
                    delimiter=self._separator,
                    quote_char=quotes,
                    newlines_in_values=bool(quotes),
                    ignore_empty_lines=False,
                ),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, arrow.string()),
                    include_columns=kept or names[:1],
                    strings_can_be_null=False,
                ),
            )
        except arrow.ArrowInvalid:
            return None
        longest = csv.field_size_limit()  # a quote may be open in a longer cell
        for column in table.columns if quotes else ():
            if (compute.max(compute.binary_length(column)).as_py() or 0) > longest:
                return None
        return table.rename_columns(wanted or self.names[:1])

    def _by_python(self, size: int, wanted: list[str]) -> Iterator[Block]:
        arrow = library()
        width = len(self.names)
        places = [self.names.index(name) for name in wanted or self.names[:1]]
        first, self._reader = (
            self._rows.line,
            csv.reader(self._rows, delimiter=self._separator, strict=True),
        )
        while rows := self._read(min(size, _ROWS)):
            line = first
            first = self._rows.line
            if set(map(len, rows)) != {width}:
                rows = self._mended(rows, line)
            if rows:
                cells = [texts([row[k] for row in rows]) for k in places]
                table = arrow.table(cells, names=wanted or self.names[:1])
                yield Block(self.title, line, table, 0, len(rows), first - line == len(rows))

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
                mark = SHOWN.get(self._separator, repr(self._separator))
                raise InputError(
                    f"{self.title}, line {line}: {len(row)} value{'s' * (len(row) != 1)}, but the "
                    f"header has {width} columns. A value that holds {mark} must stand in quotes; "
                    "if the separator is a different one, name it with --sep."
                )
            line += 1 + sum(newlines(cell) for cell in row)
        while end < len(rows) and (more := self._read(1)):
            if more[0]:  # rows after blank lines
                raise InputError(f"{self.title}, line {line} is empty. Remove it.")
        return rows[:end]

    def _read(self, count: int) -> list[list[str]]:
        try:
            return list(islice(self._reader, count))
        except csv.Error as error:
            if "field larger" in str(error):
                error = csv.Error("a cell never ends; a quote may be open")
            elif "unexpected end" in str(error):
                error = csv.Error("the file ends inside a quoted cell")
            raise InputError(
                f"{self.title}, line {self._rows.line - 1}: {error}. Quotes around a cell come "
                'in pairs, and a quote inside one is doubled ("").'
            ) from None

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
        others = {
            mark: names[0].count(mark)
            for mark in SEPARATORS
            if mark != self._separator and mark in names[0]
        }
        if len(names) == 1 and others and self._told:
            mark = max(others, key=lambda key: others[key])
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


class _Rows:
    """Lines of a text for Python's reader; before them, many whole rows at once for Arrow."""

    def __init__(self, plain: Utf8) -> None:
        self.plain, self._held, self._ended = plain, b"", False
        self._lines = io.StringIO()
        self.line = 1  # where the next row begins

    def sample(self) -> str:
        """Return the first rows, without taking them."""
        self._fill(_SAMPLE)
        return self._held[: self._end(self._held)].decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._lines.readline()
        if not line:
            self._fill(_SAMPLE)
            end = self._end(self._held)
            self._lines = io.StringIO(self._held[:end].decode("utf-8"), newline="")
            self._held = self._held[end:]
            line = self._lines.readline()
        if not line:
            raise StopIteration
        self.line += 1
        return line

    def taken(self, separator: str) -> bytes:
        """Take whole rows; nothing at the end, and where only Python's reader is certain."""
        self.put_back(b"")
        size = _BLOCK
        while True:
            self._fill(size)
            end = self._end_of_row(separator)
            if end is None:
                return b""
            if end or self._ended:
                text, self._held = self._held[:end], self._held[end:]
                return text
            size = 2 * len(self._held)
            if size > 2 * _LONGEST_ROW:
                return b""

    def put_back(self, text: bytes) -> None:
        """Hold rows again that were taken last, after the lines that nobody has read."""
        self._held = self._lines.read().encode() + text + self._held
        self._lines = io.StringIO()

    def _fill(self, size: int) -> None:
        """Hold so many bytes, or all that are left."""
        pieces, held = [self._held], len(self._held)
        while not self._ended and (held < size or not self._end(pieces[-1])):
            pieces.append(self.plain.read())
            self._ended = not pieces[-1]
            held += len(pieces[-1])
        self._held = b"".join(pieces)

    def _end(self, text: bytes) -> int:
        r"""Where the last whole line ends; a \r at the very end may be half of an end."""
        if self._ended:
            return len(text)
        return 1 + (text.rfind(b"\n") if b"\n" in text else text[:-1].rfind(b"\r"))

    def _end_of_row(self, separator: str) -> int | None:
        """Where the last whole row ends; None: a line is blank, or a quote is where none belongs.

        Quotes open a cell after a separator or an end of line, and close it before one; inside a
        cell a quote is written twice.
        """
        held = self._held
        end = self._end(held)
        if b'"' in held:
            data = np.frombuffer(held, dtype=np.uint8)
            quotes = np.flatnonzero(data == ord('"'))
            mark = b"\n" if b"\n" in held else b"\r"
            ends = np.flatnonzero(data[:end] == ord(mark))
            outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
            end = end if self._ended else 1 + int(outside[-1]) if len(outside) else 0
            quotes = quotes[quotes < end]
            if len(quotes) % 2:
                return None
            around = np.frombuffer(f'{separator}\n\r"'.encode(), dtype=np.uint8)
            opens, closes = quotes[::2], quotes[1::2]
            before = data[opens[1:] - 1] if len(opens) and not opens[0] else data[opens - 1]
            if not np.isin(before, around).all():
                return None
            after = closes[closes + 1 < end]
            if not np.isin(data[after + 1], around).all():
                return None
        text = held[:end]
        blank = text[:1] in (b"\n", b"\r") or (b"\n\n" in text)
        return None if blank or (b"\r" in text and _BLANK.search(text)) else end


def named_columns(title: str, names: list[str]) -> tuple[list[str], set[str]]:
    """Return the names of a header, and which of them was none and is made by its place."""
    nameless = [k for k, name in enumerate(names) if not name]
    if len(nameless) > 1:
        raise no_name(title, [str(k + 1) for k in nameless])
    own = {*names}
    names = [name or f"Unnamed: {k}" for k, name in enumerate(names)]
    refuse_repeated(title, names)
    return names, {*names} - own


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
