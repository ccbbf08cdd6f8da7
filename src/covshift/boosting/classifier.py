"""VBoostClassifier: boosted trees on the V-loss, for two classes or many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from .._fields import Kind, Labels
from .._fit_data import GivenWeights
from .._labels import at_least_two, check_labels, check_outputs, most_probable, one_hot
from .._types import Real
from .base import Booster


class VBoostClassifier(ClassifierMixin, Booster):  # type: ignore[misc]
    """Gradient-boosted trees that repair covariate shift through the V-matrix.

    Boosts f, an estimate of p(y = 1 | x), on the V-loss with y in {0, 1}, as `VBoostRegressor` does
    for numbers. More classes: one-hot labels, and one tree per class and round. The loss is a
    sum over classes, so that their trees do not wait for each other; all share one V.

    Parameters are those of `VBoostRegressor`.

    Attributes
    ----------
    classes_ : array
    n_iter_, baseline_, ensemble_, feature_importances_, validation_score_, correction_,
    selection_report_, target_coverage_, n_features_in_, feature_names_in_
        As in `VBoostRegressor`; k is one for two classes.

    Examples
    --------
    >>> from covshift import VBoostClassifier
    >>> from covshift.datasets import make_sigmoid_shift
    >>> data = make_sigmoid_shift(300, 1000, random_state=0)
    >>> model = VBoostClassifier(n_estimators=30).fit(data.X, data.y, X_target=data.X_target)
    >>> model.predict([[-0.9], [0.9]])
    array([1, 0])
    """

    _saved: ClassVar[dict[str, Kind]] = {"classes_": Labels("K")}

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_target: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> Self:
        """Fit on labelled rows, corrected for the target.

        Parameters
        ----------
        X : (N, n) array or data frame
            Training rows. A frame may hold text, dates and gaps (`covshift.TableEncoder`); a
            category counts as one feature.
        y : (N,) array
            Their classes.
        X_target : (M, n) array or data frame, `covshift.Margins`, or a one-tuple, optional
            Unlabelled rows of the target, or its margins, where the correction sees one column at a
            time ("additive", "blended", "auto") or weights that take them. None: the target is
            the training sample.
        sample_weight, target_weight : (N,) and (M,) arrays, optional
            Probability weights of the rows, such as those of a survey. Their scale says nothing:
            they are divided by their mean, so that a penalty means the same on any scale.
        """
        weights = GivenWeights(sample_weight, target_weight)
        X, X_target = self._read_tables(X, X_target, weights)
        labels = check_labels(self, X, y)
        self.classes_ = at_least_two(self, np.unique(labels))
        Y = one_hot(labels, self.classes_)
        return self._fit(X, Y, X_target, weights)

    def decision_function(self, X: Any) -> Real:
        """Return f - 1/2 for two classes (rows,), and f, one column per class, for more."""
        f = self._values(X)
        return f[:, 0] - 0.5 if len(self.classes_) == 2 else f

    def predict_proba(self, X: Any) -> Real:
        """Return the probability of every class (rows, classes): f cut off at 0 and 1."""
        return self._probabilities(self._values(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row; the second of two where f >= 1/2."""
        return self._labels(self._values(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the most probable classes after every round."""
        return map(self._labels, self._staged_values(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Real]:
        """Yield the probabilities after every round."""
        return map(self._probabilities, self._staged_values(X))

    def _after_loading(self) -> None:
        super()._after_loading()
        check_outputs(self.classes_, len(self.baseline_))

    def _labels(self, f: Real) -> NDArray[Any]:
        return most_probable(f, self.classes_)

    def _probabilities(self, f: Real) -> Real:
        if len(self.classes_) == 2:
            f = np.column_stack([1 - f[:, 0], f[:, 0]])
        f = np.clip(f, 0, 1)
        total = f.sum(axis=1, keepdims=True)
        # Trees of different classes need not sum to one: where all are negative, all are alike.
        return np.where(total > 0, f / np.where(total > 0, total, 1), 1 / f.shape[1])
