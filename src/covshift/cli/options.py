"""Options that several commands share, as dataclasses that a command inherits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..exceptions import InputError
from ..registry import QUANTITIES, learners, listed
from .command import Options, flag_of

if TYPE_CHECKING:
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
    """What is drawn.

    General:
      --seed N  random seed (default: 0)
    """

    kinds: ClassVar = {"seed": whole_number}

    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Reading(Options):
    """How files are read.

    Reading:
      --sep CHAR  separator of text (default: detected)
      --encoding ENCODING  encoding of text files (default: detected)
      --missing [COL=]VALUE...  value that stands for a missing one, in all columns or in one,
        besides the empty cell (repeatable; words replace NA, N/A, #N/A, NaN, nan, NULL, null,
        None)
      --decimal .|,  decimal mark, if it is a comma
      --thousands MARK  mark between thousands, such as ,
      --sheet NAME  sheet of a workbook (default: the first), which book.xlsx:NAME names as well
    """

    choices: ClassVar = {"thousands": lambda: (",", ".", "'", " ")}

    sep: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None

    known_reading: Mapping[str, Any] | None = None  # of a schema file
    date: tuple[str, ...] = ()  # see `Columns`
    target_sheet: str | None = None  # see `Roles`

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
            dates=named_formats(self.date),
            decimal=self.decimal,
            thousands=self.thousands,
            sheet=self.sheet,
            target_sheet=self.target_sheet,
        )
        known = self.known_reading if model is None else model.reading
        told = any(word not in MISSING for word in everywhere)
        return read_options_with(found, dict(known), told=told) if known else found


@dataclass(frozen=True, kw_only=True)
class Columns(Reading):
    """What is said of the columns of a table.

    Columns:
      --numeric COL...  read as numbers (repeatable)
      --categorical COL...  read as categories: one column of 0 and 1 per level (repeatable)
      --ordered COL=LOW<HIGH...  read as ordered categories, lowest first, as in
        'education=low<mid<high' (repeatable)
      --date COL[=FORMAT]...  read as dates: ISO dates, or those of a format such as %d.%m.%Y
        (repeatable; ISO dates are found without it)
      --season COL...  of a date keep the month and the weekday, without its trend (repeatable)
      --drop COL...  leave out (repeatable)
      --keep COL...  use, although it looks like a row identifier or free text (repeatable)
      --ask  list the columns that could be read in two ways, and how to change each, and stop
        (default: choose one and say so)
      --schema FILE  what each column is, as covshift schema wrote it; options override it
    """

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    season: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    ask: bool = False
    schema: str | None = None

    known: Schema | None = None  # columns of a schema file that no option names


@dataclass(frozen=True, kw_only=True)
class Roles(Columns):
    """Two samples, and columns of them that are not features.

    Arguments:
      train  training sample: a table or a folder of them, or -
      target  sample of the target population, in the same formats

    Columns:
      --id COL  identifies rows; copied to the output, not used as a feature
      --weight COL  probability weights of the training rows, such as those of a survey, on any
        scale
      --frequency COL  number of times each training row occurs
      --target-weight COL  probability weights of the target rows, such as those of a survey, on any
        scale
      --target-frequency COL  number of times each target row occurs

    Reading:
      --target-sheet NAME  sheet of the target's workbook (default: that of --sheet)
    """

    train: str = ""
    target: str = ""
    id: str | None = None
    weight: str | None = None
    frequency: str | None = None
    target_weight: str | None = None
    target_frequency: str | None = None
    target_sheet: str | None = None


@dataclass(frozen=True, kw_only=True)
class Label(Roles):
    """A label that a command may do without.

    Columns:
      --label, --outcome COL  the outcome (left out of the features); in the target it is used only
        to score
    """

    label: str | None = None


@dataclass(frozen=True, kw_only=True)
class NeededLabel(Label):
    """A label that a command needs.

    Columns:
      --label, --outcome COL  the outcome; in the target it is used only to score
    """

    needs: ClassVar = {"label": "--label COL: name the column"}

    label: str | None = None


@dataclass(frozen=True, kw_only=True)
class KindOfLabel(Options):
    """What kind of label there is, and what becomes of rows without one.

    Learning:
      --task classification|regression  kind of label (default: inferred)
      --drop-unlabelled  leave out training rows without a label (else they are an error)
    """

    task: str | None = None
    drop_unlabelled: bool = False


@dataclass(frozen=True, kw_only=True)
class Learner(KindOfLabel):
    """Which learner predicts the label.

    Learning:
      --learner NAME  {learners} (default: {learner})
    """

    choices: ClassVar = {"learner": lambda: [entry.name for entry in learners()]}

    learner: str = learners()[0].name


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions(Options):
    """How methods are compared.

    Comparison:
      --loss squared_error|zero_one|log_loss  loss to compare (default: squared_error; for classes,
        of their probabilities)
      --max-rows N:int  draw N rows at random from larger samples (default: {rows})
    """

    loss: str = "squared_error"
    max_rows: int | None = None


@dataclass(frozen=True, kw_only=True)
class Output(Options):
    """Where the result goes.

    Output:
      -o, --output FILE  write the result to FILE
      --force  overwrite FILE if it exists
    """

    output: str | None = None
    force: bool = False

    def check_output(self, output: str | None) -> None:
        """Refuse a bad place before any work is done; --force does not reach what is read."""
        if output is None or output == "-":
            return
        from ..files.reading import book_and_sheet
        from ..files.writing import check_writable

        check_writable(output, force=self.force)
        read = (vars(self).get(name) for name in _READ)
        if any(_same_file(output, book_and_sheet(path)[0]) for path in read if path is not None):
            raise InputError(f"{output} is an input file: name another file for the output.")


_READ = ("train", "target", "model", "table", "calibration")


def _same_file(one: str, other: str) -> bool:
    return Path(one).exists() and Path(other).exists() and Path(one).samefile(other)


@dataclass(frozen=True, kw_only=True)
class Json(Output):
    """A form for programs.

    Output:
      --json  print JSON on stdout
    """

    json: bool = False


@dataclass(frozen=True, kw_only=True)
class Verdict(Json, Seed):
    """What ends in a verdict on the shift.

    Output:
      --strict  exit with code 3 if the shift is strong or there is no overlap
    """

    strict: bool = False

    def exit_code(self, verdict: str) -> int:
        """3 where --strict asks for it and the verdict is bad, else 0."""
        return 3 if self.strict and verdict in ("strong", "no overlap") else 0


@dataclass(frozen=True, kw_only=True)
class Quantity(Options):
    """A number of the outcome.

    Quantity:
      --what NAME  {quantities} (default: the mean of numbers, of 0 and 1 a share, the proportions
        of text)
      --category VALUE...  proportion of this one (repeatable)
      --population-size N:float  for a total (default: that of the margins)
      --denominator COL  for a ratio of two means
      --quantile Q:float...  between 0 and 1, such as 0.9 (repeatable)
      --at X:float...  for the share of outcomes of at most X (repeatable)
      --reference GROUP  the group of --by that others are compared with
      --family linear|logistic  of the regression
      --regressor COL...  for its coefficient (repeatable; default: all features)
    """

    choices: ClassVar = {"what": lambda: QUANTITIES}

    what: str | None = None
    category: tuple[str, ...] = ()
    population_size: float | None = None
    denominator: str | None = None
    quantile: tuple[float, ...] = ()
    at: tuple[float, ...] = ()
    reference: str | None = None
    family: str | None = None
    regressor: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Judged(Options):
    """A model whose predictions stand in both files, or that makes them.

    Or a model:
      --score COL  scores of the model, in both files
      --prediction COL  predicted classes or numbers, in both files
      --model FILE  or a model that covshift fit wrote
      --trained-on COL  1 in rows that trained the model; not used to judge it

    Metrics:
      --threshold S:float  score from which the class is positive
      --positive CLASS  of two classes (default: the second)
      --task classification|regression  kind of outcome (default: inferred)
    """

    score: str | None = None
    prediction: str | None = None
    model: str | None = None
    trained_on: str | None = None
    threshold: float | None = None
    positive: str | None = None
    task: str | None = None
    metric: tuple[str, ...] = ()  # whose default the command says

    @property
    def judges_a_model(self) -> bool:
        """Whether a model is judged, and no number of the outcome."""
        return bool(self.score or self.prediction or self.model or self.metric)


@dataclass(frozen=True, kw_only=True)
class Design(Options):
    """The design of the training sample.

    Columns:
      --strata COL  strata of the training sample's design
      --cluster COL  clusters of rows drawn together
    """

    strata: str | None = None
    cluster: str | None = None


@dataclass(frozen=True, kw_only=True)
class Answer(Verdict):
    """How the samples are weighed, and what an interval covers.

    Method:
      --weighter NAME  {weighters} (default: cdf on top of a tilt)
      --restrict overlap|  answer for the part of the target that the training rows cover
      --confidence P:float  default: 0.95
    """

    weighter: str | None = None
    restrict: str | None = None
    confidence: float = 0.95

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
    """What if the assumption is wrong, and how a paper says what was done.

    Method:
      --shift covariate|label  what is the same in both groups: the outcome given the columns
        (default), or the columns given the outcome, if only the shares of its classes differ
      --sensitivity L:float  also show the interval if unobserved factors change the odds of being
        in the target up to L-fold, such as 2, among rows with the same columns
      --null V:float  also say how strong an unobserved factor would have to be to move the answer
        to V (default: to the uncorrected number)
      --methods  also print the methods section of a paper, and the checklist of a referee
    """

    shift: str | None = None
    sensitivity: float | None = None
    null: float | None = None
    methods: bool = False

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
            if vars(self).get(name):
                why = WHY_NOT[others.get(name, name)]
                raise InputError(f"{flag_of(name)} is not for --shift label: {why}.")
        target = vars(self).get("target", "")
        if is_margins_file(target):
            raise InputError(f"--shift label needs target rows, and {target} holds margins.")
