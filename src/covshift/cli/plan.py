"""``covshift plan``: which target rows to label next, and how many."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..exceptions import InputError
from . import console
from .estimate import samples_with_outcomes
from .evaluate import check_judged
from .models import load_model
from .options import Json, Judged, Quantity, Roles, Seed

if TYPE_CHECKING:
    from ..evaluations import Plan
    from ..show.notes import Note


@dataclass(frozen=True, kw_only=True)
class Arguments(Judged, Quantity, Roles, Json, Seed):
    """Choose the target rows whose outcomes are most informative about a number of covshift
    estimate, or a metric of covshift evaluate, and say how many are needed. -o writes them with an
    empty column to fill in.

    Columns:
      --outcome, --label COL...  the outcome that is to be labelled
      --by COL  groups, each of which gets its own number too

    Or a model:
      --metric NAME...  plan for a metric of a model: {metrics} (repeatable; default: accuracy, of
        numbers RMSE)

    Labels:
      --count N:int  rows to label (default: 100)
      --half-width H:float  or as many as an interval of +- H needs
      --confidence P:float  default: 0.95
      --finite-population  the target file is the whole population and has no sampling error

    Output:
      -o, --output FILE  write the rows to label to FILE
    """

    needs: ClassVar = {"outcome": "--outcome COL: name the column"}

    outcome: tuple[str, ...] = ()
    by: str | None = None
    metric: tuple[str, ...] = ()
    count: int | None = None
    half_width: float | None = None
    confidence: float = 0.95
    finite_population: bool = False
    output: str | None = None


def run(options: Arguments) -> int:
    """Write the rows to label, and print what they will tell."""
    _check(options)
    notes, plan = (_of_model if options.judges_a_model else _of_quantity)(options)
    if options.output is not None:
        _write(options.output, plan, options)
    if options.json:
        data = plan.to_dict()
        data["notes"] = [*notes, *data["notes"]]
        data["rows"] = (plan.rows + 1).tolist()
        console.print_json(data)
    elif options.output == "-":
        print(plan, file=sys.stderr)
    else:
        console.emit(str(plan), None)
        if options.output is None:
            console.note("-o to_label.csv writes these rows, with an empty column to fill in.")
    return 0


def _check(options: Arguments) -> None:
    """Refuse what cannot be, before any file is read."""
    if options.target == "-":
        raise InputError("The target is read twice: name a file, not -.")
    if len(options.outcome) > 1:
        raise InputError("Labels are planned for one outcome: name it with --outcome.")
    if options.target_frequency is not None:
        raise InputError("--target-frequency: rows are labelled one by one. Use --target-weight.")
    if options.json and options.output == "-":
        raise InputError("--json prints on stdout: name a file for the rows with -o.")
    options.check_output(options.output)


def _planned(both: Any, options: Arguments, **asked: Any) -> Plan:
    from ..evaluations import plan

    return plan(
        both,
        count=options.count,
        half_width=options.half_width,
        confidence=options.confidence,
        random_state=options.seed,
        **asked,
    )


def _of_quantity(options: Arguments) -> tuple[Sequence[Note], Plan]:
    files, both, what = samples_with_outcomes(options, finite_population=options.finite_population)
    return files.notes, _planned(both, options, what=what)


def _of_model(options: Arguments) -> tuple[Sequence[Note], Plan]:
    from .predictions import JudgedRows

    if "cost" in options.metric:
        raise InputError("--metric cost needs the cost of every mistake, which only Python takes.")
    if options.what is not None:
        raise InputError("--what is for numbers of the outcome, --metric for those of a model.")
    (label,) = options.outcome
    check_judged(options, label)
    model = None if options.model is None else load_model(options.model)
    finite = options.finite_population
    judged = JudgedRows.read(options, label, model, finite_population=finite)
    what = list(options.metric) or None
    return judged.files.notes, _planned(
        judged.both, options, model=judged.predictions(named=False), what=what
    )


def _write(path: str, plan: Plan, options: Arguments) -> None:
    """Write the chosen rows as they are in the target file, with what is to be filled in."""
    from ..files.frame import open_frame, read_frame

    (outcome,) = options.outcome
    reading = options.reading().of_target(options.target)
    with open_frame(options.target, reading) as stream:
        names, rows = stream.names, plan.rows
    as_text = replace(reading, kinds=dict.fromkeys(names, "text"))
    table = read_frame(options.target, as_text).take(rows)
    own = {"row", outcome, "probability"}
    taken = [name for name in names if name in own - {outcome}]
    if taken:
        console.note(
            f"{path} has columns of its own called {' and '.join(map(repr, taken))}: those of "
            f"{options.target} are left out there."
        )
    columns = {name: table[name].to_pylist() for name in names if name not in own}
    chances = plan.probability[plan.rows]
    console.write_lines(
        (
            {
                "row": int(row) + 1,
                **{name: cells[k] for name, cells in columns.items()},
                outcome: None,
                "probability": float(chances[k]),
            }
            for k, row in enumerate(rows)
        ),
        path,
    )
