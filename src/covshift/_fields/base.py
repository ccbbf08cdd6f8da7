"""What a kind of value is: how it becomes plain data for a file, and itself again."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from ..exceptions import InputError

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
        "object with joblib or pickle, and load such a file only if you trust whoever wrote it."
    )


def fit_shape(
    shape: tuple[int, ...], declared: tuple[str | int, ...], sizes: Sizes, what: str
) -> None:
    """Check a shape against sizes that are known by now, and learn the others."""
    for length, size in zip(shape, declared, strict=True):
        known = size if isinstance(size, int) else sizes.setdefault(size, length)
        if known != length:
            raise ValueError(f"{what} has another size: {length}, not {known}")
