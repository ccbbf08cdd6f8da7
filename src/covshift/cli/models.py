"""Files that ``covshift fit`` wrote, applied to tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def check_complete(names: list[str], model: Model, title: str) -> None:
    """Refuse a table without some of the model's columns."""
    lacking = [name for name in model.encoding.names if name not in names]
    if lacking:
        raise InputError(
            f"{title} lacks {len(lacking)} of the {len(model.encoding.names)} columns that the "
            f"model needs: {', '.join(map(repr, lacking[:12]))}. Add them, under these names."
        )


def finite(values: Any) -> Any:
    """Refuse predictions that are no numbers."""
    import numpy as np

    if not np.isfinite(values).all():
        raise InputError(
            f"{int((~np.isfinite(values)).sum())} predictions are not finite: these rows lie too "
            "far from the training rows. Check their numbers."
        )
    return values
