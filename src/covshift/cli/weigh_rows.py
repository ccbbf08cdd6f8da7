"""``covshift weigh`` with rows of the target."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from .._both_samples import BothSamples
from .._replicates import Replicates
from .._row_weights import RowWeights, row_weights, target_weights
from .._tables import Samples
from .._types import Real, Rows
from ..comparison import imbalance
from ..comparison.methods import fit_weights
from ..diagnostics import RowFlags
from ..encoding import encoded, scaled
from ..estimates.weighing import DEFAULT
from ..exceptions import InputError, NoOverlapError
from ..show.notes import Note
from ..show.words import percent
from ..weights import effective_sample_size
from ..weights.base import Weighter
from . import console, options
from .diagnose import diagnosis_of
from .limits import cost_line, cost_of, weighter_of
from .row_flags import covered_part
from .weigh_options import SIZE
from .weigh_replicates import replicates_of, unfitted
from .weighed import Weighed


def weighed(args: argparse.Namespace) -> Weighed:
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
        _said(facts),
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


def _said(facts: dict[str, object]) -> str:
    return (
        f"Shift: {facts['verdict']}.\n"
        f"Effective sample size {facts['effective_sample_size']:.0f} of {facts['n_train']} rows, "
        f"largest weight {facts['largest_weight']:.2f} ({facts['method']}).\n"
        "Balance, how far the means are from the target's on average, in standard deviations: "
        f"{facts['smd_before']:.3f} before, {facts['smd_after']:.3f} after weighting."
        f"{cost_line(facts)}"
    )
