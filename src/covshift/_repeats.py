"""Frequencies at the front door: all that belongs to rows, as often as each row was seen.

For what has no formula of its own with frequencies: the rows are repeated once, all that was given
for them with them, and what comes out per row is brought back to the rows as given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ._row_weights import check_frequency, repeated
from ._types import Real, Rows
from ._validation import unwrap_target
from .exceptions import InputError


@dataclass(frozen=True)
class Repeats:
    """Rows of one sample, each as often as it was seen; without frequencies, as they are."""

    of: str  # name of the rows
    again: Rows | None = None  # the row that each repeat is one of
    count: int = 0  # rows as given

    @classmethod
    def of_rows(cls, X: Any, frequency: Any, name: str, of: str) -> Repeats:
        """Check the frequencies of the rows X, the argument ``name``."""
        frequency = unwrap_target(frequency)
        if frequency is None:
            return cls(of)
        count = _num_samples(unwrap_target(X))
        return cls(of, repeated(check_frequency(frequency, count, name, of=of), name), count)

    def each(self, **values: Any) -> Iterator[Any]:
        """Repeat what has one entry per row; names of columns, and None, stay."""
        for name, given in values.items():
            yield self._repeated(unwrap_target(given) if self.again is not None else given, name)

    def _repeated(self, values: Any, name: str) -> Any:
        if self.again is None or values is None or isinstance(values, str | int):
            return values
        if hasattr(values, "__array__") and np.ndim(values) == 0:
            return values  # the checks that follow say what is wrong with it
        if _num_samples(values) != self.count:
            raise InputError(
                f"{name} has {_num_samples(values)} rows, but {self.of} has {self.count}. Pass one "
                "entry per row."
            )
        return _safe_indexing(values, self.again)

    def mean_of_repeats(self, values: Real) -> Real:
        """Bring values of the repeated rows (n, ...) back to the rows as given (N, ...)."""
        if self.again is None:
            return values
        sums = np.zeros((self.count, *values.shape[1:]))
        np.add.at(sums, self.again, values)
        times = np.bincount(self.again, minlength=self.count)
        return sums / np.maximum(times, 1).reshape(-1, *[1] * (values.ndim - 1))


def repeated_pair(by: Any, train: Repeats, target: Repeats, name: str = "by") -> Any:
    """Repeat groups: of the training rows, or of both samples as a pair."""
    if isinstance(by, tuple) and len(by) == 2:
        return (*train.each(**{name: by[0]}), *target.each(**{name: by[1]}))
    return next(train.each(**{name: by}))
