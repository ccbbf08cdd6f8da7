"""Training rows beside a file of margins: the columns that these know, and some others."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._row_weights import RowWeights, row_weights
from .._tables.columns import Kind
from .._tables.declared import named_dates
from .._tables.frame import TableFrame, read_known
from .._tables.samples import repeats_of, weights_of
from .._tables.table import Table, notes_of
from .._types import Rows
from ..exceptions import InputError
from ..margins import Margins
from ..margins.cells import Categories
from ..margins.files import read_margins
from . import console, options


def margins_of(args: argparse.Namespace, *, beside: tuple[str, ...] = ()) -> Margins:
    """Read the margins, without columns that --drop names or that stand ``beside`` the features."""
    options.refuse_target_weights(args)
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


def kinds_of(margins: Margins, args: argparse.Namespace) -> dict[str, Kind]:
    """Say what each column of the margins is read as."""
    kinds: dict[str, Kind] = {}
    dates = named_dates(args.date)
    for name in margins.columns:
        margin = margins.margin(name)
        category = margin is not None and isinstance(margin.cells, Categories)
        number: Kind = "date" if name in dates else "number"
        kinds[name] = "category" if category else number
    return kinds


@dataclass(frozen=True)
class TrainingRows:
    """Rows of a file, each as often as it was seen; rows of weight zero are not there."""

    frame: TableFrame  # of the columns that the margins know
    table: Table  # the whole file
    weights: RowWeights  # of the frame's rows
    again: Rows  # row of the file that each row of the frame is

    def taken(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the file's rows, for the rows of the frame."""
        return values[self.again]


def training_rows(
    args: argparse.Namespace, margins: Margins, roles: Mapping[str, Any]
) -> TrainingRows:
    """Read the columns that the margins know, as what the margins say they are.

    ``roles`` are columns besides, with their kinds; --weight, --frequency and --id are read as
    well.
    """
    kinds = kinds_of(margins, args)
    roles = dict(roles)
    roles |= {name: "number" for name in (args.weight, args.frequency) if name is not None}
    if args.id is not None:
        roles[args.id] = "text"
    frame, table = read_known(args.train, kinds, roles, options.read_options_of(args))
    for note in notes_of(table):
        if note.kind != "identifiers":  # of columns that no margin knows
            console.tell(note)
    named = getattr(args, "label", None)
    for option, name in (("--label", named), *(("--drop", name) for name in args.drop)):
        if name is not None and name not in (*table.names, *read_margins(args.target).columns):
            raise InputError(f"{args.train} has no column {name!r}, which {option} names.")
    beside = {*kinds, *roles, *args.drop, *([named] if named else [])}
    free = [name for name in table.names if name not in beside]
    if free:
        shown = ", ".join(map(repr, free[:8])) + (" ..." if len(free) > 8 else "")
        console.note(f"no margin tells about {shown}: the weights do nothing for these columns.")
    weight, again = weights_of(table, args.weight), repeats_of(table, args.frequency)
    again = np.arange(len(frame)) if again is None else again
    weights = row_weights(len(again), None if weight is None else weight[again])
    kept = np.flatnonzero(weights.kept)
    again, weights = again[kept], weights.take(kept)
    return TrainingRows(frame.take(again), table, weights, again)
