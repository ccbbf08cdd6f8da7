"""The two samples of a diagnosis, and smaller ones cut from them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ..encoding import TableEncoder, encoded, groups_of
from ..encoding.samples import encode_samples
from ..exceptions import InputError
from ..numerics.array import Real, Rows
from ..numerics.hashing import RowUnits, mixed_hash, row_hash
from ..show.notes import Note
from ..weights.design import kish
from .features import (
    FeatureColumns,
    Made,
    check_groups,
    features_of,
    made_of,
    without_others,
)
from .row_weights import row_weights, target_weights
from .validation import check_samples, column_names, unwrap_target


@dataclass(frozen=True)
class TwoSamples:
    """Checked training and target rows in float64, their weights, and the names.

    Rows of weight zero are left out, and a row that was seen several times is as many rows.
    """

    X: Real  # (N, n)
    T: Real  # (M, n)
    names: tuple[str, ...]  # (n,): of the columns
    sample_weight: Real | None  # (N,): probability weights, mean one; None where all are equal
    weight: Real | None  # (M,): those of the target
    rows: Rows  # (N,): which of the training rows given each is
    target_rows: Rows  # (M,)
    groups: Rows | None = None  # (n,): the feature that each column belongs to; None: its own
    made: Sequence[Made] = ()  # (n,): the feature of each column, and the level that it marks
    dates: frozenset[int] = frozenset()  # columns that hold days since 1970-01-01
    n_given: int = 0  # target rows that were given, those of weight zero included
    notes: tuple[Note, ...] = ()  # on how a data frame became numbers

    @cached_property
    def features(self) -> tuple[FeatureColumns, ...]:
        """The features, each with its columns."""
        return features_of(self.names, self.groups, self.made, self.X, self.T)

    @property
    def own(self) -> Real:
        """Shares of the training rows, (N,), summing to one."""
        return _shares(self.sample_weight, len(self.X))

    @property
    def share(self) -> Real:
        """Shares of the target rows, (M,), summing to one."""
        return _shares(self.weight, len(self.T))

    @property
    def size(self) -> float:
        """Kish's number of training rows of equal weight that are as precise."""
        return kish(self.own)

    @property
    def target_size(self) -> float:
        """Kish's number of target rows."""
        return kish(self.share)

    def cut(self, most: int, random_state: int) -> TwoSamples:
        """Draw at most ``most`` rows of each sample, without replacement, in their order."""
        rng = np.random.default_rng(random_state)
        rows, target = _draw(len(self.X), most, rng), _draw(len(self.T), most, rng)
        return TwoSamples(
            self.X[rows],
            self.T[target],
            self.names,
            None if self.sample_weight is None else self.sample_weight[rows],
            None if self.weight is None else self.weight[target],
            self.rows[rows],
            self.target_rows[target],
            self.groups,
            self.made,
            self.dates,
            self.n_given,
            self.notes,
        )


def two_samples(
    X: Any,
    X_target: Any,
    target_weight: Any,
    names: Sequence[str] | None = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    dates: Collection[str] = (),
    deciding: bool = False,
) -> TwoSamples:
    """Check both samples, their weights and their names.

    Data frames with text, dates or gaps are encoded as numbers: several columns may belong to one
    feature. Of arrays that were encoded before, ``names`` are those of the columns, ``groups`` (n,)
    says which feature each belongs to, and ``dates`` names columns that hold days. ``deciding``
    about doubtful columns is for answers, whose notes tell it.
    """
    target = unwrap_target(X_target)
    if target is None:
        raise InputError(
            "X_target is None. Pass the rows of the target: there is nothing to compare."
        )
    made: list[Made] | None = None
    encoded = encode_samples(
        X,
        target,
        sample_weight=sample_weight,
        target_weight=target_weight,
        deciding=deciding and groups is None,
    )
    encoder = encoded.encoder
    if encoder is not None:
        if groups is not None:
            raise InputError(
                "groups is for columns of numbers. This data frame has text, dates or gaps: a "
                "category is one feature already."
            )
        names, groups, made = encoder.columns, encoder.groups, encoder.made
        dates = [feature.name for feature in encoder.features_ if feature.kind == "date"]
        X, target = encoded.X, encoded.X_target
    else:
        names = names or column_names(X) or column_names(target)
        groups = groups_of(X) if groups is None else groups
    X, T = map(np.ascontiguousarray, check_samples(X, target).on_host())
    weights = row_weights(len(X), sample_weight)
    of_target = target_weights(len(T), unwrap_target(target_weight))
    labels = tuple(names or column_numbers(X.shape[1]))
    rows, target_rows = np.flatnonzero(weights.kept), np.flatnonzero(of_target.kept)
    return TwoSamples(
        X[rows],
        T[target_rows],
        labels,
        None if weights.equal else weights.w[rows],
        None if of_target.equal else of_target.w[target_rows],
        rows,
        target_rows,
        check_groups(groups, X.shape[1]),
        made_of(labels) if made is None else made,
        frozenset(k for k, name in enumerate(labels) if name in dates),
        len(T),
        () if encoder is None else encoder.notes_,
    )


def _shares(weight: Real | None, count: int) -> Real:
    return np.full(count, 1 / count) if weight is None else np.asarray(weight / weight.sum())


def column_numbers(count: int) -> tuple[str, ...]:
    """Names of the columns of an array: x0, x1, ..."""
    return tuple(f"x{k}" for k in range(count))


def _draw(count: int, most: int, rng: np.random.Generator) -> Any:
    if count <= most:
        return slice(None)
    return np.sort(rng.choice(count, size=most, replace=False))


# Training and target rows as numbers, whatever they came as: one way in for all answers.
#
# Arrays, and frames of numbers without gaps, stay as they are. Other frames go through
# `covshift.TableEncoder`, which learns from both samples. What follows the content of rows, such as
# folds, would follow the order of columns and the names of levels as well; so where a category has
# several columns, columns are put in an order that neither decides.


@dataclass(frozen=True, eq=False)
class BothSamples:
    """Both samples in numbers, and what these are."""

    X: Real  # (N, n)
    T: Real  # (M, n)
    names: tuple[str, ...] | None  # of the columns; None: an array has none
    encoder: TableEncoder | None = None  # what made numbers of a table
    order: Rows | None = None  # of its columns
    groups: Rows | None = None  # (n,): feature of each column; None: every column is one

    @classmethod
    def of(
        cls, X: Any, target: Any, *, category: str | None = None, deciding: bool = False
    ) -> BothSamples:
        """Check both samples, and encode them where they are tables.

        The column ``category`` is taken as a category, with all its levels. ``deciding`` about
        doubtful columns is for answers, whose notes tell it.
        """
        found = encode_samples(X, target, category=category, deciding=deciding)
        if found.encoder is not None:
            return cls.of_encoded(found.encoder, found.X, found.X_target)
        # In one layout, since sums in another one end elsewhere within an optimiser's tolerance.
        Z, T = map(np.ascontiguousarray, check_samples(X, target).on_host())
        names = column_names(X)
        shown = None if names is None else tuple(names)
        return cls(Z, T, shown, groups=groups_of(X))  # rows that were encoded before

    @classmethod
    def of_encoded(cls, encoder: TableEncoder, X: Any, target: Any) -> BothSamples:
        """Put the columns that an encoder made of both samples in order."""
        Z, T = np.asarray(X), np.asarray(target)
        groups = encoder.groups
        if len(np.unique(groups)) == len(groups):
            return cls(Z, T, encoder.columns, encoder)
        order = _order(encoder, Z, T)
        shown = tuple(encoder.columns[k] for k in order)
        Z, T = (np.ascontiguousarray(part[:, order]) for part in (Z, T))
        return cls(Z, T, shown, encoder, order, groups[order])

    def rows(self, X: Any, title: str) -> Real:
        """Return other rows in these columns; further columns of a frame are left out."""
        if self.encoder is None:
            return check_samples(without_others(X, self.names or ())).on_host()[0]
        values = np.asarray(self.encoder.encode(X, title))
        return values if self.order is None else np.ascontiguousarray(values[:, self.order])

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was made of a table, in words."""
        return () if self.encoder is None else tuple(self.encoder.notes_)


def with_groups(part: Any, groups: Rows | None, *rows: Real) -> tuple[Any, ...]:
    """Tell a weighter, and the rows it is fitted to, which columns are one feature."""
    if groups is None:
        return (part, *rows)
    known = getattr(part, "_given_groups", None) is not None
    seeing = part.of_features(groups) if hasattr(part, "of_features") and not known else part
    return (seeing, *(encoded(values, groups) for values in rows))


def takes_tables(estimator: Any) -> bool:
    """Whether `fit` takes tables with text: covshift's do, and pipelines, which bring their own.

    Others may say so by scikit-learn's tags.
    """
    if isinstance(estimator, Pipeline) or type(estimator).__module__.split(".")[0] == "covshift":
        return True
    inner = getattr(estimator, "estimator", None)  # of a search
    if inner is not None and hasattr(inner, "fit") and takes_tables(inner):
        return True
    try:
        return bool(get_tags(estimator).input_tags.string)
    except (AttributeError, TypeError):
        return False


def _order(encoder: TableEncoder, Z: Real, T: Real) -> Rows:
    """Columns by the names of their features, those of a feature by what they hold."""
    place = {name: k for k, name in enumerate(sorted(encoder.group_names))}
    feature = np.array([place[name] for name in encoder.group_names])[encoder.groups]
    counts = np.bincount(feature)
    alone = np.flatnonzero(counts[feature] == 1)
    alone = alone[np.argsort(feature[alone])]
    units = RowUnits.of(T[:, alone])
    keys = [_content(part[:, alone], part, units) for part in (Z, T)]
    return np.lexsort((keys[1], keys[0], feature))


def _content(alone: Real, rows: Real, units: RowUnits) -> Any:
    """Hash what stands beside each column where it is not zero: (n,), whatever the rows' order."""
    own = mixed_hash(row_hash(alone, units=units))
    return np.array([own[column != 0].sum(dtype=np.uint64) for column in rows.T])
