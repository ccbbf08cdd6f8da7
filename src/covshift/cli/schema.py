"""``covshift schema``: what each column is taken as, in a file that later runs use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import console
from .options import KindOfLabel, Label, Output
from .samples import samples_of

if TYPE_CHECKING:
    from ..encoding.decisions import Decision
    from ..files.samples import TwoFiles
    from ..files.schema import SchemaColumn

_WEIGHTS = ("weight", "target_weight", "frequency", "target_frequency")


@dataclass(frozen=True, kw_only=True)
class Arguments(KindOfLabel, Label, Output):
    """Write a TOML file that says what each column is: edit it, and give it to other commands with
    --schema. Where a column could be read in two ways the safest is written, with the doubt beside
    it.

    Arguments:
      [target]  sample of the target population, in the same formats

    Output:
      -o, --output FILE  write the schema (TOML) to FILE
    """

    target: str | None = None  # type: ignore[assignment]
    output: str | None = None


def run(options: Arguments) -> int:
    """Read the tables, decide what is doubtful, and write down what was taken."""
    from ..files.reading import MISSING
    from ..files.schema import Schema, schema_text

    options.check_output(options.output)
    alone = options.target is None and options.target_sheet is None
    found, samples = samples_of(
        replace(options, target=options.target or options.train), alone=alone
    )
    found = replace(found, id=options.id or samples.id_name)
    reading = found.reading()
    usual = reading.missing == frozenset(MISSING)
    decided = {decision.column: decision for decision in found.decided}
    schema = Schema(
        {
            name: _column(name, samples, found, reading, decided.get(name), options.id)
            for name in samples.columns
        },
        None if usual else tuple(sorted(reading.missing - {""})),
        reading.decimal,
        reading.thousands,
        None if samples.labels is None else samples.labels.task,
        found.drop_unlabelled,
    )
    console.emit(schema_text(schema), options.output)
    return 0


def _column(
    name: str,
    samples: TwoFiles,
    options: Arguments,
    reading: Any,
    decided: Decision | None,
    id: str | None,
) -> SchemaColumn:
    from ..files.schema import SchemaColumn

    missing = tuple(sorted(reading.missing_in.get(name, ())))
    why = "" if decided is None else f"{decided.why}; {decided.taken.means}"
    if name == options.label:
        return SchemaColumn("label", missing=missing, why=why)
    if name == samples.id_name:
        return SchemaColumn("id", why=why or "different in every row" * (id is None))
    for role in _WEIGHTS:
        if name == getattr(options, role):
            return SchemaColumn(role, missing=missing)
    if name not in samples.encoding.names:
        left_out = "" if name in options.drop else samples.left_out.get(name, "")
        return SchemaColumn("dropped", why=why or left_out)
    feature = next(rule for rule in samples.encoding.features if rule.name == name)
    kind: str | None = "date" if feature.kind == "season" else feature.kind
    if feature.spelling:  # amounts such as $1,012, which are found out again
        kind = None
    levels = feature.levels if kind == "ordered" else ()
    form = reading.dates.get(name)
    return SchemaColumn("feature", kind, form, levels, missing, why)
