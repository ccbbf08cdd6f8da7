"""Groups of rows, each of which gets its number too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..encoding import MISSING
from ..exceptions import InputError
from ..margins.sample import KnownRows
from ..numerics.array import Real, Rows
from .columns import texts

_MOST_GROUPS = 200


@dataclass(frozen=True)
class Groups:
    """A group for each training row, and for each target row where it is known there."""

    labels: tuple[str, ...]  # those of the sample, sorted
    train: Rows  # (N,): numbers of the labels
    target: Rows | None  # (M,): -1 for a group that the sample lacks
    absent: dict[str, float] = field(default_factory=dict)  # share of the target by group
    sample_only: tuple[str, ...] = ()  # groups without target rows
    share: Real | None = None  # (labels,): of the target, where margins tell it

    def indicator(self, number: int, *, target: bool = False) -> Real:
        """Ones where a row belongs to the group: (N,), or (M,)."""
        codes = self.target if target else self.train
        return np.asarray(codes == number, dtype=np.float64)

    def dummies(self, *, target: bool = False) -> Real:
        """One column per group, and one for two groups: (N, k), or (M, k)."""
        numbers = self.shown
        columns = [self.indicator(k, target=target) for k in numbers]
        size = len(self.target if target and self.target is not None else self.train)
        return np.column_stack(columns) if columns else np.empty((size, 0))

    @property
    def shown(self) -> range:
        """Groups that have a column: all, or the second of two."""
        return range(len(self.labels)) if len(self.labels) > 2 else range(1, len(self.labels))

    def absence(self) -> Real:
        """Ones where a target row is in a group that the sample lacks: (M, 1), or (M, 0)."""
        assert self.target is not None
        column = np.asarray(self.target < 0, dtype=np.float64)[:, None]
        return column if column.any() else column[:, :0]

    @classmethod
    def of(cls, by: Any, by_target: Any, N: int, share: Real, *, gaps: bool) -> Groups:
        """Read the groups of N training rows, and of target rows of these shares unless None.

        With ``gaps``, rows without a group are a group; else they are refused.
        """
        gap = MISSING if gaps else None
        labels, codes = np.unique(texts(by, N, "by", "X", gap), return_inverse=True)
        if len(labels) > _MOST_GROUPS:
            raise InputError(
                f"by has {len(labels)} different groups. At most {_MOST_GROUPS} are supported: "
                "join some of them, or cut a number into intervals first."
            )
        codes = codes.reshape(-1).astype(np.intp)
        names = tuple(labels.tolist())
        if by_target is None:
            return cls(names, codes, None)
        target = texts(by_target, len(share), "by", "X_target", gap)
        place = np.minimum(np.searchsorted(labels, target), len(labels) - 1)
        known = labels[place] == target
        there = np.where(known, place, -1).astype(np.intp)
        absent = {str(g): float(share[target == g].sum()) for g in np.unique(target[~known])}
        return cls(names, codes, there, absent, _unseen(names, there, share))

    @classmethod
    def of_margins(cls, by: Any, known: KnownRows) -> Groups:
        """Cells of a column as groups, whose shares are published."""
        margins = known.margins
        able = [name for name in margins.columns if margins.margin(name) is not None]
        if not isinstance(by, str | int) or str(by) not in able:
            shown = repr(by) if isinstance(by, str | int) else "groups of the rows"
            raise InputError(
                f"With margins, by names a column of which they give shares "
                f"({', '.join(map(repr, able)) or 'none'}), not {shown}: how large other groups "
                "are in the population is not known. Add a margin of the groups."
            )
        margin = margins.margin(str(by))
        assert margin is not None
        present, train = np.unique(known.cells(str(by)), return_inverse=True)
        labels, share = margin.cells.labels, margin.share
        names = tuple(labels[k] for k in present)
        absent = {
            label: float(part)
            for k, (label, part) in enumerate(zip(labels, share, strict=True))
            if part > 0 and k not in present
        }
        return cls(
            names,
            train.reshape(-1).astype(np.intp),
            None,
            absent,
            tuple(labels[k] for k in present if share[k] == 0),
            np.asarray(share[present]),
        )

    def rows(self, rows: Rows) -> Groups:
        """Keep some of the training rows; groups that lose all of theirs stay named."""
        return replace(self, train=self.train[rows])

    def target_rows(self, rows: Rows, share: Real) -> Groups:
        """Keep some of the target rows, with these shares."""
        if self.target is None:
            return self
        target = self.target[rows]
        return replace(self, target=target, sample_only=_unseen(self.labels, target, share))


def _unseen(labels: tuple[str, ...], target: Rows, share: Real) -> tuple[str, ...]:
    """Groups whose target rows have no weight, or that have none."""
    known = target >= 0
    mass = np.bincount(target[known], weights=share[known], minlength=len(labels))
    return tuple(label for label, there in zip(labels, mass > 0, strict=True) if not there)
