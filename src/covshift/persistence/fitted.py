"""What a fitted estimator must be that comes from a file, whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..boosting.ensemble import Ensemble
from ..data.parameters import check_parameters
from ..exceptions import InputError
from ..numerics.quiet import quiet
from .archive import Damaged, check_children

_METHODS = ("predict_proba", "predict", "predict_weights", "predict_interval", "predict_set")
_MAX_FEATURES = 1 << 20


def check_fitted(model: Any) -> None:
    """Refuse, by `Damaged`, what no fit makes: in parameters, arrays, trees and names."""
    for part in _objects(model):
        cls = type(part)
        hidden = [name for name in vars(part) if callable(getattr(cls, name, None))]
        if any(not callable(getattr(part, name)) for name in hidden):
            raise Damaged(f"data in place of {cls.__name__}.{min(hidden)}")
        if hasattr(cls, "_rules"):
            try:
                check_parameters(part)
            except InputError as error:
                raise Damaged(f"a parameter that no fit takes: {error}") from None
        if isinstance(part, Ensemble):
            _check_ensemble(part)
        if _is_ours(part) and any(map(_has_gap, vars(part).values())):
            raise Damaged(f"{cls.__name__} has numbers that are not finite")
        encoder = getattr(part, "encoder_", None)
        names = list(getattr(part, "feature_names_in_", ()))
        if encoder is not None and names and [rule.name for rule in encoder.features_] != names:
            raise Damaged(f"{cls.__name__} has an encoder of other columns")
        n = getattr(part, "n_features_in_", None)
        if cls.__name__.startswith("HistGradientBoosting"):
            for tree in _objects(vars(part)):
                _check_predictor(tree, n)
        trees = [part, *np.ravel(getattr(part, "estimators_", ()))]
        trees = [tree for tree in trees if "tree_" in vars(tree)]
        if any((tree.tree_.n_features, tree.n_features_in_) != (n, n) for tree in trees):
            raise Damaged(f"{cls.__name__} has trees of other columns")


def finite_answers(model: Any) -> bool | None:
    """Whether all that a model says of three rows is finite; None where it takes no such rows."""
    n = getattr(model, "n_features_in_", None)
    if type(n) is not int or not 0 < n < _MAX_FEATURES:
        return None
    rows = np.outer([0.0, 1.0, -1.0], np.ones(n))
    methods = [getattr(model, name) for name in _METHODS if hasattr(model, name)]
    with np.errstate(all="ignore"), quiet():
        try:
            values = [np.asarray(method(rows)) for method in methods]
        except Exception:
            return None
    return all(not _has_gap(value) for value in values)


def _has_gap(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and bool(np.isnan(value).any())


def _is_ours(part: Any) -> bool:
    return type(part).__module__.startswith("covshift.")


def _check_ensemble(trees: Ensemble) -> None:
    """Refuse trees that lead outside their arrays, or round in circles. O(nodes)."""
    starts, nodes = trees.starts, len(trees.feature)
    if len(starts) != len(trees.output) + 1 or starts[0] != 0 or starts[-1] != nodes:
        raise Damaged("the trees do not cover the nodes")
    if not (np.diff(starts) > 0).all():
        raise Damaged("empty trees")
    end = np.repeat(starts[1:], np.diff(starts))
    check_children(trees.left >= 0, trees.left, trees.right, trees.feature, _MAX_FEATURES, end)


def _check_predictor(tree: Any, n: int | None) -> None:
    """Refuse a tree of scikit-learn's histogram boosting that leads out of its arrays."""
    if type(tree).__name__ != "TreePredictor":
        return
    nodes = tree.nodes
    if nodes["is_categorical"].any():
        raise Damaged("it splits by categories, which are not checked")
    left, right, column = (nodes[k].astype(np.int64) for k in ("left", "right", "feature_idx"))
    end = np.full(len(nodes), len(nodes))
    check_children(nodes["is_leaf"] == 0, left, right, column, n or 0, end)


def _objects(whole: Any) -> Iterator[Any]:
    """Yield every object with attributes in a fitted estimator, once."""
    waiting, seen = [whole], {}
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, str | bytes | type):
            continue
        seen[id(value)] = value
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple | set):
            waiting += value
        elif isinstance(value, np.ndarray):
            waiting += value.tolist() if value.dtype == object else []
        elif hasattr(value, "__dict__"):
            yield value
            waiting += vars(value).values()
