"""``covshift weigh``: weights for the training rows, for use anywhere else."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import FewRowsWarning, InputError
from ..numerics.quiet import quiet
from ..registry import listed, weighters
from . import console, options

if TYPE_CHECKING:
    from .weigh_output import Weighed

_LIMITED = "cdf"  # with --limits, which the weights of estimate do not have
_MET = 1e-6  # difference from a share that is none
_OPTIONS = """
--method NAME  %s (default: the weights that covshift estimate uses, tilted-cdf for target rows;
  with --limits cdf)
--by COL[,COL]  with margins and poststratification: the column, or two, whose cells are used
--limits B:float  bounds of the factors on the rows' weights, such as 0.3 3 (cdf, entropy, raking)
--restrict overlap|  weigh towards the part of the target that the training rows cover
"""
SIZE = "size"  # of the margins, as --sum-to names it
LABELS = ("strata", "cluster")
_REPLICATES = f"""
--replicates B:int  also write B replicate weights, for errors that count the fit of the weights
--replicate-method bootstrap|jackknife  draws of both samples, or B groups of which each is left out
  once (default: bootstrap where the weights solve an equation, else jackknife)
{options.DESIGN.strip()}
--finite-population  the target file is the whole population: it is not drawn again
"""
_FILE = """
--sum-to N  scale the weights to sum to the population's size N, a number or the word size for that
  of the margins (default: mean one)
--codebook FILE  JSON that says what the columns are (default: beside -o, as NAME.codebook.json)
--no-codebook  write no codebook
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
    options.add_options(parser.add_argument_group("replicates"), _REPLICATES)
    group = options.add_output(parser, what="weights (CSV; TSV for .tsv)")
    options.add_options(group, _FILE, sum_to={"type": _population_size})
    options.add_verdict(parser)
    parser.set_defaults(run=run)


@quiet(FewRowsWarning)  # which the answer says first
def run(args: argparse.Namespace) -> int:
    """Weigh, write the weights and their codebook, and say how well they balance."""
    from ..margins.files import is_margins_file
    from ..weights import WEIGHTERS
    from . import weigh_fit, weigh_output

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
    check_replicates(args)
    check_files(args)
    of_margins = is_margins_file(args.target)
    if of_margins and args.restrict is not None:
        raise InputError(f"--restrict needs target rows, and {args.target} holds margins.")
    found = (weigh_fit.by_margins if of_margins else weigh_fit.by_rows)(args)
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


def _summary(weighed: Weighed, args: argparse.Namespace) -> str:
    from ..show.answer import OF_CORRECTIONS, few_rows
    from ..weights.limits import BalanceCost

    facts = weighed.facts
    sizes = (facts[name] for name in ("effective_sample_size", "n_train", "largest_weight"))
    caution = few_rows(*sizes)
    lines = [caution] if caution else []
    lines += [f"Shift: {weighed.verdict}."] if weighed.verdict else []
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
    if "limits" in facts:
        lines.append(str(BalanceCost(**facts["limits"])))
    if args.as_estimate:
        lines.append("These are the weights that covshift estimate uses.")
    lines.append(OF_CORRECTIONS)
    drawn = weighed.replicates
    if drawn is not None:
        lines += [
            f"{drawn.plan.count} {drawn.plan.kind} replicates, to be declared as:",
            f"  R:     {weighed.r_line}",
            f"  Stata: {weighed.stata_line}",
        ]
    if args.output:
        scale = "mean one" if weighed.population is None else f"sum {weighed.population:g}"
        where = f", explained in {args.codebook}" if args.codebook else ""
        lines.append(f"Wrote {len(weighed.again)} weights, {scale}, to {args.output}{where}.")
    return "\n".join(lines)


# What is refused before anything is read.


def check_replicates(args: argparse.Namespace) -> None:
    """Refuse options without replicates, and numbers of them that cannot be."""
    if args.replicates is None:
        for option in ("replicate_method", *LABELS, "finite_population"):
            if getattr(args, option):
                spelled = "--" + option.replace("_", "-")
                drop = ", or leave the column out with --drop" if option in LABELS else ""
                raise InputError(f"{spelled} is for replicate weights: add --replicates B{drop}.")
    elif args.replicates < 2:
        raise InputError(f"--replicates {args.replicates}: a variance needs at least two.")


def _population_size(text: str) -> float | str:
    if text == SIZE:
        return text
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number, nor the word {SIZE}")
    return found


def check_files(args: argparse.Namespace) -> None:
    """Refuse bad places for the two files before any work is done; settle the codebook's."""
    options.check_output(args)
    if args.no_codebook and args.codebook is not None:
        raise InputError("--codebook and --no-codebook: keep one of them.")
    if args.codebook == "-":
        raise InputError("The codebook goes to a file: name it, or use --json for the summary.")
    if args.codebook is None and not args.no_codebook:
        args.codebook = _beside_output(args.output)
    if args.codebook is not None:
        if args.output is not None and Path(args.codebook) == Path(args.output):
            raise InputError(f"{args.output} cannot hold both the weights and their codebook.")
        options.check_output(args, "codebook")


def _beside_output(output: str | None) -> str | None:
    """Name the codebook after the weights; None where these go to a stream or a device."""
    if output in (None, "-") or (Path(str(output)).exists() and not Path(str(output)).is_file()):
        return None
    return str(Path(str(output)).with_suffix(".codebook.json"))
