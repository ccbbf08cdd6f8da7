"""Rows by their content: a hash of every row, and a fair sample by it.

A choice that follows a row's content, not its position, is the same in whichever order, block, file
or worker the rows arrive; and equal rows share it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .array import Array, Real, Rows, is_numpy, namespace, take_rows, to_numpy
from .parallel import over_rows

Keys = NDArray[np.uint64]

_START = 0x9E3779B97F4A7C15  # these three are the constants of splitmix64
_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_ROWS = 1 << 20  # hashed at a time
_DEVICE_ROWS = 1 << 22  # the same on a device, where a call costs more
_CACHED = 1 << 13  # that stay in the cache of a core


def row_hash(X: Array, seed: int = 0, units: RowUnits | None = None) -> Keys:
    """Hash every row of X (N, n), as float64, to 64 bits: O(N n).

    With ``units`` neither the units of the columns nor their order matter; without, the key is that
    of the very numbers. A torch tensor is hashed where it is, and only the keys come to the host.
    """
    return on_host(row_keys(X, seed, units))


def row_keys(X: Array, seed: int = 0, units: RowUnits | None = None) -> Array:
    """Hash every row where X lies: to uint64, or to the same bits as int64 of a torch tensor."""
    if _is_tensor(X):
        return _hashed(X.detach().double(), seed, units)
    points = np.asarray(to_numpy(X))
    keys = np.empty(len(points), dtype=np.uint64)

    def work(chunk: slice) -> None:
        for start in range(chunk.start, chunk.stop, _CACHED):
            rows = slice(start, min(start + _CACHED, chunk.stop))
            keys[rows] = _hashed(np.asarray(points[rows], dtype=np.float64), seed, units)

    over_rows(work, len(points), at_least=1 << 15)
    return keys


def _hashed(points: Array, seed: int, units: RowUnits | None) -> Array:
    """Hash rows in double precision (rows, n); of columns in units the order does not matter."""
    bits, number = (_torch_bits, _signed) if _is_tensor(points) else (_bits, np.uint64)
    state, columns = number((_START * (seed + 1)) % 2**64), range(points.shape[1])
    if units is None or not columns:  # rows without columns are all equal
        for k in columns:
            state = mixed_hash(bits(points[:, k]) ^ state)
        return state
    marks = [number(int(mark)) for mark in mixed_hash(_bits(units.marks))]
    return mixed_hash(
        sum(mixed_hash(bits(units.rounded(points[:, k], k)) ^ marks[k]) for k in columns) ^ state
    )


def on_host(keys: Array) -> Keys:
    """Return keys as uint64 of NumPy."""
    return keys if is_numpy(keys) else to_numpy(keys).view(np.uint64)


def rows_below(keys: Array, limit: int) -> Rows:
    """Return the places of keys below ``limit``, at most 2^64, in their order."""
    if limit >= 2**64:
        return np.arange(len(keys))
    if is_numpy(keys):
        return np.flatnonzero(keys < np.uint64(limit))
    lowest = -(2**63)  # compared as unsigned numbers
    return to_numpy(((keys ^ lowest) < limit + lowest).nonzero()[:, 0])


def keys_of(keys: Array, some: Rows) -> Keys:
    """Return the keys of some rows, on the host."""
    return on_host(keys[some] if is_numpy(keys) else take_rows(keys, some))


def least_distinct(keys: Array, count: int) -> tuple[Rows, Keys, Rows, Rows]:
    """Find all rows of the ``count`` smallest distinct keys, and perhaps more of them.

    Returns their places, and of their keys what `numpy.unique` does. Keys are spread evenly, so
    that a share of all numbers holds enough of them, unless many are equal: then more are taken.
    """
    limit = 2**64 * 2 * count // max(1, len(keys))
    while True:
        places = rows_below(keys, limit)
        distinct, first, place = np.unique(
            keys_of(keys, places), return_index=True, return_inverse=True
        )
        if len(distinct) >= count or limit >= 2**64:
            return places, distinct, first, place
        limit *= 16


def keys_repeat(keys: Array) -> bool:
    """Whether some keys are equal, which are sorted where they lie."""
    ordered = np.sort(keys) if is_numpy(keys) else keys.sort().values
    return bool((ordered[1:] == ordered[:-1]).any())


@dataclass(frozen=True)
class HashedSample:
    """The ``count`` distinct rows of the smallest keys: a plain value that combines.

    Every distinct row has the same chance, whatever its place or number of repeats.
    """

    keys: Keys  # (c,), sorted
    rows: Real  # (c, n)
    count: int
    seed: int
    units: RowUnits

    @classmethod
    def of(cls, X: Array, count: int, seed: int, units: RowUnits) -> HashedSample:
        """Sample the rows of X (N, n); O(N n) time, O(count n) memory besides a block."""
        sample = cls(np.empty(0, np.uint64), np.empty((0, X.shape[1])), count, seed, units)
        size = _ROWS if is_numpy(X) else _DEVICE_ROWS
        for start in range(0, X.shape[0], size):
            sample = sample._with(X[start : start + size])
        return sample

    def combine(self, other: HashedSample) -> HashedSample:
        """Sample both sets of rows."""
        keys = np.concatenate([self.keys, other.keys])
        return self._least(keys, np.concatenate([self.rows, other.rows]))

    @property
    def sorted_rows(self) -> Real:
        """The rows in lexicographic order: (c, n)."""
        return np.asarray(np.unique(self.rows, axis=0))

    def _with(self, X: Array) -> HashedSample:
        every = row_keys(X, self.seed, self.units)
        if len(self.keys) == self.count:  # hardly any of the later rows get in
            some = rows_below(every, int(self.keys[-1]))
        else:
            places, _, first, _ = least_distinct(every, self.count)
            some = places[np.sort(first[: self.count])]
        keys = keys_of(every, some)
        rows = X[some] if is_numpy(X) else to_numpy(take_rows(X, some))
        rows = rows.astype(np.float64) + 0.0
        return self.combine(replace(self, keys=keys, rows=rows))

    def _least(self, keys: Keys, rows: Real) -> HashedSample:
        keys, first = np.unique(keys, return_index=True)
        return replace(self, keys=keys[: self.count], rows=rows[first[: self.count]])


def draw_seed(random_state: np.random.RandomState) -> int:
    """Draw a seed for `HashedSample`."""
    return int(random_state.randint(np.iinfo(np.int32).max))


def mixed_hash(x: Array) -> Array:
    """Scramble 64 bits (the finaliser of splitmix64; products wrap around on purpose)."""
    if _is_tensor(x):
        return _torch_mixed(x)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_FACTORS[0])
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_FACTORS[1])
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)


def _is_tensor(X: Array) -> bool:
    return not is_numpy(X) and hasattr(X, "new_full")


def _bits(x: Real) -> Keys:
    """64 bits of every number, of both zeros the same."""
    return (np.ascontiguousarray(x, dtype=np.float64) + 0.0).view(np.uint64)


def _torch_bits(x: Any) -> Any:
    x = (x + 0.0).contiguous()
    return x.view(_int64(x))


def _torch_mixed(x: Any) -> Any:
    """Scramble in signed integers, which wrap around alike; shifts are made logical."""

    def shifted(x: Any, places: int) -> Any:
        return (x >> places) & ((1 << (64 - places)) - 1)

    x = (x ^ shifted(x, 30)) * _signed(_FACTORS[0])
    x = (x ^ shifted(x, 27)) * _signed(_FACTORS[1])
    return x ^ shifted(x, 31)


def _int64(tensor: Any) -> Any:
    return tensor.long().dtype if tensor.numel() == 0 else tensor[:1].long().dtype


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


# What rows are measured in where their content chooses: a unit, an origin and an order of columns.
#
# Folds, samples and landmarks follow a hash of what rows hold (`covshift.numerics.hashing`). Taken
# from the numbers as they came, pounds in place of kilograms would choose other rows. So the hash
# sees
#
#     u = (x - c) / s ,
#
# c the middle one of the distinct values of a column of the target, s the middle one of their
# distances from it, rounded so coarsely that the rounding of another unit is not seen, and finer
# than any difference that matters. Columns are told apart by what the target holds in them, not by
# their place. Weights and repeats of the target's rows do not move the distinct values; beyond
# 100,000 rows all values are taken, so that no column is sorted. The target is known before the
# training rows, which may come in blocks.


_GRIDS = ((2.0**6, 2.0**-20), (2.0**26, 1.0), (np.inf, 2.0**20))  # up to a size: rounded to
_MANY = 100_000  # rows beyond which repeated values count as often as they are there
_MARKED = 2.0**20  # the marks of a column are rounded to one over this


@dataclass(frozen=True)
class RowUnits:
    """Origin, unit and mark of each column: (n,) each."""

    center: Real
    spread: Real
    marks: Real  # whole numbers, of columns that are not alike different ones

    @classmethod
    def of(cls, T: Array, share: Array | None = None) -> RowUnits:
        """Learn from target rows T (M, n) of shares (M,), equal without them; O(M n log M)."""
        points = np.asarray(to_numpy(T), dtype=np.float64)
        mass = np.full(len(points), 1 / len(points)) if share is None else to_numpy(share)
        if not mass.all():
            points, mass = points[mass > 0], mass[mass > 0]
        n = points.shape[1]
        units, means = cls(np.zeros(n), np.zeros(n), np.zeros(n)), np.zeros(n)

        def work(columns: slice) -> None:
            for k in range(n)[columns]:
                column = np.ascontiguousarray(points[:, k])
                values = np.unique(column) if len(column) <= _MANY else column
                units.center[k], units.spread[k] = _center_and_spread(values)
                if len(points) <= _MANY or np.ptp(mass) > 0:
                    # The same in every order of the rows.
                    means[k] = np.sort(mass * units.rounded(column, k)).sum()
                else:
                    means[k] = units._mean(values, k)

        over_rows(work, n, at_least=1 + _MANY // max(1, len(points)))
        return cls(units.center, units.spread, _marks(means))

    @property
    def order(self) -> Rows:
        """Columns in an order that follows what they hold: (n,)."""
        return np.argsort(self.marks, kind="stable")

    def _mean(self, values: Real, k: int) -> float:
        """Mean of column k in its unit, cut off at the first grid: a sum of whole numbers."""
        total, (most, grid) = 0, _GRIDS[0]
        for start in range(0, len(values), _CACHED):
            with np.errstate(over="ignore"):
                u = (values[start : start + _CACHED] - self.center[k]) / self.spread[k]
            total += int(np.rint(np.clip(u, -most, most) / grid).sum())
        return total * grid / len(values)

    def rounded(self, x: Array, k: int) -> Array:
        """Column k of some rows, in its unit and rounded: (rows,)."""
        with np.errstate(over="ignore"):
            u = (x - float(self.center[k])) / float(self.spread[k])
        xp = namespace(u)
        size = xp.abs(u)
        if is_numpy(u):
            size = np.minimum(size, np.finfo(np.float64).max)
        grid = xp.where(size < _GRIDS[0][0], _GRIDS[0][1], _GRIDS[2][1])
        grid = xp.where((size >= _GRIDS[0][0]) & (size < _GRIDS[1][0]), _GRIDS[1][1], grid)
        return xp.round(u / grid) * grid


def _center_and_spread(values: Real) -> tuple[float, float]:
    """Middle value, and the middle of the distances of the others from it."""
    center = _middle(values)
    # Halves: the difference of the largest numbers would overflow.
    away = np.abs(values / 2 - center / 2)
    spread = 2 * _middle(away, int(np.count_nonzero(values == center)))
    spread = abs(center) if np.isnan(spread) else spread
    return center, spread if 0 < spread < np.inf else 1.0


def _middle(values: Real, least: int = 0) -> float:
    """Middle one of the values without the ``least`` smallest; NaN where none is left."""
    if least == len(values):
        return np.nan
    k = least + (len(values) - least - 1) // 2
    return float(np.partition(values, k)[k])


def _marks(means: Real) -> Real:
    """Whole numbers that tell columns apart by their means in units; equal ones by their order."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.rint(means * _MARKED)
    _, first = np.unique(rounded, return_index=True)
    repeated = np.ones(len(means), dtype=bool)
    repeated[first] = False
    rounded[repeated] += 0.5 + np.flatnonzero(repeated)
    return rounded + 0.0
