"""Which target rows have no training rows near, and which column is to blame.

A row is flagged where it lies in a part of the target that a single column shows to have no
training rows (`covshift._support`: significant, corrected for all columns, sides and values). Once
these rows are set aside others may stand out, so the search is repeated. And where the verdict
rests on what the columns show together, a row is flagged that has no training rows nearby, in the
sense of `Support.outside`; the column in which it differs most from the nearest training row is
named. Between samples of one distribution both are rare: the first happens in one pair of samples
in a hundred, the second needs a verdict of "strong" or "no overlap".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._optional import import_extra
from .._support import NO_OVERLAP, Uncovered, uncovered
from .._two_samples import TwoSamples
from .._types import Flags, Real, Rows
from ..show.table import Table, card
from ..show.words import percent, printable
from .support import Nearby, Support

OUTSIDE = 0.1  # share of the target without training rows nearby from which these are flagged
_ROUNDS = 5  # setting one part aside can show another
_NAMED = 5  # parts that a sentence names
_CELLS = 5_000_000_000  # products of the search for neighbours, at most
_FEWEST, _MOST = 500, 4_000  # training rows that it takes


@dataclass(frozen=True)
class RowFlags:
    """Which target rows have no training rows near, and why.

    ``uncovered`` (M,) is true for these, in the order of the rows given; rows of weight zero are no
    part of the target, and false. ``reason`` (M,) is the number of the row's entry in ``reasons``,
    -1 for a row that is covered.
    """

    uncovered: Flags = field(repr=False)
    reason: Rows = field(repr=False)
    reasons: tuple[str, ...]

    @property
    def count(self) -> int:
        """Number of rows flagged."""
        return int(self.uncovered.sum())

    @property
    def why(self) -> list[str]:
        """One reason per target row, empty where it is covered."""
        texts = [*self.reasons, ""]
        return [texts[k] for k in self.reason]

    @property
    def counts(self) -> dict[str, int]:
        """Rows flagged for each reason, most of them first."""
        rows = np.bincount(self.reason[self.uncovered], minlength=len(self.reasons))
        order = np.argsort(-rows, kind="stable")
        return {self.reasons[k]: int(rows[k]) for k in order if rows[k]}

    def to_dict(self) -> dict[str, Any]:
        """Return how many rows are flagged, and why."""
        return {"uncovered": self.count, "why": self.counts}

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per target row: overlap, and why not."""
        pandas = import_extra("pandas", extra="pandas", needed_by="RowFlags.to_frame")
        return pandas.DataFrame({"overlap": ~self.uncovered, "why": self.why})

    def _repr_html_(self) -> str:
        M = len(self.uncovered)
        first = f"{self.count:,} of {M:,} target rows have no training rows near."
        rows = [(why, f"{count:,}", percent(count / M)) for why, count in self.counts.items()]
        head = ("why", "rows", "share of the target")
        return card(first, *([Table.of(head, rows)] if rows else []))

    def __str__(self) -> str:
        M = len(self.uncovered)
        if not self.count:
            return f"All {M:,} target rows have training rows near."
        listed = [f"{rows:,}: {why}" for why, rows in list(self.counts.items())[:_NAMED]]
        more = len(self.counts) - _NAMED
        tail = f"; and {more} more reasons" if more > 0 else ""
        return (
            f"{self.count:,} of {M:,} target rows ({percent(self.count / M)}) have no training "
            f"rows near. {'; '.join(listed)}{tail}."
        )


def significant_parts(samples: TwoSamples, kept: Flags | None = None) -> tuple[Uncovered, ...]:
    """Parts of the target, or of its ``kept`` rows (M,), without training rows.

    Cells of a number that were filled are no values of it: the mark of its gaps tells of them.
    """
    T, share, size = samples.T, samples.share, samples.target_size
    if kept is not None:
        T, share = T[kept], samples.share[kept] / samples.share[kept].sum()
        size = float(1 / (share @ share)) if samples.weight is not None else float(len(T))
    own = None if samples.sample_weight is None else samples.own
    found = uncovered(samples.X, T, share, size, own=own)
    return tuple(part for part in found if _holds(part, T, samples).any())


def _holds(part: Uncovered, T: Real, samples: TwoSamples) -> Flags:
    """Whether each row lies in the part, and its cell was not filled."""
    inside = part.holds(T)
    feature = next(f for f in samples.features if part.column in f.columns)
    return inside if feature.gaps is None else inside & (T[:, feature.gaps] == 0)


def in_words(parts: Sequence[Uncovered], samples: TwoSamples) -> str:
    """Name the first parts in a sentence without its full stop."""
    names = [printable(name) for name in samples.names]
    said = [part.describe(names, samples.dates) for part in parts[:_NAMED]]
    if len(parts) > _NAMED:
        said.append(f"{len(parts) - _NAMED} more such columns or values")
    return "; ".join(said)


def flag_rows(samples: TwoSamples, support: Support, verdict: str, random_state: int) -> RowFlags:
    """Flag the target rows without training rows near, given what the diagnosis found.

    Cost: that of `uncovered` for each round that finds something; with rows flagged for what the
    columns show together, at most 5 10^9 products.
    """
    reason, parts = set_aside(samples, support.uncovered)
    names = [printable(name) for name in samples.names]
    reasons = [part.where(names, samples.dates) for part in parts]
    if _is_far(support, verdict) and (reason < 0).any():
        _flag_far(samples, support, verdict, reason, reasons, random_state)
    return _of_given(samples, reason, tuple(reasons))


def set_aside(
    samples: TwoSamples, parts: Sequence[Uncovered] | None = None
) -> tuple[Rows, list[Uncovered]]:
    """Find the parts of the target without training rows, and the number of each row's, (M,).

    -1 for a row in none of them. ``parts`` are those of the whole target, where they are known.
    """
    place = np.full(len(samples.T), -1, dtype=np.intp)
    found: list[Uncovered] = []
    new = significant_parts(samples) if parts is None else parts
    for _ in range(_ROUNDS):
        for part in new:
            place[_holds(part, samples.T, samples) & (place < 0)] = len(found)
            found.append(part)
        left = place < 0
        if not new or not left.any():
            break
        new = significant_parts(samples, left)
    return place, found


def _is_far(support: Support, verdict: str) -> bool:
    """Whether the verdict rests on what the columns show together."""
    if support.outside is None or verdict not in ("strong", "no overlap"):
        return False
    explained = any(part.excess >= NO_OVERLAP for part in support.uncovered)
    return support.outside >= OUTSIDE or (verdict == "no overlap" and not explained)


def _flag_far(
    samples: TwoSamples,
    support: Support,
    verdict: str,
    reason: Rows,
    reasons: list[str],
    random_state: int,
) -> None:
    M, n = samples.T.shape
    cut = samples.cut(int(np.clip(_CELLS // (M * n), _FEWEST, _MOST)), random_state)
    nearby = Nearby.of(cut.X, cut.T, cut.share, cut.own, cut.groups)
    left = np.flatnonzero(reason < 0)
    far = left[~nearby.near(samples.T[left])]
    share = samples.share
    if reasons and share[far].sum() < OUTSIDE * share[left].sum():
        return  # what single columns show has explained it
    columns = nearby.farthest_column(samples.T[far])
    for feature in samples.features:
        there = np.isin(columns, feature.columns)
        if there.any():
            reason[far[there]] = len(reasons)
            reasons.append(
                f"is far from all training rows, most of all in '{printable(feature.name)}'"
            )


def _of_given(samples: TwoSamples, reason: Rows, reasons: tuple[str, ...]) -> RowFlags:
    """Put the flags in the order of the rows given."""
    found = np.full(samples.n_given, -1, dtype=np.intp)
    found[samples.target_rows] = reason
    return RowFlags(found >= 0, found, reasons)
