"""Jackknife+ of a kernel machine from one fit: its leave-one-out predictions in closed form."""

from __future__ import annotations

from typing import Any

from .._types import Real
from ..exceptions import InputError
from .data import LabelledRows


def closed_form(estimator: Any, rows: LabelledRows) -> Any:
    """Return what predicts rows without each training row, or None where it takes refits."""
    if not hasattr(estimator, "leave_one_out"):
        return None
    given: dict[str, Any] = {} if rows.design is None else {"sample_weight": rows.design}
    if rows.target is not None:
        given |= {"X_target": (rows.target,), **rows.of_target}
    try:
        return estimator.leave_one_out(rows.X, rows.y, **given)
    except InputError:  # it says which of its forms have none
        return None


def columns(values: Real) -> list[Real]:
    """Return one array of the new rows for each row left out: N of (m,) or (m, K)."""
    return [values[:, i] for i in range(values.shape[1])]
