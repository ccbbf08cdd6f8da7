"""Read, check and write labelled tables: CSV with a header, numbers, and a last column of 0/1."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .._types import Real, Whole
from ..exceptions import InputError

__all__ = ["checksum", "read_table", "write_table"]


def read_table(path: Path, columns: Sequence[str]) -> tuple[Real, Whole]:
    """Read features and labels; anything but a full table of finite numbers is an error."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8: {error}.") from error
    header = ",".join(columns)
    if not lines or lines[0] != header:
        found = repr(lines[0]) if lines else "an empty file"
        raise InputError(f"{path}: the first line must be {header!r}, but it is {found}.")
    rows = [_parse_row(line, path, at, len(columns)) for at, line in enumerate(lines[1:], start=2)]
    table = np.array(rows, dtype=np.float64).reshape(-1, len(columns))
    X, labels = table[:, :-1], table[:, -1]
    if not np.isin(labels, (0, 1)).all():
        raise InputError(f"{path}: the last column must hold labels 0 and 1 only.")
    return np.ascontiguousarray(X), labels.astype(np.int64)


def write_table(path: Path, columns: Sequence[str], X: Real, y: Whole) -> None:
    """Write a table that ``read_table`` reads back bit for bit; readers never see half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".covshift-") as folder:
        draft = Path(folder) / path.name
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.write(",".join(columns) + "\n")
            for x, label in zip(X.tolist(), y.tolist(), strict=True):
                file.write(",".join(map(repr, x)) + f",{label}\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)


def checksum(X: Real, y: Whole) -> str:
    """SHA-256 of the features (little-endian float64, row by row), then the labels (int8)."""
    digest = hashlib.sha256(np.ascontiguousarray(X, dtype="<f8").tobytes())
    digest.update(y.astype(np.int8).tobytes())
    return digest.hexdigest()


def _parse_row(line: str, path: Path, at: int, width: int) -> list[float]:
    cells = line.split(",")
    if len(cells) != width:
        raise InputError(f"{path}, line {at}: {len(cells)} values, but {width} were expected.")
    try:
        row = [float(cell) for cell in cells]
    except ValueError:
        raise InputError(f"{path}, line {at}: not all values are numbers: {line[:80]!r}.") from None
    if not np.isfinite(row).all():
        raise InputError(f"{path}, line {at}: missing or infinite values: {line[:80]!r}.")
    return row
