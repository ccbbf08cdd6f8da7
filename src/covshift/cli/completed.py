"""Options completed: by what was decided about columns, and by a schema file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from .columns import roles_of
from .options import Columns

if TYPE_CHECKING:
    from ..encoding.decisions import Decision

C = TypeVar("C", bound=Columns)
_FIELDS = {"category": "categorical", "number": "numeric", "drop-unlabelled": "drop_unlabelled"}


def with_decisions(options: C, decisions: Sequence[Decision]) -> C:
    """Take what was decided about columns as if it were options."""
    more: dict[str, Any] = {}
    for one in decisions:
        for kind, value in one.taken.steps:
            name = _FIELDS.get(kind, kind)
            named = f"{one.column}={value}" if kind in ("missing", "date") else one.column
            before = more.get(name, vars(options)[name])
            if isinstance(before, bool):
                more[name] = True
            elif isinstance(before, tuple):
                more[name] = before if named in before else (*before, named)
            else:
                more[name] = value or named
    return replace(options, **more)


def with_schema(options: C) -> C:
    """Take what the options do not say from the schema file."""
    if options.schema is not None:
        options = _completed(options, options.schema)
    return options


def _completed(options: C, path: str) -> C:
    from ..files.reading import named_dates, named_levels
    from ..files.schema import read_schema

    schema = read_schema(path)
    roles = roles_of(options).values()
    told = {*named_dates(options.date), *named_levels(options.ordered), *chain(*roles)}
    told |= {*options.numeric, *options.categorical, *options.drop, *options.keep}
    values = vars(options)
    more: dict[str, Any] = {"known_reading": schema.reading}
    dropped = []
    for name, part in schema.columns.items():
        taken = _taken(options, part.role, name)
        more |= taken or {}
        dropped += [name] if taken is None and name not in told else []
    columns = {name: part for name, part in schema.columns.items() if name not in told}
    more |= {"known": replace(schema, columns=columns), "drop": (*options.drop, *dropped)}
    if values.get("task", "") is None:
        more["task"] = schema.task
    if "drop_unlabelled" in values:
        more["drop_unlabelled"] = values["drop_unlabelled"] or schema.drop_unlabelled
    return replace(options, **more)


def _taken(options: Columns, role: str, name: str) -> dict[str, Any] | None:
    """Give a column the role of the schema; None where the command lacks or has another."""
    if role == "feature":
        return {}
    role = "outcome" if role == "label" and "outcome" in vars(options) else role
    now = vars(options).get(role, "")
    if isinstance(now, tuple):
        return {role: now or (name,)} if name in (now or (name,)) else None
    return {role: name} if now in (None, name) else None
