"""The target in one view: its distinct values in order, and what each of them weighs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numerics.array import Array, device, is_numpy, like, namespace, searchsorted, to_numpy
from ..numerics.parallel import over_rows
from .base import anderson_darling_weights, blocks
from .line_bins import bin_count, bin_totals, suffix_sums

_MANY = 1 << 12  # points from which it pays to sort them first
_AT_ONCE = 1 << 15  # points that are sorted within the processor's cache
_LAST_BITS = 32  # of a point's 52, that may make room for the number of its row


@dataclass(frozen=True)
class Thresholds:
    """Distinct sorted values (U,) of the target in one view, and the weight of each, positive."""

    values: Array  # (U,)
    weights: Array  # (U,), float64

    @classmethod
    def of(cls, t: Array, weight: Array) -> Thresholds:
        """Sort one view (M,) of the target and add up the weights (M,) of equal values.

        What weighs nothing is dropped. Cost: one sort.
        """
        xp = namespace(t)
        kept = weight > 0
        t, weight = t[kept], xp.astype(weight[kept], xp.float64, copy=False)
        if t.shape[0] == 0:
            return cls(t, weight)
        if is_numpy(t):
            return cls(*_added_up(t, weight))
        order = xp.argsort(t)
        t = xp.take(t, order)
        end = xp.ones_like(kept[:1])
        last = xp.concat([t[1:] != t[:-1], end])  # of equal values
        below = xp.cumulative_sum(xp.take(weight, order))[last]
        weights = below - xp.concat([xp.zeros_like(below[:1]), below[:-1]])
        lasting = weights > 0  # not lost in rounding
        return cls(t[last][lasting], weights[lasting])

    @property
    def size(self) -> int:
        """Number of thresholds."""
        return int(self.values.shape[0])

    def scaled(self, factor: float) -> Thresholds:
        """Multiply the weights by ``factor``."""
        return replace(self, weights=self.weights * factor)

    def below(self) -> Array:
        """Weight of the target at or below each threshold, (U,): its distribution function."""
        return namespace(self.weights).cumulative_sum(self.weights)

    def anderson_darling(self) -> Thresholds:
        """Multiply the weights by 1 / (F (1 - F)), F the mid-distribution function they make."""
        xp, w = namespace(self.weights), self.weights
        below, above = xp.cumulative_sum(w, include_initial=True), suffix_sums(w)
        weights = anderson_darling_weights(w, below[:-1] + below[1:], above[:-1] + above[1:])
        return replace(self, weights=weights)

    def codes(self, x: Array, *, symmetric: bool = False) -> Array:
        """Find the bin of every point ``x`` (N,): the number of thresholds below it.

        A point on a threshold is dominated by it (t >= x). Where views are mirrored, a point on a
        threshold and one just below it differ: each gets a bin.
        """
        if not is_numpy(x):
            return self._places(x, symmetric)
        smallest = np.min_scalar_type(bin_count(self.size, symmetric) - 1)
        if len(x) < _MANY:
            return self._places(x, symmetric).astype(smallest)
        codes = np.empty(len(x), smallest)

        def work(chunk: slice) -> None:
            for part in blocks(chunk.stop - chunk.start, _AT_ONCE):
                rows = slice(chunk.start + part.start, chunk.start + part.stop)
                some = x[rows]
                order = _near_neighbours(some)  # sorted points find neighbours in the cache
                codes[rows][order] = self._places(some[order], symmetric)

        over_rows(work, len(x), at_least=_AT_ONCE)
        return codes

    def _places(self, x: Array, symmetric: bool) -> Array:
        place = searchsorted(self.values, x, side="left")
        if not symmetric:
            return place
        xp = namespace(x)
        on = xp.take(self.values, xp.clip(place, max=self.size - 1)) == x
        return 2 * place + xp.astype(on, place.dtype)

    def merged(self, size: int) -> Merged:
        """Merge neighbours to at most ``size`` thresholds of about equal weight."""
        xp, U = namespace(self.weights), self.size

        def numbers(stop: int) -> Array:
            return xp.arange(stop, dtype=xp.int64, device=device(self.weights))

        if size >= U:
            return Merged(self, numbers(U), numbers(U))
        middle = xp.cumulative_sum(self.weights) - self.weights / 2
        share = middle * (size / float(xp.sum(self.weights)))
        wanted = xp.clip(xp.astype(share, xp.int64), max=size - 1)
        rises = xp.astype(wanted[1:] > wanted[:-1], xp.int64)
        group = xp.cumulative_sum(xp.concat([xp.zeros_like(wanted[:1]), rises]))
        count = int(group[-1]) + 1
        first = xp.searchsorted(group, numbers(count), side="left")
        last = xp.searchsorted(group, numbers(count), side="right") - 1
        chosen = (first + last) // 2
        kept = Thresholds(xp.take(self.values, chosen), bin_totals(group, self.weights, count))
        return Merged(kept, chosen, group)


@dataclass(frozen=True)
class Merged:
    """Thresholds of which groups of neighbours became one each."""

    thresholds: Thresholds
    chosen: Array  # which of the old thresholds stands for each group
    group: Array  # of each old threshold

    @property
    def codes(self) -> Array:
        """What each old code becomes, (U + 1,)."""
        xp, old = namespace(self.chosen), int(self.group.shape[0]) + 1
        numbers = xp.arange(old, dtype=xp.int64, device=device(self.chosen))
        return xp.searchsorted(self.chosen, numbers)

    def between(self, values: Array) -> Array:
        """Values at the old thresholds, from those at the new ones by straight lines."""
        places = np.arange(int(self.group.shape[0]))
        return like(np.interp(places, to_numpy(self.chosen), to_numpy(values)), values)


def _near_neighbours(x: Any) -> Any:
    """Return an order (N,) in which the points ``x`` ascend, but for relative gaps below 2^-20.

    The row number takes the place of the last bits of a point: one sort of whole numbers, a third
    of the time of an argsort.
    """
    bits = len(x).bit_length()
    if bits > _LAST_BITS:
        return np.argsort(x)
    keys = x.astype(np.float64).view(np.int64)
    keys ^= (keys >> 63) & np.int64(2**63 - 1)  # negative numbers ascend as well
    keys >>= bits
    keys <<= bits
    keys |= np.arange(len(x))
    keys.sort()
    keys &= (1 << bits) - 1
    return keys


def _added_up(t: Any, weight: Any) -> tuple[Any, Any]:
    if weight.min() == weight.max():
        t = np.sort(t)
    else:
        order = np.argsort(t, kind="stable")
        t, weight = t[order], weight[order]
    first = np.flatnonzero(np.concatenate([[True], t[1:] != t[:-1]]))
    return t[first], np.add.reduceat(weight, first)
