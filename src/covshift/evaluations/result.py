"""What an evaluation found: to print, to show, to store, to draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from .._html import Record
from .._notes import Note
from .._optional import import_extra
from .._plain import plain
from .._types import Real
from ..diagnostics import Diagnosis
from ..exceptions import InputError
from .curves import Curves
from .methods import Method
from .target_labels import Change, Check
from .text import as_html, describe, sentence, table_html, table_lines

if TYPE_CHECKING:
    from .pictures import Kind


@dataclass(frozen=True)
class Performance(Record):
    """One metric of one model on the target, by one method."""

    proportion: ClassVar[bool] = False  # numbers are written as decimals, not in per cent

    model: str
    metric: str
    group: str | None
    method: Method
    value: float
    standard_error: float
    interval: tuple[float, float]
    rows: int  # that judge, in the group
    effective_sample_size: float


class Performances(tuple[Performance, ...]):
    """Rows of metrics that print as a table."""

    def __str__(self) -> str:
        return "\n".join(table_lines(self))

    def _repr_html_(self) -> str:
        return table_html(self)

    def same(self, row: Performance, method: str) -> Performance:
        """Return the same metric by another method."""
        return self.where(model=row.model, metric=row.metric, group=row.group, method=method)[0]

    def where(self, **wanted: Any) -> Performances:
        """Keep the rows whose attributes are as given, such as ``method="dr"``."""
        return Performances(
            row for row in self if all(getattr(row, key) == value for key, value in wanted.items())
        )

    def to_frame(self) -> Any:
        """Return a pandas data frame with one line per row."""
        return _frame(self, "Performances.to_frame")


@dataclass(frozen=True)
class Difference(Record):
    """How far a model is from the first one, on the target, by the chosen method."""

    proportion: ClassVar[bool] = False

    model: str
    reference: str
    metric: str
    group: str | None
    value: float  # the model's metric less the reference's
    standard_error: float
    interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Evaluations:
    """What `covshift.evaluate` found. Print it, or read its fields.

    ``found["roc_auc"]`` is the metric of the whole target by the chosen method: a `Performance`
    with ``value``, ``standard_error`` and ``interval``.

    Attributes
    ----------
    table : Performances
        All methods beside one another, for all and for every group: a tuple of `Performance`.
    method : {"dr", "weights", "model", "cbpe", "pape", "none"}
        The chosen one.
    differences : tuple of Difference
        Between several models, from joint influence values.
    confidence : float
    effective_sample_size, design_effect, largest_weight, trimmed_share : float
        Of the weights, as in `covshift.estimates.Estimates`.
    n_train, n_target : int
        Labelled rows that judge, and target rows.
    n_learned : int
        Rows in ``trained_on``, which do not judge.
    covered_share : float
        Share of the target that the answer is for: 1 unless ``restrict="overlap"`` left rows out.
    weights : (N,) array
        Final weights of the labelled rows, mean one; zero where a row did not judge.
    models : dict
        Which outcome models were used for what.
    diagnosis : Diagnosis
    checks : tuple of Check
        What the labels in ``y_target`` say, beside what was expected.
    changes : tuple of Change
        Whether p(y | x) differs there, for every model: a test.
    batches : dict of Evaluations
        Of every batch of the target, where ``batch`` was given.
    curves : tuple of Curves
        Reliability and ROC curves, of every classifier of two classes that has scores.
    notes : tuple of Note
    """

    table: Performances
    method: Method
    confidence: float
    differences: tuple[Difference, ...]
    effective_sample_size: float
    design_effect: float
    largest_weight: float
    trimmed_share: float
    n_train: int
    n_target: int
    n_learned: int
    covered_share: float
    weighter: str
    weights: Real
    models: dict[str, list[str]]
    diagnosis: Diagnosis
    checks: tuple[Check, ...] = ()
    changes: tuple[Change, ...] = ()
    notes: tuple[Note, ...] = ()
    batches: dict[str, Evaluations] = field(default_factory=dict)
    curves: tuple[Curves, ...] = ()

    @property
    def verdict(self) -> str:
        """Verdict of the diagnosis."""
        return self.diagnosis.verdict

    @property
    def performances(self) -> Performances:
        """The numbers of the chosen method: all first, then the groups."""
        return self.table.where(method=self.method)

    @property
    def overall(self) -> Performances:
        """The numbers of the whole target, by the chosen method."""
        return self.performances.where(group=None)

    @property
    def sentence(self) -> str:
        """The first answer in one sentence."""
        return sentence(self)

    def __getitem__(self, key: str | tuple[str, str]) -> Performance:
        """Return a metric of the whole target; of several models by (model, metric)."""
        model, metric = key if isinstance(key, tuple) else (self.table[0].model, key)
        found = self.overall.where(model=model, metric=metric)
        if not found:
            known = sorted({(row.model, row.metric) for row in self.overall})
            raise InputError(f"There is no metric {metric!r} of {model!r}. Found: {known}.")
        return found[0]

    def __iter__(self) -> Iterator[Performance]:
        return iter(self.performances)

    def __str__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists and numbers for JSON.

        Left out are the weights and the points of the ROC curves.
        """
        names = (
            "method",
            "confidence",
            "effective_sample_size",
            "design_effect",
            "largest_weight",
            "trimmed_share",
            "n_train",
            "n_target",
            "n_learned",
            "covered_share",
            "weighter",
            "models",
            "verdict",
        )
        found: dict[str, Any] = plain(
            {
                "sentence": self.sentence,
                **{name: getattr(self, name) for name in names},
                "performances": [asdict(row) for row in self.performances],
                "table": [asdict(row) for row in self.table],
                "differences": [asdict(row) for row in self.differences],
                "checks": [asdict(row) for row in self.checks],
                "changes": [asdict(row) for row in self.changes],
                "notes": list(self.notes),
                "curves": [curves.to_dict() for curves in self.curves],
            }
        )
        if self.batches:
            found["batches"] = {name: part.to_dict() for name, part in self.batches.items()}
        return found

    def to_frame(self, *, methods: bool = False) -> Any:
        """Return a pandas data frame of the metrics, or of all ``methods``."""
        return _frame(self.table if methods else self.performances, "Evaluations.to_frame")

    def plot(
        self,
        kind: Kind = "metrics",
        ax: Any = None,
        *,
        model: str | None = None,
        metric: str | None = None,
        observed: Mapping[str, float] | None = None,
    ) -> Any:
        """Draw what was found; needs matplotlib.

        Parameters
        ----------
        kind : {"metrics", "reliability", "roc", "batches"}
            Every metric on the labelled rows and on the target
            (`covshift.plot.ForestPlotDisplay`); whether probabilities come true there
            (`covshift.plot.ReliabilityDisplay`); the ROC curves (`covshift.plot.ROCDisplay`); or
            a metric over the batches (`covshift.plot.BatchesDisplay`).
        ax : matplotlib axes, optional
            Default: those of a new figure.
        model : str, optional
            One of several models. Default: all, of batches the first.
        metric : str, optional
            Of batches; default the first.
        observed : dict of str to float, optional
            Of batches: what labels said later.

        Returns
        -------
        display
            With ``ax_`` and ``figure_``.
        """
        from .pictures import draw  # loaded when asked for

        return draw(self, kind, ax, model=model, metric=metric, observed=observed)


def _frame(rows: Sequence[Performance], needed_by: str) -> Any:
    pandas = import_extra("pandas", extra="pandas", needed_by=needed_by)
    lines = []
    for row in rows:
        line = asdict(row)
        line["low"], line["high"] = line.pop("interval")
        lines.append(line)
    return pandas.DataFrame(lines)
