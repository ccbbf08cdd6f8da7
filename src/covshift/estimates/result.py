"""What an estimate found: to print, to show, to store, to draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._html import Record
from .._notes import Note
from .._optional import import_extra
from .._plain import plain
from .._types import Real
from ..diagnostics import Diagnosis, MarginsDiagnosis
from ..margins import Margins
from .methods import Method
from .text import as_html, describe, sentence, table_html, table_lines


@dataclass(frozen=True)
class Estimate(Record):
    """One number of the population, by one method.

    ``sensitivity_interval`` holds the truth also where the mean of the outcome given the features
    differs between sample and population by up to ``sensitivity``.
    """

    outcome: str
    what: str  # such as "median"; empty for the mean
    group: str | None
    method: Method
    value: float
    standard_error: float
    interval: tuple[float, float]
    rows: int  # with the outcome, in the group
    effective_sample_size: float
    proportion: bool = False
    sensitivity_interval: tuple[float, float] | None = None


class Table(tuple[Estimate, ...]):
    """Rows of estimates that print as a table."""

    def __str__(self) -> str:
        return "\n".join(table_lines(self))

    def _repr_html_(self) -> str:
        return table_html(self)

    def where(self, **wanted: Any) -> Table:
        """Keep the rows whose attributes are as given, such as ``method="dr"``."""
        return Table(
            row for row in self if all(getattr(row, key) == value for key, value in wanted.items())
        )

    def to_frame(self) -> Any:
        """Return a pandas data frame with one line per row."""
        return _frame(self, "Table.to_frame")


@dataclass(frozen=True)
class Change(Record):
    """How far the corrected number is from the plain one, with the error of the difference."""

    outcome: str
    what: str
    group: str | None
    value: float
    standard_error: float
    interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Estimates:
    """What `covshift.estimate` found. Print it, or read its fields.

    ``value``, ``standard_error`` and ``interval`` are those of the whole population by the chosen
    method: a number, or an array where several were asked for (outcomes, categories, quantiles,
    coefficients), in the order of `table`.

    Attributes
    ----------
    table : Table
        All methods beside one another, for all and for every group: a tuple of `Estimate`.
    method : {"dr", "weights", "model", "none"}
        The chosen one.
    what : str
    confidence : float
    effective_sample_size : float
        Kish's number of equally weighted rows that are as precise as the weighted ones.
    design_effect, largest_weight, trimmed_share : float
        Rows over effective rows; the largest weight in units of the mean; the share of the weight
        that ``max_weight`` cut off.
    n_train, n_target : int
        Rows that were used; no target rows where the target is margins.
    covered_share : float
        Share of the target that the answer is for: 1 unless ``restrict="overlap"`` left rows out.
    weights : (N,) array
        Final weights of the training rows, mean one; zero where a row was not used. Of several
        outcomes they, and the sizes above, are those of the first.
    changes : tuple of Change
        Corrected minus plain, from joint influence values.
    models : dict
        Which outcome models were used for what.
    diagnosis : Diagnosis or MarginsDiagnosis
    sensitivity : float or None
    replicate_weights : (N, B) array or None
        Of the bootstrap, where it was asked for.
    notes : tuple of Note
    margins : Margins or None
        The target, where it is no rows.
    """

    table: Table
    method: Method
    what: str
    confidence: float
    effective_sample_size: float
    design_effect: float
    largest_weight: float
    trimmed_share: float
    n_train: int
    n_target: int
    covered_share: float
    weighter: str
    weights: Real
    changes: tuple[Change, ...]
    models: dict[str, list[str]]
    diagnosis: Diagnosis | MarginsDiagnosis
    sensitivity: float | None = None
    replicate_weights: Real | None = None
    errors: str = "influence"
    notes: tuple[Note, ...] = ()
    margins: Margins | None = None

    @property
    def verdict(self) -> str:
        """Verdict of the diagnosis."""
        return self.diagnosis.verdict

    @property
    def estimates(self) -> Table:
        """The numbers of the chosen method: all first, then the groups."""
        return self.table.where(method=self.method)

    @property
    def overall(self) -> Table:
        """The numbers of the whole population, by the chosen method."""
        return self.estimates.where(group=None)

    @property
    def value(self) -> Any:
        """The number, or an array of them."""
        return _one_or_all([row.value for row in self.overall])

    @property
    def standard_error(self) -> Any:
        """Its standard error."""
        return _one_or_all([row.standard_error for row in self.overall])

    @property
    def interval(self) -> Any:
        """Its interval (low, high), or an array (k, 2)."""
        found = [row.interval for row in self.overall]
        return found[0] if len(found) == 1 else np.array(found)

    @property
    def sentence(self) -> str:
        """The first answer in one sentence."""
        return sentence(self)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __str__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the weights as dictionaries, lists and numbers for JSON."""
        kept = {
            name: getattr(self, name)
            for name in (
                "what",
                "method",
                "confidence",
                "effective_sample_size",
                "design_effect",
                "largest_weight",
                "trimmed_share",
                "n_train",
                "n_target",
                "covered_share",
                "weighter",
                "models",
                "sensitivity",
                "errors",
                "verdict",
            )
        }
        found: dict[str, Any] = plain(
            {
                "sentence": self.sentence,
                **kept,
                "estimates": [asdict(row) for row in self.estimates],
                "table": [asdict(row) for row in self.table],
                "changes": [asdict(row) for row in self.changes],
                "notes": list(self.notes),
            }
        )
        return found

    def to_frame(self, *, methods: bool = False) -> Any:
        """Return a pandas data frame of the estimates, or of all ``methods``."""
        return _frame(self.table if methods else self.estimates, "Estimates.to_frame")

    def plot(self, ax: Any = None) -> Any:
        """Draw plain and corrected numbers of all and of the groups: a forest plot.

        Returns a `covshift.plot.ForestPlotDisplay`.
        """
        from ..plot import ForestPlotDisplay  # it needs matplotlib: loaded when asked for

        return ForestPlotDisplay.from_estimates(self, ax=ax)


def _one_or_all(values: Sequence[float]) -> Any:
    return values[0] if len(values) == 1 else np.array(values)


def _frame(rows: Sequence[Estimate], needed_by: str) -> Any:
    pandas = import_extra("pandas", extra="pandas", needed_by=needed_by)
    lines = []
    for row in rows:
        line = asdict(row)
        line["low"], line["high"] = line.pop("interval")
        wide = line.pop("sensitivity_interval")
        if wide is not None:
            line["sensitivity_low"], line["sensitivity_high"] = wide
        del line["proportion"]
        lines.append(line)
    return pandas.DataFrame(lines)
