"""Labels and outcomes: checked; classes turned into columns of zeros and ones, and back."""

from __future__ import annotations

import warnings
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets

from ..exceptions import InputError, InputTypeError
from ..numerics.array import Real, row_count
from ..numerics.quiet import alone, quiet
from .values import is_gap, numbers_of_rows, plain_values


@alone()
def check_labels(estimator: Any, X: Any, y: Any) -> NDArray[Any]:
    """Return the labels (N,) of the rows of ``X``, or say what is wrong with them."""
    refuse_none(estimator, y)
    return class_labels(y, row_count(X))


@alone()
def check_outcomes(estimator: Any, X: Any, y: Any) -> tuple[Real, bool]:
    """Return the outcomes as columns (N, k), and whether they came as one plain array."""
    refuse_none(estimator, y)
    Y = outcomes_of_rows(y, "y", row_count(X), "X")
    return np.asarray(Y.reshape(len(Y), -1)), Y.ndim == 1


def class_labels(y: Any, rows: int | None, name: str = "y", of: str = "X") -> NDArray[Any]:
    """Return labels (rows,) that name classes; measurements are refused."""
    labels = labels_of_rows(y, name, rows, of)
    try:
        with quiet(RuntimeWarning):  # of floats that no integer holds, which name no classes
            check_classification_targets(labels)
    except ValueError as error:
        raise InputError(f"{name}: {error}") from error
    except TypeError as error:  # of bytes
        raise InputTypeError(f"{name}: {error}") from error
    return labels


def outcomes_for(estimator: Any, y: Any, rows: int) -> Any:
    """Check the outcomes that an estimator of the user's gets: classes, or numbers."""
    if y is not None and is_regressor(estimator):
        return outcomes_of_rows(y, "y", rows, "X")
    if y is None or not is_classifier(estimator):
        return y
    given = plain_values(y, "y")
    if given.ndim == 2 and given.shape[1] > 1:  # one column per label
        _check_length(given, "y", rows, "X")
        return y
    return class_labels(y, rows)


def labels_of_rows(y: Any, name: str, rows: int | None, of: str) -> NDArray[Any]:
    """Return one label per row of ``of``, (rows,): all numbers or all text, and none missing."""
    labels = _in_one_dimension(plain_values(y, name, f"one label per row of {of}"), name, of)
    _check_length(labels, name, rows, of)
    if labels.dtype.kind == "f":
        _check_finite(labels, name)
    if labels.dtype.kind != "O":
        return labels
    cells = labels.tolist()
    gaps = sum(map(is_gap, cells))
    if gaps:
        raise InputError(f"{name} is missing in {gaps} of {len(cells)} rows. Leave these rows out.")
    kinds = {_kind(cell) for cell in cells}
    if len(kinds) > 1:
        raise InputError(
            f"{name} mixes {' and '.join(sorted(kinds))}, such as {_one_of_each(cells)}. Write all "
            "labels in the same way."
        )
    if not kinds <= {"numbers", "text", "bytes"}:
        raise InputError(f"{name} holds {kinds.pop()}, which are not labels. Pass text or numbers.")
    return np.array(cells) if kinds == {"numbers"} else labels


def one_outcome(y: Any, name: str, rows: int | None, of: str) -> Real:
    """Return one finite number per row of ``of``, (rows,)."""
    Y = outcomes_of_rows(y, name, rows, of)
    return np.asarray(_in_one_dimension(Y, name, of))


def outcomes_of_rows(y: Any, name: str, rows: int | None, of: str) -> Real:
    """Return numbers, (rows,) or (rows, k), all finite."""
    Y: Real = numbers_of_rows(y, name, f"one number per row of {of}")
    if Y.ndim not in (1, 2):
        raise InputError(f"{name} has {Y.ndim} dimensions. Pass one number per row of {of}.")
    _check_length(Y, name, rows, of)
    if 0 in Y.shape:
        raise InputError(f"{name} is empty: its shape is {Y.shape}.")
    _check_finite(Y, name)
    return Y


def refuse_none(estimator: Any, y: Any) -> None:
    """Say, in scikit-learn's words, that a fit needs outcomes."""
    if y is None:
        raise InputError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )


def _in_one_dimension(values: NDArray[Any], name: str, of: str) -> NDArray[Any]:
    if values.ndim == 2 and values.shape[1] == 1:
        text = (
            f"A column-vector {name} was passed when a 1d array was expected. Pass {name}.ravel()."
        )
        warnings.warn(text, DataConversionWarning, stacklevel=5)
        return values.ravel()
    if values.ndim != 1:
        raise InputError(
            f"{name} should be a 1d array, and its shape is {values.shape}: pass one value per row "
            f"of {of}."
        )
    return values


def _check_length(values: NDArray[Any], name: str, rows: int | None, of: str) -> None:
    if not len(values):
        raise InputError(f"{name} is empty. Pass one value per row of {of}.")
    if rows is not None and len(values) != rows:
        raise InputError(
            f"{name} has {len(values)} values, but {of} has {rows} rows. Pass one per row."
        )


def _check_finite(values: NDArray[Any], name: str) -> None:
    try:
        with quiet(RuntimeWarning):  # of the sum of inf and -inf
            assert_all_finite(values, input_name=name)
    except ValueError as error:
        raise InputError(str(error)) from error


def _kind(label: Any) -> str:
    if isinstance(label, str | bytes):
        return "text" if isinstance(label, str) else "bytes"
    return "numbers" if isinstance(label, Number) else f"values of type {type(label).__name__}"


def _one_of_each(cells: list[Any]) -> str:
    return ", ".join(repr(cell) for cell in {_kind(cell): cell for cell in cells}.values())


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


def finite_probabilities(p: Real) -> Real:
    """Return probabilities (rows, classes); refuse those of a model whose numbers overflow."""
    if not np.isfinite(p).all():
        raise InputError(
            "The model predicts probabilities that are not finite: its numbers are too large, as "
            "in a damaged file. Fit it again, or load another file."
        )
    return p


def one_hot(labels: NDArray[Any], classes: NDArray[Any]) -> Real:
    """Return a column for every class, of which the second is enough for two: (N, k)."""
    columns: Real = (labels[:, None] == classes[None, :]).astype(np.float64)
    return columns[:, 1:] if len(classes) == 2 else columns


def most_probable(f: Real, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the class of the largest column; the second of two where f >= 1/2."""
    if len(classes) == 2:
        return np.asarray(classes[(f[:, 0] >= 0.5).astype(int)])
    return np.asarray(classes[f.argmax(axis=1)])
