"""Views of several dimensions: R = diag(sqrt(weight)) B (theory, eq. 2.1).

On NumPy, B is held in bits or by its ones (`bits`); on other arrays it is compared afresh, block by
block. Either way no N x M array of floats is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._array import Array, device, is_numpy, namespace, searchsorted, take_rows
from .._device.columns import DeviceColumns
from .._device.masks import MaskTables
from .base import anderson_darling_weights, blocks, columns
from .bits import BitTargets

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
