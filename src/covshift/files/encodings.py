"""Text in any encoding, handed on as UTF-8; what cannot be text is refused with its line.

Without being told, text is taken as UTF-8. Where a byte does not fit and all before it was ASCII,
the rest is read as Windows-1252 (which holds all letters of Latin-1): no byte is read twice.
"""

from __future__ import annotations

import codecs
import os
import stat
from typing import BinaryIO

from ..exceptions import InputError
from ..show.notes import Note

PIECE = 1 << 18  # bytes that are read at a time
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
_ADVICE = "Use for example utf-8, latin-1, cp1252 or utf-16."


class Utf8:
    """The text of a file as UTF-8, piece by piece."""

    def __init__(
        self, title: str, file: BinaryIO, head: bytes, asked: str | None, notes: list[Note]
    ) -> None:
        self.title, self._notes = title, notes
        self._take = getattr(file, "read1", file.read)  # what is there: a signal ends a wait
        self.encoding = _shown(head) if asked is None else _known(asked)
        self._sure = asked is not None or self.encoding != "utf-8"
        if asked is None and self.encoding != "utf-8":
            self._say(f"Read as {self.encoding.upper()}: {title} (--encoding overrides this).")
        self._decoder = codecs.getincrementaldecoder(_decoded(self.encoding))()
        self._ascii = True  # so far
        self._lines, self._length = 0, 0
        self._cut = False  # whether the last piece may have ended within \\r\\n
        self._size, self._count = _size(file), 0

    @property
    def done(self) -> float | None:
        """Share of the file that has been read; None: not known."""
        return min(1.0, self._count / self._size) if self._size else None

    def read(self) -> bytes:
        """Return the next piece; nothing at the end."""
        text = b""
        while not text:
            data = self._take(PIECE)
            self._count += len(data)
            text = self._checked(self._as_utf8(data))
            if not data:
                break
        return text

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
        self._lines += line_ends(data) - (self._cut and data.startswith(b"\n"))
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
        line = self._lines + line_ends(data[: data.index(b"\0")]) + 1
        return InputError(
            f"{self.title}, line {line} holds a NUL byte: it is not text, or it is damaged. "
            "Repair it, or name its --encoding."
        )

    def _no_text(self, before: bytes = b"") -> InputError:
        line = self._lines + line_ends(before) + 1
        return InputError(
            f"{self.title} is not text in {self.encoding} (near line {line}). Save it as UTF-8; or "
            "say how it is written, for example --encoding latin-1, --encoding cp1252 or --encoding"
            " utf-16."
        )

    def _say(self, text: str) -> None:
        self._notes.append(Note("encoding", text))


def _known(asked: str) -> str:
    """Return the name of an encoding of text."""
    try:
        name = codecs.lookup(asked).name
    except (LookupError, ValueError):
        raise InputError(f"--encoding {asked!r} is unknown. {_ADVICE}") from None
    try:
        "a,1".encode(name), codecs.getincrementaldecoder(name)
        plain = name.replace("_", "-") not in _NO_TEXT
    except (LookupError, UnicodeError, ValueError):
        plain = False
    if not plain:
        raise InputError(f"--encoding {asked!r} is not an encoding of text files. {_ADVICE}")
    return name


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


def line_ends(data: bytes) -> int:
    r"""Count the ends of lines: \n, \r\n and \r alike."""
    returns = data.count(b"\r")
    return data.count(b"\n") + returns - (data.count(b"\r\n") if returns else 0)


def _size(file: BinaryIO) -> int | None:
    """Bytes of a file; None of what is unpacked on the way, or comes through a pipe."""
    try:
        about = os.fstat(file.fileno())
    except (AttributeError, OSError):
        return None
    return about.st_size if stat.S_ISREG(about.st_mode) else None
