"""Replicate weights of the rows of a file, as the options of ``covshift weigh`` ask for them."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from ..data.columns import texts
from ..exceptions import InputError
from ..numerics.array import Real, take_rows
from ..numerics.influence import Design
from ..numerics.resampling import Kind, Replicates, replicate
from ..weights.base import Weighter
from . import console
from .weigh import LABELS, Arguments
from .weigh_output import MET, Weighed


def replicates_of(weighed: Weighed, options: Arguments) -> Replicates | None:
    """Fit the weights again, as often as was asked for: to draws of the rows that have a weight.

    A line of the file gets the mean weight of the rows that it became.
    """
    if options.replicates is None:
        return None
    if not weighed.weighter._takes_sample_weight:
        raise InputError(
            f"--replicates fits the weights again to other design weights, which {weighed.method} "
            "does not take. Use --method cdf, entropy or another that takes them."
        )
    solve_equation = weighed.weighter._has_mean_influence() or (
        weighed.target["kind"] == "margins" and weighed.balance["gap_after"] <= MET
    )
    if options.replicate_method == "bootstrap" and not solve_equation:
        raise InputError(
            f"--replicate-method bootstrap would understate the errors of {weighed.method} "
            "weights, by up to half: fitted again, they take back part of what a draw gives a row. "
            "Leave it out for a jackknife, or use --method entropy."
        )
    kind: Kind = options.replicate_method or ("bootstrap" if solve_equation else "jackknife")
    kept, lines = np.flatnonzero(weighed.rows.kept), weighed.lines
    again, X, T = weighed.again[kept], take_rows(weighed.X, kept), weighed.T
    v = None
    if weighed.target_rows is not None:
        there = np.flatnonzero(weighed.target_rows.kept)
        T, v = T[there], weighed.target_rows.w[there]
    made = _unfitted(weighed.weighter)

    def fit(d: Real, drawn: Real | None) -> Real:
        given = {} if v is None else {"target_weight": v if drawn is None else v * drawn}
        fitted: Real = made.fit(X, X_target=(T,), sample_weight=d, **given).weights_
        return fitted

    def of_lines(w: Real) -> Real:
        times = np.bincount(again, minlength=lines)
        return np.bincount(again, weights=w, minlength=lines) / np.maximum(times, 1)

    named = {option: vars(options)[option] for option in LABELS}
    labels = (
        None
        if name is None
        else texts(weighed.files.sample[name], lines, f"--{option}", options.train)[again]
        for option, name in named.items()
    )
    design = Design.of(len(again), *labels)
    if design.lonely:
        console.note(f"{design.lonely} strata have a single unit, which stays in every replicate.")
    if kind == "jackknife" and options.replicates > design.units:
        text = f"{options.replicates} groups of a jackknife need as many units, and there are "
        if options.replicate_method is not None:
            remedy = f"Ask for at most {design.units} replicates."
            raise InputError(f"{text}{design.units}. {remedy}")
        console.note(f"{text}{design.units}: each is left out once.")
    drawn = replicate(
        fit,
        weighed.rows.w[kept],
        design,
        None if v is None or options.finite_population else Design.simple(len(v)),
        kind=kind,
        count=options.replicates,
        random_state=options.seed,
        of_lines=of_lines,
        verbose=not console.quiet,
    )
    count = drawn.plan.count
    if drawn.redrawn:
        console.warn(
            f"in {drawn.redrawn} of {count + drawn.redrawn} draws no weights were found, "
            "such as for lack of overlap; they were replaced by other draws."
        )
    if drawn.unconverged:
        console.warn(f"the fit of {drawn.unconverged} of {count} replicates stopped early.")
    return drawn


def _unfitted(fitted: Weighter) -> Weighter:
    """Return a weighter for the draws: where the sample has overlap, each of them must have it."""
    made: Weighter = clone(fitted)
    if getattr(fitted, "overlap_", False) and "allow_no_overlap" in made.get_params(deep=False):
        made.set_params(allow_no_overlap=False)
    return made
