"""``covshift diagnose``: is there a shift, where, and can it be corrected?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..show.notes import Note
from . import console, options
from .row_flags import is_table, write_flags
from .targets import check_targets, in_their_order, samples_of_each

if TYPE_CHECKING:
    from .._tables import Samples


NO_OVERLAP = (
    "NO OVERLAP: part of the target lies where there are no training rows. No correction can tell "
    "what happens there; predictions for those rows are guesses."
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
    from ..margins.known import KnownRows
    from .margin_rows import margins_of, training_rows

    margins = margins_of(args, beside=() if args.label is None else (args.label,))
    rows = training_rows(args, margins, {})
    known = KnownRows.of(margins, rows.frame, "diagnose")
    found = diagnose_margins(known, weight=None if args.weight is None else rows.weights.w)
    if found.verdict == "no overlap":
        console.warn(NO_OVERLAP)
    return found, [], []


def diagnosis_of(samples: Samples, args: argparse.Namespace) -> Any:
    """Diagnose two samples; warn loudly where they do not overlap."""
    return diagnosis_and_weights(samples, samples.names, args.seed)[0]


def diagnosis_and_weights(whole: Samples, names: Sequence[str], seed: int) -> tuple[Any, Any]:
    """Diagnose samples under these names, and return the final weights found besides."""
    from ..diagnostics.measure import diagnose_and_weigh

    found, weights = diagnose_and_weigh(
        whole.X,
        whole.X_target,
        feature_names=names,
        sample_weight=whole.weight,
        target_weight=whole.target_weight,
        groups=whole.encoding.groups,
        random_state=seed,
    )
    if found.verdict == "no overlap":
        console.warn(NO_OVERLAP)
    return found, weights
