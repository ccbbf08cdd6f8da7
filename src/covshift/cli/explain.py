"""``covshift explain``: why does the number change from the sample to the target?"""

from __future__ import annotations

import argparse
from typing import Any

from ..exceptions import FewRowsWarning, InputError
from ..numerics.quiet import quiet
from ..registry import METRICS, QUANTITIES, listed
from . import console, options
from . import estimate as estimates
from . import evaluate as evaluations

_ABSENT = {"default": None}
_COLUMNS = """
--outcome, --label COL...  the outcome
--by COL  groups, for --what difference
--target-outcome, --target-label COL...  outcomes of some target rows, empty elsewhere: they show
  whether p(y | x) changed, and where; or the file of covshift plan, filled in
--target-probability COL  probability with which each row was chosen (default: equal)
--join NAME=COL,COL...  columns that are explained as one (repeatable)
"""
_MODEL = """
--metric NAME...  explain a metric of a model: %s (default: that of covshift evaluate)
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "explain",
        "Explain why a number of covshift estimate, or a metric of covshift evaluate, changes "
        "from the training rows to the target: how much each column contributes to the change, "
        "with its interval.",
    )
    columns = options.add_samples(parser, label=None)
    several = ("outcome", "target_outcome", "join", "category", "quantile", "at", "regressor")
    absent: Any = dict.fromkeys(several, _ABSENT)
    options.add_options(columns, _COLUMNS + options.DESIGN.lstrip(), **absent)
    quantities = {"choices": tuple(QUANTITIES), "metavar": None}
    group = parser.add_argument_group("quantity")
    options.add_options(group, estimates._QUANTITY, what=quantities, **absent)
    group = parser.add_argument_group("or a model")
    options.add_options(group, _MODEL % listed(METRICS) + options.MODEL.lstrip(), metric=_ABSENT)
    group = parser.add_argument_group("method")
    options.add_answer(group, doubts=False)
    options.add_output(parser, what="table of the parts (CSV; TSV for .tsv)")
    options.add_verdict(parser)
    others: Any = dict.fromkeys(
        ("method", "max_weight", "replicates", "sensitivity", "null", "fpc")
    )
    others |= dict.fromkeys(("replicate_weights", "replicate_type", "replicate_scale"))
    others |= dict.fromkeys(("replicate_rscales", "batch", "report", "title"))
    others |= {"finite_population": False, "shift": "covariate"}
    parser.set_defaults(run=run, needs={"outcome": "--outcome"}, **others)


@quiet(FewRowsWarning)  # which covshift estimate and evaluate say first
def run(args: argparse.Namespace) -> int:
    """Print the sentence, then the parts of the change."""
    pairs = [_named(text) for text in args.join or ()]
    joined = dict(pairs)
    if len(joined) < len(pairs):
        raise InputError("--join: two groups have the same name. Give each a name of its own.")
    if len(args.outcome) > 1:
        raise InputError("One outcome is explained at a time: name it with --outcome.")
    if args.score or args.prediction or args.model or args.metric:
        answer, notes = _of_model(args)
    else:
        answer, notes = estimates.answer(args)
    found = answer.explain(groups=joined)
    if args.output is not None:
        console.write_lines(found.table.data(), args.output)
    return options.show_answer(found, notes, args, answer.verdict)


def _of_model(args: argparse.Namespace) -> tuple[Any, Any]:
    if args.what is not None:
        raise InputError("--what is for numbers of the outcome, --metric for those of a model.")
    (args.label,) = args.outcome
    args.target_label = (args.target_outcome or [None])[0]
    found, notes, _ = evaluations.answer(args)
    return found, notes


def _named(text: str) -> tuple[str, list[str]]:
    name, sign, columns = text.partition("=")
    if not sign or not name or not columns:
        raise InputError(f"--join {text!r}: write NAME=COL,COL, such as money=income,wealth.")
    return name, columns.split(",")
