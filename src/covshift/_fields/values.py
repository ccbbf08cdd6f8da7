"""Kinds of values: numbers, texts, arrays, classes, and inert data of any shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import to_numpy
from .base import Kind, Path, Reader, Sizes, Writer, fit_shape, refuse


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
            raise ValueError(f"{str(data)[:50]!r} is none of {', '.join(self.choices)}")
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
            raise ValueError("the classes are no array")
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
            raise ValueError(f"{str(data)[:50]!r} is no size")
        fit_shape((data,), (self.name,), sizes, "a size")
        return data
