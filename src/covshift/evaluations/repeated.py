"""What `evaluate` was given for rows with frequencies, for the repeated rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._repeats import Repeats
from ..exceptions import InputError
from .result import Evaluations


def repeated_scores(model: Any, repeats: Repeats, name: str) -> Any:
    """Repeat scores, of one model or of several by name; a model makes its own."""
    if isinstance(model, Mapping):
        return {key: repeated_scores(one, repeats, name) for key, one in model.items()}
    if hasattr(model, "predict") or isinstance(model, type) or not hasattr(model, "__len__"):
        return model
    return next(repeats.each(**{name: model}))


def refuse_listed_folds(cv: Any, repeats: Repeats) -> None:
    """Refuse folds that are lists of row numbers, which are not those of the repeats."""
    if repeats.again is not None and not (
        cv is None or isinstance(cv, int) or hasattr(cv, "split")
    ):
        raise InputError(
            "cv lists row numbers, and frequency_weight repeats the rows. Pass a number of folds "
            "or a splitter."
        )


def of_given_rows(found: Evaluations, train: Repeats) -> Evaluations:
    """Return one weight per given row: that of one of its repeats."""
    parts = {name: of_given_rows(part, train) for name, part in found.batches.items()}
    return replace(found, weights=train.mean_of_repeats(found.weights), batches=parts)
