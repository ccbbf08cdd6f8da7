"""Boosted trees of scikit-learn, kept as plain arrays: quick to fit with weights, and saved.

scikit-learn (from 1.9; 1.8 does not weight them) finds the bins of weighted rows quantile by
quantile, which on a thousand rows takes far longer than the trees. Here the bins are found first,
the same ones (`Bins`), and the trees are grown on their numbers. Split thresholds then go back to
the units of the columns, and the trees into an `Ensemble`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils.validation import check_is_fitted

from ..data.labels import (
    at_least_two,
    check_labels,
    check_outcomes,
    finite_probabilities,
)
from ..data.row_weights import check_weight
from ..data.validation import check_host_rows
from ..numerics.array import Real
from ..numerics.parallel import one_thread
from ..numerics.quiet import alone
from .ensemble import Bins, Ensemble

_BINS = 255  # scikit-learn's


class _Histogram(BaseEstimator):  # type: ignore[misc]
    """What both have in common."""

    def __init__(
        self,
        *,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int = 31,
        min_samples_leaf: int = 20,
        early_stopping: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.early_stopping = early_stopping
        self.random_state = random_state

    def _grow(self, kind: Any, X: Real, y: NDArray[Any], weight: Any) -> Any:
        with one_thread(len(X)), alone():
            grown = kind(**self.get_params())
            if weight is None:
                bins = None
                grown.fit(X, y)
            else:
                w = check_weight(weight, len(X), "sample_weight", of="X")
                # Trees stop at a Hessian below a constant: bring weights near one, exactly.
                w = np.ldexp(w, -round(float(np.log2(w[w > 0].mean()))))
                bins = Bins(X[w > 0], w[w > 0], _BINS)
                grown.fit(bins.codes(X), y, sample_weight=w)
        self.ensemble_ = as_ensemble(grown, bins)
        return grown

    def _raw(self, X: Any) -> Real:
        check_is_fitted(self, "ensemble_")
        return self.ensemble_(check_host_rows(self, X, reset=False))


class BoostedTreesRegressor(RegressorMixin, _Histogram):  # type: ignore[misc]
    """`sklearn.ensemble.HistGradientBoostingRegressor` of squared error, in a form that is saved.

    Minimises sum_i w_i (y_i - f(x_i))^2 by boosted trees. Parameters, defaults and predictions are
    scikit-learn's; numbers only, without gaps. O(rounds N n) time.

    Attributes
    ----------
    ensemble_ : the trees as arrays

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.boosting import BoostedTreesRegressor
    >>> x = np.linspace(-1, 1, 200)
    >>> model = BoostedTreesRegressor().fit(x[:, None], x**2)
    >>> model.predict([[0.0], [0.9]]).round(1)
    array([0. , 0.8])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the trees to rows X (N, n), outcomes y (N,) and weights (N,) of the rows."""
        rows = check_host_rows(self, X, reset=True)
        Y, _ = check_outcomes(self, rows, y)
        self._grow(HistGradientBoostingRegressor, rows, Y.ravel(), sample_weight)
        return self

    def predict(self, X: Any) -> Real:
        """Return a number for every row."""
        return np.asarray(self._raw(X)[:, 0])


class BoostedTreesClassifier(ClassifierMixin, _Histogram):  # type: ignore[misc]
    """`sklearn.ensemble.HistGradientBoostingClassifier`, in a form that is saved.

    Minimises the log loss by boosted trees. Parameters, defaults and predictions are
    scikit-learn's; numbers only, without gaps. O(rounds classes N n) time.

    Attributes
    ----------
    classes_ : array
    ensemble_ : the trees as arrays

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.boosting import BoostedTreesClassifier
    >>> x = np.linspace(-1, 1, 200)
    >>> model = BoostedTreesClassifier().fit(x[:, None], x > 0)
    >>> model.predict([[-0.5], [0.5]])
    array([False,  True])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the trees to rows X (N, n), classes y (N,) and weights (N,) of the rows."""
        rows = check_host_rows(self, X, reset=True)
        labels = check_labels(self, rows, y)
        at_least_two(self, np.unique(labels))
        grown = self._grow(HistGradientBoostingClassifier, rows, labels, sample_weight)
        self.classes_ = grown.classes_
        return self

    def decision_function(self, X: Any) -> Real:
        """Return the log-odds of the second of two classes (rows,), or a column for each class."""
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X: Any) -> Real:
        """Return the probability of every class: (rows, classes)."""
        raw = self._raw(X)
        if raw.shape[1] > 1:
            return finite_probabilities(softmax(raw, axis=1))
        p = finite_probabilities(expit(raw[:, 0]))
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def as_ensemble(grown: Any, bins: Bins | None = None) -> Ensemble:
    """Lay out scikit-learn's trees, of the columns or of their bin numbers."""
    rounds = grown._predictors  # scikit-learn has no public form of its trees
    nodes = [tree.nodes for trees in rounds for tree in trees]
    starts = np.cumsum([0, *(len(part) for part in nodes)], dtype=np.int64)
    joined = np.concatenate(nodes) if nodes else np.empty(0, dtype=_NODE)
    inner = joined["is_leaf"] == 0
    first = np.repeat(starts[:-1], np.diff(starts))
    feature = np.where(inner, joined["feature_idx"], -1).astype(np.int32)
    threshold = np.where(inner, joined["num_threshold"], 0.0)
    if bins is not None:
        numbers = np.floor(threshold[inner]).astype(np.intp)
        pairs = zip(feature[inner], numbers, strict=True)
        threshold[inner] = [bins.thresholds[k][b] for k, b in pairs]
    children = (
        np.where(inner, joined[side].astype(np.int64) + first, -1).astype(np.int32)
        for side in ("left", "right")
    )
    left, right = children
    return Ensemble(
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        value=np.where(inner, 0.0, joined["value"]).astype(np.float64),
        gain=np.where(inner, joined["gain"], 0.0).astype(np.float64),
        starts=starts,
        output=np.array([k for trees in rounds for k in range(len(trees))], dtype=np.int32),
        baseline=np.asarray(grown._baseline_prediction, dtype=np.float64).reshape(-1),
    )


_NODE = [
    ("is_leaf", "u1"), ("feature_idx", "i8"), ("num_threshold", "f8"), ("left", "u4"),
    ("right", "u4"), ("value", "f8"), ("gain", "f4"),
]  # fmt: skip
