"""The separator of a text table, found by its first rows."""

from __future__ import annotations

import csv
import io
import re

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
