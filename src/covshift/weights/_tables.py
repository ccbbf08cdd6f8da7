"""Data frames on their way into a weighter: encoded where they have text, dates or gaps."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .._row_weights import target_weights
from .._types import Flags
from .._validation import unwrap_target
from ..encoding import TableEncoder
from ..exceptions import UnseenLevelWarning
from ._design import design_of


class Encoded(NamedTuple):
    """Training and target rows, and what made numbers of them; None: they came as they are."""

    X: Any
    X_target: Any
    encoder: TableEncoder | None


def encoded(X: Any, X_target: Any, sample_weight: Any, *of_target: Any) -> Encoded:
    """Learn an encoder from the rows that count, and encode all; plain numbers stay as they are.

    ``of_target`` are weights and frequencies of the target rows. Rows that weigh nothing are not
    there: what they alone have is unknown, as it is in new rows.
    """
    T = unwrap_target(X_target)
    encoder = TableEncoder.learn(X, T)
    if encoder is None:
        return Encoded(X, X_target, None)
    kept_X, kept_T = design_of(sample_weight, _num_samples(X)).kept, None
    if T is not None:
        kept_T = target_weights(_num_samples(T), *of_target).share > 0
    some = [kept is not None and not kept.all() for kept in (kept_X, kept_T)]
    if any(some):
        encoder = TableEncoder.learn(_rows(X, kept_X), _rows(T, kept_T)) or encoder
    with warnings.catch_warnings():
        if any(some):
            warnings.simplefilter("ignore", UnseenLevelWarning)  # of rows that weigh nothing
        points = encoder.encode(X, "X")
        return Encoded(points, None if T is None else encoder.encode(T, "X_target"), encoder)


def _rows(X: Any, kept: Flags | None) -> Any:
    return X if kept is None or kept.all() else _safe_indexing(X, np.flatnonzero(kept))
