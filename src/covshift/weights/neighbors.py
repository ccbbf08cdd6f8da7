"""The density ratio by counting neighbours."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.spatial import cKDTree

from ..data.parameters import Rules, flag, one_of, whole
from ..numerics.array import Real
from .base import Weighter
from .points import Distinct, blocks, distinct, squared_distances
from .problem import Problem

_ROUNDING = 1 + 1e-12  # a neighbour at the radius itself counts, whatever the rounding
_TREE_FEATURES = 4  # with more features a tree looks at nearly all points


class _Sample:
    """Points and shares, with the questions asked of them: by a tree, or in blocks."""

    def __init__(self, points: Real, share: Real) -> None:
        self.points, self.share = points, share
        self._equal = bool(np.ptp(share) <= 1e-12 * share.max())
        few = points.shape[1] <= _TREE_FEATURES
        self._tree = cKDTree(points) if few and self._equal else None

    def __getstate__(self) -> dict[str, Any]:
        return {"points": self.points, "share": self.share}  # the tree is made anew

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def squared_radii(self, X: Real, ks: list[int]) -> Real:
        """Squared distance of each row to its k-th nearest points: (rows, K)."""
        ks = [min(k, len(self.points)) for k in ks]
        if self._tree is not None:
            return np.asarray(self._tree.query(X, k=ks)[0] ** 2 * _ROUNDING)
        squares = np.empty((len(X), len(ks)))
        places = [k - 1 for k in ks]
        for block in blocks(len(X), len(self.points)):
            sorted_there = np.partition(squared_distances(X[block], self.points), places, axis=1)
            squares[block] = sorted_there[:, places]
        return squares * _ROUNDING

    def share_within(self, X: Real, squares: Real) -> Real:
        """Share of the points within the squared radii of each row, border included: (rows, K)."""
        within = np.empty_like(squares)
        if self._tree is not None:
            for k, radius in enumerate(np.sqrt(squares).T):
                within[:, k] = self._tree.query_ball_point(X, radius, return_length=True)
            return within / len(self.points)
        for block in blocks(len(X), len(self.points)):
            distances = squared_distances(X[block], self.points)
            for k in range(squares.shape[1]):
                inside = distances <= squares[block, k, None]
                if self._equal:
                    within[block, k] = np.count_nonzero(inside, axis=1) / len(self.points)
                else:
                    within[block, k] = inside @ self.share
        return within


class NearestNeighbors(Weighter):
    """Target share over training share in a ball around each row.

    w(x) = [share of the target within r(x)] / [share of the training rows within r(x)], where r(x)
    is the distance from x to its k-th nearest training row, whatever its ``sample_weight``: that
    counts in the share.

    Parameters
    ----------
    n_neighbors : "cv" or int
        k; a training row is its own first neighbour. "cv" tries 4, 8, 16, ... up to N / 2 and takes
        the smallest leave-one-out estimate of E_p[w^2] / 2 - E_q[w].
    standardize : bool
        Divide the features by their standard deviation first (the variances of both samples
        averaged). False: distances in the features as they are.

    Attributes
    ----------
    n_neighbors_ : int
        The k used.
    scores_ : dict
        Criterion of every k tried, when there was a choice.
    weights_, effective_sample_size_
        See `Weighter`.

    Notes
    -----
    Sources: Lima, Cunha, Oyaizu, Frieman, Lin and Sheldon (2008), *Estimating the redshift
    distribution of photometric galaxy samples*; the choice of k by the least-squares criterion is
    that of Kremer, Gieseke, Pedersen and Igel (2015), *Nearest neighbor density ratio estimation
    for large-scale applications in astronomy*. Loog's (2012) weights, the number of target points
    nearest to each row, are another estimator. Ties count on both sides, hence shares of rows
    within the radius and not k / N.

    Cost: a k-d tree for up to four features and equal weights, O((N + M) log N + counts);
    otherwise O((N + M)^2 n), in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import NearestNeighbors
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> NearestNeighbors(2).fit(X, X_target=[[2.0], [2.5], [3.0]]).weights_.round(2)
    array([0.  , 0.47, 1.41, 2.12])
    """

    _takes_sample_weight = True

    _rules: ClassVar[Rules] = {"n_neighbors": whole(1) | one_of("cv"), "standardize": flag()}

    def __init__(self, n_neighbors: Any = "cv", *, standardize: bool = True) -> None:
        self.n_neighbors = n_neighbors
        self.standardize = standardize

    def _solve(self, problem: Problem) -> Real:
        self._units, share = problem.units(standardize=self.standardize), problem.share
        X, T = self._units(problem.X), self._units(problem.T)
        self._train = _Sample(X, problem.own)
        self._target = _Sample(T[share > 0], share[share > 0])
        self.n_neighbors_ = self._choose(X, distinct(T, share))
        return self._values(X, self.n_neighbors_)

    def _ratio(self, X: Real) -> Real:
        return self._values(self._units(X), self.n_neighbors_)

    def _values(self, X: Real, k: int) -> Real:
        squares = self._train.squared_radii(X, [k])
        within = self._target.share_within(X, squares) / self._train.share_within(X, squares)
        return np.asarray(within[:, 0])

    def _choose(self, X: Real, target: Distinct) -> int:
        N = len(X)
        if not isinstance(self.n_neighbors, str):
            return min(int(self.n_neighbors), N)
        tried = [4 << step for step in range(N.bit_length()) if 4 << step <= N // 2]
        if not tried or target.size == 1:
            return min(4, N)
        self.scores_ = dict(zip(tried, self._scores(X, target, tried).tolist(), strict=True))
        return min(self.scores_, key=lambda k: self.scores_[k])

    def _scores(self, X: Real, target: Distinct, tried: list[int]) -> Real:
        """Criterion of each k, single rows of either sample left out."""
        T, row, own = target.points, target.row[:, None], self._train.share
        squares = self._train.squared_radii(X, [k + 1 for k in tried])  # k others
        others = self._train.share_within(X, squares) - own[:, None]
        w_train = self._target.share_within(X, squares) / (others / (1 - own[:, None]))  # (N, K)
        squares = self._train.squared_radii(T, tried)
        within = (self._target.share_within(T, squares) - row) / (1 - row)
        w_target = np.maximum(within, 0.0) / self._train.share_within(T, squares)
        return np.asarray(own @ w_train**2 / 2 - target.share @ w_target)
