"""What `estimate` was given, checked: outcomes, features, groups, weights and the design."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._both_samples import BothSamples, takes_tables
from .._crossfit import Features
from .._frames import column_label
from .._row_weights import check_weight
from .._two_samples import feature_labels
from .._types import Real, Rows
from .._validation import column_names, unwrap_target
from ..encoding import MISSING
from ..exceptions import InputError
from ..margins.known import KnownRows
from ..show.notes import Note
from .columns import LARGEST, texts

_MOST_GROUPS = 200
_NAMED = 10  # rows or groups that a message names


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

    def rows(self, kept: Rows) -> Groups:
        """Keep some of the training rows; groups that lose all of theirs stay named."""
        return replace(self, train=self.train[kept])

    def target_rows(self, kept: Rows, share: Real) -> Groups:
        """Keep some of the target rows, with these shares."""
        if self.target is None:
            return self
        target = self.target[kept]
        return replace(self, target=target, sample_only=_unseen(self.labels, target, share))


@dataclass(frozen=True)
class Sample:
    """Both samples as the weighter and the models see them."""

    Z: Real  # (N, p): numbers; categories and known groups as columns of zeros and ones
    T: Real  # (M, p)
    names: tuple[str, ...]  # (p,)
    features: Features  # as they were given, for a model of the user's
    d: Real  # (N,): design weights, mean one over positive ones
    weighted: bool  # whether design weights were given
    share: Real  # (M,), sums to one
    groups: Groups | None
    strata: NDArray[Any] | None  # (N,)
    cluster: NDArray[Any] | None  # (N,)
    known: KnownRows | None = None  # the rows as margins see them, where these are the target
    one_feature: Rows | None = None  # (p,): feature of each column; None: every column is one
    notes: tuple[Note, ...] = ()  # what was made of a table

    def rows(self, kept: Rows) -> Sample:
        """Keep some of the training rows."""
        if len(kept) == len(self.Z):
            return self
        return replace(
            self,
            Z=self.Z[kept],
            features=self.features.rows(kept),
            d=self.d[kept],
            groups=None if self.groups is None else self.groups.rows(kept),
            strata=None if self.strata is None else self.strata[kept],
            cluster=None if self.cluster is None else self.cluster[kept],
            known=None if self.known is None else self.known.rows(kept),
        )

    def target_rows(self, kept: Rows) -> Sample:
        """Keep some of the target rows."""
        share = self.share[kept]
        return replace(
            self,
            T=self.T[kept],
            features=self.features.target_rows(kept),
            share=share / share.sum(),
            groups=None if self.groups is None else self.groups.target_rows(kept, share),
        )


def check_sample(
    X: Any,
    X_target: Any,
    *,
    by: Any,
    sample_weight: Any,
    target_weight: Any,
    strata: Any,
    cluster: Any,
    feature_names: Any,
    outcome_model: Any = None,
) -> Sample:
    """Check both samples and all that belongs to their rows.

    An outcome model of the user's that takes numbers alone gets a table as numbers.
    """
    target = unwrap_target(X_target)
    if target is None:
        raise InputError("X_target is None. Pass rows of the population that the answer is for.")
    by, by_target = _groups_given(by, X, target)
    both = BothSamples.of(X, target)
    Z, T, groups_of_columns = both.X, both.T, both.groups
    given = None if both.names is None else list(both.names)
    names = feature_labels(None if both.encoder else feature_names, given, Z.shape[1])
    _check_size(Z, names, "X")
    _check_size(T, names, "X_target")
    N, M = len(Z), len(T)
    weighted = sample_weight is not None
    d = check_weight(sample_weight, N, "sample_weight", of="X") if weighted else np.ones(N)
    v = np.ones(M)
    if target_weight is not None:
        v = check_weight(unwrap_target(target_weight), M, "target_weight", of="X_target")
    groups = None if by is None else _groups(by, by_target, N, M, v / v.sum())
    if (
        groups is not None
        and groups.target is not None
        and not (isinstance(by, str) and both.marks(by))
    ):
        lost = groups.absence()  # without it they would pass for the first group
        Z = np.column_stack([Z, groups.dummies(), np.zeros((N, lost.shape[1]))])
        T = np.column_stack([T, groups.dummies(target=True), lost])
        names = (*names, *(f"group={groups.labels[k]}" for k in groups.shown))
        names += (f"group={_several(list(groups.absent))}",) * lost.shape[1]
        groups_of_columns = _with_feature(groups_of_columns, Z.shape[1])
    encodes = both.encoder is not None and not takes_tables(outcome_model)
    features = Features(both.X, both.T) if encodes else Features(X, target)
    return Sample(
        Z,
        T,
        names,
        features,
        d / d[d > 0].mean(),
        weighted,
        v / v.max() / (v / v.max()).sum(),
        groups,
        labels_of_rows(strata, N, "strata", X),
        labels_of_rows(cluster, N, "cluster", X),
        one_feature=groups_of_columns,
        notes=both.notes,
    )


def _with_feature(groups: Rows | None, width: int) -> Rows | None:
    """Add columns up to ``width`` that are one feature more."""
    if groups is None:
        return None
    return np.append(groups, np.full(width - len(groups), groups.max() + 1))


def _check_size(rows: Real, names: tuple[str, ...], title: str) -> None:
    most = dict(zip(names, np.abs(rows).max(axis=0), strict=True))
    large = [name for name, size in most.items() if size > LARGEST]
    small = [name for name, size in most.items() if 0 < size < 1 / LARGEST]
    for found, what, squares in (
        (large, f"numbers beyond {LARGEST:g}", "overflow"),
        (small, f"no numbers beyond {1 / LARGEST:g}", "vanish"),
    ):
        if found:
            raise InputError(
                f"{title} has {what} in {', '.join(map(repr, found[:5]))}, whose squares "
                f"{squares}. Repair or rescale these columns, in the same way for X and X_target."
            )


def _several(labels: list[str]) -> str:
    shown = " or ".join(labels[:3])
    return shown + (f" or {len(labels) - 3} more" if len(labels) > 3 else "")


def _groups_given(by: Any, X: Any, target: Any) -> tuple[Any, Any]:
    """Return the groups of the training rows, and of the target rows or None."""
    if by is None:
        return None, None
    if isinstance(by, str):
        for frame, title in ((X, "X"), (target, "X_target")):
            if by not in (column_names(frame) or []):
                raise InputError(
                    f"by={by!r} names a column, but {title} has none of this name. Pass the groups "
                    "of the training rows as an array, or of both samples as a pair (groups, "
                    "groups_of_the_target)."
                )
        return by, (X[column_label(X, by)], target[column_label(target, by)])
    if isinstance(by, tuple):
        if len(by) != 2:
            raise InputError(
                f"by is a tuple of {len(by)} items. Pass one group per training row, or a pair "
                "(groups, groups_of_the_target)."
            )
        return by, by
    return by, None


def _groups(by: Any, pair: Any, N: int, M: int, share: Real) -> Groups:
    gap = MISSING if isinstance(by, str) else None
    train = texts(by if pair is None else pair[0], N, "by", "X", gap)
    labels, codes = np.unique(train, return_inverse=True)
    if len(labels) > _MOST_GROUPS:
        raise InputError(
            f"by has {len(labels)} different groups. At most {_MOST_GROUPS} are supported: join "
            "some of them, or cut a number into intervals first."
        )
    codes = codes.reshape(-1).astype(np.intp)
    if pair is None:
        return Groups(tuple(labels.tolist()), codes, None)
    target = texts(pair[1], M, "by", "X_target", gap)
    place = np.minimum(np.searchsorted(labels, target), len(labels) - 1)
    known = labels[place] == target
    there = np.where(known, place, -1).astype(np.intp)
    absent = {str(g): float(share[target == g].sum()) for g in np.unique(target[~known])}
    names = tuple(labels.tolist())
    return Groups(names, codes, there, absent, _unseen(names, there, share))


def _unseen(labels: tuple[str, ...], target: Rows, share: Real) -> tuple[str, ...]:
    """Groups whose target rows have no weight, or that have none."""
    known = target >= 0
    mass = np.bincount(target[known], weights=share[known], minlength=len(labels))
    return tuple(label for label, there in zip(labels, mass > 0, strict=True) if not there)


def labels_of_rows(given: Any, N: int, name: str, X: Any) -> NDArray[Any] | None:
    """Return labels of the training rows as text, from an array or from a column of X."""
    if given is None:
        return None
    if isinstance(given, str):
        if given not in (column_names(X) or []):
            raise InputError(f"{name}={given!r} names a column, but X has none of this name.")
        given = X[column_label(X, given)]
    return texts(given, N, name, "X")
