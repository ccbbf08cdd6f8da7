"""V as algebra: what a factor and an operator must be able to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, InputTypeError
from ..numerics.array import Array, is_array, namespace


class Gram(Protocol):
    """A symmetric positive semidefinite matrix R'R by its products; factors are of this kind."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of R, or N, and columns N."""
        ...

    def normal(self, A: Array) -> Array:
        """R'R A: (N, D) -> (N, D), without all of R A at once where that is large."""
        ...

    def squares(self) -> Array:
        """Squared norm of each column of R, the diagonal of R'R: (N,)."""
        ...

    def gram(self) -> Array:
        """R'R as a dense (N, N) array."""
        ...

    def subset(self, rows: NDArray[np.intp]) -> Gram:
        """R for some of the training rows; rows of R that become zero may go."""
        ...


@runtime_checkable
class Factor(Gram, Protocol):
    """A matrix R of shape (m, N) with V = R'R, known by its products (theory, eq. 2.1).

    The order of the rows is a private matter of the factor; V does not depend on it.
    """

    def matmat(self, A: Array) -> Array:
        """R A: (N, D) -> (m, D)."""
        ...

    def rmatmat(self, Z: Array) -> Array:
        """R' Z: (m, D) -> (N, D)."""
        ...

    def subset(self, rows: NDArray[np.intp]) -> Factor:
        """R for some of the training rows."""
        ...


@runtime_checkable
class VOperator(Protocol):
    """A symmetric positive semidefinite matrix V of shape (N, N), known by its products."""

    @property
    def shape(self) -> tuple[int, int]:
        """N and N."""
        ...

    def matmat(self, A: Array) -> Array:
        """V A: (N, D) -> (N, D)."""
        ...

    def diagonal(self) -> Array:
        """The diagonal of V: (N,)."""
        ...

    def dense(self) -> Array:
        """V as an (N, N) array, for tests and small N."""
        ...

    def subset(self, rows: NDArray[np.intp]) -> VOperator:
        """V of some of the training rows, as V[rows][:, rows]."""
        ...

    def weighted(self, w: Array) -> VOperator:
        """Give training row i the weight w_i (N,); an integer weight equals repeated rows."""
        ...


def columns(A: Array, rows: int, what: str, like: Array | None = None) -> Array:
    """Return ``A`` as every product takes it: real, (rows, D), in the library of ``like``."""
    _check_library(A, what, like)
    if A.ndim != 2 or A.shape[0] != rows:
        raise InputError(f"{what} expects an array of shape ({rows}, D), got {tuple(A.shape)}.")
    xp = namespace(A)
    if xp.isdtype(A.dtype, "complex floating"):
        raise InputError(f"{what} expects real numbers, got {A.dtype}.")
    if like is None or xp.isdtype(A.dtype, "real floating"):
        return A
    return xp.astype(A, like.dtype)


def row_weights(w: Array, rows: int, like: Array | None = None) -> Array:
    """Check that ``w`` holds one weight per training row, in the library of ``like``."""
    _check_library(w, "weighted", like)
    if tuple(w.shape) != (rows,):
        raise InputError(f"weighted expects an array of shape ({rows},), got {tuple(w.shape)}.")
    return w


def _check_library(array: Array, what: str, like: Array | None) -> None:
    if is_array(array) and (like is None or namespace(array) is namespace(like)):
        return
    expected = "an array" if like is None else f"a {type(like).__name__}, as V was made from"
    raise InputTypeError(f"{what} expects {expected}, got a {type(array).__name__}.")


def scale_rows(w: Array, A: Array) -> Array:
    """diag(w) A, in the precision of ``A``, which is real."""
    return namespace(A).astype(w, A.dtype)[:, None] * A


def anderson_darling_weights(w: Array, below: Array, above: Array) -> Array:
    """Weights w / (F (1 - F)), with F : 1 - F = below : above (theory, eq. 2.8).

    Written as w / F + w / (1 - F), it neither overflows nor divides by zero: w is part of both.
    """
    return (below + above) * (w / below + w / above)


def blocks(length: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` that cover ``range(length)``."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))
