"""``covshift explain``: why does the number change from the sample to the target?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..exceptions import FewRowsWarning, InputError
from ..numerics.quiet import quiet
from . import console, estimate, evaluate
from .answers import show_answer
from .options import Answer, Judged


@dataclass(frozen=True, kw_only=True)
class Arguments(Judged, estimate.Asked, Answer):
    """Explain why a number of covshift estimate, or a metric of covshift evaluate, changes from the
    training rows to the target: how much each column contributes to the change, with its interval.

    Columns:
      --by COL  groups, for --what difference
      --target-outcome, --target-label COL...  outcomes of some target rows, empty elsewhere: they
        show whether p(y | x) changed, and where; or the file of covshift plan, filled in
      --join NAME=COL,COL...  columns that are explained as one (repeatable)

    Or a model:
      --metric NAME...  explain a metric of a model: {metrics} (default: that of covshift evaluate)

    Output:
      -o, --output FILE  write the table of the parts (CSV; TSV for .tsv) to FILE
    """

    by: str | None = None
    target_outcome: tuple[str, ...] = ()
    join: tuple[str, ...] = ()
    metric: tuple[str, ...] = ()
    output: str | None = None


@quiet(FewRowsWarning)  # which covshift estimate and evaluate say first
def run(options: Arguments) -> int:
    """Print the sentence, then the parts of the change."""
    pairs = [_named(text) for text in options.join]
    joined = dict(pairs)
    if len(joined) < len(pairs):
        raise InputError("--join: two groups have the same name. Give each a name of its own.")
    if len(options.outcome) > 1:
        raise InputError("One outcome is explained at a time: name it with --outcome.")
    answer: Any
    if options.judges_a_model:
        if options.what is not None:
            raise InputError("--what is for numbers of the outcome, --metric for those of a model.")
        (label,) = options.outcome
        target_label = next(iter(options.target_outcome), None)
        asked = options.as_options_of(evaluate.Arguments, label=label, target_label=target_label)
        answer, notes, _ = evaluate.evaluations_of(asked)
    else:
        answer, notes = estimate.estimates_of(options.as_options_of(estimate.Arguments))
    explanation = answer.explain(groups=joined)
    if options.output is not None:
        console.write_lines(explanation.table.data(), options.output)
    return show_answer(explanation, notes, options, answer.verdict)


def _named(text: str) -> tuple[str, list[str]]:
    name, sign, columns = text.partition("=")
    if not sign or not name or not columns:
        raise InputError(f"--join {text!r}: write NAME=COL,COL, such as money=income,wealth.")
    return name, columns.split(",")
