"""Tables on their way in: encoded together where they have text, dates or gaps, else left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ..data.numbers import category_columns, date_columns
from ..data.row_weights import RowWeights, row_weights, target_weights
from ..data.validation import column_names, unwrap_target
from ..exceptions import InputError, UnseenLevelWarning
from ..numerics.array import Flags, Real, row_count
from ..numerics.quiet import quiet
from .cells import Cells, is_table, read_cells
from .decide import Decisions, decide
from .decisions import undo_by_encoder, undo_by_target
from .encoder import TableEncoder, aligned, need_rules, parts_of, refuse_unknown, rows_of


def encode_samples(
    X: Any,
    X_target: Any,
    *,
    more: Mapping[str, Iterable[str]] | None = None,
    category: str | None = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    deciding: bool = False,
    kinds: Mapping[str, Any] | None = None,
) -> tuple[Any, Any, TableEncoder | None]:
    """Learn an encoder from both samples, and encode them; arrays of numbers stay as they are.

    Returns both samples, and what made numbers of them or None.

    ``X_target`` may be a one-tuple of the rows, or None. ``more`` are levels known without rows.
    The column ``category`` is one, whatever it holds, and keeps all its levels.
    Rows of weight zero are not there: what they alone have is unknown, as it is in new rows.
    ``deciding`` about two frames follows the rules of the command line: columns of one of them, row
    identifiers, constants and copies are left out, codes are categories. ``kinds`` are as those of
    `TableEncoder`, and stand for what would be decided.
    """
    T = unwrap_target(X_target)
    kinds = dict(kinds or {})
    if category is not None:
        kinds[category] = "category"
    here, there = _kept(X, sample_weight, row_weights), None
    if T is not None:
        there = _kept(T, unwrap_target(target_weight), target_weights)
    made, encoder = _decisions(X, T, kinds, (here, there)) if deciding else (None, None)
    if made is None and not need_rules(X, T) and not kinds:
        return X, X_target, None
    if made is not None and not made.train:
        raise InputError(" ".join(["No column is left that varies.", *map(str, made.notes)]))
    train = rows_of(X, "X") if made is None else made.train
    target = (
        None
        if T is None
        else aligned(rows_of(T, "X_target") if made is None else made.target, train)
    )
    refuse_unknown(kinds, train)
    if category is not None:
        more = {**(more or {}), category: levels_of(category, train, target)}
    if encoder is None or more:
        undo = undo_by_target if deciding else undo_by_encoder
        encoder = TableEncoder({**({} if made is None else made.kinds), **kinds})
        encoder.fit_cells(train, target, more, (here, there), undo)
    if made is not None:
        encoder._said = (*map(parts_of, made.notes), *encoder._said)
    points = _encoded(encoder, train, "X", here)
    if target is None:
        return points, None, encoder
    return points, _encoded(encoder, target, "X_target", there), encoder


def _decisions(
    X: Any,
    target: Any,
    kinds: Mapping[str, Any],
    kept: tuple[Flags | None, Flags | None],
) -> tuple[Decisions | None, TableEncoder | None]:
    """Decide about the columns of two frames; None where all of them are taken as they are.

    The encoder comes with it where it had to be fitted.
    """
    if not all(is_table(part) and not hasattr(part, "read_cells") for part in (X, target)):
        return None, None
    need = need_rules(X, target) or bool(kinds)
    try:
        rows = rows_of(X, "X"), rows_of(target, "X_target")
    except InputError:
        if need:
            raise
        return None, None  # which the check of numbers refuses
    settled = tuple(name for name, kind in kinds.items() if kind != "season")
    made = decide(*rows, settled, kept)
    if need or made.notes:
        return made, None
    try:
        encoder = TableEncoder(made.kinds)
        encoder.fit_cells(made.train, made.target, None, kept, undo_by_target)
    except InputError:  # nothing varies, or some numbers are infinite
        return None, None
    whole = len(encoder.features_) == len(made.train)
    return (None, None) if whole else (made, encoder)


def levels_of(name: str, *samples: Mapping[str, Cells] | None) -> list[str]:
    """All levels of a column that is taken as a category."""
    words = (part[name].as_text().words for part in samples if part is not None)
    return list(dict.fromkeys(word for found in words for word in found))


def _kept(X: Any, weight: Any, check: Callable[..., RowWeights]) -> Flags | None:
    """Return which rows have a weight (rows,); None where all have, or X is refused later."""
    if weight is None or not hasattr(X, "__len__"):
        return None
    kept = check(row_count(X), weight).kept
    return None if kept.all() else kept


def _encoded(encoder: TableEncoder, cells: Any, title: str, kept: Flags | None) -> Real:
    if kept is None:
        return encoder.encode_read(cells, title)
    with quiet(UnseenLevelWarning):  # of rows that weigh nothing
        return encoder.encode_read(cells, title)


def by_table_column(encoder: TableEncoder, values: Real) -> Real:
    """Add up values of encoded columns (columns,) to those of the table's own: (n,)."""
    place = {name: k for k, name in enumerate(encoder._names)}
    owner = [place[feature.name] for feature in encoder.features_ for _ in feature.columns]
    return np.asarray(np.bincount(owner, values, minlength=len(place)), dtype=np.float64)


@contextmanager
def numbers_only(who: str, **samples: Any) -> Iterator[None]:
    """Where rows are refused because they are a table, say which columns need an encoder."""
    try:
        yield
    except InputError:
        for title, X in samples.items():
            _refuse_table(unwrap_target(X), title, who)
        raise


def refuse_columns(X: Any, title: str, who: str) -> None:
    """Refuse, by name and type, columns of text or dates; a table of no rows will do."""
    found = [f"{name!r} (text)" for name in category_columns(X)]
    _refuse(found + [f"{name!r} (dates)" for name in date_columns(X)], title, who)


def _refuse_table(X: Any, title: str, who: str) -> None:
    if column_names(X) is None:
        return
    refuse_columns(X, title, who)
    gaps = {name: int(cells.gaps.sum()) for name, cells in read_cells(X, title).items()}
    _refuse([f"{name!r} ({count:,} gaps)" for name, count in gaps.items() if count], title, who)


def _refuse(found: list[str], title: str, who: str) -> None:
    if found:
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise InputError(
            f"{title} has columns that are not plain numbers: {', '.join(found[:5])}{more}. {who} "
            "sees only a part of the rows at a time and cannot learn what they are. Encode first, "
            "in the same way for all rows: encoder = covshift.TableEncoder().fit(rows, "
            "X_target=X_target), then encoder.transform."
        )


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
