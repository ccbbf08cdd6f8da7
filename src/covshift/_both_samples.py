"""Training and target rows as numbers, whatever they came as: one way in for all answers.

Arrays, and frames of numbers without gaps, stay as they are. Other frames go through
`covshift.TableEncoder`, which learns from both samples. What follows the content of rows, such as
folds, would follow the order of columns and the names of levels as well; so where a category has
several columns, columns are put in an order that neither decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ._hashing import mixed_hash, row_hash
from ._row_units import RowUnits
from ._types import Real, Rows
from ._validation import check_samples, column_names
from .encoding import TableEncoder, encoded, groups_of
from .encoding.samples import encode_samples
from .show.notes import Note


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
    def of(cls, X: Any, target: Any, *, category: str | None = None) -> BothSamples:
        """Check both samples, and encode them where they are tables.

        The column ``category`` is taken as a category, with all its levels.
        """
        found = encode_samples(X, target, category=category)
        if found.encoder is not None:
            return cls.of_encoded(found.encoder, found.X, found.X_target)
        Z, T = check_samples(X, target).on_host()
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
        """Return other rows in these columns."""
        if self.encoder is None:
            return check_samples(X).on_host()[0]
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
