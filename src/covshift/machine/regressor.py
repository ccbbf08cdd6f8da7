"""VSVR: the same machine for numbers, one or several at a time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin

from ..data.labels import check_outcomes, outcome_unit
from ..data.validation import check_points
from ..encoding.samples import numbers_only
from ..exceptions import InputError
from ..numerics.array import Real
from .base import KernelMachine
from .fit import GivenWeights
from .leave_one_out import LeaveOneOutRegressor


class VSVR(MultiOutputMixin, RegressorMixin, KernelMachine):  # type: ignore[misc]
    """Kernel regressor that repairs covariate shift through the V-matrix.

    With V from the target sample and a free intercept c,

        minimise  r'Vr + reg ||f||^2   over   f(x) = sum_i A_i K(x_i, x) + c ,

    where r_i = f(x_i) - y_i: the regression version of the paper's Fredholm equation (theory,
    section 3). Several outputs share one decomposition.

    Parameters and attributes are those of `VSVC`, without classes and probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import VSVR
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(200, 1)), rng.normal(0.5, 1, size=(300, 1))
    >>> model = VSVR().fit(X, np.sin(X[:, 0]), X_target=X_target)
    >>> model.predict([[0.5], [1.5]]).round(1)
    array([0.5, 1. ])
    """

    _unit = 1.0  # of y, where it is very large or small

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
            Their outcomes.
        X_target : (M, n) array or data frame, `covshift.Margins`, or a one-tuple, optional
            Rows of the target, without outcomes, or its margins, where the correction sees one
            column at a time ("additive", "blended", "auto") or weights that take them. None: the
            target is the training sample.
        sample_weight, target_weight : (N,) and (M,) arrays, optional
            Probability weights of the rows, such as those of a survey. Their scale does not matter:
            they are divided by their mean, so that a penalty means the same on any scale.
        """
        weights = GivenWeights(sample_weight, target_weight)
        X, X_target = self._read_frames(X, X_target, weights)
        check_points(X, "X")
        Y, self._single = check_outcomes(self, X, y)
        self._unit = outcome_unit(Y)
        return self._fit(X, Y / self._unit, X_target, weights)._in_unit_of_y()

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        X_target: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> Self:
        """Add a block of rows, for data that do not fit in memory; see `VSVC.partial_fit`."""
        first = self._is_first_block()
        with numbers_only("partial_fit", X=X, X_target=X_target):
            self._check_rows(X, reset=first)
        Y, single = check_outcomes(self, X, y)
        if first:
            self._single, self._unit = single, outcome_unit(Y)
        elif Y.shape[1] != len(self.intercept_):
            raise InputError(
                f"y has {Y.shape[1]} outputs, but those of earlier blocks had "
                f"{len(self.intercept_)}."
            )
        weights = GivenWeights(sample_weight, target_weight)
        return self._partial_fit(X, Y / self._unit, X_target, weights)._in_unit_of_y()

    def predict(self, X: Any) -> Any:
        """Return the predicted outcomes: (rows,) or (rows, k), as y was given."""
        f = self._values(X)
        return f[:, 0] if self._single else f

    def leave_one_out(
        self,
        X: Any,
        y: Any,
        *,
        X_target: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> LeaveOneOutRegressor:
        """Return the regressors that leaving out one training row gives, without fitting again.

        Takes what `fit` took. See `LeaveOneOutRegressor` for what it answers and what it costs.
        """
        weights = GivenWeights(sample_weight, target_weight)
        return LeaveOneOutRegressor(self, X, y, X_target, weights)

    def _values_at(self, points: Any) -> Any:
        return self._unit * super()._values_at(points)

    def _in_unit_of_y(self) -> Self:
        """Return the coefficients to the unit of y; f keeps its own."""
        if self._unit == 1:
            return self
        with np.errstate(over="ignore", under="ignore"):  # beyond the largest number
            for name in ("dual_coef_", "coef_", "intercept_"):
                if hasattr(self, name):
                    setattr(self, name, self._unit * getattr(self, name))
            if hasattr(self, "reg_path_"):
                self.reg_path_ |= {"error": self.reg_path_["error"] * self._unit * self._unit}
        return self

    def _read_outcomes(self, X: Any, y: Any) -> NDArray[Any]:
        Y, single = check_outcomes(self, X, y)
        return Y[:, 0] if single else Y

    def _take_outcomes(self, labels: NDArray[Any] | None, outputs: int) -> None:
        self._single, self._unit = outputs == 0, 1.0

    def _outcome_columns(self, y: NDArray[Any]) -> Real:
        return np.asarray(y.reshape(len(y), -1), dtype=np.float64)
