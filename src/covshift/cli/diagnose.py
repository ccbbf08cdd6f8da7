"""``covshift diagnose``: is there a shift, where, and can it be corrected?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..show.notes import Note
from . import console
from .options import Label, Verdict
from .targets import diagnosis_of, files_of_each, targets_of

if TYPE_CHECKING:
    from ..diagnostics import RowFlags
    from .frames import Files


@dataclass(frozen=True, kw_only=True)
class Arguments(Label, Verdict):
    """Compare the distributions of the features in two samples, or of a sample with a file of
    margins (see covshift margins). No label is needed. With several targets, such as the files of
    months, each gets one line.

    Arguments:
      more...  further targets, one line each

    Output:
      -o, --output FILE  write the result to FILE, or, where FILE ends in .csv or .tsv, one line per
        target row: whether training rows cover it, and why not
    """

    more: tuple[str, ...] = ()
    output: str | None = None


def run(options: Arguments) -> int:
    """Print the diagnosis, verdict first."""
    targets = targets_of(options)
    options = replace(options, target=targets[0])
    flags_file = str(options.output).lower().endswith((".csv", ".tsv"))
    diagnosis, notes, rows = _diagnosed(options, targets, flags_file)
    text = str(diagnosis)
    if options.json:
        data = diagnosis.to_dict()
        text = console.as_json({**data, "notes": [*notes, *data["notes"]]})
    console.emit(text, None if flags_file else options.output)
    if flags_file:
        _write_flags(str(options.output), rows)
    return options.exit_code(diagnosis.verdict)


def _diagnosed(
    options: Arguments, targets: list[str], flags: bool
) -> tuple[Any, list[Note], list[Any]]:
    """Diagnose every target: the result, the notes on the files, and the flags of their rows."""
    from ..diagnostics import BatchesDiagnosis

    notes: list[Note] = []
    found, rows = {}, []
    for name, files in files_of_each(options, targets):
        if flags and files.margins is not None:
            raise InputError(f"{options.target} holds margins, which have no rows to flag.")
        quiet = [note for note in notes if note.severity != "warning"]  # which is never quiet
        files, both = files.samples(quiet=quiet)
        found[name] = diagnosis_of(both, options)
        rows += [(name, files, found[name].rows)] if flags else []
        notes += [note for note in files.notes if note not in notes]
    if len(targets) == 1:
        return found.popitem()[1], notes, rows
    return BatchesDiagnosis(found), notes, rows


def _write_flags(output: str, found: Sequence[tuple[str, Files, RowFlags]]) -> None:
    """Write the flags of the rows of every target: its name, the sample and the flags."""
    ids = [files.ids("target") for _, files, _ in found]
    named = all(part is not None for part in ids)
    head = {"target": ""} if len(found) > 1 else {}
    first = str(found[0][1].id) if named else "row"
    with console.table_file(output) as writer:
        writer.writerow([*head, first, "overlap", "why"])
        for (name, files, flags), own in zip(found, ids, strict=True):
            lines = files.rows("target")
            keys: Any = [own[k] for k in lines] if named else range(1, len(lines) + 1)
            for key, bad, why in zip(keys, flags.uncovered, flags.why, strict=True):
                row = ["" if key is None else key, "no" if bad else "yes", why]
                writer.writerow([*(name for _ in head), *row])
    console.note(f"wrote {output}")
