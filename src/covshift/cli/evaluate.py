"""``covshift evaluate``: how good is my model there?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ..exceptions import FewRowsWarning, InputError, NoOverlapError
from ..numerics.quiet import quiet
from ..registry import listed
from ..show.notes import Note
from . import console
from .answers import report_facts, show_answer, with_doubts
from .models import load_model
from .options import Design, Doubts, Judged, NeededLabel, spelled
from .targets import compared

if TYPE_CHECKING:
    from ..evaluations import Evaluations
    from .predictions import JudgedRows


@dataclass(frozen=True, kw_only=True)
class Arguments(Judged, Design, NeededLabel, Doubts):
    """Estimate how good a model is on a target without labels, from labelled rows of a biased
    sample, with intervals.

    Columns:
      --by COL  groups; each also gets its own numbers
      --batch COL  batches of the target, such as months; each gets its own numbers (not a feature)
      --target-label, --target-outcome COL  labels of some target rows, empty elsewhere: they make
        the intervals (without this option, labels in the --label column only check the numbers);
        or the file of covshift plan, filled in
      --target-probability COL  probability with which each row was chosen (default: equal)

    Metrics:
      --metric NAME...  {metrics} (repeatable; default: {class_metrics}, AUC first where there are
        scores of two classes; of numbers {number_metrics})

    Method:
      --method dr|weights|model|cbpe|pape|none  doubly robust, weights alone, outcome model alone,
        calibrated scores, the same weighted, or the sample as it is (default: model, and with
        labels of the target both; all are in the table of -o)

    Output:
      -o, --output FILE  write the table of all methods (CSV; TSV for .tsv) to FILE
      --report FILE  write one HTML file with pictures, to show a colleague
      --title TITLE  title of the report
    """

    by: str | None = None
    batch: str | None = None
    target_label: str | None = None
    target_probability: str | None = None
    metric: tuple[str, ...] = ()
    method: Literal["dr", "weights", "model", "cbpe", "pape", "none"] | None = None
    output: str | None = None
    report: str | None = None
    title: str | None = None


@quiet(FewRowsWarning)  # which the answer says first
def run(options: Arguments) -> int:
    """Print the sentence, then the table."""
    _check_report(options)
    answer, notes, judged = evaluations_of(options)
    answer = with_doubts(answer, options)
    if options.output is not None:
        console.write_lines(
            (
                {"batch": batch, **line} if answer.batches else line
                for batch, part in {"": answer, **answer.batches}.items()
                for line in part.table.data()
            ),
            options.output,
        )
    if options.report is not None:
        _write_report(options.report, answer, judged, options)
    return show_answer(answer, notes, options)


def _check_report(options: Arguments) -> None:
    if options.title is not None and options.report is None:
        raise InputError("--title is that of the report: name its file with --report.")
    if options.report == "-":
        raise InputError("--report needs the name of a file, such as report.html.")
    options.check_output(options.report)
    if options.report is not None and options.report == options.output:
        raise InputError("-o and --report name the same file. Name two.")


def evaluations_of(options: Arguments) -> tuple[Evaluations, list[Note], JudgedRows]:
    """Return the evaluations, the notes on the files, and what these hold."""
    from ..evaluations import evaluate
    from .predictions import JudgedRows

    if "cost" in options.metric:
        raise InputError(
            "--metric cost needs the cost of every mistake, which only Python takes: "
            "covshift.evaluate(..., metrics=covshift.Cost(...))."
        )
    options.check_answer()
    check_judged(options, str(options.label), options.batch, options.target_label)
    model = None if options.model is None else load_model(options.model)
    design = {"strata": options.strata, "cluster": options.cluster}
    judged = JudgedRows.read(options, str(options.label), model, **design)
    if options.by is not None and options.by not in judged.files.target.column_names:
        raise InputError(f"{options.target} has no column {options.by!r}, which --by names.")
    notes, both = list(judged.files.notes), judged.both
    by_shares = options.shift == "label"
    try:
        answer = evaluate(
            judged.predictions(),
            both,
            metrics=list(options.metric) or judged.metrics(),
            method=options.method or (None if by_shares or options.target_label else "model"),
            weighter=options.weighter,
            restrict=options.restrict,
            confidence=options.confidence,
            shift=options.shift or "covariate",
            random_state=options.seed,
            y_target=None if by_shares else judged.labels(notes),
        )
    except NoOverlapError as error:
        rules = both.encoder.features_ if model is not None and both.encoder else ()
        unused = [repr(rule.name) for rule in rules if model and rule.name not in model.names]
        unused = [name for name in unused if name in error.found]
        more = f" The model does not use {listed(unused)}." if unused else ""
        raise NoOverlapError(f"{error.found}{more}", *error.remedies) from None
    if model is not None and options.trained_on is None:
        text = (
            "Model files are usually fitted on these training rows: on its own training rows a "
            "model looks better than it is. Mark them with --trained-on COL, or give rows that "
            "were held out."
        )
        notes.append(Note("own training rows", text, "warning"))
        console.tell(notes[-1])
    return in_options(answer), notes, judged


def in_options(answer: Evaluations) -> Evaluations:
    """Return the answer with notes that name options where the library names parameters."""

    def spelled(part: Evaluations) -> Evaluations:
        return replace(part, notes=tuple(note.of_command() for note in part.notes))

    batches = {name: spelled(part) for name, part in answer.batches.items()}
    return replace(spelled(answer), batches=batches)


def check_judged(
    options: Any, label: str, batch: str | None = None, other: str | None = None
) -> None:
    """Refuse columns of two roles, and predictions of nothing or of two models."""
    if options.model is not None and (options.score or options.prediction):
        raise InputError("--model makes the scores itself: leave out --score and --prediction.")
    if options.model is None and not (options.score or options.prediction):
        raise InputError(
            "No predictions: name a column of both files with --score or "
            "--prediction, or a file of covshift fit with --model."
        )
    if options.model is not None and "-" in (options.train, options.target):
        raise InputError("--model reads both tables twice: name files, not -.")
    roles = ("score", "prediction", "trained_on", "strata", "cluster", "by")
    values = vars(options)
    named = [(spelled(role), values[role]) for role in roles if values.get(role) is not None]
    for flag, column in [*named, ("--batch", batch)]:
        if column is not None and column in (label, other):
            raise InputError(f"{column!r} cannot be the label and what {flag} names as well.")
    for flag, column in named:
        if column == batch:
            raise InputError(f"{column!r} cannot be what --batch and what {flag} names.")


def _write_report(path: str, answer: Evaluations, judged: JudgedRows, options: Arguments) -> None:
    """Write the report: the evaluation, and the shift of the rows that judge the model."""
    from ..diagnostics.measure import corrected, diagnose_samples
    from ..report import build

    both, trained = judged.both, judged.trained_on
    if trained is not None:
        both = both.take((~trained).nonzero()[0])
    both = compared(both)
    shift = diagnose_samples(both, random_state=options.seed)
    shift = replace(shift, notes=(*judged.files.notes, *shift.notes))
    shift = corrected(shift, both, both.of_these(answer.weights), answer.weighter)
    console.write_text(path, build(answer, shift, **report_facts(options)))
    console.note(f"wrote {path}")
