"""Files that ``covshift fit`` wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exceptions import InputError

if TYPE_CHECKING:
    from ..persistence import Model


def load_model(path: str) -> Model:
    """Load a model that covshift fit wrote."""
    from ..persistence import Model, load

    model = load(path)
    if not isinstance(model, Model):
        raise InputError(
            f"{path} holds a {type(model).__name__} without the columns of a table: it was "
            "saved in Python. Load it there with covshift.load, or make a model with covshift fit."
        )
    return model
