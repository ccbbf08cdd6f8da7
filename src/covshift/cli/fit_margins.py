"""``covshift fit`` with a file of margins in place of target rows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._registry import AUTO
from .._tables import Encoding, Samples, read_table
from .._types import Real
from ..exceptions import InputError
from ..margins import Margins
from ..margins.cells import OTHER, Brackets, Categories, level_of
from ..margins.files import read_margins
from ..margins.kinds import Margin, Moments
from . import console, options


def read(args: argparse.Namespace) -> tuple[Samples, Margins]:
    """Read the training rows, encoded by themselves, and the margins."""
    if args.method == AUTO:
        raise InputError(
            f"--method {AUTO} compares methods on rows of the target, and {args.target} holds "
            "margins. Name one, such as --method blended or --method cdf."
        )
    options.refuse_target_weights(args)
    if args.train == "-":
        raise InputError("With margins the training rows must be a file, not standard input (-).")
    margins = read_margins(args.target)
    for found in margins.notes:
        console.tell(found)
    _refuse_absent(margins, read_table(args.train, {}, options.read_options_of(args)).names, args)
    levels = [name for name in margins.columns if _is_category(margins, name)]
    numbers = [name for name in margins.columns if name not in levels and name not in args.date]
    args.categorical = list(dict.fromkeys([*args.categorical, *levels]))
    args.numeric = list(dict.fromkeys([*args.numeric, *numbers]))
    args.target = args.train  # a sample that is its own target: encoded by its own levels
    samples = options.samples_of(args, alone=True)
    _refuse_absent(margins, samples.encoding.names, args)
    free = [name for name in samples.encoding.names if name not in margins.columns]
    if free:
        shown = ", ".join(map(repr, free[:8])) + (" ..." if len(free) > 8 else "")
        console.note(f"no margin tells about {shown}: no correction is made for these columns.")
    return samples, margins


def encoded(margins: Margins, encoding: Encoding, center: Real, scale: Real) -> Margins:
    """Return the margins of the columns of X, standardised, by their numbers.

    A level's column holds two values, each with its share. Levels that are part of "(other)" have
    no share of their own.
    """
    found: dict[str, Margin | Moments] = {}
    at = 0
    for feature in encoding.features:
        part: Any = margins.single.get(feature.name) or margins.margin(feature.name)
        if isinstance(part, Moments):
            sd = None if part.sd is None else float(part.sd / scale[at])
            found[str(at)] = Moments(float((part.mean - center[at]) / scale[at]), sd)
        elif isinstance(part, Margin) and isinstance(part.cells, Categories):
            _check_levels(part, feature.name, feature.levels)
            for k, level in enumerate(feature.levels):
                if level_of(level) in part.cells.levels:
                    share = float(part.share[part.cells.levels.index(level_of(level))])
                    values = (np.array([0.0, 1.0]) - center[at + k]) / scale[at + k]
                    cells = Brackets(np.append(-np.inf, values[:1]), values, True, True)
                    found[str(at + k)] = Margin(cells, np.array([1 - share, share]))
        elif isinstance(part, Margin) and isinstance(part.cells, Brackets):
            own = part.cells
            low, high = ((end - center[at]) / scale[at] for end in (own.lower, own.upper))
            cells = Brackets(low, high, own.right, own.points)
            found[str(at)] = Margin(cells, part.share)
        at += len(feature.columns)
    return Margins.of(found, size=margins.size, source=margins.source)


def verdict_of(X: Real, margins: Margins) -> str:
    """Return "no overlap" where cells of the target have no training rows, else that none is known.

    How strong a shift is takes rows of the target to say.
    """
    import warnings

    from ..margins.reading import cell_columns
    from ..weights import CDFWeights

    if cell_columns(margins):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = CDFWeights(allow_no_overlap=True).fit(X, X_target=margins)
        if not fitted.overlap_:
            console.warn(
                "NO OVERLAP: part of the target lies where there are no training rows. No "
                "correction can tell what happens there; predictions for those rows are guesses."
            )
            return "no overlap"
    return "not diagnosed, since margins have no rows"


def _refuse_absent(margins: Margins, names: Sequence[str], args: argparse.Namespace) -> None:
    absent = [name for name in margins.columns if name not in names]
    if absent:
        raise InputError(
            f"The margins have {', '.join(map(repr, absent))}, which are no features of "
            f"{args.train}. Leave them out of the margins, or rename them."
        )


def _is_category(margins: Margins, name: str) -> bool:
    margin = margins.margin(name)
    return margin is not None and isinstance(margin.cells, Categories)


def _check_levels(part: Margin, name: str, levels: tuple[str, ...]) -> None:
    cells, seen = part.cells, {level_of(level) for level in levels}
    assert isinstance(cells, Categories)
    for level, share in zip(cells.levels, part.share, strict=True):
        if level not in seen and level != OTHER and share > 0:
            console.warn(f"{share:.2%} of the target has {name!r} {level!r}, and no training row.")
    unknown = cells.unknown(seen)
    if unknown:
        raise InputError(
            f"The column {name!r} has {', '.join(map(repr, unknown[:5]))}, and the margins know "
            f"{', '.join(map(repr, cells.levels[:5]))}. Spell them alike, or give the margins a "
            "category '(other)'."
        )
