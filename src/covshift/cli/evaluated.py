"""Files that ``covshift evaluate`` writes: the table of all methods, and the report."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from . import console
from .scores import trained_on

if TYPE_CHECKING:
    from .._tables import Samples
    from ..evaluations import Evaluations


def write_table(found: Evaluations, output: str) -> None:
    """Write the numbers of all methods, one per line: of the whole target, then of its batches."""
    console.write_lines(
        (
            {"batch": batch, **line} if found.batches else line
            for batch, part in {"": found, **found.batches}.items()
            for line in part.table.data()
        ),
        output,
    )


def write_report(found: Evaluations, samples: Samples, args: argparse.Namespace) -> None:
    """Write the report: the evaluation, and the shift of the rows that judge the model."""
    from ..report import build
    from ..show.words import printable

    trained = trained_on(samples, args.trained_on)
    judging = slice(None) if trained is None else ~trained
    text = build(
        samples.X[judging],
        samples.X_target,
        evaluations=found,
        weights=found.weights[judging],
        weights_name=found.weighter,
        sample_weight=None if samples.weight is None else samples.weight[judging],
        target_weight=samples.target_weight,
        date_names=samples.encoding.dates,
        feature_names=[printable(name, width=1000) for name in samples.names],
        title=args.title,
        train_name=Path(args.train).name,
        target_name=Path(args.target).name,
        outcome_name=args.label,
        command=shlex.join(["covshift", *args.argv]),
        random_state=args.seed,
    )
    with console.text_file(args.report) as file:
        file.write(text)
    console.note(f"wrote {args.report}")
