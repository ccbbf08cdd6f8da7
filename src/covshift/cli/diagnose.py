"""``covshift diagnose``: is there a shift, where, and can it be corrected?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import console, options

if TYPE_CHECKING:
    from .._tables import Samples


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "diagnose",
        "is there a shift, where, and can it be corrected?",
        "Compare the distributions of the features in two samples. No label is needed.",
    )
    options.add_samples(parser, label="optional")
    options.add_output(parser)
    options.add_verdict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis, verdict first."""
    options.check_output(args)
    samples = options.samples_of(args, label=False)
    found = diagnosis_of(samples, args)
    if args.json:
        data = found.to_dict()
        data["notes"] = [*samples.notes, *data["notes"]]
        console.emit(console.as_json(data), args.output)
    else:
        console.emit(str(found), args.output)
    return options.exit_code(found.verdict, args)


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
        console.warn(
            "NO OVERLAP: part of the target lies where there are no training rows. No "
            "correction can tell what happens there; predictions for those rows are guesses."
        )
    return found, weights
