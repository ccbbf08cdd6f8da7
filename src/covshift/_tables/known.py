"""How cells were read before, as model and schema files keep it: missing values, marks, dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..exceptions import InputError
from .reading import MISSING, ReadOptions

_MARKS = {"decimal": (".", ","), "thousands": (",", ".", "'", " ")}


def reading_of(options: ReadOptions) -> dict[str, Any]:
    """Return what later files share with this one, as plain data; separators and encodings do not.

    >>> reading_of(ReadOptions(missing_in={"age": frozenset({"999"})}, decimal=","))
    {'decimal': ',', 'missing_in': {'age': ['999']}}
    """
    found: dict[str, Any] = {}
    if options.missing != frozenset(MISSING):
        found["missing"] = sorted(options.missing)
    for mark in _MARKS:
        if getattr(options, mark) is not None:
            found[mark] = getattr(options, mark)
    if options.missing_in:
        found["missing_in"] = {name: sorted(words) for name, words in options.missing_in.items()}
    if options.dates:
        found["dates"] = dict(options.dates)
    return found


def read_options_with(said: ReadOptions, known: Mapping[str, Any], *, told: bool) -> ReadOptions:
    """Return options with what a file knows where the user said nothing.

    ``told`` says that the user named values that are missing in all columns.
    """
    found = replace(said, dates={**known.get("dates", {}), **said.dates})
    for mark in _MARKS:
        if getattr(said, mark) is None and mark in known:
            found = replace(found, **{mark: known[mark]})
    if not told and "missing" in known:
        found = replace(found, missing=frozenset(known["missing"]))
    own = {name: frozenset(words) for name, words in known.get("missing_in", {}).items()}
    return replace(found, missing_in={**own, **said.missing_in})


def checked_reading(data: Any) -> dict[str, Any]:
    """Return plain data that `reading_of` may have written; all else is refused."""
    if not isinstance(data, dict) or not data.keys() <= {"missing", "missing_in", *_MARKS, "dates"}:
        raise InputError("a way to read cells that is unknown")
    if any(data[mark] not in known for mark, known in _MARKS.items() if mark in data):
        raise InputError("a decimal mark or one between thousands that is unknown")
    in_columns, dates = data.get("missing_in", {}), data.get("dates", {})
    lists = [data.get("missing", []), *in_columns.values(), list(dates.values())]
    if not all(isinstance(part, list) for part in lists):
        raise InputError("a list of words that is none")
    if not all(isinstance(text, str) for part in lists for text in part):
        raise InputError("a way to read cells that is not text")
    return dict(data)
