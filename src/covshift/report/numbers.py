"""What stands in the page as JSON: everything that it shows, for programs."""

from __future__ import annotations

from typing import Any

from .._types import Real
from ..weights._design import kish
from .evaluation import Table


def data_of(found: Any) -> Any:
    """Return a result as plain data, or why there is none."""
    if found is None:
        return None
    return {"refused": str(found)} if isinstance(found, Exception) else found.to_dict()


def data_of_table(table: Table) -> list[dict[str, Any]]:
    """Return the lines of a table of numbers, by the names of its columns."""
    return [
        {
            name: cell.text if k == 0 else cell.number
            for k, (name, cell) in enumerate(zip(table.head, row, strict=True))
        }
        for row in table.rows
    ]


def of_weights(weights: Real) -> dict[str, float]:
    """Return how unequal weights are; the largest in units of their mean."""
    return {
        "effective_sample_size": kish(weights),
        "largest_weight": float(weights.max() / weights.mean()),
    }
