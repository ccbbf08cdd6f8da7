"""What is printed where: results on stdout, everything else on stderr, colour on terminals only."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from ..numerics.progress import Progress

if TYPE_CHECKING:
    from ..show.notes import Note

quiet = False
_COLOURS = {"error": "31", "warning": "33", "note": "36", "bold": "1"}


def note(text: str) -> None:
    """Say something worth knowing, on stderr."""
    if not quiet:
        print(f"{paint('note:', 'note', sys.stderr)} {text}", file=sys.stderr)


def step(text: str) -> None:
    """Say what begins, on stderr, where a person looks at it: the longer commands have several."""
    Progress.doing = text
    if not quiet and sys.stderr.isatty():
        print(f"{text} ...", file=sys.stderr)


def warn(text: str) -> None:
    """Say something that may spoil the result, on stderr."""
    print(f"{paint('warning:', 'warning', sys.stderr)} {text}", file=sys.stderr)


def tell(*found: Note) -> None:
    """Say notes as loudly as they deserve."""
    for part in found:
        (warn if part.severity == "warning" else note)(part.text)


def complain(text: str) -> None:
    """Say why nothing came of it, on stderr."""
    print(f"{paint('covshift:', 'error', sys.stderr)} {text}", file=sys.stderr)


def paint(text: str, colour: str, stream: TextIO) -> str:
    """Colour a text for a terminal; elsewhere, or with NO_COLOR set, leave it as it is."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def emit(text: str, output: str | None) -> None:
    """Print a result, or write it to the file that -o names; its first line is the verdict."""
    if output is not None and output != "-":
        with text_file(output) as file:
            file.write(text.rstrip("\n") + "\n")
        note(f"wrote {output}")
        return
    first, newline, rest = text.rstrip("\n").partition("\n")
    print(paint(first, "bold", sys.stdout) + newline + rest)


def as_json(data: Any) -> str:
    """Return strict JSON; numbers that are not finite become null."""
    from ..show.notes import plain

    text = json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeError:
        return json.dumps(plain(data), indent=2, allow_nan=False)
    return text


def print_json(data: Any) -> None:
    """Print strict JSON on stdout."""
    print(as_json(data))


def write_text(path: str, text: str) -> None:
    """Write a whole text file."""
    with text_file(path) as file:
        file.write(text)


@contextmanager
def text_file(output: str | None) -> Iterator[TextIO]:
    """Open a text file that appears whole or not at all; standard output for None or "-"."""
    if output is None or output == "-":
        _speak_utf8(sys.stdout)
        yield sys.stdout
        return
    from ..files.writing import atomic_file

    with atomic_file(output) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        yield text
        text.flush()
        text.detach()


@contextmanager
def table_file(output: str | None) -> Iterator[Sheet]:
    """Open a table to write: CSV, or TSV for a name that ends so; see `text_file`."""
    with text_file(output) as file:
        sheet = Sheet(file, "\t" if str(output).lower().endswith(".tsv") else ",")
        yield sheet
    if sheet.marked:
        many = "1 cell begins" if sheet.marked == 1 else f"{sheet.marked:,} cells begin"
        note(
            f"{many} with =, +, -, @ or a tab, as formulas do: written with an apostrophe before "
            "it, so that spreadsheets do not run it."
        )


def write_lines(lines: Iterable[dict[str, Any]], output: str) -> None:
    """Write the lines of a table under their names; what is None stays empty."""
    with table_file(output) as sheet:
        for k, line in enumerate(lines):
            if k == 0:
                sheet.writerow(line)
            sheet.writerow("" if value is None else value for value in line.values())
    if output != "-":
        note(f"wrote {output}")


class Sheet:
    """Writes rows of a table; text that a spreadsheet would run is marked, and counted."""

    def __init__(self, file: TextIO, separator: str) -> None:
        from ..files.writing import inert

        self._inert = inert
        self._writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        self.marked = 0

    def writerow(self, row: Iterable[Any]) -> None:
        """Write one row."""
        cells = list(row)
        written = [self._inert(cell) for cell in cells]
        self.marked += sum(new is not old for new, old in zip(written, cells, strict=True))
        self._writer.writerow(written)

    def writerows(self, rows: Iterable[Iterable[Any]]) -> None:
        """Write some rows."""
        for row in rows:
            self.writerow(row)


def prepare_streams() -> None:
    """Let no character of a name end a command, whatever the locale: it is shown escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _speak_utf8(stream: TextIO) -> None:
    """Write data as UTF-8, as files are; a terminal gets what it understands."""
    if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def counted(parts: Iterable[Any], label: str) -> Iterator[Any]:
    """Yield ``parts``; on a terminal, show how many rows have passed."""
    shown = sys.stderr.isatty() and not quiet
    rows = 0
    for part in parts:
        yield part
        rows += len(part)
        if shown:
            sys.stderr.write(f"\r{label}: {rows:,} rows")
            sys.stderr.flush()
    if shown and rows:
        sys.stderr.write("\n")
