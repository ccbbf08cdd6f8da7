"""`Samples`: the labelled rows and the target, checked, aligned and encoded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding import TableEncoder, groups_of
from ..encoding.cells import title_of
from ..encoding.decisions import Decision
from ..encoding.left_out import LeftOut
from ..encoding.samples import Decided, decide_samples, encode_samples, rows_kept, takes_tables
from ..exceptions import InputError
from ..margins import Margins
from ..margins.sample import KnownRows
from ..numerics.array import Flags, Real, Rows, row_count, take_rows
from ..numerics.crossfit import Features
from ..numerics.hashing import RowUnits, mixed_hash, row_hash
from ..numerics.resampling import Plan
from ..numerics.row_sample import drawn_rows
from ..show.notes import Note
from .columns import LARGEST, NamedColumns, in_order_of, texts, with_outcome
from .features import (
    FeatureColumns,
    Made,
    alike,
    check_groups,
    features_of,
    made_of,
    without_others,
)
from .groups import Groups
from .row_weights import (
    DesignWeights,
    RowWeights,
    check_weight,
    kish,
    repeated,
    row_weights,
    target_weights,
)
from .validation import Target, check_host_samples, column_names, is_margins, unwrap_target
from .values import MOST_COLUMNS, too_wide


@dataclass(frozen=True, eq=False)
class Samples:
    """Both samples, and all that belongs to their rows: what every answer is made from.

    A target of margins is one row, the published means m of features f (indicators of cells,
    numbers, squares). Any outcome model that is linear in f has the target mean h(m), whatever the
    joint distribution, so that all that is done with target rows works with this one.
    """

    X: Real  # (N, p): numbers; categories and known groups as columns of zeros and ones
    T: Real  # (M, p)
    names: tuple[str, ...]  # (p,)
    d: Real  # (N,): design weights, mean one over positive ones
    share: Real  # (M,), sums to one
    weighted: bool = False  # whether design weights were given
    one_feature: Rows | None = None  # (p,): feature of each column; None: every column is one
    made: Sequence[Made] = ()  # (p,): the feature of each column, and the level that it marks
    dates: frozenset[int] = frozenset()  # columns that hold days since 1970-01-01
    encoder: TableEncoder | None = None  # what made numbers of a table
    order: Rows | None = None  # of the encoder's columns
    rows: Rows | None = None  # (N,): which of the rows given each is; None: all are here
    target_rows: Rows | None = None  # (M,)
    n_given: int = 0  # target rows that were given
    inputs: Any = None  # `Features` of a user's model: without columns that have other roles
    groups: Groups | None = None
    strata: NDArray[Any] | None = None  # (N,)
    cluster: NDArray[Any] | None = None  # (N,)
    finite_population: bool = False  # whether the target is the population, and no sample of it
    diagnosis: Any = None  # of these samples, where `diagnose` has been called already
    known: KnownRows | None = None  # the rows as margins see them, where these are the target
    notes: tuple[Note, ...] = ()  # what was made of a table
    decisions: tuple[Decision, ...] = ()  # about columns that could be read in two ways
    left_out: Mapping[str, str] = field(default_factory=dict)  # columns, and why
    # Of all rows, whatever `take` and `take_target` leave:
    y: Any = None  # outcomes as they were given
    beside: Mapping[str, Any] = field(default_factory=dict)  # further arguments, a value per row
    given: NamedColumns | None = None  # the rows as they were given
    # As `DesignWeights` tell them, of the rows that are left:
    fpc: Real | None = None  # (N,): units in the population of the row's stratum, or their share
    replicates: tuple[Real, Plan] | None = None  # weights (N, B), in the unit of d

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
        counts: tuple[str | None, str | None] = (None, None),
        every_level: bool = False,
    ) -> Samples:
        """Check, align and encode both samples; a `Samples` is returned as it is.

        Every argument of the training rows may name a column of X, and every one of the target
        rows a column of X_target: such columns are not features. The column that ``by`` names stays
        one, as a category, where both frames have it. ``beside`` and ``beside_target`` are further
        arguments of this kind. An outcome model of the user's that takes numbers alone gets a table
        as numbers. ``counts`` name columns of both frames that say how often each row was seen:
        what is decided and learned about columns rests on these rows, and all else on the repeated
        ones. With ``every_level`` a category keeps its levels, however many there are.
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
        finite_population, kinds = (
            getattr(Target.of(X_target), name) for name in ("finite_population", "kinds")
        )
        target = unwrap_target(X_target)
        if target is None:
            raise InputError(
                "X_target is None. Pass rows of the population that the answer is for."
            )
        margins = target if is_margins(target) else None
        width = getattr(X, "shape", (0,))[-1]
        if width > MOST_COLUMNS:
            raise InputError(too_wide("X", width))
        named = NamedColumns(X, None if margins is not None else target)
        y = named.outcomes(y)
        more = {name: named.of_rows(values, name) for name, values in (beside or {}).items()}
        for name, values in (beside_target or {}).items():
            more[name] = named.of_target(unwrap_target(values), name)
        design = DesignWeights.of(sample_weight)
        replicates = None if design is None else design.replicate_weights
        if replicates is not None:
            replicates = named.several(replicates, "replicate_weights")
        fpc = None if design is None else named.of_rows(design.fpc, "fpc")
        sample_weight = design and named.of_rows(design.weights, "sample_weight")
        target_weight = named.of_target(unwrap_target(target_weight), "target_weight")
        strata, cluster = named.of_rows(strata, "strata"), named.of_rows(cluster, "cluster")
        again = rows_again(named.of_rows(counts[0], "frequency"), "", title_of(X, "X"))
        there = named.of_target(counts[1], "target_frequency")
        again_there = rows_again(there, "target_", title_of(target, "X_target"))
        by_target, seen = None, (again, again_there)
        if margins is not None:
            both = cls._of_margins(margins, _taken(named.features[0], again))
        else:
            by_name = by if isinstance(by, str) else None
            by, by_target = _groups_given(by, named)
            category = None if by_target is None else by_name
            learned = (
                _learned(sample_weight, with_outcome(y), row_weights),
                _learned(target_weight, None, target_weights),
            )
            both = cls._of_features(
                *named.features,
                learned,
                category,
                outcome_model,
                kinds,
                _taken(y, again),
                seen,
                every_level,
            )
            by, by_target = _taken(by, again), _taken(by_target, again_there)
        for name in more:
            more[name] = _taken(more[name], seen[name not in (beside or {})])
        y, fpc, replicates, sample_weight, strata, cluster = (
            _taken(values, again) for values in (y, fpc, replicates, sample_weight, strata, cluster)
        )
        target_weight = _taken(target_weight, again_there)
        if margins is None and more.get("y_target") is None:
            both = replace(both, notes=(*both.notes, *named.unread_outcomes()))
        N, M = len(both.X), len(both.T)
        weighted = sample_weight is not None
        d = check_weight(sample_weight, N, "sample_weight", of="X") if weighted else np.ones(N)
        v = np.ones(M)
        if target_weight is not None:
            v = check_weight(target_weight, M, "target_weight", of="X_target")
        if both.known is not None:
            groups = None if by is None else Groups.of_margins(by, both.known)
            both = replace(both, groups=groups)
        elif by is not None:
            groups = Groups.of(by, by_target, N, v / v.sum(), gaps=by_name is not None)
            both = replace(both, groups=groups)
            if by_target is not None and by_name is None:  # else they are a feature already
                both = both._with_groups(groups)
        return replace(
            both,
            d=d / d[d > 0].mean(),
            weighted=weighted,
            share=v / v.max() / (v / v.max()).sum(),
            strata=None if strata is None else texts(strata, N, "strata", "X"),
            cluster=None if cluster is None else texts(cluster, N, "cluster", "X"),
            finite_population=finite_population,
            y=y,
            beside=more,
            given=named,
            fpc=None if fpc is None else check_weight(fpc, N, "fpc", of="X"),
            replicates=None if replicates is None else _replicates(design, replicates, d),
        )

    @classmethod
    def _of_margins(cls, margins: Margins, rows: Any) -> Samples:
        known = KnownRows.of(margins, rows, "estimate")
        X, means, names = known.moments
        T = means[None, :]
        made = made_of(names)
        ones = np.ones(len(X)), np.ones(1)
        return cls(X, T, tuple(names), *ones, made=made, inputs=Features(X, T), known=known)

    @classmethod
    def _of_features(
        cls,
        rows: Any,
        target_rows: Any,
        learned: tuple[Flags | None, Flags | None],
        category: str | None,
        outcome_model: Any,
        kinds: Mapping[str, Any] | None,
        y: Any,
        again: tuple[Rows | None, Rows | None],
        every_level: bool,
    ) -> Samples:
        """Encode rows without the columns of other roles, and keep them as a model takes them."""
        both = cls.of_rows(
            rows,
            target_rows,
            learned=learned,
            category=category,
            deciding=True,
            kinds=kinds,
            y=y,
            again=again,
            every_level=every_level,
        )
        _check_size(both.X, both.names, "X")
        _check_size(both.T, both.names, "X_target")
        if both.encoder is not None and not takes_tables(outcome_model):
            return replace(both, inputs=Features(both.X, both.T))
        return replace(both, inputs=Features(*alike(rows, target_rows)))

    @classmethod
    def of_rows(
        cls,
        X: Any,
        X_target: Any,
        *,
        sample_weight: Any = None,
        target_weight: Any = None,
        groups: Any = None,
        category: str | None = None,
        deciding: bool = False,
        encoder: TableEncoder | None = None,
        ordered: bool = True,
        kinds: Mapping[str, Any] | None = None,
        learned: tuple[Flags | None, Flags | None] = (None, None),
        y: Any = None,
        again: tuple[Rows | None, Rows | None] = (None, None),
        every_level: bool = False,
    ) -> Samples:
        """Check both samples and their weights, and encode them where they are tables.

        Arrays, and frames of numbers without gaps, stay as they are. Rows of weight zero are left
        out. Of arrays that were encoded before, ``groups`` (n,) says which feature each column
        belongs to; with ``encoder``, X and X_target are the numbers that it made. The column
        ``category`` is taken as a category, with all its levels. ``deciding`` about doubtful
        columns is for answers, whose notes tell it; ``kinds`` are decided already. Of rows that are
        not ``learned`` from, of either sample, categories, gaps and what fills them are unknown, so
        that an answer is the same as without these rows. Where columns that were
        left out differ between the samples or go with the outcomes y, a note warns. Encoded
        rows may be there ``again``, as often as these numbers of rows say, and y is of them.

        What follows the content of rows, such as folds, would follow the order of columns and the
        names of levels as well; so where a category has several columns, ``ordered`` ones are put
        in an order that neither decides.
        """
        target = unwrap_target(X_target)
        if target is None:
            raise InputError(
                "X_target is None. Pass the rows of the target: there is nothing to compare."
            )
        target_weight = unwrap_target(target_weight)
        here, there = (  # others are refused where outcomes and weights are checked
            flags if flags is not None and len(flags) == row_count(rows) else None
            for flags, rows in zip(learned, (X, target), strict=True)
        )
        notes: tuple[Note, ...] = ()
        left_out = LeftOut()
        made = Decided(X, target)
        labels = column_names(X) or column_names(target)
        frames = X, target
        if encoder is None:
            known = groups_of(X)
            if deciding and groups is None:
                seen = sample_weight if here is None else here.astype(float)
                seen_there = target_weight if there is None else there.astype(float)
                kept = rows_kept(X, target, seen, seen_there)
                made = decide_samples(
                    X, target, kinds=kinds, category=category, kept=kept, every_level=every_level
                )
            else:
                own: dict[str, Any] = {"sample_weight": sample_weight, "kinds": kinds}
                made = Decided(*encode_samples(X, target, target_weight=target_weight, **own))
            X, target, encoder = made.X, made.T, made.encoder
            if encoder is None:
                groups = known if groups is None else groups
                # In one layout: sums in another one end elsewhere within an optimiser's tolerance.
                X, target = map(np.ascontiguousarray, check_host_samples(X, target))
            else:
                notes = tuple(encoder.notes_)
                if deciding:
                    used = {feature.name for feature in encoder.features_} | {*(kinds or {})}
                    left_out = LeftOut.of(*frames, used, notes)
        X, T = (
            np.asarray(part) if rows is None else np.asarray(part)[rows]
            for part, rows in zip((X, target), again, strict=True)
        )
        here, there = _taken(here, again[0]), _taken(there, again[1])
        left_out = left_out if again[0] is None else left_out.take(again[0])
        left_out = left_out if again[1] is None else left_out.take_target(again[1])
        notes += tuple(left_out.warnings(y))
        made_of_columns, dates, order = None, frozenset[int](), None
        if encoder is not None:
            if groups is not None:
                raise InputError(
                    "groups is for columns of numbers. This data frame has text, dates or gaps: a "
                    "category is one feature already."
                )
            seen, seen_there = X if here is None else X[here], T if there is None else T[there]
            order = _order(encoder, seen, seen_there) if ordered else None
            columns = np.arange(X.shape[1]) if order is None else order
            labels = [encoder.columns[k] for k in columns]
            made_of_columns = [encoder.made[k] for k in columns]
            if order is not None or not ordered:
                groups = encoder.groups[columns]
            days = {feature.name for feature in encoder.features_ if feature.kind == "date"}
            dates = frozenset(k for k, name in enumerate(labels) if name in days)
            if order is not None:
                X, T = (np.ascontiguousarray(part[:, order]) for part in (X, T))
        names = tuple(labels or column_numbers(X.shape[1]))
        weights = row_weights(len(X), sample_weight)
        share = target_weights(len(T), target_weight)
        rows, target_rows = np.flatnonzero(weights.kept), np.flatnonzero(share.kept)
        found = cls(
            X,
            T,
            names,
            weights.w,
            share.share,
            sample_weight is not None,
            check_groups(groups, X.shape[1]),
            made_of(names) if made_of_columns is None else made_of_columns,
            dates,
            encoder,
            order,
            n_given=len(T),
            notes=notes,
            decisions=made.decisions,
            left_out=made.left_out,
        )
        return found.take(rows).take_target(target_rows)

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

    def _with_groups(self, groups: Groups) -> Samples:
        """Add the groups of both samples as one feature more."""
        lost = groups.absence()  # without it they would pass for the first group
        X = np.column_stack([self.X, groups.dummies(), np.zeros((len(self.X), lost.shape[1]))])
        T = np.column_stack([self.T, groups.dummies(target=True), lost])
        added = tuple(f"group={groups.labels[k]}" for k in groups.shown)
        added += (f"group={_several(list(groups.absent))}",) * lost.shape[1]
        one = self.one_feature
        if one is not None:
            one = np.append(one, np.full(len(added), one.max() + 1))
        made = [*self.made, *made_of(added)]
        return replace(self, X=X, T=T, names=(*self.names, *added), made=made, one_feature=one)

    @property
    def margins(self) -> Margins | None:
        """The target, where it is margins."""
        return None if self.known is None else self.known.margins

    @cached_property
    def features(self) -> tuple[FeatureColumns, ...]:
        """The features, each with its columns."""
        return features_of(self.names, self.one_feature, self.made, self.X, self.T)

    @property
    def sample_weight(self) -> Real | None:
        """Design weights (N,); None where all are equal."""
        return None if _equal(self.d) else self.d

    @property
    def target_weight(self) -> Real | None:
        """Weights of the target rows (M,), mean one; None where all are equal."""
        return None if _equal(self.share) else len(self.share) * self.share

    @property
    def own(self) -> Real:
        """Shares of the training rows, (N,), summing to one."""
        return np.asarray(self.d / self.d.sum())

    @property
    def size(self) -> float:
        """Kish's number of training rows of equal weight that are as precise."""
        return kish(self.own)

    @property
    def target_size(self) -> float:
        """Kish's number of target rows."""
        return kish(self.share)

    def encode(self, X: Any, title: str) -> Real:
        """Return other rows in these columns; further columns of a frame are left out."""
        if self.encoder is None:
            return check_host_samples(without_others(X, self.names))[0]
        values = np.asarray(self.encoder.encode(X, title))
        return values if self.order is None else np.ascontiguousarray(values[:, self.order])

    def take(self, rows: Rows) -> Samples:
        """Keep some of the training rows."""
        if np.array_equal(rows, np.arange(len(self.X))):
            return self
        return replace(
            self,
            X=self.X[rows],
            inputs=None if self.inputs is None else self.inputs.rows(rows),
            d=self.d[rows],
            rows=rows if self.rows is None else self.rows[rows],
            groups=None if self.groups is None else self.groups.rows(rows),
            strata=None if self.strata is None else self.strata[rows],
            cluster=None if self.cluster is None else self.cluster[rows],
            fpc=None if self.fpc is None else self.fpc[rows],
            replicates=self.replicates and (self.replicates[0][rows], self.replicates[1]),
            known=None if self.known is None else self.known.rows(rows),
        )

    def take_target(self, rows: Rows) -> Samples:
        """Keep some of the target rows."""
        if np.array_equal(rows, np.arange(len(self.T))):
            return self
        share = self.share[rows]
        return replace(
            self,
            T=self.T[rows],
            inputs=None if self.inputs is None else self.inputs.target_rows(rows),
            share=share / share.sum(),
            target_rows=rows if self.target_rows is None else self.target_rows[rows],
            groups=None if self.groups is None else self.groups.target_rows(rows, share),
        )

    def cut(self, most: int, random_state: int) -> Samples:
        """Draw at most ``most`` rows of each sample, without replacement, in their order."""
        rng = np.random.default_rng(random_state)
        rows, target = (drawn_rows(len(part), most, rng) for part in (self.X, self.T))
        return self.take(rows).take_target(target)

    def as_given(self) -> Samples:
        """Put the columns back into the order of the table that they come from."""
        n = self.X.shape[1]
        if self.order is None:
            each = self.encoder is not None and self.one_feature is None
            return replace(self, one_feature=np.arange(n)) if each else self
        n = len(self.order)
        back = np.append(np.argsort(self.order), np.arange(n, len(self.names)))  # groups come last
        group = None if self.one_feature is None else self.one_feature[back]
        place = {int(k): j for j, k in enumerate(back)}
        return replace(
            self,
            X=np.ascontiguousarray(self.X[:, back]),
            T=np.ascontiguousarray(self.T[:, back]),
            names=tuple(self.names[k] for k in back),
            made=[self.made[int(k)] for k in back],
            one_feature=group,
            dates=frozenset(place[k] for k in self.dates),
            order=None,
            inputs=None,
        )

    def of_these(self, values: Real) -> Real:
        """Return the values of these rows, given those of all training rows."""
        return values if self.rows is None else values[self.rows]


def _equal(weight: Real) -> bool:
    return bool(np.ptp(weight) <= 1e-12 * weight.max())


def rows_again(counts: Any, whose: str, title: str) -> Rows | None:
    """Number the rows of a frame, each as often as it was seen; None: each once."""
    if counts is None:
        return None
    name, weight = f"{whose}frequency", f"{whose or 'sample_'}weight"
    return repeated(counts, row_count(counts), name, of=title, weight=weight)


def _taken(values: Any, rows: Rows | None) -> Any:
    return values if values is None or rows is None else take_rows(values, rows)


def column_numbers(count: int) -> tuple[str, ...]:
    """Names of the columns of an array: x0, x1, ..."""
    return tuple(f"x{k}" for k in range(count))


def _learned(weight: Any, labelled: Flags | None, check: Callable[..., RowWeights]) -> Flags | None:
    """Return which rows are there and have an outcome; None: all."""
    if weight is None or not (hasattr(weight, "__len__") and row_count(weight)):
        return labelled  # what is no weight of any row is refused where weights are checked
    kept = check(row_count(weight), weight).kept
    if labelled is not None and len(labelled) == len(kept) and (labelled & kept).any():
        kept = labelled & kept
    return None if kept.all() else kept


def _replicates(design: DesignWeights | None, columns: Any, d: Real) -> tuple[Real, Plan]:
    """Return replicate weights (N, B) in the unit of the design weights d, and their plan."""
    assert design is not None
    values, made = design.replicates(columns, len(d))
    return values / d[d > 0].mean(), made


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


def _check_size(rows: Real, names: tuple[str, ...], title: str) -> None:
    most = dict(zip(names, np.maximum(rows.max(axis=0), -rows.min(axis=0)), strict=True))
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


def _order(encoder: TableEncoder, X: Real, T: Real) -> Rows | None:
    """Columns by the names of their features, those of a feature by what they hold.

    None where every column is a feature by itself.
    """
    if len(np.unique(encoder.groups)) == len(encoder.groups):
        return None
    place = {name: k for k, name in enumerate(sorted(encoder.group_names))}
    feature = np.array([place[name] for name in encoder.group_names])[encoder.groups]
    counts = np.bincount(feature)
    alone = np.flatnonzero(counts[feature] == 1)
    alone = alone[np.argsort(feature[alone])]
    units = RowUnits.of(T[:, alone])
    keys = [_content(part[:, alone], part, units) for part in (X, T)]
    return np.lexsort((keys[1], keys[0], feature))


def _content(alone: Real, rows: Real, units: RowUnits) -> Any:
    """Hash what stands beside each column where it is not zero: (n,), whatever the rows' order."""
    own = mixed_hash(row_hash(alone, units=units))
    return np.array([own[column != 0].sum(dtype=np.uint64) for column in rows.T])
