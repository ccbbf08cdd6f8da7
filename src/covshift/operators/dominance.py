"""Views of several dimensions: R = diag(sqrt(weight)) B (theory, eq. 2.1).

On NumPy, B is held in bits; on other arrays it is compared afresh, block by block. Either way no
N x M array of floats is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.array import (
    Array,
    Codes,
    Floats,
    device,
    is_numpy,
    namespace,
    searchsorted,
    take_rows,
)
from .base import anderson_darling_weights, blocks, columns

_TARGETS, _POINTS = 2048, 1024  # unpacked at a time: 16 MB of float64
_COMPARED = 1 << 24  # entries compared at a time: of smaller blocks a GPU waits for the next call
_BYTES = 32 << 20  # of R A that a product with V holds at a time


class Dominance:
    """The target side of one view of p dimensions.

    Parameters
    ----------
    T : (M, p) array
        The target in this view.
    weight : (M,) array
        Weight of each target row: its share of the target times phi.
    anderson_darling : bool
        Multiply by phi = 1 / (F (1 - F)), F the target's joint mid-distribution function.
    n_views : int
        Number of such views that are used together, and share the memory for what they keep.
    """

    def __init__(
        self, T: Array, weight: Array, *, anderson_darling: bool = False, n_views: int = 1
    ) -> None:
        xp = namespace(T)
        self._T = xp.take(T, xp.nonzero(weight > 0)[0], axis=0)
        self._weight = weight[weight > 0]
        if anderson_darling:
            below = _twice_distribution(self._T, self._weight)
            # 2 (1 - F), of which the point itself is a part, whatever rounding says.
            above = xp.maximum(2 * xp.sum(self._weight) - below, self._weight)
            self._weight = anderson_darling_weights(self._weight, below, above)
        self._bits = BitTargets(self._T, n_views=n_views) if is_numpy(T) else None

    def factor(self, X: Array) -> DominanceFactor:
        """R for training points (N, p)."""
        if self._bits is None:
            return _Compared(self._T, self._weight, X)
        return _Bits(self._bits, self._weight, self._bits.codes(X), X.dtype)


class DominanceFactor:
    """R, its rows in the order of the target points of positive weight.

    B of shape (M, N) is made in blocks; sums between blocks are of float64.
    """

    def __init__(self, weight: Array, N: int, like: Array) -> None:
        self._weight, self._like = weight, like
        self.shape = (int(weight.shape[0]), N)

    def matmat(self, A: Array) -> Array:
        xp, A = namespace(self._weight), columns(A, self.shape[1], "R.matmat", self._like)
        product = self._zeros(self.shape[0], A.shape[1])
        for targets, points, Bt in self._blocks(A.dtype):
            product[targets, :] += xp.astype((A[points, :].T @ Bt).T, xp.float64)
        return xp.astype(xp.sqrt(self._weight)[:, None] * product, A.dtype)

    def rmatmat(self, Z: Array) -> Array:
        xp, Z = namespace(self._weight), columns(Z, self.shape[0], "R.rmatmat", self._like)
        scaled = xp.astype(xp.sqrt(self._weight)[:, None] * Z, Z.dtype)
        return xp.astype(self._dominated(scaled), Z.dtype)

    def normal(self, A: Array) -> Array:
        xp, A = namespace(self._weight), columns(A, self.shape[1], "V.matmat", self._like)
        size = max(1, _BYTES // 8 // self.shape[0])
        if A.shape[1] <= size:
            return self.rmatmat(self.matmat(A))
        product = xp.empty_like(A)
        for cols in blocks(A.shape[1], size):
            product[:, cols] = self.rmatmat(self.matmat(A[:, cols]))
        return product

    def squares(self) -> Array:
        xp = namespace(self._weight)
        return xp.astype(self._dominated(self._weight[:, None])[:, 0], self._like.dtype)

    def gram(self) -> Array:
        xp, V = namespace(self._weight), self._zeros(self.shape[1], self.shape[1])
        for targets in blocks(self.shape[0], _TARGETS):
            Bt = xp.concat([Bt for _, _, Bt in self._blocks(xp.float64, [targets])])
            Bt = Bt * xp.sqrt(self._weight[targets])[None, :]
            V += Bt @ Bt.T
        return xp.astype(V, self._like.dtype)

    def subset(self, rows: NDArray[np.intp]) -> DominanceFactor:
        raise NotImplementedError

    def _dominated(self, Z: Array) -> Array:
        """B' Z: (M, D) -> (N, D), float64."""
        xp, product = namespace(Z), self._zeros(self.shape[1], Z.shape[1])
        for targets, points, Bt in self._blocks(Z.dtype):
            product[points, :] += xp.astype(Bt @ Z[targets, :], xp.float64)
        return product

    def _blocks(
        self, dtype: Any, some: Iterable[slice] | None = None
    ) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the blocks of B': target rows, training points, (points, targets)."""
        raise NotImplementedError

    def _zeros(self, rows: int, width: int) -> Array:
        xp = namespace(self._like)
        return xp.zeros((rows, width), dtype=xp.float64, device=device(self._like))


class _Compared(DominanceFactor):
    """Array API: B compared afresh for every product."""

    def __init__(self, T: Array, weight: Array, X: Array) -> None:
        super().__init__(weight, int(X.shape[0]), X)
        self._T = T

    def subset(self, rows: NDArray[np.intp]) -> DominanceFactor:
        return _Compared(self._T, self._weight, take_rows(self._like, rows))

    def _blocks(
        self, dtype: Any, some: Iterable[slice] | None = None
    ) -> Iterator[tuple[slice, slice, Array]]:
        xp = namespace(self._like)
        for targets in some or blocks(self.shape[0], _TARGETS):
            t = self._T[targets, :].T
            many = max(_POINTS, _COMPARED // (targets.stop - targets.start))
            # In single precision a long sum would stand still.
            for points in blocks(self.shape[1], many if dtype == xp.float64 else _POINTS):
                x = self._like[points, :]
                Bt = x[:, :1] <= t[0, :][None, :]
                for k in range(1, x.shape[1]):
                    Bt = Bt & (x[:, k : k + 1] <= t[k, :][None, :])
                yield targets, points, xp.astype(Bt, dtype)


def _twice_distribution(T: Array, weight: Array) -> Array:
    """2F at every target point: the weight up to it, plus the weight strictly below."""
    xp = namespace(T)
    ranks = []
    for k in range(T.shape[1]):
        place = searchsorted(xp.sort(xp.unique_values(T[:, k])), T[:, k])
        ranks.append(xp.astype(place, xp.float64))
    rank = xp.stack(ranks, axis=1)
    targets = Dominance(rank, xp.ones_like(rank[:, 0]))
    at_or_below = targets.factor(rank).matmat(weight[:, None])
    below = targets.factor(rank + 1).matmat(weight[:, None])
    return (at_or_below + below)[:, 0]


# B in bits (NumPy).
#
# For every rank of a coordinate one bit mask holds the targets at or above it; the column of a
# training point is the AND of its masks, M / 64 words per coordinate instead of M comparisons.
# Blocks are unpacked just before they meet a dense matrix, so memory is bounded whatever N and M.
# With 20,000 points, 1000 targets and ten coordinates, B A takes a sixth of the time of comparisons
# for ten columns and 0.3 of it for a hundred; with two coordinates 0.6 and 0.8.


_CACHED_MASKS = 32 << 20  # bytes of masks kept between products, for all views together
_UNPACKED = 1 << 22  # entries of B kept as floats from the third product on, for all views together

Words = NDArray[np.uint64]
_WORD = np.dtype("<u8")  # bits in the order of unpackbits(bitorder="little") on any machine
_BYTE_BITS = (np.arange(256, dtype=np.uint8)[:, None] >> np.arange(8, dtype=np.uint8)) & 1


class BitTargets:
    """The target side of B: thresholds and bit masks, for any training points.

    ``n_views`` views share the memory that is kept between products.
    """

    def __init__(self, T: Floats, *, n_views: int = 1) -> None:
        self._T = T
        self._thresholds = [np.unique(t) for t in T.T]
        self.most_unpacked = _UNPACKED // n_views
        block = min(len(T), _TARGETS)
        mask_bytes = T.shape[1] * ((block + 1) * 8 * -(-block // 64) + 2 * (len(T) + 1))
        self._most_cached = _CACHED_MASKS // n_views // mask_bytes
        self._cache: dict[int, list[_Mask]] = {}

    def codes(self, X: Floats) -> Codes:
        """Ranks of training points (N, p) among the target's values in each coordinate."""
        codes = np.empty(X.shape, np.min_scalar_type(max(map(len, self._thresholds))))
        for k, steps in enumerate(self._thresholds):
            # Ties count as dominated (t >= x), hence side="left".
            codes[:, k] = np.searchsorted(steps, X[:, k], side="left")
        return codes

    def masks(self, targets: slice) -> list[_Mask]:
        """Return one mask table per coordinate for a block of targets; the first ones are kept."""
        masks = self._cache.get(targets.start)
        if masks is None:
            pairs = zip(self._T[targets].T, self._thresholds, strict=True)
            masks = [_Mask(t, thresholds) for t, thresholds in pairs]
        if len(self._cache) < self._most_cached:
            self._cache[targets.start] = masks
        return masks


class _Mask:
    """For one coordinate, by rank among all targets: which of ``t`` are at or above the rank."""

    def __init__(self, t: Floats, thresholds: Floats) -> None:
        here, rank = np.unique(t, return_inverse=True)
        self._words = np.zeros((len(here) + 1, -(-len(t) // 64)), dtype=_WORD)
        q = np.arange(len(t), dtype=_WORD)
        np.bitwise_or.at(self._words, (rank, q // 64), np.uint64(1) << q % 64)
        # Who is at or above a rank is at or above all lower ones; the last row stays zero.
        self._words[:-1] = np.bitwise_or.accumulate(self._words[-2::-1], axis=0)[::-1]
        is_here = np.zeros(len(thresholds) + 1, dtype=np.uint16)
        is_here[np.searchsorted(thresholds, here)] = 1
        self._rank_here = is_here.cumsum(dtype=np.uint16) - is_here

    def read(self, codes: Codes) -> Words:
        return self._words.take(self._rank_here.take(codes), axis=0)


class _Bits(DominanceFactor):
    """B as ranks and bit masks."""

    def __init__(self, targets: BitTargets, weight: Floats, codes: Codes, dtype: Any) -> None:
        super().__init__(weight, len(codes), np.empty(0, dtype))
        self._targets, self._codes = targets, codes
        self._products = 0
        self._unpacked: list[tuple[slice, slice, Floats]] = []

    def subset(self, rows: NDArray[np.intp]) -> DominanceFactor:
        return _Bits(self._targets, self._weight, self._codes[rows], self._like.dtype)

    def _dominated(self, Z: Floats) -> Floats:
        if Z.shape[1] == 1 and not self._unpacked:
            return self._rmatvec(Z[:, 0].astype(np.float64))[:, None]
        return np.asarray(super()._dominated(Z))

    def _rmatvec(self, z: Floats) -> Floats:
        """B' z, from the sums of z over the targets of every octet of bits."""
        product = np.zeros(self.shape[1])
        alike = bool((z == z[0]).all())
        for targets, points, words in self._words():
            if alike:
                product[points] += z[0] * np.bitwise_count(words).sum(axis=1, dtype=np.int64)
                continue
            octets = words.view(np.uint8)
            padded = np.zeros(8 * octets.shape[1])
            padded[: targets.stop - targets.start] = z[targets]
            table = (padded.reshape(-1, 8) @ _BYTE_BITS.T.astype(np.float64)).ravel()
            starts = np.arange(0, len(table), 256, dtype=np.int32)
            product[points] += table.take(starts + octets).sum(axis=1)
        return product

    def _blocks(
        self, dtype: Any, some: Iterable[slice] | None = None
    ) -> Iterator[tuple[slice, slice, Array]]:
        count, most = self.shape[0] * self.shape[1], self._targets.most_unpacked
        if some is None and dtype == np.float64 and count <= most:
            self._products += 1
            if self._products > 2 and not self._unpacked:
                self._unpacked = list(self._as_floats(dtype, None))
        yield from (self._unpacked if some is None else []) or self._as_floats(dtype, some)

    def _as_floats(
        self, dtype: Any, some: Iterable[slice] | None
    ) -> Iterator[tuple[slice, slice, Floats]]:
        for targets, points, words in self._words(some):
            octets = words.view(np.uint8)
            values = np.empty((*octets.shape, 8), dtype)
            np.take(_BYTE_BITS.astype(dtype), octets, axis=0, out=values, mode="clip")
            values = values.reshape(len(octets), -1)
            yield targets, points, values[:, : targets.stop - targets.start]

    def _words(self, some: Iterable[slice] | None = None) -> Iterator[tuple[slice, slice, Words]]:
        """Yield the blocks of B' in bits: target rows, training points, (points, words)."""
        for targets in some or blocks(self.shape[0], _TARGETS):
            masks = self._targets.masks(targets)
            for points in blocks(self.shape[1], _POINTS):
                codes = self._codes[points]
                words = masks[0].read(codes[:, 0])
                for k in range(1, len(masks)):
                    words &= masks[k].read(codes[:, k])
                yield targets, points, words
