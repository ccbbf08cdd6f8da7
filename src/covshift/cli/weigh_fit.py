"""How ``covshift weigh`` reads its files and fits the weights, for target rows and for margins."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sklearn.preprocessing import StandardScaler

from ..comparison import imbalance
from ..comparison.methods import fit_weights
from ..data import Samples
from ..data.row_weights import row_weights, target_weights
from ..encoding import encoded, scaled
from ..engine.weights import DEFAULT
from ..estimates.margins import default_weighter
from ..exceptions import InputError, OverlapWarning
from ..numerics.quiet import quiet
from ..registry import listed, weighters
from ..show.notes import Note
from ..weights import WEIGHTERS, as_weighter
from ..weights.base import Weighter
from ..weights.limits import LIMITS
from . import console, options
from .diagnose import covered_part, diagnosis_of
from .margin_samples import TrainingRows, margins_of, training_rows
from .weigh import LABELS, SIZE
from .weigh_output import Weighed


def by_rows(args: argparse.Namespace) -> Weighed:
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
        samples = covered_part(samples, diagnosis.rows, "Weights for")
        diagnosis = diagnosis_of(samples, args)
    rows = row_weights(len(samples.X), samples.weight)
    target = target_weights(len(samples.X_target), samples.target_weight)
    both = Samples.of_rows(samples.X, samples.X_target, encoder=samples.encoding.encoder)
    scaler = StandardScaler().fit(both.X, sample_weight=rows.w)
    X, T = (scaled(scaler, encoded(part, both.one_feature)) for part in (both.X, both.T))
    with quiet(OverlapWarning):  # the diagnosis has said it, in the units of the table
        fitted = fit_weights(
            _weighter_of(args), X, None, T, None, args.seed, rows=rows, target=target
        )
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
            **_cost_of(fitted, list(both.names)),
        },
        args.method,
        target_rows=target,
        population=args.sum_to,
        verdict=diagnosis.verdict,
        notes=samples.notes,
    )


def by_margins(args: argparse.Namespace) -> Weighed:
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
            **_cost_of(fitted),
        },
        args.method,
        population=population,
        notes=notes,
    )


def _of_estimate(
    args: argparse.Namespace, read: TrainingRows, margins: Any, notes: list[Note]
) -> Weighter:
    """Take the weighter that `estimate` would, and its name."""
    samples = Samples.of(read.frame, None, margins, sample_weight=read.weights.w)
    weighter, more = default_weighter(samples)
    args.method = next(entry.name for entry in weighters() if entry.load() is type(weighter))
    console.tell(*more)
    notes += more
    return weighter


def _asked(args: argparse.Namespace) -> Weighter:
    weighter: Weighter = _weighter_of(args)
    if "allow_no_overlap" in weighter.get_params(deep=False):
        weighter.set_params(allow_no_overlap=True)
    if args.by is not None:
        if "by" not in weighter.get_params(deep=False):
            raise InputError(f"--by is for poststratification, not {args.method}.")
        weighter.set_params(by=[name.strip() for name in args.by.split(",")])
    return weighter


# ``--limits`` of ``covshift weigh``: bounds of the weights, and what they cost.


def _weighter_of(args: argparse.Namespace) -> Any:
    """Make the weighter that --method names, with --limits."""
    weighter = as_weighter(args.method)
    if args.limits is None:
        return weighter
    if "limits" not in weighter.get_params(deep=False):
        able = [name for name in WEIGHTERS if "limits" in WEIGHTERS[name]().get_params(deep=False)]
        raise InputError(f"--limits is for {listed(able)}, not {args.method}.")
    if not LIMITS.allows(args.limits):
        raise InputError(
            f"--limits {args.limits[0]:g} {args.limits[1]:g} must be a low and a high bound, with "
            "0 <= low <= 1 <= high and low < high: the mean of the factors is one."
        )
    return weighter.set_params(limits=tuple(args.limits))


def _cost_of(fitted: Any, names: Sequence[str] = ()) -> dict[str, Any]:
    """What the limits cost, for --json; columns of an array by their ``names``."""
    cost = getattr(fitted, "balance_cost_", None)
    if cost is None:
        return {}
    found = asdict(cost)
    number = found["worst"].removeprefix("column ")
    if names and number.isdigit():
        found["worst"] = repr(names[int(number)])
    return {"limits": found}
