"""X, X_target and their weights: one place, one wording of each error.

Arrays of another library stay where they are; everything else (lists, data frames, integer or
strided arrays) becomes a float64 or float32 NumPy array. The caller's data are never changed, and
nothing that is not a number is taken for one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import partial
from inspect import signature
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..exceptions import InputError, InputTypeError, NoTargetWarning
from ..numerics.array import Array, Real, device, is_array, like, namespace, to_numpy
from ..numerics.quiet import alone, quiet
from .numbers import check_exact, check_numbers, refuse_repeated
from .row_weights import target_weights
from .values import refuse_lazy, refuse_no_values


def check_samples(
    X: Any, X_target: Any = None, target_weight: Any = None
) -> tuple[Array, Array, Array]:
    """Check a training and a target sample together: X (N, n), T (M, n) and its shares (M,).

    X and T are rounded to the coarser precision of the two; the shares are float64 and sum to one.

    Parameters
    ----------
    X : (N, n) array or data frame
    X_target : (M, n) array or data frame, one-tuple of it, or None
        None: the target is the training sample. A one-tuple ``(X_target,)`` passes through
        scikit-learn's searches whole, where an array as long as X would be cut into folds.
    target_weight : (M,) array, or a one-tuple of it, optional
        Probability weights of the target rows, on any scale.
    """
    names = column_names(X)
    X = check_points(X, "X")
    given = unwrap_target(X_target)
    if given is None:
        T = X
    else:
        given = in_order_of(given, names)
        T = check_points(given, "X_target")
        check_same_columns(X, T, names, column_names(given))
        _check_same_library(X, T)
        X, T = _in_one_precision(X, T)
    share = target_weights(int(T.shape[0]), unwrap_target(target_weight)).share
    xp = namespace(T)
    return X, T, xp.asarray(share, dtype=xp.float64, device=device(T))


def check_host_samples(X: Any, X_target: Any = None) -> tuple[Real, Real]:
    """Check both samples as `check_samples` does, and return float64 arrays of NumPy."""
    X, T, _ = check_samples(X, X_target)
    return to_numpy(X).astype(np.float64), to_numpy(T).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Target:
    """The target, with what is known of it: pass it where a function asks for ``X_target``.

    Parameters
    ----------
    rows : (M, n) array, data frame or `covshift.Margins`
        As X_target would be.
    finite_population : bool
        These rows, or those that the margins describe, are the whole population, and no sample of
        it: they have no sampling error of their own.
    batch : str or (M,) array, optional
        For `covshift.evaluate`. Batches such as months: a column of the rows, or one label per row.
        Each is a target of its own, with its own weights.
    kinds : dict, optional
        Of data frames, what columns are in both samples: "number", "category", "date", "season"
        (the month and the weekday of a date), "drop", or the list of levels, lowest first. It
        stands for what `covshift.estimate`, ``evaluate``, ``diagnose`` and ``compare`` would
        decide, and report in a note.

    Examples
    --------
    >>> from covshift import Target, estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> drawn = estimate(survey.X, survey.y, survey.X_target)
    >>> whole = estimate(survey.X, survey.y, Target(survey.X_target, finite_population=True))
    >>> drawn.value == whole.value, whole.standard_error < drawn.standard_error
    (True, True)
    """

    rows: Any
    finite_population: bool = False
    batch: Any = None
    kinds: Mapping[str, Any] | None = None

    def __new__(cls, *_: Any, **options: Any) -> Self:
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise InputTypeError(
                    f"Target takes {', '.join(known)}, not {name}. Weights of its rows go beside "
                    "it: target_weight=..."
                )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if not isinstance(self.finite_population, bool | np.bool_):
            raise InputError(f"finite_population={self.finite_population!r} must be True or False.")

    @classmethod
    def of(cls, X_target: Any) -> Target:
        """Return a target as it is, and rows as a target of which nothing else is known."""
        if isinstance(X_target, tuple) and len(X_target) == 1:
            X_target = X_target[0]
        return X_target if isinstance(X_target, cls) else cls(unwrap_target(X_target))


# What `help` shows: the fields, and not those of `__new__`.
Target.__signature__ = signature(partial(Target.__init__, None))  # type: ignore


def unwrap_target(X_target: Any) -> Any:
    """Return the target's rows from an array, a `Target`, a one-tuple of either, or None."""
    if isinstance(X_target, Target):
        return X_target.rows
    if isinstance(X_target, tuple):
        if len(X_target) != 1:
            raise InputError(
                f"X_target is a tuple of {len(X_target)} items. Pass the target as an array, "
                "or as a one-tuple (X_target,) inside a search."
            )
        inner = X_target[0]
        return inner.rows if isinstance(inner, Target) else inner
    return X_target


def warn_of_no_target(model: Any, *, stacklevel: int = 3) -> None:
    """Say that a model which corrects for a target has none to correct for."""
    text = (
        f"X_target was not given, so {type(model).__name__} corrects for nothing. Pass the rows of "
        "the target: fit(X, y, X_target=...)."
    )
    warnings.warn(text, NoTargetWarning, stacklevel=stacklevel)


def refuse_target_weights(**of_target: Any) -> None:
    """Refuse what is said of target rows, such as their weights, where the target is margins."""
    for name, given in of_target.items():
        if unwrap_target(given) is not None:
            raise InputError(f"{name} is for target rows, and X_target is margins.")


def is_margins(X_target: Any) -> bool:
    """Tell whether a target is a `covshift.Margins`, which has no rows."""
    return getattr(type(X_target), "_covshift_margins", False) is True


_WEIGH = (
    "fit CDFWeights, EntropyBalancing, Raking or PostStratification of covshift.weights to the "
    "margins, and pass their weights_ as sample_weight"
)


def refuse_margins(
    X_target: Any, name: str, who: str = "this method", instead: str = _WEIGH
) -> None:
    """Refuse margins where rows are needed, and say what takes them."""
    if is_margins(X_target):
        raise InputError(f"{name} is a covshift.Margins, and {who} needs target rows: {instead}.")


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Array:
    """Check rows by themselves, then against the columns of the fit, or learn these (``reset``)."""
    points = check_points(X, "X")
    check_columns(estimator, X, reset=reset)
    return points


def check_host_rows(estimator: Any, X: Any, *, reset: bool) -> Real:
    """Check rows as `check_rows` does; they come back as a float64 array of NumPy."""
    rows: Real = to_numpy(check_rows(estimator, X, reset=reset)).astype(np.float64)
    return rows


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Learn the columns of X (``reset``), or compare them with those of the fit."""
    refuse_no_rows(X, "X")
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        if isinstance(error, InputError) or str(error).startswith("X "):
            raise
        raise InputError(f"X: {error}") from error
    except TypeError as error:  # of names of several types
        kinds = sorted({type(name).__name__ for name in X.columns})
        raise InputTypeError(
            f"The columns of X have names of several types ({', '.join(kinds)}). Make all of them "
            "text: X.columns = X.columns.astype(str)."
        ) from error


def refuse_no_rows(X: Any, name: str) -> None:
    """Refuse what is no table of rows at all, such as a dict, and columns of the same name."""
    refuse_no_values(X, name, "rows: a (rows, columns) array or a data frame")
    refuse_repeated(column_names(X) or [], name)
    if isinstance(X, list | tuple) and not len(X):
        raise InputError(f"{name} is empty: it has no rows.")


def check_given(X: Any, name: str, *, text: bool, frames: bool = False) -> Any:
    """Check rows that a model of the user's gets as they are, and return them.

    A model that takes ``text`` may have other rules for cells. Data frames are checked where they
    are encoded, or here (``frames``).
    """
    refuse_no_rows(X, name)
    if column_names(X) is not None:
        if frames and not text:
            check_points(X, name)
        return X
    if not is_array(X) and not issparse(X):
        try:
            X = np.asanyarray(X)  # encoded rows keep their groups
        except ValueError as error:
            raise InputError(f"{name} has rows of different lengths.") from error
    if text and getattr(X, "dtype", np.dtype(object)).kind in "OUST":
        return X
    check_points(X, name, finite=not text)
    odd = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.dtype.itemsize not in (4, 8)
    return X.astype(np.float64) if odd else X


_checked: ContextVar[bool] = ContextVar("checked", default=False)


@contextmanager
def checked() -> Iterator[None]:
    """Take float64 arrays of NumPy as they are: they have been checked at the door.

    For calls of our own with rows that `covshift.data.Samples` has checked. Models of the user's
    are called outside of it: what reaches them, and what they make of it, nobody has seen.
    """
    token = _checked.set(True)
    try:
        yield
    finally:
        _checked.reset(token)


def check_points(X: Any, name: str, *, finite: bool = True) -> Array:
    """Return ``X`` as a finite (rows, columns) float array, at least one of each."""
    if _checked.get() and isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64:
        return np.asarray(X)
    refuse_margins(X, name)
    refuse_no_rows(X, name)
    names = column_names(X)
    if is_array(X) and not isinstance(X, np.ndarray):
        X = _check_foreign(X, name)
    else:
        X = check_dense(X, name, check_numbers(X, name, names))
    if finite:
        _check_finite(X, name, names)
    return X


def check_dense(X: Any, name: str, dtype: Any) -> Any:
    """Return a dense array (rows, columns) of one of these types, NaN and inf among its cells."""
    try:
        with alone(), quiet(UserWarning, message="pandas.DataFrame with sparse columns"):
            return check_array(X, dtype=dtype, ensure_all_finite=False, input_name=name)
    except TypeError as error:  # a sparse matrix
        raise InputTypeError(f"{name}: {error}") from error
    except ValueError as error:
        reason = str(error)
        if reason.startswith("Complex"):
            reason = reason.partition("\n")[0]  # the cells follow
        raise InputError(f"{name}: {reason}") from error


def weight_like(weight: Real, X: Array, name: str) -> Array:
    """Move checked weights to the library, device and precision of the points ``X``."""
    if weight.max() > float(namespace(X).finfo(X.dtype).max):
        raise InputError(
            f"{name} reaches {weight.max():.3g}, beyond {X.dtype}, the precision of X. Divide by "
            "the mean weight, or pass X as float64."
        )
    return like(weight, X[:, 0])


def column_names(X: Any) -> list[str] | None:
    """Return the column names of a data frame of pandas, polars or pyarrow, else None."""
    refuse_lazy(X)
    names = getattr(X, "column_names", None)  # pyarrow, whose .columns holds the data
    if names is None:
        names = getattr(X, "columns", None)
    return None if names is None or callable(names) else [str(name) for name in names]


def _check_foreign(X: Array, name: str) -> Array:
    xp = namespace(X)
    if X.ndim != 2:
        raise InputError(f"Expected 2D array, got {X.ndim}D array instead for {name}.")
    if 0 in X.shape:
        raise InputError(f"{name} is empty: its shape is {tuple(X.shape)}.")
    if xp.isdtype(X.dtype, "complex floating"):
        raise InputError(f"Complex data not supported in {name}.")
    if not xp.isdtype(X.dtype, "real floating"):
        check_exact(to_numpy(X), name)
        return xp.astype(X, xp.float64)
    if X.dtype not in (xp.float32, xp.float64):
        return xp.astype(X, xp.float32)
    return X


def _check_finite(X: Array, name: str, names: list[str] | None) -> None:
    xp = namespace(X)
    if bool(xp.all(xp.isfinite(X))):
        return
    missing = to_numpy(xp.sum(xp.astype(xp.isnan(X), xp.int64), axis=0))
    infinite = to_numpy(xp.sum(xp.astype(xp.isinf(X), xp.int64), axis=0))
    columns = [
        f"column {repr(names[k]) if names else k} ({_counts(missing[k], infinite[k])})"
        for k in np.flatnonzero(missing + infinite)
    ]
    shown = ", ".join(columns[:5]) + (f" and {len(columns) - 5} more" if len(columns) > 5 else "")
    raise InputError(
        f"{name} contains NaN or inf: {shown}. Impute or drop them first, in the same way for "
        "X and X_target, for example with sklearn.impute.SimpleImputer."
    )


def _counts(missing: int, infinite: int) -> str:
    found = [f"{count} {what}" for count, what in ((missing, "NaN"), (infinite, "inf")) if count]
    return ", ".join(found)


def in_order_of(frame: Any, names: list[str] | None) -> Any:
    """Return a data frame with its columns in this order, where they are the same columns."""
    own = column_names(frame)
    if names is None or own is None or own == names or sorted(own) != sorted(names):
        return frame
    labels = list(getattr(frame, "column_names", None) or frame.columns)
    ordered = [labels[own.index(name)] for name in names]
    return frame.select(ordered) if hasattr(frame, "select") else frame[ordered]


def check_same_columns(
    X: Array, T: Array, names: list[str] | None, target_names: list[str] | None
) -> None:
    """Refuse a target (M, n) of another number of columns, or of others by name."""
    if X.shape[1] != T.shape[1]:
        raise InputError(
            f"X_target has {T.shape[1]} features, but X has {X.shape[1]}. "
            "Pass both through the same preprocessing."
        )
    if names is None or target_names is None or names == target_names:
        return
    if sorted(names) == sorted(target_names):
        raise InputError("X_target has the columns of X in another order. Pass X_target[columns].")
    only_X = [name for name in names if name not in target_names]
    only_T = [name for name in target_names if name not in names]
    raise InputError(
        f"X and X_target have different columns: {only_X} only in X, {only_T} only in X_target."
    )


def _check_same_library(X: Array, T: Array) -> None:
    if namespace(X) is not namespace(T) or device(X) != device(T):
        raise InputTypeError(
            f"X is a {type(X).__name__} on {device(X)}, but X_target is a {type(T).__name__} on "
            f"{device(T)}. Pass both as arrays of the same library, on the same device."
        )


def _in_one_precision(X: Array, T: Array) -> tuple[Array, Array]:
    """Round both to the coarser precision: equal numbers stay ties whatever dtype they came in."""
    if X.dtype == T.dtype:
        return X, T
    xp = namespace(X)
    rounded = []
    for points, name in ((X, "X"), (T, "X_target")):
        with np.errstate(over="ignore"):
            narrow = xp.astype(points, xp.float32)
        if not bool(xp.all(xp.isfinite(narrow))):
            raise InputError(
                f"{name} holds numbers beyond float32, the precision of the other sample. Pass "
                "both as float64, or scale them down."
            )
        rounded.append(xp.astype(narrow, X.dtype))
    return rounded[0], rounded[1]
