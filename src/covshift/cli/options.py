"""Options that several commands share, and what they mean for the library."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _files
from .._notes import Note
from .._registry import learners, listed, weighters
from ..exceptions import InputError
from . import console

if TYPE_CHECKING:
    from .._tables import ReadOptions, Samples


def add_command(commands: Any, name: str, help: str, description: str) -> argparse.ArgumentParser:
    """Add a command with the options that all have."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=description, allow_abbrev=False
    )
    general = parser.add_argument_group("general")
    general.add_argument("--quiet", "-q", action="store_true", help="print no notes on stderr")
    general.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def add_samples(parser: argparse.ArgumentParser, *, label: str | None) -> Any:
    """Add the two files and what the user can say about their columns; return the group of these.

    ``label`` is "required", "optional", or None for a command that has its own option for it.
    """
    parser.add_argument("train", help="training sample: CSV, TSV or Parquet file, or -")
    parser.add_argument("target", help="sample of the target population, in the same formats")
    group = parser.add_argument_group("columns")
    if label is not None:
        optional = "" if label == "required" else " (left out of the features)"
        group.add_argument(
            "--label",
            metavar="COL",
            required=label == "required",
            help=f"the outcome{optional}; in the target it is used only to score",
        )
    group.add_argument(
        "--id", metavar="COL", help="identifies rows; copied to the output, not used as a feature"
    )
    for side, of in (("", "training"), ("target-", "target")):
        group.add_argument(
            f"--{side}weight",
            metavar="COL",
            help=f"probability weights of the {of} rows, such as those of a survey, on any scale",
        )
        group.add_argument(
            f"--{side}frequency", metavar="COL", help=f"how often each {of} row was seen"
        )
    for name, help in (
        ("numeric", "read as numbers"),
        ("categorical", "read as categories: one column of 0 and 1 per level"),
        ("date", "read as dates, as days: ISO dates, or COL=%%d.%%m.%%Y"),
        ("drop", "leave out"),
    ):
        group.add_argument(
            f"--{name}", metavar="COL", action="append", default=[], help=f"{help} (repeatable)"
        )
    group.add_argument(
        "--impute",
        action="store_true",
        help="fill missing values with the training median, and add a column that marks them",
    )
    add_reading(parser)
    return group


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add how text files are read."""
    group = parser.add_argument_group("reading")
    group.add_argument("--sep", metavar="CHAR", help="separator of text (default: found)")
    group.add_argument("--encoding", help="encoding of text files (default: found)")
    group.add_argument(
        "--missing",
        metavar="[COL=]VALUE",
        action="append",
        help="value that stands for a missing one, in all columns or in one, besides the empty "
        "cell (repeatable; words replace NA, N/A, #N/A, NaN, nan, NULL, null, None)",
    )
    group.add_argument("--decimal", choices=(".", ","), help="decimal mark, if it is a comma")
    group.add_argument(
        "--thousands", choices=(",", ".", "'", " "), help="mark between thousands, such as ,"
    )
    group.add_argument("--sheet", metavar="NAME", help="sheet of a workbook (default: the first)")


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add what kind of outcome there is, and which learner predicts it."""
    found = learners()
    abouts = ", ".join(f"{entry.name}: {entry.about}" for entry in found)
    group = parser.add_argument_group("learning")
    group.add_argument(
        "--task", choices=("classification", "regression"), help="kind of label (default: inferred)"
    )
    group.add_argument(
        "--learner",
        choices=[entry.name for entry in found],
        default=found[0].name,
        help=f"{abouts} (default: {found[0].name})",
    )


def add_output(
    parser: argparse.ArgumentParser, *, what: str = "result", required: bool = False
) -> Any:
    """Add where the result goes; return the group of these options."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o", "--output", metavar="FILE", required=required, help=f"write the {what} to FILE"
    )
    group.add_argument("--force", action="store_true", help="overwrite FILE if it exists")
    return group


def add_verdict(parser: argparse.ArgumentParser) -> None:
    """Add the machine-readable form, the strict mode and the seed."""
    group = parser.add_argument_group("verdict")
    group.add_argument("--json", action="store_true", help="print JSON on stdout")
    group.add_argument(
        "--strict",
        action="store_true",
        help="exit with code 3 if the shift is strong or there is no overlap",
    )
    add_seed(group)


def add_seed(parser: Any) -> None:
    """Add the seed of all that is drawn."""
    parser.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="random seed (default: 0)"
    )


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 4294967295")
    return int(text)


def add_answer(group: Any) -> None:
    """Add how the samples are weighed, and what the interval covers, to an answer's method."""
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


def check_answer(args: argparse.Namespace) -> None:
    """Refuse unknown weighters and outputs that cannot be, before any file is read."""
    from ..weights import WEIGHTERS

    if args.weighter is not None and args.weighter not in WEIGHTERS:
        raise InputError(f"The weighter {args.weighter!r} is unknown. Use {listed(WEIGHTERS)}.")
    if args.json and args.output == "-":
        raise InputError("--json prints on stdout: name a file for the table with -o.")
    check_output(args)


def show_answer(found: Any, notes: Sequence[Note], args: argparse.Namespace) -> int:
    """Print estimates or evaluations, with the notes on the files; return the exit code."""
    if args.json:
        data = found.to_dict()
        data["notes"] = [*notes, *data["notes"]]
        print(console.as_json(data))
    elif args.output == "-":
        print(found, file=sys.stderr)
    else:
        console.emit(str(found), None)
    return exit_code(found.verdict, args)


def check_output(args: argparse.Namespace, option: str = "output") -> None:
    """Refuse a bad -o before any work is done; --force does not reach what is read."""
    output = getattr(args, option)
    if output is None or output == "-":
        return
    _files.check_writable(output, force=args.force)
    read = [
        getattr(args, name, None) for name in ("train", "target", "model", "table", "calibration")
    ]
    if any(given is not None and _same_file(output, given) for given in read):
        raise InputError(f"{output} is an input file: name another file for the output.")


def _same_file(one: str, other: str) -> bool:
    return Path(one).exists() and Path(other).exists() and Path(one).samefile(other)


def read_options_of(args: argparse.Namespace) -> ReadOptions:
    """Return how the user wants files read."""
    from .._tables import ReadOptions, missing_words

    separator = {"\\t": "\t", "tab": "\t"}.get(args.sep, args.sep)
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise InputError(f"--sep {args.sep!r} is not one character. Use for example ';' or tab.")
    everywhere, by_column = missing_words(args.missing)
    return ReadOptions(
        separator,
        args.encoding,
        everywhere,
        missing_in=by_column,
        decimal=args.decimal,
        thousands=args.thousands,
        dates=dict(_dates(args)[1]),
        sheet=args.sheet,
    )


def _dates(args: argparse.Namespace) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the columns that --date names, and the formats it gives."""
    from .._tables.dates import check_format

    names, formats = [], {}
    for given in getattr(args, "date", ()):
        name, _, form = given.partition("=%")
        names.append(name)
        if form:
            check_format(name, f"%{form}")
            formats[name] = f"%{form}"
    return tuple(names), formats


def samples_of(
    args: argparse.Namespace,
    *,
    label: bool = True,
    repeated: bool = True,
    alone: bool = False,
    **more: Any,
) -> Samples:
    """Read the two files, and print what is worth knowing about them.

    Without ``label`` the column of that name is left out unread. Rows are ``repeated`` by their
    frequencies. Where the training file is there ``alone``, named twice, nothing is said of it as
    a target. ``more`` are further fields of `ColumnOptions`.
    """
    from .._tables import ColumnOptions, read_samples

    refuse_margins_file(args.target)
    named = getattr(args, "label", None)
    if not label and named is not None:
        args.drop = [*args.drop, named]
    declared = ColumnOptions(
        label=named if label else None,
        id=args.id,
        weight=args.weight,
        target_weight=args.target_weight,
        frequency=args.frequency,
        target_frequency=args.target_frequency,
        numeric=tuple(args.numeric),
        categorical=tuple(args.categorical),
        date=_dates(args)[0],
        drop=tuple(args.drop),
        impute=args.impute,
        task=getattr(args, "task", None),
        **more,
    )
    samples = read_samples(args.train, args.target, declared, read_options_of(args))
    if alone:
        own = dict.fromkeys(note for note in samples.notes if note.kind != "target labels")
        samples = replace(samples, notes=list(own))
    for found in samples.notes:
        console.tell(found)
    return samples.repeated() if repeated else samples


def refuse_target_weights(args: argparse.Namespace) -> None:
    """Refuse weights of target rows where the target is a file of margins."""
    for option in ("--target-weight", "--target-frequency"):
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


def exit_code(verdict: str, args: argparse.Namespace) -> int:
    """3 where --strict asks for it and the verdict is bad, else 0."""
    return 3 if args.strict and verdict in ("strong", "no overlap") else 0
