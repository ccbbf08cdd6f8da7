"""``covshift estimate`` with a file of margins in place of target rows."""

from __future__ import annotations

import argparse
from typing import Any

from .._tables.outcomes import read_numbers, read_outcomes
from ..estimates import Estimates, estimate
from ..exceptions import InputError
from ..registry import MARGINS, QUANTITIES, listed, weighters
from . import console
from .margin_rows import margins_of, training_rows


def estimates_of(
    args: argparse.Namespace, what: str | None, beside: tuple[tuple[str, str], ...]
) -> Estimates:
    """Estimate the quantity; columns ``beside`` (option, name) are no features."""
    _refuse(args, what)
    names = tuple(name for _, name in beside)
    margins = margins_of(args, beside=names)
    if what == "total" and args.population_size is None and margins.size is None:
        raise InputError(f"--what total needs --population-size: {args.target} has no size.")
    rows = training_rows(args, margins, dict.fromkeys(names, "category"))
    cells = {name: rows.taken(rows.table.columns[name].values) for name in names}
    categories = None if what is None else QUANTITIES[what].of_categories
    y, categories = read_outcomes(cells, args.outcome, categories=categories)
    below = None
    if args.denominator is not None:
        below = read_numbers(cells[args.denominator], args.denominator, "--denominator")
    options: dict[str, Any] = {
        "weighter": args.weighter,
        "sample_weight": None if args.weight is None else rows.weights.w,
        "strata": None if args.strata is None else cells[args.strata],
        "cluster": None if args.cluster is None else cells[args.cluster],
        "category": args.category,
        "population_size": args.population_size,
        "denominator": below,
        "q": args.quantile,
        "at": args.at,
        "reference": args.reference,
        "sensitivity": args.sensitivity,
        "max_weight": args.max_weight,
        "confidence": args.confidence,
        "errors": "influence" if args.bootstrap is None else "bootstrap",
        "n_bootstrap": 200 if args.bootstrap is None else args.bootstrap,
        "random_state": args.seed,
        "verbose": not console.quiet,
    }
    return estimate(
        rows.frame,
        y,
        margins,
        what=what or ("proportion" if categories else "mean"),
        by=args.by,
        method=args.method,
        **options,
    )


def _refuse(args: argparse.Namespace, what: str | None) -> None:
    """Say which options need target rows, and what to use instead."""
    if what == "coefficients":
        raise InputError(
            f"--what coefficients needs target rows, and {args.target} holds margins: fit the "
            "regression with the weights that `covshift weigh` writes."
        )
    if args.restrict is not None:
        raise InputError(
            f"--restrict needs target rows, and {args.target} holds margins: join cells without "
            "training rows with others, or leave out a margin with --drop."
        )
    able = [entry.name for entry in weighters() if MARGINS in entry.can]
    if args.weighter not in (None, *able):
        raise InputError(
            f"The weighter {args.weighter!r} needs rows of the target, and {args.target} holds "
            f"margins. Use {listed(able)}."
        )
