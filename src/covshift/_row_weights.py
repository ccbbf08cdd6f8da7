"""What a weight means: probability weights have no scale, frequencies count rows.

Survey software tells two kinds of weights apart, and so does everything here:

- A *probability weight* (``sample_weight``, ``target_weight``) says how much of the population a
  row stands for, such as one over its chance to be drawn. A weight of 1000 is still one row. Only
  the ratios of the weights matter; they are divided by their mean, so that penalties, which are
  made for so many rows, mean the same on any scale. Tests and effective sizes use Kish's number of
  rows, (sum d)^2 / sum d^2.
- A *frequency* (``frequency_weight``, ``target_frequency``) says how often a row was seen: a row
  of frequency three is three equal rows, and all results are those of the repeated rows.

Both may be given. A row of weight zero, or of frequency zero, is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._types import Flags, Real, Rows, Whole
from ._values import numbers_of_rows
from .exceptions import InputError

_MOST_ROWS = 5_000_000  # that are made by repeating others
_EXACT = 2.0**53  # whole numbers beyond it are rounded
_PROBABILITY = {
    "frequency_weight": "sample_weight",
    "target_frequency": "target_weight",
    "--frequency": "--weight",
    "--target-frequency": "--target-weight",
}
_EQUAL = 1e-14  # relative: weights that differ by less are equal


@dataclass(frozen=True)
class RowWeights:
    """How much N rows count, and how often each was seen."""

    design: Real  # (N,): probability weights, mean one over the rows that were seen
    repeats: Whole  # (N,): frequencies; zero where a row is not there

    @property
    def w(self) -> Real:
        """How many rows each row counts for, (N,): they sum to the number of rows."""
        return self.repeats * self.design

    @property
    def kept(self) -> Flags:
        """Which rows are there, (N,)."""
        return self.repeats > 0

    @property
    def rows(self) -> int:
        """Number of rows, repeats included."""
        return int(self.repeats.sum())

    @property
    def equal(self) -> bool:
        """Whether all rows that are there have the same probability weight."""
        return bool((self.design[self.kept] == 1).all())

    @property
    def single(self) -> bool:
        """Whether every row is there once."""
        return bool((self.repeats == 1).all())

    @property
    def share(self) -> Real:
        """Shares of the rows, (N,), summing to one."""
        w = self.w
        return np.full(len(w), 1 / len(w)) if self.equal and self.single else w / w.sum()

    @property
    def size(self) -> float:
        """Kish's number of rows of equal weight that are as precise."""
        if self.equal:
            return float(self.rows)
        return float(self.w.sum() ** 2 / (self.w @ self.design))

    def final(self, factor: Real) -> Real:
        """Probability weights times factors (N,), of mean one over the rows, repeats included."""
        w = self.design * factor
        return np.asarray(w * (self.rows / (self.repeats @ w)))

    def take(self, rows: Rows) -> RowWeights:
        """Weights of some rows, of mean one again."""
        design, repeats = self.design[rows], self.repeats[rows]
        if not (self.equal or (repeats == 0).all()):
            design = design * (repeats.sum() / (repeats @ design))
        return RowWeights(design, repeats)

    def options(self, weight: str, frequency: str) -> dict[str, Any]:
        """Return what must be passed on under these names; nothing where all rows are alike."""
        given: dict[str, Any] = {}
        counted = bool((self.repeats > 1).any())
        if counted:
            given[frequency] = self.repeats
        if not (self.equal and (counted or self.single)):
            given[weight] = self.design
        return given


def row_weights(
    N: int,
    weight: Any = None,
    frequency: Any = None,
    *,
    names: tuple[str, str] = ("sample_weight", "frequency_weight"),
    of: str = "X",
) -> RowWeights:
    """Check the weights of N rows of ``of``; None: all count alike, and each was seen once.

    >>> row_weights(3, [10, 10, 20]).w
    array([0.75, 0.75, 1.5 ])
    >>> row_weights(3, frequency=[10, 10, 20]).w
    array([10., 10., 20.])
    """
    repeats = np.ones(N, dtype=np.int64)
    if frequency is not None:
        repeats = check_frequency(frequency, N, names[1], of=of)
    if weight is None:
        return RowWeights((repeats > 0).astype(np.float64), repeats)
    values = without_scale(check_weight(weight, N, names[0], of=of))
    repeats = np.where(values > 0, repeats, 0)
    kept = repeats > 0
    if not kept.any():
        raise InputError(f"{names[0]} or {names[1]} is zero in every row; some must have both.")
    values = np.where(kept, values, 0.0)
    there = values[kept]
    if np.ptp(there) <= _EQUAL * there.max():
        return RowWeights(kept.astype(np.float64), repeats)
    values[kept] = there / (repeats[kept] @ there / repeats[kept].sum())
    return RowWeights(values, repeats)


def without_scale(weight: Real) -> Real:
    """Divide weights by the largest, and keep 40 bits of each.

    The last bits of a quotient depend on the scale; without them it changes nothing at all, not
    even the rounding that an iteration or a tie between two splits may turn on.
    """
    mantissa, exponent = np.frexp(weight / weight.max())
    return np.asarray(np.ldexp(np.round(mantissa * 2.0**40) / 2.0**40, exponent))


def target_weights(M: int, weight: Any = None, frequency: Any = None) -> RowWeights:
    """Check the weights of M target rows."""
    names = ("target_weight", "target_frequency")
    return row_weights(M, weight, frequency, names=names, of="X_target")


def check_weight(weight: Any, length: int, name: str, *, of: str) -> np.ndarray[Any, Any]:
    """Return a copy of ``weight``: ``length`` finite non-negative float64 numbers, not all zero."""
    values = numbers_of_rows(weight, name, f"one weight per row of {of}")
    if values.shape != (length,):
        raise InputError(
            f"{name} has shape {values.shape}, but {of} has {length} rows. Pass one weight per row."
        )
    if not np.isfinite(values).all():
        raise InputError(f"{name} contains {int((~np.isfinite(values)).sum())} NaN or inf values.")
    if (values < 0).any():
        raise InputError(f"{name} contains {int((values < 0).sum())} negative values.")
    if not (values > 0).any():
        raise InputError(f"{name} is zero for every row; at least one must be positive.")
    return values


def check_frequency(frequency: Any, length: int, name: str, *, of: str) -> Whole:
    """Return frequencies as whole numbers, (length,); refuse fractions, which count nothing."""
    values = check_weight(frequency, length, name, of=of)
    broken = int((values != np.round(values)).sum())
    if broken:
        weight = _PROBABILITY.get(name, "the other kind")
        raise InputError(
            f"{name} holds {broken} values that are no whole numbers, but says how often each row "
            f"was seen. Weights that say how much a row stands for, on any scale, are {weight}."
        )
    if values.sum() >= _EXACT:
        raise InputError(f"{name} sums to {values.sum():.3g}, more rows than can be counted.")
    return values.astype(np.int64)


def repeated(repeats: Whole, name: str = "frequency_weight") -> Rows:
    """Numbers of the rows, each as often as it was seen."""
    total = int(repeats.sum())
    if total > _MOST_ROWS:
        raise InputError(
            f"{name} sums to {total:,}: this step repeats the rows, at most {_MOST_ROWS:,}. Divide "
            "the frequencies by a constant, or pass them as weights, of which the scale says "
            "nothing."
        )
    return np.repeat(np.arange(len(repeats)), repeats)
