"""What new rows have that the training rows of a model did not: levels, gaps, values beyond."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.features import MISSING
from ..encoding import Feature, TableEncoder
from ..encoding.encoder import in_words
from ..encoding.feature import Unseen
from ..numerics.array import Real
from ..numerics.support import LEVEL, MISSED, NO_OVERLAP, Uncovered, chance
from ..show.notes import Note
from ..show.words import percent


@dataclass(frozen=True)
class TrainingRange:
    """Number of training rows, and the smallest and largest value of each column."""

    rows: int
    extremes: Real  # (2, n)

    @classmethod
    def of(cls, X: Real, weight: Real | None) -> TrainingRange:
        """Return the range of the rows that have a weight."""
        there = np.asarray(X if weight is None else X[weight > 0])
        return cls(len(there), np.array([there.min(axis=0), there.max(axis=0)]))


@dataclass
class NewRows:
    """Counts what is strange about new rows, block by block."""

    range: TrainingRange
    encoder: TableEncoder
    rows: int = 0
    outside: Any = 0  # (2, n): rows below and above the training rows
    unseen: dict[Feature, Unseen] = field(default_factory=dict)

    def count(self, X: Real, unseen: Iterable[tuple[Feature, Unseen]]) -> None:
        """Add encoded rows, and what the encoder had no place for."""
        low, high = self.range.extremes
        X = np.asarray(X)
        self.rows += len(X)
        self.outside = self.outside + np.array([(X < low).sum(axis=0), (X > high).sum(axis=0)])
        for feature, found in unseen:
            self.unseen.setdefault(feature, Unseen()).add(found)

    def notes(self, title: str) -> list[Note]:
        """Say it in words."""
        unseen = self.unseen.items()
        told = [text for f, found in unseen for text in in_words(f, found, self.rows, title)]
        notes = [Note("unseen levels", text, "warning") for text in told]
        for part in self._parts():
            where = part.where(self.encoder.columns, self.encoder.dates)
            text = f"{percent(part.share)} of {title} {where}. Predictions there are guesses."
            notes.append(Note("no overlap", text, "warning"))
        return notes

    def _parts(self) -> list[Uncovered]:
        """Parts that are significant, and more than a tenth beyond what chance may explain."""
        if not self.rows:
            return []
        N, made, found = float(self.range.rows), self.encoder.made, []
        for row, k in np.argwhere(self.outside / self.rows - MISSED / N >= NO_OVERLAP).tolist():
            count, value = float(self.outside[row, k]), float(self.range.extremes[row, k])
            p_value = 2 * len(made) * chance(count, N, float(self.rows))
            side: Any = ("below", "above")[row]
            if made[k][1] is not None or made[k][0].endswith(MISSING):  # a mark, 0 or 1
                side, value = "at", 1.0 - value
            if p_value <= LEVEL:
                share = count / self.rows
                found.append(Uncovered(k, side, value, share, share, p_value))
        return found
