"""``covshift predict --interval`` and ``--set``: what is asked for, and what came of it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from ..exceptions import InputError
from . import console

if TYPE_CHECKING:
    from ..persistence import Model
    from .predict import Arguments

_OF = {"interval": "regression", "set": "classification"}
_WORDS = {"interval": "intervals", "set": "sets"}
COLUMNS = {"interval": ["lower", "upper"], "set": ["set"]}
BETWEEN = "|"
"""What stands between the classes of a set; in a class of that name ``\\|`` stands for it."""


class CoverageOptions(NamedTuple):
    """Intervals or sets, and their coverage."""

    kind: str  # "interval" or "set"
    percent: float

    @property
    def coverage(self) -> float:
        return self.percent / 100


def asked_of(options: Arguments) -> CoverageOptions | None:
    """Return what is asked for, if anything; refuse what cannot be together."""
    values = vars(options)
    given = [(kind, percent) for kind in _OF for percent in values[kind]]
    if not given:
        for name in ("calibration", "by-class", "weight", "json"):
            if values[name.replace("-", "_")]:
                raise InputError(f"--{name} belongs to --interval or --set: add one, as in 90.")
        return None
    if len(given) > 1:
        shown = " and ".join(f"--{kind} {percent:g}" for kind, percent in given)
        raise InputError(f"{shown}: one coverage at a time. Run it once for each.")
    if options.weight and not options.calibration:
        raise InputError("--weight is for the rows of --calibration, which names no file.")
    if options.by_class and (given[0][0] != "set" or not options.calibration):
        raise InputError(
            "--by-class is for --set, with the rows of --calibration; covshift fit --calibrate has "
            "it too."
        )
    if options.calibration == "-" and options.table == "-":
        raise InputError("Only one of the two files can be standard input (-).")
    if options.json and options.output in (None, "-"):
        raise InputError("--json prints on stdout: name a file for the predictions with -o.")
    return CoverageOptions(*given[0])


def check_model(asked: CoverageOptions, model: Model, options: Arguments) -> None:
    """Refuse a model of the other task, and one without calibration."""
    if model.task != _OF[asked.kind]:
        other = next(kind for kind in _OF if kind != asked.kind)
        what = "classes" if model.task == "classification" else "numbers"
        raise InputError(
            f"{options.model} predicts {what}, which have no {_WORDS[asked.kind]}: use --{other} "
            f"{asked.percent:g}."
        )
    if not model.calibrated and options.calibration is None:
        learner = ["--learner", model.learner]
        if "correction_reason" not in model.about:  # else the learner chose the method
            learner += ["--method", model.method]
        fit = ["covshift", "fit", "TRAIN", "TARGET", "--label", model.label, *learner]
        fit += ["--calibrate", "0.5", "-o", "MODEL"]
        again = ["covshift", *options.argv, "--calibration", "FILE"]
        raise InputError(
            f"{options.model} was not calibrated, so that it has no {_WORDS[asked.kind]}: hold out "
            f"rows when fitting it, `{shlex.join(fit)}`, or name labelled rows that did not "
            f"train it, `{shlex.join(again)}`."
        )


def columns_of(found: Any, asked: CoverageOptions, model: Model) -> list[list[Any]]:
    """Return what is written of intervals or sets."""
    if asked.kind == "interval":
        return [found.lower.tolist(), found.upper.tolist()]
    names = [label.replace(BETWEEN, "\\" + BETWEEN) for label in model.classes]
    members = (row.nonzero()[0].tolist() for row in found.member)
    return [[BETWEEN.join(names[k] for k in row) for row in members]]


def refuse_if_nothing_is_known(found: Any, asked: CoverageOptions, title: str) -> None:
    """Refuse rows of which none is like the training rows."""
    gaps = [note.text.rpartition(":")[0] for note in found.notes if note.kind == "no overlap"]
    empty = found.share_infinite if asked.kind == "interval" else found.share_whole
    if gaps and empty == 1:
        raise InputError(
            f"No row of {title} has training rows nearby: when the model was fitted, "
            f"{'; '.join(gaps)}. Its {_WORDS[asked.kind]} would tell you nothing. Leave out "
            f"--{asked.kind}, or fit a model with rows like these, or without the column (covshift "
            "fit --drop COL)."
        )


def show(found: Any, asked: CoverageOptions, model: Model, target: str, options: Arguments) -> None:
    """Print the summary of intervals or sets on ``target``: on stderr, or as JSON on stdout."""
    if options.json:
        of_numbers = {"unit": model.unit} if asked.kind == "interval" else {}
        console.print_json({**found.to_dict(), **of_numbers, "file": options.output})
    console.tell(*found.notes)
    if console.quiet or options.json:
        return
    if asked.kind == "interval":
        unit = f" {model.unit}" if model.unit else ""
        size = f"Intervals: mean width {found.mean_width:.4g}{unit}; {found.share_infinite:.1%} "
        size += "infinite"
    else:
        size = f"Sets: {found.mean_size:.2f} classes on average; {found.share_whole:.1%} hold all, "
        size += f"{found.share_empty:.1%} none"
    expected = found.expected_coverage
    lines = [found.caution] if found.caution else []
    lines += [
        f"Coverage asked: {asked.percent:g}%; expected on {target}: {expected}",
        *expected.group_lines(),
        f"Calibration: {found.n_calibration} {found.calibrated_by}, effective calibration size "
        f"{found.effective_sample_size:.0f}",
        size,
        found.assumption,
    ]
    print("\n".join(lines), file=sys.stderr)
