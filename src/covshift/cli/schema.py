"""``covshift schema``: what each column is taken as, in a file that later runs use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from . import console
from .completed import with_decisions
from .frames import read_files
from .options import KindOfLabel, Label, Output

if TYPE_CHECKING:
    from ..data import Samples
    from ..encoding.decisions import Decision
    from ..files.schema import SchemaColumn
    from .frames import Files

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
    from .labels import labelled_samples

    options.check_output(options.output)
    alone = options.target is None and options.target_sheet is None
    given = replace(options, target=options.target or options.train)
    files, task = read_files(given, alone=alone), None
    if options.label is not None:
        samples = labelled_samples(files)
        files, both, task = samples.files, samples.both, samples.labels.task
    else:
        files, both = files.samples()
    found = replace(with_decisions(options, files.decisions), id=files.id)
    reading = found.reading()
    usual = reading.missing == frozenset(MISSING)
    decided = {decision.column: decision for decision in files.decisions}
    schema = Schema(
        {
            name: _column(name, files, both, found, decided.get(name), options.id)
            for name in files.sample.column_names
        },
        None if usual else tuple(sorted(reading.missing - {""})),
        reading.decimal,
        reading.thousands,
        task,
        found.drop_unlabelled,
    )
    console.emit(schema_text(schema), options.output)
    return 0


def _column(
    name: str,
    files: Files,
    both: Samples,
    options: Arguments,
    decided: Decision | None,
    id: str | None,
) -> SchemaColumn:
    from ..files.schema import SchemaColumn

    reading = options.reading()
    missing = tuple(sorted(reading.missing_in.get(name, ())))
    why = "" if decided is None else f"{decided.why}; {decided.taken.means}"
    if name == options.label:
        return SchemaColumn("label", missing=missing, why=why)
    if name == files.id:
        return SchemaColumn("id", why=why or "different in every row" * (id is None))
    weights = {files.roles[role][0]: role for role in _WEIGHTS if role in files.roles}
    if name in weights:
        return SchemaColumn(weights[name], missing=missing)
    assert both.encoder is not None
    feature = next((rule for rule in both.encoder.features_ if rule.name == name), None)
    if feature is None:
        there = name in files.target.column_names
        same = "never varies, or says what another column says"
        left_out = both.left_out.get(name, same if there else f"not in {files.titles[1]}")
        return SchemaColumn("dropped", why=why or left_out * (name not in options.drop))
    kind: str | None = "date" if feature.kind == "season" else feature.kind
    if feature.spelling:  # amounts such as $1,012, which are found out again
        kind = None
    levels = feature.levels if kind == "ordered" else ()
    form = reading.dates.get(name)
    return SchemaColumn("feature", kind, form, levels, missing, why)
