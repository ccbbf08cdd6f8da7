"""``covshift weigh`` with a file of margins in place of target rows."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from .._registry import MARGINS, listed, weighters
from .._row_weights import repeated, row_weights
from .._tables.frame import TableFrame, read_known
from .._tables.samples import frequencies_of, weights_of
from .._types import Real
from ..exceptions import InputError
from ..margins import Margins
from ..margins.cells import Categories
from ..margins.files import read_margins
from ..weights import as_weighter, effective_sample_size
from . import console, options


def weighed(args: argparse.Namespace) -> tuple[Real, Any, dict[str, Any]]:
    """Return the weights, the ids where there are any, and what is worth knowing."""
    able = [entry.name for entry in weighters() if MARGINS in entry.can]
    if args.method not in able:
        raise InputError(
            f"The weighter {args.method!r} needs rows of the target, and {args.target} holds "
            f"margins. Use {listed(able)}."
        )
    options.refuse_target_weights(args)
    margins = read_margins(args.target)
    for found in margins.notes:
        console.tell(found)
    frame, table = _training_rows(args, margins)
    rows = row_weights(
        len(frame),
        weights_of(table, args.weight),
        frequencies_of(table, args.frequency, "--frequency"),
    )
    again = repeated(rows.repeats, "--frequency")
    frame = frame.take(again)  # rows of weight zero are not there
    weighter = as_weighter(args.method)
    if "allow_no_overlap" in weighter.get_params(deep=False):
        weighter.set_params(allow_no_overlap=True)
    if args.by is not None:
        if "by" not in weighter.get_params(deep=False):
            raise InputError(f"--by is for poststratification, not {args.method}.")
        weighter.set_params(by=[name.strip() for name in args.by.split(",")])
    d = rows.design[again]
    fitted = weighter.fit(frame, X_target=margins, sample_weight=d)
    factor = np.zeros(len(rows.repeats))
    factor[again] = fitted.weights_
    w = rows.final(factor)
    before, after = (_largest(margins, frame, weight) for weight in (d, w[again]))
    facts = {
        "method": args.method,
        "n_train": rows.rows,
        "n_written": len(w),
        "effective_sample_size": effective_sample_size(w[again]),
        "largest_weight": float(w.max()),
        "gap_before": before[0],
        "gap_after": after[0],
        "worst_after": after[1],
    }
    return w, None if args.id is None else table.columns[args.id].values, facts


def summary(facts: dict[str, Any], path: str | None) -> str:
    """Say how good the weights are."""
    written = f"\nWrote {facts['n_written']} weights, mean one, to {path}." if path else ""
    return (
        f"Effective sample size {facts['effective_sample_size']:.0f} of {facts['n_train']} rows, "
        f"largest weight {facts['largest_weight']:.2f} ({facts['method']}).\n"
        f"Largest difference from the margins: {facts['gap_before']:.3f} before, "
        f"{facts['gap_after']:.2g} after weighting ({facts['worst_after']}).{written}"
    )


def _training_rows(args: argparse.Namespace, margins: Margins) -> tuple[TableFrame, Any]:
    """Read the columns that the margins know, as what the margins say they are."""
    kinds: dict[str, Any] = {}
    for name in margins.columns:
        margin = margins.margin(name)
        category = margin is not None and isinstance(margin.cells, Categories)
        number = "date" if name in args.date else "number"
        kinds[name] = "category" if category else number
    roles: dict[str, Any] = {}
    roles |= {name: "number" for name in (args.weight, args.frequency) if name is not None}
    if args.id is not None:
        roles[args.id] = "text"
    frame, table = read_known(args.train, kinds, roles, options.read_options_of(args))
    named = getattr(args, "label", None)
    beside = {*kinds, *roles, *args.drop, *([named] if named else [])}
    free = [name for name in table.names if name not in beside]
    if free:
        shown = ", ".join(map(repr, free[:8])) + (" ..." if len(free) > 8 else "")
        console.note(f"no margin tells about {shown}: the weights do nothing for these columns.")
    return frame, table


def _largest(margins: Margins, frame: TableFrame, weight: Real) -> tuple[float, str]:
    rows = margins.balance(frame, weight)
    worst = max(rows, key=lambda row: abs(row.gap))
    return abs(worst.gap), worst.what
