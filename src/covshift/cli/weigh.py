"""``covshift weigh``: weights for the training rows, for use anywhere else."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from ..comparison import imbalance
from ..comparison.methods import fit_weights
from ..data.row_weights import RowWeights, row_weights, target_weights
from ..data.two_samples import BothSamples
from ..diagnostics import RowFlags
from ..encoding import encoded, scaled
from ..engine.weights import DEFAULT
from ..exceptions import InputError, NoOverlapError
from ..files.tables import Samples
from ..numerics.array import Real, Rows
from ..numerics.resampling import Replicates
from ..registry import listed, weighters
from ..show.notes import Note
from ..show.words import percent
from ..weights import effective_sample_size
from ..weights.base import Weighter
from . import console, options, weigh_output
from .diagnose import covered_part, diagnosis_of
from .weigh_output import SIZE, Weighed, cost_line, cost_of, replicates_of, unfitted, weighter_of

_LIMITED = "cdf"  # with --limits, which the weights of estimate do not have
_OPTIONS = """
--method NAME  %s (default: the weights that covshift estimate uses, tilted-cdf for target rows;
  with --limits cdf)
--by COL[,COL]  with margins and poststratification: the column, or two, whose cells are used
--limits B:float  bounds of the factors on the rows' weights, such as 0.3 3 (cdf, entropy, raking)
--restrict overlap|  weigh towards the part of the target that the training rows cover
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "weigh",
        "Write one weight per training row for use with R, Stata or any learner: the final weight, "
        "the design weight and the factor between them, replicate weights on request, and a "
        "codebook. The target may be a file of margins: see covshift margins.",
    )
    options.add_samples(parser, label="optional")
    table = _OPTIONS % listed(entry.name for entry in weighters())
    options.add_options(parser, table, limits={"nargs": 2, "metavar": ("LOW", "HIGH")})
    weigh_output.add_replicates(parser)
    weigh_output.add_file(options.add_output(parser, what="weights (CSV; TSV for .tsv)"))
    options.add_verdict(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Weigh, write the weights and their codebook, and say how well they balance."""
    from ..margins.files import is_margins_file
    from ..weights import WEIGHTERS

    args.as_estimate = args.method is None and args.limits is None and args.by is None
    if args.method is None and not args.as_estimate:
        args.method = _LIMITED
    if args.method is not None and args.method not in WEIGHTERS:
        raise InputError(f"The weighter {args.method!r} is unknown. Use {listed(WEIGHTERS)}.")
    to_file = args.output not in (None, "-")
    if args.json and not to_file:
        raise InputError(
            "--json prints the summary on stdout: name a file for the weights with -o."
        )
    weigh_output.check_replicates(args)
    weigh_output.check_files(args)
    from .weigh_margins import weigh_by_margins

    of_margins = is_margins_file(args.target)
    if of_margins and args.restrict is not None:
        raise InputError(f"--restrict needs target rows, and {args.target} holds margins.")
    found = (weigh_by_margins if of_margins else weigh_by_rows)(args)
    weigh_output.write_weights(found, args)
    if args.codebook is not None:
        weigh_output.write_codebook(found, args)
    if args.json:
        facts = {
            **found.facts,
            "as_estimate": args.as_estimate,
            "file": args.output,
            "codebook": args.codebook,
        }
        more = {} if of_margins else {"notes": found.notes}
        print(console.as_json({**facts, "replicates": found.replicate_facts, **more}))
    else:
        print(_summary(found, args), file=sys.stdout if to_file else sys.stderr)
    return options.exit_code(found.verdict, args)


def _summary(found: Weighed, args: argparse.Namespace) -> str:
    lines = [found.said]
    if args.as_estimate:
        lines.append("These are the weights that covshift estimate uses.")
    drawn = found.replicates
    if drawn is not None:
        lines.append(
            f"{drawn.count} {drawn.kind} replicates: variance = scale x sum of (theta_b - theta)^2 "
            f"with scale {drawn.scale:.6g}, rscales 1."
        )
    if args.output:
        scale = "mean one" if found.population is None else f"sum {found.population:g}"
        where = f", explained in {args.codebook}" if args.codebook else ""
        lines.append(f"Wrote {len(found.raw)} weights, {scale}, to {args.output}{where}.")
    return "\n".join(lines)


# ``covshift weigh`` with rows of the target.


def weigh_by_rows(args: argparse.Namespace) -> Weighed:
    """Read both files, diagnose the shift, and weigh the training rows."""
    if args.by is not None:
        raise InputError("--by is for margins: with target rows all columns are used.")
    if args.sum_to == SIZE:
        raise InputError(
            "--sum-to size is for margins: with target rows, name the population's size."
        )
    if args.as_estimate:
        args.method = DEFAULT
    lines = _samples(args)
    samples = lines.repeated()
    found = diagnosis_of(samples, args)
    if args.restrict is not None and found.rows.count:
        samples = _covered(samples, found.rows)
        found = diagnosis_of(samples, args)
    verdict = found.verdict
    rows = row_weights(len(samples.X), samples.weight)
    target = target_weights(len(samples.X_target), samples.target_weight)
    both = BothSamples.of_encoded(samples.encoding.encoder, samples.X, samples.X_target)
    scaler = StandardScaler().fit(both.X, sample_weight=rows.w)
    X, T = (scaled(scaler, encoded(part, both.groups)) for part in (both.X, both.T))
    fitted = fit_weights(weighter_of(args), X, None, T, None, args.seed, rows=rows, target=target)
    w = rows.final(fitted.weights_)
    facts = {
        "method": args.method,
        "verdict": verdict,
        "n_train": rows.rows,
        "n_written": len(lines.X),
        "effective_sample_size": effective_sample_size(w),
        "largest_weight": float(w.max()),
        "smd_before": imbalance(X, T, None, target.share, rows.share),
        "smd_after": imbalance(X, T, w, target.share, rows.share),
        **cost_of(fitted, list(both.names or ())),
    }
    return Weighed(
        rows,
        samples.rows,
        len(lines.X),
        fitted.weights_,
        fitted,
        lines.ids,
        facts,
        _row_lines(facts),
        samples.encoding.names,
        {"kind": "rows", "file": Path(args.target).name, "rows": target.rows},
        _replicates(args, lines, samples.rows, fitted, X, T, rows, target),
        args.sum_to,
        verdict,
        samples.notes,
    )


def _covered(samples: Samples, flags: RowFlags) -> Samples:
    """Leave out target rows without training rows near, and say which."""
    if flags.uncovered.all():
        raise NoOverlapError(f"No target row is covered by the training rows. {flags}")
    kept = percent(1 - flags.count / len(flags.uncovered))
    note = Note("restricted target", f"Weights for {kept} of the target. {flags}", "warning")
    console.tell(note)
    left = covered_part(samples, flags)
    return replace(left, notes=[*left.notes, note])


def _samples(args: argparse.Namespace) -> Samples:
    """Read both files; strata that the target has too are a feature as any other."""
    beside = () if args.cluster is None else (("--cluster", args.cluster),)
    more: dict[str, Any] = {"beside": beside, "by": args.strata, "by_option": "--strata"}
    return options.samples_of(args, label=False, repeated=False, **more)


def _replicates(
    args: argparse.Namespace,
    lines: Samples,
    again: Rows,
    fitted: Weighter,
    X: Real,
    T: Real,
    rows: RowWeights,
    target: RowWeights,
) -> Replicates | None:
    """Fit the weights again to standardised rows; ``again`` are their lines."""
    if args.replicates is None:
        return None
    kept, there = np.flatnonzero(rows.kept), np.flatnonzero(target.kept)
    v = target.w[there]
    made = unfitted(fitted)

    def fit(d: Real, drawn: Real | None) -> Real:
        given = {"sample_weight": d, "target_weight": v if drawn is None else v * drawn}
        found: Real = made.fit(X[kept], X_target=(T[there],), **given).weights_
        return found

    labels = {"--strata": lines.groups, "--cluster": lines.beside.get(args.cluster)}
    d, again = rows.w[kept], again[kept]
    return replicates_of(args, fitted, fit, d, again, labels, len(there), len(lines.X))


def _row_lines(facts: dict[str, object]) -> str:
    return (
        f"Shift: {facts['verdict']}.\n"
        f"Effective sample size {facts['effective_sample_size']:.0f} of {facts['n_train']} rows, "
        f"largest weight {facts['largest_weight']:.2f} ({facts['method']}).\n"
        "Balance, how far the means are from the target's on average, in standard deviations: "
        f"{facts['smd_before']:.3f} before, {facts['smd_after']:.3f} after weighting."
        f"{cost_line(facts)}"
    )
