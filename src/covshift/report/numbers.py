"""What stands in the page as JSON: everything that it shows, for programs."""

from __future__ import annotations

from typing import Any

from .._types import Real
from ..diagnostics import Diagnosis, MarginsDiagnosis
from ..show.table import Column, Table, number
from ..weights._design import kish


def data_of(found: Any) -> Any:
    """Return a result as plain data, or why there is none."""
    if found is None:
        return None
    return {"refused": str(found)} if isinstance(found, Exception) else found.to_dict()


def of_weights(weights: Real) -> dict[str, float]:
    """Return how unequal weights are; the largest in units of their mean."""
    return {
        "effective_sample_size": kish(weights),
        "largest_weight": float(weights.max() / weights.mean()),
    }


def sizes_of(diagnosis: Diagnosis | MarginsDiagnosis) -> Table:
    """Return what the weights of every method cost."""
    return Table(
        diagnosis.methods,
        (
            Column("method", lambda row: row.method, words=True),
            Column("as precise as", lambda row: number(row.effective_sample_size, "{:,.0f}")),
            Column("share of the rows", lambda row: number(row.share, "{:.0%}")),
            Column("rows used", lambda row: number(row.train_rows, "{:,}")),
        ),
        "Effective sample sizes",
        "Rows of unequal weight say less than as many equal ones: with each method, the "
        f"{diagnosis.n_train:,} training rows are as precise as this many equally weighted ones "
        "(Kish's effective sample size).",
    )
