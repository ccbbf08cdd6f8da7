"""Rows that two samples share, and folds that keep them together.

Who answered is often part of the target as well: a register, a panel. A classifier that learned
that a row is of the sample would call its copy in the target one too, and its AUC falls to 0.5
whatever the shift. So copies share a fold. Equal rows of few categories are other people, by
chance, and are dealt one by one: kept together, every fold would know what the others hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import bdtr

from .array import Flags, Real, Rows, Whole
from .hashing import row_hash

FEW_DISTINCT = 30  # rows, which may be equal by chance
_CERTAIN = 5.0  # standard deviations beyond chance
_APART, _FILLED = 0.9, 0.2  # shares of values that differ, and of a lattice that they fill


def copies(X: Real, T: Real) -> Rows | None:
    """Number the person of each row of X (N, n) and then T (M, n), where the samples share some.

    None where chance explains equal rows. It does not where a column tells nearly all rows apart:
    then all equal rows are one person's. Nor where far more rows can be put in pairs, one of each
    sample, than if every set of equal rows had been dealt to the two samples at random: then a pair
    is one person. Differing samples have fewer of these pairs, not more.
    """
    N, M = len(X), len(T)
    _, first, group = np.unique(
        np.concatenate([row_hash(X), row_hash(T)]), return_index=True, return_inverse=True
    )
    group = group.reshape(-1)
    own, there = (np.bincount(part, minlength=len(first)) for part in (group[:N], group[N:]))
    paired = np.minimum(own, there)
    if not paired.any() or min((own > 0).sum(), (there > 0).sum()) < FEW_DISTINCT // 3:
        return None
    if len(first) >= FEW_DISTINCT and any(map(tells_apart, np.concatenate([X, T])[first].T)):
        return group
    mean, variance = _pairs_by_chance(own + there, N / (N + M))
    if paired.sum() - mean <= _CERTAIN * np.sqrt(variance):
        return None
    times = np.append(_occurrence(group[:N]), _occurrence(group[N:]))
    person: Rows = np.unique(group + len(first) * times, return_inverse=True)[1]
    return person.reshape(-1)


def _pairs_by_chance(sizes: Whole, share: float) -> tuple[float, float]:
    """Mean and variance of the pairs in sets of equal rows, each row of the sample by chance."""
    mean, variance = 0.0, 0.0
    for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        own = np.arange(size + 1)
        chance, pairs = np.diff(bdtr(own, size, share), prepend=0), np.minimum(own, size - own)
        mean += count * (chance @ pairs)
        variance += count * (chance @ pairs**2 - (chance @ pairs) ** 2)
    return float(mean), float(variance)


def _occurrence(group: Rows) -> Rows:
    """Number equal entries (N,) from 0."""
    order = np.argsort(group, kind="stable")
    new = np.diff(group[order], prepend=-1) > 0
    found = np.empty(len(group), dtype=np.intp)
    found[order] = np.arange(len(group)) - np.flatnonzero(new)[np.cumsum(new) - 1]
    return found


def shared(X: Real, T: Real) -> Flags:
    """Tell which target rows (M,) are rows of the sample as well."""
    group = copies(X, T)
    if group is None:
        return np.zeros(len(T), dtype=bool)
    return np.isin(group[len(X) :], group[: len(X)])


def together(fold: Rows, group: Rows | None, N: int, rng: Any) -> Rows:
    """Deal the folds (N + M,) again where rows are copies: distinct ones in turn, at random.

    Those among the first N come first, so that each fold has as many of them.
    """
    if group is None:
        return fold
    inside = np.zeros(int(group.max()) + 1, dtype=bool)
    inside[group[:N]] = True
    place = np.empty(len(inside), dtype=np.intp)
    order = rng.permutation(len(inside))
    place[order[np.argsort(~inside[order], kind="stable")]] = np.arange(len(inside))
    return np.asarray(place[group] % (int(fold.max()) + 1))


def tells_apart(column: Real) -> bool:
    """Whether nearly all values (n,) differ, and are not steps of a lattice that is well filled."""
    values = np.unique(column)
    if len(values) < _APART * len(column):
        return False
    steps = np.diff(values)
    return bool(len(values) * steps.min() < _FILLED * (values[-1] - values[0]))
