"""``covshift diagnose``: is there a shift, where, and can it be corrected?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..show.notes import Note
from . import console
from .options import Label, Verdict
from .targets import NO_OVERLAP, diagnosis_of, files_of_each, targets_of

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
    from ..margins.files import is_margins_file

    targets = targets_of(options)
    options = replace(options, target=targets[0])
    notes: list[Note] = []
    rows: list[Any] = []
    flags_file = str(options.output).lower().endswith((".csv", ".tsv"))
    if len(targets) == 1 and is_margins_file(options.target):
        if flags_file:
            raise InputError(f"{options.target} holds margins, which have no rows to flag.")
        diagnosis = _of_margins(options)
    else:
        diagnosis, notes, rows = _of_rows(options, targets)
    text = str(diagnosis)
    if options.json:
        data = diagnosis.to_dict()
        text = console.as_json({**data, "notes": [*notes, *data["notes"]]})
    console.emit(text, None if flags_file else options.output)
    if flags_file:
        _write_flags(str(options.output), rows)
    return options.exit_code(diagnosis.verdict)


def _of_rows(options: Arguments, targets: list[str]) -> tuple[Any, list[Note], list[Any]]:
    """Diagnose every target: the result, the notes on the files, and the flags of their rows."""
    from ..diagnostics import BatchesDiagnosis

    notes: list[Note] = []
    found, rows = {}, []
    for name, files in files_of_each(options, targets):
        quiet = [note for note in notes if note.severity != "warning"]  # which is never quiet
        files, both = files.samples(quiet=quiet)
        found[name] = diagnosis_of(both, options)
        rows.append((name, files, found[name].rows))
        notes += [note for note in files.notes if note not in notes]
    if len(targets) == 1:
        return found.popitem()[1], notes, rows
    return BatchesDiagnosis(found), notes, rows


def _of_margins(options: Arguments) -> Any:
    """Compare the training rows with a file of margins."""
    from ..diagnostics.margins import diagnose_margins
    from ..margins.sample import KnownRows
    from .margin_samples import margins_of, training_rows

    margins = margins_of(options, beside=() if options.label is None else (options.label,))
    rows = training_rows(options, margins, {})
    known = KnownRows.of(margins, rows.frame, "diagnose")
    diagnosis = diagnose_margins(known, weight=None if options.weight is None else rows.weights.w)
    if diagnosis.verdict == "no overlap":
        console.warn(NO_OVERLAP)
    return diagnosis


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
