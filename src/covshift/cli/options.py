"""Options that several commands share, as dataclasses that a command inherits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..exceptions import InputError
from ..files.writing import check_writable
from ..registry import QUANTITIES, learners, listed, weighters
from .command import (
    Options,
    argument,
    flag_of,
    in_columns,
    in_comparison,
    in_general,
    in_learning,
    in_method,
    in_metrics,
    in_model,
    in_output,
    in_quantity,
    in_reading,
)

if TYPE_CHECKING:
    from ..files.questions import Question
    from ..files.reading import ReadOptions
    from ..files.schema import Schema
    from ..persistence import Model

CALLED = {  # otherwise than in Python
    "q": "quantile",
    "regressors": "regressor",
    "size": "population_size",
    "random_state": "seed",
    "odds": "sensitivity",
    "sample_weight": "weight",
    "type": "replicate_type",
    "scale": "replicate_scale",
    "rscales": "replicate_rscales",
}


def spelled(name: str) -> str:
    """Return the option of a parameter of the library."""
    return "--" + CALLED.get(name, name).replace("_", "-")


def whole_number(text: str) -> int:
    """Read a seed."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise ValueError(f"{text!r} is not a whole number from 0 to 4294967295.")
    return int(text)


@dataclass(frozen=True, kw_only=True)
class Seed(Options):
    """What is drawn."""

    seed: int = in_general("--seed N", "random seed (default: 0)", default=0, kind=whole_number)


@dataclass(frozen=True, kw_only=True)
class Reading(Options):
    """How files are read."""

    sep: str | None = in_reading("--sep CHAR", "separator of text (default: detected)")
    encoding: str | None = in_reading(
        "--encoding ENCODING", "encoding of text files (default: detected)"
    )
    missing: tuple[str, ...] = in_reading(
        "--missing [COL=]VALUE...",
        "value that stands for a missing one, in all columns or in one, besides the empty cell "
        "(repeatable; words replace NA, N/A, #N/A, NaN, nan, NULL, null, None)",
    )
    decimal: str | None = in_reading("--decimal .|,", "decimal mark, if it is a comma")
    thousands: str | None = in_reading(
        "--thousands MARK",
        "mark between thousands, such as ,",
        choices=lambda: (",", ".", "'", " "),
    )
    sheet: str | None = in_reading(
        "--sheet NAME",
        "sheet of a workbook (default: the first), which book.xlsx:NAME names as well",
    )

    known_reading: Mapping[str, Any] | None = None  # of a schema file

    def reading(self, model: Model | None = None) -> ReadOptions:
        """Return how files are read; what is not said, a schema or a ``model`` may know."""
        from ..files.reading import (
            MISSING,
            ReadOptions,
            missing_words,
            named_formats,
            read_options_with,
        )

        separator = {"\\t": "\t", "tab": "\t"}.get(self.sep or "", self.sep)
        if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
            raise InputError(
                f"--sep {self.sep!r} is not one character. Use for example ';' or tab."
            )
        everywhere, in_columns = missing_words(list(self.missing))
        found = ReadOptions(
            separator,
            self.encoding,
            everywhere,
            missing_in=in_columns,
            dates=named_formats(getattr(self, "date", ())),
            decimal=self.decimal,
            thousands=self.thousands,
            sheet=self.sheet,
            target_sheet=getattr(self, "target_sheet", None),
        )
        known = self.known_reading if model is None else model.reading
        told = any(word not in MISSING for word in everywhere)
        return read_options_with(found, dict(known), told=told) if known else found


@dataclass(frozen=True, kw_only=True)
class Columns(Reading):
    """What is said of the columns of a table."""

    numeric: tuple[str, ...] = in_columns("--numeric COL...", "read as numbers (repeatable)")
    categorical: tuple[str, ...] = in_columns(
        "--categorical COL...",
        "read as categories: one column of 0 and 1 per level (repeatable)",
    )
    ordered: tuple[str, ...] = in_columns(
        "--ordered COL=LOW<HIGH...",
        "read as ordered categories, lowest first, as in 'education=low<mid<high' (repeatable)",
    )
    date: tuple[str, ...] = in_columns(
        "--date COL[=FORMAT]...",
        "read as dates: ISO dates, or those of a format such as %d.%m.%Y (repeatable; ISO dates "
        "are found without it)",
    )
    season: tuple[str, ...] = in_columns(
        "--season COL...",
        "of a date keep the month and the weekday, without its trend (repeatable)",
    )
    drop: tuple[str, ...] = in_columns("--drop COL...", "leave out (repeatable)")
    keep: tuple[str, ...] = in_columns(
        "--keep COL...", "use, although it looks like a row identifier or free text (repeatable)"
    )
    ask: bool = in_columns(
        "--ask",
        "list the columns that could be read in two ways, and how to change each, and stop "
        "(default: choose one and say so)",
    )
    schema: str | None = in_columns(
        "--schema FILE", "what each column is, as covshift schema wrote it; options override it"
    )

    decided: tuple[Question, ...] = ()  # columns that could be read in two ways
    known: Schema | None = None  # columns of a schema file that no option names


@dataclass(frozen=True, kw_only=True)
class Roles(Columns):
    """Two samples, and columns of them that are not features."""

    train: str = argument("train", "training sample: a table or a folder of them, or -")
    target: str = argument("target", "sample of the target population, in the same formats")
    id: str | None = in_columns(
        "--id COL", "identifies rows; copied to the output, not used as a feature"
    )
    weight: str | None = in_columns(
        "--weight COL",
        "probability weights of the training rows, such as those of a survey, on any scale",
    )
    frequency: str | None = in_columns(
        "--frequency COL", "number of times each training row occurs"
    )
    target_weight: str | None = in_columns(
        "--target-weight COL",
        "probability weights of the target rows, such as those of a survey, on any scale",
    )
    target_frequency: str | None = in_columns(
        "--target-frequency COL", "number of times each target row occurs"
    )
    target_sheet: str | None = in_reading(
        "--target-sheet NAME", "sheet of the target's workbook (default: that of --sheet)"
    )


@dataclass(frozen=True, kw_only=True)
class Label(Roles):
    """A label that a command may do without."""

    label: str | None = in_columns(
        "--label, --outcome COL",
        "the outcome (left out of the features); in the target it is used only to score",
    )


@dataclass(frozen=True, kw_only=True)
class NeededLabel(Label):
    """A label that a command needs."""

    needs: ClassVar = {"label": "--label COL: name the column"}

    label: str | None = in_columns(
        "--label, --outcome COL", "the outcome; in the target it is used only to score"
    )


@dataclass(frozen=True, kw_only=True)
class KindOfLabel(Options):
    """What kind of label there is, and what becomes of rows without one."""

    task: str | None = in_learning(
        "--task classification|regression", "kind of label (default: inferred)"
    )
    drop_unlabelled: bool = in_learning(
        "--drop-unlabelled", "leave out training rows without a label (else they are an error)"
    )


@dataclass(frozen=True, kw_only=True)
class Learner(KindOfLabel):
    """Which learner predicts the label."""

    learner: str = in_learning(
        "--learner NAME",
        lambda: (
            ", ".join(f"{entry.name}: {entry.about}" for entry in learners())
            + f" (default: {learners()[0].name})"
        ),
        default=learners()[0].name,
        choices=lambda: [entry.name for entry in learners()],
    )


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions(Options):
    """How methods are compared."""

    loss: str = in_comparison(
        "--loss squared_error|zero_one|log_loss",
        "loss to compare (default: squared_error; for classes, of their probabilities)",
        default="squared_error",
    )
    max_rows: int | None = in_comparison(
        "--max-rows N:int",
        lambda: (
            "draw N rows at random from larger samples (default: "
            + ", ".join(f"{entry.max_rows} for {entry.name}" for entry in learners())
            + ")"
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Output(Options):
    """Where the result goes."""

    output: str | None = in_output("-o, --output FILE", "write the result to FILE")
    force: bool = in_output("--force", "overwrite FILE if it exists")

    def check_output(self, output: str | None) -> None:
        """Refuse a bad place before any work is done; --force does not reach what is read."""
        if output is None or output == "-":
            return
        from ..files.reading import book_and_sheet

        check_writable(output, force=self.force)
        read = (getattr(self, name, None) for name in _READ)
        if any(_same_file(output, book_and_sheet(path)[0]) for path in read if path is not None):
            raise InputError(f"{output} is an input file: name another file for the output.")


_READ = ("train", "target", "model", "table", "calibration")


def _same_file(one: str, other: str) -> bool:
    return Path(one).exists() and Path(other).exists() and Path(one).samefile(other)


@dataclass(frozen=True, kw_only=True)
class Json(Output):
    """A form for programs."""

    json: bool = in_output("--json", "print JSON on stdout")


@dataclass(frozen=True, kw_only=True)
class Verdict(Json, Seed):
    """What ends in a verdict on the shift."""

    strict: bool = in_output(
        "--strict", "exit with code 3 if the shift is strong or there is no overlap"
    )

    def exit_code(self, verdict: str) -> int:
        """3 where --strict asks for it and the verdict is bad, else 0."""
        return 3 if self.strict and verdict in ("strong", "no overlap") else 0


@dataclass(frozen=True, kw_only=True)
class Quantity(Options):
    """A number of the outcome."""

    what: str | None = in_quantity(
        "--what NAME",
        lambda: (
            f"{listed(QUANTITIES)} (default: the mean of numbers, of 0 and 1 a share, the "
            "proportions of text)"
        ),
        choices=lambda: QUANTITIES,
    )
    category: tuple[str, ...] = in_quantity(
        "--category VALUE...", "proportion of this one (repeatable)"
    )
    population_size: float | None = in_quantity(
        "--population-size N:float", "for a total (default: that of the margins)"
    )
    denominator: str | None = in_quantity("--denominator COL", "for a ratio of two means")
    quantile: tuple[float, ...] = in_quantity(
        "--quantile Q:float...", "between 0 and 1, such as 0.9 (repeatable)"
    )
    at: tuple[float, ...] = in_quantity(
        "--at X:float...", "for the share of outcomes of at most X (repeatable)"
    )
    reference: str | None = in_quantity(
        "--reference GROUP", "the group of --by that others are compared with"
    )
    family: str | None = in_quantity("--family linear|logistic", "of the regression")
    regressor: tuple[str, ...] = in_quantity(
        "--regressor COL...", "for its coefficient (repeatable; default: all features)"
    )


@dataclass(frozen=True, kw_only=True)
class Judged(Options):
    """A model whose predictions stand in both files, or that makes them."""

    score: str | None = in_model("--score COL", "scores of the model, in both files")
    prediction: str | None = in_model(
        "--prediction COL", "predicted classes or numbers, in both files"
    )
    model: str | None = in_model("--model FILE", "or a model that covshift fit wrote")
    trained_on: str | None = in_model(
        "--trained-on COL", "1 in rows that trained the model; not used to judge it"
    )
    threshold: float | None = in_metrics(
        "--threshold S:float", "score from which the class is positive"
    )
    positive: str | None = in_metrics("--positive CLASS", "of two classes (default: the second)")
    task: str | None = in_metrics(
        "--task classification|regression", "kind of outcome (default: inferred)"
    )

    @property
    def judges_a_model(self) -> bool:
        """Whether a model is judged, and no number of the outcome."""
        return bool(self.score or self.prediction or self.model or getattr(self, "metric", ()))


@dataclass(frozen=True, kw_only=True)
class Design(Options):
    """The design of the training sample."""

    strata: str | None = in_columns("--strata COL", "strata of the training sample's design")
    cluster: str | None = in_columns("--cluster COL", "clusters of rows drawn together")


@dataclass(frozen=True, kw_only=True)
class Answer(Verdict):
    """How the samples are weighed, and what an interval covers."""

    weighter: str | None = in_method(
        "--weighter NAME",
        lambda: f"{listed(entry.name for entry in weighters())} (default: cdf on top of a tilt)",
    )
    restrict: str | None = in_method(
        "--restrict overlap|", "answer for the part of the target that the training rows cover"
    )
    confidence: float = in_method("--confidence P:float", "default: 0.95", default=0.95)

    def check_answer(self) -> None:
        """Refuse unknown weighters and outputs that cannot be, before any file is read."""
        from ..weights import WEIGHTERS

        if self.weighter is not None and self.weighter not in WEIGHTERS:
            raise InputError(f"The weighter {self.weighter!r} is unknown. Use {listed(WEIGHTERS)}.")
        if self.json and self.output == "-":
            raise InputError("--json prints on stdout: name a file for the table with -o.")
        self.check_output(self.output)


@dataclass(frozen=True, kw_only=True)
class Doubts(Answer):
    """What if the assumption is wrong, and how a paper says what was done."""

    shift: str | None = in_method(
        "--shift covariate|label",
        "what is the same in both groups: the outcome given the columns (default), or the columns "
        "given the outcome, if only the shares of its classes differ",
    )
    sensitivity: float | None = in_method(
        "--sensitivity L:float",
        "also show the interval if unobserved factors change the odds of being in the target up "
        "to L-fold, such as 2, among rows with the same columns",
    )
    null: float | None = in_method(
        "--null V:float",
        "also say how strong an unobserved factor would have to be to move the answer to V "
        "(default: to the uncorrected number)",
    )
    methods: bool = in_method(
        "--methods", "also print the methods section of a paper, and the checklist of a referee"
    )

    def check_answer(self) -> None:
        """Refuse what label shift has no use for as well."""
        from ..engine.sensitivity import check_null, check_odds

        if self.sensitivity is not None:
            check_odds(self.sensitivity)
        if self.null is not None:
            check_null(self.null)
        if self.shift == "label":
            self._check_label_shift()
        super().check_answer()

    def _check_label_shift(self) -> None:
        from ..engine.label_shift import WHY_NOT
        from ..margins.files import is_margins_file

        others = {
            "max_weight": "weighter",
            "target_outcome": "y_target",
            "target_label": "y_target",
        }
        for name in (*WHY_NOT, *others):
            if getattr(self, name, None):
                why = WHY_NOT[others.get(name, name)]
                raise InputError(f"{flag_of(type(self), name)} is not for --shift label: {why}.")
        target = getattr(self, "target", "")
        if is_margins_file(target):
            raise InputError(f"--shift label needs target rows, and {target} holds margins.")
