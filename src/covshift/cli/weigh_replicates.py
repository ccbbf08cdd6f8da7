"""Replicate weights of the rows of a file, as the options of ``covshift weigh`` ask for them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._influence import Design
from .._replicates import Fit, Replicates, replicate
from .._types import Real, Rows
from ..data.columns import texts
from ..exceptions import InputError
from ..weights.base import Weighter
from . import console


def replicates_of(
    args: argparse.Namespace,
    weighter: Weighter,
    fit: Fit,
    d: Real,
    again: Rows,
    labels: Mapping[str, NDArray[Any] | None],
    target_rows: int | None,
    lines: int,
) -> Replicates | None:
    """Make the replicates that were asked for; ``target_rows`` None: the target has none.

    The fit is that of rows with design weights ``d``, each line of the file as often as it was seen
    (``again``): a line gets the mean weight of these. ``labels`` are the strata and clusters of the
    ``lines``.
    """
    if args.replicates is None:
        return None
    if not weighter._takes_sample_weight:
        raise InputError(
            f"--replicates fits the weights again to other design weights, which {args.method} "
            "does not take. Use --method cdf, entropy or another that takes them."
        )
    strata, cluster = (
        None if labels.get(option) is None else texts(labels[option], lines, option, args.train)
        for option in ("--strata", "--cluster")
    )
    design = Design.of(
        len(again),
        None if strata is None else strata[again],
        None if cluster is None else cluster[again],
    )
    if design.lonely:
        console.note(f"{design.lonely} strata have a single unit, which stays in every replicate.")

    def of_lines(w: Real) -> Real:
        times = np.bincount(again, minlength=lines)
        return np.bincount(again, weights=w, minlength=lines) / np.maximum(times, 1)

    found = replicate(
        fit,
        d,
        design,
        None if target_rows is None or args.finite_population else Design.simple(target_rows),
        kind=args.replicate_method or "bootstrap",
        count=args.replicates,
        random_state=args.seed,
        of_lines=of_lines,
        verbose=not console.quiet,
    )
    if found.redrawn:
        console.warn(
            f"in {found.redrawn} of {found.count + found.redrawn} draws no weights were found, "
            "such as for lack of overlap; others were drawn in place of them."
        )
    if found.unconverged:
        console.warn(f"the fit of {found.unconverged} of {found.count} replicates stopped early.")
    return found


def unfitted(fitted: Weighter) -> Weighter:
    """Return a weighter for the draws: where the sample has overlap, each of them must have it."""
    made: Weighter = clone(fitted)
    if getattr(fitted, "overlap_", False) and "allow_no_overlap" in made.get_params(deep=False):
        made.set_params(allow_no_overlap=False)
    return made
