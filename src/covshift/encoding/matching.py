"""A table meets another, or the rules that were learned: by name, or refused by name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._numbers import category_columns, date_columns
from .._validation import column_names
from ..exceptions import InputError, UnseenLevelWarning
from .cells import PLURAL, Cells, is_table, read_cells
from .feature import MISSING, Feature, Unseen
from .learning import of_kind
from .words import TRUTHS, as_days, as_numbers, as_truths


def need_rules(X: Any, target: Any) -> bool:
    """Whether rows have to be encoded; refuse a table beside an array, unless both are numbers."""
    if is_plain(X) and is_plain(target, "X_target"):
        return False
    pair = [X] if target is None else [X, target]
    if all(map(is_table, pair)):
        return True
    if not any(map(has_text, pair)):  # gaps beside an array, which the check of numbers refuses
        return False
    raise InputError(
        "X and X_target must both be data frames with the same columns, since one of them holds "
        "text, dates or gaps."
    )


def has_text(X: Any) -> bool:
    """Whether some columns of a frame hold text or dates."""
    return bool(category_columns(X) or date_columns(X))


def is_plain(X: Any, title: str = "X") -> bool:
    """Whether rows are numbers without gaps, or no table at all."""
    if X is None or not is_table(X):
        return True
    names = column_names(X) or []
    if len(set(names)) < len(names):  # which the check of numbers refuses
        return True
    if has_text(X):
        return False
    return not any(np.isnan(cells.values).any() for cells in read_cells(X, title).values())


def rows_of(X: Any, title: str) -> dict[str, Cells]:
    """Read every column; refuse a table without any, or without rows."""
    cells = read_cells(X, title)
    if not cells or not len(next(iter(cells.values()))):
        raise InputError(f"{title} is empty: it has no {'rows' if cells else 'columns'}.")
    return cells


def aligned(target: dict[str, Cells], train: dict[str, Cells]) -> dict[str, Cells]:
    """Put the target's columns in the order of X; others are refused by name."""
    absent = [name for name in train if name not in target]
    extra = [name for name in target if name not in train]
    if absent or extra:
        parts = [f"lacks {', '.join(map(repr, absent[:10]))}"] * bool(absent)
        parts += [f"has {', '.join(map(repr, extra[:10]))} besides"] * bool(extra)
        raise InputError(
            f"X_target must have the columns of X: it {' and '.join(parts)}. Select the columns "
            "that both have."
        )
    return {name: target[name] for name in train}


def fitted_to(feature: Feature, cells: Cells, title: str) -> Cells:
    """Return cells as the rule takes them; refuse, by name, what it cannot take."""
    wanted = feature.kind
    if cells.kind == wanted or cells.empty:
        return of_kind(cells, wanted)
    numbers = ("number", "boolean")
    if wanted in ("category", "ordered"):
        return of_kind(cells, wanted)
    if cells.kind in numbers and wanted in numbers:
        strange = ~np.isin(cells.values, (0.0, 1.0)) & ~np.isnan(cells.values)
        if wanted == "boolean" and strange.any():
            raise InputError(
                f"{title}: column {cells.name!r} holds {cells.values[strange][0]:g}, and the fit "
                "saw true and false."
            )
        return of_kind(cells, wanted)
    if cells.is_text and wanted == "boolean":
        return Cells(cells.name, wanted, as_truths(cells, feature.fill or 0.0))
    if cells.is_text:
        try:
            return Cells(
                cells.name, wanted, as_days(cells) if wanted == "date" else as_numbers(cells)
            )
        except InputError:
            pass
    raise InputError(
        f"{title}: column {cells.name!r} holds {PLURAL[cells.kind]}, and the fit saw "
        f"{PLURAL[wanted]}."
    )


def strange_truths(feature: Feature, cells: Cells, unseen: Unseen) -> None:
    """Count words that are neither true nor false, where the fit saw these alone."""
    if feature.kind == "boolean" and cells.is_text:
        strange = cells.mapped({w: w.lower() not in TRUTHS for w in cells.words}, False)
        unseen.count(cells, strange.astype(bool))


def _taken_as(feature: Feature) -> str:
    """Say what cells count as that a rule has no place for."""
    if feature.kind == "ordered":
        return f"{feature.levels[int(feature.fill or 0)]!r}, the middle of the training rows"
    if feature.kind == "boolean":
        return f"{'true' if feature.fill else 'false'}, as the middle of the training rows is"
    if len(feature.levels) == 2:
        return f"{feature.levels[0]!r}, the more frequent of the two known levels"
    return "none of the known levels"


def warn_of(feature: Feature, unseen: Unseen, rows: int, title: str) -> None:
    """Warn of cells that a rule has no place for, and say what they count as."""
    if unseen.rows:
        levels = sorted(unseen.levels)
        if levels == [MISSING]:
            what = "gaps, and the fit saw none"
        else:
            more = " ..." * (len(levels) > 5)
            what = f"levels that the fit never saw: {', '.join(map(repr, levels[:5]))}{more}"
        warnings.warn(
            f"{title}: column {feature.name!r} has {what} ({unseen.rows:,} of {rows:,} rows). They "
            f"count as {_taken_as(feature)}.",
            UnseenLevelWarning,
            stacklevel=5,
        )
    if unseen.gaps:
        warnings.warn(
            f"{title}: column {feature.name!r} has {unseen.gaps:,} gaps, and the fit saw none. "
            f"They count as {feature.fill:.6g}, the median of the training rows.",
            UnseenLevelWarning,
            stacklevel=5,
        )
