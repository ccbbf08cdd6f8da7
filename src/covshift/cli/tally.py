"""Intervals and sets of a table, block by block: their columns, and the summary of all."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..show.notes import Note
from . import console
from .intervals import BETWEEN, Asked

if TYPE_CHECKING:
    from ..persistence.files import Model


@dataclass
class Tally:
    """What was written so far, counted."""

    asked: Asked
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
            finite = ~found.infinite
            self.sums["width"] += (found.upper - found.lower)[finite].sum()
            self.sums["infinite"] += int((~finite).sum())
            columns = [found.lower.tolist(), found.upper.tolist()]
        else:
            found = self.model.predict_set(X, self.asked.coverage)
            size = found.member.sum(axis=1)
            self.sums["size"] += int(size.sum())
            self.sums["whole"] += int((size == len(found.classes)).sum())
            self.sums["empty"] += int((size == 0).sum())
            names = [label.replace(BETWEEN, "\\" + BETWEEN) for label in self.model.classes]
            columns = [
                [BETWEEN.join(names[k] for k in row.nonzero()[0].tolist()) for row in found.member]
            ]
        self.rows += len(found)
        self.first = found if self.first is None else self.first
        return found, columns

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
        notes = []
        kind = "infinite" if self.asked.kind == "interval" else "whole"
        if self.asked.kind == "interval" and self.sums[kind]:
            text = (
                f"{self.sums[kind] / self.rows:.1%} of the intervals are infinite: too few "
                "calibration rows are like these rows. More of them, or a lower coverage, would do."
            )
            notes.append(Note("infinite", text, "warning"))
        there = "intervals are infinite" if kind == "infinite" else "sets hold all classes"
        center, scale = self.model.center, self.model.scale
        for gap in self.model.estimator._shift.gaps:
            value = float(gap.value * scale[gap.column] + center[gap.column])
            where = replace(gap, value=value).describe(self.model.encoding.columns)
            notes.append(Note("no overlap", f"{where}: {there} there.", "warning"))
        notes += [note for note in self.first.notes if note.kind not in ("infinite", "no overlap")]
        return notes

    def show(self, file: str | None, *, json: bool) -> None:
        """Print the summary: on stderr, or as JSON on stdout."""
        if json:
            print(console.as_json({**self.to_dict(), "file": file}))
        if not self.rows:
            return
        for note in self.notes():
            console.tell(note)
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
        return (
            f"Coverage asked: {self.asked.percent:g}%; expected on {self.target}: {expected}\n"
            f"Calibration: {data['n_calibration']} rows, after weighting as precise as "
            f"{data['effective_sample_size']:.0f} equally weighted ones\n"
            f"{'Intervals' if self.asked.kind == 'interval' else 'Sets'}: {size}; {share}"
        )
