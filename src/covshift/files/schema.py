"""Schema files: what each column of a table is taken as, in TOML, to be read again and edited."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from ..exceptions import InputError

ROLES = (
    *("feature", "label", "id", "weight", "target_weight", "frequency", "target_frequency"),
    "dropped",
)
KINDS = ("number", "boolean", "category", "ordered", "date")
_TASKS = ("classification", "regression")
_HEAD = f"""\
# What covshift takes each column as. Edit it, and use it with --schema; options win over it.
# role: {", ".join(ROLES)}
# kind of a feature: {", ".join(KINDS)} (ordered has levels, lowest first;
# date may have a format such as "%d.%m.%Y", and ISO dates need none)
"""
Wrong = Callable[[str | None, str], InputError]
"""Makes the error about a key."""

P = TypeVar("P", "SchemaColumn", "Schema")


@dataclass(frozen=True)
class SchemaColumn:
    """One column: its role, and for a feature its kind."""

    role: str = "feature"
    kind: str | None = None
    format: str | None = None  # of dates that are not ISO dates
    levels: tuple[str, ...] = ()  # of ordered categories, lowest first
    missing: tuple[str, ...] = ()  # values that stand for missing ones
    why: str = field(default="", metadata={"comment": True})


@dataclass(frozen=True)
class Schema:
    """Columns by name, and how cells are read."""

    columns: Mapping[str, SchemaColumn]
    missing: tuple[str, ...] | None = None  # in all columns, besides the empty cell
    decimal: str | None = None
    thousands: str | None = None
    task: str | None = None
    drop_unlabelled: bool = False

    @property
    def reading(self) -> dict[str, Any]:
        """How cells are read, as model files keep it."""
        found = {
            "missing": None if self.missing is None else ["", *self.missing],
            "decimal": self.decimal,
            "thousands": self.thousands,
            "missing_in": {n: [*part.missing] for n, part in self.columns.items() if part.missing},
            "dates": {n: part.format for n, part in self.columns.items() if part.format},
        }
        return {name: value for name, value in found.items() if value}

    def of_kind(self, kind: str) -> list[str]:
        """Names of the features of one kind."""
        pairs = self.columns.items()
        return [n for n, part in pairs if part.role == "feature" and part.kind == kind]


def schema_text(schema: Schema) -> str:
    """Write a schema as TOML, with comments.

    >>> print(schema_text(Schema({"age": SchemaColumn(kind="number")})).splitlines()[-2:])
    ['[columns.age]', 'kind = "number"']
    """
    lines = [_HEAD, *_lines_of(schema)]
    for name, part in schema.columns.items():
        why = "".join(letter if letter.isprintable() else " " for letter in part.why)
        key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)
        lines += ["", *[f"# {why}"] * bool(why), f"[columns.{key}]", *_lines_of(part)]
    return "\n".join(lines) + "\n"


def _lines_of(part: Schema | SchemaColumn) -> list[str]:
    """Write what is not as by default."""
    own = [one for one in _keys(type(part)) if one.name != "columns"]
    pairs = (
        (one.name, getattr(part, one.name)) for one in own if getattr(part, one.name) != one.default
    )
    return [f"{name} = {_written(value)}" for name, value in pairs]


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_quoted, value)) + "]"
    return "true" if value is True else _quoted(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_schema(path: str) -> Schema:
    """Read a schema file; an `InputError` names the line that is wrong."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist. Make it with covshift schema.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (UnicodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(
            f"{path} is not a schema file: {error}. covshift schema writes one."
        ) from None

    def of(name: str | None) -> Wrong:
        def wrong(key: str | None, what: str) -> InputError:
            line = _line_of(text, name, key)
            return InputError(f"{path}{'' if line is None else f', line {line}'}: {what}.")

        return wrong

    whole = _made(Schema, data, of(None))
    if not isinstance(whole.columns, dict) or not whole.columns:
        raise of(None)("columns", "it has no [columns.NAME]")
    if whole.task not in (None, *_TASKS):
        raise of(None)("task", f"the task {whole.task!r} is unknown; use {' or '.join(_TASKS)}")
    columns: dict[str, SchemaColumn] = {}
    for name, part in whole.columns.items():
        columns[name] = _column(name, part, of(name))
        role = columns[name].role
        others = [other for other, part in columns.items() if part.role == role != "feature"]
        if len(others) > 1 and role != "dropped":
            raise of(name)("role", f"{others[0]!r} and {name!r} both have the role {role}")
    return Schema(columns, *(getattr(whole, one.name) for one in fields(Schema)[1:]))


def _column(name: str, data: Any, wrong: Wrong) -> SchemaColumn:
    if not isinstance(data, dict):
        raise wrong(None, f"column {name!r} is not a table of role and kind")
    part = _made(SchemaColumn, data, wrong)
    for key, known in (("role", ROLES), ("kind", (None, *KINDS))):
        value = getattr(part, key)
        if value not in known:
            use = ", ".join(filter(None, known))
            raise wrong(key, f"column {name!r} has the unknown {key} {value!r}; use {use}")
    if part.kind == "ordered" and (len(part.levels) < 2 or len({*part.levels}) < len(part.levels)):
        raise wrong("levels", f"column {name!r} is ordered and needs two or more different levels")
    return part


def _keys(part: type[Any]) -> list[Any]:
    return [one for one in fields(part) if not one.metadata]


def _made(part: type[P], data: Mapping[str, Any], wrong: Wrong) -> P:
    """Return the values of a table of TOML, each of the type of its field."""
    types = {one.name: one.type for one in _keys(part)}
    found: dict[str, Any] = {"columns": {}} if part is Schema else {}
    for key, value in data.items():
        if key not in types:
            raise wrong(key, f"{key!r} is unknown; use {', '.join(types)}")
        if types[key].startswith("str") and not isinstance(value, str):
            raise wrong(key, f"{key} must be text in quotes, not {value!r}")
        if types[key].startswith("tuple") and not isinstance(value, list):
            raise wrong(key, f"{key} must be a list, as in {key} = ['a', 'b']")
        if types[key].startswith("tuple"):
            value = tuple(f"{v:g}" if isinstance(v, float) else str(v) for v in value)
        found[key] = value is True if types[key] == "bool" else value
    return part(**found)


def _line_of(text: str, name: str | None, key: str | None) -> int | None:
    """Find the line of a key of a column; of the column where it has no such key."""
    section, found = None, None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            section = _section(stripped)
            found = number if section == name and name is not None else found
        elif section == name and key is not None and re.match(rf"{re.escape(key)}\s*=", stripped):
            return number
    return found


def _section(line: str) -> str | None:
    try:
        return next(iter(tomllib.loads(line).get("columns", {})), None)
    except tomllib.TOMLDecodeError:
        return None
