"""``covshift plan``: which target rows to label next, and how many."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..exceptions import InputError
from . import console
from .estimate import columns_beside
from .evaluate import columns_beside as columns_of_model
from .models import load_model
from .options import Json, Judged, Quantity, Roles, Seed
from .predictions import judged_of, predictions_of
from .quantity import made_quantity, of_categories, quantity_name, regressors
from .samples import encoded, samples_of

if TYPE_CHECKING:
    from ..evaluations import Plan
    from ..files.samples import TwoFiles


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
    samples, plan = (_of_model if options.judges_a_model else _of_quantity)(options)
    if options.output is not None:
        _write(options.output, plan, samples, options)
    if options.json:
        data = plan.to_dict()
        data["notes"] = [*samples.notes, *data["notes"]]
        data["rows"] = (samples.target_rows[plan.rows] + 1).tolist()
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
        replace(both, finite_population=options.finite_population),
        count=options.count,
        half_width=options.half_width,
        confidence=options.confidence,
        random_state=options.seed,
        **asked,
    )


def _of_quantity(options: Arguments) -> tuple[TwoFiles, Plan]:
    from ..files.labels import read_numbers, read_outcomes

    what = quantity_name(options, options.by)
    if what == "total" and options.population_size is None:
        raise InputError("--what total needs --population-size.")
    categories = of_categories(what)
    options, samples = samples_of(
        options, beside=columns_beside(options), by=options.by, categories=categories
    )
    known = True if samples.categories else categories
    y, categories = read_outcomes(samples.beside, list(options.outcome), categories=known)
    own: dict[str, Any] = {}
    if options.denominator is not None:
        cells = samples.beside[options.denominator]
        own["denominator"] = read_numbers(cells, options.denominator, "--denominator")
    if what == "coefficients":
        own["regressors"] = regressors(samples, options.regressor)
    asked = made_quantity(what or ("proportion" if categories else "mean"), options, **own)
    return samples, _planned(encoded(samples, y, options), options, what=asked)


def _of_model(options: Arguments) -> tuple[TwoFiles, Plan]:
    if "cost" in options.metric:
        raise InputError("--metric cost needs the cost of every mistake, which only Python takes.")
    if options.what is not None:
        raise InputError("--what is for numbers of the outcome, --metric for those of a model.")
    (label,) = options.outcome
    beside = columns_of_model(options, label)
    model = None if options.model is None else load_model(options.model)
    if model is not None and options.task is None:
        options = replace(options, task=model.task)
    options, samples = samples_of(
        options,
        label=label,
        beside=beside,
        beside_target=tuple(name for name in (options.score, options.prediction) if name),
        label_gaps=True,
        by=options.by,
    )
    assert samples.labels is not None
    said = predictions_of(samples, options, judged_of(samples, options, model))
    both = encoded(samples, samples.labels.y, options)
    return samples, _planned(both, options, model=said, what=list(options.metric) or None)


def _write(path: str, plan: Plan, samples: TwoFiles, options: Arguments) -> None:
    """Write the chosen rows as they are in the target file, with what is to be filled in."""
    from ..files.table import read_table

    (outcome,) = options.outcome
    reading = options.reading().of_target(options.target)
    names = read_table(options.target, {}, reading).names
    rows = samples.target_rows[plan.rows]
    table = read_table(options.target, dict.fromkeys(names, "text"), reading).take(rows)
    own = {"row", outcome, "probability"}
    taken = [name for name in names if name in own - {outcome}]
    if taken:
        console.note(
            f"{path} has columns of its own called {' and '.join(map(repr, taken))}: those of "
            f"{options.target} are left out there."
        )
    columns = {name: table[name].tolist() for name in names if name not in own}
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
