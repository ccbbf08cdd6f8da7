"""The two samples of a diagnosis, and smaller ones cut from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ._feature_columns import FeatureColumns, Made, check_groups, features_of, made_of
from ._row_weights import row_weights, target_weights
from ._types import Real, Rows
from ._validation import check_samples, column_names, unwrap_target
from .encoding import TableEncoder, groups_of
from .encoding.samples import encode_samples
from .exceptions import InputError
from .show.notes import Note
from .weights._design import kish


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
    feature_names: Any,
    *,
    sample_weight: Any = None,
    groups: Any = None,
) -> TwoSamples:
    """Check both samples, their weights and their names.

    Data frames with text, dates or gaps are encoded as numbers: several columns may belong to one
    feature, as ``groups`` (n,) says of arrays.
    """
    target = unwrap_target(X_target)
    if target is None:
        raise InputError(
            "X_target is None. Pass the rows of the target: there is nothing to compare."
        )
    names: list[str] | None
    made: list[Made] | None = None
    encoded = encode_samples(
        X,
        target,
        sample_weight=sample_weight,
        target_weight=target_weight,
    )
    encoder = encoded.encoder
    if encoder is not None:
        _refuse_of_arrays(feature_names=feature_names, groups=groups)
        names, groups, made = list(encoder.columns), encoder.groups, encoder.made
        X, target = encoded.X, encoded.X_target
    else:
        names = column_names(X) or column_names(target)
        groups = groups_of(X) if groups is None else groups
    X, T = (np.asarray(rows) for rows in check_samples(X, target).on_host())
    weights = row_weights(len(X), sample_weight)
    of_target = target_weights(len(T), unwrap_target(target_weight))
    labels = feature_labels(feature_names, names, X.shape[1])
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
        _date_columns(encoder),
        len(T),
        () if encoder is None else encoder.notes_,
    )


def _date_columns(encoder: TableEncoder | None) -> frozenset[int]:
    if encoder is None:
        return frozenset()
    dates = {feature.name for feature in encoder.features_ if feature.kind == "date"}
    return frozenset(k for k, name in enumerate(encoder.columns) if name in dates)


def _refuse_of_arrays(**given: Any) -> None:
    """Refuse what says which column is which where the frame says it."""
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{name} is for columns of numbers. This data frame has text, dates or gaps: its "
                "own column names are used. Rename its columns instead."
            )


def _shares(weight: Real | None, count: int) -> Real:
    return np.full(count, 1 / count) if weight is None else np.asarray(weight / weight.sum())


def feature_labels(given: Any, found: list[str] | None, n_features: int) -> tuple[str, ...]:
    """Names of the features: as given, else of the data frame, else x0, x1, ..."""
    if given is None:
        return tuple(found) if found else tuple(f"x{k}" for k in range(n_features))
    if isinstance(given, str):
        raise InputError(f"feature_names={given!r} is one string. Pass a list of {n_features}.")
    names = tuple(str(name) for name in given)
    if len(names) != n_features:
        raise InputError(
            f"feature_names holds {len(names)} names, but X has {n_features} columns. "
            "Pass one name per column."
        )
    return names


def _draw(count: int, most: int, rng: np.random.Generator) -> Any:
    if count <= most:
        return slice(None)
    return np.sort(rng.choice(count, size=most, replace=False))
