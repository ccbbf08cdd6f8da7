"""Labels and outcomes: checked; classes turned into columns of zeros and ones, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ._array import is_array, to_numpy
from ._types import Real
from .exceptions import InputError


def check_labels(estimator: Any, X: Any, y: Any) -> NDArray[Any]:
    """Return the labels (N,) of the rows of ``X``, or say what is wrong with them."""
    if y is None:
        raise InputError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    labels = np.asarray(column_or_1d(to_numpy(y) if is_array(y) else y, warn=True))
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    check_consistent_length(X, labels)
    return labels


def check_outcomes(estimator: Any, X: Any, y: Any) -> tuple[Real, bool]:
    """Return the outcomes as columns (N, k), and whether they came as one plain array."""
    if y is None:
        raise InputError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    Y = check_array(
        to_numpy(y) if is_array(y) else y, ensure_2d=False, dtype=np.float64, input_name="y"
    )
    check_consistent_length(X, Y)
    return np.asarray(Y.reshape(len(Y), -1)), Y.ndim == 1


def outcome_unit(Y: Real) -> float:
    """Power of two that outcomes are to be divided by, so that sums of their squares are numbers.

    One, unless the largest is beyond 2^128 or below 2^-128.
    """
    _, exponent = np.frexp(np.abs(Y).max())
    return 1.0 if -128 < exponent <= 128 or not Y.any() else float(np.ldexp(1.0, exponent - 1))


def at_least_two(estimator: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the classes, of which a classifier needs two."""
    if len(classes) < 2:
        raise InputError(
            f"{type(estimator).__name__} needs at least two classes, but y holds only one class: "
            f"{', '.join(map(repr, classes.tolist()))}."
        )
    return classes


def check_outputs(classes: NDArray[Any], outputs: int) -> None:
    """Refuse a function from a file that has not the columns of `one_hot`."""
    if len(classes) < 2 or outputs != (len(classes) if len(classes) > 2 else 1):
        raise ValueError(f"{len(classes)} classes, but {outputs} outputs")


def one_hot(labels: NDArray[Any], classes: NDArray[Any]) -> Real:
    """Return a column for every class, of which the second is enough for two: (N, k)."""
    columns: Real = (labels[:, None] == classes[None, :]).astype(np.float64)
    return columns[:, 1:] if len(classes) == 2 else columns


def most_probable(f: Real, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the class of the largest column; the second of two where f >= 1/2."""
    if len(classes) == 2:
        return np.asarray(classes[(f[:, 0] >= 0.5).astype(int)])
    return np.asarray(classes[f.argmax(axis=1)])
