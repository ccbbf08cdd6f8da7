"""Fitted estimators taken apart into plain arrays, and put together again, kind by kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import Kernel
from .._registry import LearnerEntry, learners, load
from ..boosting import VBoostClassifier, VBoostRegressor
from ..boosting.ensemble import Ensemble
from ..machine import VSVC, VSVR
from ..machine.expansion import Expansion

Arrays = dict[str, NDArray[Any]]
Parts = tuple[dict[str, Any], Arrays]

_KERNELS = ("rbf", "laplacian", "linear", "poly", "polynomial", "sigmoid", "cosine")


@dataclass(frozen=True)
class FileKind:
    """How the estimators of one learner go into a model file; the registry names it.

    ``to_parts(estimator)`` returns parameters, plain data for JSON, and arrays.
    ``from_parts(parameters, arrays, classes, n_features)`` believes nothing: what does not fit
    together is a ValueError. Numbers have no classes.
    """

    to_parts: Callable[[Any], Parts]
    from_parts: Callable[[dict[str, Any], Arrays, list[str], int], Any]


def to_parts(estimator: Any) -> tuple[str, dict[str, Any], Arrays]:
    """Return the kind, a learner's name, the parameters and the arrays of a fitted estimator."""
    saved = _learners()
    for name, entry in saved.items():
        if isinstance(estimator, entry.load()):
            return name, *_kind(entry).to_parts(estimator)
    able = ", ".join(kind.__name__ for entry in saved.values() for kind in entry.load())
    raise TypeError(
        f"{type(estimator).__name__} cannot be saved in a model file. These can: {able}."
    )


def from_parts(
    kind: str, parameters: dict[str, Any], arrays: Arrays, classes: list[str], n_features: int
) -> Any:
    """Return the estimator of `to_parts`, ready to predict; ValueError where parts do not fit."""
    saved = _learners()
    if kind not in saved:
        raise ValueError(f"a function of unknown kind {kind!r}")
    estimator = _kind(saved[kind]).from_parts(parameters, arrays, classes, n_features)
    estimator.n_features_in_ = n_features
    if classes:
        estimator.classes_ = np.array(classes, dtype=str)
    return estimator


def _learners() -> dict[str, LearnerEntry]:
    return {entry.name: entry for entry in learners() if entry.file is not None}


def _kind(entry: LearnerEntry) -> FileKind:
    found: FileKind = load(str(entry.file))
    return found


def _from_machine(machine: Any) -> Parts:
    f = machine._f
    if f.kernel is None or not isinstance(f.kernel.name, str):
        raise TypeError("Only machines with a named kernel can be saved in a model file.")
    parameters = {
        "kernel": f.kernel.name,
        "width": f.kernel.width,
        "degree": float(f.kernel.degree),
        "coef0": float(f.kernel.coef0),
        "probability": getattr(machine, "probability", None),
    }
    return parameters, {"Z": f.Z, "coef": f.coef, "c": f.c, "columns": machine._columns}


def _to_machine(p: dict[str, Any], arrays: Arrays, classes: list[str], n: int) -> Any:
    Z, coef, c, columns = (arrays[name] for name in ("Z", "coef", "c", "columns"))
    outputs = _outputs(classes)
    if Z.ndim != 2 or coef.shape != (len(Z), outputs) or c.shape != (outputs,):
        raise ValueError("the expansion's arrays have different sizes")
    _check_columns(columns, n)
    if columns.shape != (Z.shape[1],) or p["kernel"] not in _KERNELS:
        raise ValueError("kernel or columns")
    if p["probability"] not in ("clip", "qp", None):
        raise ValueError("probability")
    width = None if p["width"] is None else _finite(p["width"])
    kernel = Kernel(p["kernel"], width, _finite(p["degree"]), _finite(p["coef0"]))
    machine: Any = VSVC(probability=p["probability"]) if classes else VSVR()
    machine._f = Expansion(kernel, Z, coef, c)
    machine._columns = columns
    if not classes:
        machine._single = True
    return machine


def _from_linear(model: Any) -> Parts:
    return {}, {"coef": np.atleast_2d(model.coef_), "c": np.atleast_1d(model.intercept_)}


def _to_linear(p: dict[str, Any], arrays: Arrays, classes: list[str], n: int) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    coef, c = arrays["coef"], arrays["c"]
    outputs = _outputs(classes)
    if coef.shape != (outputs, n) or c.shape != (outputs,):
        raise ValueError("the coefficients have another size")
    model: Any = LogisticRegression() if classes else Ridge()
    model.coef_, model.intercept_ = (coef, c) if classes else (coef[0], float(c[0]))
    return model


def _from_boosting(model: Any) -> Parts:
    return {}, model.ensemble_.arrays()


def _to_boosting(p: dict[str, Any], arrays: Arrays, classes: list[str], n: int) -> Any:
    whole = ("feature", "left", "right", "output")
    arrays = {k: a.astype(np.int32) if k in whole else a for k, a in arrays.items()}
    _check_trees(arrays, _outputs(classes), n)
    model: Any = VBoostClassifier() if classes else VBoostRegressor()
    model.ensemble_ = Ensemble(**arrays)
    model.baseline_ = arrays["baseline"]
    if not classes:
        model._single = True
    return model


def _check_trees(arrays: Arrays, outputs: int, n: int) -> None:
    """Refuse trees that lead outside their arrays, or round in circles."""
    feature, left, right, starts, output = (
        arrays[name] for name in ("feature", "left", "right", "starts", "output")
    )
    nodes = len(feature)
    if any(arrays[k].shape != (nodes,) for k in ("threshold", "left", "right", "value", "gain")):
        raise ValueError("the nodes' arrays have different sizes")
    if starts.shape != (len(output) + 1,) or starts[0] != 0 or starts[-1] != nodes:
        raise ValueError("the trees do not cover the nodes")
    if not (np.diff(starts) > 0).all() or arrays["baseline"].shape != (outputs,):
        raise ValueError("empty trees, or another number of outputs")
    if len(output) and not 0 <= output.min() <= output.max() < outputs:
        raise ValueError("a tree adds to no output")
    inner = np.flatnonzero(left >= 0)
    end = np.repeat(starts[1:], np.diff(starts))[inner]
    for child in (left[inner], right[inner]):  # children come after their parent, in its tree
        if not ((child > inner) & (child < end)).all():
            raise ValueError("a node leads out of its tree")
    if not ((feature[inner] >= 0) & (feature[inner] < n)).all():
        raise ValueError("a split on a column that is not there")


def _outputs(classes: list[str]) -> int:
    """Columns of a fitted function: one for a number or two classes, else one a class."""
    return len(classes) if len(classes) > 2 else 1


def _check_columns(columns: NDArray[Any], n: int) -> None:
    if columns.dtype.kind != "i" or columns.ndim != 1 or len(set(columns.tolist())) != len(columns):
        raise ValueError("columns")
    if len(columns) and not 0 <= columns.min() <= columns.max() < n:
        raise ValueError("columns beyond the table")


def _finite(value: Any) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise ValueError("a parameter that is not finite")
    return number


KERNEL = FileKind(_from_machine, _to_machine)
LINEAR = FileKind(_from_linear, _to_linear)
BOOSTING = FileKind(_from_boosting, _to_boosting)
