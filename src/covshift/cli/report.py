"""``covshift report``: one HTML file to show a colleague."""

from __future__ import annotations

import argparse
import shlex
import sys
from importlib import import_module
from typing import Any

from . import compare, console, options
from .diagnose import diagnosis_of


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "report",
        "one self-contained HTML file with verdict, pictures and methods",
        "Write a report that opens from disk, without any network.",
    )
    options.add_samples(parser, label="optional")
    options.add_task(parser)
    compare.add_comparison(parser)
    parser.add_argument("--title", help="of the report")
    options.add_output(parser, what="report", required=True)
    options.add_verdict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Diagnose, compare where there is a label, and write the report."""
    options.check_output(args)
    samples = options.samples_of(args)
    found = diagnosis_of(samples, args)
    comparison = compare.comparison_of(samples, args).to_dict() if args.label else None
    write_report(args.output, samples, comparison, title=args.title, seed=args.seed)
    facts = {"verdict": found.verdict, "file": args.output, "notes": samples.notes}
    if args.json:
        print(console.as_json({**facts, "comparison": comparison}))
    else:
        lines = [f"Shift: {found.verdict}."]
        lines += [comparison["recommendation"]] if comparison else []
        print("\n".join([*lines, f"Wrote the report to {args.output}; open it in a browser."]))
    return options.exit_code(found.verdict, args)


def write_report(
    path: str, samples: Any, comparison: dict[str, Any] | None, *, title: str | None, seed: int
) -> None:
    """Write the report with the weights of the chosen weighter, or of the default one."""
    from sklearn.preprocessing import StandardScaler

    from ..methods import fit_weights
    from ..weights import WEIGHTERS

    whole = samples.repeated()
    labels = whole.labels
    chosen = comparison["chosen"] if comparison else "cdf"
    scaler = StandardScaler().fit(whole.X)
    weights = fit_weights(
        chosen if chosen in WEIGHTERS else "cdf",
        scaler.transform(whole.X),
        None,
        scaler.transform(whole.X_target),
        None,
        seed,
    ).weights_
    scored = labels is not None and len(labels.scored) == len(whole.X_target)
    text = import_module("covshift.report").build(
        whole.X,
        whole.X_target,
        y=None if labels is None else labels.y,
        y_target=labels.y_target if labels is not None and scored else None,
        weights=weights,
        comparison=comparison,
        feature_names=whole.names,
        title=title,
        command=shlex.join(["covshift", *sys.argv[1:]]),
        random_state=seed,
    )
    with console.text_file(path) as file:
        file.write(text)
