"""The fitted function of a kernel machine: from new rows, of whatever kind, to values."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._array import is_torch
from .._coordinates import Ranked
from .._device.kernels import KERNELS as DEVICE_KERNELS
from .._device.kernels import DeviceExpansion
from .._device.memory import enough_memory
from .._fit_data import GivenWeights, encode_fit_data, take_columns
from .._types import Real, Rows
from .._validation import check_columns, check_host_rows, check_rows
from ..encoding import TableEncoder
from .expansion import Expansion


class FittedFunction(BaseEstimator):  # type: ignore[misc]
    """f, and how rows are read for it."""

    _f: Expansion
    _columns: Rows  # of the columns given, those that vary, in the order of the fit
    _frame: TableEncoder | None = None  # what made numbers of a table

    @property
    def kernel_(self) -> Any:
        """The kernel of the fitted function: K(X, Z) of two sets of rows."""
        check_is_fitted(self, "_f")
        return self._f.kernel

    @property
    def width_(self) -> Any:
        """Its width: a number, one per column for a sum of kernels, or None."""
        return None if self.kernel_ is None else self.kernel_.width

    def _after_loading(self) -> None:
        n = self.n_features_in_ if self._frame is None else len(self._frame.groups)
        if len(self._columns) and not 0 <= self._columns.min() <= self._columns.max() < n:
            raise ValueError(f"columns beyond the {n} there are")

    def _points(self, X: Any) -> Any:
        """Check new rows and return the columns of the fit; of PyTorch tensors, on their device."""
        check_is_fitted(self, "_f")
        if self._frame is not None:
            check_columns(self, X, reset=False)
            return self._frame.encode(X, "X")[:, self._columns]
        if self._predicts_on_device(X):
            return take_columns(check_rows(self, X, reset=False), self._columns)
        return self._check_rows(X, reset=False)[:, self._columns]

    def _predicts_on_device(self, X: Any) -> bool:
        kernel = self._f.kernel
        by_steps = isinstance(getattr(self, "_coordinates", None), Ranked)  # NumPy alone has them
        known = kernel is not None and kernel.name in (*DEVICE_KERNELS, "sum")
        return is_torch(X) and known and not by_steps

    def _values(self, X: Any) -> Any:
        """Return f at new rows: (rows, k); of PyTorch tensors, on their device."""
        return self._values_at(self._points(X))

    def _values_at(self, points: Any) -> Any:
        if self._predicts_on_device(points):
            f = DeviceExpansion(self._f.kernel, self._f.Z, self._f.coef, self._f.c)
            with enough_memory("the predictions", "Predict fewer rows at a time"):
                return f(points)
        return self._f(points)

    def _read_frames(self, X: Any, X_target: Any, given: GivenWeights) -> tuple[Any, Any]:
        """Learn the columns of X and X_target; return both as numbers."""
        check_columns(self, X, reset=True)
        X, X_target, self._frame = encode_fit_data(X, X_target, given)
        return X, X_target

    def _check_rows(self, X: Any, *, reset: bool) -> Real:
        """Check rows by themselves, then against the columns of the fit."""
        return check_host_rows(self, X, reset=reset)
