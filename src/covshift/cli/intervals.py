"""``covshift predict --interval`` and ``--set``: what is asked for, and what came of it."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..exceptions import InputError
from . import options

if TYPE_CHECKING:
    from ..persistence.files import Model

_OF = {"interval": "regression", "set": "classification"}
_WORDS = {"interval": "intervals", "set": "sets"}
BETWEEN = "|"
"""What stands between the classes of a set; in a class of that name ``\\|`` stands for it."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of intervals and sets."""
    group = parser.add_argument_group("intervals")
    for name, what in (
        ("interval", "columns lower and upper: the number is between them with this probability"),
        ("set", f"column set: classes, joined by {BETWEEN}, the true one among them with it"),
    ):
        group.add_argument(
            f"--{name}", metavar="PERCENT", type=_percent, action="append", help=f"{what}, as in 90"
        )
    group.add_argument(
        "--calibration",
        metavar="FILE",
        help="labelled rows that the model has not seen; needed unless covshift fit had "
        "--calibrate. Coverage is then that on the table, which is read whole, else that on the "
        "target of the fit",
    )
    group.add_argument(
        "--weight", metavar="COL", help="probability weights of the rows of --calibration"
    )
    group.add_argument("--json", action="store_true", help="print the summary as JSON on stdout")
    options.add_seed(group)


def _percent(text: str) -> float:
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = float("nan")
    if 0 < percent < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is less than one percent: did you mean {100 * percent:g}?"
        )
    if not 0 < percent < 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not one percentage between 0 and 100")
    return percent


@dataclass(frozen=True)
class Asked:
    """Intervals or sets, and their coverage."""

    kind: str  # "interval" or "set"
    percent: float

    @property
    def coverage(self) -> float:
        return self.percent / 100

    @property
    def columns(self) -> list[str]:
        """Columns that the output gets."""
        return ["lower", "upper"] if self.kind == "interval" else ["set"]


def asked_of(args: argparse.Namespace) -> Asked | None:
    """Return what is asked for, if anything; refuse what cannot be together."""
    given = [(kind, percent) for kind in _OF for percent in getattr(args, kind) or ()]
    if not given:
        for name in ("calibration", "weight", "json"):
            if getattr(args, name):
                raise InputError(f"--{name} belongs to --interval or --set: add one, as in 90.")
        return None
    if len(given) > 1:
        shown = " and ".join(f"--{kind} {percent:g}" for kind, percent in given)
        raise InputError(f"{shown}: one coverage at a time. Run it once for each.")
    if args.weight and not args.calibration:
        raise InputError("--weight is for the rows of --calibration, which names no file.")
    if args.calibration == "-" and args.table == "-":
        raise InputError("Only one of the two files can be standard input (-).")
    if args.json and args.output in (None, "-"):
        raise InputError("--json prints on stdout: name a file for the predictions with -o.")
    return Asked(*given[0])


def check_model(asked: Asked, model: Model, args: argparse.Namespace) -> None:
    """Refuse a model of the other task, and one without calibration."""
    if model.task != _OF[asked.kind]:
        other = next(kind for kind in _OF if kind != asked.kind)
        what = "classes" if model.task == "classification" else "numbers"
        raise InputError(
            f"{args.model} predicts {what}, which have no {_WORDS[asked.kind]}: use --{other} "
            f"{asked.percent:g}."
        )
    if not model.calibrated and args.calibration is None:
        learner = ["--learner", model.learner, "--method", model.method]
        fit = ["covshift", "fit", "TRAIN", "TARGET", "--label", model.label, *learner]
        fit += ["--calibrate", "0.5", "-o", "MODEL"]
        again = ["covshift", *args.argv, "--calibration", "FILE"]
        raise InputError(
            f"{args.model} was not calibrated, so that it has no {_WORDS[asked.kind]}: hold out "
            f"rows when fitting it, `{shlex.join(fit)}`, or name labelled rows that it has not "
            f"seen, `{shlex.join(again)}`."
        )
