"""Columns that could be read in two ways are refused, with the options that say what they are."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..exceptions import InputError
from .columns import Doubt
from .encoding import ADVICE, count_missing, incomplete
from .table import Table

MOST_LEVELS = 1000
_CODE_WORDS = re.compile(
    r"(?:^|[^a-z])(?:codes?|zip|zipcode|postcode|postal|category|cat|type|class|region|state|county|"
    r"country|district|group|gender|sex|race|ethnicity|occupation|industry|icd|iso|naics|sic|fips)"
    r"(?:$|[^a-z])"
)
_COUNTED = 20  # rows from which consecutive whole numbers are no accident
_SENTINELS = {9.0, 88.0, 98.0, 99.0, 888.0, 998.0, 999.0, 8888.0, 9998.0, 9999.0}
_PLURAL = {
    "number": "numbers",
    "boolean": "booleans",
    "category": "text",
    "ordered": "ordered categories",
    "date": "dates",
    "text": "text",
}


def refuse_doubtful(train: Table, target: Table, names: list[str]) -> None:
    """Refuse columns of mixed, empty or different kinds."""
    for table in (train, target):
        for name in names:
            column = table.columns[name]
            if column.doubt is not None:
                remedy = f"{column.doubt.remedy}, " * bool(column.doubt.remedy)
                number = f"--numeric {name!r}, " * (column.kind == "number")
                raise InputError(
                    f"{table.title}: column {name!r} {column.doubt.text}. Say what it is: "
                    f"{number}{remedy}--categorical {name!r} or --drop {name!r}"
                    f"{_if_missing(column.doubt)}."
                )
    for name in names:
        kinds = [table.columns[name].kind for table in (train, target)]
        empty = [count_missing(t.columns[name])[0] == len(t) for t in (train, target)]
        for table, nothing in zip((train, target), empty, strict=True):
            if nothing:
                raise InputError(
                    f"{table.title}: column {name!r} has no values at all. Leave it out with "
                    f"--drop {name!r}."
                )
        if kinds[0] != kinds[1]:
            raise InputError(
                f"Column {name!r} holds {_PLURAL[kinds[0]]} in {train.title}, but "
                f"{_PLURAL[kinds[1]]} in {target.title}. Make them alike, or use --categorical "
                f"{name!r} or --drop {name!r}."
            )


def _if_missing(doubt: Doubt) -> str:
    if doubt.kind != "mixed":
        return ""
    return f"; if {doubt.example!r} stands for a missing value: --missing {doubt.example!r}"


def refuse_codes(train: Table, names: list[str], numeric: Sequence[str]) -> None:
    """Refuse whole numbers that are codes to all appearance: by name, or by a sentinel like 999."""
    for name in names:
        column = train.columns[name]
        if column.kind != "number" or name in numeric:
            continue
        levels = np.unique(column.values[np.isfinite(column.values)])
        if not 2 < len(levels) <= MOST_LEVELS or (np.mod(levels, 1) != 0).any():
            continue
        words = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()
        rest = levels[:-1]
        sentinel = levels[-1] in _SENTINELS and levels[-1] > 3 * max(rest.max(), 1) - 1e-9
        if _CODE_WORDS.search(words) or sentinel:
            why = (
                f"{levels[-1]:g} far above the rest, as codes for missing values have it"
                if sentinel
                else "a name that codes have"
            )
            remedy = f" or --missing {levels[-1]:g}" if sentinel else ""
            raise InputError(
                f"{train.title}: column {name!r} holds {len(levels)} different whole numbers and "
                f"has {why}. Say what it is: --categorical {name!r}, --numeric {name!r}{remedy}."
            )


def refuse_row_numbers(train: Table, names: list[str], numeric: Sequence[str]) -> None:
    """Refuse a column that counts the rows: as a feature it tells any two samples apart."""
    for name in names:
        column = train.columns[name]
        if column.kind != "number" or name in numeric or len(column) < _COUNTED:
            continue
        values = column.values
        if np.isfinite(values).all() and (np.diff(np.sort(values)) == 1).all():
            raise InputError(
                f"{train.title}: column {name!r} numbers the rows, from {values.min():g} to "
                f"{values.max():g}. Say what it is: --id {name!r} keeps it beside the results, "
                f"--drop {name!r} leaves it out, --numeric {name!r} takes it as a feature."
            )


def refuse_missing(train: Table, target: Table, names: list[str], impute: bool) -> None:
    """Refuse missing values, unless they are to be filled in."""
    if impute:
        return
    problems = []
    for table in (train, target):
        found = incomplete({name: table.columns[name] for name in names})
        if found:
            problems.append(f"{table.title}: {found}.")
    if problems:
        raise InputError(" ".join(problems) + f" {ADVICE}")
