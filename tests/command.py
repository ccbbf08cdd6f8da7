"""The command line called in this process, and small tables to call it with."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from covshift.cli import main


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


class _Piped(io.TextIOWrapper):
    def isatty(self) -> bool:
        return False


def covshift(*argv: object, stdin: bytes = b"") -> Result:
    """Run ``covshift argv`` here, with ``stdin`` as its standard input."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.stdin
    sys.stdin = _Piped(io.BufferedReader(io.BytesIO(stdin)))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(part) for part in argv])
    finally:
        sys.stdin = before
    assert "Traceback" not in err.getvalue()
    return Result(code, out.getvalue(), err.getvalue())


def rows(count: int, shift: float = 0.0, *, seed: int = 0, label: bool = True) -> list[list[str]]:
    """A header and rows: two numbers, a category, and a label that depends on the first number."""
    rng = np.random.default_rng(seed)
    table = [["age", "income", "town", "y"][: 4 if label else 3]]
    for k in range(count):
        age, income = rng.normal(shift, 1, size=2).round(3)
        y = int(rng.uniform() < 1 / (1 + np.exp(-2 * age)))
        table.append([f"{age}", f"{income}", "uvw"[k % 3], f"{y}"][: 4 if label else 3])
    return table


def text(table: list[list[str]], separator: str = ",", newline: str = "\n") -> str:
    """A table as text, without quotes."""
    return "".join(separator.join(row) + newline for row in table)


def write(path: Path, content: str | bytes | list[list[str]]) -> Path:
    """Write a table, text or bytes, and return the path."""
    if isinstance(content, list):
        content = text(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
