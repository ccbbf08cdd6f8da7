"""VSVC: the paper's V-SVM, for two classes or many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from ..data.labels import (
    at_least_two,
    check_labels,
    finite_probabilities,
    most_probable,
    one_hot,
)
from ..data.parameters import Rules, one_of
from ..data.validation import check_points
from ..encoding.samples import numbers_only
from ..exceptions import InputError
from ..numerics.array import Real, like, namespace, to_numpy
from ..numerics.coordinates import Centered, Unchanged
from ..numerics.folds import Fold
from ..numerics.row_sample import label_keys
from .base import KernelMachine
from .calibration import Calibration, calibrate, probabilities
from .fit import GivenWeights
from .leave_one_out import LeaveOneOutClassifier


def _gives_probabilities(machine: Any) -> bool:
    if machine.probability is None:
        raise AttributeError(
            "probability=None leaves f as it is, which is not a probability: use "
            "decision_function, or probability='logistic'."
        )
    return True


class VSVC(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """Kernel classifier that repairs covariate shift through the V-matrix.

    With V from the target sample (paper, section 2.4; theory, section 3) and a free intercept c,

        minimise  r'Vr + reg ||f||^2   over   f(x) = sum_i A_i K(x_i, x) + c ,

    where r_i = f(x_i) - y_i and y is 0 or 1. f estimates p(y = 1 | x) itself. More classes: one-hot
    labels, one decomposition.

    Parameters
    ----------
    correction : str, correction or None
        How V is made: a name or an object of `covshift.corrections`. None, the default, is "auto"
        where `fit` is given a target, and "none" where it is not, or leaves no choice: rows in
        blocks or on a device, a precomputed kernel. "auto" compares no
        correction, "blended" and CDF weights by importance-weighted cross-validation, and mixes the
        better one with the uncorrected machine as far as the evidence goes (theory, section 3.4). A
        kernel that is flexible enough seldom needs one; a kernel that is too simple, such as
        "linear", often does (benchmarks/results/auto.md). "none" is V = I. "blended" is additive,
        symmetric, normalised and mixed with the identity, in half shares up to 150 rows and with
        75 / N of V beyond (theory, eq. 2.10). The name of a weighter, such as "kliep", weights the
        rows.
    kernel : str, list of str, callable or `Kernel`
        "cv": a sum of a linear, a Gaussian and a Laplacian kernel, whose amplitudes and widths have
        the largest evidence on a sample of the rows (theory, section 3.6). Another name, such as
        "rbf" or "linear", a list of names to be added up, a callable of two rows, another machine's
        ``kernel_``, or "precomputed". With options such as a width: ``Kernel("rbf", width=2.0)``;
        `covshift.Kernel` says what there is.
    reg : float or "cv"
        The paper's gamma (its N^2 absorbed). "cv" chooses among 20 values over eight decades,
        more where rows are many, by cross-validated squared error, never by the V-loss.
    solver : {"auto", "dual", "primal"}
        "dual" is exact, O(N^3) time and O(N^2) memory at most. "primal" takes ``n_components``
        landmarks and one pass over the rows, in memory that does not depend on N. "auto": exact
        up to 3000 rows, and up to 10,000 for a V that needs all pairs of rows.
    n_components : int
        Landmarks of the primal solver, drawn from the training rows.
    fast : bool
        Search the kernel on 150 rows instead of 300 and then 1000, in fewer steps.
    probability : {"logistic", "clip", None}
        How f, which is least squares and can leave [0, 1], becomes probabilities. "logistic": a
        logistic model of predictions for held-out rows, f beside a linear model (theory,
        eq. 3.12); `decision_function` and `predict` follow it. "clip" cuts f off.
        With None there is no `predict_proba`, and `decision_function` gives f as it is.
    n_folds : int
        Folds for "cv", of single rows. The order of the rows does not matter, and small whole
        sample weights are dealt as repeated rows.
    random_state : int, RandomState or None
        Seed of the landmarks.

    Attributes
    ----------
    classes_ : array
    dual_coef_ : (N, k) array
        Coefficients of the training rows (exact solver); k = 1 for two classes.
    coef_, landmarks_ : (D, k) and (D, n) arrays
        Coefficients and landmarks (primal solver).
    intercept_ : (k,) array
    reg_ : float
        The penalty used.
    kernel_, width_
        The kernel used, a callable of two sets of rows, and its width: a number, or one per column
        for a sum of kernels.
    kernel_report_ : dict
        Of a sum of kernels: its "amplitudes", in units of the noise, and the "error" of held-out
        rows for each "relevance_spread" compared, zero being one width for all.
    reg_path_ : dict
        Where "cv" compared them: the widths "width", for each of them the penalties "reg"
        (widths, P), and their cross-validated errors, "error" (widths, P).
    correction_ : correction
        The one used; of several compared, the one that was mixed in, `Unweighted` where none was.
    selection_report_ : dict
        Where corrections were compared: what was "chosen", its "share" in the mixture, the
        "reason", and for all "candidates" their estimated target error, gain and standard error.
    correction_reason_ : str
        In one sentence what was corrected, and why.
    target_coverage_ : float
        Share of the training rows, by weight, that the target sees.
    rank_ : int
        Rank of the kernel matrix up to rounding: features that the exact solver used.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Inside a search pass the target as a one-tuple, ``X_target=(T,)``: scikit-learn cuts every fit
    parameter that is as long as X into folds.

    The paper's own setting, Algorithm 1 with a fixed penalty, is
    ``VSVC("multiplicative", kernel=kernel, reg=0.1, probability=None)`` with the kernel of its
    experiments, ``kernel = Kernel("laplacian", width=1, coordinates="none")``.

    References
    ----------
    B. Mazaheri, S. Jain, J. Bruck, "Robust Correction of Sampling Bias using Cumulative
    Distribution Functions", NeurIPS 2020.

    Examples
    --------
    >>> from covshift import VSVC
    >>> from covshift.datasets import make_sigmoid_shift
    >>> data = make_sigmoid_shift(200, 1000, random_state=0)
    >>> model = VSVC().fit(data.X, data.y, X_target=data.X_target)
    >>> model.predict_proba([[-0.25], [0.25]]).round(1)
    array([[0.2, 0.8],
           [0.8, 0.2]])
    """

    classes_: NDArray[Any]
    _calibration: Calibration | None = None
    _rules: ClassVar[Rules] = {
        **KernelMachine._rules,
        "probability": one_of("logistic", "clip", None),
    }

    def __init__(
        self,
        correction: Any = None,
        *,
        kernel: Any = "cv",
        reg: Any = "cv",
        solver: str = "auto",
        n_components: int = 300,
        fast: bool = False,
        probability: str | None = "logistic",
        n_folds: int = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            correction=correction,
            kernel=kernel,
            reg=reg,
            solver=solver,
            n_components=n_components,
            fast=fast,
            n_folds=n_folds,
            random_state=random_state,
        )
        self.probability = probability

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
        X, X_target = self._read_frames(X, X_target, weights)
        check_points(X, "X")
        labels = check_labels(self, X, y)
        self._take_outcomes(np.unique(labels), 0)
        Y = one_hot(labels, self.classes_)
        return self._fit(X, Y, X_target, weights)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        X_target: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> Self:
        """Add a block of labelled rows, for data that do not fit in memory.

        Uses the primal solver: the model after the last block is that of all rows. The first call
        takes ``X_target`` (None: its own rows stand for the target) and ``classes`` (all of them);
        its rows give the landmarks, so let them be a fair sample. Later calls take X and y, and
        their weights. `fit` starts afresh.
        """
        first = self._is_first_block()
        with numbers_only("partial_fit", X=X, X_target=X_target):
            self._check_rows(X, reset=first)
        labels = check_labels(self, X, y)
        if classes is not None:
            given = np.unique(classes)
            if not first and not np.array_equal(given, self.classes_):
                raise InputError("classes belong to the first call of partial_fit; these differ.")
            self.classes_ = given
        if not hasattr(self, "classes_"):
            raise InputError("The first call of partial_fit needs classes, all of them.")
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise InputError(f"y holds {unknown.tolist()}, which are not among the classes.")
        Y = one_hot(labels, self.classes_)
        weights = GivenWeights(sample_weight, target_weight)
        return self._partial_fit(X, Y, X_target, weights)

    def decision_function(self, X: Any) -> Any:
        """Return a score: positive for the second of two classes (rows,), else one per class.

        Log-odds where probabilities are logistic; otherwise f - 1/2 for two classes, and f.
        """
        points = self._points(X)
        return self._decision(self._values_at(points), points)

    def _decision(self, f: Any, points: Any) -> Any:
        """Return the scores that belong to f (rows, k) at points (rows, n), or at one (1, n)."""
        if self._calibration is None:
            return f[:, 0] - 0.5 if len(self.classes_) == 2 else f
        score = self._log_odds(f, points)
        if len(self.classes_) == 2:
            return like(score[:, 0], f)
        return like(np.column_stack([np.zeros(len(score)), score]), f)

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of every class: (rows, classes)."""
        points = self._points(X)
        return self._probabilities(self._values_at(points), points)

    def _probabilities(self, f: Any, points: Any) -> Any:
        """Return the probabilities that belong to f (rows, k) at points, (rows, n) or (1, n)."""
        if self._calibration is not None:
            return like(finite_probabilities(probabilities(self._log_odds(f, points))), f)
        xp = namespace(f)
        if len(self.classes_) == 2:
            f = xp.stack([1 - f[:, 0], f[:, 0]], axis=1)
        f = xp.clip(f, 0, 1)
        total = xp.sum(f, axis=1, keepdims=True)
        return xp.where(total > 0, f / xp.where(total > 0, total, 1.0), 1 / len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row."""
        points = self._points(X)
        f = self._values_at(points)
        if self._calibration is None:
            return most_probable(to_numpy(f), self.classes_)
        score = self._log_odds(f, points)
        best = np.argmax(np.column_stack([np.zeros(len(score)), score]), axis=1)
        return np.asarray(self.classes_[best])

    def leave_one_out(
        self,
        X: Any,
        y: Any,
        *,
        X_target: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> LeaveOneOutClassifier:
        """Return the classifiers that leaving out one training row gives, without fitting again.

        Takes what `fit` took. See `LeaveOneOutClassifier` for what it answers and what it costs.
        """
        weights = GivenWeights(sample_weight, target_weight)
        return LeaveOneOutClassifier(self, X, y, X_target, weights)

    def _log_odds(self, f: Any, points: Any) -> Real:
        """Log-odds of every class against the first: (rows, classes - 1)."""
        assert self._calibration is not None
        U = None
        if self._calibration.linear is not None:
            U = self._coordinates(to_numpy(points).astype(np.float64))
        return self._calibration.log_odds(to_numpy(f).astype(np.float64), U)

    def _uses_held_out(self) -> bool:
        return bool(self.probability == "logistic")

    def _learn_from_held_out(
        self, f: Real, X: Real | None, Y: Real, w: Real, folds: Sequence[Fold]
    ) -> None:
        U = None if X is None else self._coordinates(X)
        self._calibration = calibrate(
            f, U, Y, w, folds, in_units=isinstance(self._coordinates, Unchanged | Centered)
        )

    def _outcome_keys(self, Y: Any) -> Any:
        codes = to_numpy(Y)
        codes = codes[:, 0].astype(np.intp) if codes.shape[1] == 1 else codes.argmax(axis=1)
        return label_keys(self.classes_)[codes]

    def _label_keys(self, y: NDArray[Any]) -> Any:
        return label_keys(y)

    def _read_outcomes(self, X: Any, y: Any) -> NDArray[Any]:
        return check_labels(self, X, y)

    def _distinct_labels(self, y: NDArray[Any]) -> NDArray[Any]:
        return np.unique(y)

    def _take_outcomes(self, labels: NDArray[Any] | None, outputs: int) -> None:
        self.classes_ = at_least_two(self, np.asarray([]) if labels is None else labels)

    def _outcome_columns(self, y: NDArray[Any]) -> Real:
        return one_hot(y, self.classes_)
