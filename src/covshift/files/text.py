"""Text tables, read strictly: a CSV or TSV file gives its header and blocks of cells, or an error.

Nothing is repaired: a row of another length, a repeated column name, a NUL byte or an open quote
stops the reading, with the line where it was found. Rows are streamed: one block is held at a time.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, BinaryIO

from ..exceptions import InputError
from ..show.notes import Note
from .builder import Spelling, TextBlock, newlines, short
from .columns import decimal_comma
from .reading import ReadOptions, is_number

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
        lines = io.TextIOWrapper(io.BufferedReader(plain, 1 << 18), "utf-8", newline="")
        sample = lines.read(_SAMPLE)
        if len(sample) == _SAMPLE:
            sample += lines.readline()  # up to the end of a line
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
                text = f"Separated by {mark}: {title} (--sep says otherwise)."
                self.notes.append(Note("separator", text))
        self.spelled = self._spelling(rows, reading)
        every = chain(io.StringIO(sample, newline=""), lines)
        self._reader = csv.reader(every, delimiter=self._separator, strict=True)
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

    def blocks(self, size: int, _: Any = None) -> Iterator[TextBlock]:
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
                mark = SHOWN.get(self._separator, repr(self._separator))
                raise InputError(
                    f"{self.title}, line {line}: {len(row)} value{'s' * (len(row) != 1)}, but the "
                    f"header has {width} columns. A value that holds {mark} must stand in quotes; "
                    "if the separator is another one, say so with --sep."
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
                f"{self.title} has one column, {short(names[0])}. It looks separated by "
                f"{SHOWN[mark]}: --sep is for both files: make them alike."
            )
        if all(map(is_number, names)):
            raise InputError(
                f"{self.title}: the first line holds numbers only, so the header seems to be "
                "missing. Add a line with the names of the columns."
            )
        return names


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
            self._say(f"Read as {self.encoding.upper()}: {title} (--encoding says otherwise).")
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
                "this is no table."
            )
        return data

    def _no_nul(self, data: bytes) -> InputError:
        line = self._lines + _line_ends(data[: data.index(b"\0")]) + 1
        return InputError(
            f"{self.title}, line {line} holds a NUL byte: it is no text, or damaged. Repair it, or "
            "name its --encoding."
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
        raise InputError(f"--encoding {asked!r} is no encoding of text files. {advice}")
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
