"""Files of margins, told apart from tables of rows."""

from __future__ import annotations

import csv
import io
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..files.writing import as_written, inert
from ..show.notes import Note
from .build import at_points, built, number_of
from .cells import Brackets, Cells, CrossTable, Margin, Moments
from .margins import Margins


def is_margins_file(path: Any) -> bool:
    """Tell whether a file is JSON, or a table whose header is that of margins."""
    place = Path(str(path))
    if place.suffix.lower() == ".json":
        return True
    try:
        with place.open("rb") as file:
            head = file.readline(1000).decode("utf-8-sig", errors="replace")
    except OSError:
        return False
    names = {name.strip().strip('"') for name in head.split(",")}
    return "column" in names and bool(names & _NUMBER) and bool(names & {"lower", "category"})


def read_margins(path: Any) -> Margins:
    """Read a file of margins of either kind."""
    is_json = Path(str(path)).suffix.lower() == ".json"
    return Margins.from_json(path) if is_json else Margins.from_csv(path)


# Margins as a tidy table: one line is one cell.


_PLAIN = ["column", "lower", "upper", "category", "share"]
_NUMBER = {"share", "count"}  # the number of a cell stands under one of these names
_MORE = ["closed", "mean", "sd", "column2", "lower2", "upper2", "category2"]


def read_csv(path: Any) -> tuple[dict[Any, Any], frozenset[str], frozenset[str]]:
    """Return the dictionary that `Margins` takes, which columns are closed to the right, and which
    of these hold single values.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeError:
        raise InputError(f"{path} is not text in UTF-8. Save it so.") from None
    lines = csv.DictReader(io.StringIO(text))
    names = [name.strip() for name in lines.fieldnames or []]
    if "share" not in names:
        names = ["share" if name == "count" else name for name in names]
    lines.fieldnames = names
    if not {"column", "share"} <= set(names) | ({"share"} if "mean" in names else set()):
        raise InputError(
            f"{path} has the columns {', '.join(map(repr, names))}. Margins need "
            f"{', '.join(_PLAIN)} (or count): one line for each cell."
        )
    strange = [name for name in names if name not in (*_PLAIN, *_MORE)]
    if strange:
        raise InputError(
            f"{path} has columns that margins do not have: {', '.join(map(repr, strange))}. They "
            f"have {', '.join([*_PLAIN, *_MORE])}."
        )
    found: dict[Any, Any] = {}
    right: set[str] = set()
    points: set[str] = set()
    for line in lines:
        words = {name: line[name] or "" for name in names}
        number = lines.line_num - sum(word.count("\n") for word in words.values())
        cells = {name: as_written(word.strip()) for name, word in words.items()}
        if cells.get("closed") == "point":
            points.add(cells.get("column", ""))
            cells["closed"] = "right"
        _add(cells, f"{path}, line {number}", found, right)
    return found, frozenset(right), frozenset(points)


def csv_text(margins: Any) -> str:
    """Return the text of a file; only the columns that are needed."""
    lines: list[dict[str, Any]] = []
    _refuse_blanks(margins)
    for name, part in margins.single.items():
        lines += _lines(name, part)
    for table in margins.tables:
        keys = product(*map(cell_keys, table.cells))
        for (a, b), share in zip(keys, table.share.ravel().tolist(), strict=True):
            first = _cell(table.cells[0], a, "", table.columns[0])
            second = _cell(table.cells[1], b, "2", table.columns[1])
            lines.append({**second, **first, "share": share})
    used = [name for name in _MORE if any(line.get(name) not in (None, "") for line in lines)]
    out = io.StringIO()
    writer = csv.DictWriter(out, [*_PLAIN, *used], lineterminator="\n", restval="")
    writer.writeheader()
    kept = {*_PLAIN, *used}
    writer.writerows({k: inert(v) for k, v in line.items() if k in kept} for line in lines)
    return out.getvalue()


def _refuse_blanks(margins: Any) -> None:
    """Refuse what a table in text does not keep: `read_csv` drops blanks around a cell."""
    for name in margins.columns:
        cells = [margins.single[name].cells] if isinstance(margins.single.get(name), Margin) else []
        cells += [t.cells[t.columns.index(name)] for t in margins.tables if name in t.columns]
        levels = [level for part in cells for level in getattr(part, "levels", ())]
        odd = not all(map(_is_unicode, [name, *levels]))
        if not all([*levels, name]) or name != name.strip() or odd:
            what = "a category without a name" if name else "no name"
            what = "blanks at the ends of its name" if name != name.strip() else what
            what = "characters that Unicode does not have" if odd else what
            raise InputError(
                f"The column {name!r} has {what}, which a CSV file does not keep. Rename it, or "
                "write a JSON file."
            )


def _lines(name: str, part: Margin | Moments) -> list[dict[str, Any]]:
    if isinstance(part, Moments):
        return [{"column": name, "mean": part.mean, "sd": "" if part.sd is None else part.sd}]
    pairs = zip(cell_keys(part.cells), part.share.tolist(), strict=True)
    cells = ((_cell(part.cells, key, "", name, alone=True), share) for key, share in pairs)
    return [{**cell, "share": share} for cell, share in cells]


def _cell(cells: Any, key: Any, suffix: str, name: str, *, alone: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {f"column{suffix}": name}
    if isinstance(cells, Brackets):
        low, high = ("" if end is None else end for end in key)
        found |= {f"lower{suffix}": low, f"upper{suffix}": high}
        if not cells.right:
            return found
        return found | {"closed": "point" if cells.points and alone else "right"}
    return found | {f"category{suffix}": key}


def _add(cells: dict[str, str], title: str, found: dict[Any, Any], right: set[str]) -> None:
    """Add one line to the dictionary."""
    name, other = cells["column"], cells.get("column2", "")
    if not name:
        raise InputError(f"{title}: the cell has no column.")
    if cells.get("mean"):
        if name in found:
            raise InputError(f"{title}: the column {name!r} has a margin already.")
        parts = {key: number_of(cells[key], title) for key in ("mean", "sd") if cells.get(key)}
        found[name] = parts
        return
    key: Any = _key(cells, "", title)
    place: Any = name
    if other:
        key, place = (key, _key(cells, "2", title)), (name, other)
    if cells.get("closed") == "right":
        sides = [(cells, "", name), *([(cells, "2", other)] if other else [])]
        right |= {column for row, suffix, column in sides if not row.get(f"category{suffix}")}
    cell = found.setdefault(place, {})
    if key in cell:
        raise InputError(f"{title}: the cell {key!r} of {place!r} is there twice.")
    share = cells["share"]
    cell[key] = number_of(share.removesuffix("%").strip(), title)


def _key(cells: dict[str, str], suffix: str, title: str) -> Any:
    level = cells.get(f"category{suffix}", "")
    ends = [cells.get(f"{end}{suffix}", "") for end in ("lower", "upper")]
    if level and any(ends):
        raise InputError(f"{title}: a cell is a bracket or a category, not both.")
    if level:
        return level
    if not any(ends):
        raise InputError(f"{title}: the cell has neither ends nor a category.")
    low, high = (number_of(end, title) if end else None for end in ends)
    return low, high


# Margins as JSON: the same words as in the dictionary, with lists where it has tuples.


FORMAT = "covshift margins"


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
        return json.loads(Path(path).read_text(encoding="utf-8"))
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
    if not isinstance(data, dict) or data.get("format") != FORMAT:
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
        return {"brackets": [[*key, share] for key, share in keys], **closed}
    return {"categories": [[key, share] for key, share in keys]}


def _table(table: CrossTable) -> dict[str, Any]:
    pairs = product(*map(cell_keys, table.cells))
    cells = [
        [a, b, share] for (a, b), share in zip(pairs, table.share.ravel().tolist(), strict=True)
    ]
    closed = ["right" if getattr(side, "right", False) else "left" for side in table.cells]
    return {"columns": list(table.columns), "closed": closed, "cells": cells}


def cell_keys(cells: Cells) -> list[Any]:
    """Return what names each cell: [lower, upper] with None for an open end, or the level."""
    if not isinstance(cells, Brackets):
        return list(cells.levels)
    ends = zip(cells.lower.tolist(), cells.upper.tolist(), strict=True)
    return [[_end(end) for end in pair] for pair in ends]


def _end(end: float) -> float | None:
    if np.isinf(end):
        return None
    return int(end) if end.is_integer() and abs(end) < 1e15 else end


def _given(part: dict[str, Any]) -> dict[Any, Any]:
    if "brackets" in part:
        return {(low, high): share for low, high, share in part["brackets"]}
    if "categories" in part:
        return dict(part["categories"])
    return part


def _json_key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
