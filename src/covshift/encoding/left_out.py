"""Columns that were left out, and yet differ between the samples or go with the outcome."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from ..data.features import select
from ..data.validation import column_names
from ..data.values import is_gap
from ..numerics.array import Real, Rows
from ..show.notes import Note
from .cells import Cells, are_of_files, read_cells
from .decisions import Undo, in_both, undo_by_option, undo_by_target

_SURE = 1e-3  # p-value of a difference
_APART = 0.1  # total variation distance of the samples that is worth a warning
_GOES_WITH = 0.02  # share of the outcome's variance, in ranks
_PARTS = 10  # of about equally many rows, of numbers
_LEVELS = 20  # most frequent ones, of text
_MOSTLY = 0.9  # of the texts, from which the number in them is compared
_AMOUNT = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class LeftOut:
    """The cells of columns of both samples that were decided to be no features."""

    here: Mapping[str, Cells] = field(default_factory=dict)
    there: Mapping[str, Cells] = field(default_factory=dict)
    undo: Undo = undo_by_target

    @classmethod
    def of(cls, X: Any, target: Any, used: Collection[str], notes: Iterable[Note]) -> LeftOut:
        """Return the columns of two frames that are not ``used``, with the ``notes`` on them."""
        both = {*(column_names(target) or ())} - {*used}
        shared = [name for name in column_names(X) or () if name in both]
        names = missed(shared, notes)
        if not names:
            return cls()
        here, there = (read_cells(select(part, names), "X") for part in (X, target))
        return cls(here, there, undo_by_option if are_of_files(X, target) else undo_by_target)

    def take(self, rows: Rows) -> LeftOut:
        """Keep some of the training rows."""
        return replace(self, here={name: part.take(rows) for name, part in self.here.items()})

    def take_target(self, rows: Rows) -> LeftOut:
        """Keep some of the target rows."""
        return replace(self, there={name: part.take(rows) for name, part in self.there.items()})

    def warnings(self, y: Any = None) -> list[Note]:
        """Warn of columns that the answer should correct for; ``y`` are outcomes (N,), or None."""
        found = []
        for name, cells in self.here.items():
            pair = _codes(cells, self.there[name])
            if pair is None:
                continue
            differs = _differ(*pair)
            tells = y is not None and _goes_with(pair[0], y)
            if not (differs or tells):
                continue
            what = "differs between the samples" * differs
            what += " and " * (differs and tells) + "goes with the outcome" * tells
            found.append(in_both(partial(_warning, name, what), self.undo))
        return found


def _warning(name: str, what: str, undo: Undo) -> Note:
    text = (
        f"{name!r} was left out, although it {what}: the answer is not corrected for it. If the "
        f"outcome depends on it, make numbers or few categories of it; {undo(name, 'category')} "
        "uses it as it is."
    )
    return Note("left out", text, "warning")


def missed(names: Iterable[str], notes: Iterable[Note]) -> list[str]:
    """Return the columns that are no copies, no weights, and not warned of already."""
    told = [note.text for note in notes if note.kind in ("copies", "weights", "scattered levels")]
    return [name for name in names if not any(repr(name) in text for text in told)]


def _codes(here: Cells, there: Cells) -> tuple[Rows, Rows] | None:
    """Number the part of the column that each row is in, gaps as one; None for identifiers."""
    if here.empty or there.empty:
        return None
    if here.is_text != there.is_text:
        here, there = here.as_text(), there.as_text()
    pair = here, there
    numbers: tuple[Real, Real] = here.values, there.values
    if here.is_text:
        if any(np.bincount(part.values[~part.gaps]).max() < 2 for part in pair):
            return None  # different in every row
        read = {word: _amount(word) for part in pair for word in part.words}
        known = sum(number is not None for number in read.values())
        if known < _MOSTLY * len(read):
            return _levels(here, there)
        place = {word: np.nan if number is None else number for word, number in read.items()}
        numbers = here.mapped(place, np.nan), there.mapped(place, np.nan)
    both = np.concatenate(numbers)
    if any(len(np.unique(part[~np.isnan(part)])) == len(part) for part in numbers):
        return None
    cuts = np.unique(np.nanquantile(both, np.arange(1, _PARTS) / _PARTS, method="lower"))
    codes = [np.where(np.isnan(part), -1, np.searchsorted(cuts, part)) + 1 for part in numbers]
    return codes[0], codes[1]


def _amount(word: str) -> float | None:
    """Return the first number in a text, whatever its marks mean."""
    number = _AMOUNT.search(word)
    return None if number is None else float(number[0].replace(",", "").replace(".", "") or 0)


def _levels(here: Cells, there: Cells) -> tuple[Rows, Rows]:
    shares: dict[Any, float] = {}
    for part in (here, there):
        for word, count in part.counts().items():
            shares[word] = shares.get(word, 0.0) + count / len(part)
    kept = sorted(shares, key=lambda word: (-shares[word], str(word)))[:_LEVELS]
    place: dict[Any, float] = {word: k + 1.0 for k, word in enumerate(kept)}
    place.setdefault(None, 0.0)
    codes = [part.mapped(place, 0.0).astype(np.intp) for part in (here, there)]
    return codes[0], codes[1]


def _differ(here: Rows, there: Rows) -> bool:
    """Whether both samples are in these parts with different shares: by a chi-square test."""
    size = int(max(here.max(), there.max())) + 1
    counts = np.array([np.bincount(part, minlength=size) for part in (here, there)], dtype=float)
    counts = counts[:, counts.sum(axis=0) > 0]
    total = counts.sum(axis=1)
    expected = np.outer(total, counts.sum(axis=0)) / total.sum()
    statistic = ((counts - expected) ** 2 / expected).sum()
    apart = np.abs(np.diff(counts / total[:, None], axis=0)).sum() / 2
    return bool(apart > _APART and chdtrc(counts.shape[1] - 1, statistic) < _SURE)


def _goes_with(codes: Rows, y: Any) -> bool:
    """Whether ranks of an outcome differ between the parts: by the test of Kruskal and Wallis."""
    return any(_explains(codes, column) for column in _outcomes(y, len(codes)))


def _explains(codes: Rows, y: NDArray[Any]) -> bool:
    present = np.array([not is_gap(cell) for cell in y.tolist()], dtype=bool)
    values, part = y[present], codes[present]
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):  # categories: the most frequent one against the others
        _, place = np.unique(values.astype(str), return_inverse=True)
        numbers = (place == np.bincount(place).argmax()).astype(np.float64)
    _, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2)[place.reshape(-1)]
    rows = np.bincount(part)
    spread = ((ranks - ranks.mean()) ** 2).sum() if len(ranks) else 0.0
    if len(ranks) <= len(rows) + 1 or not spread:
        return False
    means = np.bincount(part, ranks)[rows > 0] / rows[rows > 0]
    rows = rows[rows > 0]
    share = float((rows * (means - ranks.mean()) ** 2).sum() / spread)
    chance = (len(rows) - 1) / (len(ranks) - 1)
    sure = chdtrc(len(rows) - 1, (len(ranks) - 1) * share) < _SURE
    return bool(len(rows) > 1 and share - chance > _GOES_WITH and sure)


def _outcomes(y: Any, size: int) -> list[NDArray[Any]]:
    """Return the columns of outcomes, whatever holds them, that have a value for each row."""
    names = getattr(y, "column_names", None) or getattr(y, "columns", None)
    if names is not None:
        columns = [y[name] for name in names]
    else:
        array = np.asarray(y, dtype=object)
        columns = [array] if array.ndim == 1 else list(array.T)
    arrays = [np.asarray(part, dtype=object) for part in columns]
    return [part for part in arrays if part.shape == (size,)]
