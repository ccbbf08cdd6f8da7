"""Kinds that hold other kinds: values that may be missing, tuples, estimators, parts of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .base import Kind, Path, Reader, Sizes, Writer, fit_shape, refuse


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
