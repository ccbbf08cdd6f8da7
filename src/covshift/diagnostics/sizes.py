"""The effective sample size of the training rows, once they are weighted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.base import clone

from ..exceptions import NoOverlapError
from ..numerics.array import Real, Rows
from ..numerics.quiet import heard
from ..registry import WeighterEntry, weighters
from ..show.table import Cell, Column, Record, Table
from ..show.words import printable
from ..weights import CDFWeights, Weighter, as_weighter

METHODS = tuple(entry.name for entry in weighters() if entry.in_diagnosis)
"""Weighters whose effective sample size a diagnosis shows."""


@dataclass(frozen=True)
class MethodSize(Record):
    """Kish's effective sample size of one weighter.

    ``share`` is the effective sample size (sum w)^2 / sum w^2 of the final weights w, as a share of
    that of the training rows before (their number, where they have no weights of their own), among
    the ``train_rows`` that were weighted; ``effective_sample_size`` is this share of what all
    training rows have. Both are None where the method found no weights, and ``note`` says why.
    """

    method: str
    effective_sample_size: float | None
    share: float | None
    train_rows: int
    target_rows: int
    note: str

    _columns: ClassVar[tuple[Column, ...]] = (
        Column("weights", lambda row: row.method, words=True),
        Column("effective rows", lambda row: _size(row)),
        Column("note", lambda row: row.note, words=True),
    )


def sizes_table(methods: Sequence[MethodSize], rows: int) -> Table:
    """Return the effective sample sizes under a title that says what they are."""
    title = (
        "Effective sample size: how many equally weighted rows are as precise as the "
        f"{rows:,} weighted ones"
    )
    columns = MethodSize._columns
    return Table(
        tuple(methods), columns if any(row.note for row in methods) else columns[:2], title
    )


def _size(row: MethodSize) -> Cell:
    if row.share is None:
        return Cell("none")
    return Cell(f"{row.effective_sample_size:,.0f} ({row.share:.0%})", row.effective_sample_size)


def row_limit(method: str) -> int:
    """Rows of a sample beyond which this method is too slow to be shown.

    >>> row_limit("cdf")
    100000
    """
    return int({entry.name: entry.rows for entry in weighters()}.get(method, WeighterEntry.rows))


def weigh(
    method: str,
    X: Real,
    T: Real,
    target_weight: Real | None,
    sample_weight: Real | None = None,
    *,
    random_state: int,
    groups: Rows | None = None,
) -> tuple[Any, str]:
    """Fit the weighter; return it, or None, and what it had to say in one line.

    ``groups`` (n,) tells which columns are one feature.
    """
    weighter = clone(as_weighter(method))
    if groups is not None:
        weighter = weighter.of_features(groups)
    if isinstance(weighter, CDFWeights):
        weighter.set_params(allow_no_overlap=True)
    if "random_state" in weighter.get_params():
        weighter.set_params(random_state=random_state)
    with heard() as caught:
        try:
            given = {"target_weight": target_weight, "sample_weight": sample_weight}
            weighter.fit(X, X_target=T, **given)
        except (NoOverlapError, ValueError) as error:
            return None, _first_sentence(str(error))
    said = [_first_sentence(item.text) for item in caught]
    return weighter, " ".join(dict.fromkeys(said))


def method_size(
    method: str,
    weighter: Weighter | None,
    note: str,
    used: tuple[int, int],
    sizes: tuple[float, float],
) -> MethodSize:
    """Put the outcome of `weigh` on ``used`` rows of both samples into a line of the result.

    ``sizes`` are the effective numbers of training rows before it: of those used, and of all.
    """
    if weighter is None:
        return MethodSize(method, None, None, *used, note)
    kept = weighter.effective_sample_size_ / sizes[0]
    return MethodSize(method, kept * sizes[1], kept, *used, note)


def with_names(note: str, names: Sequence[str]) -> str:
    """Put the names of columns in place of their numbers.

    >>> with_names("No weights fit (columns 0, 2).", ["age", "town", "income"])
    "No weights fit (columns 'age', 'income')."
    """

    def named(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[2].split(", ")]
        if max(numbers) >= len(names):
            return match[0]
        return match[1] + ", ".join(f"'{printable(names[k])}'" for k in numbers)

    return re.sub(r"(\bcolumns? )(\d+(?:, \d+)*)", named, note)


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].split(": ")[0].rstrip(".") + "."
