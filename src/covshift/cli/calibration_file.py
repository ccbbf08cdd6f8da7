"""``covshift predict --calibration``: labelled rows of a file calibrate a fitted model."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._quiet import quiet
from ..exceptions import InputError, WeightWarning
from . import console, options

if TYPE_CHECKING:
    from .._tables import Table
    from ..persistence.files import Model


def calibrated(model: Model, tables: list[Table], args: argparse.Namespace) -> Model:
    """Return the model, calibrated by the file for the rows of ``tables``."""
    import numpy as np

    from .._tables import ColumnProblems, read_table
    from .._tables.samples import weights_of
    from .._tables.table import notes_of
    from ..conformal import ConformalClassifier, ConformalRegressor
    from .predict import check_complete

    kinds: Any = {**model.encoding.kinds, model.label: "category"}
    if args.weight is not None:
        kinds[args.weight] = "number"
    table = read_table(args.calibration, kinds, options.read_options_of(args, model))
    for name, whose in ((model.label, f"the label of {args.model}"), (args.weight, "--weight")):
        if name is not None and name not in table.columns:
            raise InputError(f"{table.title} has no column {name!r}, {whose}.")
    check_complete(table.names, model, table.title)
    table = _labelled(table, model.label)
    findings = ColumnProblems()
    X = model.scaled(model.encoding.encode(table, findings))
    for note in (*notes_of(table), *findings.notes(table.title)):
        console.tell(note)
    T = model.scaled(np.concatenate([model.encoding.encode(part) for part in tables]))
    kind: Any = ConformalRegressor if model.task == "regression" else ConformalClassifier
    estimator = model.estimator.estimator_ if model.calibrated else model.estimator
    conformal = kind(estimator, prefit=True, random_state=args.seed)
    weight = weights_of(table, args.weight)
    with quiet(WeightWarning):  # the notes tell, in the table's own words
        conformal.fit(X, _outcomes(table, model), X_target=(T,), sample_weight=weight)
    return replace(model, estimator=conformal)


def _labelled(table: Table, label: str) -> Table:
    """Keep the rows with a label."""
    cells = table.columns[label].values
    rows = [k for k, cell in enumerate(cells) if cell is not None]
    if len(rows) < 2:
        raise InputError(
            f"{table.title}: {len(rows)} of {len(cells)} rows have the label {label!r}. At least "
            "two are needed to calibrate, and a few hundred for narrow intervals."
        )
    if len(rows) < len(cells):
        console.note(
            f"{table.title}: the label {label!r} is missing in {len(cells) - len(rows)} of "
            f"{len(cells)} rows, which were left out."
        )
    return table.take(rows)


def _outcomes(table: Table, model: Model) -> Any:
    """Return numbers, or classes spelled as the model spells them."""
    import numpy as np

    from .._tables.labels import spelled_alike
    from .._tables.outcomes import read_numbers

    cells = list(table.columns[model.label].values)
    if model.task == "regression":
        y = np.array(read_numbers(cells, model.label, "the model"), dtype=np.float64)
        if not np.isfinite(y).all():
            raise InputError(f"{table.title}: the label {model.label!r} has infinite values.")
        return y
    known = set(model.classes)
    said = cells if set(cells) <= known else spelled_alike(cells)
    strange = sorted(set(said) - known)
    if strange:
        raise InputError(
            f"{table.title}: the label {model.label!r} holds {', '.join(map(repr, strange[:5]))}, "
            f"none of the model's classes {', '.join(map(repr, model.classes[:8]))}."
        )
    return np.array(said, dtype=str)
