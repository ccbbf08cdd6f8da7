"""``covshift predict``: predictions for a table of any length, in bounded memory."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from ..exceptions import InputError
from . import console
from .calibration import calibrated
from .coverage import (
    COLUMNS,
    CoverageOptions,
    asked_of,
    check_model,
    columns_of,
    refuse_if_nothing_is_known,
    show,
)
from .models import load_model
from .options import Json, Reading, Seed

if TYPE_CHECKING:
    from ..persistence import Model

_HEAD = 10  # predictions that a terminal shows
_ROWS = 20_000  # a block; a kernel machine holds its own smaller ones


def _percent(text: str) -> float:
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = float("nan")
    if 0 < percent < 1:
        raise ValueError(f"{text!r} is less than one percent: did you mean {100 * percent:g}?")
    if not 0 < percent < 100:
        raise ValueError(f"{text!r} is not one percentage between 0 and 100.")
    return percent


@dataclass(frozen=True, kw_only=True)
class Arguments(Reading, Json, Seed):
    """Write one line per row, in the order of the table: id or row number, prediction, and for
    classes their probabilities. With --interval or --set also how far to trust it. Without -o a
    terminal shows the first lines, and a pipe gets all.

    Arguments:
      model  a file that covshift fit wrote
      table  a table or a folder of them, or -

    Columns:
      --id COL  keep this column (default: as in fit)

    Intervals:
      --interval PERCENT...  columns lower and upper: the number is between them with this
        probability, as in 90
      --set PERCENT...  column set: classes, joined by |, that contain the true one with this
        probability, as in 90
      --calibration FILE  labelled rows that did not train the model; needed unless covshift fit had
        --calibrate. The coverage then is for this table, which is read as a whole; otherwise for
        the target of the fit
      --by-class  sets with the coverage in every class, even rare ones; each class is calibrated by
        its own rows of --calibration
      --weight COL  probability weights of the rows of --calibration

    Output:
      --json  print the summary as JSON on stdout
      -o, --output FILE  write the predictions (CSV; TSV for .tsv) to FILE
    """

    kinds: ClassVar = {"interval": _percent, "set": _percent}

    model: str = ""
    table: str = ""
    id: str | None = None
    interval: tuple[float, ...] = ()
    set: tuple[float, ...] = ()
    calibration: str | None = None
    by_class: bool = False
    weight: str | None = None
    json: bool = False
    output: str | None = None


def run(options: Arguments) -> int:
    """Stream the table through the model."""
    from ..files.frame import open_frame
    from ..show.words import named

    asked = asked_of(options)
    if str(options.output).lower().endswith((".parquet", ".xlsx")):
        raise InputError(f"Predictions are written as CSV. Name a .csv file, not {options.output}.")
    options.check_output(options.output)
    model = load_model(options.model)
    if asked is not None:
        check_model(asked, model, options)
    wanted = options.id or model.about.get("id")
    kinds: Any = model.kinds if wanted is None else {wanted: "text", **model.kinds}
    with open_frame(options.table, replace(options.reading(model), kinds=kinds)) as stream:
        id_name = wanted if wanted in stream.names else None
        if options.id is not None and id_name is None:
            raise InputError(f"{stream.title} has no column {wanted!r}, which --id names.")
        model.check_complete(stream.names, stream.title)
        extra = [name for name in stream.names if name not in {*model.names, id_name}]
        if extra:
            console.note(f"{stream.title}: not used: {named(extra)}.")
        new, found = model.new_rows(), None
        parts = stream.parts(_ROWS, only=[*model.names, str(id_name)])
        blocks = (
            (
                frame[id_name].to_pylist() if id_name else None,
                model.encode(frame, stream.title, new),
            )
            for frame in console.counted(parts, "predicting")
        )
        lines: Iterator[tuple[Any, ...]]
        if asked is None:
            lines = (line for ids, X in blocks for line in _lines(model, X, ids, new.rows - len(X)))
        else:  # how far predictions can be trusted is known of all rows together
            whole = list(blocks)
            if options.calibration is not None:
                model = calibrated(model, [X for _, X in whole], options)
            lines, found = _trusted(model, whole, asked, stream.title)
        header = _header(model, id_name, [] if asked is None else COLUMNS[asked.kind])
        shown = options.output is None and sys.stdout.isatty()
        if shown:
            _show_head(header, lines)
        else:
            with console.table_file(options.output) as writer:
                writer.writerow(header)
                writer.writerows(lines)
    if not new.rows:
        console.warn(f"{stream.title} has a header but no rows, so there are no predictions.")
    console.tell(*stream.notes, *new.notes(stream.title))
    if options.output not in (None, "-"):
        console.note(f"wrote {new.rows:,} predictions to {options.output}")
    elif shown and new.rows > _HEAD:
        again = shlex.join(["covshift", *options.argv, "-o", "predictions.csv"])
        console.note(f"shown are {_HEAD} of {new.rows:,} predictions. To write all: {again}")
    if found is not None and asked is not None:
        target = "the target of the fit" if options.calibration is None else stream.title
        show(found, asked, model, target, options)
    return 0


def _show_head(header: list[str], lines: Iterator[tuple[Any, ...]]) -> None:
    """Print the first lines for a person; all of them are computed, and counted."""
    from ..show.table import Table as Shown
    from ..show.words import printable, readable

    def cell(value: Any) -> str:
        return readable(value) if isinstance(value, float) else printable(str(value))

    head = [tuple(map(cell, line)) for line in islice(lines, _HEAD)]
    for _ in lines:
        pass
    print(Shown.of(header, head))


def _header(model: Model, id_name: str | None, more: list[str]) -> list[str]:
    outputs = ["prediction", *(f"probability_{label}" for label in model.classes), *more]
    first = id_name or "row"
    return ["id" if first in outputs else first, *outputs]


def _trusted(
    model: Model, blocks: list[tuple[list[Any] | None, Any]], asked: CoverageOptions, title: str
) -> tuple[Iterator[tuple[Any, ...]], Any]:
    """Return the lines of a table, with intervals or sets, and these; None without rows."""
    import numpy as np

    from ..encoding import encoded, groups_of

    if not blocks:
        return iter(()), None
    X = encoded(np.concatenate([X for _, X in blocks]), groups_of(blocks[0][1]))
    ids = None if blocks[0][0] is None else [one for part, _ in blocks for one in part or ()]
    predict = model.predict_interval if asked.kind == "interval" else model.predict_set
    found = predict(X, asked.coverage)
    refuse_if_nothing_is_known(found, asked, title)
    return _lines(model, X, ids, 0, found, columns_of(found, asked, model)), found


def _lines(
    model: Model, X: Any, ids: Any, before: int, found: Any = None, more: Sequence[Any] = ()
) -> Iterator[tuple[Any, ...]]:
    """Yield a line for each row, of which so many came ``before``."""
    ids = range(before + 1, before + len(X) + 1) if ids is None else ids
    if not model.classes:
        numbers = model.predict(X) if found is None else found.prediction
        return zip(ids, numbers.tolist(), *more, strict=True)
    probability = model.predict_proba(X)
    classes = model.decided(probability).tolist()
    return zip(ids, classes, *probability.round(6).T.tolist(), *more, strict=True)
