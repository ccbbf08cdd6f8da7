"""What a diagnosis found about a sample and margins: verdict first, published numbers next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..numerics.array import Real
from ..show.notes import Note
from ..show.table import Cell, Column, Record, Table
from ..show.words import NAME, signed
from .result import Judged, p_value
from .sizes import MethodSize, sizes_table
from .verdict import Verdict

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
