"""``covshift plan``: which target rows to label next, and how many."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..registry import METRICS, QUANTITIES, listed
from . import console, options
from . import estimate as estimates
from . import evaluate as evaluations
from .predict import load_model

if TYPE_CHECKING:
    from ..evaluations import Plan
    from ..files.samples import TwoFiles

_ABSENT = {"default": None}
_COLUMNS = """
--outcome, --label COL...  the outcome that is to be labelled
--by COL  groups, each of which gets its own number too
"""
_MODEL = """
--metric NAME...  plan for a metric of a model: %s (repeatable; default: accuracy, of numbers RMSE)
"""
_PLAN = """
--count N:int  rows to label (default: 100)
--half-width H:float  or as many as an interval of +- H needs
--confidence P:float  default: 0.95
--finite-population  the target file is the whole population and has no sampling error
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "plan",
        "Choose the target rows whose outcomes are most informative about a number of covshift "
        "estimate, or a metric of covshift evaluate, and say how many are needed. -o writes "
        "them with an empty column to fill in.",
    )
    columns = options.add_samples(parser, label=None)
    options.add_options(columns, _COLUMNS, outcome=_ABSENT)
    absent: Any = dict.fromkeys(("category", "quantile", "at", "regressor"), _ABSENT)
    quantities = {"choices": tuple(QUANTITIES), "metavar": None}
    group = parser.add_argument_group("quantity")
    options.add_options(group, estimates._QUANTITY, what=quantities, **absent)
    group = parser.add_argument_group("or a model")
    options.add_options(group, _MODEL % listed(METRICS) + options.MODEL.lstrip(), metric=_ABSENT)
    group = parser.add_argument_group("labels")
    options.add_options(group, _PLAN, confidence={"default": 0.95})
    options.add_seed(group)
    group = options.add_output(parser, what="rows to label")
    options.add_options(group, "--json  print JSON on stdout")
    others = dict.fromkeys(("strata", "cluster", "fpc", "replicate_weights"))  # of other commands
    others |= dict.fromkeys(("batch", "target_label"))
    parser.set_defaults(run=run, needs={"outcome": "--outcome"}, **others)


def run(args: argparse.Namespace) -> int:
    """Write the rows to label, and print what they will tell."""
    _check(args)
    judged = bool(args.score or args.prediction or args.model or args.metric)
    samples, found = (_of_model if judged else _of_quantity)(args)
    if args.output is not None:
        _write(found, samples, args)
    if args.json:
        data = found.to_dict()
        data["notes"] = [*samples.notes, *data["notes"]]
        data["rows"] = (samples.target_rows[found.rows] + 1).tolist()
        print(console.as_json(data))
    elif args.output == "-":
        print(found, file=sys.stderr)
    else:
        console.emit(str(found), None)
        if args.output is None:
            console.note("-o to_label.csv writes these rows, with an empty column to fill in.")
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse what cannot be, before any file is read."""
    if args.target == "-":
        raise InputError("The target is read twice: name a file, not -.")
    if len(args.outcome) > 1:
        raise InputError("Labels are planned for one outcome: name it with --outcome.")
    if args.target_frequency is not None:
        raise InputError("--target-frequency: rows are labelled one by one. Use --target-weight.")
    if args.json and args.output == "-":
        raise InputError("--json prints on stdout: name a file for the rows with -o.")
    options.check_output(args)


def _planned(both: Any, args: argparse.Namespace, **asked: Any) -> Plan:
    from ..evaluations import plan

    return plan(
        replace(both, finite_population=args.finite_population),
        count=args.count,
        half_width=args.half_width,
        confidence=args.confidence,
        random_state=args.seed,
        **asked,
    )


def _of_quantity(args: argparse.Namespace) -> tuple[TwoFiles, Plan]:
    from ..files.labels import read_numbers, read_outcomes

    what = estimates.quantity(args)
    if what == "total" and args.population_size is None:
        raise InputError("--what total needs --population-size.")
    categories = None if what is None else estimates._of_categories(what)
    samples = options.samples_of(
        args, beside=estimates._beside(args), by=args.by, categories=categories
    )
    y, categories = read_outcomes(samples.beside, args.outcome, categories=categories)
    own: dict[str, Any] = {}
    if args.denominator is not None:
        cells = samples.beside[args.denominator]
        own["denominator"] = read_numbers(cells, args.denominator, "--denominator")
    if what == "coefficients":
        own["regressors"] = estimates._regressors(samples, args)
    asked = estimates.made_quantity(what or ("proportion" if categories else "mean"), args, **own)
    return samples, _planned(options.encoded_samples(samples, y, args), args, what=asked)


def _of_model(args: argparse.Namespace) -> tuple[TwoFiles, Plan]:
    from ..evaluations import Predictions

    if "cost" in (args.metric or ()):
        raise InputError("--metric cost needs the cost of every mistake, which only Python takes.")
    if args.what is not None:
        raise InputError("--what is for numbers of the outcome, --metric for those of a model.")
    (args.label,) = args.outcome
    beside = evaluations._beside(args)
    model = None if args.model is None else load_model(args.model)
    if model is not None and args.task is None:
        args.task = model.task
    said = tuple(name for name in (args.score, args.prediction) if name is not None)
    samples = options.samples_of(
        args, beside=beside, beside_target=said, label_gaps=True, by=args.by
    )
    labels = samples.labels
    assert labels is not None
    judged, target_scores = evaluations.judged_of(samples, args, model, samples.X)
    predictions = Predictions(
        judged,
        target_scores,
        threshold=args.threshold,
        positive=args.positive,
        task=evaluations.TASKS[labels.task],  # type: ignore[arg-type]
        trained_on=evaluations.trained_on(samples, args.trained_on),
    )
    both = options.encoded_samples(samples, labels.y, args)
    return samples, _planned(both, args, model=predictions, what=args.metric)


def _write(found: Plan, samples: TwoFiles, args: argparse.Namespace) -> None:
    """Write the chosen rows as they are in the target file, with what is to be filled in."""
    from ..files.table import read_table

    (outcome,) = args.outcome
    reading = options.read_options_of(args).of_target(args.target)
    names = read_table(args.target, {}, reading).names
    rows = samples.target_rows[found.rows]
    table = read_table(args.target, dict.fromkeys(names, "text"), reading).take(rows)
    own = {"row", outcome, "probability"}
    taken = [name for name in names if name in own - {outcome}]
    if taken:
        console.note(
            f"{args.output} has columns of its own called {' and '.join(map(repr, taken))}: those "
            f"of {args.target} are left out there."
        )
    columns = {name: table[name].tolist() for name in names if name not in own}
    chances = found.probability[found.rows]
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
        args.output,
    )
