"""Views of several dimensions: R = diag(sqrt(weight)) B (theory, eq. 2.1).

On NumPy, B is held in bits or by its ones (`bits`); on other arrays it is compared afresh, block by
block. Either way no N x M array of floats is held.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._array import Array, device, is_numpy, namespace, real_dtype, searchsorted, take_rows
from .base import blocks, columns
from .bits import BitTargets

_ENTRIES = 1 << 22  # comparisons held at a time by the portable form


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
    """

    def __init__(self, T: Array, weight: Array, *, anderson_darling: bool = False) -> None:
        xp = namespace(T)
        self._T = xp.take(T, xp.nonzero(weight > 0)[0], axis=0)
        self._weight = weight[weight > 0]
        if anderson_darling:
            F = _mid_distribution(self._T, self._weight)
            self._weight = self._weight / (F * (1 - F))
        self._targets = _targets(self._T)

    def factor(self, X: Array) -> DominanceFactor:
        """R for training points (N, p)."""
        return DominanceFactor(self._targets.dominance(X), self._weight, X.dtype)


class DominanceFactor:
    """R, its rows in the order of the target points of positive weight."""

    def __init__(self, B: DominanceMatrix, weight: Array, dtype: Any) -> None:
        self._B, self._weight, self._dtype = B, weight, dtype
        self.shape = B.shape

    def matmat(self, A: Array) -> Array:
        xp = namespace(A)
        dtype = real_dtype(A, self._dtype)
        product = self._B.matmat(
            xp.astype(columns(A, self.shape[1], "R.matmat"), dtype, copy=False)
        )
        return xp.astype(xp.sqrt(self._weight)[:, None] * product, dtype)

    def rmatmat(self, Z: Array) -> Array:
        xp = namespace(Z)
        dtype = real_dtype(Z, self._dtype)
        scaled = xp.sqrt(self._weight)[:, None] * columns(Z, self.shape[0], "R.rmatmat")
        return xp.astype(self._B.rmatmat(xp.astype(scaled, dtype)), dtype)

    def squares(self) -> Array:
        xp = namespace(self._weight)
        return xp.astype(self._B.rmatmat(self._weight[:, None])[:, 0], self._dtype)

    def gram(self) -> Array:
        return namespace(self._weight).astype(self._B.gram(self._weight), self._dtype)

    def subset(self, rows: NDArray[np.intp]) -> DominanceFactor:
        return DominanceFactor(self._B.subset(rows), self._weight, self._dtype)


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


def _targets(T: Array) -> _Targets:
    return BitTargets(T) if is_numpy(T) else _ComparedTargets(T)


class _ComparedTargets:
    """Array API: the target points as they are."""

    def __init__(self, T: Array) -> None:
        self._T = T

    def dominance(self, X: Array) -> _ComparedDominance:
        return _ComparedDominance(self._T, X)


class _ComparedDominance:
    """Array API: B compared afresh for every product, in blocks of training points."""

    def __init__(self, T: Array, X: Array) -> None:
        self._T, self._X = T, X
        self.shape = (int(T.shape[0]), int(X.shape[0]))

    def matmat(self, A: Array) -> Array:
        xp = namespace(A)
        product = self._zeros(self.shape[0], A.shape[1])
        for points, B in self._blocks(A.dtype):
            product += xp.astype(B @ A[points, :], xp.float64)
        return product

    def rmatmat(self, Z: Array) -> Array:
        xp = namespace(Z)
        return xp.concat([B.T @ Z for _, B in self._blocks(Z.dtype)])

    def gram(self, weight: Array) -> Array:
        xp = namespace(weight)
        V = self._zeros(self.shape[1], self.shape[1])
        for points, B in self._blocks(xp.float64):
            V[points, :] = xp.concat(
                [(B.T * weight[None, :]) @ other for _, other in self._blocks(xp.float64)], axis=1
            )
        return V

    def subset(self, rows: NDArray[np.intp]) -> _ComparedDominance:
        return _ComparedDominance(self._T, take_rows(self._X, rows))

    def _zeros(self, rows: int, width: int) -> Array:
        xp = namespace(self._X)
        return xp.zeros((rows, width), dtype=xp.float64, device=device(self._X))

    def _blocks(self, dtype: Any) -> Iterator[tuple[slice, Array]]:
        xp = namespace(self._X)
        for points in blocks(self.shape[1], max(1, _ENTRIES // self.shape[0])):
            x = self._X[points, :]
            B = self._T[:, :1] >= x[:, 0][None, :]
            for k in range(1, x.shape[1]):
                B = B & (self._T[:, k : k + 1] >= x[:, k][None, :])
            yield points, xp.astype(B, dtype)


def _mid_distribution(T: Array, weight: Array) -> Array:
    """F at every target point: its weight share strictly below, plus half of the rest up to it."""
    xp = namespace(T)
    ranks = []
    for k in range(T.shape[1]):
        place = searchsorted(xp.sort(xp.unique_values(T[:, k])), T[:, k])
        ranks.append(xp.astype(place, xp.float64))
    rank = xp.stack(ranks, axis=1)
    share = (weight / xp.sum(weight))[:, None]
    targets = _targets(rank)
    at_or_below = targets.dominance(rank).matmat(share)
    below = targets.dominance(rank + 1).matmat(share)
    return (at_or_below + below)[:, 0] / 2
