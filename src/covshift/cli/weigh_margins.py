"""``covshift weigh`` with a file of margins in place of target rows."""

from __future__ import annotations

import argparse
from typing import Any

from .._registry import MARGINS, listed, weighters
from .._tables.frame import TableFrame
from .._types import Real
from ..exceptions import InputError
from ..margins import Margins
from ..weights import effective_sample_size
from . import console
from .limits import cost_line, cost_of, weighter_of
from .margin_rows import margins_of, training_rows


def weighed(args: argparse.Namespace) -> tuple[Real, Any, dict[str, Any]]:
    """Return the weights, the ids where there are any, and what is worth knowing."""
    able = [entry.name for entry in weighters() if MARGINS in entry.can]
    if args.method not in able:
        raise InputError(
            f"The weighter {args.method!r} needs rows of the target, and {args.target} holds "
            f"margins. Use {listed(able)}."
        )
    margins = margins_of(args)
    for found in margins.notes:
        console.tell(found)
    rows = training_rows(args, margins, {})
    weighter = weighter_of(args)
    if "allow_no_overlap" in weighter.get_params(deep=False):
        weighter.set_params(allow_no_overlap=True)
    if args.by is not None:
        if "by" not in weighter.get_params(deep=False):
            raise InputError(f"--by is for poststratification, not {args.method}.")
        weighter.set_params(by=[name.strip() for name in args.by.split(",")])
    fitted = weighter.fit(rows.frame, X_target=margins, sample_weight=rows.design)
    w = rows.weights.final(rows.spread(fitted.weights_))
    gaps = (_largest(margins, rows.frame, weight) for weight in (rows.design, rows.taken(w)))
    before, after = gaps
    facts = {
        "method": args.method,
        "n_train": len(rows.frame),
        "n_written": len(w),
        "effective_sample_size": effective_sample_size(rows.taken(w)),
        "largest_weight": float(w.max()),
        "gap_before": before[0],
        "gap_after": after[0],
        "worst_after": after[1],
        **cost_of(fitted),
    }
    return w, None if args.id is None else rows.table.columns[args.id].values, facts


def summary(facts: dict[str, Any], path: str | None) -> str:
    """Say how good the weights are."""
    written = f"\nWrote {facts['n_written']} weights, mean one, to {path}." if path else ""
    return (
        f"Effective sample size {facts['effective_sample_size']:.0f} of {facts['n_train']} rows, "
        f"largest weight {facts['largest_weight']:.2f} ({facts['method']}).\n"
        f"Largest difference from the margins: {facts['gap_before']:.3f} before, "
        f"{facts['gap_after']:.2g} after weighting ({facts['worst_after']})."
        f"{cost_line(facts)}{written}"
    )


def _largest(margins: Margins, frame: TableFrame, weight: Real) -> tuple[float, str]:
    rows = margins.balance(frame, weight)
    worst = max(rows, key=lambda row: abs(row.gap))
    return abs(worst.gap), worst.what
