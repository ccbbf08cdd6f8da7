"""What of a fitted object goes into a file, attribute by attribute, each with its kind.

A class declares its fitted attributes in ``_saved``, a mapping of names to kinds; those of its
base classes belong to it too. Writing follows the declaration, and so does reading, which believes
nothing: what is not of the declared kind, size or range is a ValueError, and nothing that is not
declared is read. Sizes have names: arrays of one object that share a name share the size, and "n"
is the number of features. What must hold beyond that, ``_after_loading`` checks.

    >>> from covshift.data.fields import NUMBER, Reals
    >>> _saved = {"centers_": Reals("b", "n"), "coef_": Reals("b"), "width_": NUMBER}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..numerics.array import to_numpy

__all__ = [
    "COUNT",
    "ESTIMATOR",
    "FINITE",
    "FLAG",
    "NONNEGATIVE",
    "NUMBER",
    "PENALTY",
    "PLAIN",
    "POSITIVE",
    "SHARE",
    "TEXT",
    "WHOLE",
    "Each",
    "Kind",
    "Labels",
    "Maybe",
    "Numbers",
    "OneOf",
    "OrNone",
    "Part",
    "Path",
    "Reader",
    "Reals",
    "Size",
    "Sizes",
    "Texts",
    "Wholes",
    "Writer",
    "fields_of",
    "read_fields",
    "refuse",
    "write_fields",
]


# What a kind of value is: how it becomes plain data for a file, and itself again.


Sizes = dict[str, int]
Path = tuple[str, ...]
"""Where a value stands: the class of the whole, then attribute by attribute."""


class Writer(Protocol):
    """Takes what is not plain data."""

    def array(self, values: NDArray[Any], path: Path) -> str:
        """Keep an array of numbers, and return the name it has in the file."""
        ...

    def estimator(self, value: Any, path: Path, *, fitted: bool) -> dict[str, Any]:
        """Return an estimator as plain data, without its fit if so wanted."""
        ...


class Reader(Protocol):
    """Gives it back."""

    def array(self, name: Any) -> NDArray[Any]:
        """Return an array by its name."""
        ...

    def estimator(self, data: Any, *, fitted: bool) -> Any:
        """Return an estimator from plain data, with or without a fit."""
        ...


class Kind:
    """A kind of value: how it becomes plain data, and what it must be to become itself again."""

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        raise NotImplementedError

    def read(self, data: Any, sizes: Sizes, source: Reader) -> Any:
        raise NotImplementedError


def refuse(path: Path, what: str) -> InputError:
    """Return the error about a value that no file can hold."""
    return InputError(
        f"{'.'.join(path)} is {what}, which cannot be saved: a model file holds numbers, texts and "
        "objects of covshift's own classes, and no code. Use one of these instead; or keep the "
        "object with joblib or pickle, and load such a file only if you trust its author."
    )


def fit_shape(
    shape: tuple[int, ...], declared: tuple[str | int, ...], sizes: Sizes, what: str
) -> None:
    """Check a shape against sizes that are known by now, and learn the others."""
    for length, size in zip(shape, declared, strict=True):
        known = size if isinstance(size, int) else sizes.setdefault(size, length)
        if known != length:
            raise ValueError(f"{what} has another size: {length}, not {known}")


# Kinds of values: numbers, texts, arrays, classes, and inert data of any shape.


@dataclass(frozen=True)
class _Scalar(Kind):
    types: tuple[type, ...]
    words: str
    finite: bool = False
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        return PLAIN.write(value, path, out)

    def read(self, data: Any, sizes: Sizes, source: Reader) -> Any:
        value = PLAIN.read(data, sizes, source)
        if type(value) not in self.types:
            raise ValueError(f"{str(data)[:50]!r} is not {self.words}")
        if self.finite and not math.isfinite(value):
            raise ValueError("a number that is not finite")
        if self.least == self.above == -math.inf:
            return value
        above = self.above == -math.inf or value > self.above
        if not above or not self.least <= value <= self.most:
            raise ValueError(f"{value!r} is not {self.words}")
        return value


class _Plain(Kind):
    """Inert data: None, numbers, texts, arrays, lists, tuples, dicts, estimators without a fit."""

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, int) and not _is_64_bit(value):
            raise refuse(path, "a whole number of more than 64 bits")
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if np.isfinite(value) else {"float": str(value)}
        if isinstance(value, list | tuple):
            items = [self.write(v, (*path, str(k)), out) for k, v in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, dict):
            pairs = enumerate(value.items())
            return {"dict": [self.write(list(pair), (*path, str(k)), out) for k, pair in pairs]}
        if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
            return {"texts": Texts().write(value, path, out)}
        if isinstance(value, np.ndarray):
            return {"array": out.array(value, path)}
        if hasattr(value, "get_params") and not isinstance(value, type):
            return {"estimator": out.estimator(value, path, fitted=False)}
        what = f"a function ({value!r})" if callable(value) else f"a {type(value).__name__}"
        raise refuse(path, what)

    def read(self, data: Any, sizes: Sizes, source: Reader) -> Any:
        if isinstance(data, float) and not np.isfinite(data):  # it would be written with a tag
            raise ValueError("a number that is not finite")
        if isinstance(data, int) and not _is_64_bit(data):
            raise ValueError("a whole number of more than 64 bits")
        if data is None or isinstance(data, bool | int | float | str):
            return data
        if isinstance(data, list):
            return [self.read(item, sizes, source) for item in data]
        if not isinstance(data, dict) or len(data) != 1:
            raise ValueError("a value of no known kind")
        [(tag, content)] = data.items()
        if tag == "float" and content in ("nan", "inf", "-inf"):
            return float(content)
        if tag == "tuple" and isinstance(content, list):
            return tuple(self.read(content, sizes, source))
        if tag == "dict" and isinstance(content, list):
            return dict(self.read(content, sizes, source))
        if tag == "texts":
            return Texts().read(content, sizes, source)
        if tag == "array":
            return source.array(content)
        if tag == "estimator":
            return source.estimator(content, fitted=False)
        raise ValueError(f"a value of unknown kind {tag[:50]!r}")


def _is_64_bit(value: int) -> bool:
    return -(2**63) <= value < 2**64


PLAIN = _Plain()
NUMBER = _Scalar((float, int), "a number")
FINITE = _Scalar((float, int), "a number", finite=True)
POSITIVE = _Scalar((float, int), "a finite number above 0", finite=True, above=0)
NONNEGATIVE = _Scalar((float, int), "a finite number of at least 0", finite=True, least=0)
PENALTY = _Scalar((float, int), "a number of at least 0", least=0)  # it may be infinite
SHARE = _Scalar((float, int), "a number from 0 to 1", finite=True, least=-1e-9, most=1 + 1e-9)
WHOLE = _Scalar((int,), "a whole number")
COUNT = _Scalar((int,), "a whole number of at least 0", least=0)
FLAG = _Scalar((bool,), "true or false")
TEXT = _Scalar((str,), "a text")


@dataclass(frozen=True)
class _Numbers(Kind):
    """An array of numbers; its shape in names of sizes, or in numbers."""

    shape: tuple[str | int, ...]
    kinds: str  # of dtypes
    finite: bool = True
    below: str | None = None  # the numbers are places among so many
    least: float | None = None
    above: float | None = None

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        return out.array(to_numpy(value), path)

    def read(self, data: Any, sizes: Sizes, source: Reader) -> NDArray[Any]:
        array = source.array(data)
        if array.dtype.kind not in self.kinds or array.ndim != len(self.shape):
            raise ValueError(f"{data} has another type or dimension")
        fit_shape(array.shape, self.shape, sizes, data)
        if self.finite and not np.isfinite(array).all():
            raise ValueError(f"{data} holds NaN or inf")
        if self.below and array.size and not 0 <= array.min() <= array.max() < sizes[self.below]:
            raise ValueError(f"{data} points beyond the {sizes[self.below]} there are")
        if self.least is not None and array.size and array.min() < self.least:
            raise ValueError(f"{data} holds numbers below {self.least:g}")
        if self.above is not None and array.size and array.min() <= self.above:
            raise ValueError(f"{data} holds numbers that are not above {self.above:g}")
        return array


def Reals(
    *shape: str | int,
    finite: bool = True,
    least: float | None = None,
    above: float | None = None,
) -> Kind:
    """An array of floats, of at least ``least`` or ``above`` a bound."""
    return _Numbers(shape, "f", finite, least=least, above=above)


def Wholes(*shape: str | int, below: str | None = None) -> Kind:
    """An array of integers; with ``below``, places among as many as the size of that name."""
    return _Numbers(shape, "iu", below=below)


def Numbers(*shape: str | int) -> Kind:
    """An array of floats or integers."""
    return _Numbers(shape, "fiu")


@dataclass(frozen=True)
class OneOf(Kind):
    """One of some texts."""

    choices: tuple[str, ...]

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        return PLAIN.write(value, path, out)

    def read(self, data: Any, sizes: Sizes, source: Reader) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise ValueError(f"{str(data)[:50]!r} is not one of {', '.join(self.choices)}")
        return data


class Texts(Kind):
    """An array of texts."""

    def __init__(self, size: str = "") -> None:
        self.size = size

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        values = np.asarray(value)
        texts = values.tolist()
        if values.ndim != 1 or not all(isinstance(text, str) for text in texts):
            raise refuse(path, f"an array of {values.dtype} with {values.ndim} dimensions")
        return [values.dtype.kind, texts]

    def read(self, data: Any, sizes: Sizes, source: Reader) -> NDArray[Any]:
        kind, texts = data
        if kind not in ("O", "U") or not isinstance(texts, list):
            raise ValueError("texts of another type")
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("something else among texts")
        if self.size:
            fit_shape((len(texts),), (self.size,), sizes, "a list of texts")
        return np.array(texts, dtype=object if kind == "O" else str)


class Labels(Kind):
    """Classes: distinct numbers, flags or texts, in order."""

    def __init__(self, size: str) -> None:
        self.size = size

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        return PLAIN.write(np.asarray(value), path, out)

    def read(self, data: Any, sizes: Sizes, source: Reader) -> NDArray[Any]:
        labels = PLAIN.read(data, sizes, source)
        if not isinstance(labels, np.ndarray) or labels.ndim != 1:
            raise ValueError("the classes are not an array")
        fit_shape(labels.shape, (self.size,), sizes, "the classes")
        if not np.array_equal(np.unique(labels), labels):
            raise ValueError("the classes are not distinct and in order")
        return labels


@dataclass(frozen=True)
class Size(Kind):
    """A whole number, one at least, that is a size itself."""

    name: str

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        return int(value)

    def read(self, data: Any, sizes: Sizes, source: Reader) -> int:
        if type(data) is not int or not 1 <= data < 2**31:
            raise ValueError(f"{str(data)[:50]!r} is not a size")
        fit_shape((data,), (self.name,), sizes, "a size")
        return data


# Kinds that hold other kinds: values that may be missing, tuples, estimators, parts of them.


@dataclass(frozen=True)
class Maybe(Kind):
    """An attribute that some fits do not set."""

    kind: Kind

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        return self.kind.write(value, path, out)

    def read(self, data: Any, sizes: Sizes, source: Reader) -> Any:
        return self.kind.read(data, sizes, source)


@dataclass(frozen=True)
class OrNone(Kind):
    """A value of some kind, or None."""

    kind: Kind

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        return None if value is None else self.kind.write(value, path, out)

    def read(self, data: Any, sizes: Sizes, source: Reader) -> Any:
        return None if data is None else self.kind.read(data, sizes, source)


@dataclass(frozen=True)
class Each(Kind):
    """A tuple of values of one kind: ``count`` of them, or any number."""

    kind: Kind
    count: int | None = None

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        return [self.kind.write(v, (*path, str(k)), out) for k, v in enumerate(value)]

    def read(self, data: Any, sizes: Sizes, source: Reader) -> tuple[Any, ...]:
        if not isinstance(data, list) or self.count not in (None, len(data)):
            raise ValueError(f"{self.count or 'several'} values were expected")
        return tuple(self.kind.read(item, sizes, source) for item in data)


class _Estimator(Kind):
    """A fitted estimator of the table."""

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        return out.estimator(value, path, fitted=True)

    def read(self, data: Any, sizes: Sizes, source: Reader) -> Any:
        return source.estimator(data, fitted=True)


ESTIMATOR = _Estimator()


class Part(Kind):
    """An object of one of some classes, made by calling the class with its ``_saved`` attributes.

    Its sizes are its own, but for those in ``same``, which says what they are called outside. A
    class with ``_from_saved(...)`` is made by it.
    """

    def __init__(self, *classes: type, **same: str) -> None:
        self.classes = {cls.__name__: cls for cls in classes}
        self.same = same

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        cls: Any = type(value)
        if cls not in self.classes.values():
            raise refuse(path, f"a {cls.__name__}")
        fields = {name: getattr(value, name) for name in cls._saved}
        return {cls.__name__: write_fields(cls._saved, fields, path, out)}

    def read(self, data: Any, sizes: Sizes, source: Reader) -> Any:
        if not isinstance(data, dict) or len(data) != 1 or not data.keys() <= self.classes.keys():
            raise ValueError(f"none of {', '.join(self.classes)}")
        [(name, content)] = data.items()
        cls: Any = self.classes[name]
        own = {inner: sizes[outer] for inner, outer in self.same.items() if outer in sizes}
        values = read_fields(cls._saved, content, own, source)
        for inner, outer in self.same.items():
            if inner in own:
                fit_shape((own[inner],), (outer,), sizes, name)
        return getattr(cls, "_from_saved", cls)(**values)


def write_fields(
    kinds: Mapping[str, Kind], values: Mapping[str, Any], path: Path, out: Writer
) -> dict[str, Any]:
    """Return the declared attributes as plain data; those that may be missing only if there."""
    found = {}
    for name, kind in kinds.items():
        if name in values:
            found[name] = kind.write(values[name], (*path, name), out)
        elif not isinstance(kind, Maybe):
            raise KeyError(name)
    return found


def read_fields(
    kinds: Mapping[str, Kind], data: Any, sizes: Sizes, source: Reader
) -> dict[str, Any]:
    """Return the declared attributes; a ValueError for others, and for those that are missing."""
    if not isinstance(data, dict) or not data.keys() <= kinds.keys():
        raise ValueError("attributes that are not declared")
    for name, kind in kinds.items():
        if name not in data and not isinstance(kind, Maybe):
            raise ValueError(f"{name} is missing")
    return {
        name: kind.read(data[name], sizes, source) for name, kind in kinds.items() if name in data
    }


def fields_of(cls: type) -> dict[str, Kind]:
    """Return what a class and its bases declare."""
    found: dict[str, Kind] = {}
    for base in reversed(cls.__mro__):
        found |= vars(base).get("_saved", {})
    return found
