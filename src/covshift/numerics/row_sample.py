"""A fair sample of labelled rows, by their content: what is chosen from few rows for all of them.

Every distinct pair of a row and its outcome has the same chance and keeps the weight and the number
of all its repeats. So neither the order of the rows, nor the blocks they arrive in, nor repeating
them instead of counting them changes the sample; and where there are few distinct pairs it holds
all rows.

Units and names do not change it either: rows are measured in `covshift.numerics.hashing`, and the
least outcome that a row has, the only one in most tables, has no part in the key. The others of the
row need one, and there the number itself, its power of two left out, or the label is hashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .array import Array, Flags, Real, Rows, Whole, is_numpy, take_rows, to_numpy
from .hashing import (
    Keys,
    RowUnits,
    keys_repeat,
    least_distinct,
    mixed_hash,
    on_host,
    row_hash,
    row_keys,
)

SAMPLE_ROWS = 5000  # rows that scales, kernels and calibrations are learned from, at most
ENOUGH_ROWS = 20_000  # of a sample, where what is told of its columns need not see all rows


def drawn_rows(count: int, most: int, rng: np.random.Generator) -> Rows:
    """Draw at most ``most`` of ``count`` rows, without replacement, in their order."""
    if count <= most:
        return np.arange(count)
    return np.sort(rng.choice(count, size=most, replace=False))


@dataclass(frozen=True)
class RowSample:
    """The pairs of the smallest keys, in the order of their keys: a plain value that combines."""

    keys: Keys  # (c,), sorted
    cells: Keys  # (c,), keys of the rows alone
    marks: Real | Keys  # (c, k), outcomes as numbers, or hashes of labels
    X: Real  # (c, n)
    y: NDArray[Any]  # (c,) or (c, k)
    w: Real  # (c,), of all repeats
    repeats: Whole  # (c,)
    rows: int  # that were sampled from, repeats included
    weight: float  # of all of them
    count: int = SAMPLE_ROWS

    @classmethod
    def of(
        cls,
        X: Array,
        y: Array,
        w: Array,
        outcome_keys: Keys | None = None,
        *,
        units: RowUnits,
    ) -> RowSample:
        """Sample rows X (N, n) with outcomes y (N,) or (N, k) and weights w (N,).

        ``outcome_keys`` (N,) are a hash of every outcome where it is not a number, ``units`` what
        the rows are measured in. O(N n).
        """
        rows = row_keys(X, units=units)
        marks = (
            to_numpy(y).reshape(len(rows), -1) if outcome_keys is None else outcome_keys[:, None]
        )
        every = _pair_keys(rows, marks)
        places, keys, first, place = least_distinct(every, SAMPLE_ROWS)
        first = first[:SAMPLE_ROWS]
        some, N = places[first], int(X.shape[0])
        weights = to_numpy(w if len(places) == N else _taken(w, places))
        return cls(
            keys[: len(some)],
            on_host(_taken(rows, some)),
            marks[some],
            _taken(X, some).astype(np.float64) + 0.0,
            _taken(y, some),
            _totals(place, weights)[: len(some)],
            np.rint(_totals(place, np.ones(len(places)))[: len(some)]).astype(np.int64),
            N,
            float(w.sum() if is_numpy(w) else w.double().sum()),
        )

    def combine(self, other: RowSample) -> RowSample:
        """Sample both sets of rows."""
        every, cells, marks, y = (
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("keys", "cells", "marks", "y")
        )
        # What was the least outcome of a row in one set need not be in both.
        every = np.where(every == mixed_hash(cells), _pair_keys(cells, marks), every)
        keys, first, place = np.unique(every, return_index=True, return_inverse=True)
        some = first[: self.count]
        weight = _totals(place, np.concatenate([self.w, other.w]))
        repeats = _totals(place, np.concatenate([self.repeats, other.repeats]))
        return RowSample(
            keys[: len(some)],
            cells[some],
            marks[some],
            np.concatenate([self.X, other.X])[some],
            y[some],
            weight[: len(some)],
            np.rint(repeats[: len(some)]).astype(np.int64),
            self.rows + other.rows,
            self.weight + other.weight,
            self.count,
        )

    @property
    def counts(self) -> Real:
        """Weights (c,) as counts of rows, whatever their scale: those of all rows sum to them."""
        return self.w * (self.rows / self.weight)


def label_keys(y: NDArray[Any]) -> Keys:
    """Hash every label (N,), of whatever type, by what it prints as."""
    labels, place = np.unique(y, return_inverse=True)
    codes = [np.frombuffer(_eight_bytes(str(label)), dtype=np.uint64)[0] for label in labels]
    return np.asarray(mixed_hash(np.array(codes, dtype=np.uint64)))[place.reshape(-1)]


def _eight_bytes(text: str) -> bytes:
    from hashlib import blake2b

    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _pair_keys(rows: Array, marks: Real | Keys) -> Array:
    """Return a key of every row, by its key (N,), and its outcome, numbers or hashes (N, k)."""
    if not keys_repeat(rows):
        return mixed_hash(rows)
    cells = on_host(rows)
    outcomes = marks[:, 0] if marks.dtype == np.uint64 else row_hash(np.frexp(marks)[0], seed=1)
    others = mixed_hash(cells ^ mixed_hash(outcomes))
    return np.where(_least_of_row(cells, marks), mixed_hash(cells), others)


def _least_of_row(cells: Keys, outcomes: Real | Keys) -> Flags:
    """Whether no row of the same key has a smaller outcome."""
    order = np.lexsort((*outcomes.T[::-1], cells))
    new = np.concatenate([[True], cells[order[1:]] != cells[order[:-1]]])
    first = order[np.flatnonzero(new)[np.cumsum(new) - 1]]
    least = np.empty(len(cells), dtype=bool)
    least[order] = (outcomes[order] == outcomes[first]).all(axis=1)
    return least


def _totals(place: NDArray[np.intp], w: Real | Whole) -> Real:
    return np.asarray(np.bincount(place.reshape(-1), w), dtype=np.float64)


def _taken(values: Array, some: NDArray[np.intp]) -> NDArray[Any]:
    return values[some] if is_numpy(values) else to_numpy(take_rows(values, some))
