"""``covshift predict``: predictions for a table of any length, in bounded memory."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from . import console, intervals, options

if TYPE_CHECKING:
    from .._tables import ColumnProblems, Table
    from ..persistence.files import Model
    from .tally import Tally

_ROWS = 20_000  # a block; a kernel machine holds its own smaller ones


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "predict",
        "Write one line per row, in the order of the table: id or row number, prediction, and for "
        "classes their probabilities. With --interval or --set also how far to trust it.",
    )
    parser.add_argument("model", help="a file that covshift fit wrote")
    parser.add_argument("table", help="a table or a folder of them, or -")
    parser.add_argument("--id", metavar="COL", help="keep this column (default: as in fit)")
    intervals.add_options(parser)
    options.add_reading(parser)
    options.add_output(parser, what="predictions (CSV; TSV for .tsv)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Stream the table through the model."""
    from .._tables import ColumnProblems, open_stream

    asked = intervals.asked_of(args)
    if str(args.output).lower().endswith((".parquet", ".xlsx")):
        raise InputError(f"Predictions are written as CSV. Name a .csv file, not {args.output}.")
    options.check_output(args)
    model = load_model(args.model)
    if asked is not None:
        intervals.check_model(asked, model, args)
    reading = options.read_options_of(args, model)
    kinds: Any = dict(model.encoding.kinds)
    wanted = args.id or model.about.get("id")
    if wanted is not None and wanted not in kinds:
        kinds[wanted] = "text"
    with open_stream(args.table, kinds, reading) as stream:
        id_name = _id_column(stream.names, wanted, asked=args.id is not None, title=stream.title)
        _check_columns(stream.names, model, id_name, stream.title)
        findings = ColumnProblems()
        only = {*model.encoding.names} | ({id_name} if id_name else set())
        parts: Any = stream.parts(_ROWS, only=only)
        tally = None
        if asked is not None:
            from .tally import Tally

            if args.calibration is not None:
                parts, model = _calibrated(list(parts), model, args)
            target = "the target of the fit" if args.calibration is None else stream.title
            tally = Tally(asked, model, target)
        parts = console.counted(parts, "predicting")
        with console.table_file(args.output) as writer:
            more = [] if asked is None else asked.columns
            writer.writerow(_header(model, id_name, more))
            for table in parts:
                first = findings.rows + 1
                writer.writerows(_lines(model, table, id_name, first, findings, tally))
    if not findings.rows:
        console.warn(f"{stream.title} has a header but no rows, so there are no predictions.")
    for said in stream.notes:
        console.tell(said)
    for found in findings.notes(stream.title):
        console.warn(found.text)
    if args.output not in (None, "-"):
        console.note(f"wrote {findings.rows:,} predictions to {args.output}")
    if tally is not None:
        tally.show(args.output, json=args.json)
    return 0


def _calibrated(
    parts: list[Table], model: Model, args: argparse.Namespace
) -> tuple[list[Table], Model]:
    """Calibrate the model by a file, for the rows of the table, which is there whole."""
    from . import calibration_file

    if sum(map(len, parts)) < 2:
        raise InputError(
            f"{args.table} has fewer than two rows, so that no weights lead to it from the rows of "
            "--calibration."
        )
    return parts, calibration_file.calibrated(model, parts, args)


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


def _id_column(names: list[str], wanted: Any, *, asked: bool, title: str) -> str | None:
    if isinstance(wanted, str) and wanted in names:
        return wanted
    if asked:
        raise InputError(f"{title} has no column {wanted!r}, which --id names.")
    return None


def check_complete(names: list[str], model: Model, title: str) -> None:
    """Refuse a table without some of the model's columns."""
    lacking = [name for name in model.encoding.names if name not in names]
    if lacking:
        raise InputError(
            f"{title} lacks {len(lacking)} of the {len(model.encoding.names)} columns that the "
            f"model needs: {', '.join(map(repr, lacking[:12]))}. Add them, under these names."
        )


def _check_columns(names: list[str], model: Model, id_name: str | None, title: str) -> None:
    check_complete(names, model, title)
    extra = [name for name in names if name not in {*model.encoding.names, id_name}]
    if extra:
        more = f" and {len(extra) - 12} more" if len(extra) > 12 else ""
        console.note(f"{title}: not used: {', '.join(map(repr, extra[:12]))}{more}.")


def _header(model: Model, id_name: str | None, more: list[str]) -> list[str]:
    outputs = ["prediction", *(f"probability_{label}" for label in model.classes), *more]
    first = id_name or "row"
    return ["id" if first in outputs else first, *outputs]


def _lines(
    model: Model,
    table: Table,
    id_name: str | None,
    first: int,
    findings: ColumnProblems,
    tally: Tally | None,
) -> Iterator[tuple[Any, ...]]:
    X = model.encoding.encode(table, findings)
    ids: Any = range(first, first + len(table))
    if id_name:
        ids = table.columns[id_name].values.tolist()
    found, more = (None, []) if tally is None else tally.block(X)
    if not model.classes:
        numbers = model.predict(X) if found is None else found.prediction
        return zip(ids, finite(numbers).tolist(), *more, strict=True)
    probability = finite(model.predict_proba(X))
    second_of_two = probability[:, 1] >= 0.5
    best = second_of_two if len(model.classes) == 2 else probability.argmax(axis=1)
    classes = [model.classes[k] for k in best.tolist()]
    return zip(ids, classes, *probability.round(6).T.tolist(), *more, strict=True)


def finite(values: Any) -> Any:
    """Refuse predictions that are no numbers."""
    import numpy as np

    if not np.isfinite(values).all():
        raise InputError(
            f"{int((~np.isfinite(values)).sum())} predictions are not finite: these rows lie too "
            "far from the training rows. Check their numbers."
        )
    return values
