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
    with console.table_file(output) as writer:
        head = ["model", "metric", "group", "method", "value", "standard_error", "low", "high"]
        first = ["batch"] * bool(found.batches)
        writer.writerow([*first, *head, "rows", "effective_sample_size"])
        for batch, part in {"": found, **found.batches}.items():
            for row in part.table:
                line = [row.model, row.metric, row.group or "", row.method, row.value]
                line += [row.standard_error, *row.interval, row.rows, row.effective_sample_size]
                writer.writerow([batch] * bool(found.batches) + line)
    if output != "-":
        console.note(f"wrote {output}")


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
