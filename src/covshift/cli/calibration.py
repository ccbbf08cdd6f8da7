"""``covshift predict --calibration``: labelled rows of a file calibrate a fitted model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError, NoOverlapError, WeightWarning
from ..numerics.quiet import quiet
from . import console
from .models import check_complete

if TYPE_CHECKING:
    from ..files.table import Table
    from ..persistence import Model
    from .predict import Arguments


def calibrated(model: Model, tables: list[Table], options: Arguments) -> Model:
    """Return the model, calibrated by the file for the rows of ``tables``, which are all there."""
    import numpy as np

    from ..conformal import ConformalClassifier, ConformalRegressor
    from ..data import Samples
    from ..engine.overlap import refuse_uncovered
    from ..files.encoding import ColumnProblems
    from ..files.one_file import weights_of
    from ..files.table import notes_of, read_table

    if sum(map(len, tables)) < 2:
        raise InputError(
            f"{options.table} has fewer than two rows, so that no weights lead to it from the rows "
            "of --calibration."
        )
    kinds: Any = {**model.encoding.kinds, model.label: "category"}
    if options.weight is not None:
        kinds[options.weight] = "number"
    table = read_table(str(options.calibration), kinds, options.reading(model))
    for name, whose in (
        (model.label, f"the label of {options.model}"),
        (options.weight, "--weight"),
    ):
        if name is not None and name not in table.columns:
            raise InputError(f"{table.title} has no column {name!r}, {whose}.")
    check_complete(table.names, model, table.title)
    table = _labelled(table, model.label)
    findings = ColumnProblems()
    X = model.encoding.encode(table, findings)
    console.tell(*notes_of(table), *findings.notes(table.title))
    T = np.concatenate([model.encoding.encode(part) for part in tables])
    weight = weights_of(table, options.weight)
    try:
        refuse_uncovered(
            Samples.of_rows(X, T, sample_weight=weight, encoder=model.encoding.encoder)
        )
    except NoOverlapError as error:
        raise error.of_command(["fit", "..."]) from None
    X, T = model.scaled(X), model.scaled(T)
    kind: Any = ConformalRegressor if model.task == "regression" else ConformalClassifier
    estimator = model.estimator.estimator_ if model.calibrated else model.estimator
    by = "class" if options.by_class or getattr(model.estimator, "by", None) == "class" else None
    conformal = kind(estimator, by=by, prefit=True, random_state=options.seed)
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

    from ..files.labels import read_numbers, spelled_alike

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
