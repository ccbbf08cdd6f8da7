"""Batches of the target, such as months: their labels, their rows, and what to know of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._frames import column_label, select
from .._types import Rows
from .._validation import column_names, unwrap_target
from ..data.columns import check_outcomes
from ..exceptions import InputError
from ..show.notes import Note
from ..show.words import in_order
from .result import Evaluations

_NAMED = 5  # batches that a note names


def labels_of_batches(batch: Any, X: Any, X_target: Any) -> tuple[Any, Any]:
    """Return one label per target row, and the target without the column that only held them."""
    if not isinstance(batch, str):
        return batch, X_target
    target = unwrap_target(X_target)
    names = column_names(target) or []
    if batch not in names:
        raise InputError(
            f"batch={batch!r} names a column, but X_target has none of this name. Pass one "
            "label per target row."
        )
    labels = target[column_label(target, batch)]
    if batch in (column_names(X) or []):  # a feature as well
        return labels, X_target
    return labels, select(target, [name for name in names if name != batch])


def rows_of_batches(labels: Any, size: int) -> list[tuple[str, Rows]]:
    """Return the labels in their order (`in_order`), each with its target rows."""
    found = check_outcomes(labels, size, numbers=False, title="batch", of="X_target")
    if len(found) > 1 or found[0].missing:
        raise InputError("batch needs one label for every target row; some are missing.")
    y = found[0].y
    return [(label, np.flatnonzero(y == label)) for label in in_order(set(y.tolist()))]


def single_rows(batches: dict[str, Evaluations]) -> Iterator[Note]:
    """Warn of batches of which nobody knows how their rows differ."""
    single = [label for label, part in batches.items() if part.n_target == 1]
    if single:
        more = f" and {len(single) - _NAMED} more" if len(single) > _NAMED else ""
        text = (
            f"Batches of a single target row: {', '.join(single[:_NAMED])}{more}. Their intervals "
            "say nothing about how rows of the batch differ."
        )
        yield Note("batch", text, "warning")
