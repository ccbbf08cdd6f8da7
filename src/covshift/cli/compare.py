"""``covshift compare``: which correction helps, if any?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..registry import learners
from . import console, options
from .diagnose import diagnosis_of

if TYPE_CHECKING:
    from ..comparison import Comparison
    from ..comparison.target import MarginRows
    from ..files.samples import TwoFiles

LEAST_ROWS = 10  # of which a comparison holds out some
_METHOD = (
    "--method NAME...  compare only these with the unweighted model (default: all; repeatable)"
)
_COMPARISON = """
--loss squared_error|zero_one|log_loss  loss to compare (default: squared_error; for classes, of
  their probabilities)
--max-rows N:int  draw N rows at random from larger samples (default: %s)
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "compare",
        "Estimate the loss of each method on the target, without its labels, and recommend one of "
        "the methods or the unweighted model. The target may be a file of margins: see covshift "
        "margins.",
    )
    options.add_samples(parser, label="required")
    options.add_task(parser)
    options.add_options(add_comparison(parser), _METHOD)
    options.add_output(parser)
    options.add_verdict(parser)
    parser.set_defaults(run=run)


def add_comparison(parser: argparse.ArgumentParser) -> Any:
    """Add how the comparison is made; return the group of these options."""
    rows = ", ".join(f"{entry.max_rows} for {entry.name}" for entry in learners())
    group = parser.add_argument_group("comparison")
    options.add_options(group, _COMPARISON % rows, loss={"default": "squared_error"})
    return group


def run(args: argparse.Namespace) -> int:
    """Print the recommendation, then the table."""
    from ..margins.files import is_margins_file

    options.check_output(args)
    if is_margins_file(args.target):
        from .margin_samples import read_margin_samples

        console.step("reading")
        beside = read_margin_samples(args)
        console.step("diagnosing the shift")
        samples, diagnosis = beside.samples, beside.diagnosis()
        comparison = comparison_of(samples, args, beside.read(), methods=args.method)
    else:
        console.step("reading")
        samples = options.samples_of(args)
        console.step("diagnosing the shift")
        diagnosis = diagnosis_of(samples, args)
        comparison = comparison_of(samples, args, methods=args.method)
    console.tell(*comparison.notes)
    if args.json:
        extra = {"verdict": diagnosis.verdict, "notes": samples.notes + comparison.notes}
        console.emit(console.as_json({**comparison.to_dict(), **extra}), args.output)
    else:
        console.emit(f"{comparison}\n\n{options.shift_line(diagnosis)}", args.output)
    return options.exit_code(diagnosis.verdict, args)


def comparison_of(
    samples: TwoFiles,
    args: argparse.Namespace,
    margins: MarginRows | None = None,
    *,
    methods: list[str] | None = None,
) -> Comparison:
    """Compare all methods, or these, on two samples; with ``margins`` these are the target."""
    from ..comparison import compare
    from ..exceptions import InputError

    if args.max_rows is not None and args.max_rows < 20:
        raise InputError("--max-rows must be at least 20.")
    labels = samples.labels
    if labels is None:
        raise InputError("A comparison needs the outcome: name its column with --label.")
    if len(samples.X) < LEAST_ROWS:
        raise InputError(
            f"{args.train} has {len(samples.X)} rows. A comparison holds out some of them "
            "and needs at least ten."
        )
    given: dict[str, Any] = {
        "learner": args.learner,
        "task": labels.task,
        "methods": methods or None,
        "loss": args.loss,
        "sample_weight": samples.weight,
        "max_rows": args.max_rows,
        "random_state": args.seed,
        "verbose": not console.quiet,
    }
    if margins is not None:
        return compare(samples.X, labels.y, margins, **given).naming(samples.names)
    scored, weight = labels.y_target is not None, samples.target_weight
    found = compare(
        samples.X,
        labels.y,
        samples.X_target,
        y_target=labels.y_target,
        X_scored=samples.X_target[labels.scored] if scored else None,
        scored_weight=None if weight is None or not scored else weight[labels.scored],
        target_weight=weight,
        **given,
    )
    return found.naming(samples.names)
