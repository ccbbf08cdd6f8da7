"""A fair sample of labelled rows, by their content: what is chosen from few rows for all of them.

Every distinct pair of a row and its outcome has the same chance and keeps the weight and the number
of all its repeats. So neither the order of the rows, nor the blocks they arrive in, nor repeating
them instead of counting them changes the sample; and where there are few distinct pairs it holds
all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import Array, is_numpy, take_rows, to_numpy
from ._hashing import Keys, least_distinct, mixed_hash, on_host, row_keys
from ._types import Real, Whole

SAMPLE_ROWS = 5000  # rows that scales, kernels and calibrations are learned from, at most


@dataclass(frozen=True)
class RowSample:
    """The pairs of the smallest keys, in the order of their keys: a plain value that combines."""

    keys: Keys  # (c,), sorted
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
        repeats: Whole | None = None,
    ) -> RowSample:
        """Sample rows X (N, n) with outcomes y (N,) or (N, k), weights w (N,) and repeats (N,).

        ``outcome_keys`` (N,) are a hash of every outcome where it is not a number. O(N n).
        """
        if outcome_keys is None:
            # Another seed: with the same, a row could equal its own outcome, and cancel it.
            outcome_keys = row_keys(y if y.ndim == 2 else y[:, None], seed=1)
        every = _mixed_pairs(row_keys(X), outcome_keys)
        places, keys, first, place = least_distinct(every, SAMPLE_ROWS)
        first = first[:SAMPLE_ROWS]
        some, N = places[first], int(X.shape[0])
        weights = to_numpy(w if len(places) == N else _taken(w, places))
        seen = np.ones(len(places), dtype=np.int64) if repeats is None else repeats[places]
        return cls(
            keys[: len(some)],
            _taken(X, some).astype(np.float64) + 0.0,
            _taken(y, some),
            _totals(place, weights)[: len(some)],
            np.rint(_totals(place, seen)[: len(some)]).astype(np.int64),
            N if repeats is None else int(repeats.sum()),
            float(w.sum() if is_numpy(w) else w.double().sum()),
        )

    def combine(self, other: RowSample) -> RowSample:
        """Sample both sets of rows."""
        keys, first, place = np.unique(
            np.concatenate([self.keys, other.keys]), return_index=True, return_inverse=True
        )
        some = first[: self.count]
        weight = _totals(place, np.concatenate([self.w, other.w]))
        repeats = _totals(place, np.concatenate([self.repeats, other.repeats]))
        return RowSample(
            keys[: len(some)],
            np.concatenate([self.X, other.X])[some],
            np.concatenate([self.y, other.y])[some],
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


def _mixed_pairs(rows: Array, outcomes: Array) -> Array:
    """Return a key of every row and its outcome, where the rows' keys lie, if the other's do."""
    if is_numpy(rows) != is_numpy(outcomes):
        rows, outcomes = on_host(rows), on_host(outcomes)
    return mixed_hash(rows ^ mixed_hash(outcomes))


def _totals(place: NDArray[np.intp], w: Real | Whole) -> Real:
    return np.asarray(np.bincount(place.reshape(-1), w), dtype=np.float64)


def _taken(values: Array, some: NDArray[np.intp]) -> NDArray[Any]:
    return values[some] if is_numpy(values) else to_numpy(take_rows(values, some))
