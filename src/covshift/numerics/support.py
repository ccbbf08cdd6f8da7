"""Parts of the target that lie where a column has no training rows, one column at a time.

A mean over many features hides a single one whose target values the training sample never saw, so
every column is tested on its own. Let k target rows lie strictly above the largest of N training
values, M rows being in the target. Without a shift all orders of the N + M rows are equally likely,
and k or more rows lie there when the k largest of all are target rows:

    P = prod_{j < k} (M - j) / (N + M - j) = C(M, k) / C(N + M, k) .

Ties do not matter: given which of the values are equal, the number of rows above the training
values can only be the size of the highest groups together, and at each such k the chance is P. The
same holds below the smallest value. And a value that k rows of both samples have is missing from
the training sample when all k of them are target rows: P again. It is a test of its own for each
value, except for the smallest and the largest of all, which the sides cover, and for those so rare
that their absence could not be significant. Which values these are depends on both samples
together, not on which row came from which, so it does not disturb the tests. Holm's method corrects
for all of them, those of values that are not missing included.

A number between neighbours that training rows have is covered all the same, such as an age of 72
between 71 and 73: where these are at most a tenth of the distance between the training quartiles
apart, or two steps of a column of more than twenty values. A level of a category has no neighbours,
and fewer values may be codes.

A significant part need not matter. The training extreme is the outermost of N rows, and in a sample
of 50 rows a shift by one standard deviation, which weights correct well, often leaves a tenth of
the target beyond it. What counts is the ``excess`` of the share over 10 / N: where the training
distribution has more mass than that, N rows all miss it with a chance below e^-10.

Target weights: integers are repeated rows; others count by their effective number, and never for
more rows than there are. Source: ours (exceedance tests: Epstein 1954, *Tables for the distribution
of the number of exceedances*).
"""

from __future__ import annotations

import warnings
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..data.features import MISSING
from ..exceptions import OverlapWarning
from ..show.table import Record
from ..show.words import as_date, readable
from .array import Flags, Real, is_numpy, to_numpy
from .parallel import over_rows
from .row_sample import ENOUGH_ROWS
from .statistics import holm

LEVEL = 0.01  # chance that anything is reported between samples of one distribution
NO_OVERLAP = 0.1  # excess share of the target in one such part from which weights are refused
STRONG = 0.05  # and from which they need caution
MISSED = 10.0  # rows' worth of training mass that may have been missed
_FEW_VALUES = 20  # different values that may be codes, which have no neighbours
_DRAWN = 8  # of 20,000 rows, drawn with repeats: a thousandth of the target has about twenty
_WORTH_THREADS = 100_000  # values to sort
_ATTAINABLE = 1e-3  # a value is tested where its absence would be at least this significant


@dataclass(frozen=True)
class Uncovered(Record):
    """A part of the target that lies where one column has no training rows.

    ``side`` is "below" or "above" the training values, ``value`` being the smallest or largest of
    these, or "at" a ``value`` that no training row has. ``share`` of the target is there,
    ``excess`` of it beyond the 10 / N that N training rows may miss by chance, and ``p_value`` is
    corrected for all columns, sides and values (Holm).
    """

    column: int
    side: Literal["below", "above", "at"]
    value: float
    share: float
    excess: float
    p_value: float

    def holds(self, T: Real) -> Flags:
        """Whether each of the rows T (M, n) lies there."""
        t = T[:, self.column]
        if self.side == "at":
            return np.asarray(t == self.value)
        return np.asarray(t < self.value if self.side == "below" else t > self.value)

    def describe(
        self, names: Sequence[str] | None = None, dates: Container[int] = frozenset()
    ) -> str:
        """Say it in a sentence without its full stop.

        >>> Uncovered(0, "above", 3.5, 0.39, 0.37, 1e-9).describe(["income"])
        "39% of the target lies above 3.5, the largest training value of 'income'"
        """
        return f"{self._share} of the target {self.where(names, dates)}"

    def where(self, names: Sequence[str] | None = None, dates: Container[int] = frozenset()) -> str:
        """Say where its rows lie, after "the target" or "the row".

        Columns of an encoded table are told in the words of the table; ``dates`` are numbers of
        columns that hold days since 1970-01-01.

        >>> Uncovered(0, "at", 1.0, 0.1, 0.1, 1e-9).where(["town=Bern"])
        "has 'town' = 'Bern', which no training row has"
        """
        name = f"column {self.column}" if names is None else f"'{names[self.column]}'"
        value = as_date(self.value) if self.column in dates else readable(self.value)
        if abs(self.value) < 10_000:  # it may be a year
            value = value.replace(",", "")
        if self.side == "at":
            return self._of_table(name) or f"has {name} = {value}, which no training row has"
        extreme = "smallest" if self.side == "below" else "largest"
        return f"lies {self.side} {value}, the {extreme} training value of {name}"

    @property
    def _share(self) -> str:
        return f"{self.share:.0%}" if self.share >= 0.01 else f"{100 * self.share:.2g}%"

    def _of_table(self, quoted: str) -> str:
        """Words for a level, or for a missing value; empty for a column of other values."""
        name, sign, level = quoted.strip("'").partition("=")
        if sign and self.value == 1:
            return f"has '{name}' = '{level}', which no training row has"
        if sign and self.value == 0:
            return f"has another '{name}' than '{level}', which all training rows have"
        if quoted.endswith(f"{MISSING}'") and self.value == 1:
            name = quoted.strip("'").removesuffix(MISSING)
            return f"lacks '{name}', which is known in all training rows"
        return ""


def uncovered(
    X: Real, T: Real, share: Real, size: float, *, own: Real | None = None
) -> tuple[Uncovered, ...]:
    """Return the significant parts of the target without training rows, the largest share first.

    ``share`` (M,) sums to one and ``size`` is the number of rows that it stands for. The shares
    ``own`` (N,) of the training rows, positive, are equal without them; others count by their
    effective number. Cost O((N + M) n log(N + M)) in time, O(N + M) in memory.
    """
    N = float(len(X) if own is None or own.min() == own.max() else 1 / (own @ own))
    rows = RowCounts(N, float(size), int(np.count_nonzero(share)))
    found, tests = _sides(X.min(axis=0), X.max(axis=0), T, share), 0
    fewest, n = _fewest(rows), X.shape[1]
    lacking: list[tuple[list[_Part], int]] = [([], 0)] * n

    def work(columns: slice) -> None:
        for k in range(n)[columns]:
            lacking[k] = _levels(X[:, k], own, T[:, k], share, rows, fewest)

    over_rows(work, n, at_least=1 + _WORTH_THREADS // (len(X) + len(T)))
    for k, (levels, tested) in enumerate(lacking):
        found += [part._replace(column=k) for part in levels]
        tests += tested - len(levels)
    return _significant(found, tests, rows)


def beyond_extremes(
    low: Any, high: Any, N: float, T: Any, share: Any, size: float
) -> tuple[Uncovered, ...]:
    """`uncovered` from the training extremes (n,) alone, for rows on a device or a cluster.

    Values that the training sample lacks between its extremes are not looked for.
    """
    rows = RowCounts(N, float(size), int((share > 0).sum()))
    return _significant(_sides(low, high, T, share), 0, rows)


class RowCounts(NamedTuple):
    """Row counts: training, target (weighted), target (actual)."""

    N: float
    size: float
    present: int

    def counted(self, share: float, present: int) -> float:
        """Rows that ``present`` target rows of this share stand for, in whole numbers."""
        whole = float(np.floor(share * self.size + 1e-6))
        return whole if self.size > self.present else min(whole, float(present))


class _Part(NamedTuple):
    column: int
    side: Literal["below", "above", "at"]
    value: float
    share: float
    present: int


def chance(k: float, N: float, M: float) -> float:
    """C(M, k) / C(N + M, k): that k given rows of N + M are all among the M.

    >>> round(chance(2, 3, 2), 6)
    0.1
    """
    if k > M:
        return 0.0
    logs = gammaln([M + 1, M - k + 1, N + M + 1, N + M - k + 1])
    return float(np.exp(logs[0] - logs[1] - logs[2] + logs[3]))


def _sides(low: Any, high: Any, T: Any, share: Any) -> list[_Part]:
    found = []
    for k in range(T.shape[1]):
        t = T[:, k]
        for side, beyond, extreme in (("below", t < low[k], low), ("above", t > high[k], high)):
            present = int((beyond & (share > 0)).sum())
            mass, value = 0.0, float(extreme[k])
            if present:
                mass = min(1.0, round(float(share[beyond].sum()), 12))  # a tenth is a tenth
                there = t[beyond & (share > 0)]
                if float(there.min()) == float(there.max()):
                    side, value = "at", float(there.min())
            found.append(_Part(k, side, value, mass, present))  # type: ignore[arg-type]
    return found


def _levels(
    x: Real, own: Real | None, t: Real, share: Real, rows: RowCounts, fewest: int
) -> tuple[list[_Part], int]:
    """Values that the training sample lacks inside its range, and how many were tested.

    Those beyond its range are tested as well, but the sides tell of them.
    """
    if fewest > rows.N + rows.size or not _has_ties(x, own, t, share, rows, fewest):
        return [], 0
    seen, count = _counted(x, own, rows.N)
    values, present, mass = _values(t[share > 0], share[share > 0])
    place = np.minimum(np.searchsorted(seen, values), len(seen) - 1)
    lacking = seen[place] != values
    low, high = min(seen[0], values[0]), max(seen[-1], values[-1])
    pooled = mass * rows.size + np.where(lacking, 0, count[place])
    tested = (pooled >= fewest - 1e-6) & (values > low) & (values < high)
    both = np.zeros(len(seen), dtype=bool)
    both[place[~lacking]] = True
    alone = (count >= fewest) & ~both & (seen > low) & (seen < high)
    inside = (values > seen[0]) & (values < seen[-1])
    gaps = tested & lacking & inside & ~_between_neighbours(values, place, seen, x)
    found = [
        _Part(0, "at", float(values[j]), float(mass[j]), int(present[j]))
        for j in np.flatnonzero(gaps)
    ]
    return found, int(tested.sum() + alone.sum())


def _between_neighbours(values: Real, place: NDArray[np.intp], seen: Real, x: Real) -> Flags:
    """Whether the training values around each value are close together."""
    every = np.union1d(values, seen)
    low, high = np.quantile(x, (0.25, 0.75))
    step = float(np.diff(every).min()) if len(every) > _FEW_VALUES else 0.0
    near = max(2 * step, (high - low) / 10) * (1 + 1e-9)
    return np.asarray(seen[place] - seen[np.maximum(place - 1, 0)] <= near)


def _has_ties(
    x: Real, own: Real | None, t: Real, share: Real, rows: RowCounts, fewest: int
) -> bool:
    """Whether some value may have ``fewest`` rows of both samples; False is certain.

    One of the samples then has half of them. Beyond 20,000 target rows values with a thousandth of
    them are looked for, in rows that are drawn. Rows of unequal weights, and of a target that
    stands for more rows than it has, are not counted here.
    """
    if (own is not None and own.min() != own.max()) or share.min() != share.max():
        return True
    half = (fewest + 1) // 2
    if rows.size > rows.present or half < 2:
        return True
    if len(t) > ENOUGH_ROWS:
        drawn = np.sort(np.random.default_rng(0).choice(t, ENOUGH_ROWS))
        return bool((drawn[_DRAWN - 1 :] == drawn[: 1 - _DRAWN]).any())
    return any(
        len(ranked) >= half and bool((ranked[half - 1 :] == ranked[: 1 - half]).any())
        for ranked in (np.sort(x), np.sort(t))
    )


def _values(t: Real, share: Real) -> tuple[Real, NDArray[np.intp], Real]:
    """Distinct values, how many rows have each, and their share."""
    values, present = np.unique(t, return_counts=True)
    if np.ptp(share) <= 1e-12 * share.max():
        return values, present, present / len(t)
    sums = np.bincount(np.searchsorted(values, t), weights=share, minlength=len(values))
    return values, present, sums.astype(np.float64)


def _counted(x: Real, own: Real | None, N: float) -> tuple[Real, Real]:
    """Distinct training values, and how many of N rows have each."""
    if own is None or own.min() == own.max():
        seen, counts = np.unique(x, return_counts=True)
        return seen, counts.astype(np.float64)
    seen, _, mass = _values(x, own)
    return seen, N * mass


def _fewest(rows: RowCounts) -> int:
    """Rows that a value needs in both samples, so that its absence could be significant."""
    k = 2
    while k <= rows.size and chance(k, rows.N, rows.size) > _ATTAINABLE:
        k += max(1, k // 20)
    return k if k <= rows.size else int(rows.N + rows.size) + 1


def _significant(found: list[_Part], others: int, rows: RowCounts) -> tuple[Uncovered, ...]:
    """Keep what Holm's method finds among these tests and as many ``others`` that found nothing."""
    p_values = [chance(rows.counted(p.share, p.present), rows.N, rows.size) for p in found]
    corrected = holm(np.concatenate([p_values, np.ones(others)]))[: len(found)]
    kept = [
        Uncovered(*part[:4], max(0.0, part.share - MISSED / rows.N), float(p))
        for part, p in zip(found, corrected, strict=True)
        if p <= LEVEL
    ]
    return tuple(sorted(kept, key=lambda part: -part.share))


# One alarm for all: parts of the target that lie where a column has no training rows.
#
# Every weighter and every corrected estimator raises it at its door, from the extremes of the
# training columns alone: O((N + M) n) time, no array besides. The test is that above; so that it
# says nothing of a shift that can be corrected, a significant part must also be
#
# - a tenth of the target beyond the 10 / N that N training rows may miss by chance, from which
#   answers are refused too; or
# - a tenth of the target that lies beyond the training values by more than their whole range, which
#   few rows tell as well.


_NAMED = 5  # parts that a message names


def parts_apart(X: Any, T: Any, share: Any, size: float, N: float) -> tuple[Uncovered, ...]:
    """Return the parts of the target that no training row is near to, the largest first.

    X (rows, n), T (M, n) and the target's shares (M,), of NumPy or tensors of one device; ``size``
    and ``N`` are the numbers of rows that the target and the training rows stand for.
    """
    low, high = (X.min(axis=0), X.max(axis=0)) if is_numpy(X) else (X.amin(0), X.amax(0))
    return beyond(to_numpy(low), to_numpy(high), T, share, size, N)


def beyond(low: Any, high: Any, T: Any, share: Any, size: float, N: float) -> tuple[Uncovered, ...]:
    """`parts_apart` from the extremes of the training columns, (n,) each."""
    return tuple(
        part
        for part in beyond_extremes(low, high, N, T, share, size)
        if part.excess >= NO_OVERLAP
        or _far(T[:, part.column], share, float(low[part.column]), float(high[part.column]))
    )


def warn_of_apart(
    parts: Sequence[Uncovered], who: str, names: Any = None, *, stacklevel: int
) -> None:
    """Raise the alarm, where there are such parts; ``names`` are those of the columns."""
    if not parts:
        return
    found = "; ".join(part.describe(names) for part in parts[:_NAMED])
    more = f"; and {len(parts) - _NAMED} more such parts" if len(parts) > _NAMED else ""
    warnings.warn(
        f"There is no overlap: {found}{more}. {who} cannot correct for what no training row shows: "
        "restrict the target to where there are training rows, or leave out the column.",
        OverlapWarning,
        stacklevel=stacklevel + 1,
    )


def _far(t: Any, share: Any, low: float, high: float) -> bool:
    """Whether a tenth of the target lies beyond the training values by more than their range."""
    with np.errstate(over="ignore"):
        reach = np.float64(high) - low
        above, below = float(high + reach), float(low - reach)
    return float(share[(t > above) | (t < below)].sum()) >= NO_OVERLAP
