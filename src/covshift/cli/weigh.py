"""``covshift weigh``: weights for the training rows, for use anywhere else."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..registry import listed, weighters
from . import console, options, weigh_options

if TYPE_CHECKING:
    from .weighed import Weighed

_LIMITED = "cdf"  # with --limits, which the weights of estimate do not have


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
    parser.add_argument(
        "--method",
        metavar="NAME",
        help=f"{listed(entry.name for entry in weighters())} (default: the weights that covshift "
        f"estimate uses, tilted-cdf for target rows; with --limits {_LIMITED})",
    )
    parser.add_argument(
        "--by",
        metavar="COL[,COL]",
        help="with margins and poststratification: the column, or two, whose cells are used",
    )
    parser.add_argument(
        "--limits",
        metavar=("LOW", "HIGH"),
        nargs=2,
        type=float,
        help="bounds of the factors on the rows' weights, such as 0.3 3 (cdf, entropy, raking)",
    )
    parser.add_argument(
        "--restrict",
        choices=("overlap",),
        help="weigh towards the part of the target that the training rows cover",
    )
    weigh_options.add_replicates(parser)
    weigh_options.add_file(options.add_output(parser, what="weights (CSV; TSV for .tsv)"))
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
    weigh_options.check_replicates(args)
    weigh_options.check_files(args)
    from . import weigh_margins, weigh_rows, weighed

    of_margins = is_margins_file(args.target)
    if of_margins and args.restrict is not None:
        raise InputError(f"--restrict needs target rows, and {args.target} holds margins.")
    found = (weigh_margins if of_margins else weigh_rows).weighed(args)
    weighed.write_weights(found, args)
    if args.codebook is not None:
        weighed.write_codebook(found, args)
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
