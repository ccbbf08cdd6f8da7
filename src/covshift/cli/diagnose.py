"""``covshift diagnose``: is there a shift, where, and can it be corrected?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import console, options

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
        "is there a shift, where, and can it be corrected?",
        "Compare the distributions of the features in two samples, or of a sample with a file of "
        "margins (see covshift margins). No label is needed.",
    )
    options.add_samples(parser, label="optional")
    options.add_output(parser)
    options.add_verdict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis, verdict first."""
    from ..margins.files import is_margins_file

    options.check_output(args)
    notes: list[Any] = []
    if is_margins_file(args.target):
        found = _of_margins(args)
    else:
        samples = options.samples_of(args, label=False)
        found, notes = diagnosis_of(samples, args), [*samples.notes]
    if args.json:
        data = found.to_dict()
        data["notes"] = [*notes, *data["notes"]]
        console.emit(console.as_json(data), args.output)
    else:
        console.emit(str(found), args.output)
    return options.exit_code(found.verdict, args)


def _of_margins(args: argparse.Namespace) -> Any:
    """Compare the training rows with a file of margins."""
    from ..diagnostics.margins import diagnose_margins
    from ..margins.known import KnownRows
    from .margin_rows import margins_of, training_rows

    margins = margins_of(args, beside=() if args.label is None else (args.label,))
    rows = training_rows(args, margins, {})
    known = KnownRows.of(margins, rows.frame, "diagnose")
    found = diagnose_margins(known, weight=None if args.weight is None else rows.design)
    if found.verdict == "no overlap":
        console.warn(NO_OVERLAP)
    return found


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
        frequency_weight=whole.frequency,
        target_frequency=whole.target_frequency,
        random_state=seed,
    )
    if found.verdict == "no overlap":
        console.warn(NO_OVERLAP)
    return found, weights
