"""``covshift evaluate``: how good is my model there?"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError, NoOverlapError
from ..registry import METRICS, listed
from ..show.notes import Note
from . import console, options
from .estimate import as_options
from .evaluated import write_report, write_table
from .predict import load_model
from .scores import default_metrics, judged_of, trained_on

if TYPE_CHECKING:
    from .._tables import Samples
    from ..evaluations import Evaluations

METHODS = ("dr", "weights", "model", "cbpe", "pape", "none")
LEAST_ROWS = 5  # of a batch, in the mean
LEAST_LABELS = 5  # of the target, as `covshift.evaluate` needs them
TASKS = {"classification": "classes", "regression": "numbers"}
_FLATTERED = (
    "Model files are usually fitted on the very training rows: judged on its own training rows a "
    "model is flattered. Mark them with --trained-on COL, or give rows that were held out."
)
_AS_OPTIONS = {  # remedies of the library, as options of the command
    'Pass restrict="overlap"': "Use --restrict overlap",
    "(trained_on=, cv=)": "(--trained-on)",
    "(y_target=)": "(--target-label)",
    "unless threshold= says": "unless --threshold says",
    "Mark them by trained_on=, or let cv= refit it by folds.": "Mark them with --trained-on.",
}


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "evaluate",
        "Say how good a model is on a target without labels, from labelled rows of a biased "
        "sample, with intervals.",
    )
    columns = options.add_samples(parser, label="required")
    columns.add_argument("--score", metavar="COL", help="scores of the model, in both files")
    columns.add_argument(
        "--prediction", metavar="COL", help="predicted classes or numbers, in both files"
    )
    columns.add_argument("--model", metavar="FILE", help="or a model that covshift fit wrote")
    columns.add_argument("--by", metavar="COL", help="groups, each of which gets its numbers too")
    columns.add_argument(
        "--batch",
        metavar="COL",
        help="of the target, such as its months: each gets its numbers too; no feature",
    )
    columns.add_argument(
        "--target-label",
        metavar="COL",
        help="labels of some target rows, if not in the column of --label: they check the numbers, "
        "and test whether p(y | x) has changed",
    )
    columns.add_argument(
        "--trained-on", metavar="COL", help="1 where the row trained the model: it does not judge"
    )
    columns.add_argument("--strata", metavar="COL", help="strata of the training sample's design")
    columns.add_argument("--cluster", metavar="COL", help="clusters of rows drawn together")
    _add_metrics(parser)
    _add_method(parser)
    output = options.add_output(parser, what="table of all methods (CSV; TSV for .tsv)")
    output.add_argument(
        "--report", metavar="FILE", help="write one HTML file with pictures, to show a colleague"
    )
    output.add_argument("--title", help="title of the report")
    options.add_verdict(parser)
    parser.set_defaults(run=run)


def _add_metrics(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("metrics")
    defaults = {
        task: ", ".join(
            entry.word or entry.name
            for entry in METRICS.values()
            if entry.in_default and entry.task == task
        )
        for task in ("classes", "numbers")
    }
    group.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        help=f"{listed(METRICS)} (repeatable; default: {defaults['classes']}, AUC first where "
        f"there are scores of two classes; of numbers {defaults['numbers']})",
    )
    group.add_argument(
        "--threshold", metavar="S", type=float, help="score from which the class is positive"
    )
    group.add_argument("--positive", metavar="CLASS", help="of two classes (default: the second)")
    group.add_argument("--task", choices=tuple(TASKS), help="kind of label (default: inferred)")


def _add_method(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("method")
    group.add_argument(
        "--method",
        choices=METHODS,
        default=METHODS[0],
        help="doubly robust, weights alone, outcome model alone, calibrated scores, the same "
        f"weighted, or the sample as it is (default: {METHODS[0]}; all are in the table of -o)",
    )
    options.add_answer(group)


def run(args: argparse.Namespace) -> int:
    """Print the sentence, then the table."""
    if "cost" in (args.metric or ()):
        raise InputError(
            "--metric cost needs the cost of every mistake, which only Python takes: "
            "covshift.evaluate(..., cost_matrix=...)."
        )
    options.check_answer(args)
    _check_report(args)
    beside = _beside(args)
    model = None if args.model is None else load_model(args.model)
    if model is not None and args.task is None:
        args.task = model.task
    said = tuple(name for name in (args.score, args.prediction) if name is not None)
    samples = options.samples_of(
        args,
        beside=beside,
        beside_target=said,
        of_target=() if args.batch is None else (("--batch", args.batch),),
        target_label=args.target_label,
        label_gaps=True,
        by=args.by,
    )
    if args.by is not None and samples.target_groups is None:
        raise InputError(f"{args.target} has no column {args.by!r}, which --by names.")
    notes = list(samples.notes)
    found = evaluations_of(samples, args, model, notes)
    if model is not None and args.trained_on is None:
        _say(Note("own training rows", _FLATTERED, "warning"), notes)
    if args.output is not None:
        write_table(found, args.output)
    if args.report is not None:
        write_report(found, samples, args)
    return options.show_answer(found, notes, args)


def _say(note: Note, notes: list[Note]) -> None:
    notes.append(note)
    console.tell(note)


def _check_report(args: argparse.Namespace) -> None:
    if args.title is not None and args.report is None:
        raise InputError("--title is that of the report: name its file with --report.")
    if args.report == "-":
        raise InputError("--report - is no file. Name one, such as report.html.")
    options.check_output(args, "report")
    if args.report is not None and args.report == args.output:
        raise InputError("-o and --report name the same file. Name two.")


def _beside(args: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """Columns that are no features, with the options that name them."""
    if args.model is not None and (args.score or args.prediction):
        raise InputError("--model makes the scores itself: leave out --score and --prediction.")
    if args.model is None and not (args.score or args.prediction):
        raise InputError(
            "What the model says is missing. Name a column of both files with --score or "
            "--prediction, or a file of covshift fit with --model."
        )
    if args.model is not None and "-" in (args.train, args.target):
        raise InputError("--model reads both tables twice: name files, not -.")
    named = [
        ("--" + name.replace("_", "-"), getattr(args, name))
        for name in ("score", "prediction", "trained_on", "strata", "cluster")
        if getattr(args, name) is not None
    ]
    others = [("--by", args.by), ("--batch", args.batch)]
    for option, column in [*named, *others]:
        if column == args.label or (column is not None and column == args.target_label):
            raise InputError(f"{column!r} cannot be the label and what {option} names as well.")
    for option, column in [*named, others[0]]:
        if column is not None and column == args.batch:
            raise InputError(f"{column!r} cannot be what --batch and what {option} names.")
    return tuple(named)


def evaluations_of(
    samples: Samples, args: argparse.Namespace, model: Any, notes: list[Note]
) -> Evaluations:
    """Evaluate what the columns, or the loaded ``model``, say of two samples."""
    from ..evaluations import evaluate

    labels = samples.labels
    assert labels is not None
    name = args.score or args.prediction or Path(args.model).name
    judged, target_scores = judged_of(samples, args, model, samples.X)
    try:
        found = evaluate(
            {name: judged},
            options.encoded_samples(samples, labels.y, args),
            metrics=args.metric or default_metrics(labels, judged, target_scores),
            target_scores=None if target_scores is None else {name: target_scores},
            method=args.method,
            batch=batch_labels(samples, args),
            trained_on=trained_on(samples, args.trained_on),
            threshold=args.threshold,
            positive=args.positive,
            task=TASKS[labels.task],  # type: ignore[arg-type]
            weighter=args.weighter,
            restrict=args.restrict,
            confidence=args.confidence,
            random_state=args.seed,
            **target_labels(samples, args, notes),
        )
    except NoOverlapError as error:
        raise as_options(error, "evaluate") from None
    batches = {name: replace(part, notes=spelled(part)) for name, part in found.batches.items()}
    return replace(found, notes=spelled(found), batches=batches)


def spelled(found: Evaluations) -> tuple[Note, ...]:
    """Notes with the options of the command where the library names its parameters."""
    notes = []
    for note in found.notes:
        text = note.text
        for word, option in _AS_OPTIONS.items():
            text = text.replace(word, option)
        notes.append(replace(note, text=text))
    return tuple(notes)


def batch_labels(samples: Samples, args: argparse.Namespace) -> Any:
    """Return the batch of every target row, if a column of them is named; refuse gaps."""
    if args.batch is None:
        return None
    cells = samples.target_beside[args.batch]
    lost = sum(cell is None for cell in cells)
    if lost:
        raise InputError(
            f"{args.target}: the column {args.batch!r}, which --batch names, is empty in {lost} of "
            f"{len(cells)} rows. Fill it in, or leave these rows out."
        )
    count = len(set(cells))
    if count > 1 and len(cells) < LEAST_ROWS * count:
        raise InputError(
            f"{args.target}: the column {args.batch!r}, which --batch names, has {count} different "
            f"values in {len(cells)} rows: fewer than {LEAST_ROWS} rows each. Name a column of "
            "larger parts, such as months."
        )
    return cells


def target_labels(samples: Samples, args: argparse.Namespace, notes: list[Note]) -> dict[str, Any]:
    """Labels of the target, where it has some: they check, and change no number."""
    labels = samples.labels
    if labels is None or labels.y_target is None:
        return {}
    if len(labels.scored) < LEAST_LABELS:
        text = (
            f"{args.target}: {len(labels.scored)} labels are too few to check anything (at least "
            f"{LEAST_LABELS}), and were not used."
        )
        _say(Note("target labels", text, "warning"), notes)
        return {}
    cells: list[Any] = [None] * len(samples.X_target)
    for row, label in zip(labels.scored.tolist(), labels.y_target.tolist(), strict=True):
        cells[row] = label
    return {"y_target": cells}
