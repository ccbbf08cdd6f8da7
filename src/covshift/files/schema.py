"""Schema files: what each column of a table is taken as, in TOML, to be read again and edited."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..exceptions import InputError

ROLES = (
    *("feature", "label", "id", "weight", "target_weight", "frequency", "target_frequency"),
    "dropped",
)
KINDS = ("number", "boolean", "category", "ordered", "date")
_TOP = ("missing", "decimal", "thousands", "task", "drop_unlabelled", "columns")
_KEYS = ("role", "kind", "levels", "format", "missing")
_HEAD = """\
# What covshift takes each column as. Edit it, and use it with --schema; options win over it.
# role: {roles}
# kind of a feature: {kinds} (ordered has levels, lowest first;
# date may have a format such as "%d.%m.%Y", and ISO dates need none)
"""


@dataclass(frozen=True)
class SchemaColumn:
    """One column: its role, and for a feature its kind."""

    role: str = "feature"
    kind: str | None = None
    levels: tuple[str, ...] = ()  # of ordered categories, lowest first
    format: str | None = None  # of dates that are not ISO dates
    missing: tuple[str, ...] = ()  # values that stand for missing ones
    why: str = ""  # a comment


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
        gaps = {name: list(part.missing) for name, part in self.columns.items() if part.missing}
        dates = {name: part.format for name, part in self.columns.items() if part.format}
        found = {
            "missing": None if self.missing is None else ["", *self.missing],
            "decimal": self.decimal,
            "thousands": self.thousands,
            "missing_in": gaps or None,
            "dates": dates or None,
        }
        return {name: value for name, value in found.items() if value is not None}

    def of_kind(self, kind: str) -> list[str]:
        """Names of the features of one kind."""
        return [
            name
            for name, part in self.columns.items()
            if part.role == "feature" and part.kind == kind
        ]


def schema_text(schema: Schema) -> str:
    """Write a schema as TOML, with comments.

    >>> print(schema_text(Schema({"age": SchemaColumn(kind="number")})).splitlines()[-2:])
    ['[columns.age]', 'kind = "number"']
    """
    lines = [_HEAD.format(roles=", ".join(ROLES), kinds=", ".join(KINDS)).rstrip("\n"), ""]
    if schema.missing is not None:
        lines.append(f"missing = {_list(schema.missing)}  # besides the empty cell")
    said = {key: getattr(schema, key) for key in ("decimal", "thousands", "task")}
    lines += [f"{key} = {_quoted(value)}" for key, value in said.items() if value is not None]
    if schema.drop_unlabelled:
        lines.append("drop_unlabelled = true")
    for name, part in schema.columns.items():
        lines += ["", f"[columns.{_key(name)}]"]
        if part.why:
            lines.insert(-1, f"# {_comment(part.why)}")
        if part.role != "feature":
            lines.append(f"role = {_quoted(part.role)}")
        for key in ("kind", "format"):
            if getattr(part, key) is not None:
                lines.append(f"{key} = {_quoted(getattr(part, key))}")
        for key in ("levels", "missing"):
            if getattr(part, key):
                lines.append(f"{key} = {_list(getattr(part, key))}")
    return "\n".join(lines) + "\n"


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
    return _Reader(path, text).schema(data)


class _Reader:
    """Checks what a file says; messages name its lines."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text

    def schema(self, data: dict[str, Any]) -> Schema:
        self._known(data, _TOP, None)
        columns = data.get("columns", {})
        if not isinstance(columns, dict) or not columns:
            raise self._wrong(None, "columns", "it has no [columns.NAME]")
        found = {name: self._column(name, part) for name, part in columns.items()}
        for role in ROLES[1:-1]:
            names = [name for name, part in found.items() if part.role == role]
            if len(names) > 1:
                text = f"{names[0]!r} and {names[1]!r} both have the role {role}"
                raise self._wrong(names[1], "role", text)
        task = self._text(data, "task", None)
        if task not in (None, "classification", "regression"):
            raise self._wrong(None, "task", f"the task {task!r} is unknown")
        return Schema(
            found,
            self._texts(data, "missing", None) if "missing" in data else None,
            self._text(data, "decimal", None),
            self._text(data, "thousands", None),
            task,
            data.get("drop_unlabelled") is True,
        )

    def _column(self, name: str, data: Any) -> SchemaColumn:
        if not isinstance(data, dict):
            raise self._wrong(name, None, f"column {name!r} is not a table of role and kind")
        self._known(data, _KEYS, name)
        role = self._text(data, "role", name) or "feature"
        kind = self._text(data, "kind", name)
        if role not in ROLES:
            text = f"column {name!r} has the unknown role {role!r}; use {', '.join(ROLES)}"
            raise self._wrong(name, "role", text)
        if kind not in (None, *KINDS):
            text = f"column {name!r} has the unknown kind {kind!r}; use {', '.join(KINDS)}"
            raise self._wrong(name, "kind", text)
        levels = self._texts(data, "levels", name)
        if kind == "ordered" and (len(levels) < 2 or len(set(levels)) < len(levels)):
            text = f"column {name!r} is ordered and needs two or more different levels"
            raise self._wrong(name, "levels", text)
        form = self._text(data, "format", name)
        return SchemaColumn(role, kind, levels, form, self._texts(data, "missing", name))

    def _known(self, data: dict[str, Any], keys: tuple[str, ...], name: str | None) -> None:
        for key in data:
            if key not in keys:
                text = f"{key!r} is unknown; use {', '.join(keys)}"
                raise self._wrong(name, key, text)

    def _text(self, data: dict[str, Any], key: str, name: str | None) -> str | None:
        value = data.get(key)
        if value is not None and not isinstance(value, str):
            raise self._wrong(name, key, f"{key} must be text in quotes, not {value!r}")
        return value

    def _texts(self, data: dict[str, Any], key: str, name: str | None) -> tuple[str, ...]:
        values = data.get(key, [])
        if not isinstance(values, list):
            raise self._wrong(name, key, f"{key} must be a list, as in {key} = ['a', 'b']")
        return tuple(f"{v:g}" if isinstance(v, float) else str(v) for v in values)

    def _wrong(self, name: str | None, key: str | None, text: str) -> InputError:
        line = _line_of(self.text, name, key)
        where = self.path if line is None else f"{self.path}, line {line}"
        return InputError(f"{where}: {text}.")


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
        columns = tomllib.loads(line).get("columns", {})
    except tomllib.TOMLDecodeError:
        return None
    return next(iter(columns), None)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(texts: tuple[str, ...]) -> str:
    return "[" + ", ".join(map(_quoted, texts)) + "]"


def _comment(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
