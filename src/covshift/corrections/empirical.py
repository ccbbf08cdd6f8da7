"""The paper's corrections: V from a sample of the target, in one view or averaged over several.

    V(i, j) = (1 / G) sum_g (1 / M) sum_q phi(t_q) 1[g(t_q) >= g(x_i)] 1[g(t_q) >= g(x_j)]

The members of the family differ in their views g (theory, section 2.2).

Columns that are one feature (`Correction.of_features`), as the levels of a category are, share the
weight of one: a mean over columns is taken over those of a feature first, and then over features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from .. import operators
from ..data.features import column_shares, members
from ..data.parameters import Rule, Rules, check_parameters, flag, function, one_of, whole
from ..data.row_weights import RowWeights, check_weight
from ..exceptions import InputError
from ..numerics.array import Array, Real, Rows, like, namespace, to_numpy
from ..numerics.progress import warn_if_slow
from ..numerics.statistics import moments
from .base import Correction, VMatrixCorrection, importance_weights, is_weighter

_SECONDS_OF_PAIR = 1e-3  # of features, with a hundred rows of each sample
_ROW_WEIGHTS = Rule(("one weight per target row",), lambda value: np.ndim(value) > 0)


class EmpiricalCorrection(VMatrixCorrection):
    """Base of the family; a subclass names its views by ``_views``.

    Parameters
    ----------
    phi : callable, (M,) array, "anderson-darling" or None
        Weight of the target points in the distance between distribution functions. A callable
        gets the target rows (M, n) and returns phi(t_q) >= 0, the paper's weight function. An
        array holds target weights, on any scale.
        "anderson-darling" is 1 / (F (1 - F)) with F the target's mid-distribution function in
        each view: it gives the tails the weight that their variance asks for. None: phi = 1.
    symmetric : bool
        Average every view with its mirror image (t <= x), so that V stays the same when all
        features change sign; in `Additive`, also when one does. Ours; the paper's V looks from
        one corner.
    normalize : bool
        Scale V to a mean diagonal of one, so that a penalty has the same strength as at V = I.
    blend : float between 0 and 1, or "auto"
        Mix with the identity: (1 - blend) V + blend I. "auto" keeps V's part the same at every
        number of rows N: 1 - blend = min(1/2, 75 / N).
    weights : (N,) array, weighter, name or None
        Doubly corrected (ours): the training rows are weighted too, V_w = diag(w) V diag(w), so
        that both sides of the Fredholm equation are written under the target (theory, eq. 2.5). A
        name such as "cdf" or an object of `covshift.weights`, fitted for every operator.
    """

    def __init__(
        self,
        *,
        phi: Any = None,
        symmetric: bool = False,
        normalize: bool = False,
        blend: float | str = 0.0,
        weights: Any = None,
    ) -> None:
        self.phi = phi
        self.symmetric = symmetric
        self.normalize = normalize
        self.blend = blend
        self.weights = weights

    _rules: ClassVar[Rules] = {
        **VMatrixCorrection._rules,
        "phi": one_of("anderson-darling", None) | function() | _ROW_WEIGHTS,
        "symmetric": flag(),
    }
    nonnegative = True
    by_blocks = True
    advice = (
        "Check that training and target rows overlap; use symmetric=True, or blend > 0; in "
        "many dimensions use 'additive' or 'sliced'."
    )

    def views(self, T: Array, share: Array) -> operators.Views:
        """Return the target side of V, from a checked target (M, n) and its shares (M,)."""
        check_parameters(self)
        make = self._views(T, share)
        weight, anderson_darling = self._weight(T, share)
        return make(T, weight, symmetric=self.symmetric, anderson_darling=anderson_darling)

    def target_sums(self, T: Array, share: Array, X: Array | None = None) -> operators.TargetSums:
        target_sums = operators.ViewsTargetSums(
            self.views(T, share), normalize=self.normalize, blend=self.blend
        )
        if self.weights is None:
            return target_sums
        if X is None:
            raise InputError("weights need the whole training sample, not blocks of it.")
        return operators.WeightedTargetSums(target_sums, self._fitted_weights(X, T, share))

    def _build(self, X: Array, T: Array, share: Array) -> operators.VOperator:
        return operators.FactorOperator(self.views(T, share).factor(X))

    def weighed(self, X: Array, T: Array, rows: RowWeights, target: RowWeights) -> Correction:
        if not is_weighter(self.weights):
            return self
        found = copy(self)
        found.weights = self._fitted_weights(X, T, target.share, rows, target)
        return found

    def _row_weights(self, X: Array, T: Array, share: Array) -> Array | None:
        if self.weights is None:
            return None
        return self._fitted_weights(X, T, share)

    def _fitted_weights(self, X: Array, T: Array, share: Array, *of_rows: RowWeights) -> Array:
        return importance_weights(self.weights, X, T, share, *of_rows, groups=self._groups)

    def _views(self, T: Array, share: Array) -> Callable[..., operators.Views]:
        raise NotImplementedError

    def _weight(self, T: Array, share: Array) -> tuple[Array, bool]:
        """Weight of each target row, and whether the views multiply Anderson-Darling's phi."""
        if self.phi is None:
            return share, False
        if isinstance(self.phi, str):
            return share, True
        if callable(self.phi):
            phi = check_weight(self.phi(T), int(T.shape[0]), "phi(X_target)", of="X_target")
            return _joint_weight(share, phi, T), False
        phi = check_weight(self.phi, int(T.shape[0]), "phi", of="X_target")
        weight = _joint_weight(share, phi / phi.max(), T)
        return weight / namespace(weight).sum(weight), False


class Multiplicative(EmpiricalCorrection):
    """The paper's V: one view of all coordinates together (Algorithm 1, eqs. 10 and 11).

        V(i, j) = (1/M) sum_q phi(t_q) prod_k 1[t_q^k >= max(x_i^k, x_j^k)] .

    In one to three dimensions it sees every interaction; in twenty almost no target point
    dominates a training point and V is nearly zero: use `Additive`, `Pairwise` or `Sliced`.

    Cost: one sort per feature, then O(N M D) per product from bit masks, O((N + M) D) when n = 1;
    no N x M array of floats. Building: O(N (n log M + n M / 64)).

    A category in columns of zeros and ones, one for each level, is one feature as it is: a target
    row dominates a training row in all of them only where both have the same level, and so it does
    from the other side (``symmetric``). Its factor is 1[level of t_q = level of x_i], however many
    levels there are.

    Parameters
    ----------
    phi, symmetric, normalize, blend, weights
        Options of the family; see `EmpiricalCorrection`.

    Examples
    --------
    >>> from covshift.corrections import Multiplicative
    >>> V = Multiplicative().operator([[0.0, 0.0], [1.0, 2.0]], [[0.0, 1.0], [2.0, 2.0]])
    >>> V.dense()
    array([[1. , 0.5],
           [0.5, 0.5]])
    """

    def _views(self, T: Array, share: Array) -> Callable[..., operators.Views]:
        n = int(T.shape[1])
        return _averaged(None) if n == 1 else _boxes([range(n)])


class Additive(EmpiricalCorrection):
    """One view for each coordinate, averaged (Algorithm 2).

        V(i, j) = (1/nM) sum_k sum_q phi(t_q) 1[t_q^k >= max(x_i^k, x_j^k)] .

    The listing's max(x_i, x_i) and 1/l are read as max(x_i, x_j) and 1/n. Sees the margins, any
    number of features. Cost: O(n (N + M) log M) to build, O(n (N + M) D) per product.

    Where columns are features in groups (`of_features`), with L_g columns in the g-th of G, V is
    (1/G) sum_g (1/L_g) sum_{k in g} V_k, V_k the one of column k by itself.

    Parameters
    ----------
    phi, symmetric, normalize, blend, weights
        Options of the family; see `EmpiricalCorrection`.

    Examples
    --------
    >>> from covshift.corrections import Additive
    >>> V = Additive().operator([[0.0, 0.0], [1.0, 2.0]], [[0.0, 1.0], [2.0, 2.0]])
    >>> V.dense()
    array([[1. , 0.5],
           [0.5, 0.5]])
    """

    @property
    def by_features(self) -> bool:  # type: ignore[override]
        return self.phi is None or isinstance(self.phi, str)

    def _views(self, T: Array, share: Array) -> Callable[..., operators.Views]:
        return _averaged(self._feature_groups(int(T.shape[1])))


def blended(weights: Any = None) -> Additive:
    """Return what "blended" stands for: V from both sides of every feature, mixed with I."""
    return Additive(symmetric=True, normalize=True, blend="auto", weights=weights)


def doubly_corrected(weights: Any = "cdf") -> Additive:
    """Return what "doubly-corrected" stands for: blended, and the training rows weighted too."""
    return blended(weights)


class Pairwise(EmpiricalCorrection):
    """One view for each pair of coordinates, averaged: interactions of order two (ours).

        V(i, j) = 2/(n(n-1)M) sum_{k<l} sum_q phi(t_q) 1[t_q >= x_i, t_q >= x_j] ,

    where both are compared in the coordinates k and l alone.

    Cost: that of `Multiplicative` for each of the n(n-1)/2 pairs. With one feature it is that one.
    A feature of several columns (`of_features`) is looked at in all of them: a pair of features is
    a box of the columns of both.

    Parameters
    ----------
    phi, symmetric, normalize, blend, weights
        Options of the family; see `EmpiricalCorrection`.

    Examples
    --------
    >>> from covshift.corrections import Pairwise
    >>> V = Pairwise().operator([[0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0], [2.0, 2.0, 2.0]])
    >>> V.dense().round(3)
    array([[0.667]])
    """

    def _views(self, T: Array, share: Array) -> Callable[..., operators.Views]:
        n = int(T.shape[1])
        groups = self._feature_groups(n)
        count = n if groups is None else len(np.unique(groups))
        warn_if_slow(
            f"V of {count * (count - 1) // 2} pairs of features",
            _SECONDS_OF_PAIR * count * (count - 1) / 2,
            "Use the additive or the sliced correction, whose cost is linear in the features, or "
            "fewer features.",
            stacklevel=5,
        )
        if groups is not None:
            features = members(groups)
            pairs = [one + other for one, other in combinations(features, 2)]
            return _boxes(pairs or features)
        return _averaged(None) if n == 1 else _boxes(combinations(range(n), 2))


class Sliced(EmpiricalCorrection):
    """One view for each of G random directions, averaged: no preferred axes (ours).

        V(i, j) = (1/GM) sum_g sum_q phi(t_q) 1[b_g't_q >= max(b_g'x_i, b_g'x_j)] ,

    b_g the direction a_g, its entries divided by the target's standard deviations if
    ``standardize``. Where L columns are one feature (`of_features`), those of a random direction
    are divided by sqrt(L): the feature has the part in it that a single column has.

    Cost: O(G n (N + M)) to project, then that of `Additive` with G features; the projections are
    made one at a time.

    Parameters
    ----------
    n_directions : int
        Number G of random unit directions.
    random_state : int, RandomState or None
        Seed of the directions. None draws new ones for every operator.
    directions : (G, n) array, optional
        Use these directions instead; with the n unit vectors V is the additive one.
    standardize : bool
        Divide each feature by its standard deviation in the target first, so that units do not
        matter. False: directions in the features as they are; turned data then have the same V
        in distribution, and the very same with directions turned alike.
    phi, symmetric, normalize, blend, weights
        Options of the family; see `EmpiricalCorrection`.

    Examples
    --------
    >>> from covshift.corrections import Sliced
    >>> Sliced(n_directions=50, random_state=0).operator([[0.0, 0.0], [1.0, 2.0]]).dense()
    array([[0.75, 0.5 ],
           [0.5 , 0.75]])
    """

    _rules: ClassVar[Rules] = {
        **EmpiricalCorrection._rules,
        "n_directions": whole(1),
        "standardize": flag(),
    }

    def __init__(
        self,
        n_directions: int = 100,
        *,
        random_state: Any = None,
        directions: Any = None,
        standardize: bool = True,
        phi: Any = None,
        symmetric: bool = False,
        normalize: bool = False,
        blend: float | str = 0.0,
        weights: Any = None,
    ) -> None:
        super().__init__(
            phi=phi, symmetric=symmetric, normalize=normalize, blend=blend, weights=weights
        )
        self.n_directions = n_directions
        self.random_state = random_state
        self.directions = directions
        self.standardize = standardize

    def _views(self, T: Array, share: Array) -> Callable[..., operators.Views]:
        return partial(operators.LineViews.of, _Projections(self.directions_for(T, share)))

    def directions_for(self, T: Array, share: Array) -> Real:
        """Return the directions b_g (G, n) for a checked target (M, n) and its shares (M,)."""
        directions = self._directions(int(T.shape[1]))
        if not self.standardize:
            return directions
        _, std = moments(to_numpy(T), to_numpy(share))
        return np.asarray(directions / np.where(std > 0, std, 1.0))

    def _directions(self, n_features: int) -> Real:
        if self.directions is not None:
            directions = np.asarray(self.directions, dtype=np.float64)
            if directions.ndim != 2 or directions.shape[1] != n_features or not directions.size:
                raise InputError(
                    f"directions has shape {directions.shape}, expected (G, {n_features})."
                )
            if not np.isfinite(directions).all() or not directions.any(axis=1).all():
                raise InputError("directions must be finite, and none of them all zero.")
            return directions
        drawn = operators.random_directions(self.n_directions, n_features, self.random_state)
        groups = self._feature_groups(n_features)
        return drawn if groups is None else drawn / np.sqrt(np.bincount(groups)[groups])


def _averaged(groups: Rows | None) -> Callable[..., operators.Views]:
    """Views of single columns, averaged over features."""
    shares = None if groups is None else column_shares(groups)
    return partial(operators.LineViews.of, operators.Coordinates(), shares=shares)


def _joint_weight(share: Array, phi: Real, T: Array) -> Array:
    """Share of each target row times its phi (M,): positive somewhere, and a float of T's kind."""
    xp = namespace(share)
    weight = share * like(phi, share)
    total = float(xp.sum(weight))
    if not 0 < total < float(xp.finfo(T.dtype).max):
        raise InputError(
            "phi times the target's weights is zero in every row of X_target, or overflows: its "
            f"sum is {total:.3g}. Give some row a positive weight in both, of ordinary size."
        )
    return weight


def _boxes(groups: Iterable[Iterable[int]]) -> Callable[..., operators.Views]:
    return partial(operators.BoxViews, [list(group) for group in groups])


@dataclass(frozen=True)
class _Projections:
    """The views of `Sliced`: made one at a time."""

    directions: Real  # (G, n)

    def __call__(self, points: Array) -> Iterator[Array]:
        xp = namespace(points)
        for direction in self.directions:
            values = operators.projected(points, direction)
            if not bool(xp.all(xp.isfinite(values))):
                raise InputError(
                    "A projection overflows. Scale the features to ordinary sizes first."
                )
            yield values
