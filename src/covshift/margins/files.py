"""Files of margins, told apart from tables of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    return {"column", "share"} <= names and bool(names & {"lower", "category"})


def read_margins(path: Any) -> Margins:
    """Read a file of margins of either kind."""
    is_json = Path(str(path)).suffix.lower() == ".json"
    return Margins.from_json(path) if is_json else Margins.from_csv(path)
