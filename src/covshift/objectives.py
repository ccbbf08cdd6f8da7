"""The V-loss for XGBoost and LightGBM: a gradient, and a diagonal that bounds the Hessian.

Gradient-boosting engines ask for the first and second derivative of the loss at every training row
and fit a tree to them. The V-loss couples the rows, so its Hessian is no diagonal; the engines get
one that majorises it (theory, eqs. 5.4 and 5.10), so that a full step never overshoots. Trees grown
on the exact objective, leaves solved together, are those of `covshift.VBoostClassifier`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone

from .corrections import as_correction
from .corrections.base import of_features
from .corrections.matrix import warn_if_unseen
from .data.parameters import flag, one_of
from .data.row_weights import row_weights
from .data.validation import check_samples, refuse_margins, unwrap_target
from .encoding import groups_of
from .encoding.samples import encode_samples
from .exceptions import InputError
from .numerics.array import Real, to_numpy
from .operators import VOperator
from .operators.base import blocks

__all__ = ["VObjective", "lightgbm_objective", "xgboost_objective"]


_SIGMOID_CURVATURE = 9 / 64  # largest value of s (1/4 + |1 - 2p|), s = p (1 - p): at p = 1/4, 3/4
_CELLS = 1 << 22  # entries of V held at a time: 32 MB


def xgboost_objective(
    X: Any,
    X_target: Any = None,
    correction: Any = "blended",
    *,
    target_weight: Any = None,
    squash: str | None = None,
    unit_hessian: bool = True,
) -> VObjective:
    """Return the V-loss as an objective for XGBoost.

    For ``XGBRegressor(objective=...)`` and ``XGBClassifier(objective=...)``, and for
    ``xgboost.train(params, dtrain, obj=...)``: one object serves both.

    Parameters
    ----------
    X : (N, n) array or data frame
        The training rows, in the order in which the engine gets them. V is made from them: a frame
        may hold text, dates and gaps (`covshift.TableEncoder`), an array has no missing values. The
        rows given to the engine are another matter.
    X_target : (M, n) array or data frame, or a one-tuple of it, optional
        Target rows, with the columns of X. None: the target is the training sample.
    correction : str or correction
        How V is made: a name or an object of `covshift.corrections`. "blended" is the default of
        the kernel machines too.
    target_weight : (M,) array, optional
        Probability weights of the target rows, on any scale.
    squash : {None, "sigmoid"}
        None: the engine's output f is the prediction. "sigmoid": it is the log odds, and
        p = 1 / (1 + exp(-f)) enters the loss; labels then lie between 0 and 1.
    unit_hessian : bool
        Scale gradient and Hessian together so that the Hessian has mean one, as squared error has
        in XGBoost: ``reg_lambda`` and ``min_child_weight`` keep their usual meaning. False: the
        gradient of r'Vr as it is, 2V(f - y), whose Hessian grows with N.

    Returns
    -------
    VObjective

    Notes
    -----
    The initial prediction is the engine's; `VObjective.constant` computes the best one.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.objectives import xgboost_objective
    >>> X, T = [[0.0], [1.0]], [[0.5], [2.0]]
    >>> objective = xgboost_objective(X, T, "additive", unit_hessian=False)
    >>> gradient, hessian = objective(np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    >>> gradient, hessian  # V = [[1, 1/2], [1/2, 1/2]]
    (array([-1., -1.]), array([3., 2.]))
    """
    return VObjective(
        X,
        X_target,
        correction,
        target_weight=target_weight,
        squash=squash,
        unit_hessian=unit_hessian,
    )


def lightgbm_objective(
    X: Any,
    X_target: Any = None,
    correction: Any = "blended",
    *,
    target_weight: Any = None,
    squash: str | None = None,
    unit_hessian: bool = True,
) -> VObjective:
    """Return the V-loss as an objective for LightGBM.

    For ``LGBMRegressor(objective=...)`` and ``LGBMClassifier(objective=...)``, and for
    ``lightgbm.train({"objective": ...}, dataset)``: one object serves both. ``reg_lambda`` and
    ``min_child_weight`` (``min_sum_hessian_in_leaf``) act on the Hessian that it returns.

    Parameters
    ----------
    X, X_target, correction, target_weight, squash, unit_hessian
        As of `xgboost_objective`.

    Returns
    -------
    VObjective

    Notes
    -----
    With an objective of its own LightGBM starts from zero; pass ``init_score`` to start elsewhere,
    for example from `VObjective.constant`, and add it to the raw predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.objectives import lightgbm_objective
    >>> objective = lightgbm_objective([[0.0], [1.0]], [[0.5], [2.0]], "additive")
    >>> gradient, hessian = objective(np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    >>> gradient, hessian  # mean Hessian one
    (array([-0.4, -0.4]), array([1.2, 0.8]))
    """
    return VObjective(
        X,
        X_target,
        correction,
        target_weight=target_weight,
        squash=squash,
        unit_hessian=unit_hessian,
    )


@dataclass(frozen=True)
class _Quadratic:
    """r'Vr for given row weights: V, the bound of its rows and the common scale."""

    V: VOperator
    rows: Real  # (N,): V1, or |V|1 where V has negative entries
    scale: float  # of gradient and Hessian
    total: float  # N, or the sum of the row weights
    weight: Real | None


class VObjective:
    """The V-loss r'Vr, r = f - y, for an engine that takes a gradient and a diagonal Hessian.

    The gradient is c 2V(f - y), the Hessian c 2V1, with one scale c for both (theory, eq. 5.4;
    ours): since V has no negative entries, 2 diag(V1) - 2V is positive semidefinite, and the
    engine's quadratic model of the loss lies above the loss everywhere. With ``squash="sigmoid"``,
    p = 1 / (1 + exp(-f)) and s = p (1 - p), the gradient is c 2 s V(p - y) and the Hessian
    c (9/32) V1, a bound over all f (theory, eq. 5.10; ours).

    Several columns f (classes as one-hot labels, or several outcomes) are summed; they share V.

    Parameters
    ----------
    X, X_target, correction, target_weight, squash, unit_hessian
        As of `xgboost_objective`.

    Attributes
    ----------
    target_coverage_ : float
        Share of the training rows that the target sees; the others do not enter the loss.

    Notes
    -----
    A call takes one product with V: O(n (N + M)) for one-dimensional views (additive, sliced,
    blended), and memory of that order; no N x N array.

    The bound holds for all rows moved together, so it is as large as the sum of a row of V, about
    N times an entry. A leaf of a few rows therefore takes small steps. Use ``learning_rate=1`` and
    some hundred rounds: a full step never overshoots, and at 0.1, a usual rate for squared error,
    400 rounds of the additive, symmetric or blended V did worse than 100 full ones, on all of three
    problems tried. benchmarks/boosting_quality.py compares with squared error.

    Row weights reach the objective through the engine (``sample_weight`` in ``fit``, the weight of
    a ``DMatrix`` or ``Dataset``). They are probability weights: their scale does not matter. Repeat
    rows that occur several times.

    A V with negative entries is possible with `covshift.corrections.Precomputed` and with
    corrections of your own; |V|1 takes the place of V1 then, at O(N^2) once, unless the correction
    says ``nonnegative = True``.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.objectives import VObjective
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(100, 3)), rng.normal(0.5, 1.0, size=(80, 3))
    >>> objective = VObjective(X, T, squash="sigmoid")
    >>> y = (X[:, 0] > 0).astype(float)
    >>> gradient, hessian = objective(y, np.zeros(100))
    >>> gradient.shape, bool((hessian >= 0).all())
    ((100,), True)
    """

    def __init__(
        self,
        X: Any,
        X_target: Any = None,
        correction: Any = "blended",
        *,
        target_weight: Any = None,
        squash: str | None = None,
        unit_hessian: bool = True,
    ) -> None:
        one_of("sigmoid", None).check(squash, "squash")
        flag().check(unit_hessian, "unit_hessian")
        self.squash, self.unit_hessian = squash, unit_hessian
        self.correction = clone(as_correction(correction), safe=False)
        refuse_margins(
            unwrap_target(X_target),
            "X_target",
            "an objective",
            "use VBoostRegressor or VBoostClassifier, which take them; or fit CDFWeights to the "
            "margins, and pass its weights_ to the engine as sample_weight",
        )
        X, X_target, encoder = encode_samples(X, X_target)
        groups = groups_of(X) if encoder is None else encoder.groups
        self.correction = of_features(self.correction, groups)
        samples = check_samples(X, X_target, target_weight)
        self._X, T, share = (to_numpy(part).astype(np.float64) for part in samples)
        # None stays None: V of the training sample follows the weights of its rows.
        self._T = None if unwrap_target(X_target) is None else (T,)
        self._share = None if self._T is None and target_weight is None else share
        self.target_coverage_ = warn_if_unseen(
            self.correction.raw_diagonal(self._X, T, share),
            correction=self.correction,
            stacklevel=4,
        )
        self._current = self._quadratic(None)

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tuple[Real, Real]:
        """Return gradient and Hessian at ``y_pred``, in its shape.

        Called as ``(y_true, y_pred[, sample_weight])``, the form of the scikit-learn wrappers, or
        as ``(y_pred, data)`` with a ``DMatrix`` or ``Dataset``, the form of ``train``.
        """
        if hasattr(y_pred, "get_label"):
            data, y_pred = y_pred, y_true
            y_true, sample_weight = data.get_label(), data.get_weight()
        f, Y = self._checked(y_true, y_pred)
        quadratic = self._weighted(sample_weight)
        rows = np.repeat(quadratic.rows[:, None], f.shape[1], axis=1)
        if self.squash is None:
            gradient, hessian = 2 * quadratic.V.matmat(f - Y), 2 * rows
        else:
            p = expit(f)
            gradient = 2 * p * (1 - p) * quadratic.V.matmat(p - Y)
            hessian = 2 * _SIGMOID_CURVATURE * rows
        shape = np.shape(y_pred)
        return (
            (quadratic.scale * gradient).reshape(shape),
            (quadratic.scale * hessian).reshape(shape),
        )

    def loss(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Return the V-loss r'Vr / N^2 of the training rows at ``y_pred`` (theory, eq. 1.3)."""
        f, Y = self._checked(y_true, y_pred)
        quadratic = self._weighted(sample_weight)
        r = (f if self.squash is None else expit(f)) - Y
        return float((r * quadratic.V.matmat(r)).sum() / quadratic.total**2)

    def constant(self, y_true: Any, sample_weight: Any = None) -> Any:
        """Return the constant f of least V-loss, 1'Vy / 1'V1: a start for the engine.

        With ``squash="sigmoid"`` its log odds. For outcomes (N, k) an array (k,).
        """
        y = np.asarray(y_true, dtype=np.float64)
        _, Y = self._checked(y, y)
        V = self._weighted(sample_weight).V
        ones = V.matmat(np.ones((len(Y), 1)))[:, 0]
        if not ones.sum() > 0:
            raise InputError("V is zero: no training row is within the target's reach.")
        best = ones @ Y / ones.sum()
        if self.squash is not None:
            best = logit(best)
        return float(best[0]) if y.ndim == 1 else best

    def probability(self, y_pred: Any) -> Real:
        """Return class probabilities (rows, classes) from the engine's raw predictions.

        Raw predictions (rows,) are those of class 1 of two, (rows, classes) those of each class.
        Without squashing f is cut to [0, 1]; with it, p = 1 / (1 + exp(-f)). Several classes are
        divided by their sum.
        """
        f = np.asarray(y_pred, dtype=np.float64)
        p = np.clip(f, 0, 1) if self.squash is None else expit(f)
        if p.ndim == 1 or p.shape[1] == 1:
            p = p.reshape(-1)
            return np.column_stack([1 - p, p])
        total = p.sum(axis=1, keepdims=True)
        share = np.divide(p, total, out=np.full_like(p, 1 / p.shape[1]), where=total > 0)
        return np.asarray(share)

    def _checked(self, y_true: Any, y_pred: Any) -> tuple[Real, Real]:
        """Return predictions and outcomes as (N, k); classes in one column become one-hot."""
        f, y = (np.asarray(to_numpy(a), dtype=np.float64) for a in (y_pred, y_true))
        N = len(self._X)
        if f.ndim not in (1, 2) or len(f) != N or (y.shape != (N,) and y.size != f.size):
            raise InputError(
                f"Predictions {f.shape} and outcomes {y.shape} do not fit the {N} training rows "
                "that this objective was made from. Make one from the very rows that the engine "
                "trains on, in their order; in a cross-validation, one for every fold."
            )
        f = f.reshape(N, -1)
        y = y.reshape(f.shape) if y.size == f.size else _one_hot(y, f.shape[1])
        if not np.isfinite(y).all():
            raise InputError("The outcomes contain NaN or inf values. Leave those rows out.")
        if self.squash is not None and not ((y >= 0) & (y <= 1)).all():
            raise InputError(
                f"squash='sigmoid' needs outcomes between 0 and 1, got {y.min():.3g} to "
                f"{y.max():.3g}. Encode two classes as 0 and 1."
            )
        return f, y

    def _weighted(self, sample_weight: Any) -> _Quadratic:
        """Return the quadratic for these row weights; the last one is kept."""
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weight is not None and weight.size == 0:  # a DMatrix without weights
            weight = None
        known = self._current.weight
        same = weight is known or (
            weight is not None and known is not None and np.array_equal(weight, known)
        )
        if not same:
            self._current = self._quadratic(weight)
        return self._current

    def _quadratic(self, weight: Real | None) -> _Quadratic:
        given = {"target_weight": self._share, "sample_weight": weight}
        given = {name: value for name, value in given.items() if value is not None}
        V = self.correction.operator(self._X, self._T, **given)
        N = len(self._X)
        nonnegative = getattr(self.correction, "nonnegative", False)
        rows = V.matmat(np.ones((N, 1)))[:, 0] if nonnegative else _absolute_row_sums(V)
        total = float(row_weights(N, weight).rows)
        curvature = 2 * (1 if self.squash is None else _SIGMOID_CURVATURE) * float(rows.sum())
        scale = total / curvature if self.unit_hessian and curvature > 0 else 1.0
        return _Quadratic(V, rows, scale, total, None if weight is None else weight.copy())


def _one_hot(y: Real, n_classes: int) -> Real:
    """Return the class numbers 0 ... n_classes - 1 as columns of zeros and ones."""
    classes = np.arange(n_classes)
    if not np.isin(y, classes).all():
        raise InputError(
            f"The engine predicts {n_classes} columns, so the outcomes must be classes 0 to "
            f"{n_classes - 1}, or as many columns; got {np.unique(y)[:5]}. Encode the labels."
        )
    return np.asarray(y[:, None] == classes, dtype=np.float64)


def _absolute_row_sums(V: VOperator) -> Real:
    """|V|1, from the columns of V in blocks: diag(|V|1) - V is diagonally dominant for any V."""
    N = V.shape[0]
    total = np.zeros(N)
    for columns in blocks(N, max(1, _CELLS // N)):
        unit = np.zeros((N, columns.stop - columns.start))
        unit[columns, :] = np.eye(columns.stop - columns.start)
        total += np.abs(V.matmat(unit)).sum(axis=1)
    return total
