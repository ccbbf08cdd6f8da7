"""Views of several dimensions: R = diag(sqrt(weight)) B (theory, eq. 2.1).

On NumPy, B is held in bits or by its ones (`bits`); on other arrays it is compared afresh, block by
block. Either way no N x M array of floats is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

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
from ..numerics.device.arrays import DeviceColumns, MaskTables
from .base import anderson_darling_weights, blocks, columns

_TARGETS, _POINTS = 2048, 1024  # compared at a time by the portable form
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
        self._targets = _targets(self._T, n_views)
        self._masks: MaskTables | None = None

    @property
    def roots(self) -> Array:
        """Square roots of the target's weights: (M,)."""
        return namespace(self._weight).sqrt(self._weight)

    def device_totals(self, X: Array, A: DeviceColumns, w: Array) -> tuple[Array, Array]:
        """R times w A, and times w, and which rows some target dominates."""
        if self._masks is None:
            self._masks = MaskTables(self._T)
        bits = self._masks.read(X)
        seen = (bits != 0).any(dim=1)
        return self.roots[:, None] * A.dominance_totals(self._masks, bits, w), seen

    def factor(self, X: Array) -> DominanceFactor:
        """R for training points (N, p)."""
        xp = namespace(X)
        return DominanceFactor(self._targets.dominance(X), self._weight, xp.zeros_like(X[:1, 0]))


class DominanceFactor:
    """R, its rows in the order of the target points of positive weight."""

    def __init__(self, B: DominanceMatrix, weight: Array, like: Array) -> None:
        self._B, self._weight, self._like = B, weight, like
        self.shape = B.shape

    def matmat(self, A: Array) -> Array:
        xp, A = namespace(self._weight), columns(A, self.shape[1], "R.matmat", self._like)
        return xp.astype(xp.sqrt(self._weight)[:, None] * self._B.matmat(A), A.dtype)

    def rmatmat(self, Z: Array) -> Array:
        xp, Z = namespace(self._weight), columns(Z, self.shape[0], "R.rmatmat", self._like)
        scaled = xp.astype(xp.sqrt(self._weight)[:, None] * Z, Z.dtype)
        return xp.astype(self._B.rmatmat(scaled), Z.dtype)

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
        return xp.astype(self._B.rmatmat(self._weight[:, None])[:, 0], self._like.dtype)

    def gram(self) -> Array:
        return namespace(self._weight).astype(self._B.gram(self._weight), self._like.dtype)

    def subset(self, rows: NDArray[np.intp]) -> DominanceFactor:
        return DominanceFactor(self._B.subset(rows), self._weight, self._like)


class DominanceMatrix(Protocol):
    """B of shape (M, N), by its products; sums accumulate in float64."""

    @property
    def shape(self) -> tuple[int, int]: ...
    def matmat(self, A: Array) -> Array: ...
    def rmatmat(self, Z: Array) -> Array: ...
    def gram(self, weight: Array) -> Array: ...
    def subset(self, rows: NDArray[np.intp]) -> DominanceMatrix: ...


class _Targets(Protocol):
    def dominance(self, X: Array) -> DominanceMatrix: ...


def _targets(T: Array, n_views: int) -> _Targets:
    return BitTargets(T, n_views=n_views) if is_numpy(T) else _ComparedTargets(T)


class _ComparedTargets:
    """Array API: the target points as they are."""

    def __init__(self, T: Array) -> None:
        self._T = T

    def dominance(self, X: Array) -> _ComparedDominance:
        return _ComparedDominance(self._T, X)


class _ComparedDominance:
    """Array API: B compared afresh for every product, in blocks of targets and points."""

    def __init__(self, T: Array, X: Array) -> None:
        self._T, self._X = T, X
        self.shape = (int(T.shape[0]), int(X.shape[0]))

    def matmat(self, A: Array) -> Array:
        xp, product = namespace(A), self._zeros(self.shape[0], A.shape[1])
        for targets, points, B in self._blocks(A.dtype):
            product[targets, :] += xp.astype(B @ A[points, :], xp.float64)
        return product

    def rmatmat(self, Z: Array) -> Array:
        xp, product = namespace(Z), self._zeros(self.shape[1], Z.shape[1])
        for targets, points, B in self._blocks(Z.dtype):
            product[points, :] += xp.astype(B.T @ Z[targets, :], xp.float64)
        return product

    def gram(self, weight: Array) -> Array:
        xp, V = namespace(weight), self._zeros(self.shape[1], self.shape[1])
        for targets in blocks(self.shape[0], _TARGETS):
            B = xp.concat([B for _, _, B in self._blocks(xp.float64, [targets])], axis=1)
            V += (B.T * weight[targets][None, :]) @ B
        return V

    def subset(self, rows: NDArray[np.intp]) -> _ComparedDominance:
        return _ComparedDominance(self._T, take_rows(self._X, rows))

    def _zeros(self, rows: int, width: int) -> Array:
        xp = namespace(self._X)
        return xp.zeros((rows, width), dtype=xp.float64, device=device(self._X))

    def _blocks(
        self, dtype: Any, target_blocks: Iterable[slice] | None = None
    ) -> Iterator[tuple[slice, slice, Array]]:
        """Yield the blocks of B: target rows, training points, (targets, points)."""
        xp = namespace(self._X)
        for targets in target_blocks or blocks(self.shape[0], _TARGETS):
            t = self._T[targets, :]
            for points in blocks(self.shape[1], _POINTS):
                x = self._X[points, :]
                B = t[:, :1] >= x[:, 0][None, :]
                for k in range(1, x.shape[1]):
                    B = B & (t[:, k : k + 1] >= x[:, k][None, :])
                yield targets, points, xp.astype(B, dtype)


def _twice_distribution(T: Array, weight: Array) -> Array:
    """2F at every target point: the weight up to it, plus the weight strictly below."""
    xp = namespace(T)
    ranks = []
    for k in range(T.shape[1]):
        place = searchsorted(xp.sort(xp.unique_values(T[:, k])), T[:, k])
        ranks.append(xp.astype(place, xp.float64))
    rank = xp.stack(ranks, axis=1)
    targets = _targets(rank, 1)
    at_or_below = targets.dominance(rank).matmat(weight[:, None])
    below = targets.dominance(rank + 1).matmat(weight[:, None])
    return (at_or_below + below)[:, 0]


# The 0/1 dominance matrix B for views of several dimensions, packed into bits (NumPy).
#
# B[q, i] = 1 where target point t_q is at or above training point x_i in every coordinate. For
# every rank of a coordinate one bit mask holds the targets at or above it; the column of a training
# point is the AND of its masks, M / 64 words per coordinate instead of M comparisons. Blocks are
# unpacked just before they meet a dense matrix, so the memory of a product is bounded whatever N
# and M.


_BIT_TARGETS = 2048  # targets per block: masks of 512 KB per coordinate
_BIT_POINTS = 1024  # training points unpacked at a time: 16 MB of float64 against a full block
_ALIKE = 512  # similar training points that meet the targets together
_CACHED_MASKS = 32 << 20  # bytes of masks kept between products, for all views together
_UNPACKED = 1 << 22  # entries of B kept as floats from the third product on, for all views together
_SPARSE_DENSITY = 0.02  # below, a product over the ones alone is faster than BLAS over all
_SPARSE_ONES = 16 << 20  # ones kept at most, for all views together: 32 MB of indices

Words = NDArray[np.uint64]
_WORD = np.dtype("<u8")  # bits in the order of unpackbits(bitorder="little") on any machine
_BYTE_BITS = (np.arange(256, dtype=np.uint8)[:, None] >> np.arange(8, dtype=np.uint8)) & 1


class BitTargets:
    """The target side of B: thresholds and bit masks, for any training points.

    ``n_views`` views share the memory that is kept between products.
    """

    def __init__(self, T: Floats, *, n_views: int = 1) -> None:
        self._T = T
        self.count = len(T)
        self._thresholds = [np.unique(t) for t in T.T]
        self._most_ones = _SPARSE_ONES // n_views
        self.most_unpacked = _UNPACKED // n_views
        block = min(len(T), _BIT_TARGETS)
        mask_bytes = T.shape[1] * ((block + 1) * 8 * -(-block // 64) + 2 * (len(T) + 1))
        self._most_cached = _CACHED_MASKS // n_views // mask_bytes
        self._cache: dict[int, list[_Mask]] = {}
        self._monotone = monotone(self._codes(T), self._sizes)

    def dominance(self, X: Floats) -> BitDominance | SparseDominance:
        """B for training points (N, p), stored as its density asks."""
        B = BitDominance(self, self._codes(X))
        limit = min(self._most_ones, _SPARSE_DENSITY * B.shape[0] * B.shape[1])
        if B.estimated_density() * B.shape[0] * B.shape[1] > limit:
            return B
        return B.by_ones(limit) or B

    def masks(self, targets: slice) -> list[_Mask]:
        """Return one mask table per coordinate for a block of targets; the first ones are kept."""
        masks = self._cache.get(targets.start) or self.build_masks(targets)
        if len(self._cache) < self._most_cached:
            self._cache[targets.start] = masks
        return masks

    def monotone_ranks(self, codes: Codes) -> Codes:
        """Ranks of points among the targets by functions that grow with every coordinate."""
        values = monotone(codes, self._sizes)
        return _ranks(values, [np.unique(m) for m in self._monotone.T])

    def monotone_masks(self, targets: slice) -> list[_Mask]:
        """Return a mask table for each of these functions: targets that may dominate a point."""
        return [_Mask(m[targets], np.unique(m)) for m in self._monotone.T]

    def build_masks(self, targets: slice | NDArray[np.intp]) -> list[_Mask]:
        """Make the mask tables of some targets."""
        pairs = zip(self._T[targets].T, self._thresholds, strict=True)
        return [_Mask(t, thresholds) for t, thresholds in pairs]

    @property
    def _sizes(self) -> Floats:
        return np.array([len(thresholds) for thresholds in self._thresholds], dtype=np.float64)

    def _codes(self, X: Floats) -> Codes:
        return _ranks(X, self._thresholds)


def monotone(codes: Codes, sizes: Floats) -> Floats:
    """Largest, least and mean share of a row's ranks: none exceeds that of a row that dominates."""
    share = codes / sizes
    return np.stack([share.max(axis=1), share.min(axis=1), share.mean(axis=1)], axis=1)


def _ranks(values: Floats, thresholds: list[Floats]) -> Codes:
    """Number of thresholds below each value, column by column."""
    codes = np.empty(values.shape, np.min_scalar_type(max(map(len, thresholds))))
    for k, steps in enumerate(thresholds):
        # Ties count as dominated (t >= x), hence side="left".
        codes[:, k] = np.searchsorted(steps, values[:, k], side="left")
    return codes


def _similar(ranks: Codes) -> NDArray[np.intp]:
    """Order rows by their first rank, and neighbours by their second."""
    order = np.argsort(ranks[:, 0], kind="stable")
    parts = [order[part] for part in blocks(len(order), 8 * _ALIKE)]
    return np.concatenate([part[np.argsort(ranks[part, 1], kind="stable")] for part in parts])


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


class BitDominance:
    """B as ranks and bit masks; multiplied block by block with BLAS."""

    def __init__(self, targets: BitTargets, codes: Codes) -> None:
        self._targets, self._codes = targets, codes
        self.shape = (targets.count, len(codes))
        self._products = 0
        self._unpacked: list[tuple[slice, slice, Floats]] = []

    def matmat(self, A: Floats) -> Floats:
        """B A: (N, D) -> (M, D), float64.

        Similar points meet the targets together. Targets above all of them get their sum, those
        that are not above the least in every coordinate nothing; only the others are multiplied.
        """
        product = np.zeros((self.shape[0], A.shape[1]))
        if self._is_small(A.dtype):
            for targets, points, B in self._all_blocks(A.dtype):
                product[targets] += (A[points].T @ B).T  # faster than B.T @ A
            return product
        ranks = self._targets.monotone_ranks(self._codes)
        order = _similar(ranks)
        for targets in blocks(self.shape[0], _BIT_TARGETS):
            masks, outer = self._targets.masks(targets), self._targets.monotone_masks(targets)
            sums = product[targets]
            for part in blocks(len(order), _ALIKE):
                alike = order[part]
                codes, columns = self._codes[alike], A[alike]
                every = self._words(masks, codes.max(axis=0)[None])[0]
                some = self._words(masks, codes.min(axis=0)[None])[0]
                some &= self._words(outer, ranks[alike].min(axis=0)[None])[0]
                sums[_places(every)] += columns.sum(axis=0, dtype=np.float64)
                mixed = _places(some & ~every)
                if len(mixed):
                    B = _unpacked(self._words(masks, codes), A.dtype).take(mixed, axis=1)
                    sums[mixed] += B.T @ columns
        return product

    def rmatmat(self, Z: Floats) -> Floats:
        """B' Z: (M, D) -> (N, D), float64."""
        if Z.shape[1] == 1 and not self._unpacked:
            return self._rmatvec(Z[:, 0].astype(np.float64))[:, None]
        product = np.zeros((self.shape[1], Z.shape[1]))
        for targets, points, B in self._all_blocks(Z.dtype):
            product[points] += B @ Z[targets]
        return product

    def gram(self, weight: Floats) -> Floats:
        """B' diag(weight) B: (N, N), float64."""
        V = np.zeros((self.shape[1], self.shape[1]))
        for targets in blocks(self.shape[0], _BIT_TARGETS):
            seen = [B for _, _, B in self._dense_blocks(np.float64, [targets])]
            Bt = np.concatenate(seen) * np.sqrt(weight[targets])  # (N, targets)
            V += Bt @ Bt.T
        return V

    def subset(self, rows: NDArray[np.intp]) -> BitDominance:
        """B for some of the training points; the masks are shared."""
        return BitDominance(self._targets, self._codes[rows])

    def _rmatvec(self, z: Floats) -> Floats:
        """B' z, from the sums of z over the targets of every octet of bits."""
        product = np.zeros(self.shape[1])
        alike = bool((z == z[0]).all())
        for targets, points, words in self.word_blocks():
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

    def _is_small(self, dtype: Any) -> bool:
        return dtype == np.float64 and self.shape[0] * self.shape[1] <= self._targets.most_unpacked

    def _all_blocks(self, dtype: Any) -> Iterable[tuple[slice, slice, Floats]]:
        """Return all blocks of B' as floats, kept where there are few and many products."""
        self._products += 1
        if not self._is_small(dtype):
            return self._dense_blocks(dtype)
        if self._products > 2 and not self._unpacked:
            self._unpacked = list(self._dense_blocks(dtype))
        return self._unpacked or self._dense_blocks(dtype)

    def _dense_blocks(
        self, dtype: Any, target_blocks: Iterable[slice] | None = None
    ) -> Iterator[tuple[slice, slice, Floats]]:
        """Yield the blocks of B' as floats: target rows, training points, (points, targets)."""
        for targets, points, words in self.word_blocks(target_blocks):
            yield targets, points, _unpacked(words, dtype)[:, : targets.stop - targets.start]

    def word_blocks(
        self, target_blocks: Iterable[slice] | None = None
    ) -> Iterator[tuple[slice, slice, Words]]:
        """Yield the blocks of B' in bits: target rows, training points, (points, words)."""
        for targets in target_blocks or blocks(self.shape[0], _BIT_TARGETS):
            masks = self._targets.masks(targets)
            for points in blocks(self.shape[1], _BIT_POINTS):
                yield targets, points, self._words(masks, self._codes[points])

    def estimated_density(self) -> float:
        """Share of ones in B, from at most 4096 training points and 2048 targets at random."""
        rng = np.random.default_rng(0)
        targets, points = (
            rng.choice(count, size=min(count, most), replace=False)
            for count, most in zip(self.shape, (_BIT_TARGETS, 4096), strict=True)
        )
        words = self._words(self._targets.build_masks(targets), self._codes[points])
        return _count(words) / (len(targets) * len(points))

    def by_ones(self, limit: float) -> SparseDominance | None:
        """B by the positions of its ones, or None where there are more than ``limit``."""
        found, total = [], 0
        for targets in blocks(self.shape[0], _BIT_TARGETS):
            counts, ones = [], []
            for _, _, words in self.word_blocks([targets]):
                total += _count(words)
                if total > limit:
                    return None
                point, target = _ones(words)
                counts.append(np.bincount(point, minlength=len(words)))
                ones.append(target.astype(np.uint16))
            starts = np.concatenate([[0], *counts]).cumsum().astype(np.int32)
            found.append((targets, starts, np.concatenate(ones)))
        return SparseDominance(self.shape, found)

    @staticmethod
    def _words(masks: list[_Mask], codes: Codes) -> Words:
        words = masks[0].read(codes[:, 0])
        for k in range(1, len(masks)):
            words &= masks[k].read(codes[:, k])
        return words


class SparseDominance:
    """B by the positions of its ones, for views in which few targets dominate a point."""

    def __init__(
        self,
        shape: tuple[int, int],
        # For each block of targets: where every point's ones start, and their targets.
        ones: list[tuple[slice, NDArray[np.int32], NDArray[np.uint16]]],
    ) -> None:
        self.shape, self._blocks = shape, ones

    def matmat(self, A: Floats) -> Floats:
        """B A: (N, D) -> (M, D), float64."""
        product = np.zeros((self.shape[0], A.shape[1]))
        for targets, points, Bt in self._slabs():
            product[targets] += Bt.T @ A[points].astype(np.float64, copy=False)
        return product

    def rmatmat(self, Z: Floats) -> Floats:
        """B' Z: (M, D) -> (N, D), float64."""
        Z = Z.astype(np.float64, copy=False)
        product = np.zeros((self.shape[1], Z.shape[1]))
        for targets, points, Bt in self._slabs():
            product[points] += Bt @ Z[targets]
        return product

    def gram(self, weight: Floats) -> Floats:
        """B' diag(weight) B: (N, N), float64."""
        V = np.zeros((self.shape[1], self.shape[1]))
        for targets, _, Bt in self._slabs(self.shape[1]):
            V += (Bt.multiply(weight[targets]).tocsr() @ Bt.T).toarray()
        return V

    def subset(self, rows: NDArray[np.intp]) -> SparseDominance:
        """B for some of the training points."""
        kept = []
        for targets, _, Bt in self._slabs(self.shape[1]):
            some = Bt[rows]
            kept.append((targets, some.indptr, some.indices.astype(np.uint16)))
        return SparseDominance((self.shape[0], len(rows)), kept)

    def _slabs(self, size: int = 1 << 16) -> Iterator[tuple[slice, slice, csr_array]]:
        """Yield the blocks of B', sparse: target rows, training points, (points, targets)."""
        for targets, starts, ones in self._blocks:
            for points in blocks(self.shape[1], size):
                first, last = starts[points.start], starts[points.stop]
                parts = (
                    np.ones(last - first),
                    ones[first:last].astype(np.int32),
                    starts[points.start : points.stop + 1] - first,
                )
                shape = (points.stop - points.start, targets.stop - targets.start)
                yield targets, points, csr_array(parts, shape=shape)


def _unpacked(words: Words, dtype: Any) -> Floats:
    """Bits (points, words) as zeros and ones: (points, 64 words)."""
    octets = words.view(np.uint8)
    found = np.empty((*octets.shape, 8), dtype)
    np.take(_BYTE_BITS.astype(dtype), octets, axis=0, out=found, mode="clip")
    return found.reshape(len(octets), -1)


def _places(words: Words) -> NDArray[np.intp]:
    """Numbers of the bits that are set in (words,)."""
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))


def _count(words: Words) -> int:
    return int(np.bitwise_count(words).sum(dtype=np.int64))


def _ones(words: Words) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row and bit position of every one in (points, words), in row order."""
    row, word = np.nonzero(words)
    bits = np.unpackbits(words[row, word].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    hit, bit = np.nonzero(bits)
    return row[hit], 64 * word[hit] + bit
