"""``covshift weigh`` with a file of margins in place of target rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..data import Samples
from ..estimates.margins import default_weighter
from ..exceptions import InputError
from ..files.table import Table
from ..margins import Margins
from ..numerics.array import Real
from ..registry import MARGINS, listed, weighters
from ..show.notes import Note
from ..weights import effective_sample_size
from ..weights.base import Weighter
from . import console
from .margin_samples import TrainingRows, margins_of, training_rows
from .weigh_output import (
    LABELS,
    SIZE,
    Weighed,
    cost_line,
    cost_of,
    replicates_of,
    unfitted,
    weighter_of,
)

_MET = 1e-6  # difference from a share that is none


def weigh_by_margins(args: argparse.Namespace) -> Weighed:
    """Read the training rows and the margins, and weigh the rows."""
    able = [entry.name for entry in weighters() if MARGINS in entry.can]
    if args.method is not None and args.method not in able:
        raise InputError(
            f"The weighter {args.method!r} needs rows of the target, and {args.target} holds "
            f"margins. Use {listed(able)}."
        )
    margins = margins_of(args)
    notes = [*margins.notes]
    for found in notes:
        console.tell(found)
    population = _population(args, margins)
    named = {f"--{option}": getattr(args, option) for option in LABELS if getattr(args, option)}
    others = [name for name in named.values() if name not in margins.columns]
    rows = training_rows(args, margins, dict.fromkeys(others, "text"))
    if args.as_estimate:
        weighter, more = _of_estimate(args, rows, margins)
        notes += more
    else:
        weighter = _asked(args)
    fitted = weighter.fit(rows.frame, X_target=margins, sample_weight=rows.weights.w)
    w = rows.weights.final(fitted.weights_)
    before, after = (_largest(margins, rows.frame, weight) for weight in (rows.weights.w, w))
    facts = {
        "method": args.method,
        "n_train": len(rows.frame),
        "n_written": len(rows.table),
        "effective_sample_size": effective_sample_size(w),
        "largest_weight": float(w.max()),
        "gap_before": before[0],
        "gap_after": after[0],
        "worst_after": after[1],
        **cost_of(fitted),
    }
    made = unfitted(fitted)

    def fit(d: Real, _: Real | None) -> Real:
        found: Real = made.fit(rows.frame, X_target=margins, sample_weight=d).weights_
        return found

    labels = {option: rows.table.columns[name].values for option, name in named.items()}
    return Weighed(
        rows.weights,
        rows.again,
        len(rows.table),
        fitted.weights_,
        fitted,
        None if args.id is None else rows.table.columns[args.id].values,
        facts,
        _said(facts),
        margins.columns,
        {
            "kind": "margins",
            "file": Path(args.target).name,
            "columns": margins.columns,
            "size": margins.size,
            "source": margins.source,
        },
        replicates_of(args, fitted, fit, rows.weights.w, rows.again, labels, None, len(rows.table)),
        population,
        notes=notes,
    )


def _of_estimate(
    args: argparse.Namespace, rows: TrainingRows, margins: Margins
) -> tuple[Weighter, tuple[Note, ...]]:
    """Take the weighter that `estimate` would, and its name."""
    samples = Samples.of(rows.frame, None, margins, sample_weight=rows.weights.w)
    weighter, notes = default_weighter(samples)
    args.method = next(entry.name for entry in weighters() if entry.load() is type(weighter))
    for note in notes:
        console.tell(note)
    return weighter, notes


def _asked(args: argparse.Namespace) -> Weighter:
    weighter: Weighter = weighter_of(args)
    if "allow_no_overlap" in weighter.get_params(deep=False):
        weighter.set_params(allow_no_overlap=True)
    if args.by is not None:
        if "by" not in weighter.get_params(deep=False):
            raise InputError(f"--by is for poststratification, not {args.method}.")
        weighter.set_params(by=[name.strip() for name in args.by.split(",")])
    return weighter


def _population(args: argparse.Namespace, margins: Margins) -> float | None:
    """Size that the weights are to sum to, if any."""
    if args.sum_to != SIZE:
        found: float | None = args.sum_to
        return found
    if margins.size is None:
        raise InputError(f"--sum-to size: {args.target} has no size. Name the population's size.")
    return margins.size


def _said(facts: dict[str, Any]) -> str:
    gap, where = facts["gap_after"], facts["worst_after"]
    after = f"{gap:.2g} after weighting ({where})" if gap > _MET else "none after weighting"
    return (
        f"Effective sample size {facts['effective_sample_size']:.0f} of {facts['n_train']} rows, "
        f"largest weight {facts['largest_weight']:.2f} ({facts['method']}).\n"
        f"Largest difference from the margins: {facts['gap_before']:.3f} before, "
        f"{after}.{cost_line(facts)}"
    )


def _largest(margins: Margins, frame: Table, weight: Real) -> tuple[float, str]:
    rows = margins.balance(frame, weight)
    worst = max(rows, key=lambda row: abs(row.gap))
    return abs(worst.gap), worst.what
