"""`diagnose` with a target known by its margins alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import isinf
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtrc, ndtr
from sklearn.base import clone

from ..data.row_weights import kish
from ..exceptions import NoOverlapError
from ..margins import Margins
from ..margins.cells import Brackets, Margin, Moments
from ..margins.reading import table_parts
from ..margins.sample import Balance, KnownRows, balance_of
from ..numerics.array import Real, Whole
from ..numerics.quiet import quiet
from ..numerics.statistics import holm
from ..numerics.support import MISSED, NO_OVERLAP, STRONG
from ..registry import MARGINS, weighters
from ..show.notes import Note
from ..show.table import Cell, Column, Record, Table
from ..show.words import NAME, signed
from ..weights import CDFWeights, as_weighter
from .result import Judged, p_value
from .verdict import (
    METHODS,
    NEGLIGIBLE_KS,
    NEGLIGIBLE_SMD,
    STRONG_SIZE,
    Judgement,
    MethodSize,
    Verdict,
    method_size,
    sizes_table,
)

_OWN = tuple(
    entry.name for entry in weighters() if MARGINS in entry.can and isinf(entry.compared_up_to)
)
"""Weighters that take any number of margins."""


_FIRST = "cdf"  # it tells whether there is overlap
_MET = 1e-3  # largest gap of weights that give the sample the margins


def diagnose_margins(
    rows: KnownRows, *, weight: Real | None = None, methods: Sequence[str] = METHODS
) -> MarginsDiagnosis:
    """Compare rows with their margins; ``weight`` (N,) are design weights."""
    margins = rows.margins
    d = np.ones(len(rows)) if weight is None else weight
    N = kish(d)
    rough = 1 / N + (0.0 if margins.size is None else 1 / margins.size)
    shifts = margin_shifts(rows, d, rough)
    wanted = _OWN if tuple(methods) == METHODS else tuple(methods)
    fits = {name: _weighed(name, rows, weight) for name in dict.fromkeys([_FIRST, *wanted])}
    sizes = tuple(method_size(name, *fits[name], (len(rows), 0), (N, N)) for name in wanted)
    fitted = [found for found, _ in fits.values() if found is not None]
    balanced = [(balance_of(margins, rows, d * found.weights_), found) for found in fitted]
    best, nearest = min(balanced, key=lambda pair: _largest(pair[0]), default=(None, None))
    met = best is not None and _largest(best) <= _MET
    overlap = _overlap(rows, weight, shifts, N, met or _agrees(fits[_FIRST][0]))
    return MarginsDiagnosis(
        *judge(shifts, sizes, N, overlap),
        n_train=len(rows),
        size=margins.size,
        margins=shifts,
        numbers=published_numbers(balance_of(margins, rows, d), best),
        methods=sizes,
        overlap=overlap,
        notes=_notes(rows),
        columns=tuple(margins.columns),
        source=margins.source,
        weights=None if nearest is None else d * nearest.weights_,
        weighter="" if nearest is None else type(nearest).__name__,
    )


def margins_corrected(
    diagnosis: MarginsDiagnosis, rows: KnownRows, weight: Real | None, weights: Real, weighter: str
) -> MarginsDiagnosis:
    """Show the published numbers under other final weights (N,); ``weight`` are design weights."""
    balances = (balance_of(rows.margins, rows, part) for part in (weight, weights))
    numbers = published_numbers(*balances)
    return replace(diagnosis, numbers=numbers, weights=weights, weighter=weighter)


def _weighed(method: str, rows: KnownRows, weight: Real | None) -> tuple[Any, str]:
    weighter = clone(as_weighter(method))
    if isinstance(weighter, CDFWeights):
        weighter.set_params(allow_no_overlap=True)
    with quiet():
        try:
            return weighter.fit(rows, X_target=rows.margins, sample_weight=weight), ""
        except (NoOverlapError, ValueError) as error:
            return None, str(error).partition(". ")[0].rstrip(".") + "."


def _overlap(
    rows: KnownRows,
    weight: Real | None,
    shifts: Sequence[MarginShift],
    N: float,
    met: bool,
) -> bool:
    """Whether weights give the sample the margins of cells that have rows."""
    if any(shift.uncovered - MISSED / N >= NO_OVERLAP for shift in shifts):
        return False
    if met or not any(shift.uncovered for shift in shifts):
        return met
    covered = replace(rows, margins=_covered(rows))  # empty cells count for themselves
    return _weighed("raking", covered, weight)[0] is not None


def _covered(rows: KnownRows) -> Margins:
    """Return the margins of the cells that have rows."""
    single: dict[str, Any] = {}
    for name, part in rows.margins.single.items():
        if isinstance(part, Margin):
            there = np.bincount(rows.cells(name), minlength=len(part.share)) > 0
            single[name] = Margin(part.cells, part.share * there / (part.share @ there))
    tables = []
    for table in rows.margins.tables:
        if not set(table.columns) & set(single):
            there = np.bincount(table_cells(rows, table), minlength=table.share.size) > 0
            share = table.share * there.reshape(table.share.shape)
            tables.append(replace(table, share=share / share.sum()))
    return Margins.of(single, tables, size=rows.margins.size)


def _agrees(cdf: Any) -> bool:
    """Whether CDF weights leave no more than noise."""
    return cdf is not None and bool(cdf.overlap_)


def _largest(rows: Sequence[Balance]) -> float:
    return max(abs(row.gap) for row in rows)


def published_numbers(
    before: Sequence[Balance], after: Sequence[Balance] | None
) -> tuple[PublishedNumber, ...]:
    """Put what margins hold, what the sample says, and the weighted sample beside one another."""
    if after is None:
        return tuple(PublishedNumber(*row, None) for row in before)
    pairs = zip(before, after, strict=True)
    return tuple(PublishedNumber(*row, left.sample, left.gap) for row, left in pairs)


def _notes(rows: KnownRows) -> tuple[Note, ...]:
    notes = [*rows.margins.notes]
    if rows.free:
        named = ", ".join(map(repr, rows.free[:8])) + (" ..." if len(rows.free) > 8 else "")
        notes.append(Note("columns without margins", f"No margin covers {named}."))
    text = (
        "Margins cannot show whether columns are related differently in the sample, nor what "
        "happens inside a bracket: these need target rows."
    )
    notes.append(Note("margins only", text))
    return tuple(notes)


# What a diagnosis found about a sample and margins: verdict first, published numbers next.


_SHOWN = 12  # published numbers, the worst first
_WIDTH = 44  # of what one is called


@dataclass(frozen=True)
class PublishedNumber(Record):
    """One number of the margins, beside that of the sample and of the weighted sample.

    ``gap`` is sample minus target, for means and standard deviations in units of the latter, and
    ``gap_corrected`` weighted sample minus target; ``corrected`` is None where no weights were
    found.
    """

    what: str
    target: float
    sample: float
    gap: float
    corrected: float | None
    gap_corrected: float | None = None

    _columns: ClassVar[tuple[Column, ...]] = (
        Column("published number", lambda row: row.what, words=True, most=_WIDTH),
        Column("target", lambda row: row.cell(row.target)),
        Column("sample", lambda row: row.cell(row.sample)),
        Column("gap", lambda row: Cell(signed(row.gap), row.gap)),
        Column("weighted", lambda row: row.cell(row.corrected)),
    )

    def cell(self, value: float | None) -> Cell:
        """Write a number like this one."""
        if value is None:
            return Cell("")
        return Cell(f"{value:.3f}" if self.is_share else f"{value:.5g}", value)

    @property
    def is_share(self) -> bool:
        """Whether it is a share of the population, not a mean or a standard deviation."""
        return not self.what.startswith(("the mean of ", "the standard deviation of "))


@dataclass(frozen=True)
class MarginShift(Record):
    """How one column, or a table of two, differs between sample and margins.

    ``distance`` is the largest difference of the distribution functions at the published cuts; of
    categories and tables the largest difference of a share; of means and standard deviations the
    largest one in units of the standard deviation. ``p_value`` is corrected for all margins (Holm).
    ``uncovered`` is the share of the target in cells without training rows, and ``empty`` names
    these.
    """

    name: str
    kind: str
    distance: float
    p_value: float
    uncovered: float
    empty: tuple[str, ...]

    _columns: ClassVar[tuple[Column, ...]] = (
        Column("margin", lambda row: row.name, words=True, most=NAME),
        Column("kind", lambda row: row.kind, words=True),
        Column("distance", lambda row: Cell(f"{row.distance:.3f}", row.distance)),
        Column("p (Holm)", lambda row: p_value(row.p_value)),
        Column("without rows", lambda row: Cell(f"{row.uncovered:.1%}", row.uncovered)),
    )


@dataclass(frozen=True, repr=False)
class MarginsDiagnosis(Judged):
    """What `covshift.diagnose` found about a sample and margins. Print it, or read its fields.

    Attributes
    ----------
    verdict : {"no shift", "moderate", "strong", "no overlap"}
    reason, advice : str
        Why, and what to do next.
    n_train : int
    size : float or None
        Of the population, where the margins give it.
    margins : tuple of MarginShift
        In the order of the margins.
    numbers : tuple of PublishedNumber
    methods : tuple of MethodSize
        Effective sample sizes.
    overlap : bool
        Whether weights give the sample the margins.
    notes : tuple of Note
        What margins cannot show, and columns without a margin.
    columns : tuple of str
        Of the margins.
    source : str
        Where they come from.
    weights : (n_train,) array or None
        Final weights of the training rows that give the corrected numbers: those that were passed,
        else those that come nearest to the margins.
    weighter : str
        What made them.
    effective_sample_size, largest_weight : float or None
        Kish's number of equally weighted rows under these weights, and the largest of them, in
        units of the mean.
    """

    verdict: Verdict
    reason: str
    advice: str
    n_train: int
    size: float | None
    margins: tuple[MarginShift, ...]
    numbers: tuple[PublishedNumber, ...]
    methods: tuple[MethodSize, ...]
    overlap: bool
    notes: tuple[Note, ...]
    columns: tuple[str, ...] = ()
    source: str = ""
    weights: Real | None = field(default=None, compare=False)
    weighter: str = ""

    _facts: ClassVar[tuple[str, ...]] = (
        *("verdict", "reason", "advice", "n_train", "size", "overlap"),
        *("effective_sample_size", "largest_weight"),
    )
    _data: ClassVar[tuple[str, ...]] = ("margins", "numbers", "methods")

    @property
    def worst(self) -> tuple[MarginShift, ...]:
        """The margins, the largest distance first."""
        return tuple(sorted(self.margins, key=lambda margin: -margin.distance))

    @property
    def table(self) -> Table:
        """The published numbers, the largest gap first."""
        worst = sorted(self.numbers, key=lambda number: -abs(number.gap))
        return Table(tuple(worst), most=_SHOWN, unit="numbers")

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each published number."""
        return Table(self.numbers).to_frame().set_index("what")

    def plot(self, ax: Any = None) -> Any:
        """Draw the published numbers; returns a `covshift.plot.MarginsDisplay`."""
        from ..plot import MarginsDisplay  # it needs matplotlib: loaded when asked for

        return MarginsDisplay.from_diagnosis(self, ax=ax)

    def _parts(self) -> Iterator[Table | list[str]]:
        size = "" if self.size is None else f" of {self.size:,.0f}"
        title = f"{self.n_train:,} training rows, margins{size}; worst first"
        yield Table(self.worst, title=title)
        yield self.table
        if self.methods:
            # Effective rows before weighting, where the rows have weights of their own.
            before = [
                (row.effective_sample_size or 0.0) / row.share for row in self.methods if row.share
            ]
            yield sizes_table(self.methods, round(before[0]) if before else self.n_train)


# One test for each margin: does the sample have it but for chance?
#
# The counts of cells are tested against their shares (chi-squared; cells in which fewer than five
# rows are expected are joined), a mean and a standard deviation against their standard errors.
# Margins of a given size are a sample of that size. With N rows (Kish's number under design
# weights), M the size and p the shares of sample and target,
#
#     chi^2 = (1/N + 1/M)^-1 sum (p_sample - p_target)^2 / p_target .


_EXPECTED = 5.0  # rows of a cell below which its count is not tested by itself


def margin_shifts(rows: KnownRows, d: Real, rough: float) -> tuple[MarginShift, ...]:
    """Compare every margin; ``d`` (N,) are design weights, ``rough`` is 1/N + 1/M."""
    found = [*_cells(rows, d, rough), *_moments(rows, d, rough)]
    p_values = holm(np.array([part.p_value for part in found]))
    return tuple(replace(part, p_value=float(p)) for part, p in zip(found, p_values, strict=True))


def _cells(rows: KnownRows, d: Real, rough: float) -> list[MarginShift]:
    found = []
    for columns, part in table_parts(rows.margins):
        code = rows.cells(columns[0]) if len(columns) == 1 else table_cells(rows, part)
        target = np.ravel(part.share)
        sample = np.bincount(code, weights=d, minlength=len(target)) / d.sum()
        gap = sample - target
        if len(columns) == 2:
            kind, labels = "table", part.labels()
        else:
            kind, labels = type(part.cells).__name__.lower(), part.cells.labels
        ordered = kind == "brackets"
        distance = float(np.abs(np.cumsum(gap) if ordered else gap).max())
        lost = (sample == 0) & (target > 0)
        empty = tuple(label for label, gone in zip(labels, lost, strict=True) if gone)
        p_value = _chi_squared(sample, target, rough)
        name = " x ".join(columns)
        found.append(MarginShift(name, kind, distance, p_value, float(target[lost].sum()), empty))
    return found


def table_cells(rows: KnownRows, table: Any) -> Whole:
    """Cell of a table that each row is in; its brackets may be coarser than the columns' own."""
    codes = []
    for name, cells in zip(table.columns, table.cells, strict=True):
        x = rows.points[:, rows.reading.names.index(name)]
        levels = rows.reading.levels[rows.reading.names.index(name)]
        if isinstance(cells, Brackets):
            codes.append(np.searchsorted(cells.ends[:-1], x))
        else:
            codes.append(cells.codes([levels[int(k)] for k in x]))
    return np.asarray(codes[0] * len(table.cells[1]) + codes[1], dtype=np.int64)


def _chi_squared(sample: Real, target: Real, rough: float) -> float:
    rare = target < _EXPECTED * rough
    if rare.any():  # together they may be enough
        sample = np.append(sample[~rare], sample[rare].sum())
        target = np.append(target[~rare], target[rare].sum())
    if len(target) < 2:
        return 1.0
    if (sample[target == 0] > 0).any():
        return 0.0
    used = target > 0
    value = float(((sample - target)[used] ** 2 / target[used]).sum()) / rough
    return float(chdtrc(max(1, int(used.sum()) - 1), value))


def _moments(rows: KnownRows, d: Real, rough: float) -> list[MarginShift]:
    """Means against standard errors; a standard deviation by that of its squares."""
    found = []
    share = d / d.sum()
    for name, part in rows.margins.single.items():
        if not isinstance(part, Moments):
            continue
        x = rows.points[:, rows.reading.names.index(name)]
        mean = float(share @ x)
        spread = float(np.sqrt(share @ (x - mean) ** 2))
        unit = part.sd or spread or 1.0
        gaps = [(mean - part.mean) / unit]
        errors = [unit]
        if part.sd is not None:
            gaps.append((spread - part.sd) / unit)
            fourth = float(np.sqrt(max(share @ (x - mean) ** 4 - spread**4, 0.0)))
            errors.append(fourth / (2 * spread) if spread else 0.0)
        p_values = [
            2 * ndtr(-abs(gap) * unit / (error * np.sqrt(rough))) if error else float(gap == 0)
            for gap, error in zip(gaps, errors, strict=True)
        ]
        p_value = min(1.0, len(p_values) * float(min(p_values)))
        kind = "mean" if part.sd is None else "mean and sd"
        found.append(MarginShift(name, kind, float(np.abs(gaps).max()), p_value, 0.0, ()))
    return found


# From margins to one word: how far is the sample from them, and has it rows everywhere?
#
# The rules, in order; those for target rows are in `verdict`.
#
# 1. *no shift*: no margin differs (Holm's p > 0.05), and none leaves a twentieth of the target
#    without training rows. Also where a difference is found but is negligible: every distance below
#    0.03, every difference of means and standard deviations below 0.1 standard deviations.
# 2. *no overlap*: cells of one margin that hold a tenth of the target have no training rows, or no
#    weights give the sample all margins together.
# 3. *strong*: empty cells of one margin hold a twentieth of the target, or with at least half of
# the
#    weighting methods the effective sample size is below a tenth of the rows.
# 4. *moderate*: what remains.
#
# A share counts as uncovered by as much as it exceeds 10 / N, which N rows may miss by chance.
# Whether columns go together differently in sample and target, margins cannot tell.


_LEVEL = 0.05  # of all margins together

ADVICE: dict[Verdict, str] = {
    "no shift": "No weights are needed for these margins. Columns without a margin, and how "
    "columns go together, may still differ.",
    "moderate": "Estimate numbers of the population with covshift.estimate, or weigh the sample "
    "(covshift weigh; in Python covshift.weights.Raking).",
    "strong": "Correct with caution: join cells of few training rows, report the effective sample "
    "size, and look for training rows like those that are missing.",
    "no overlap": "Do not correct by weights. Join cells without training rows with others, leave "
    "out margins that the outcome does not need, or collect rows there.",
}


def judge(
    shifts: Sequence[MarginShift], sizes: Sequence[MethodSize], N: float, overlap: bool
) -> Judgement:
    """Apply the rules of this module, in order; ``N`` is the effective number of rows."""
    verdict, reason = _decide(shifts, sizes, N, overlap)
    return Judgement(verdict, reason, ADVICE[verdict])


def _decide(
    shifts: Sequence[MarginShift], sizes: Sequence[MethodSize], N: float, overlap: bool
) -> tuple[Verdict, str]:
    differ = [shift for shift in shifts if shift.p_value <= _LEVEL]
    missing = max(shifts, key=lambda shift: shift.uncovered)
    excess = missing.uncovered - MISSED / N
    if not differ and excess < STRONG:
        return "no shift", "No margin differs significantly from the sample."
    limits = {"mean": NEGLIGIBLE_SMD, "mean and sd": NEGLIGIBLE_SMD}
    if excess < STRONG and all(s.distance < limits.get(s.kind, NEGLIGIBLE_KS) for s in shifts):
        return "no shift", "Sample and margins differ detectably, but by too little to matter."
    one = len(shifts) == 1
    what = f"{len(differ)} of {len(shifts)} margin{'' if one else 's'} differ"
    found = what + ("s" if len(differ) == 1 else "")
    where = f"{missing.uncovered:.0%} of the target has {missing.name!r} in "
    where += f"{' or '.join(missing.empty[:3])}, where there are no training rows"
    if excess >= NO_OVERLAP:
        return "no overlap", f"{found}, and {where}."
    if not overlap:
        return "no overlap", f"{found}, and no weights give the sample all margins together."
    if excess >= STRONG:
        return "strong", f"{found}, and {where}."
    few = [row for row in sizes if (row.share or 0.0) < STRONG_SIZE]
    if sizes and 2 * len(few) >= len(sizes):
        return "strong", (
            f"{found}; with {len(few)} of {len(sizes)} weighting methods, the effective sample "
            f"size is below {STRONG_SIZE:.0%} of the training rows."
        )
    return "moderate", f"{found}."
