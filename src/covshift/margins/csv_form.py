"""Margins as a tidy table: one line is one cell."""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path
from typing import Any

from .._spreadsheet import as_written, inert
from ..exceptions import InputError
from .brackets import number_of
from .cells import Brackets
from .json_form import cell_keys
from .kinds import Margin, Moments

_PLAIN = ["column", "lower", "upper", "category", "share"]
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
    lines.fieldnames = names
    if not {"column", "share"} <= set(names) | ({"share"} if "mean" in names else set()):
        raise InputError(
            f"{path} has the columns {', '.join(map(repr, names))}. Margins need "
            f"{', '.join(_PLAIN)}: one line for each cell."
        )
    strange = [name for name in names if name not in (*_PLAIN, *_MORE)]
    if strange:
        raise InputError(
            f"{path} has columns that margins do not know: {', '.join(map(repr, strange))}. They "
            f"know {', '.join([*_PLAIN, *_MORE])}."
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
