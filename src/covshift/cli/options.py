"""Options that several commands share, and what they mean for the library."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..files import writing as _files
from ..registry import learners, listed, weighters
from ..show.notes import Note
from . import console

if TYPE_CHECKING:
    from ..files.reading import ReadOptions
    from ..files.samples import ColumnOptions, TwoFiles
    from ..persistence import Model


_GENERAL = """
--quiet, -q  print no notes on stderr
--debug  show the traceback of an error
"""
_LABEL = "--label, --outcome COL  the outcome%s; in the target it is used only to score"
_ROLES = """
--id COL  identifies rows; copied to the output, not used as a feature
--weight COL  probability weights of the training rows, such as those of a survey, on any scale
--frequency COL  number of times each training row occurs
--target-weight COL  probability weights of the target rows, such as those of a survey, on any scale
--target-frequency COL  number of times each target row occurs
"""
_COLUMNS = """
--numeric COL...  read as numbers (repeatable)
--categorical COL...  read as categories: one column of 0 and 1 per level (repeatable)
--ordered COL=LOW<HIGH...  read as ordered categories, lowest first, as in
  'education=low<mid<high' (repeatable)
--date COL[=FORMAT]...  read as dates: ISO dates, or those of a format such as %%d.%%m.%%Y
  (repeatable; ISO dates are found without it)
--season COL...  of a date keep the month and the weekday, without its trend (repeatable)
--drop COL...  leave out (repeatable)
--keep COL...  use, although it looks like a row identifier or free text (repeatable)
--ask  stop if a column could be read in two ways (default: choose one and say so)
--schema FILE  what each column is, as covshift schema wrote it; options override it
"""
_READING = """
--sep CHAR  separator of text (default: detected)
--encoding ENCODING  encoding of text files (default: detected)
--missing [COL=]VALUE...  value that stands for a missing one, in all columns or in one, besides the
  empty cell (repeatable; words replace NA, N/A, #N/A, NaN, nan, NULL, null, None)
--decimal .|,  decimal mark, if it is a comma
--thousands MARK  mark between thousands, such as ,
--sheet NAME  sheet of a workbook (default: the first), which book.xlsx:NAME names as well
"""
_TARGET_SHEET = "--target-sheet NAME  sheet of the target's workbook (default: that of --sheet)"
_KIND_OF_LABEL = """
--task classification|regression  kind of label (default: inferred)
--drop-unlabelled  leave out training rows without a label (else they are an error)
"""
_OUTPUT = """
-o, --output FILE  write the %s to FILE
--force  overwrite FILE if it exists
"""
_VERDICT = """
--json  print JSON on stdout
--strict  exit with code 3 if the shift is strong or there is no overlap
"""
_ANSWER = """
--weighter NAME  %s (default: cdf on top of a tilt)
--restrict overlap|  answer for the part of the target that the training rows cover
--confidence P:float  default: 0.95
"""
MODEL = """
--score COL  scores of the model, in both files
--prediction COL  predicted classes or numbers, in both files
--model FILE  or a model that covshift fit wrote
--trained-on COL  1 in rows that trained the model; not used to judge it
--threshold S:float  score from which the class is positive
--positive CLASS  of two classes (default: the second)
--task classification|regression  kind of outcome (default: inferred)
"""
_DOUBTS = """
--shift covariate|label  what is the same in both groups: the outcome given the columns (default),
  or the columns given the outcome, if only the shares of its classes differ
--sensitivity L:float  also show the interval if unobserved factors change the odds of being in the
  target up to L-fold, such as 2, among rows with the same columns
--null V:float  also say how strong an unobserved factor would have to be to move the answer to V
  (default: to the uncorrected number)
--methods  also print the methods section of a paper, and the checklist of a referee
"""
DESIGN = """
--strata COL  strata of the training sample's design
--cluster COL  clusters of rows drawn together
"""


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


def add_options(to: Any, table: str, **more: Any) -> None:
    """Add the options of a table to a parser or a group of it.

    An entry is flags, what stands for the value, two spaces and the help, which may go on in
    indented lines. The value is a word, ``N:int`` or ``X:float`` for a number, ``a|b`` for a
    choice, and nothing for a switch; ``...`` after it lets the option be repeated. ``more`` are
    arguments of argparse, by the name of the option.

    >>> parser = argparse.ArgumentParser()
    >>> table = '''
    ... --by COL...  groups
    ...   (repeatable)
    ... --top N:int  how many
    ... --order up|down  of the groups
    ... --force  overwrite
    ... '''
    >>> add_options(parser, table, top={"default": 5})
    >>> parser.parse_args(["--by", "sex", "--order", "up"])
    Namespace(by=['sex'], top=5, order='up', force=False)
    """
    for entry in re.split(r"\n(?=-)", table.strip()):
        spec, _, help = entry.partition("  ")
        flags = [part.rstrip(",") for part in spec.split() if part.startswith("-")]
        word, repeats, _ = " ".join(spec.split()[len(flags) :]).partition("...")
        name, _, kind = word.partition(":")
        given: dict[str, Any] = {"help": " ".join(help.split())}
        if not word:
            given["action"] = "store_true"
        elif "|" in word:
            given["choices"] = [choice for choice in word.split("|") if choice]
        else:
            given |= {"metavar": name, "type": {"int": int, "float": float}.get(kind)}
        if repeats:
            given |= {"action": "append", "default": []}
        long = next(flag for flag in flags if flag.startswith("--"))
        to.add_argument(*flags, **given | more.get(long[2:].replace("-", "_"), {}))


def add_command(commands: Any, name: str, description: str) -> argparse.ArgumentParser:
    """Add a command with the options that all have."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, description=description, allow_abbrev=False
    )
    add_options(parser.add_argument_group("general"), _GENERAL)
    return parser


def add_samples(
    parser: argparse.ArgumentParser, *, label: str | None, target: str | None = None
) -> Any:
    """Add the two files and what the user can say about their columns; return the group of these.

    ``label`` is "required", "optional", or None for a command that has its own option for it;
    ``target`` is "?" where the target may be absent.
    """
    parser.add_argument("train", help="training sample: a table or a folder of them, or -")
    parser.add_argument(
        "target", nargs=target, help="sample of the target population, in the same formats"
    )
    group = parser.add_argument_group("columns")
    parser.set_defaults(needs={"label": "--label"} if label == "required" else {})
    if label is not None:
        add_options(group, _LABEL % ("" if label == "required" else " (left out of the features)"))
    add_options(group, _ROLES + _COLUMNS.lstrip())
    add_options(add_reading(parser), _TARGET_SHEET)
    return group


def add_columns(group: Any) -> None:
    """Add what the user can say about columns, and who answers where nothing was said."""
    add_options(group, _COLUMNS)


def add_reading(parser: argparse.ArgumentParser) -> Any:
    """Add how files are read; return the group of these options."""
    marks = {"choices": (",", ".", "'", " "), "metavar": None}
    group = parser.add_argument_group("reading")
    add_options(group, _READING, thousands=marks)
    return group


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add what kind of outcome there is, and which learner predicts it."""
    names = [entry.name for entry in learners()]
    abouts = ", ".join(f"{entry.name}: {entry.about}" for entry in learners())
    group = parser.add_argument_group("learning")
    add_label(group)
    help = f"{abouts} (default: {names[0]})"
    group.add_argument("--learner", choices=names, default=names[0], help=help)


def add_label(group: Any) -> None:
    """Add what kind of label there is, and what becomes of rows without one."""
    add_options(group, _KIND_OF_LABEL)


def add_output(
    parser: argparse.ArgumentParser, *, what: str = "result", required: bool = False
) -> Any:
    """Add where the result goes; return the group of these options."""
    group = parser.add_argument_group("output")
    add_options(group, _OUTPUT % what, output={"required": required})
    return group


def add_verdict(parser: argparse.ArgumentParser) -> None:
    """Add the machine-readable form, the strict mode and the seed."""
    group = parser.add_argument_group("verdict")
    add_options(group, _VERDICT)
    add_seed(group)


def add_seed(parser: Any) -> None:
    """Add the seed of all that is drawn."""
    add_options(parser, "--seed N  random seed (default: 0)", seed={"type": _seed, "default": 0})


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 4294967295")
    return int(text)


def add_answer(group: Any, *, doubts: bool = True) -> None:
    """Add how the samples are weighed, and what the interval covers, to an answer's method.

    With ``doubts`` also what if the assumption is wrong.
    """
    names = listed(entry.name for entry in weighters())
    add_options(group, _ANSWER % names, confidence={"default": 0.95})
    if doubts:
        add_options(group, _DOUBTS)


def check_answer(args: argparse.Namespace) -> None:
    """Refuse unknown weighters and outputs that cannot be, before any file is read."""
    from ..weights import WEIGHTERS

    if args.weighter is not None and args.weighter not in WEIGHTERS:
        raise InputError(f"The weighter {args.weighter!r} is unknown. Use {listed(WEIGHTERS)}.")
    if args.sensitivity is not None or args.null is not None:
        from ..engine.sensitivity import check_null, check_odds

        check_odds(1.0 if args.sensitivity is None else args.sensitivity)
        check_null(0.0 if args.null is None else args.null)
    if args.json and args.output == "-":
        raise InputError("--json prints on stdout: name a file for the table with -o.")
    if args.shift == "label":
        _check_label_shift(args)
    check_output(args)


def with_doubts(found: Any, args: argparse.Namespace) -> Any:
    """Add what --sensitivity and --null ask of estimates or evaluations."""
    if args.sensitivity is not None:
        found = found.with_sensitivity(args.sensitivity)
    if args.null is not None:
        found = replace(found, _robustness=found.robustness(args.null))
    return found


def _check_label_shift(args: argparse.Namespace) -> None:
    """Refuse options that label shift has no use for."""
    from ..engine.label_shift import WHY_NOT
    from ..margins.files import is_margins_file

    others = {"max_weight": "weighter", "target_outcome": "y_target", "target_label": "y_target"}
    for option in (*WHY_NOT, *others):
        if getattr(args, option, None) is not None:
            why = WHY_NOT[others.get(option, option)]
            raise InputError(f"--{option.replace('_', '-')} is not for --shift label: {why}.")
    if is_margins_file(args.target):
        raise InputError(f"--shift label needs target rows, and {args.target} holds margins.")


def show_answer(
    found: Any, notes: Sequence[Note], args: argparse.Namespace, verdict: str | None = None
) -> int:
    """Print an answer, with the notes on the files; return the exit code of its verdict."""
    if args.json:
        data = found.to_dict()
        if "checklist" in data:
            data["checklist"] = _checklist(found, notes).records
        data["notes"] = [*notes, *data["notes"]]
        print(console.as_json(data))
        return exit_code(found.verdict if verdict is None else verdict, args)
    text = str(found)
    if getattr(args, "methods", False):
        text += f"\n\n{found.methods_text()}\n\n{_checklist(found, notes)}"
    if args.output == "-":
        print(text, file=sys.stderr)
    else:
        console.emit(text, None)
    return exit_code(found.verdict if verdict is None else verdict, args)


_IN_COMMANDS = {
    "with_sensitivity(1.5)": "--sensitivity 1.5",
    "robustness()": "--null",
    "y_target=": "the target's outcomes",
    "sample_weight=, strata=, cluster=": "--weight, --strata, --cluster",
    "cluster=": "--cluster",
    "finite_population=": "--finite-population",
    "confidence=": "--confidence",
    "random_state=": "--seed",
    'method="dr"': "--method dr",
    "X, X_target": "the files",
}


def _checklist(found: Any, notes: Sequence[Note]) -> Any:
    """Return the checklist of an answer, with what was decided when the files were read."""
    table = found._checklist(notes)
    lines = ({**line, "where": _IN_COMMANDS.get(line["where"], line["where"])} for line in table)
    return replace(table, records=tuple(lines))


def check_output(args: argparse.Namespace, option: str = "output") -> None:
    """Refuse a bad -o before any work is done; --force does not reach what is read."""
    output = getattr(args, option)
    if output is None or output == "-":
        return
    from ..files.reading import book_and_sheet

    _files.check_writable(output, force=args.force)
    read = [
        getattr(args, name, None) for name in ("train", "target", "model", "table", "calibration")
    ]
    if any(given is not None and _same_file(output, book_and_sheet(given)[0]) for given in read):
        raise InputError(f"{output} is an input file: name another file for the output.")


def _same_file(one: str, other: str) -> bool:
    return Path(one).exists() and Path(other).exists() and Path(one).samefile(other)


def read_options_of(args: argparse.Namespace, model: Model | None = None) -> ReadOptions:
    """Return how the user wants files read; what is not said, a ``model`` may know."""
    from ..files.reading import MISSING, ReadOptions, missing_words, named_formats

    separator = {"\\t": "\t", "tab": "\t"}.get(args.sep, args.sep)
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise InputError(f"--sep {args.sep!r} is not one character. Use for example ';' or tab.")
    everywhere, in_columns = missing_words(args.missing)
    said = ReadOptions(
        separator,
        args.encoding,
        everywhere,
        missing_in=in_columns,
        dates=named_formats(getattr(args, "date", ())),
        decimal=args.decimal,
        thousands=args.thousands,
        sheet=args.sheet,
        target_sheet=getattr(args, "target_sheet", None),
    )
    known = getattr(args, "known_reading", {}) if model is None else model.reading
    if not known:
        return said
    from ..files.reading import read_options_with

    told = any(word not in MISSING for word in everywhere)
    return read_options_with(said, known, told=told)


def column_options_of(args: argparse.Namespace, **more: Any) -> ColumnOptions:
    """Return what the user says about columns; ``more`` are further fields."""
    from ..files.reading import named_dates, named_levels
    from ..files.samples import ColumnOptions

    return ColumnOptions(
        numeric=tuple(args.numeric),
        categorical=tuple(args.categorical),
        date=named_dates(args.date),
        ordered={**getattr(args, "known_levels", {}), **named_levels(args.ordered)},
        boolean=tuple(getattr(args, "known_booleans", ())),
        drop=tuple(args.drop),
        season=tuple(args.season),
        keep=tuple(args.keep),
        decided=tuple(part.column for part in getattr(args, "asked", ()) if part.safest.leaves_out),
        schema=tuple(getattr(args, "schema_columns", ())),
        missing_in=tuple(read_options_of(args).missing_in),
        **more,
    )


def answers_of(args: argparse.Namespace) -> list[Note]:
    """Say what was decided about columns that could be read in two ways."""
    asked = getattr(args, "asked", ())
    said_of_the_rows = ("--drop-unlabelled",)  # and how many these are
    return [part.note() for part in asked if part.safest.options != said_of_the_rows]


def samples_of(
    args: argparse.Namespace,
    *,
    label: bool = True,
    repeated: bool = True,
    alone: bool = False,
    **more: Any,
) -> TwoFiles:
    """Read the two files, and print what is worth knowing about them.

    Without ``label`` the column of that name is left out unread. Rows are ``repeated`` by their
    frequencies. Where the training file is there ``alone``, named twice, nothing is said of it as
    a target. ``more`` are further fields of `ColumnOptions`. What could be read in two ways is
    `Asked`.
    """
    from ..files.samples import read_samples

    refuse_margins_file(args.target)
    named = getattr(args, "label", None)
    declared = column_options_of(
        args,
        label=named if label else None,
        unread=() if label or named is None else (("--label", named),),
        id=args.id,
        weight=args.weight,
        target_weight=args.target_weight,
        frequency=args.frequency,
        target_frequency=args.target_frequency,
        task=getattr(args, "task", None),
        drop_unlabelled=getattr(args, "drop_unlabelled", False),
        **more,
    )
    reading = read_options_of(args)
    samples = read_samples(args.train, args.target, declared, reading, alone=alone)
    notes = [*answers_of(args), *samples.notes]
    if alone:
        notes = list(dict.fromkeys(note for note in notes if note.kind != "target labels"))
    samples = replace(samples, notes=notes)
    console.tell(*notes)
    args.id = samples.id_name  # which may have been found
    console.columns = samples.names
    return samples.repeated() if repeated else samples


def encoded_samples(samples: TwoFiles, y: Any, args: argparse.Namespace) -> Any:
    """Return the samples as the library takes them, with what the options name.

    The groups are a feature where both files have them, as they are for two data frames.
    """
    from ..data import Samples

    strata, cluster = (getattr(args, name, None) for name in ("strata", "cluster"))
    both = samples.target_groups is not None
    return Samples.of(
        samples.X,
        y,
        samples.X_target,
        by=(samples.groups, samples.target_groups) if both else samples.groups,
        by_name=args.by if both else None,
        sample_weight=samples.weight,
        target_weight=samples.target_weight,
        encoder=samples.encoding.encoder,
        left_out=samples.unused,
        strata=None if strata is None else samples.beside[strata],
        cluster=None if cluster is None else samples.beside[cluster],
    )


def labels_of_target(samples: TwoFiles, args: argparse.Namespace, name: str) -> tuple[Any, Any]:
    """Outcomes of target rows (M,) as text, None where unknown, and their chances or None.

    ``name`` is a column of the target, or a file that ``covshift plan`` wrote.
    """
    if is_file_of_labels(name):
        if args.target_probability is not None:
            raise InputError(f"{name} has probabilities: leave out --target-probability.")
        return _filled_in(samples, args, name)
    return samples.target_beside[name], chances_of_target(samples, args)


def chances_of_target(samples: TwoFiles, args: argparse.Namespace) -> list[float | None] | None:
    """Chances with which target rows were chosen, where a column of them is named."""
    from ..files.labels import read_numbers

    name = getattr(args, "target_probability", None)
    if name is None:
        return None
    return read_numbers(samples.target_beside[name], name, "--target-probability")


def is_file_of_labels(name: str | None) -> bool:
    """Whether --target-outcome names a file, and no column."""
    return name is not None and Path(name).suffix != "" and Path(name).is_file()


def _filled_in(samples: TwoFiles, args: argparse.Namespace, path: str) -> tuple[Any, Any]:
    """Read the rows of a plan, of which outcomes were filled in."""
    import numpy as np

    from ..files.labels import read_numbers
    from ..files.table import read_table

    outcome = args.outcome[0] if getattr(args, "outcome", None) else args.label
    needed = ("row", outcome, "probability")
    table = read_table(path, dict.fromkeys(needed, "category"), read_options_of(args))
    absent = [name for name in needed if name not in table.columns]
    if absent:
        raise InputError(
            f"{path} has no column {absent[0]!r}. A file for --target-outcome is one that covshift "
            "plan wrote, with outcomes filled in; for a column of the target, name the column."
        )
    given = [read_numbers(table[name], name, "--target-outcome") for name in ("row", "probability")]
    places: dict[int, list[int]] = {}
    for k, row in enumerate(samples.target_rows.tolist()):
        places.setdefault(row + 1, []).append(k)
    cells = np.full(len(samples.X_target), None, dtype=object)
    chances, seen = np.ones(len(cells)), set()
    for row, cell, chance in zip(given[0], table[outcome], given[1], strict=True):
        if row is None or int(row) != row or int(row) not in places:
            said = "a row has no number" if row is None else f"{args.target} has no row {row:g}"
            raise InputError(f"{path}: {said}. Leave the column row as covshift plan wrote it.")
        if chance is None:
            raise InputError(f"{path}: the row {row:g} has no probability.")
        if int(row) in seen:
            raise InputError(f"{path}: the row {row:g} stands there twice. Keep one.")
        seen.add(int(row))
        cells[places[int(row)]], chances[places[int(row)]] = cell, chance
    return cells, chances.tolist()


def refuse_target_weights(args: argparse.Namespace) -> None:
    """Refuse weights and sheets of target rows where the target is a file of margins."""
    for option in ("--target-weight", "--target-frequency", "--target-sheet"):
        if getattr(args, option[2:].replace("-", "_")) is not None:
            raise InputError(f"{option} is for target rows, and margins have none.")


def refuse_margins_file(path: str) -> None:
    """Refuse a file of margins where a command needs target rows."""
    from ..margins.files import is_margins_file

    if is_margins_file(path):
        raise InputError(
            f"{path} holds margins, and this command needs rows of the target. Margins are enough "
            "for `covshift compare`, which estimates the loss of models on the target, and for "
            "`weigh`, whose weights any scorer takes."
        )


def shift_line(found: Any) -> str:
    """Say the verdict of a diagnosis in a line; first that few rows carry the weights."""
    return f"{found.caution} Shift: {found.verdict}.".lstrip()


def exit_code(verdict: str, args: argparse.Namespace) -> int:
    """3 where --strict asks for it and the verdict is bad, else 0."""
    return 3 if args.strict and verdict in ("strong", "no overlap") else 0
