r"""Whole rows of a text, many at once, for Arrow; what Arrow would repair in silence is refused.

That is a blank line, a quote that is never closed, and one that stands where none belongs. Where
quotes stand in usual places NumPy tells where rows end; else Python's reader does, which is slow.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import numpy as np

from ..exceptions import InputError
from .encodings import Utf8, line_ends

_SAMPLE = 1 << 16  # bytes by which separator and decimal mark are found
_BLOCK = 1 << 22  # bytes that are held at a time
_END = re.compile(rb"[\r\n]")
_BLANK = re.compile(rb"\n\r|\r\r")


class WholeRows:
    """The text of a table, cut where rows end."""

    def __init__(self, title: str, plain: Utf8) -> None:
        self.title, self.plain, self._held, self._ended = title, plain, b"", False
        self.line = 1  # where the held text begins
        self._blank = 0  # a blank line after which nothing has come

    def sample(self) -> str:
        """Return the first lines, without taking them."""
        self._fill(_SAMPLE)
        return self._held[: self._end_of_lines()].decode("utf-8")

    def header(self, separator: str, said: bool) -> list[str]:
        """Take the first row; with ``said``, after a line that says the separator."""
        sample = io.StringIO(self.sample(), newline="")
        reader = csv.reader(sample, delimiter=separator, strict=True)
        try:
            row = next(reader, [])
            row = next(reader, []) if said else row
        except csv.Error as error:
            raise self.broken(error, reader.line_num) from None
        if not row:
            place = reader.line_num
            if any(reader):
                raise InputError(f"{self.title}, line {place} is empty. Remove it.")
            raise InputError(f"{self.title} is empty. It needs a header line and rows.")
        self._take(len(sample.getvalue()[: sample.tell()].encode()))
        return row

    def blocks(self, separator: str, width: int) -> Iterator[tuple[int, bytes]]:
        """Yield the line where rows begin, and these rows; blank lines at the end are left out."""
        size = _BLOCK
        while True:
            self._fill(size)
            end = self._end_of_rows(separator)
            if not end and self._ended:
                return
            size = _BLOCK if end else 2 * len(self._held)
            line, text = self.line, self._take(end)
            if width > 1:  # else an empty line is a gap
                text = self._without_blanks(line, text, separator)
            if text:
                yield line, text

    def line_of(self, text: bytes, row: int, separator: str, line: int) -> int:
        """Return the line of a row of a text that begins at ``line``."""
        reader = csv.reader(io.StringIO(text.decode(), newline=""), delimiter=separator)
        for _ in range(row):
            next(reader)
        return line + reader.line_num

    def check_cells(self, text: bytes, separator: str, line: int) -> None:
        """Refuse cells that are too long: their quote may be open."""
        self.line = line
        self._end_by_csv(text, separator)

    def broken(self, error: csv.Error, line: int) -> InputError:
        """Say what Python's reader found in a line."""
        reason = str(error)
        if "field larger" in reason:
            reason = "a cell never ends; a quote may be open"
        elif "unexpected end" in reason:
            reason = "the file ends inside a quoted cell"
        return InputError(
            f"{self.title}, line {self.line + line - 1}: {reason}. Quotes around a cell come in "
            'pairs, and a quote inside one is doubled ("").'
        )

    def _take(self, size: int) -> bytes:
        text, self._held = self._held[:size], self._held[size:]
        self.line += line_ends(text)
        return text

    def _fill(self, size: int) -> None:
        """Hold so many bytes and a whole line, or all that are left."""
        pieces, held = [self._held], len(self._held)
        while not self._ended and (held < size or not _END.search(pieces[-1])):
            pieces.append(self.plain.read())
            self._ended = not pieces[-1]
            held += len(pieces[-1])
        self._held = b"".join(pieces)

    def _end_of_lines(self) -> int:
        r"""Where the last whole line ends; a \r at the very end may be half of an end."""
        if self._ended:
            return len(self._held)
        return 1 + (
            self._held.rfind(b"\n") if b"\n" in self._held else self._held[:-1].rfind(b"\r")
        )

    def _end_of_rows(self, separator: str) -> int:
        """Where the last whole row ends; 0: not yet.

        Quotes open a cell after a separator or an end of line, and close it before one; inside a
        cell a quote is written twice.
        """
        end = self._end_of_lines()
        if b'"' not in self._held[:end]:
            return end
        data = np.frombuffer(self._held, dtype=np.uint8)[:end]
        quotes = np.flatnonzero(data == ord('"'))
        if not self._ended:
            ends = np.flatnonzero(data == ord("\n" if b"\n" in self._held else "\r"))
            outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
            end = 1 + int(outside[-1]) if len(outside) else 0
            quotes = quotes[quotes < end]
        around = np.frombuffer(f'{separator}\n\r"'.encode(), dtype=np.uint8)
        usual = end > 0 and len(quotes) % 2 == 0
        if usual and len(quotes):
            opens, closes = quotes[::2], quotes[1::2]
            before, after = data[opens[opens > 0] - 1], data[closes[closes + 1 < end] + 1]
            usual = bool(np.isin(before, around).all() and np.isin(after, around).all())
        return end if usual else self._end_by_csv(self._held[: self._end_of_lines()], separator)

    def _end_by_csv(self, text: bytes, separator: str) -> int:
        """Where the last whole row of a text ends, as Python's strict reader has it."""
        lines, done = io.StringIO(text.decode(), newline=""), 0
        reader = csv.reader(lines, delimiter=separator, strict=True)
        try:
            for _ in reader:
                done = lines.tell()
        except csv.Error as error:
            if "unexpected end" not in str(error) or self._ended:
                raise self.broken(error, reader.line_num) from None
        return len(lines.getvalue()[:done].encode())

    def _without_blanks(self, line: int, text: bytes, separator: str) -> bytes:
        """Return rows without blank lines at their end; refuse other blank lines."""
        rows = text.rstrip(b"\r\n")
        if rows and self._blank:
            raise InputError(f"{self.title}, line {self._blank} is empty. Remove it.")
        if rows[:1] in (b"\n", b"\r") or b"\n\n" in rows or (b"\r" in rows and _BLANK.search(rows)):
            # which it may be in a quoted cell
            lines = io.StringIO(rows.decode(), newline="")
            reader = csv.reader(lines, delimiter=separator)
            if not all(reader):
                place = line + reader.line_num - 1
                raise InputError(f"{self.title}, line {place} is empty. Remove it.")
        ends = line_ends(text[len(rows) :])
        if not self._blank and ends > bool(rows):
            self._blank = line + line_ends(rows) + bool(rows)
        return rows
