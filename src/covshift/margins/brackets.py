"""Brackets from what people write: pairs of ends, or quantiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._types import Real
from ..exceptions import InputError
from ..show.notes import Note
from .cells import Brackets


def number_of(value: Any, title: str) -> float:
    """Return a finite number; anything else is an error that names ``title``."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{title} has {value!r} where a number is expected.") from None
    if isinstance(value, bool) or not np.isfinite(found):
        raise InputError(f"{title} has {value!r} where a finite number is expected.")
    return found


def ordered_brackets(
    pairs: Sequence[tuple[Any, Any]], title: str, *, right: bool, notes: list[Note]
) -> tuple[Brackets, list[int]]:
    """Sort brackets given by their ends, None where open; return them and their order.

    Overlapping brackets are an error. A gap is one for the eye only between whole numbers that
    follow each other; a larger one is noted.
    """
    ends = [
        (
            -np.inf if low is None else number_of(low, title),
            np.inf if high is None else number_of(high, title),
        )
        for low, high in pairs
    ]
    order = sorted(range(len(ends)), key=lambda k: ends[k])
    lower = np.array([ends[k][0] for k in order])
    upper = np.array([ends[k][1] for k in order])
    brackets = Brackets(lower, upper, right)
    for k, (low, high) in enumerate(zip(lower, upper, strict=True)):
        if low > high or (low == high and right):
            raise InputError(f"{title}: the bracket from {low:g} to {high:g} is empty.")
        if k and low < upper[k - 1]:
            raise InputError(
                f"{title}: the brackets {brackets.labels[k - 1]!r} and {brackets.labels[k]!r} "
                "overlap. Every value must lie in one bracket."
            )
        if k and low > upper[k - 1] and not _follow(float(upper[k - 1]), float(low)):
            text = f"{title}: no bracket holds the values between {upper[k - 1]:g} and {low:g}."
            notes.append(Note("gaps", text, "warning"))
    return brackets, order


def quantile_brackets(given: Mapping[Any, Any], title: str) -> tuple[Brackets, Real]:
    """Return the cells between quantiles {share at or below: value}, and their shares."""
    levels = sorted((number_of(p, title), number_of(q, title)) for p, q in given.items())
    if not levels:
        raise InputError(f"{title} has no quantiles. Write them as {{0.25: 18.5, 0.5: 24.0}}.")
    p, q = (np.array(part) for part in zip(*levels, strict=True))
    if p[0] < 0 or p[-1] > 1:
        raise InputError(
            f"{title}: quantiles belong to shares from 0 to 1, not {p[0]:g}, {p[-1]:g}."
        )
    if (np.diff(q) < 0).any():
        raise InputError(f"{title}: the quantiles fall from one share to a larger one.")
    last = np.append(q[1:] > q[:-1], True)  # of equal ones, the largest share is at or below
    p, q = p[last], q[last]
    low, high = -np.inf, np.inf
    if p[0] == 0:  # the smallest value there is
        low, p, q = float(np.nextafter(q[0], -np.inf)), p[1:], q[1:]
    if len(p) and p[-1] == 1:
        high, p, q = float(q[-1]), p[:-1], q[:-1]
    brackets = Brackets(np.append(low, q), np.append(q, high), right=True)
    return brackets, np.diff(np.concatenate([[0.0], p, [1.0]]))


def _follow(one: float, other: float) -> bool:
    """Whether these are whole numbers, and neighbours."""
    return one.is_integer() and other - one == 1
