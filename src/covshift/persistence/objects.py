"""Fitted estimators as plain data and arrays, and back: parameters, then declared attributes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.fields import (
    PLAIN,
    TEXT,
    Kind,
    Labels,
    Maybe,
    Path,
    Reals,
    Size,
    Texts,
    fields_of,
    read_fields,
    refuse,
    write_fields,
)
from ..data.parameters import check_parameters
from ..exceptions import InputError
from ..registry import FILES, TABLE, CorrectionEntry, LearnerEntry, load
from .archive import Arrays

_NUMERIC = "fiub"


class ObjectWriter:
    """Collects the arrays of an estimator; equal objects become one array."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []  # so that no two of them get the same id

    def array(self, values: NDArray[Any], path: Path) -> str:
        if values.dtype.kind not in _NUMERIC or values.dtype.itemsize > 8:
            raise refuse(path, f"an array of {values.dtype}")
        if id(values) not in self._names:
            name = ".".join(path[1:])
            self._names[id(values)] = name
            self._kept.append(values)
            self.arrays[name] = values
        return self._names[id(values)]

    def estimator(self, value: Any, path: Path, *, fitted: bool) -> dict[str, Any]:
        cls = type(value)
        name, what = name_of(cls), declared(cls)
        if name is None or what is None:
            raise _unknown(cls, path, known=name is not None)
        parameters = {
            key: PLAIN.write(parameter, (*path, key), self)
            for key, parameter in value.get_params(deep=False).items()
            if what.ours or _differs(cls, key, parameter)
        }
        try:
            _check_parameters(value)
        except ValueError as error:
            raise InputError(
                f"{'.'.join(path)} has a parameter that no fit takes, so no file does: {error}"
            ) from None
        found: dict[str, Any] = {"class": name, "parameters": parameters}
        if fitted:
            try:
                found["fitted"] = write_fields(what.fields, vars(value), path, self)
            except KeyError:
                raise InputError(
                    f"{'.'.join(path)} is not fitted, so there is nothing to save. Call fit first; "
                    "the parameters alone are get_params()."
                ) from None
        return found


class ObjectReader:
    """Makes estimators of the table from plain data; a ValueError for whatever does not fit."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._used: set[str] = set()

    def array(self, name: Any) -> NDArray[Any]:
        if not isinstance(name, str) or name not in self._arrays:
            raise ValueError(f"there is no array {str(name)[:50]!r}")
        self._used.add(name)
        return self._arrays[name]

    def estimator(self, data: Any, *, fitted: bool) -> Any:
        parts = {"class", "parameters", "fitted"} if fitted else {"class", "parameters"}
        if not isinstance(data, dict) or data.keys() != parts:
            raise ValueError("something that is not an estimator")
        cls: Any = class_named(str(data["class"]))
        what = declared(cls)
        if what is None:
            raise ValueError(f"{cls.__name__} does not say what of it is saved")
        parameters = {
            str(key): PLAIN.read(value, {}, self) for key, value in data["parameters"].items()
        }
        unknown = parameters.keys() - inspect.signature(cls).parameters.keys()
        if unknown:
            raise ValueError(f"{cls.__name__} has no parameter {min(unknown)[:50]!r}")
        estimator = cls(**parameters)
        _check_parameters(estimator)
        if fitted:
            for name, value in read_fields(what.fields, data["fitted"], {}, self).items():
                setattr(estimator, name, value)
            what.after_loading(estimator)
        return estimator

    def check_all_used(self) -> None:
        """Refuse arrays that belong to nothing."""
        unused = self._arrays.keys() - self._used
        if unused:
            raise ValueError(f"the array {min(unused)!r} belongs to nothing")


def _unknown(cls: type, path: Path, *, known: bool) -> InputError:
    if known:
        return InputError(
            f"{cls.__name__} does not say which of its fitted attributes are saved. Declare them "
            "in its `_saved`: docs/extending.md shows how."
        )
    ours = f" These can be saved: {', '.join(saved_names())}." if len(path) == 1 else ""
    error = refuse(path, f"a {cls.__name__}")
    return InputError(f"{error}{ours}")


def _check_parameters(estimator: Any) -> None:
    """Refuse, by a ValueError, parameters that a fit would refuse; scikit-learn has its own rules.

    Where a class has no rules, its parameters are inert data and no more is known.
    """
    if hasattr(estimator, "_rules"):
        check_parameters(estimator)
    elif hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()


def _differs(cls: type, key: str, value: Any) -> bool:
    """Whether a parameter has another value than its default."""
    default = inspect.signature(cls).parameters[key].default
    same = value is default or (type(value) is type(default) and np.array_equal(value, default))
    return not same


# The classes whose objects a model file may hold, by name: those of the registry, and a few more.
#
# A file names its classes; it cannot bring one along, nor name one that is not here.


_MORE = {  # that no name of the registry stands for
    "covshift:ConformalClassifier": "covshift.conformal:ConformalClassifier",
    "covshift:ConformalRegressor": "covshift.conformal:ConformalRegressor",
    "covshift:Kernel": "covshift.numerics.kernels:Kernel",
    "covshift:Importance": "covshift.corrections:Importance",
    "covshift:Precomputed": "covshift.corrections:Precomputed",
    "covshift:Reweighted": "covshift.machine.reweighted:Reweighted",
    "covshift:RobustBiasAware": "covshift.robust:RobustBiasAware",
    "covshift:TableEncoder": "covshift.encoding:TableEncoder",
}
_SIDES = ("classifier", "regressor")
_COLUMNS: dict[str, Kind] = {"n_features_in_": Size("n"), "feature_names_in_": Maybe(Texts("n"))}


class Declared(NamedTuple):
    """What of an estimator is saved."""

    fields: dict[str, Kind]
    after_loading: Callable[[Any], None]
    ours: bool  # if not, parameters at their default are left out: another version may lack them


def class_named(name: str) -> type:
    """Return the class that a file calls ``name``; ValueError for an unknown one."""
    if name in _MORE:
        found: type = load(_MORE[name])
        return found
    first, _, side = name.partition(":")
    entry = TABLE.get(first)
    if isinstance(entry, LearnerEntry):
        if FILES in entry.can and side in _SIDES:
            side_class: type = entry.load()[_SIDES.index(side)]
            return side_class
    elif entry is not None and not side:
        return _made(entry)
    raise ValueError(f"an estimator of unknown kind {name[:50]!r}")


def name_of(cls: type) -> str | None:
    """Return what a file calls a class; None for one that it cannot hold."""
    return next((name for name in _names() if class_named(name) is cls), None)


def declared(cls: type) -> Declared | None:
    """Return what of a class is saved; None where it does not say.

    What a class inherits is not enough: it may learn more than its base.
    """
    own = f"{cls.__module__.partition('.')[0]}:{cls.__name__}"
    if own in _LINEAR:
        fields, check = _LINEAR[own]
        return Declared({**_COLUMNS, **fields}, check, ours=False)
    learns = hasattr(cls, "fit")
    if learns and "_saved" not in vars(cls):
        return None
    columns = _COLUMNS if learns and not hasattr(cls, "n_features_in_") else {}  # no property
    check = getattr(cls, "_after_loading", lambda _: None)
    return Declared({**columns, **fields_of(cls)}, check, ours=True)


def saved_names() -> list[str]:
    """Return the names of the classes that can be saved, for people."""
    return sorted({class_named(name).__name__ for name in _names()})


def _names() -> Iterator[str]:
    for name, entry in TABLE.items():
        if not isinstance(entry, LearnerEntry):
            yield name
        elif FILES in entry.can:
            yield from (f"{name}:{side}" for side in _SIDES)
    yield from _MORE


def _made(entry: Any) -> type:
    """Return the class of what an entry makes: it may name a function."""
    made = entry.load()
    if isinstance(entry, CorrectionEntry) and not isinstance(made, type):
        return type(made())
    found: type = made
    return found


def _check_logistic(model: Any) -> None:
    K = len(model.classes_)
    if K < 2 or len(model.coef_) != (K if K > 2 else 1):
        raise ValueError("the coefficients have another number of classes")


_FLOATS = (np.float64, np.float32)


def _check_ridge(model: Any) -> None:
    shape = np.shape(model.coef_)
    for part in (model.coef_, model.intercept_):
        if not isinstance(part, float) and getattr(part, "dtype", None) not in _FLOATS:
            raise ValueError("coefficients that are not numbers")
    if len(shape) not in (1, 2) or shape[-1] != model.n_features_in_:
        raise ValueError("the coefficients have another size")
    if np.shape(model.intercept_) not in ((), shape[:-1]):
        raise ValueError("the intercepts have another size")
    if not all(np.isfinite(part).all() for part in (model.coef_, model.intercept_)):
        raise ValueError("coefficients that are not finite")


_LINEAR: Mapping[str, tuple[dict[str, Kind], Callable[[Any], None]]] = {
    "sklearn:LogisticRegression": (
        {
            "classes_": Labels("K"),
            "coef_": Reals("k", "n"),
            "intercept_": Reals("k"),
            "n_iter_": Maybe(PLAIN),
        },
        _check_logistic,
    ),
    "sklearn:Ridge": (
        {
            "coef_": PLAIN,
            "intercept_": PLAIN,
            "n_iter_": Maybe(PLAIN),
            "solver_": Maybe(TEXT),
        },
        _check_ridge,
    ),
}
