"""Columns with a role that nobody has named: weights, and known outcomes of the target."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ..show.notes import Note
from .cells import Cells
from .decisions import Undo, in_both, undo_by_target

_WEIGHTS = re.compile(
    r"(?:(?:per|person|pers|p|hh|household|d|design|pspw?|post|final|fn|f|samp|sample|sampling|"
    r"survey|svy|base|analysis|asec|earn|rep|norm|ipw?|inverse)[ _.]?"
    r"(?:weight|weights|wgt|wgh?t|wt|wts|lwgt)|wtss(?:all|nr|ps)?|wt(?:int|mec)[0-9]*(?:yr|prp)?|"
    r"pwgtp?|wgtp|wgt|weights)(?:[ _.]?[0-9]*)"
)
_MAYBE = re.compile(r"(?:weight|wt)")  # of a survey, or of a body


def weights_by_name(pair: Mapping[str, Cells], name: str) -> tuple[bool, Note] | None:
    """Return whether a column is left out as survey weights, and the note on it; None: no weights.

    ``pair`` are its cells in the samples that have it, by "weight" and "target weight".
    """
    plain = name.strip().lower()
    sure = _WEIGHTS.fullmatch(plain) is not None
    if not (sure or _MAYBE.fullmatch(plain)) or not all(map(_may_weigh, pair.values())):
        return None

    def note(undo: Undo) -> Note:
        uses = ", ".join(undo(name, role) for role in pair)
        text = f"{name!r} is used as any other column; if it holds survey weights: {uses}."
        if len(pair) == 1:
            text = f"If {name!r} holds survey weights: {uses}."
        elif sure:
            text = (
                f"Left out {name!r}: looks like survey weights. To use them as such: {uses}; as "
                f"any other column: {undo(name, 'number')}."
            )
        return Note("weights", text)

    return sure or len(pair) == 1, in_both(note, undo_by_target)


def _may_weigh(cells: Cells) -> bool:
    if cells.kind != "number" or not len(cells):
        return False
    values = cells.values
    return bool(np.isfinite(values).all() and values.min() >= 0 and values.max() > values.min())


def unread_outcome(title: str, name: str, known: int, rows: int) -> list[Note]:
    """Say that outcomes of the target are known, and were not used."""

    def note(undo: Undo) -> Note:
        text = (
            f"{title} has the outcome {name!r} in {known:,} of {rows:,} rows, which were not used; "
            f"{undo(name, 'target outcome')} uses them."
        )
        return Note("known outcomes", text)

    return [in_both(note, undo_by_target)] if known else []
