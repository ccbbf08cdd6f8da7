"""Every f that leaving out one training row gives, from one fitted machine (theory, section 3.8).

A fitted machine keeps neither the outcomes nor the target, so both are given once more, and V is
made from them again. What was chosen on all rows stays: coordinates, kernel, penalty, landmarks,
the weights of the rows, the scale and the blend of V, the mixture of correction="auto", and the
model that turns f into probabilities. Leaving out row i then means row and column i of V.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from sklearn.utils.validation import check_is_fitted

from ..corrections.auto import candidates
from ..data.validation import check_points
from ..exceptions import InputError
from ..numerics.array import Real, Rows, to_numpy
from ..numerics.parallel import one_blas_thread
from ..numerics.quiet import quiet
from ..operators import VOperator, is_diagonal
from ..operators.base import blocks
from .auto import target_weights
from .expansion import whitening
from .fit import FitProblem, GivenWeights, check_problem
from .ridge import Features, entries

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

    def _check_agreement(self, problem: FitProblem) -> None:
        """Refuse other data than those of the fit: they give another f."""
        basis = self._basis(problem.X)
        f = sum(share * part.f(basis) for share, part in self._parts)
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
            errors = sum(share * part.errors for share, part in self._parts)
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
            total = sum(share * part.values(basis) for share, part in self._parts)
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
    >>> from covshift import VSVR, Kernel
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(60, 1)), rng.normal(1, 1, size=(80, 1))
    >>> y = np.sin(X[:, 0]) + rng.normal(scale=0.1, size=60)
    >>> model = VSVR("blended", kernel=Kernel("rbf", width=1)).fit(X, y, X_target=T)
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
                "probability=None leaves f as it is, which is not a probability: use values or "
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
) -> tuple[FitProblem, Real]:
    """Read the data as `fit` did, on a copy of the machine; return also Y of all rows (N, k)."""
    copied = copy.copy(machine)  # reading frames learns their columns
    X, X_target = copied._read_frames(X, X_target, weights)
    check_points(X, "X")
    y = copied._read_outcomes(X, y)
    labels = machine._distinct_labels(y)
    if labels is not None and not np.isin(labels, machine.classes_).all():
        raise InputError(
            f"y holds {labels.tolist()}, but fit was given {machine.classes_.tolist()}."
        )
    Y = machine._outcome_columns(y)
    if Y.shape[1] != len(machine._f.c):
        raise InputError(f"y has {Y.shape[1]} outputs, but fit was given {len(machine._f.c)}.")
    given = machine._f.kernel is None
    with quiet(UserWarning):  # the fit has said it
        problem = check_problem(X, Y, X_target, weights, kernel_given=given, frame=copied._frame)
    if not np.array_equal(problem.columns, machine._columns):
        raise InputError(
            "Other columns vary in X and X_target than in those of the fit. leave_one_out takes "
            "what fit took."
        )
    return problem, Y


def _on_landmarks(machine: Any) -> bool:
    return hasattr(machine, "coef_")


def _parts(machine: Any, problem: FitProblem) -> list[tuple[float, LeftOut]]:
    """Leave out rows of every machine that is mixed: shares, and what they do."""
    return [
        (share, _left_out(machine, V, problem, reg)) for share, V, reg in _mixed(machine, problem)
    ]


def _mixed(machine: Any, problem: FitProblem) -> list[tuple[float, VOperator, float]]:
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


def _left_out(machine: Any, V: VOperator, problem: FitProblem, reg: float) -> LeftOut:
    f = machine._f
    if _on_landmarks(machine):
        W = whitening(f.kernel(f.Z, f.Z))
        return left_out(V, f.kernel(problem.X, f.Z) @ W, W, problem.Y, reg)
    features = Features.of(problem.X if f.kernel is None else f.kernel(problem.X, problem.X))
    W = np.zeros((problem.N, len(features.pivots)))
    W[features.pivots] = features.W
    return left_out(entries(V), features.Psi, W, problem.Y, reg, exact=True)


# What every row does to the fitted function: f without row i in closed form (theory, section 3.8).
#
# f minimises  r'Vr + reg ||f||^2  with r = f(X) - Y; without row i it minimises the same, row and
# column i of V left out. Let e_i = f_{-i}(x_i) - y_i. If y_i moves to y_i + e_i, row i has no
# residual at f_{-i}, and nothing but the pull (Vr)_i of the other rows on f(x_i) tells the two
# problems apart: a force t_i takes it away. With P the covariance of eq. 3.15 at the training rows
# and the smoother H = PV, both move f along a line,
#
#     f_{-i}(x) = f(x) + e_i [P(x, X) V]_i + t_i P(x, x_i) ,
#
#        (1 - H_ii) e_i  -         P_ii t_i  =  r_i ,
#     (V - VPV)_ii e_i  +  (1 - H_ii) t_i  =  (Vr)_i .
#
# With diagonal V there is no pull, t = 0, and e_i = r_i / (1 - H_ii).


_ALONE = 1e-6  # share of 1'V1 below which the other rows hardly have an intercept


@dataclass(frozen=True)
class LeftOut:
    """f and all f_{-i} as coefficients of r features of D basis functions, and of the intercept."""

    W: Real  # (D, r): features of basis functions
    coef: Real  # (r + 1, k), of f
    errors: Real  # (N, k): f_{-i}(x_i) - y_i
    moves: list[tuple[Real, Real]]  # (r + 1, N) and (N, k): f_{-i} - f is their sum
    alone: Rows  # rows without which the others have no intercept, and which were fitted again,
    others: Real  # (r + 1, alone, k): the coefficients then

    def f(self, basis: Real) -> Real:
        """Return f from basis functions (rows, D): (rows, k)."""
        return np.asarray(self._features(basis) @ self.coef)

    def values(self, basis: Real) -> Real:
        """Return all f_{-i} from basis functions (rows, D): (rows, N, k); O(r) per entry."""
        B = self._features(basis)
        found = np.repeat((B @ self.coef)[:, None, :], len(self.errors), axis=1)
        for move, size in self.moves:
            found += (B @ move)[:, :, None] * size
        found[:, self.alone] = np.tensordot(B, self.others, 1)
        return found

    def _features(self, basis: Real) -> Real:
        return np.column_stack([basis @ self.W, np.ones(len(basis))])


def left_out(
    V: VOperator, Psi: Real, W: Real, Y: Real, reg: float, *, exact: bool = False
) -> LeftOut:
    """Leave out every row of a machine with features Psi = K(X, Z) W (N, r).

    Where V sees no row, f is zero, and of the ``exact`` machine the mean of Y.

    The basis are the kernels of the D rows Z. With B = [Psi, 1] and G = B'VB + reg diag(1, 0):
    P = B G^-1 B'. One factorisation of G; O(N D^2) time, O(N D) memory, and what V B costs.
    """
    N, r = Psi.shape
    B = np.column_stack([Psi, np.ones(N)])

    def fitted(V: VOperator, B: Real, Y: Real) -> tuple[Real, Any]:
        """Return the coefficients (r + 1, k), and what is left of the system."""
        VB = np.asarray(V.matmat(B))
        G = B.T @ VB
        if G[r, r] <= 0:
            coef = np.zeros((r + 1, Y.shape[1]))
            coef[r] = Y.mean(axis=0) if exact else 0.0
            return coef, None
        G[np.diag_indices(r)] += reg
        inverse = _inverse((G + G.T) / 2)
        return inverse(VB.T @ Y), (VB, inverse)

    coef, system = fitted(V, B, Y)
    errors, alone = np.zeros_like(Y), np.arange(N)
    moves: list[tuple[Real, Real]] = []
    if system is not None:
        VB, inverse = system
        by_outcome, residual = inverse(VB.T), B @ coef - Y
        left = 1 - np.einsum("ij,ji->i", B, by_outcome)[:, None]  # 1 - H_ii
        if is_diagonal(V):
            errors = residual / np.where(left > 0, left, 1.0)
            moves = [(by_outcome, errors.copy())]
        else:
            by_force = inverse(B.T)
            P = np.einsum("ij,ji->i", B, by_force)[:, None]
            d = np.asarray(V.diagonal()) - np.einsum("ij,ji->i", VB, by_outcome)
            pull = np.asarray(V.matmat(residual))
            errors, forces = _two_unknowns(left, P, np.maximum(d, 0)[:, None], residual, pull)
            moves = [(by_outcome, errors.copy()), (by_force, forces)]
        V1 = VB[:, r]
        rest = V1.sum() - 2 * V1 + np.asarray(V.diagonal())  # 1'V1 without row i
        alone = np.flatnonzero(rest <= _ALONE * V1.sum())
    others = np.zeros((r + 1, len(alone), Y.shape[1]))
    for j, i in enumerate(alone):
        rows = np.delete(np.arange(N), i)
        others[:, j], _ = fitted(V.subset(rows), B[rows], Y[rows])
        errors[i] = B[i] @ others[:, j] - Y[i]
    return LeftOut(W, coef, errors, _joined(moves), alone, others)


def _inverse(G: Real) -> Callable[[Real], Real]:
    """Return a function that applies G^-1: by Cholesky; by eigenvalues where rounding spoils it."""
    try:
        factor = cho_factor(G, lower=True, check_finite=False)
        return lambda b: np.asarray(cho_solve(factor, b, check_finite=False))
    except LinAlgError:
        values, Q = eigh(G, check_finite=False)
        values = np.maximum(values, np.finfo(float).eps * values[-1])
        return lambda b: np.asarray(Q @ ((Q.T @ b) / values[:, None]))


def _two_unknowns(a: Real, b: Real, d: Real, residual: Real, pull: Real) -> tuple[Real, Real]:
    """Solve  a e - b t = residual ,  d e + a t = pull  for every row and output: (N, k) each."""
    determinant = a**2 + b * d
    determinant = np.where(determinant > 0, determinant, 1.0)  # zero for rows fitted again
    return (a * residual + b * pull) / determinant, (a * pull - d * residual) / determinant


def _joined(moves: list[tuple[Real, Real]]) -> list[tuple[Real, Real]]:
    """Add up the moves of a single output, so that new rows need one product."""
    if not moves or moves[0][1].shape[1] > 1:
        return moves
    total = sum(move * size[:, 0] for move, size in moves)
    return [(np.asarray(total), np.ones((len(moves[0][1]), 1)))]
