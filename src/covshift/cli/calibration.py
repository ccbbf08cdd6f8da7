"""``covshift predict --calibration``: labelled rows of a file calibrate a fitted model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError, NoOverlapError, WeightWarning
from ..numerics.quiet import quiet
from . import console

if TYPE_CHECKING:
    from ..persistence import Model
    from .predict import Arguments


def calibrated(model: Model, rows: list[Any], options: Arguments) -> Model:
    """Return the model, calibrated by the file for blocks of encoded rows, which are all there."""
    import numpy as np

    from ..conformal import ConformalClassifier, ConformalRegressor
    from ..data import Samples
    from ..engine.overlap import refuse_uncovered
    from ..files.frame import about, read_frame
    from ..files.values import floats_of

    if sum(map(len, rows)) < 2:
        raise InputError(
            f"{options.table} has fewer than two rows, so that no weights lead to it from the rows "
            "of --calibration."
        )
    kinds: Any = {
        **model.kinds,
        model.label: "number" if model.task == "regression" else "category",
    }
    if options.weight is not None:
        kinds[options.weight] = "number"
    frame = read_frame(str(options.calibration), replace(options.reading(model), kinds=kinds))
    title = about(frame).title
    for name, whose in (
        (model.label, f"the label of {options.model}"),
        (options.weight, "--weight"),
    ):
        if name is not None and name not in frame.column_names:
            raise InputError(f"{title} has no column {name!r}, {whose}.")
    model.check_complete(frame.column_names, title)
    frame = _labelled(frame, model.label, title)
    new = model.new_rows()
    X = model.encode(frame, title, new)
    console.tell(*about(frame).notes, *new.notes(title))
    T = np.concatenate(rows)
    weight = None if options.weight is None else floats_of(frame[options.weight])
    try:
        refuse_uncovered(Samples.of_rows(X, T, sample_weight=weight, encoder=model.encoder))
    except NoOverlapError as error:
        raise error.of_command(["fit", "..."]) from None
    X, T = model.scaled(X), model.scaled(T)
    kind: Any = ConformalRegressor if model.task == "regression" else ConformalClassifier
    estimator = model.estimator.estimator_ if model.calibrated else model.estimator
    by = "class" if options.by_class or getattr(model.estimator, "by", None) == "class" else None
    conformal = kind(estimator, by=by, prefit=True, random_state=options.seed)
    with quiet(WeightWarning):  # the notes tell, in the table's own words
        conformal.fit(X, _outcomes(frame, model, title), X_target=(T,), sample_weight=weight)
    return replace(model, estimator=conformal)


def _labelled(frame: Any, label: str, title: str) -> Any:
    """Keep the rows with a label."""
    count = len(frame) - frame[label].null_count
    if count < 2:
        raise InputError(
            f"{title}: {count} of {len(frame)} rows have the label {label!r}. At least two are "
            "needed to calibrate, and a few hundred for narrow intervals."
        )
    if count < len(frame):
        console.note(
            f"{title}: the label {label!r} is missing in {len(frame) - count} of {len(frame)} "
            "rows, which were left out."
        )
    return frame.filter(frame[label].is_valid())


def _outcomes(frame: Any, model: Model, title: str) -> Any:
    """Return numbers, or classes spelled as the model spells them."""
    import numpy as np

    cells = frame[model.label].to_pylist()
    if model.task == "regression":
        y = np.array(cells, dtype=np.float64)
        if not np.isfinite(y).all():
            raise InputError(f"{title}: the label {model.label!r} has infinite values.")
        return y
    known = set(model.classes)
    said = cells if set(cells) <= known else _spelled_alike(cells)
    strange = sorted(set(said) - known)
    if strange:
        raise InputError(
            f"{title}: the label {model.label!r} holds {', '.join(map(repr, strange[:5]))}, "
            f"none of the model's classes {', '.join(map(repr, model.classes[:8]))}."
        )
    return np.array(said, dtype=str)


def _spelled_alike(cells: list[str]) -> list[str]:
    """Spell equal numbers alike: 1, 1.0 and 01 are one class."""
    from ..data.columns import spelled

    try:
        return [spelled(float(cell)) for cell in cells]
    except ValueError:
        return cells
