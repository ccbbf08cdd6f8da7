"""What ``covshift weigh`` can be asked for besides the weights, and what is refused of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from . import options

SIZE = "size"  # of the margins, as --sum-to names it
LABELS = ("strata", "cluster")


def add_replicates(parser: argparse.ArgumentParser) -> None:
    """Add the replicate weights, and the design that they follow."""
    group = parser.add_argument_group("replicates")
    group.add_argument(
        "--replicates",
        metavar="B",
        type=int,
        help="also write B replicate weights, for errors that count the fit of the weights",
    )
    group.add_argument(
        "--replicate-method",
        choices=("bootstrap", "jackknife"),
        help="draws of both samples, or B groups of which each is left out once (default: "
        "bootstrap)",
    )
    group.add_argument("--strata", metavar="COL", help="strata of the training sample's design")
    group.add_argument("--cluster", metavar="COL", help="clusters of rows drawn together")
    group.add_argument(
        "--finite-population",
        action="store_true",
        help="the target file is the whole population: it is not drawn again",
    )


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


def add_file(group: Any) -> None:
    """Add the scale of the weights and their codebook to the output's options."""
    group.add_argument(
        "--sum-to",
        metavar="N",
        type=_population,
        help="scale the weights to sum to the population's size N, a number or the word size for "
        "that of the margins (default: mean one)",
    )
    group.add_argument(
        "--codebook",
        metavar="FILE",
        help="JSON that says what the columns are (default: beside -o, as NAME.codebook.json)",
    )
    group.add_argument("--no-codebook", action="store_true", help="write no codebook")


def _population(text: str) -> float | str:
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
