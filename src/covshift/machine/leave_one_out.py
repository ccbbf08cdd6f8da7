"""Every f that leaving out one training row gives, from one fitted machine (theory, section 3.8).

A fitted machine keeps neither the outcomes nor the target, so both are given once more, and V is
made from them again. What was chosen on all rows stays: coordinates, kernel, penalty, landmarks,
the weights of the rows, the scale and the blend of V, the mixture of correction="auto", and the
model that turns f into probabilities. Leaving out row i then means row and column i of V.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._array import to_numpy
from .._fit_data import FitData, GivenWeights, check_fit_data
from .._parallel import one_blas_thread
from .._quiet import quiet
from .._types import Real
from .._validation import check_points
from ..corrections.auto import candidates
from ..exceptions import InputError
from ..operators import VOperator
from ..operators.base import blocks
from .auto import target_weights
from .landmark_basis import LandmarkBasis
from .left_out import LeftOut, exact_left_out, landmark_left_out
from .primal import SMALLEST

_AGREE = 1e-4  # of the spread of y: how far f may be from that of the fit
_ENTRIES = 1 << 22  # numbers that a block of new rows holds


class LeaveOneOut:
    """The functions f_{-i} of one machine; made by its method ``leave_one_out``."""

    def __init__(self, machine: Any, X: Any, y: Any, X_target: Any, weights: GivenWeights) -> None:
        check_is_fitted(machine, "_f")
        self._machine = machine
        problem, Y = _read(machine, X, y, X_target, weights)
        if problem.N < 2:
            raise InputError("Leaving out one row needs two at least; X has one with a weight.")
        self._N = len(Y)
        self._kept = np.flatnonzero(weights.of_rows(self._N).kept)
        if machine._f.kernel is None and len(self._kept) < self._N:
            raise InputError(
                "Some rows have weight zero, and kernel='precomputed' gives no points to predict "
                "them. Leave them out of X, y and the weights."
            )
        with quiet(UserWarning), one_blas_thread(problem.N**2):  # the fit has said it
            self._parts = _parts(machine, problem)
        self._Z = machine._f.Z if _on_landmarks(machine) else problem.X
        self._X, self._Y = X, Y
        self._check_agreement(problem)

    def _check_agreement(self, problem: FitData) -> None:
        """Refuse other data than those of the fit: they give another f."""
        basis = self._basis(problem.X)
        f = _mixture([share * part.f(basis) for share, part in self._parts])
        gap = np.abs(f - self._machine._f(problem.X)).max()
        if not gap <= _AGREE * max(np.ptp(problem.Y, axis=0).max(), np.abs(f).max() * 1e-6):
            raise InputError(
                f"f of these rows differs from the fitted one by up to {gap:.3g}. leave_one_out "
                "takes what fit took: the same X, y, X_target and weights, and a weighter with a "
                "fixed random_state. A machine fitted in single precision has to be fitted again "
                "in double precision."
            )

    def values(self, X: Any = None) -> Real:
        """Return f without each row: f_{-i}(x_i), (N, k), or f_{-i} at new rows, (rows, N, k).

        New rows may come in parts; the cost of each is its own.
        """
        if X is None:
            errors = _mixture([share * part.errors for share, part in self._parts])
            if len(self._kept) == self._N:
                return np.asarray(self._Y + errors)
            found = self._machine._f(self._points(self._X))
            found[self._kept] = self._Y[self._kept] + errors
            return np.asarray(found)
        points = self._points(X)
        k = self._Y.shape[1]
        found = np.empty((len(points), self._N, k))
        for rows in blocks(len(points), max(1, _ENTRIES // (self._N * k))):
            basis = self._basis(points[rows])
            total = _mixture([share * part.values(basis) for share, part in self._parts])
            if len(self._kept) < self._N:
                found[rows] = self._machine._f(points[rows])[:, None, :]
            found[rows][:, self._kept] = total
        return found

    def _points(self, X: Any) -> Real:
        return np.asarray(to_numpy(self._machine._points(X)), dtype=np.float64)

    def _basis(self, points: Real) -> Real:
        kernel = self._machine._f.kernel
        return np.asarray(points if kernel is None else kernel(points, self._Z))


class LeaveOneOutRegressor(LeaveOneOut):
    """The N regressors that leaving out one training row gives; see `VSVR.leave_one_out`.

    Cost, exact solver: O(N^3) time once, a few products of N x N matrices (less than ``reg="cv"``
    takes to choose the penalty), O(N^2) memory, and O(N^2) time per new row. On
    landmarks: O(N D^2) time, O(N D) memory, O(N D) per new row.
    What was chosen on all rows stays as it is (theory, section 3.8). A row of weight zero was not
    in the fit, so nothing changes without it.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import VSVR
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(60, 1)), rng.normal(1, 1, size=(80, 1))
    >>> y = np.sin(X[:, 0]) + rng.normal(scale=0.1, size=60)
    >>> model = VSVR("blended", kernel="rbf", width=1).fit(X, y, X_target=T)
    >>> without = model.leave_one_out(X, y, X_target=T)
    >>> without.residuals().shape
    (60,)
    >>> without.predict([[0.5], [1.5]]).shape
    (2, 60)
    """

    def predict(self, X: Any = None) -> Real:
        """Predict each training row without itself, or new rows without each training row.

        Without X: f_{-i}(x_i), of the shape of y. With X: f_{-i}(x), (rows, N) or (rows, N, k).
        """
        found = self.values(X)
        return found[..., 0] if self._machine._single else found

    def residuals(self) -> Real:
        """Return y_i - f_{-i}(x_i), of the shape of y."""
        Y = self._Y[:, 0] if self._machine._single else self._Y
        return np.asarray(Y - self.predict())


class LeaveOneOutClassifier(LeaveOneOut):
    """The N classifiers that leaving out one training row gives; see `VSVC.leave_one_out`.

    ``values`` are those of f, which is linear in the labels: of the second of two classes, else one
    per class. Scores and probabilities apply to f_{-i} what was fitted to turn f into them.

    Cost and what stays as it is: see `LeaveOneOutRegressor`.

    Examples
    --------
    >>> from covshift import VSVC
    >>> from covshift.datasets import make_sigmoid_shift
    >>> data = make_sigmoid_shift(60, 100, random_state=0)
    >>> model = VSVC("blended", fast=True).fit(data.X, data.y, X_target=data.X_target)
    >>> without = model.leave_one_out(data.X, data.y, X_target=data.X_target)
    >>> without.predict_proba().shape
    (60, 2)
    >>> without.predict_proba(data.X_target[:3]).shape
    (3, 60, 2)
    """

    def decision_function(self, X: Any = None) -> Real:
        """Return the scores of each training row without itself, or of new rows without each.

        Of two classes (N,) and (rows, N), of more (N, classes) and (rows, N, classes).
        """
        return self._linked(self._machine._decision, X)

    def predict_proba(self, X: Any = None) -> Real:
        """Return probabilities (N, classes), or for new rows (rows, N, classes)."""
        if self._machine.probability is None:
            raise InputError(
                "probability=None leaves f as it is, which is no probability: use values or "
                "decision_function, or probability='logistic'."
            )
        return self._linked(self._machine._probabilities, X)

    def _linked(self, link: Any, X: Any) -> Real:
        f = self.values(X)
        if X is None:
            return np.asarray(link(f, self._points(self._X)))
        points = self._points(X)
        return np.array([link(f[j], points[j : j + 1]) for j in range(len(points))])


def _read(
    machine: Any, X: Any, y: Any, X_target: Any, weights: GivenWeights
) -> tuple[FitData, Real]:
    """Read the data as `fit` did, on a copy of the machine; return also Y of all rows (N, k)."""
    copied = copy.copy(machine)  # reading frames learns their columns
    X, X_target = copied._read_frames(X, X_target, weights)
    check_points(X, "X")
    y = copied._read_outcomes(X, y)
    labels = machine._distinct_labels(y)
    if labels is not None and not np.isin(labels, machine.classes_).all():
        raise InputError(f"y holds {labels.tolist()}, but the fit saw {machine.classes_.tolist()}.")
    Y = machine._outcome_columns(y)
    if Y.shape[1] != len(machine._f.c):
        raise InputError(f"y has {Y.shape[1]} outputs, but the fit saw {len(machine._f.c)}.")
    given = machine._f.kernel is None
    with quiet(UserWarning):  # the fit has said it
        problem = check_fit_data(X, Y, X_target, weights, kernel_given=given, frame=copied._frame)
    if not np.array_equal(problem.columns, machine._columns):
        raise InputError(
            "Other columns vary in X and X_target than in those of the fit. leave_one_out takes "
            "what fit took."
        )
    return problem, Y


def _mixture(parts: list[Real]) -> Real:
    return np.asarray(sum(parts))


def _on_landmarks(machine: Any) -> bool:
    return hasattr(machine, "coef_")


def _parts(machine: Any, problem: FitData) -> list[tuple[float, LeftOut]]:
    """Leave out rows of every machine that is mixed: shares, and what they do."""
    return [
        (share, _left_out(machine, V, problem, reg)) for share, V, reg in _mixed(machine, problem)
    ]


def _mixed(machine: Any, problem: FitData) -> list[tuple[float, VOperator, float]]:
    """Return share, V and penalty of every machine that is mixed."""
    report = getattr(machine, "selection_report_", None)
    if report is None:
        return [(1.0, problem.operator(machine.correction_), float(machine.reg_))]
    known = candidates(target_weights(problem) if report["share"] > 0 else np.ones(problem.N))
    return [
        (float(found["share"]), problem.operator(known[found["correction"]]), float(found["reg"]))
        for found in report["candidates"]
        if found["share"] > 0
    ]


def _left_out(machine: Any, V: VOperator, problem: FitData, reg: float) -> LeftOut:
    f = machine._f
    if _on_landmarks(machine):
        W = LandmarkBasis(f.kernel(f.Z, f.Z), SMALLEST).W
        return landmark_left_out(V, f.kernel(problem.X, f.Z) @ W, W, problem.Y, reg)
    K = problem.X if f.kernel is None else f.kernel(problem.X, problem.X)
    return exact_left_out(V, K, problem.Y, reg)
