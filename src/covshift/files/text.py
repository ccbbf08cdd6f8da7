"""Text tables, read strictly: a CSV or TSV file gives its header and blocks of cells, or an error.

Nothing is repaired: a row of another length, a repeated column name, a NUL byte or an open quote
stops the reading, with the line where it was found. Rows are streamed: one block is held at a time.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from ..exceptions import InputError
from ..show.notes import Note
from .builder import Spelling, TextBlock, newlines, short
from .columns import decimal_comma
from .reading import MISSING, ReadOptions, is_number

_SAMPLE = 1 << 16  # characters by which separator and decimal mark are found
_CHUNK = 1 << 24  # bytes that Arrow reads at a time
_CACHED = 1 << 16  # bytes that stay in the cache of a core
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
        self._lines = _Lines(Utf8(title, file, head, reading.encoding, self.notes))
        self._size = _size(file)
        sample = self._lines.sample
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
        self._reader = csv.reader(self._lines, delimiter=self._separator, strict=True)
        self._passed = 0  # lines that the reader has not seen
        if said:
            self._rows(1)
        header = next(iter(self._rows(1)), None)
        if not header:
            if any(self._rows(1000)):
                raise InputError(f"{self.title}, line 1 is empty. Remove it.")
            raise InputError(f"{self.title} is empty. It needs a header line and rows.")
        self.index: set[str] = set()  # known before any row is read: none
        names = self._check_header([name.strip() for name in header])
        self.names, self.nameless = named_columns(title, names)
        self._missing = reading.missing & {*MISSING}

    @property
    def done(self) -> float | None:
        """Share of the file that has been read, once that is some of it; None: not known."""
        read = self._lines.count
        return min(1.0, read / self._size) if self._size and read >= _CHUNK else None

    def blocks(self, size: int, names: Any = None, numbers: Any = ()) -> Iterator[TextBlock]:
        """Yield blocks of at most ``size`` rows, or of more where Arrow reads them.

        It reads the columns ``numbers`` as such, and of the others those in ``names``, where it is
        installed and the text has no quotes; what it does not take as we do is read by us.
        """
        width = len(self.names)
        fast = self._fast(names, numbers) if width > 1 and self.spelled.is_plain else None
        while True:
            if fast is not None and self._lines.left == 0 and (text := self._lines.taken()):
                start = self._reader.line_num + self._passed + 1
                found = fast.read(text)
                if found is not None:
                    block = TextBlock(self.title, start, found[0], zeros=found[1])
                    self._passed += len(block)
                    yield block
                    continue
                self._lines.put_back(text)
            start = self._reader.line_num + self._passed + 1
            rows = self._rows(size if fast is None else min(size, self._lines.left or size))
            if not rows:
                return
            if set(map(len, rows)) != {width}:
                rows = self._mended(rows, start)
            lines = self._reader.line_num + self._passed - start + 1
            if rows:
                yield TextBlock(
                    self.title, start, list(zip(*rows, strict=True)), lines == len(rows)
                )

    def _fast(self, names: Any, numbers: Any) -> _Arrow | None:
        try:
            return _Arrow(self.names, names, numbers, self._separator, self._missing)
        except ImportError:
            return None

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
            line = self._reader.line_num + self._passed
            raise InputError(
                f"{self.title}, line {line}: {error}. Quotes around a cell come "
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


def _size(file: BinaryIO) -> int | None:
    """Bytes of a file; None of what is unpacked on the way, or comes through a pipe."""
    try:
        found = os.fstat(file.fileno())
    except (AttributeError, OSError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


class _Lines:
    """Lines of a text that is UTF-8; between two rows, many of them can be taken at once."""

    left: int | None  # lines that are held, where none has quotes

    def __init__(self, plain: Utf8) -> None:
        self._plain, self._rest, self._ended = plain, b"", False
        self.count = 0  # bytes
        self.sample = self._more(_SAMPLE).decode("utf-8")
        self._hold(self.sample)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline()
        if not line:
            self.put_back(self._more(_SAMPLE))
            line = self._text.readline()
        if not line:
            raise StopIteration
        if self.left:
            self.left -= 1
        return line

    def taken(self) -> bytes:
        """Take many lines, once none is ``left``; nothing at the end, and before quotes."""
        text = self._more(_CHUNK)
        if b'"' in text:
            self.put_back(text)
            return b""
        return text

    def put_back(self, text: bytes) -> None:
        """Let lines that were taken come one by one."""
        self._hold(text.decode("utf-8"))

    def _hold(self, lines: str) -> None:
        self._text, self.left = io.StringIO(lines, newline=""), None
        if '"' not in lines:  # where a row is a line; else nobody knows
            self.left = newlines(lines) + (lines[-1:] not in ("", "\n", "\r"))

    def _more(self, size: int) -> bytes:
        """Return whole lines of ``size`` bytes, about."""
        pieces, held = [self._rest], len(self._rest)
        while not self._ended:
            piece = self._plain.read(_PIECE)
            self._ended = not piece
            pieces.append(piece)
            held += len(piece)
            self.count += len(piece)
            if held >= size and (b"\n" in piece or b"\r" in piece[:-1]):
                text = b"".join(pieces)
                end = 1 + (text.rfind(b"\n") if b"\n" in piece else text[:-1].rfind(b"\r"))
                self._rest = text[end:]
                return text[:end]
        self._rest = b""
        return b"".join(pieces)


class _Arrow:
    """Reads lines without quotes by Arrow: numbers as float64, other columns as text."""

    def __init__(
        self, header: list[str], names: Any, numbers: Any, separator: str, missing: frozenset[str]
    ) -> None:
        import pyarrow as arrow
        import pyarrow.csv as arrow_csv

        self._arrow, self._csv = arrow, arrow_csv
        wanted = {*(header if names is None else names)}
        self._places = [k for k, name in enumerate(header) if name in wanted]
        self._numbers = {k for k, name in enumerate(header) if name in {*numbers}}
        self._width, self._separator, self._missing = len(header), separator, sorted(missing)

    def read(self, text: bytes) -> tuple[list[Any], frozenset[int]] | None:
        """Return the cells of each column, and those with leading zeros; None: read otherwise."""
        blank = (b"\n\n", b"\n\r", b"\r\r") if b"\r" in text else (b"\n\n",)
        if text[:1] in b"\r\n" or any(ends in text for ends in blank):
            return None
        if text.startswith(codecs.BOM_UTF8) or b"nan(" in text.lower():  # it drops the mark, and
            return None  # takes nan(1) for a number
        while self._numbers:
            try:
                table = self._table(text)
                break
            except self._arrow.ArrowInvalid as error:
                column = re.search(r"In CSV column #(\d+): CSV conversion error", str(error))
                if column is None or self._places[int(column[1])] not in self._numbers:
                    return None
                self._numbers.remove(self._places[int(column[1])])  # it has other cells as well
        else:
            return None
        cells: list[Any] = [()] * self._width
        for k, column in zip(self._places, table.columns, strict=True):
            if k in self._numbers:
                cells[k] = column.to_numpy()
            else:
                cells[k] = column.to_pylist()
                if max(map(len, cells[k]), default=0) > csv.field_size_limit():
                    return None
        cells[0] = cells[0] if len(cells[0]) else range(len(table))  # as many, whatever they are
        return cells, self._zeros(text)

    def _table(self, text: bytes) -> Any:
        names = [str(k) for k in range(self._width)]
        types = {
            str(k): self._arrow.float64() if k in self._numbers else self._arrow.string()
            for k in self._places
        }
        return self._csv.read_csv(
            self._arrow.BufferReader(text),
            self._csv.ReadOptions(column_names=names, block_size=_PIECE * 4),
            self._csv.ParseOptions(
                delimiter=self._separator, quote_char=False, ignore_empty_lines=False
            ),
            self._csv.ConvertOptions(
                column_types=types,
                include_columns=[str(k) for k in self._places],
                null_values=self._missing,
                strings_can_be_null=False,
            ),
        )

    def _zeros(self, text: bytes) -> frozenset[int]:
        """Columns of which a cell begins with a zero and a further digit."""
        end = b"\n" if b"\n" in text else b"\r"
        data = np.frombuffer(end + text + end, dtype=np.uint8)
        found = []
        for start in range(0, len(data) - 1, _CACHED):
            part = data[start : start + _CACHED + 1]
            zeros = (part[:-1] == ord("0")) & (part[1:] - np.uint8(ord("0")) < 10)
            last = part[:-2]  # before most zeros is a digit or the decimal point
            ended = (last < ord("0")) & (last != ord("."))
            zeros[1:] &= ended | (last == ord(self._separator))
            found.append(start + np.flatnonzero(zeros))
        zero = np.concatenate(found)
        before = data[zero - 1]
        for mark in b"+-":  # a sign belongs to the cell
            signed = before == mark
            before[signed] = data[zero[signed] - 2]
        ends = np.isin(before, np.frombuffer(f"{self._separator}\n\r \t".encode(), np.uint8))
        zero = zero[ends]
        if not len(zero):
            return frozenset()
        marks = np.flatnonzero((data == ord(end)) | (data == ord(self._separator)))
        places = (np.searchsorted(marks, zero) - 1) % self._width
        return frozenset(np.unique(places).tolist())


def named_columns(title: str, names: list[str]) -> tuple[list[str], set[str]]:
    """Return the names of a header, and which of them was none and is made by its place."""
    nameless = [k for k, name in enumerate(names) if not name]
    if len(nameless) > 1:
        raise no_name(title, [str(k + 1) for k in nameless])
    given = {*names}
    names = [name or f"Unnamed: {k}" for k, name in enumerate(names)]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError(
            f"{title}: the header names {', '.join(map(repr, repeated[:5]))} more than once. "
            "Rename or remove the repeated columns."
        )
    return names, {*names} - given


def no_name(title: str, numbers: list[str]) -> InputError:
    """Refuse a column without a name that does not number the rows."""
    return InputError(
        f"{title}: column {', '.join(numbers[:5])} has no name in the header. Name it, or leave it "
        "out (pandas writes its index so: to_csv(..., index=False))."
    )


def may_be_index(name: str) -> bool:
    """Tell whether a column has the name that pandas gives to an index without one."""
    return _NAMELESS.fullmatch(name) is not None


# Text in any encoding, handed on as UTF-8.
#
# Without being told, text is taken as UTF-8. Where a byte does not fit and all before it was ASCII,
# the rest is read as Windows-1252 (which holds all letters of Latin-1): no byte has to be read
# twice.


_PIECE = 1 << 18
LONGEST_LINE = 1 << 26  # bytes; a table has no such line, a decompression bomb has
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WESTERN = "cp1252"
_NO_TEXT = ("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape")


class Utf8(io.RawIOBase):
    """The text of a file as UTF-8; what cannot be text is an `InputError` with its line."""

    def __init__(
        self, title: str, file: BinaryIO, head: bytes, asked: str | None, notes: list[Note]
    ) -> None:
        self.title, self._notes = title, notes
        self._read = getattr(file, "read1", file.read)
        self.encoding = _shown(head) if asked is None else _known(asked)
        self._sure = asked is not None or self.encoding != "utf-8"
        if asked is None and self.encoding != "utf-8":
            self._say(f"Read as {self.encoding.upper()}: {title} (--encoding overrides this).")
        self._decoder = codecs.getincrementaldecoder(_decoded(self.encoding))()
        self._ascii = True  # so far
        self._lines, self._length = 0, 0
        self._cut = False  # whether the last piece may have ended within \\r\\n
        self._held = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._held and not self._ended:
            data = self._read(_PIECE)  # what is there: a signal ends a wait for more
            self._ended = not data
            self._held = memoryview(self._checked(self._as_utf8(data)))
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count

    def _as_utf8(self, data: bytes) -> bytes:
        plain = self._ascii and self.encoding in ("utf-8", _WESTERN) and data.isascii()
        if plain and data and not self._decoder.getstate()[0]:
            return data
        try:
            text = self._decoder.decode(data, final=not data)
            self._ascii = self._ascii and text.isascii()
            return text.encode("utf-8")
        except UnicodeDecodeError as error:
            if b"\0" in data:
                raise self._no_nul(data) from None
            if self._sure or not self._ascii or not error.object[: error.start].isascii():
                raise self._no_text(error.object[: error.start]) from None
            return self._as_western(error.object)
        except UnicodeError:
            raise self._no_text() from None

    def _as_western(self, data: bytes) -> bytes:
        """Go on in Windows-1252: all before the piece that did not fit was ASCII."""
        self._decoder = codecs.getincrementaldecoder(_WESTERN)()
        try:
            text = self._decoder.decode(data)
        except UnicodeError:
            raise self._no_text() from None
        self.encoding, self._sure, self._ascii = _WESTERN, True, False
        self._say(
            f"Not UTF-8, and read as Windows-1252 (Western European): {self.title}. If letters "
            "look wrong, name the --encoding."
        )
        return text.encode("utf-8")

    def _checked(self, data: bytes) -> bytes:
        if b"\0" in data:
            raise self._no_nul(data)
        self._lines += _line_ends(data) - (self._cut and data.startswith(b"\n"))
        self._cut = data.endswith(b"\r") if data else self._cut
        last = max(data.rfind(b"\n"), data.rfind(b"\r"))
        self._length = len(data) - last - 1 if last >= 0 else self._length + len(data)
        if self._length > LONGEST_LINE:
            raise InputError(
                f"{self.title}, line {self._lines + 1} is longer than {LONGEST_LINE >> 20} MB: "
                "this is not a table."
            )
        return data

    def _no_nul(self, data: bytes) -> InputError:
        line = self._lines + _line_ends(data[: data.index(b"\0")]) + 1
        return InputError(
            f"{self.title}, line {line} holds a NUL byte: it is not text, or it is damaged. "
            "Repair it, or name its --encoding."
        )

    def _no_text(self, before: bytes = b"") -> InputError:
        line = self._lines + _line_ends(before) + 1
        return InputError(
            f"{self.title} is not text in {self.encoding} (near line {line}). Save it as UTF-8; or "
            "say how it is written, for example --encoding latin-1, --encoding cp1252 or --encoding"
            " utf-16."
        )

    def _say(self, text: str) -> None:
        self._notes.append(Note("encoding", text))


def _known(asked: str) -> str:
    advice = "Use for example utf-8, latin-1, cp1252 or utf-16."
    try:
        found = codecs.lookup(asked)
    except (LookupError, ValueError):
        raise InputError(f"--encoding {asked!r} is unknown. {advice}") from None
    text = getattr(found, "_is_text_encoding", True) and found.incrementaldecoder is not None
    if not text or found.name.replace("_", "-") in _NO_TEXT:
        raise InputError(f"--encoding {asked!r} is not an encoding of text files. {advice}")
    return found.name


def _shown(head: bytes) -> str:
    """Return the encoding that the first bytes show."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if (
        len(head) > 3
        and max(even, odd) > 0.4 * (len(head) // 2)
        and min(even, odd) <= 0.1 * len(head)
    ):
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


def _decoded(name: str) -> str:
    return "utf-8-sig" if name.replace("_", "-").startswith("utf-8") else name


def _line_ends(data: bytes) -> int:
    r"""Count the ends of lines: \n, \r\n and \r alike."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


# The separator of a text table, found by its first rows.


SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SHOWN = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
_ROWS = 1000
_SAID = re.compile(r'"?sep=(.)"?(?=[\r\n])')


def usual_separator(name: str) -> str:
    """Return the separator that the name of a file says: a tab for .tsv and .tab."""
    return "\t" if name.lower().endswith((".tsv", ".tab")) else ","


def said_separator(sample: str) -> str | None:
    """Return the separator that a first line such as ``sep=;`` names; spreadsheets write it.

    >>> said_separator("sep=;\\na;b\\n")
    ';'
    """
    said = _SAID.match(sample)
    return said[1] if said else None


def found_separator(sample: str, usual: str) -> tuple[str, list[list[str]]]:
    """Return the separator that splits the rows of a sample alike, and these rows.

    The usual one stays where it splits the header, unless another one fits all rows and it does
    not.

    >>> found_separator("a;b\\n1,5;2\\n", ",")
    (';', [['a', 'b'], ['1,5', '2']])
    """
    rows = {mark: _split(sample, mark) for mark in (usual, *SEPARATORS)}
    fitting = [mark for mark, found in rows.items() if _is_table(found)]
    if usual in fitting or not any(map(_is_header, rows.values())):
        return usual, rows[usual]
    if fitting:
        best = max(fitting, key=lambda mark: len(rows[mark][0]))
    elif _is_header(rows[usual]):
        best = usual
    else:
        best = max(rows, key=lambda mark: len(rows[mark][0]) if rows[mark] else 0)
    return best, rows[best]


def _split(sample: str, mark: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(sample, newline=""), delimiter=mark, strict=True):
            rows.append(row)
            if len(rows) == _ROWS:
                break
    except csv.Error:
        pass  # the last row may be cut off
    return [row for row in rows if row]


def _is_header(rows: list[list[str]]) -> bool:
    return bool(rows) and len(rows[0]) > 1


def _is_table(rows: list[list[str]]) -> bool:
    return _is_header(rows) and len(set(map(len, rows))) == 1
