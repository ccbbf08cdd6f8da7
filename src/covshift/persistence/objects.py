"""Fitted estimators as plain data and arrays, and back: parameters, then declared attributes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._fields import PLAIN, Path, read_fields, refuse, write_fields
from .._parameters import check_parameters
from ..exceptions import InputError
from .archive import Arrays
from .classes import class_named, declared, name_of, saved_names

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
            raise ValueError("something that is no estimator")
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
