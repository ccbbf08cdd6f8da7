"""``covshift schema``: what each column is taken as, in a file that later runs use."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from . import console, options

if TYPE_CHECKING:
    from ..files.questions import Question
    from ..files.samples import TwoFiles
    from ..files.schema import Schema, SchemaColumn

_OPTIONS = {"number": "numeric", "category": "categorical", "date": "date"}
_WEIGHTS = ("weight", "target_weight", "frequency", "target_frequency")
_OTHER_ROLES = (
    *("by", "strata", "cluster", "denominator", "score", "prediction", "batch", "target_label"),
    "trained_on",
)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "schema",
        "Write a TOML file that says what each column is: edit it, and give it to other commands "
        "with --schema. Where a column could be read in two ways the safest is written, with the "
        "doubt beside it.",
    )
    group = options.add_samples(parser, label="optional", target="?")
    options.add_label(group)
    options.add_output(parser, what="schema (TOML)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the tables, answer what is doubtful, and write down what was taken."""
    from ..files.schema import schema_text

    options.check_output(args)
    alone = args.target is None and args.target_sheet is None
    args.target = args.target or args.train
    samples = options.samples_of(args, alone=alone)
    text = schema_text(schema_of(samples, args))
    console.emit(text, args.output)
    return 0


def schema_of(samples: TwoFiles, args: argparse.Namespace) -> Schema:
    """Return what the columns of the training file were taken as."""
    from ..files.reading import MISSING
    from ..files.schema import Schema

    reading = options.read_options_of(args)
    asked = {question.column: question for question in getattr(args, "asked", ())}
    columns = {
        name: _column(name, samples, args, reading, asked.get(name)) for name in samples.columns
    }
    usual = reading.missing == frozenset(MISSING)
    return Schema(
        columns,
        None if usual else tuple(sorted(reading.missing - {""})),
        reading.decimal,
        reading.thousands,
        None if samples.labels is None else samples.labels.task,
        args.drop_unlabelled,
    )


def _column(
    name: str, samples: TwoFiles, args: argparse.Namespace, reading: Any, asked: Question | None
) -> SchemaColumn:
    from ..files.schema import KINDS, SchemaColumn

    missing = tuple(sorted(reading.missing_in.get(name, ())))
    why = "" if asked is None else f"{asked.doubt}; {asked.safest.means}"
    if name == args.label:
        return SchemaColumn("label", missing=missing, why=why)
    if name == samples.id_name:
        said = "--id" in args.argv or f"--id={name}" in args.argv
        return SchemaColumn("id", why=why or "different in every row" * (not said))
    for role in _WEIGHTS:
        if name == getattr(args, role):
            return SchemaColumn(role, missing=missing)
    if name not in samples.encoding.names:
        left_out = "" if name in args.drop else samples.left_out.get(name, "")
        return SchemaColumn("dropped", why=why or left_out)
    column = samples.columns[name]
    kind = column.kind if column.kind in KINDS else "category"
    levels = column.levels if kind == "ordered" else ()
    return SchemaColumn("feature", kind, levels, reading.dates.get(name), missing, why)


def apply_schema(args: argparse.Namespace) -> None:
    """Take what the command line does not say from the schema file."""
    from ..files.schema import read_schema

    schema = read_schema(args.schema)
    told = _told(args)
    args.schema_columns = [name for name in schema.columns if name not in told]
    args.known_reading = schema.reading
    dropped = [name for name, part in schema.columns.items() if part.role == "dropped"]
    for name, part in schema.columns.items():
        if part.role not in ("feature", "dropped") and not _take_role(args, part.role, name):
            dropped.append(name)
    args.drop = [*args.drop, *(name for name in dropped if name not in _told(args))]
    for kind, option in _OPTIONS.items():
        names = [name for name in schema.of_kind(kind) if name not in told]
        setattr(args, option, [*getattr(args, option), *names])
    args.known_levels = {
        name: schema.columns[name].levels for name in schema.of_kind("ordered") if name not in told
    }
    args.known_booleans = [name for name in schema.of_kind("boolean") if name not in told]
    if getattr(args, "task", "none") is None:
        args.task = schema.task
    if hasattr(args, "drop_unlabelled"):
        args.drop_unlabelled = args.drop_unlabelled or schema.drop_unlabelled


def _told(args: argparse.Namespace) -> set[str]:
    """Columns that the command line says something about."""
    from ..files.reading import named_dates, named_levels

    roles = ("label", "id", *_WEIGHTS, *_OTHER_ROLES)
    found = (getattr(args, role, None) for role in roles)
    named: set[str] = {name for name in found if name is not None}
    named |= {*args.numeric, *args.categorical, *named_dates(args.date), *args.drop, *args.keep}
    return named | {*named_levels(args.ordered), *(getattr(args, "outcome", None) or ())}


def _take_role(args: argparse.Namespace, role: str, name: str) -> bool:
    """Let a column have the role of the schema; False where the command lacks or has another."""
    if role == "label" and hasattr(args, "outcome"):
        args.outcome = args.outcome or [name]
        return name in args.outcome
    if not hasattr(args, role):
        return False
    if getattr(args, role) is None:
        setattr(args, role, name)
    return bool(getattr(args, role) == name)
