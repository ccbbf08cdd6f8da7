"""The 0/1 dominance matrix B for views of several dimensions, packed into bits (NumPy).

B[q, i] = 1 where target point t_q is at or above training point x_i in every coordinate. For every
rank of a coordinate one bit mask holds the targets at or above it; the column of a training point
is the AND of its masks, M / 64 words per coordinate instead of M comparisons. Blocks are unpacked
just before they meet a dense matrix, so the memory of a product is bounded whatever N and M.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .._types import Codes, Floats
from .base import blocks

_TARGETS = 2048  # targets per block: masks of 512 KB per coordinate
_POINTS = 1024  # training points unpacked at a time: 16 MB of float64 against a full block
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
        block = min(len(T), _TARGETS)
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
        for targets in blocks(self.shape[0], _TARGETS):
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
        for targets in blocks(self.shape[0], _TARGETS):
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
        for targets in target_blocks or blocks(self.shape[0], _TARGETS):
            masks = self._targets.masks(targets)
            for points in blocks(self.shape[1], _POINTS):
                yield targets, points, self._words(masks, self._codes[points])

    def estimated_density(self) -> float:
        """Share of ones in B, from at most 4096 training points and 2048 targets at random."""
        rng = np.random.default_rng(0)
        targets, points = (
            rng.choice(count, size=min(count, most), replace=False)
            for count, most in zip(self.shape, (_TARGETS, 4096), strict=True)
        )
        words = self._words(self._targets.build_masks(targets), self._codes[points])
        return _count(words) / (len(targets) * len(points))

    def by_ones(self, limit: float) -> SparseDominance | None:
        """B by the positions of its ones, or None where there are more than ``limit``."""
        found, total = [], 0
        for targets in blocks(self.shape[0], _TARGETS):
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
