"""``covshift diagnose``: is there a shift, where, and can it be corrected?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError, NoOverlapError
from ..show.notes import Note
from ..show.words import in_order, percent
from . import console, options

if TYPE_CHECKING:
    from ..diagnostics import RowFlags
    from ..files.samples import TwoFiles

NO_OVERLAP = (
    "NO OVERLAP: part of the target lies where there are no training rows. No correction can "
    "estimate what happens there; predictions for those rows are guesses."
)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "diagnose",
        "Compare the distributions of the features in two samples, or of a sample with a file of "
        "margins (see covshift margins). No label is needed. With several targets, such as the "
        "files of months, each gets one line.",
    )
    options.add_samples(parser, label="optional")
    parser.add_argument("more", nargs="*", metavar="target", help="further targets, one line each")
    options.add_output(
        parser,
        what="result, or, where FILE ends in .csv or .tsv, one line per target row: whether "
        "training rows cover it, and why not,",
    )
    options.add_verdict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis, verdict first."""
    from ..margins.files import is_margins_file

    targets = in_their_order([args.target, *args.more])
    check_targets(args, targets)
    if len(targets) == 1 and is_margins_file(args.target):
        if is_table(args.output):
            raise InputError(f"{args.target} holds margins, which have no rows to flag.")
        found, notes, rows = _of_margins(args)
    else:
        found, notes, rows = _of_rows(args, targets)
    text = str(found)
    if args.json:
        data = found.to_dict()
        data["notes"] = [*notes, *data["notes"]]
        text = console.as_json(data)
    console.emit(text, None if is_table(args.output) else args.output)
    if is_table(args.output):
        write_flags(args.output, rows, several=len(targets) > 1)
    return options.exit_code(found.verdict, args)


def _of_rows(args: argparse.Namespace, targets: list[str]) -> tuple[Any, list[Note], list[Any]]:
    """Diagnose every target: the result, the notes on the files, and the flags of their rows."""
    from ..diagnostics import BatchesDiagnosis

    found, notes, rows = {}, [], []
    for name, samples in samples_of_each(args, targets, label=False):
        found[name] = diagnosis_of(samples, args)
        rows.append((name, samples, found[name].rows))
        notes += [note for note in samples.notes if note not in notes]
    if len(targets) == 1:
        return found.popitem()[1], notes, rows
    return BatchesDiagnosis(found), notes, rows


def _of_margins(args: argparse.Namespace) -> tuple[Any, list[Note], list[Any]]:
    """Compare the training rows with a file of margins."""
    from ..diagnostics.margins import diagnose_margins
    from ..margins.sample import KnownRows
    from .margin_samples import margins_of, training_rows

    margins = margins_of(args, beside=() if args.label is None else (args.label,))
    rows = training_rows(args, margins, {})
    known = KnownRows.of(margins, rows.frame, "diagnose")
    diagnosis = diagnose_margins(known, weight=None if args.weight is None else rows.weights.w)
    if diagnosis.verdict == "no overlap":
        console.warn(NO_OVERLAP)
    return diagnosis, [], []


def diagnosis_of(samples: TwoFiles, args: argparse.Namespace) -> Any:
    """Diagnose two samples; warn loudly where they do not overlap."""
    from ..diagnostics.measure import diagnose_samples

    diagnosis = diagnose_samples(numbers_of(samples), random_state=args.seed)
    if diagnosis.verdict == "no overlap":
        console.warn(f"{NO_OVERLAP} {diagnosis.reason}")
    return diagnosis


def overlapping(samples: TwoFiles, args: argparse.Namespace) -> Any:
    """Diagnose two samples; without --restrict refuse where `estimate` would, for no overlap."""
    import numpy as np

    from ..diagnostics.measure import diagnose_samples
    from ..engine.overlap import check_overlap

    both = numbers_of(samples)
    diagnosis = diagnose_samples(both, random_state=args.seed)
    if args.restrict is None:
        rows = np.arange(len(both.X))
        known = replace(both, diagnosis=diagnosis)
        check_overlap(known, rows, restrict=None, random_state=args.seed)
    return diagnosis


def numbers_of(samples: TwoFiles) -> Any:
    """Return both samples as the diagnosis takes them."""
    from ..data import Samples

    return Samples.of_rows(
        samples.X,
        samples.X_target,
        sample_weight=samples.weight,
        target_weight=samples.target_weight,
        encoder=samples.encoding.encoder,
        ordered=False,
        left_out=samples.unused,
    )


# ``covshift diagnose -o rows.csv``: whether training rows cover each target row, and why not.


def is_table(output: str | None) -> bool:
    """Whether the output is a table of rows, by its name."""
    return str(output).lower().endswith((".csv", ".tsv"))


def write_flags(
    output: str, found: Sequence[tuple[str, TwoFiles, RowFlags]], *, several: bool
) -> None:
    """Write the flags of the rows of every target: its name, the sample and the flags."""
    named = all(samples.target_ids is not None for _, samples, _ in found)
    first = str(found[0][1].id_name) if named else "row"
    with console.table_file(output) as writer:
        head = [first, "overlap", "why"]
        writer.writerow(["target", *head] if several else head)
        for name, samples, flags in found:
            ids: Any = samples.target_ids if named else range(1, len(flags.uncovered) + 1)
            for key, bad, why in zip(ids, flags.uncovered, flags.why, strict=True):
                row = ["" if key is None else key, "no" if bad else "yes", why]
                writer.writerow([name, *row] if several else row)
    console.note(f"wrote {output}")


def covered_part(samples: TwoFiles, flags: RowFlags, what: str) -> TwoFiles:
    """Leave out the target rows that are flagged, and say which: ``what`` is for the others."""
    if flags.uncovered.all():
        raise NoOverlapError(f"No target row is covered by the training rows. {flags}")
    kept = percent(1 - flags.count / len(flags.uncovered))
    note = Note("restricted target", f"{what} {kept} of the target. {flags}", "warning")
    console.tell(note)
    left = samples.take_target((~flags.uncovered).nonzero()[0])
    return replace(left, notes=[*left.notes, note])


def short_names(paths: Sequence[str]) -> list[str]:
    """Names of files without their folders, unless two would be the same."""
    names = [Path(path).name for path in paths]
    return names if len(set(names)) == len(names) else list(paths)


# Several targets on the command line: their order, their names, and how they are read.


def in_their_order(paths: list[str]) -> list[str]:
    """Files as they were named; in natural order where that is the one of a shell's pattern."""
    from ..files.reading import book_and_sheet

    if paths != sorted(paths):
        return paths
    return in_order(paths, lambda path: book_and_sheet(path)[1] or Path(path).stem)


def check_targets(args: argparse.Namespace, paths: list[str]) -> None:
    """Refuse bad places for the output, and a file that cannot be read twice."""
    for args.target in reversed(paths):
        options.check_output(args)
    if len(paths) > 1 and "-" in (args.train, *paths):
        raise InputError("Several targets are read one after the other: name files, not -.")


def samples_of_each(
    args: argparse.Namespace, paths: list[str], **given: Any
) -> Iterator[tuple[str, TwoFiles]]:
    """Read the training file with one target after the other; what is noted twice is told once."""
    told: list[Any] = []
    quiet = console.quiet
    for name, path in zip(short_names(paths), paths, strict=True):
        args.target = path
        console.step(f"reading {name}" if len(paths) > 1 else "reading")
        console.quiet = quiet or bool(told)
        try:
            samples = options.samples_of(args, **given)
        finally:
            console.quiet = quiet
        if told:
            for note in samples.notes:
                if note not in told and note.severity != "warning":  # which is never quiet
                    console.tell(note)
        told += samples.notes
        yield name, samples
