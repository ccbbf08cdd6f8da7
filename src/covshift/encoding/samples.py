"""Tables on their way in: encoded together where they have text, dates or gaps, else left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ..data.numbers import category_columns, date_columns
from ..data.row_weights import RowWeights, row_weights, target_weights
from ..data.validation import column_names, unwrap_target
from ..exceptions import InputError, UnseenLevelWarning
from ..numerics.array import Flags, Real, row_count
from ..numerics.quiet import quiet
from .cells import Cells, are_of_files, is_table, read_cells, title_of
from .decide import decide
from .decisions import Decision, undo_by_option, undo_by_target
from .encoder import TableEncoder, aligned, need_rules, parts_of, refuse_unknown, rows_of

_ALL = 10**6  # levels of a category
Kept = tuple[Flags | None, Flags | None]
"""Which rows of both samples there are; None: all of them."""


def encode_samples(
    X: Any,
    X_target: Any,
    *,
    more: Mapping[str, Iterable[str]] | None = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    kinds: Mapping[str, Any] | None = None,
) -> tuple[Any, Any, TableEncoder | None]:
    """Learn an encoder from both samples, and encode them; arrays of numbers stay as they are.

    Returns both samples, and what made numbers of them or None.

    ``X_target`` may be a one-tuple of the rows, or None. ``more`` are levels known without rows,
    ``kinds`` those of `TableEncoder`. Rows of weight zero are not there: what they alone have is
    unknown, as it is in new rows.
    """
    T = unwrap_target(X_target)
    found = _encoded_by(X, T, kinds or {}, more, rows_kept(X, T, sample_weight, target_weight))
    return (X, X_target, None) if found is None else found


def _encoded_by(
    X: Any, T: Any, kinds: Mapping[str, Any], more: Mapping[str, Iterable[str]] | None, kept: Kept
) -> tuple[Any, Any, TableEncoder] | None:
    """Encode two samples without decisions; None where their numbers need no rule."""
    if not need_rules(X, T) and not kinds:
        return None
    train = rows_of(X, "X")
    target = None if T is None else aligned(rows_of(T, "X_target"), train)
    refuse_unknown(kinds, train)
    encoder = TableEncoder(dict(kinds)).fit_cells(train, target, more, kept)
    points = _encoded(encoder, train, "X", kept[0])
    if target is None:
        return points, None, encoder
    return points, _encoded(encoder, target, "X_target", kept[1]), encoder


class Decided(NamedTuple):
    """Two samples as numbers, and what was decided about their columns."""

    X: Any  # as it came where it needs no rule
    T: Any
    encoder: TableEncoder | None = None
    decisions: tuple[Decision, ...] = ()
    left_out: Mapping[str, str] = {}  # columns that are not used, and why


def decide_samples(
    X: Any,
    T: Any,
    *,
    kinds: Mapping[str, Any] | None = None,
    category: str | None = None,
    kept: Kept = (None, None),
    every_level: bool = False,
) -> Decided:
    """Do the same for an answer, which tells in notes what was decided about columns.

    Columns of one sample, row identifiers, constants and copies are left out, codes are categories;
    ``kinds`` stand for what would be decided. Frames that were read from files are mended: columns
    that a user of Python is asked to repair are left out, or read as categories; notes on them name
    options. The column ``category`` is one, whatever it holds, and keeps all its levels. Arrays
    stay as they are. With ``every_level`` those beyond the most frequent ones are kept as well.
    """
    kinds = dict(kinds or {})
    if category is not None:
        kinds[category] = "category"
    if not all(is_table(part) and not hasattr(part, "read_cells") for part in (X, T)):
        return Decided(*(_encoded_by(X, T, kinds, None, kept) or (X, T)))
    titles = title_of(X, "X"), title_of(T, "X_target")
    mending = are_of_files(X, T)
    need = mending or bool(kinds) or need_rules(X, T)
    try:
        rows = rows_of(X, titles[0]), rows_of(T, titles[1])
        if mending and X.equals(T):  # a sample that is there alone
            rows = rows[0], rows[0]
    except InputError:
        if need:
            raise
        return Decided(X, T)  # which the check of numbers refuses
    refuse_unknown({name: kinds[name] for name in kinds if name not in rows[1]}, rows[0])
    settled = tuple(name for name, kind in kinds.items() if kind != "season")
    made = decide(*rows, settled, kept, titles=titles, mending=mending)
    notes = [note.of_command() for note in made.notes] if mending else made.notes
    if not made.train:
        raise InputError(" ".join(["No column is left that varies.", *map(str, notes)]))
    more = {} if category is None else {category: levels_of(category, made.train, made.target)}
    encoder = TableEncoder({**made.kinds, **kinds}, max_levels=_ALL if every_level else 500)
    try:
        undo = undo_by_option if mending else undo_by_target
        encoder.fit_cells(made.train, made.target, more, kept, undo)
    except InputError:  # nothing varies, or some numbers are infinite
        if need or made.notes:
            raise
        return Decided(X, T)
    if not need and not made.notes and len(encoder.features_) == len(made.train):
        return Decided(X, T)
    encoder._said = (*map(parts_of, notes), *encoder._said)
    points, there = (
        _encoded(encoder, cells, title, flags)
        for cells, title, flags in zip((made.train, made.target), titles, kept, strict=True)
    )
    return Decided(points, there, encoder, tuple(made.made), made.left_out)


def levels_of(name: str, *samples: Mapping[str, Cells] | None) -> list[str]:
    """All levels of a column that is taken as a category."""
    words = (part[name].as_text().words for part in samples if part is not None)
    return list(dict.fromkeys(word for found in words for word in found))


def rows_kept(X: Any, T: Any, sample_weight: Any, target_weight: Any) -> Kept:
    """Return which rows of both samples have a weight; None where all have."""
    there = None if T is None else _kept(T, unwrap_target(target_weight), target_weights)
    return _kept(X, sample_weight, row_weights), there


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
