"""What is found about a sample and margins, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .._html import Record
from .._notes import Note
from .._optional import import_extra
from .._plain import plain
from .margins_text import as_html, describe
from .sizes import MethodSize
from .verdict import Verdict


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


@dataclass(frozen=True)
class MarginsDiagnosis:
    """What `covshift.diagnose` found about a sample and margins. Print it, or read its fields.

    Attributes
    ----------
    verdict : {"no shift", "correctable", "strong", "no overlap"}
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
        What margins cannot tell, and columns that they do not know.
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

    @property
    def worst(self) -> tuple[MarginShift, ...]:
        """The margins, the largest distance first."""
        return tuple(sorted(self.margins, key=lambda margin: -margin.distance))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists and numbers that JSON can hold."""
        found: dict[str, Any] = plain(asdict(self))
        return found

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each published number."""
        pandas = import_extra("pandas", extra="pandas", needed_by="MarginsDiagnosis.to_frame")
        return pandas.DataFrame([asdict(number) for number in self.numbers]).set_index("what")

    def plot(self, ax: Any = None) -> Any:
        """Draw the published numbers; returns a `covshift.plot.MarginsDisplay`."""
        from ..plot import MarginsDisplay  # it needs matplotlib: loaded when asked for

        return MarginsDisplay.from_diagnosis(self, ax=ax)

    def __str__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        return as_html(self)
