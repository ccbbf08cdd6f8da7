"""One tree on the V-loss: a library finds the splits, D w = U gives the leaves their values.

Splits are those of ordinary second-order boosting of sum_i V(i, i) r_i^2: no leaf changes another's
gain. Then all leaves are solved together under V itself (theory, eq. 5.1), so a full step reaches
the smallest V-loss that these leaves allow, and any rate up to 1 lowers it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf
from sklearn.tree import DecisionTreeRegressor

from ..exceptions import import_extra
from ..numerics.array import Real, Rows
from ..numerics.parallel import thread_count
from ..numerics.quiet import alone
from ..operators import FactorOperator, VOperator
from ..operators.leaves import leaf_gram, of_lines

_NOISE = 1e-12  # of the loss: a gain below it is rounding
_SPAN = 1e-10  # share of a leaf's column that must lie outside the span of the others


@dataclass(frozen=True)
class Growth:
    """How far a tree grows, its penalties, and who grows it."""

    grower: str
    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: float
    reg_lambda: float
    reg_leaves: float


@dataclass(frozen=True)
class Tree:
    """Nodes as arrays, children after their parent; rows go left where their bin <= ``cut``."""

    feature: NDArray[np.int32]  # (nodes,): -1 in a leaf, as are the children
    cut: Real  # (nodes,): between two bins
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    gain: Real
    value: Real  # (nodes,): of a leaf
    ends: Callable[[Real], Rows]  # the node where rows end, by their bins (rows, n)


class Grower:
    """Grows trees on one sample: V, the rows' bins (N, n), and their weights (for leaf sizes)."""

    def __init__(self, V: VOperator, bins: Real, w: Real, growth: Growth) -> None:
        self._V, self._bins = V, bins
        self._penalty = growth.reg_lambda
        diagonal = _diagonal(V, w)
        least = min(1.0, growth.min_samples_leaf * (1 - 1e-12) / float(w.sum()))
        seen = diagonal.sum() > 0 and least <= 0.5  # else nothing can be split
        self._split = (_GROWERS[growth.grower] if seen else _Stump)(bins, diagonal, least, growth)

    def grow(self, g: Real) -> tuple[Tree, Real]:
        """Grow a tree for the residuals ``g`` = prediction - outcome; return its steps too (N,)."""
        tree = self._split(g)
        ends = tree.ends(self._bins)
        leaves, place = np.unique(ends, return_inverse=True)
        gram = leaf_gram(self._V, place, len(leaves))
        Vg = np.asarray(self._V.matmat(g[:, None]))[:, 0]
        U = -2 * np.bincount(place, Vg, len(leaves)).astype(np.float64)
        tree.value[leaves] = _solve(2 * gram + self._penalty * np.eye(len(leaves)), U)
        return tree, tree.value[ends]


class _Stump:
    """One leaf: where V sees no row, or a leaf may not be smaller than half of them."""

    def __init__(self, *anything: Any) -> None:
        del anything

    def __call__(self, g: Real) -> Tree:
        none, zero = np.array([-1], dtype=np.int32), np.zeros(1)
        return Tree(none, zero, none, none, zero, np.zeros(1), _in_the_root)


def _in_the_root(bins: Real) -> Rows:
    return np.zeros(len(bins), dtype=np.intp)


class _ScikitLearn:
    """Trees of `sklearn.tree.DecisionTreeRegressor`: every cut between two bins is compared."""

    def __init__(self, bins: Real, diagonal: Real, least: float, growth: Growth) -> None:
        self._bins, self._diagonal, self._price = bins, diagonal, growth.reg_leaves
        self._tree = DecisionTreeRegressor(
            max_leaf_nodes=growth.max_leaf_nodes,
            max_depth=growth.max_depth,
            min_weight_fraction_leaf=least,
            random_state=0,
        )

    def __call__(self, g: Real) -> Tree:
        d, unit = self._diagonal, float(np.abs(g).max()) or 1.0  # tiny variances count as none
        price = max(_NOISE * float(d @ (g / unit) ** 2), self._price / unit**2) / float(d.sum())
        self._tree.set_params(min_impurity_decrease=price)
        with alone():
            grown = self._tree.fit(self._bins, -g / unit, sample_weight=d).tree_
        left, right = grown.children_left, grown.children_right
        inner = left >= 0
        loss = unit**2 * grown.weighted_n_node_samples * grown.impurity
        return Tree(
            np.where(inner, grown.feature, -1).astype(np.int32),
            np.where(inner, grown.threshold, 0.0),
            left.astype(np.int32),
            right.astype(np.int32),
            np.where(inner, loss - loss[left] - loss[right], 0.0),
            np.zeros(len(left)),
            grown.apply,
        )


class _LightGBM:
    """Trees of LightGBM, which sums gradients by bin: many times as fast from thousands of rows."""

    def __init__(self, bins: Real, diagonal: Real, least: float, growth: Growth) -> None:
        lightgbm = import_extra("lightgbm", extra="lightgbm", needed_by='grower="lightgbm"')
        self._diagonal, self._price = diagonal, growth.reg_leaves
        common = {"verbose": -1, "min_data_in_bin": 1, "max_bin": int(bins.max()) + 2}
        self._booster = lightgbm.Booster(
            {
                **common,
                "objective": "none",
                "learning_rate": 1.0,
                "num_leaves": growth.max_leaf_nodes,
                "max_depth": growth.max_depth or -1,
                "lambda_l2": growth.reg_lambda / 2,
                "min_data_in_leaf": 1,
                "min_sum_hessian_in_leaf": least * float(diagonal.sum()),
                "num_threads": thread_count(),
                "deterministic": True,
                "force_col_wise": True,
            },
            lightgbm.Dataset(bins, np.zeros(len(bins)), params=common, free_raw_data=False),
        )

    def __call__(self, g: Real) -> Tree:
        d, booster = self._diagonal, self._booster
        price, first = max(_NOISE * float(d @ g**2), self._price), booster.current_iteration()
        booster.reset_parameter({"min_gain_to_split": price})
        booster.update(fobj=lambda *_: (d * g, d))
        if booster.current_iteration() == first:
            return _Stump()(g)
        dumped = booster.dump_model(start_iteration=first, num_iteration=1)["tree_info"][0]
        nodes: list[tuple[int, float, int, int, float]] = []
        leaf_node: dict[int, int] = {}

        def lay_out(part: dict[str, Any]) -> int:
            node = len(nodes)
            nodes.append((-1, 0.0, -1, -1, 0.0))
            if "split_feature" not in part:
                leaf_node[part.get("leaf_index", 0)] = node
                return node
            left, right = lay_out(part["left_child"]), lay_out(part["right_child"])
            nodes[node] = (
                part["split_feature"],
                part["threshold"],
                left,
                right,
                part["split_gain"],
            )
            return node

        lay_out(dumped["tree_structure"])
        feature, cut, left, right, gain = (np.array(values) for values in zip(*nodes, strict=True))
        number = np.array([leaf_node[leaf] for leaf in range(len(leaf_node))])

        def ends(bins: Real) -> Rows:
            part = {"start_iteration": first, "num_iteration": 1, "num_threads": thread_count()}
            leaves = booster.predict(bins, pred_leaf=True, **part)
            return np.asarray(number[np.ravel(leaves).astype(np.intp)])

        sides = left.astype(np.int32), right.astype(np.int32)
        return Tree(feature.astype(np.int32), cut, *sides, gain, np.zeros(len(nodes)), ends)


_GROWERS: dict[str, Any] = {"sklearn": _ScikitLearn, "lightgbm": _LightGBM}


def _diagonal(V: VOperator, w: Real) -> Real:
    """V(i, i) summed over the repeats of every row, (N,), or ``w`` where V is not of lines.

    A row that counts w times has w^2 V(i, i) in V, as all pairs of its repeats meet there.
    """
    if not isinstance(V, FactorOperator) or not of_lines(V):
        return w
    d = np.zeros(len(w)) if V.d is None else np.asarray(V.d, dtype=np.float64)
    paired = np.asarray(V.diagonal(), dtype=np.float64) - d
    return np.asarray(d + np.divide(paired, w, out=np.zeros(len(w)), where=w > 0))


def _solve(D: Real, U: Real) -> Real:
    """D^-1 U; what lies in the null space of D, such as leaves that V does not see, is left out."""
    size = np.sqrt(np.maximum(np.diag(D), 0))
    scale = np.divide(1, size, out=np.zeros(len(size)), where=size > 0)
    C = scale[:, None] * D * scale
    lower, failed = dpotrf(C, lower=1)
    if not failed and np.diag(lower).min() ** 2 > _SPAN:
        return np.asarray(scale * cho_solve((lower, True), scale * U))
    values, vectors = np.linalg.eigh(C)
    inside = values > _SPAN * max(values[-1], 0)
    along = vectors[:, inside].T @ (scale * U)
    return np.asarray(scale * (vectors[:, inside] @ (along / values[inside])))
