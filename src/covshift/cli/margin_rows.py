"""Training rows beside a file of margins: the columns that these know, and some others."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from .._tables.frame import TableFrame, read_known
from .._tables.samples import _weights
from .._types import Real
from ..exceptions import InputError
from ..margins import Margins
from ..margins.cells import Categories
from ..margins.files import read_margins
from . import console, options


def margins_of(args: argparse.Namespace, *, beside: tuple[str, ...] = ()) -> Margins:
    """Read the margins, without columns that --drop names or that stand ``beside`` the features."""
    if args.target_weight is not None:
        raise InputError("--target-weight is for target rows, and margins have none.")
    margins = read_margins(args.target)
    outside = [name for name in margins.columns if name in (*args.drop, *beside)]
    if not outside:
        return margins
    named = ", ".join(map(repr, outside))
    console.note(f"the margins of {named} are not used: no features, or dropped.")
    kept = [name for name in margins.columns if name not in outside]
    if not kept:
        raise InputError(f"{args.target} has no margin besides those of {named}.")
    return margins.select(kept)


def training_rows(
    args: argparse.Namespace, margins: Margins, roles: Mapping[str, Any]
) -> tuple[TableFrame, Any]:
    """Read the columns that the margins know, as what the margins say they are.

    ``roles`` are columns besides, with their kinds; --weight and --id are read as well.
    """
    kinds: dict[str, Any] = {}
    for name in margins.columns:
        margin = margins.margin(name)
        category = margin is not None and isinstance(margin.cells, Categories)
        number = "date" if name in args.date else "number"
        kinds[name] = "category" if category else number
    roles = dict(roles)
    if args.weight is not None:
        roles[args.weight] = "number"
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


def design_weights(args: argparse.Namespace, table: Any) -> Real | None:
    """Return the column that --weight names."""
    return _weights(table, args.weight)
