"""`Samples`: the labelled rows and the target, checked, aligned and encoded once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding import MISSING, TableEncoder
from ..exceptions import InputError
from ..margins import Margins
from ..margins.sample import KnownRows
from ..numerics.array import Real, Rows
from ..numerics.crossfit import Features
from ..show.notes import Note
from .columns import LARGEST, NamedColumns, in_order_of, texts
from .features import without_others
from .row_weights import check_weight
from .two_samples import BothSamples, column_numbers, takes_tables
from .validation import Target, column_names, is_margins, unwrap_target


@dataclass(frozen=True, eq=False)
class Samples:
    """Both samples, and all that belongs to their rows: what every answer is made from.

    A target of margins is one row, the published means m of features f (indicators of cells,
    numbers, squares). Any outcome model that is linear in f has the target mean h(m), whatever the
    joint distribution, so that all that is done with target rows works with this one.
    """

    Z: Real  # (N, p): numbers; categories and known groups as columns of zeros and ones
    T: Real  # (M, p)
    names: tuple[str, ...]  # (p,)
    features: Features  # without the columns that have other roles, for a model of the user's
    d: Real  # (N,): design weights, mean one over positive ones
    weighted: bool  # whether design weights were given
    share: Real  # (M,), sums to one
    groups: Groups | None
    strata: NDArray[Any] | None  # (N,)
    cluster: NDArray[Any] | None  # (N,)
    finite_population: bool = False  # whether the target is the population, and no sample of it
    diagnosis: Any = None  # of these samples, where `diagnose` has been called already
    known: KnownRows | None = None  # the rows as margins see them, where these are the target
    one_feature: Rows | None = None  # (p,): feature of each column; None: every column is one
    notes: tuple[Note, ...] = ()  # what was made of a table
    # Of all rows, whatever `rows` and `target_rows` keep:
    y: Any = None  # outcomes as they were given
    beside: Mapping[str, Any] = field(default_factory=dict)  # further arguments, a value per row
    given: NamedColumns | None = None  # the rows as they were given

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any = None,
        X_target: Any = None,
        *,
        by: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
        strata: Any = None,
        cluster: Any = None,
        outcome_model: Any = None,
        beside: Mapping[str, Any] | None = None,
        beside_target: Mapping[str, Any] | None = None,
        encoder: TableEncoder | None = None,
        by_name: str | None = None,
    ) -> Samples:
        """Check, align and encode both samples; a `Samples` is returned as it is.

        Every argument of the training rows may name a column of X, and every one of the target
        rows a column of X_target: such columns are no features. The column that ``by`` names stays
        one, as a category, where both frames have it. ``beside`` and ``beside_target`` are further
        arguments of this kind. An outcome model of the user's that takes numbers alone gets a table
        as numbers. With ``encoder``, X and X_target are the numbers that it made of a table, whose
        column ``by_name`` holds the groups ``by``.
        """
        if isinstance(X, cls):
            return X._with(
                {**(beside or {}), **(beside_target or {})},
                y=y,
                X_target=X_target,
                by=by,
                sample_weight=sample_weight,
                target_weight=target_weight,
                strata=strata,
                cluster=cluster,
            )
        finite_population = Target.of(X_target).finite_population
        target = unwrap_target(X_target)
        if target is None:
            raise InputError(
                "X_target is None. Pass rows of the population that the answer is for."
            )
        margins = target if is_margins(target) else None
        named = NamedColumns(X, None if margins is not None else target)
        y = named.outcomes(y)
        given = {name: named.of_rows(values, name) for name, values in (beside or {}).items()}
        for name, values in (beside_target or {}).items():
            given[name] = named.of_target(unwrap_target(values), name)
        sample_weight = named.of_rows(sample_weight, "sample_weight")
        target_weight = named.of_target(unwrap_target(target_weight), "target_weight")
        notes: tuple[Note, ...] = ()
        strata, cluster = named.of_rows(strata, "strata"), named.of_rows(cluster, "cluster")
        if margins is not None:
            known = KnownRows.of(margins, named.features[0], "estimate")
            Z, means, labels = known.moments
            T, names = means[None, :], tuple(labels)
            one_feature: Rows | None = None
            features = Features(Z, T)
        else:
            known = None
            by_name = by if isinstance(by, str) else by_name
            by, by_target = _groups_given(by, named)
            rows, target_rows = named.features
            category = None if by_target is None else by_name
            if encoder is not None:  # whose notes the caller has
                both = BothSamples.of_encoded(encoder, rows, target_rows)
            else:
                both = BothSamples.of(rows, target_rows, category=category, deciding=True)
                notes = both.notes
            Z, T, one_feature = both.X, both.T, both.groups
            names = both.names or column_numbers(Z.shape[1])
            _check_size(Z, names, "X")
            _check_size(T, names, "X_target")
            encodes = both.encoder is not None and not takes_tables(outcome_model)
            if not encodes:  # what both frames have
                there = column_names(target_rows) or ()
                shared = [name for name in column_names(rows) or () if name in there]
                rows, target_rows = (without_others(part, shared) for part in (rows, target_rows))
            features = Features(both.X, both.T) if encodes else Features(rows, target_rows)
        N, M = len(Z), len(T)
        weighted = sample_weight is not None
        d = check_weight(sample_weight, N, "sample_weight", of="X") if weighted else np.ones(N)
        v = np.ones(M)
        if target_weight is not None:
            v = check_weight(target_weight, M, "target_weight", of="X_target")
        groups = None
        if known is not None:
            groups = None if by is None else Groups.of_margins(by, known)
        elif by is not None:
            groups = Groups.of(by, by_target, N, v / v.sum(), gaps=by_name is not None)
            if by_target is not None and by_name is None:  # else they are a feature already
                Z, T, names, one_feature = _with_groups(Z, T, names, one_feature, groups)
        return cls(
            Z,
            T,
            names,
            features,
            d / d[d > 0].mean(),
            weighted,
            v / v.max() / (v / v.max()).sum(),
            groups,
            None if strata is None else texts(strata, N, "strata", "X"),
            None if cluster is None else texts(cluster, N, "cluster", "X"),
            finite_population,
            None,
            known,
            one_feature,
            notes,
            y,
            given,
            named,
        )

    def _with(self, beside: Mapping[str, Any], **given: Any) -> Samples:
        """Return the samples as they are, with further arguments of the training rows."""
        twice = [name for name, value in given.items() if value is not None]
        if twice:
            raise InputError(
                f"X is Samples, which have all that belongs to their rows. Pass {twice[0]} to "
                "Samples.of instead."
            )
        more = {name: value for name, value in beside.items() if value is not None}
        for name, value in more.items():
            if isinstance(value, str):
                raise InputError(
                    f"{name}={value!r} names a column, but X is Samples, whose columns have been "
                    "read already. Pass one value per row, or data frames."
                )
        return replace(self, beside={**self.beside, **more}) if more else self

    @property
    def margins(self) -> Margins | None:
        """The target, where it is margins."""
        return None if self.known is None else self.known.margins

    def rows(self, kept: Rows) -> Samples:
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

    def target_rows(self, kept: Rows) -> Samples:
        """Keep some of the target rows."""
        share = self.share[kept]
        return replace(
            self,
            T=self.T[kept],
            features=self.features.target_rows(kept),
            share=share / share.sum(),
            groups=None if self.groups is None else self.groups.target_rows(kept, share),
        )


def _groups_given(by: Any, named: NamedColumns) -> tuple[Any, Any]:
    """Return the groups of the training rows, and of the target rows or None."""
    if isinstance(by, str):
        return named.group(by)
    if isinstance(by, tuple):
        if len(by) != 2:
            raise InputError(
                f"by is a tuple of {len(by)} items. Pass one group per training row, or a pair "
                "(groups, groups_of_the_target)."
            )
        there = in_order_of(by[1], named.target, "by", "X_target")
        return in_order_of(by[0], named.X, "by", "X"), there
    return in_order_of(by, named.X, "by", "X"), None


def _with_groups(
    Z: Real, T: Real, names: tuple[str, ...], one_feature: Rows | None, groups: Groups
) -> tuple[Real, Real, tuple[str, ...], Rows | None]:
    """Add the groups of both samples as one feature more."""
    lost = groups.absence()  # without it they would pass for the first group
    Z = np.column_stack([Z, groups.dummies(), np.zeros((len(Z), lost.shape[1]))])
    T = np.column_stack([T, groups.dummies(target=True), lost])
    names = (*names, *(f"group={groups.labels[k]}" for k in groups.shown))
    names += (f"group={_several(list(groups.absent))}",) * lost.shape[1]
    return Z, T, names, _with_feature(one_feature, Z.shape[1])


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


# Groups of rows, each of which gets its number too.


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

    def rows(self, kept: Rows) -> Groups:
        """Keep some of the training rows; groups that lose all of theirs stay named."""
        return replace(self, train=self.train[kept])

    def target_rows(self, kept: Rows, share: Real) -> Groups:
        """Keep some of the target rows, with these shares."""
        if self.target is None:
            return self
        target = self.target[kept]
        return replace(self, target=target, sample_only=_unseen(self.labels, target, share))


def _unseen(labels: tuple[str, ...], target: Rows, share: Real) -> tuple[str, ...]:
    """Groups whose target rows have no weight, or that have none."""
    known = target >= 0
    mass = np.bincount(target[known], weights=share[known], minlength=len(labels))
    return tuple(label for label, there in zip(labels, mass > 0, strict=True) if not there)
