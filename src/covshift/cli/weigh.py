"""``covshift weigh``: weights for the training rows, for use anywhere else."""

from __future__ import annotations

import argparse
import csv
import sys
from typing import Any

from .._registry import listed, weighters
from ..exceptions import InputError
from . import console, options
from .diagnose import diagnosis_of

_METHOD = "cdf"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "weigh",
        "weights that make the training sample look like the target",
        "Write one weight per training row, mean one, for use with R, Stata or any learner. The "
        "target may be a file of margins: see covshift margins.",
    )
    options.add_samples(parser, label="optional")
    parser.add_argument(
        "--method",
        default=_METHOD,
        metavar="NAME",
        help=f"{listed(entry.name for entry in weighters())} (default: {_METHOD}; see compare)",
    )
    parser.add_argument(
        "--by",
        metavar="COL[,COL]",
        help="with margins and poststratification: the column, or two, whose cells are used",
    )
    options.add_output(parser, what="weights (CSV; TSV for .tsv)")
    options.add_verdict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Weigh, write the weights, and say how well they balance."""
    from sklearn.preprocessing import StandardScaler

    from .._row_weights import row_weights, target_weights
    from ..compare import imbalance
    from ..compare.methods import fit_weights
    from ..margins.files import is_margins_file
    from ..weights import WEIGHTERS

    if args.method not in WEIGHTERS:
        raise InputError(f"The weighter {args.method!r} is unknown. Use {listed(WEIGHTERS)}.")
    to_file = args.output not in (None, "-")
    if args.json and not to_file:
        raise InputError(
            "--json prints the summary on stdout: name a file for the weights with -o."
        )
    options.check_output(args)
    if is_margins_file(args.target):
        return _run_with_margins(args, to_file)
    if args.by is not None:
        raise InputError("--by is for margins: with target rows all columns are used.")
    samples = options.samples_of(args, label=False, repeated=False)
    verdict = diagnosis_of(samples, args).verdict
    rows = row_weights(len(samples.X), samples.weight, samples.frequency)
    target = target_weights(len(samples.X_target), samples.target_weight, samples.target_frequency)
    scaler = StandardScaler().fit(samples.X, sample_weight=rows.w)
    X, T = scaler.transform(samples.X), scaler.transform(samples.X_target)
    fitted = fit_weights(args.method, X, None, T, None, args.seed, rows=rows, target=target)
    w = rows.final(fitted.weights_)  # of one row, however often it was seen
    counted = rows.repeats * w
    facts = {
        "method": args.method,
        "verdict": verdict,
        "n_train": rows.rows,
        "n_written": len(w),
        "effective_sample_size": float(counted.sum() ** 2 / (counted @ w)),
        "largest_weight": float(w.max()),
        "smd_before": imbalance(X, T, None, target.share, rows.share),
        "smd_after": imbalance(X, T, counted, target.share, rows.share),
    }
    _write(args.output, w, samples.id_name, samples.ids)
    if args.json:
        print(console.as_json({**facts, "file": args.output, "notes": samples.notes}))
    else:
        print(_summary(facts, args.output), file=sys.stdout if to_file else sys.stderr)
    return options.exit_code(verdict, args)


def _run_with_margins(args: argparse.Namespace, to_file: bool) -> int:
    from .weigh_margins import summary, weighed

    w, ids, facts = weighed(args)
    _write(args.output, w, args.id, ids)
    if args.json:
        print(console.as_json({**facts, "file": args.output}))
    else:
        print(summary(facts, args.output), file=sys.stdout if to_file else sys.stderr)
    return 0


def _write(output: str | None, w: Any, id_name: str | None, ids: Any) -> None:
    """Write one weight per row, with its id or number."""
    with console.text_file(output) as file:
        separator = "\t" if str(output).lower().endswith(".tsv") else ","
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        first = id_name or "row"
        writer.writerow(["id" if first == "weight" else first, "weight"])
        numbered: Any = range(1, len(w) + 1) if ids is None else ids.tolist()
        writer.writerows(zip(numbered, w.tolist(), strict=True))


def _summary(facts: dict[str, Any], path: str | None) -> str:
    written = f"\nWrote {facts['n_written']} weights, mean one, to {path}." if path else ""
    return (
        f"Shift: {facts['verdict']}.\n"
        f"Effective sample size {facts['effective_sample_size']:.0f} of {facts['n_train']} rows, "
        f"largest weight {facts['largest_weight']:.2f} ({facts['method']}).\n"
        "Balance, the mean absolute standardised mean difference: "
        f"{facts['smd_before']:.3f} before, {facts['smd_after']:.3f} after weighting.{written}"
    )
