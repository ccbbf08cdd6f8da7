"""``covshift weigh``: weights for the training rows, for use anywhere else."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.preprocessing import StandardScaler

from ..comparison import imbalance
from ..comparison.methods import fit_weights
from ..data import Samples as BothSides
from ..data.row_weights import row_weights, target_weights
from ..data.two_samples import BothSamples
from ..diagnostics import RowFlags
from ..encoding import encoded, scaled
from ..engine.weights import DEFAULT
from ..estimates.margins import default_weighter
from ..exceptions import InputError, NoOverlapError
from ..files.samples import Samples
from ..margins.files import is_margins_file
from ..registry import listed, weighters
from ..show.notes import Note
from ..show.words import percent
from ..weights import WEIGHTERS
from ..weights.base import Weighter
from . import console, options, weigh_output
from .diagnose import covered_part, diagnosis_of
from .margin_samples import TrainingRows, margins_of, training_rows
from .weigh_output import LABELS, SIZE, Weighed, weighter_of

_LIMITED = "cdf"  # with --limits, which the weights of estimate do not have
_MET = 1e-6  # difference from a share that is none
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
    of_margins = is_margins_file(args.target)
    if of_margins and args.restrict is not None:
        raise InputError(f"--restrict needs target rows, and {args.target} holds margins.")
    found = (_by_margins if of_margins else _by_rows)(args)
    found = replace(found, replicates=weigh_output.replicates_of(found, args))
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
    lines = [f"Shift: {found.verdict}."] if found.verdict else []
    facts = found.facts
    lines.append(
        f"Effective sample size {facts['effective_sample_size']:.0f} of {facts['n_train']} rows, "
        f"largest weight {facts['largest_weight']:.2f} ({args.method})."
    )
    if "gap_after" in facts:
        gap, where = facts["gap_after"], facts["worst_after"]
        after = f"{gap:.2g} after weighting ({where})" if gap > _MET else "none after weighting"
        before = f"{facts['gap_before']:.3f} before"
        lines.append(f"Largest difference from the margins: {before}, {after}.")
    else:
        lines.append(
            "Balance, how far the means are from the target's on average, in standard deviations: "
            f"{facts['smd_before']:.3f} before, {facts['smd_after']:.3f} after weighting."
        )
    lines += weigh_output.cost_line(facts)
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
        lines.append(f"Wrote {len(found.again)} weights, {scale}, to {args.output}{where}.")
    return "\n".join(lines)


def _by_rows(args: argparse.Namespace) -> Weighed:
    """Read both files, diagnose the shift, and weigh the training rows."""
    if args.by is not None:
        raise InputError("--by is for margins: with target rows all columns are used.")
    if args.sum_to == SIZE:
        raise InputError(
            "--sum-to size is for margins: with target rows, name the population's size."
        )
    if args.as_estimate:
        args.method = DEFAULT
    beside = () if args.cluster is None else (("--cluster", args.cluster),)
    # Strata that the target has too are a feature as any other.
    more: dict[str, Any] = {"beside": beside, "by": args.strata, "by_option": "--strata"}
    lines = options.samples_of(args, label=False, repeated=False, **more)
    samples = lines.repeated()
    diagnosis = diagnosis_of(samples, args)
    if args.restrict is not None and diagnosis.rows.count:
        samples = _covered(samples, diagnosis.rows)
        diagnosis = diagnosis_of(samples, args)
    rows = row_weights(len(samples.X), samples.weight)
    target = target_weights(len(samples.X_target), samples.target_weight)
    both = BothSamples.of_encoded(samples.encoding.encoder, samples.X, samples.X_target)
    scaler = StandardScaler().fit(both.X, sample_weight=rows.w)
    X, T = (scaled(scaler, encoded(part, both.groups)) for part in (both.X, both.T))
    fitted = fit_weights(weighter_of(args), X, None, T, None, args.seed, rows=rows, target=target)
    w = rows.final(fitted.weights_)
    return Weighed(
        X,
        T,
        rows,
        samples.rows,
        len(lines.X),
        fitted,
        lines.ids,
        {"strata": lines.groups, "cluster": lines.beside.get(args.cluster)},
        samples.encoding.names,
        {"kind": "rows", "file": Path(args.target).name, "rows": target.rows},
        {
            "smd_before": imbalance(X, T, None, target.share, rows.share),
            "smd_after": imbalance(X, T, w, target.share, rows.share),
            **weigh_output.cost_of(fitted, list(both.names or ())),
        },
        args.method,
        target_rows=target,
        population=args.sum_to,
        verdict=diagnosis.verdict,
        notes=samples.notes,
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


def _by_margins(args: argparse.Namespace) -> Weighed:
    """Read the training rows and the margins, and weigh the rows."""
    margins = margins_of(args, args.method)
    notes = [*margins.notes]
    console.tell(*notes)
    population = args.sum_to
    if population == SIZE:
        population = margins.size
        if population is None:
            raise InputError(
                f"--sum-to size: {args.target} has no size. Name the population's size."
            )
    named = {option: getattr(args, option) for option in LABELS if getattr(args, option)}
    others = [name for name in named.values() if name not in margins.columns]
    read = training_rows(args, margins, dict.fromkeys(others, "text"))
    weighter = _of_estimate(args, read, margins, notes) if args.as_estimate else _asked(args)
    rows, X = read.weights, read.frame
    fitted = weighter.fit(X, X_target=margins, sample_weight=rows.w)
    before, after = (
        max(margins.balance(X, weight), key=lambda row: abs(row.gap))
        for weight in (rows.w, rows.final(fitted.weights_))
    )
    return Weighed(
        X,
        margins,
        rows,
        read.again,
        len(read.table),
        fitted,
        None if args.id is None else read.table[args.id],
        {option: read.table[name] for option, name in named.items()},
        margins.columns,
        {
            "kind": "margins",
            "file": Path(args.target).name,
            "columns": margins.columns,
            "size": margins.size,
            "source": margins.source,
        },
        {
            "gap_before": abs(before.gap),
            "gap_after": abs(after.gap),
            "worst_after": after.what,
            **weigh_output.cost_of(fitted),
        },
        args.method,
        population=population,
        notes=notes,
    )


def _of_estimate(
    args: argparse.Namespace, read: TrainingRows, margins: Any, notes: list[Note]
) -> Weighter:
    """Take the weighter that `estimate` would, and its name."""
    samples = BothSides.of(read.frame, None, margins, sample_weight=read.weights.w)
    weighter, more = default_weighter(samples)
    args.method = next(entry.name for entry in weighters() if entry.load() is type(weighter))
    console.tell(*more)
    notes += more
    return weighter


def _asked(args: argparse.Namespace) -> Weighter:
    weighter: Weighter = weighter_of(args)
    if "allow_no_overlap" in weighter.get_params(deep=False):
        weighter.set_params(allow_no_overlap=True)
    if args.by is not None:
        if "by" not in weighter.get_params(deep=False):
            raise InputError(f"--by is for poststratification, not {args.method}.")
        weighter.set_params(by=[name.strip() for name in args.by.split(",")])
    return weighter
