"""``covshift predict --interval`` and ``--set``: what is asked for, and what came of it."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..exceptions import InputError
from ..show.notes import Note
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
    given = [(kind, percent) for kind in _OF for percent in getattr(options, kind) or ()]
    if not given:
        for name in ("calibration", "by-class", "weight", "json"):
            if getattr(options, name.replace("-", "_")):
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


@dataclass
class Tally:
    """What was written so far, counted."""

    asked: CoverageOptions
    model: Model
    target: str  # on which the coverage is, in words
    rows: int = 0
    sums: Counter[str] = field(default_factory=Counter)
    first: Any = None  # intervals or sets of the first block, which know the calibration

    def block(self, X: Any) -> tuple[Any, list[list[Any]]]:
        """Return the intervals or sets of encoded rows, and the columns that they become."""
        columns: list[list[Any]]
        if self.asked.kind == "interval":
            found = self.model.predict_interval(X, self.asked.coverage)
            width = (found.upper - found.lower)[~found.infinite].sum()
            below = int((found.lower < 0)[~found.infinite].sum())
            self.sums.update(width=width, infinite=int(found.infinite.sum()), below=below)
            columns = [found.lower.tolist(), found.upper.tolist()]
        else:
            found = self.model.predict_set(X, self.asked.coverage)
            size = found.member.sum(axis=1)
            whole, empty = int((size == len(found.classes)).sum()), int((size == 0).sum())
            self.sums.update(size=int(size.sum()), whole=whole, empty=empty)
            names = [label.replace(BETWEEN, "\\" + BETWEEN) for label in self.model.classes]
            columns = [
                [BETWEEN.join(names[k] for k in row.nonzero()[0].tolist()) for row in found.member]
            ]
        self.rows += len(found)
        self.first = found if self.first is None else self.first
        self.sums["beyond"] += self._beyond(X)
        return found, columns

    def _beyond(self, X: Any) -> int:
        """How many rows lie where the model's calibration has no training rows."""
        import numpy as np

        gaps = () if self.first.calibrated_on_target else self.model.estimator._shift.gaps
        Z = self.model.scaled(X)
        return int(np.any([gap.holds(Z) for gap in gaps], axis=0).sum()) if gaps else 0

    def refuse_if_nothing_is_known(self, title: str) -> None:
        """Refuse rows of which none is like the training rows."""
        if self.rows and self.sums["beyond"] == self.rows:
            raise InputError(
                f"No row of {title} has training rows nearby: when the model was fitted, "
                f"{'; '.join(self.gaps())}. Its {_WORDS[self.asked.kind]} would tell you nothing. "
                f"Leave out --{self.asked.kind}, or fit a model with rows like these, or without "
                "the column (covshift fit --drop COL)."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data, with the names of `Intervals.to_dict`."""
        if not self.rows:
            return {"coverage": self.asked.coverage, "rows": 0}
        from ..conformal.result import interval_sentence, set_sentence

        shares: dict[str, Any]
        rows, coverage = self.rows, self.asked.coverage
        if self.asked.kind == "interval":
            finite = rows - self.sums["infinite"]
            width = float(self.sums["width"]) / finite if finite else float("inf")
            shares = {
                "mean_width": width,
                "unit": self.model.unit,
                "share_infinite": self.sums["infinite"] / rows,
            }
            sentence = interval_sentence(rows, coverage, width, shares["share_infinite"])
        else:
            names = {"size": "mean_size", "whole": "share_whole", "empty": "share_empty"}
            shares = {name: self.sums[kind] / rows for kind, name in names.items()}
            sentence = set_sentence(rows, coverage, *shares.values())
        data: dict[str, Any] = self.first.to_dict()
        return {**data, "sentence": sentence, **shares, "rows": rows, "notes": self.notes()}

    def notes(self) -> list[Note]:
        """Notes on the whole table, with the names and numbers of its columns."""
        from ..conformal.result import below_zero

        notes = []
        kind = "infinite" if self.asked.kind == "interval" else "whole"
        if self.asked.kind == "interval" and self.sums[kind]:
            text = (
                f"{self.sums[kind] / self.rows:.1%} of the intervals are infinite: too few "
                "calibration rows are like these rows. Use more of them, or a lower coverage."
            )
            notes.append(Note("infinite", text, "warning"))
        if self.model.about.get("positive"):
            notes += below_zero(self.sums["below"] / self.rows)
        there = "intervals are infinite" if kind == "infinite" else "sets hold all classes"
        notes += [Note("no overlap", f"{gap}: {there} there.", "warning") for gap in self.gaps()]
        own = ("infinite", "no overlap", "below zero")
        notes += [note for note in self.first.notes if note.kind not in own]
        return notes

    def gaps(self) -> list[str]:
        """Parts of the target without training rows, in the words of the table."""
        if self.first.calibrated_on_target:
            return []
        center, scale = self.model.center, self.model.scale
        encoder, found = self.model.encoder, []
        for gap in self.model.estimator._shift.gaps:
            value = float(gap.value * scale[gap.column] + center[gap.column])
            found.append(replace(gap, value=value).describe(encoder.columns, encoder.dates))
        return found

    def show(self, file: str | None, *, json: bool) -> None:
        """Print the summary: on stderr, or as JSON on stdout."""
        if json:
            console.print_json({**self.to_dict(), "file": file})
        if not self.rows:
            return
        console.tell(*self.notes())
        if not console.quiet and not json:
            print(self._text(), file=sys.stderr)

    def _text(self) -> str:
        data, expected = self.to_dict(), self.first.expected_coverage
        if self.asked.kind == "interval":
            unit = f" {self.model.unit}" if self.model.unit else ""
            size = f"mean width {data['mean_width']:.4g}{unit}"
            share = f"{data['share_infinite']:.1%} infinite"
        else:
            size = f"{data['mean_size']:.2f} classes on average"
            share = f"{data['share_whole']:.1%} hold all, {data['share_empty']:.1%} none"
        groups = "".join(f"{line}\n" for line in expected.group_lines())
        lines = (
            f"Coverage asked: {self.asked.percent:g}%; expected on {self.target}: {expected}\n"
            f"{groups}Calibration: {data['n_calibration']} {self.first.calibrated_by}, effective "
            f"calibration size {data['effective_sample_size']:.0f}\n"
            f"{'Intervals' if self.asked.kind == 'interval' else 'Sets'}: {size}; {share}\n"
            f"{self.first.assumption}"
        )
        return f"{self.first.caution}\n{lines}".lstrip()
