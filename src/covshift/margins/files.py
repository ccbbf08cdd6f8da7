"""Files of margins: JSON, with the words of the dictionary, and lists where it has tuples."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..show.notes import Note
from .build import at_points, built
from .cells import MISSING, Brackets, Cells, CrossTable, Margin, Moments

FORMAT = "covshift margins"
_TABLES = (".csv", ".tsv", ".parquet", ".xlsx", ".arrow", ".feather", ".dta", ".sav", ".gz")


def is_margins_file(path: Any) -> bool:
    """Tell margins from a table of rows, which may be JSON as well."""
    place = Path(str(path))
    if place.suffix.lower() in _TABLES or not place.is_file():  # a pipe can be read once
        return False
    return _margins_in(str(place), _stamp(place)) is not None


def _stamp(path: Any) -> tuple[int, ...]:
    about = os.stat(path)
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


@lru_cache(maxsize=4)
def _margins_in(path: str, stamp: tuple[int, ...]) -> dict[str, Any] | None:
    """Return the margins of a file, which is opened once; another ``stamp`` is another file."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if not head.lstrip().startswith(b"{"):
                return None
            data = json.loads(head + file.read())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    known = data.get("format") == FORMAT or isinstance(data.get("columns"), dict)
    return data if known else None


def json_text(margins: Any) -> str:
    """Return the text of a file."""
    text = json.dumps(to_data(margins), indent=1, ensure_ascii=False)
    if not _is_unicode(text):
        text = json.dumps(to_data(margins), indent=1)
    return text + "\n"


def _is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold a text; half a surrogate pair is no letter."""
    return text == text.encode(errors="replace").decode()


def read_json(path: Any) -> Any:
    """Return the data of a file; an `InputError` where it is none."""
    try:
        found = _margins_in(str(path), _stamp(path))
        return found or json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise InputError(f"{path} is not a JSON file: {error}.") from None


def to_data(margins: Any) -> dict[str, Any]:
    """Return margins as plain data."""
    return {
        "format": FORMAT,
        "version": 1,
        "size": margins.size,
        "source": margins.source,
        "columns": {name: _part(part) for name, part in margins.single.items()},
        "tables": [_table(table) for table in margins.tables],
    }


def from_data(cls: Any, data: Any, title: str) -> Any:
    """Return the margins of plain data; ``title`` is where they come from."""
    if not isinstance(data, dict) or data.get("format", FORMAT) != FORMAT:
        raise InputError(
            f'{title} holds no margins: "format" must be "{FORMAT}". Write such a file with '
            "Margins.to_json or `covshift margins`."
        )
    if data.get("version", 1) != 1:
        raise InputError(f"{title} is of version {data.get('version')!r}; this covshift reads 1.")
    if not isinstance(data.get("columns", {}), dict) or not {"columns", "tables"} & set(data):
        raise InputError(
            f'{title} holds no margins: "columns" must have an entry for each column, such as '
            '"sex": {"categories": [["f", 0.51], ["m", 0.49]]}.'
        )
    data = {"columns": {}, "tables": [], **data}
    notes: list[Note] = []
    try:
        right = {name for name, part in data["columns"].items() if part.get("closed") == "right"}
        points = {name for name, part in data["columns"].items() if part.get("points") is True}
        for table in data["tables"]:
            closed = table.get("closed", [None, None])
            names = zip(table["columns"], closed, strict=True)
            right |= {name for name, side in names if side == "right"}
        given: dict[Any, Any] = {name: _given(part) for name, part in data["columns"].items()}
        for table in data["tables"]:
            given[tuple(table["columns"])] = {
                (_json_key(a), _json_key(b)): share for a, b, share in table["cells"]
            }
        size, source = data.get("size"), data.get("source", "")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{title} has another structure than margins have: {error!r}.") from None
    single, tables = built(given, notes, right=frozenset(right))
    single = at_points(single, points)
    return cls.of(single, tables, size=size, source=source, notes=notes)


def _part(part: Margin | Moments) -> dict[str, Any]:
    if isinstance(part, Moments):
        return {"mean": part.mean} if part.sd is None else {"mean": part.mean, "sd": part.sd}
    keys = zip(cell_keys(part.cells), part.share.tolist(), strict=True)
    if isinstance(part.cells, Brackets):
        closed: dict[str, Any] = {"closed": "right"} if part.cells.right else {}
        if part.cells.points:
            closed["points"] = True
        found = {"brackets": [[*key, share] for key, share in keys if key != MISSING], **closed}
        return found | ({"missing": float(part.share[-1])} if part.cells.gap else {})
    return {"categories": [[key, share] for key, share in keys]}


def _table(table: CrossTable) -> dict[str, Any]:
    pairs = product(*map(cell_keys, table.cells))
    cells = [
        [a, b, share] for (a, b), share in zip(pairs, table.share.ravel().tolist(), strict=True)
    ]
    closed = ["right" if getattr(side, "right", False) else "left" for side in table.cells]
    return {"columns": list(table.columns), "closed": closed, "cells": cells}


def cell_keys(cells: Cells) -> list[Any]:
    """Return what names each cell: [lower, upper] with None for an open end, or a word."""
    if not isinstance(cells, Brackets):
        return list(cells.levels)
    own = cells.known()
    ends = zip(own.lower.tolist(), own.upper.tolist(), strict=True)
    return [[_end(end) for end in pair] for pair in ends] + [MISSING] * cells.gap


def _end(end: float) -> float | None:
    if np.isinf(end):
        return None
    return int(end) if end.is_integer() and abs(end) < 1e15 else end


def _given(part: dict[str, Any]) -> dict[Any, Any]:
    if "brackets" in part:
        gap = {MISSING: part["missing"]} if "missing" in part else {}
        return {(low, high): share for low, high, share in part["brackets"]} | gap
    if "categories" in part:
        return dict(part["categories"])
    return part


def _json_key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
