"""``covshift evaluate``: how good is my model there?"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._notes import Note
from .._registry import listed, weighters
from ..exceptions import InputError, NoOverlapError
from . import console, options
from .estimate import as_options, feature_columns
from .predict import check_complete, finite, load_model

if TYPE_CHECKING:
    from .._tables import Samples
    from ..evaluations import Evaluations

METHODS = ("dr", "weights", "model", "cbpe", "pape", "none")
_TASKS = {"classification": "classes", "regression": "numbers"}
_FLATTERED = (
    "Model files are usually fitted on the very training rows: judged on its own training rows a "
    "model is flattered. Mark them with --trained-on COL, or give rows that were held out."
)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "evaluate",
        "how good is my model on the target?",
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
        "--trained-on", metavar="COL", help="1 where the row trained the model: it does not judge"
    )
    columns.add_argument("--strata", metavar="COL", help="strata of the training sample's design")
    columns.add_argument("--cluster", metavar="COL", help="clusters of rows drawn together")
    _add_metrics(parser)
    _add_method(parser)
    options.add_output(parser, what="table of all methods (CSV; TSV for .tsv)")
    options.add_verdict(parser)
    parser.set_defaults(run=run)


def _add_metrics(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("metrics")
    group.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        help="such as roc_auc, f1 or rmse (repeatable; default: accuracy, AUC and Brier score; of "
        "numbers RMSE, MAE and R²)",
    )
    group.add_argument(
        "--threshold", metavar="S", type=float, help="score from which the class is positive"
    )
    group.add_argument("--positive", metavar="CLASS", help="of two classes (default: the second)")
    group.add_argument("--task", choices=tuple(_TASKS), help="kind of label (default: inferred)")


def _add_method(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("method")
    group.add_argument(
        "--method",
        choices=METHODS,
        default=METHODS[0],
        help="doubly robust, weights alone, outcome model alone, calibrated scores, the same "
        f"weighted, or the sample as it is (default: {METHODS[0]}; all are in the table of -o)",
    )
    group.add_argument(
        "--weighter",
        metavar="NAME",
        help=f"{listed(entry.name for entry in weighters())} (default: cdf on top of a tilt)",
    )
    group.add_argument(
        "--restrict",
        choices=("overlap",),
        help="answer for the part of the target that the training rows cover",
    )
    group.add_argument("--confidence", metavar="P", type=float, default=0.95, help="default: 0.95")


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


def run(args: argparse.Namespace) -> int:
    """Print the sentence, then the table."""
    from ..weights import WEIGHTERS

    if args.weighter is not None and args.weighter not in WEIGHTERS:
        raise InputError(f"The weighter {args.weighter!r} is unknown. Use {listed(WEIGHTERS)}.")
    if args.json and args.output == "-":
        raise InputError("--json prints on stdout: name a file for the table with -o.")
    options.check_output(args)
    beside = _beside(args)
    model = None if args.model is None else load_model(args.model)
    if model is not None and args.task is None:
        args.task = model.task
    said = tuple(name for name in (args.score, args.prediction) if name is not None)
    samples = options.samples_of(
        args, beside=beside, beside_target=said, by=args.by, levels_of_both=True
    )
    if args.by is not None and samples.target_groups is None:
        raise InputError(f"{args.target} has no column {args.by!r}, which --by names.")
    found = evaluations_of(samples, args, model)
    notes = list(samples.notes)
    if model is not None and args.trained_on is None:
        notes.append(Note("own training rows", _FLATTERED, "warning"))
        console.tell(notes[-1])
    if args.output is not None:
        write_table(found, args.output)
    if args.json:
        data = found.to_dict()
        data["notes"] = [*notes, *data["notes"]]
        print(console.as_json(data))
    elif args.output == "-":
        print(found, file=sys.stderr)
    else:
        console.emit(str(found), None)
    return options.exit_code(found.verdict, args)


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
    for option, column in named:
        if column == args.label:
            raise InputError(f"{column!r} cannot be the label and what {option} names as well.")
    return tuple(named)


def evaluations_of(samples: Samples, args: argparse.Namespace, model: Any) -> Evaluations:
    """Evaluate what the columns, or the loaded ``model``, say of two samples."""
    from ..evaluations import evaluate

    labels = samples.labels
    assert labels is not None
    columns = feature_columns(samples, args)
    X, T = samples.X.take(columns, axis=1), samples.X_target.take(columns, axis=1)
    name = args.score or args.prediction or Path(args.model).name
    judged, target_scores = _judged(samples, args, model, X)
    try:
        return evaluate(
            {name: judged},
            X,
            labels.y,
            T,
            metrics=args.metric,
            target_scores=None if target_scores is None else {name: target_scores},
            method=args.method,
            by=None if samples.groups is None else (samples.groups, samples.target_groups),
            trained_on=_trained_on(samples, args.trained_on),
            threshold=args.threshold,
            positive=args.positive,
            task=_TASKS[labels.task],  # type: ignore[arg-type]
            weighter=args.weighter,
            sample_weight=samples.weight,
            target_weight=samples.target_weight,
            strata=None if args.strata is None else samples.beside[args.strata],
            cluster=None if args.cluster is None else samples.beside[args.cluster],
            restrict=args.restrict,
            confidence=args.confidence,
            feature_names=[samples.names[k] for k in columns],
            random_state=args.seed,
            **_target_labels(samples),
        )
    except NoOverlapError as error:
        raise as_options(error, "evaluate") from None


def _target_labels(samples: Samples) -> dict[str, Any]:
    """Labels of the target, where it has some: they check, and change no number."""
    labels = samples.labels
    if labels is None or labels.y_target is None:
        return {}
    cells: list[Any] = [None] * len(samples.X_target)
    for row, label in zip(labels.scored.tolist(), labels.y_target.tolist(), strict=True):
        cells[row] = label
    return {"y_target": cells}


def _judged(samples: Samples, args: argparse.Namespace, model: Any, X: Any) -> tuple[Any, Any]:
    """What `evaluate` judges: a model, or scores of the training and of the target rows."""
    labels = samples.labels
    assert labels is not None
    if model is not None:
        return _of_file(model, labels, args, X)
    if labels.task == "regression":
        if args.score and args.prediction:
            raise InputError("For a number, --prediction is the score: name one of the two.")
        option = "score" if args.score else "prediction"
        return _numbers(samples, args, option)
    if args.prediction is None:
        return _numbers(samples, args, "score")
    said = _classes(samples, args)
    if args.score is None:
        return Predicted(X, said), None
    return Recorded(X, said, _numbers(samples, args, "score"), _in_order(labels.classes)), None


def _of_file(model: Any, labels: Any, args: argparse.Namespace, X: Any) -> tuple[Any, Any]:
    """Apply a model of covshift fit to both files."""
    import numpy as np

    from .._tables import ColumnProblems, read_table

    if model.task != labels.task:
        raise InputError(f"{args.model} is a {model.task}, but --task says {labels.task}.")
    rows = []
    for path in (args.train, args.target):
        table = read_table(path, dict(model.encoding.kinds), options.read_options_of(args))
        check_complete(table.names, model, table.title)
        findings = ColumnProblems()
        rows.append(model.encoding.encode(table, findings))
        for found in findings.notes(table.title):
            console.tell(found)
    if model.task == "regression":
        return finite(model.predict(rows[0])), finite(model.predict(rows[1]))
    chances = [finite(model.predict_proba(part)) for part in rows]
    classes = np.array(model.classes)
    if len(classes) == 2:
        said = [classes[(part[:, 1] >= 0.5).astype(int)] for part in chances]
    else:
        said = [classes[part.argmax(axis=1)] for part in chances]
    return Recorded(X, (said[0], said[1]), (chances[0], chances[1]), classes), None


def _both(samples: Samples, args: argparse.Namespace, option: str) -> tuple[Any, Any]:
    name = getattr(args, option)
    if name not in samples.target_beside:
        raise InputError(
            f"{args.target} has no column {name!r}, which --{option} names. What the model says is "
            "needed for the rows of both files: apply it to this one too."
        )
    return samples.beside[name], samples.target_beside[name]


def _numbers(samples: Samples, args: argparse.Namespace, option: str) -> tuple[Any, Any]:
    import numpy as np

    from .._tables.outcomes import read_numbers

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


def _classes(samples: Samples, args: argparse.Namespace) -> tuple[Any, Any]:
    """Predicted classes, spelled as the labels are: 1, 1.0 and 01 are one class."""
    import numpy as np

    from .._tables.labels import spelled_alike

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


def _trained_on(samples: Samples, name: str | None) -> Any:
    import numpy as np

    from .._tables.outcomes import read_numbers

    if name is None:
        return None
    numbers = read_numbers(samples.beside[name], name, "--trained-on")
    if not set(numbers) <= {0.0, 1.0}:
        raise InputError(
            f"The column {name!r}, which --trained-on names, must be 1 where the row trained the "
            "model and 0 elsewhere, in every row."
        )
    return np.array(numbers) == 1


def write_table(found: Evaluations, output: str) -> None:
    """Write the numbers of all methods, one per line."""
    with console.text_file(output) as file:
        separator = "\t" if output.lower().endswith(".tsv") else ","
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        head = ["model", "metric", "group", "method", "value", "standard_error", "low", "high"]
        writer.writerow([*head, "rows", "effective_sample_size"])
        for row in found.table:
            line = [row.model, row.metric, row.group or "", row.method, row.value]
            line += [row.standard_error, *row.interval, row.rows, row.effective_sample_size]
            writer.writerow(line)
    if output != "-":
        console.note(f"wrote {output}")
