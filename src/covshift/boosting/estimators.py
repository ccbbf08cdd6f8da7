"""VBoostClassifier: boosted trees on the V-loss, for two classes or many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin

from ..data.labels import (
    at_least_two,
    check_labels,
    check_outcomes,
    most_probable,
    one_hot,
    outcome_unit,
)
from ..machine.fit import GivenWeights
from ..numerics.array import Real
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
            Probability weights of the rows, such as those of a survey. Their scale does not matter:
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

    def _labels(self, f: Real) -> NDArray[Any]:
        return most_probable(f, self.classes_)

    def _probabilities(self, f: Real) -> Real:
        if len(self.classes_) == 2:
            f = np.column_stack([1 - f[:, 0], f[:, 0]])
        f = np.clip(f, 0, 1)
        total = f.sum(axis=1, keepdims=True)
        # Trees of different classes need not sum to one: where all are negative, all are alike.
        return np.where(total > 0, f / np.where(total > 0, total, 1), 1 / f.shape[1])


# VBoostRegressor: boosted trees on the V-loss for numbers, one or several at a time.


class VBoostRegressor(MultiOutputMixin, RegressorMixin, Booster):  # type: ignore[misc]
    """Gradient-boosted trees that repair covariate shift through the V-matrix.

    Every round adds a tree that lowers (f - y)'V(f - y) + reg_lambda / 2 |w|^2, w its leaf values
    (paper, appendix; theory, section 5). V couples the leaves. Splits are those of ordinary
    boosting, for V's diagonal alone; then the values of all leaves are solved together under V.
    No round raises the V-loss. With ``correction="none"`` it is ordinary second-order boosting of
    the squared loss.

    Parameters
    ----------
    correction : str or correction
        How V is made: a name or an object of `covshift.corrections`. "blended" is additive,
        symmetric, normalised and mixed half and half with the identity. "none" ignores the target.
        "auto" compares three on folds and mixes the best into the uncorrected trees as far as the
        evidence goes (`selection_report_` holds the comparison): some fifteen fits, for equal
        sample weights.
    n_estimators : int
        Rounds at most.
    learning_rate : float
        Share of every tree that is added.
    max_leaf_nodes, max_depth : int, int or None
        Size of a tree; it grows where the objective falls most.
    min_samples_leaf : float
        Least size of a leaf: its share of V's diagonal is at least that of so many rows of average
        weight.
    reg_lambda : float
        Penalty on squared leaf values. Twice scikit-learn's ``l2_regularization``: with V = I a
        leaf of m rows has D = 2m + reg_lambda, there m + l2. The splits of ``grower="sklearn"`` do
        not know it.
    reg_leaves : float
        Price of a leaf, the appendix's gamma: a split must gain more, for V's diagonal.
    grower : {"sklearn", "lightgbm"}
        Who finds the splits; the values of the leaves are ours. scikit-learn's trees compare every
        cut between two bins; LightGBM's (an extra) sum gradients by bin, many times as fast from
        thousands of rows. The trees differ a little.
    max_bins : int
        Most bins per feature; thresholds lie between values, at quantiles where there are more.
    subsample : float
        Share of the rows that a round sees, drawn without replacement.
    early_stopping : "auto" or bool
        Stop when ``n_iter_no_change`` rounds have not lowered the squared error on held-out rows
        by the part ``tol`` of that of the constant: never the V-loss. "auto": with more than
        10 000 rows.
    validation_fraction : float
        Share of the rows held out. They are chosen by their content, so that neither the order of
        the rows nor repeating them changes the choice.
    n_iter_no_change, tol
        See ``early_stopping``.
    random_state : int, RandomState or None
        Seed of ``subsample``, and of the rows that choose with "auto", beyond 10 000.
    verbose : bool or int
        Show a progress bar, on a terminal.

    Attributes
    ----------
    n_iter_ : int
        Rounds made; with "auto", those of the uncorrected trees and then those of the others, so
        that stages before the last are no models.
    selection_report_ : dict
        With "auto": what was chosen, in which share, and why.
    baseline_ : (k,) array
        Where boosting starts: the constant of the smallest V-loss, 1'Vy / 1'V1; with "auto", a
        mixture of two.
    ensemble_ : Ensemble
        All trees as plain arrays.
    feature_importances_ : (n,) array
        Share of every column of X in the total gain; that of a category is the sum over its levels.
    validation_score_ : array
        Squared error on the held-out rows before the first round and after each; with "auto", of
        the trees that were chosen.
    correction_ : correction
    target_coverage_ : float
        Share of the training rows, by weight, that the target sees.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Trees are flexible, and on shifted problems of small samples the corrected ones were seldom
    better than those of "none" (benchmarks/results/boosting_quality.md). Compare, or use "auto".

    Missing values in arrays are refused: V compares values, and a missing one has no place in an
    order. In data frames they are filled, and marked in a column of their own.

    Inside a search pass the target as a one-tuple, ``X_target=(T,)``: scikit-learn cuts every fit
    parameter that is as long as X into folds.

    Cost of a tree with T leaves: a product with V, and O(n (N + T M) + T^2 n M) for Z'VZ of its
    leaves with one-dimensional views; with views of several dimensions, a product of V with T
    columns. scikit-learn's search for splits takes O(n N log N) for each level.

    References
    ----------
    B. Mazaheri, S. Jain, J. Bruck, "Robust Correction of Sampling Bias using Cumulative
    Distribution Functions", NeurIPS 2020, appendix.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import VBoostRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(300, 1)), rng.normal(1, 1, size=(300, 1))
    >>> model = VBoostRegressor(n_estimators=50).fit(X, np.sin(X[:, 0]), X_target=X_target)
    >>> model.predict([[-0.5], [0.5]]).round(1)
    array([-0.5,  0.5])
    """

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_target: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> Self:
        """Fit on rows with known outcomes, corrected for the target.

        Parameters
        ----------
        X : (N, n) array or data frame
            Training rows. A frame may hold text, dates and gaps (`covshift.TableEncoder`); a
            category counts as one feature.
        y : (N,) or (N, k) array
            Their outcomes; several are boosted side by side, one tree each per round.
        X_target : (M, n) array or data frame, `covshift.Margins`, or a one-tuple, optional
            Rows of the target, without outcomes, or its margins, where the correction sees one
            column at a time ("additive", "blended", "auto") or weights that take them. None: the
            target is the training sample.
        sample_weight, target_weight : (N,) and (M,) arrays, optional
            Probability weights of the rows, such as those of a survey. Their scale does not matter:
            they are divided by their mean, so that a penalty means the same on any scale.
        """
        weights = GivenWeights(sample_weight, target_weight)
        X, X_target = self._read_tables(X, X_target, weights)
        Y, self._single = check_outcomes(self, X, y)
        unit = self._unit = outcome_unit(Y)
        try:
            self._fit(X, Y / unit, X_target, weights)
        finally:
            del self._unit  # what is kept is in the unit of y
        if unit != 1:
            self.ensemble_ = self.ensemble_.times(unit)
            self.baseline_ = self.ensemble_.baseline
            if hasattr(self, "validation_score_"):
                with np.errstate(over="ignore", under="ignore"):  # beyond the largest number
                    self.validation_score_ = self.validation_score_ * unit * unit
        return self

    def predict(self, X: Any) -> Real:
        """Return the predicted outcomes: (rows,) or (rows, k), as y was given."""
        return self._shaped(self._values(X))

    def staged_predict(self, X: Any) -> Iterator[Real]:
        """Yield the predicted outcomes after every round."""
        return map(self._shaped, self._staged_values(X))

    def _shaped(self, f: Real) -> Real:
        return f[:, 0] if self._single else f
