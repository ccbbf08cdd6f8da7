"""``covshift evaluate``: how good is my model there?"""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import FewRowsWarning, InputError, NoOverlapError
from ..numerics.quiet import quiet
from ..registry import METRICS, listed
from ..show.notes import Note
from . import console, options
from .diagnose import numbers_of
from .predict import check_complete, finite, load_model

if TYPE_CHECKING:
    from ..evaluations import Evaluations
    from ..files.samples import TwoFiles

_DEFAULT: Any = "dr"
LEAST_ROWS = 5  # of a batch, in the mean
LEAST_LABELS = 5  # of the target, as `covshift.evaluate` needs them
TASKS = {"classification": "classes", "regression": "numbers"}
_COLUMNS = """
--score COL  scores of the model, in both files
--prediction COL  predicted classes or numbers, in both files
--model FILE  or a model that covshift fit wrote
--by COL  groups; each also gets its own numbers
--batch COL  batches of the target, such as months; each gets its own numbers (not a feature)
--target-label, --target-outcome COL  labels of some target rows, empty elsewhere: they make the
  intervals (without this option, labels in the --label column only check the numbers); or
  the file of covshift plan, filled in
--target-probability COL  probability with which each row was chosen (default: equal)
--trained-on COL  1 in rows that trained the model; not used to judge it
"""
_METRICS = """
--metric NAME...  %s (repeatable; default: %s, AUC first where there are scores of two classes; of
  numbers %s)
--threshold S:float  score from which the class is positive
--positive CLASS  of two classes (default: the second)
--task classification|regression  kind of label (default: inferred)
"""
_METHOD = """
--method dr|weights|model|cbpe|pape|none  doubly robust, weights alone, outcome model alone,
  calibrated scores, the same weighted, or the sample as it is (default: dr, and with labels of the
  target both; all are in the table of -o)
"""
_REPORT = """
--report FILE  write one HTML file with pictures, to show a colleague
--title TITLE  title of the report
"""
_FLATTERED = (
    "Model files are usually fitted on these training rows: on its own training rows a model "
    "looks better than it is. Mark them with --trained-on COL, or give rows that were held out."
)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "evaluate",
        "Estimate how good a model is on a target without labels, from labelled rows of a biased "
        "sample, with intervals.",
    )
    columns = options.add_samples(parser, label="required")
    options.add_options(columns, _COLUMNS + options.DESIGN.lstrip())
    defaults = [
        ", ".join(e.word or e.name for e in METRICS.values() if e.in_default and e.task == task)
        for task in ("classes", "numbers")
    ]
    metrics = _METRICS % (listed(METRICS), *defaults)
    group = parser.add_argument_group("metrics")
    options.add_options(group, metrics, metric={"default": None})
    group = parser.add_argument_group("method")
    options.add_options(group, _METHOD)
    options.add_answer(group)
    output = options.add_output(parser, what="table of all methods (CSV; TSV for .tsv)")
    options.add_options(output, _REPORT)
    options.add_verdict(parser)
    parser.set_defaults(run=run)


@quiet(FewRowsWarning)  # which the answer says first
def run(args: argparse.Namespace) -> int:
    """Print the sentence, then the table."""
    _check_report(args)
    found, notes, samples = answer(args)
    if args.output is not None:
        write_table(found, args.output)
    if args.report is not None:
        write_report(found, samples, args)
    return options.show_answer(found, notes, args)


def answer(args: argparse.Namespace) -> tuple[Evaluations, list[Note], TwoFiles]:
    """Return the evaluations, the notes on the files, and what these hold."""
    if "cost" in (args.metric or ()):
        raise InputError(
            "--metric cost needs the cost of every mistake, which only Python takes: "
            "covshift.evaluate(..., metrics=covshift.Cost(...))."
        )
    options.check_answer(args)
    beside = _beside(args)
    model = None if args.model is None else load_model(args.model)
    if model is not None and args.task is None:
        args.task = model.task
    said = tuple(name for name in (args.score, args.prediction) if name is not None)
    samples = options.samples_of(
        args,
        beside=beside,
        beside_target=said,
        of_target=tuple(
            (option, name)
            for option, name in (
                ("--batch", args.batch),
                ("--target-probability", args.target_probability),
            )
            if name is not None
        ),
        target_label=None if options.is_file_of_labels(args.target_label) else args.target_label,
        label_gaps=True,
        by=args.by,
    )
    if args.by is not None and samples.target_groups is None:
        raise InputError(f"{args.target} has no column {args.by!r}, which --by names.")
    notes = list(samples.notes)
    found = options.with_doubts(evaluations_of(samples, args, model, notes), args)
    if model is not None and args.trained_on is None:
        _say(Note("own training rows", _FLATTERED, "warning"), notes)
    return found, notes, samples


def _say(note: Note, notes: list[Note]) -> None:
    notes.append(note)
    console.tell(note)


def _check_report(args: argparse.Namespace) -> None:
    if args.title is not None and args.report is None:
        raise InputError("--title is that of the report: name its file with --report.")
    if args.report == "-":
        raise InputError("--report needs the name of a file, such as report.html.")
    options.check_output(args, "report")
    if args.report is not None and args.report == args.output:
        raise InputError("-o and --report name the same file. Name two.")


def _beside(args: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """Columns that are not features, with the options that name them."""
    if args.model is not None and (args.score or args.prediction):
        raise InputError("--model makes the scores itself: leave out --score and --prediction.")
    if args.model is None and not (args.score or args.prediction):
        raise InputError(
            "No predictions: name a column of both files with --score or "
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
    samples: TwoFiles, args: argparse.Namespace, model: Any, notes: list[Note]
) -> Evaluations:
    """Evaluate what the columns, or the loaded ``model``, say of two samples."""
    from ..evaluations import Predictions, evaluate

    labels = samples.labels
    assert labels is not None
    by_shares = args.shift == "label"
    default = None if by_shares or args.target_label is not None else _DEFAULT
    name = args.score or args.prediction or Path(args.model).name
    judged, target_scores = judged_of(samples, args, model, samples.X)
    try:
        said = Predictions(
            {name: judged},
            None if target_scores is None else {name: target_scores},
            threshold=args.threshold,
            positive=args.positive,
            task=TASKS[labels.task],  # type: ignore[arg-type]
            trained_on=trained_on(samples, args.trained_on),
        )
        both = options.encoded_samples(samples, labels.y, args)
        answer = evaluate(
            said,
            replace(both, beside={**both.beside, "batch": batch_labels(samples, args)}),
            metrics=args.metric or default_metrics(labels, judged, target_scores),
            method=args.method or default,
            weighter=args.weighter,
            restrict=args.restrict,
            confidence=args.confidence,
            shift=args.shift or "covariate",
            random_state=args.seed,
            **({} if by_shares else target_labels(samples, args, notes)),
        )
    except NoOverlapError as error:
        used = samples.encoding.names if model is None else model.encoding.names
        others = [name for name in samples.encoding.names if name not in used]
        unused = [repr(name) for name in others if repr(name) in error.found]
        more = f" The model does not use {listed(unused)}." if unused else ""
        raise NoOverlapError(f"{error.found}{more}", *error.remedies) from None
    batches = {name: replace(part, notes=spelled(part)) for name, part in answer.batches.items()}
    return replace(answer, notes=spelled(answer), batches=batches)


def spelled(answer: Evaluations) -> tuple[Note, ...]:
    """Notes with the options of the command where the library names its parameters."""
    return tuple(note.of_command() for note in answer.notes)


def batch_labels(samples: TwoFiles, args: argparse.Namespace) -> Any:
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


def target_labels(samples: TwoFiles, args: argparse.Namespace, notes: list[Note]) -> dict[str, Any]:
    """Labels of the target, where it has some."""
    from ..engine.labels import Labels

    labels, named = samples.labels, getattr(args, "target_label", None)
    if labels is not None and options.is_file_of_labels(named):
        given, chances = options.labels_of_target(samples, args, str(named))
        return {"y_target": Labels(_as_labels(given, labels.task), chances)}
    if labels is None or labels.y_target is None:
        return {}
    if len(labels.scored) < LEAST_LABELS:
        text = (
            f"{args.target}: {len(labels.scored)} labels of the target are too few (at least "
            f"{LEAST_LABELS}), and were not used."
        )
        _say(Note("target labels", text, "warning"), notes)
        return {}
    cells: list[Any] = [None] * len(samples.X_target)
    for row, label in zip(labels.scored.tolist(), labels.y_target.tolist(), strict=True):
        cells[row] = label
    chances = options.chances_of_target(samples, args)
    return {"y_target": cells if chances is None else Labels(cells, chances)}


def _as_labels(cells: Any, task: str) -> list[Any]:
    """Read cells as labels are read, None where there is none."""
    from ..files.labels import read_numbers, spelled_alike

    if task == "regression":
        return read_numbers(cells, "outcome", "--target-outcome")
    known = iter(spelled_alike([cell for cell in cells if cell is not None]))
    return [None if cell is None else next(known) for cell in cells]


# Files that ``covshift evaluate`` writes: the table of all methods, and the report.


def write_table(answer: Evaluations, output: str) -> None:
    """Write the numbers of all methods, one per line: of the whole target, then of its batches."""
    console.write_lines(
        (
            {"batch": batch, **line} if answer.batches else line
            for batch, part in {"": answer, **answer.batches}.items()
            for line in part.table.data()
        ),
        output,
    )


def write_report(answer: Evaluations, samples: TwoFiles, args: argparse.Namespace) -> None:
    """Write the report: the evaluation, and the shift of the rows that judge the model."""
    from ..diagnostics.measure import corrected, diagnose_samples
    from ..report import build

    trained, weights = trained_on(samples, args.trained_on), answer.weights
    if trained is not None:
        samples, weights = samples.take((~trained).nonzero()[0]), weights[~trained]
    both = numbers_of(samples)
    shift = diagnose_samples(both, random_state=args.seed)
    shift = replace(shift, notes=(*samples.notes, *shift.notes))
    text = build(
        answer,
        corrected(shift, both, both.of_these(weights), answer.weighter),
        title=args.title,
        names={
            "train": Path(args.train).name,
            "target": Path(args.target).name,
            "outcome": args.label,
        },
        command=shlex.join(["covshift", *args.argv]),
    )
    with console.text_file(args.report) as file:
        file.write(text)
    console.note(f"wrote {args.report}")


# What a model says of the rows of two files: in a column of both, or by a file of covshift fit.


@dataclass(frozen=True)
class Recorded:
    """A model that says of the rows of both samples what is written about them."""

    X: Any
    said: tuple[Any, Any]  # predictions of the training and of the target rows
    scores: tuple[Any, Any]
    classes_: Any

    def predict(self, X: Any) -> Any:
        """Return the predictions."""
        return self.said[X is not self.X]

    def decision_function(self, X: Any) -> Any:
        """Return the scores."""
        return self.scores[X is not self.X]


class Predicted:
    """The same where there are predictions alone."""

    def __init__(self, X: Any, said: tuple[Any, Any]) -> None:
        self.X, self.said = X, said

    def predict(self, X: Any) -> Any:
        """Return the predictions."""
        return self.said[X is not self.X]


def judged_of(samples: TwoFiles, args: argparse.Namespace, model: Any, X: Any) -> tuple[Any, Any]:
    """What `evaluate` judges: a model, or scores of the training and of the target rows."""
    labels = samples.labels
    assert labels is not None
    if model is not None:
        return _of_file(model, samples, args, X)
    if labels.task == "regression":
        if args.score and args.prediction:
            raise InputError("For a number, --prediction is the score: name one of the two.")
        option = "score" if args.score else "prediction"
        return _numbers(samples, args, option)
    if args.score and len(labels.classes) > 2:
        raise InputError(
            f"The label {labels.name!r} has {len(labels.classes)} classes, for which one column of "
            "scores is not enough. Name predicted classes with --prediction, leave --score out "
            "(and its column with --drop), or judge a file of covshift fit with --model."
        )
    if args.prediction is None:
        return _numbers(samples, args, "score")
    said = _classes(samples, args)
    if args.score is None:
        return Predicted(X, said), None
    return Recorded(X, said, _numbers(samples, args, "score"), _in_order(labels.classes)), None


def _of_file(model: Any, samples: TwoFiles, args: argparse.Namespace, X: Any) -> tuple[Any, Any]:
    """Apply a model of covshift fit to both files."""
    import numpy as np

    from ..files.encoding import ColumnProblems
    from ..files.table import read_table

    labels = samples.labels
    assert labels is not None
    if model.task != labels.task:
        raise InputError(f"{args.model} is a {model.task}, but --task says {labels.task}.")
    rows = []
    reading = options.read_options_of(args, model)
    for path, how, kept in (
        (args.train, reading, samples.rows),
        (args.target, reading.of_target(args.target), samples.target_rows),
    ):
        table = read_table(path, dict(model.encoding.kinds), how).take(kept)
        check_complete(table.names, model, table.title)
        findings = ColumnProblems()
        rows.append(model.encoding.encode(table, findings))
        console.tell(*findings.notes(table.title))
    if model.task == "regression":
        return finite(model.predict(rows[0])), finite(model.predict(rows[1]))
    chances = [finite(model.predict_proba(part)) for part in rows]
    classes, said = np.array(model.classes), [model.decided(part) for part in chances]
    return Recorded(X, (said[0], said[1]), (chances[0], chances[1]), classes), None


def _both(samples: TwoFiles, args: argparse.Namespace, option: str) -> tuple[Any, Any]:
    name = getattr(args, option)
    if name not in samples.target_beside:
        raise InputError(
            f"{args.target} has no column {name!r}, which --{option} names. Predictions are needed "
            "for the rows of both files: apply it to this one too."
        )
    return samples.beside[name], samples.target_beside[name]


def _numbers(samples: TwoFiles, args: argparse.Namespace, option: str) -> tuple[Any, Any]:
    import numpy as np

    from ..files.labels import read_numbers

    name, found = getattr(args, option), []
    for cells, title in zip(_both(samples, args, option), (args.train, args.target), strict=True):
        numbers = np.array(read_numbers(cells, name, f"--{option}"), dtype=np.float64)
        lost = int((~np.isfinite(numbers)).sum())
        if lost:
            raise InputError(
                f"{title}: the column {name!r}, which --{option} names, is missing or infinite in "
                f"{lost} of {len(numbers)} rows. Leave these rows out, or score them."
            )
        found.append(numbers)
    return found[0], found[1]


def _classes(samples: TwoFiles, args: argparse.Namespace) -> tuple[Any, Any]:
    """Predicted classes, spelled as the labels are: 1, 1.0 and 01 are one class."""
    import numpy as np

    from ..files.labels import spelled_alike

    assert samples.labels is not None
    known, found = set(samples.labels.classes), []
    for cells, title in zip(
        _both(samples, args, "prediction"), (args.train, args.target), strict=True
    ):
        said = ["" if cell is None else cell for cell in cells]
        if not set(said) <= known:
            said = spelled_alike(said)
        strange = sorted(set(said) - known)
        if strange:
            raise InputError(
                f"{title}: the column {args.prediction!r}, which --prediction names, holds "
                f"{', '.join(map(repr, strange[:5]))}, none of the classes {sorted(known)}. Name "
                "probabilities and other scores with --score."
            )
        found.append(np.array(said))
    return found[0], found[1]


def _in_order(classes: list[str]) -> Any:
    """Classes in the order of their numbers, or of the alphabet."""
    import numpy as np

    try:
        return np.array(sorted(classes, key=float))
    except ValueError:
        return np.array(classes)


def default_metrics(labels: Any, judged: Any, target_scores: Any) -> list[str] | None:
    """AUC first, where there are scores of two classes; else what the library takes."""
    if len(labels.classes) != 2:
        return None
    scores = judged.scores if isinstance(judged, Recorded) else (judged, target_scores)
    if scores[1] is None:
        return None
    probabilities = all(part.min() >= 0 and part.max() <= 1 for part in scores)
    return ["roc_auc", "accuracy"] + ["brier"] * probabilities


def trained_on(samples: TwoFiles, name: str | None) -> Any:
    """Which training rows the model has seen: (N,) booleans, or None where nobody says."""
    import numpy as np

    from ..files.labels import read_numbers

    if name is None:
        return None
    numbers = read_numbers(samples.beside[name], name, "--trained-on")
    if not set(numbers) <= {0.0, 1.0}:
        raise InputError(
            f"The column {name!r}, which --trained-on names, must be 1 where the row trained the "
            "model and 0 elsewhere, in every row."
        )
    return np.array(numbers) == 1
