"""What an evaluation found: metrics on the target, beside those on the labelled rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from ..diagnostics import Diagnosis
from ..engine.citing import Cited
from ..engine.explanation import Explanation
from ..engine.label_shift import LabelShiftTest, of_classes
from ..engine.lookup import Numbers
from ..engine.overlap import Diagnosed
from ..engine.paper import Reportable
from ..engine.robustness import Robust, Robustness
from ..estimates.result import (
    METHOD_WORDS,
    bounded,
    explained_row,
    sensitivity_column,
    weights_lines,
)
from ..exceptions import InputError
from ..numerics.array import Real
from ..show.answer import ASSUMPTION, OF_LABELS, Answer, as_tested, caution_of, few_rows
from ..show.notes import Note
from ..show.table import Cell, Column, Record, Table
from ..show.words import Written, in_digits_of, interval_of, joined, printable, shown
from .curves import Curves
from .labelled import Change
from .methods import Shown
from .metrics import range_of, words

if TYPE_CHECKING:
    from .pictures import Kind

WORDS = {
    **{method: METHOD_WORDS[method] for method in ("model", "dr", "weights")},
    "pape": "weighted calibration (PAPE)",
    "cbpe": "calibrated scores (CBPE)",
    "label": METHOD_WORDS["label"],
    "none": "labelled rows as they are",
    "labels": "labels of target rows alone",
    "both": "labels of target rows, and the correction",
}
_WIDE = 4  # metrics beside one another


def _value(row: Any, like: Written | None = None) -> Cell:
    return Cell(shown(row.value, like or row), row.value)


def _interval(row: Any, interval: tuple[float, float] | None = None) -> str:
    return " to ".join(shown(bound, row) for bound in interval or row.interval)


def _numbers(like: Callable[[Any], Written]) -> tuple[Column, ...]:
    """Number, error and interval of a row, with the digits of another ``like`` it."""
    return (
        Column("value", lambda row: _value(row, like(row))),
        Column("s.e.", lambda row: Cell(shown(row.standard_error, like(row)), row.standard_error)),
        Column("interval", lambda row: " to ".join(shown(end, like(row)) for end in row.interval)),
    )


_NUMBERS = _numbers(lambda row: row)
_ROWS = Column("rows", lambda row: Cell(f"{row.rows:,}", row.rows))


@dataclass(frozen=True)
class Performance(Record):
    """One metric of one model on the target, by one method."""

    proportion: ClassVar[bool] = False  # numbers are written as decimals, not in per cent

    model: str
    metric: str
    group: str | None
    method: Shown
    value: float
    standard_error: float
    interval: tuple[float, float]
    rows: int  # that judge, in the group
    effective_sample_size: float
    sensitivity_bounds: tuple[float, float] | None = None
    sensitivity_interval: tuple[float, float] | None = None

    _columns: ClassVar[tuple[Column, ...]] = (
        Column("model", lambda row: printable(row.model), words=True),
        Column("metric", lambda row: printable(words(row.metric)), words=True),
        Column("group", lambda row: printable(row.group or ""), words=True),
        Column("method", lambda row: row.method, words=True),
        *_NUMBERS,
        _ROWS,
    )


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


@dataclass(frozen=True, eq=False, repr=False)
class Evaluations(Numbers, Robust, Reportable, Answer):
    """What `covshift.evaluate` found. Print it, or read its fields.

    ``found["roc_auc"]`` is the metric of the whole target by the chosen method: a `Performance`
    with ``value``, ``standard_error`` and ``interval``.

    Attributes
    ----------
    table : Table
        All methods beside one another, for all and for every group: rows of `Performance`.
    method : {"dr", "weights", "model", "cbpe", "pape", "none", "both", "label"}
        The chosen one; "both" where labels of target rows were given, "label" with
        ``shift="label"``.
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
        The shares of the outcome models, by what they predict.
    unlike_share : float
        Share of the target unlike all training rows, where it is large enough to matter; else zero.
    changes : tuple of Change
        Whether p(y | x) differs there, for every model: a test.
    batches : dict of Evaluations
        Of every batch of the target, where ``batch`` was given.
    curves : tuple of Curves
        Reliability and ROC curves, of every classifier of two classes that has scores.
    notes : tuple of Note
    n_labels : int
        Target rows of which the label was given.
    sensitivity : float or None
        By which factor odds may differ in ``sensitivity_interval``.
    label_shift : tuple of LabelShiftTest
        With ``shift="label"``, for every model: whether the target is a mixture of the classes.
    """

    table: Table
    method: Shown
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
    models: dict[str, dict[str, float]]
    _diagnosed: Diagnosed = field(repr=False, compare=False)
    unlike_share: float
    changes: tuple[Change, ...] = ()
    notes: tuple[Note, ...] = ()
    batches: dict[str, Evaluations] = field(default_factory=dict)
    curves: tuple[Curves, ...] = ()
    n_labels: int = 0
    sensitivity: float | None = None
    _source: Any = field(default=None, repr=False, compare=False)  # the run, for later questions
    _robustness: Robustness | None = field(default=None, repr=False, compare=False)
    label_shift: tuple[LabelShiftTest, ...] = ()

    _facts: ClassVar[tuple[str, ...]] = (
        *("method", "confidence", "effective_sample_size", "design_effect", "largest_weight"),
        *(
            "trimmed_share",
            "n_train",
            "n_target",
            "n_labels",
            "n_learned",
            "covered_share",
            "unlike_share",
            "weighter",
        ),
        *("models", "sensitivity", "robustness_value", "verdict"),
    )
    _data: ClassVar[tuple[str, ...]] = (
        *("performances", "table", "differences", "changes", "curves", "label_shift"),
    )

    @property
    def diagnosis(self) -> Diagnosis:
        """How the samples differ: `covshift.diagnose`, made when it is first asked for."""
        found = self._diagnosed.found
        assert isinstance(found, Diagnosis)
        return found

    @property
    def verdict(self) -> str:
        """Verdict of the diagnosis."""
        return self.diagnosis.verdict

    @property
    def performances(self) -> Table:
        """The numbers of the chosen method: all first, then the groups."""
        return self.table.where(method=self.method)

    @property
    def overall(self) -> Table:
        """The numbers of the whole target, by the chosen method."""
        return self.performances.where(group=None)

    @property
    def headline(self) -> Performance:
        """The number that the sentence is about."""
        first: Performance = self.performances[0]
        return first

    @property
    def headline_name(self) -> str:
        """The metric of the headline."""
        return words(self.headline.metric)

    def name_of(self, row: Performance) -> str:
        """The metric of a row, with its model and group where there are several."""
        name = words(row.metric)
        name = name[:1].upper() + name[1:]
        if len({other.model for other in self.table}) > 1:
            name += f" of {printable(row.model)}"
        return name if row.group is None else f"{name} in {printable(row.group)}"

    @property
    def sentence(self) -> str:
        """The first answer in one sentence."""
        there = self.headline
        here = self.same(there, "none")
        name = words(there.metric)
        name = name[0].upper() + name[1:]
        if math.isnan(there.value):
            here_too = "" if math.isnan(here.value) else f" {shown(here.value, here)} on your data,"
            return f"{name}:{here_too} not defined on the target."
        interval = interval_of(there, there.interval, self.confidence)
        if there.method == "none":
            return f"{name}: {shown(here.value, here)} on your data ({interval}), not adjusted."
        where = "expected on the target"
        if there.method == "both":
            where = f"on the target, using {self.n_labels:,} target labels"
        return (
            f"{name}: {shown(here.value, here)} on your data, {shown(there.value, there)} {where} "
            f"({interval})."
        )

    @property
    def caution(self) -> str:
        """That few rows carry the weights the numbers rest on, or that these are extrapolated."""
        if self.method in ("none", "both"):
            return ""
        if self.method == "label":
            return few_rows(self.effective_sample_size, self.n_train, self.largest_weight)
        return caution_of(self, weighted=self.method in ("dr", "weights", "pape"))

    @property
    def assumption(self) -> str:
        """What the numbers rest on; labels of the target would show it."""
        if self.method == "both":
            return OF_LABELS
        if self.method == "label":
            return of_classes(self.label_shift)
        if self.method == "none":
            return ""
        if self.changes:
            tests = [change.p_value for change in self.changes]
            return as_tested(self.changes[0].rows, tests)
        return f"{ASSUMPTION} {self._robust_line()}".rstrip()

    def with_sensitivity(self, odds: float) -> Evaluations:
        """Return the metrics with intervals that hold under a violation of the assumption.

        They hold if unobserved factors change the odds of being in the target up to ``odds``-fold,
        among rows with the same columns and scores, as in
        `covshift.estimates.Estimates.with_sensitivity`. The bounds are sharp for means of losses
        (accuracy, Brier score, log-loss, costs, MSE, MAE, bias), and for RMSE and the median
        absolute error; to first order for what is no mean (AUC, F1, recall, R² and others). The
        calibration error has none.
        """
        batches = {name: part.with_sensitivity(odds) for name, part in self.batches.items()}
        return replace(self, table=bounded(self, odds), sensitivity=odds, batches=batches)

    def same(self, row: Performance, method: str) -> Performance:
        """Return the same metric by another method."""
        same = self.table.where(model=row.model, metric=row.metric, group=row.group, method=method)
        found: Performance = same[0]
        return found

    def __getitem__(self, key: str | tuple[str, str]) -> Performance:
        """Return a metric of the whole target; of several models by (model, metric)."""
        model, metric = key if isinstance(key, tuple) else (self.table[0].model, key)
        found = self.overall.where(model=model, metric=metric)
        if not found:
            known = sorted({(row.model, row.metric) for row in self.overall})
            raise InputError(f"There is no metric {metric!r} of {model!r}. Found: {known}.")
        first: Performance = found[0]
        return first

    def explain(
        self, row: Performance | None = None, *, groups: Mapping[str, Sequence[str]] | None = None
    ) -> Explanation:
        """Say why a metric changes from your data to the target: how much each column moves it.

        Parameters
        ----------
        row : Performance, optional
            Which number: ``found["roc_auc"]``, or a row of `table`. Default: the one that the
            sentence is about.
        groups : dict of str to list of str, optional
            Columns to join: ``{"money": ["income", "wealth"]}``.

        Returns
        -------
        Explanation
            One line per column, with intervals, that sum to the change. Where labels of target
            rows were given, the three parts of the change, and where p(y | x) changed.
        """
        row = self.headline if row is None else row
        return explained_row(self, row, Performance, groups)

    # What the methods section asks for

    _evaluates = True
    _method_words = WORDS

    def _question(self) -> str:
        """Say what was estimated."""
        names = dict.fromkeys(words(row.metric) for row in self.overall)
        models = dict.fromkeys(row.model for row in self.overall)
        what = joined([printable(name, 60) for name in names])
        of = joined([printable(name, 100) for name in models])
        if self.method == "none":
            return f"We report {what} of {of} on the labelled rows, not adjusted to the target."
        also = " The labelled rows were predicted by clones of the model not fitted to them."
        refitted = also if self._procedure.detail else ""
        batches = f" and in each of {len(self.batches)} batches of it" if self.batches else ""
        return f"We estimated {what} of {of} in the target population{batches}.{refitted}"

    def _from_means(self) -> Iterator[str]:
        """Nothing: metrics are functions of masses."""
        return iter(())

    def _scale(self, cite: Cited) -> str:
        """How the intervals of these metrics were made, beyond the rule."""
        ranges = {range_of(row.metric) for row in self.overall}
        made = {"share": "logit scale for metrics between 0 and 1"}
        made["positive"] = "logarithmic scale for positive metrics"
        return joined([f"on the {text}" for key, text in made.items() if key in ranges])

    @property
    def _errors_word(self) -> str:
        if self.method == "both":
            return "by labels of target rows"
        folds = self.method in ("model", "cbpe", "pape")
        return "by a jackknife over folds" if folds else "by influence values"

    def __iter__(self) -> Iterator[Performance]:
        return iter(self.performances)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON, without weights and points of ROC curves."""
        found = super().to_dict()
        if self.batches:
            found["batches"] = {name: Answer.to_dict(part) for name, part in self.batches.items()}
        return found

    def to_frame(self, *, methods: bool = False) -> Any:
        """Return a pandas data frame of the metrics, or of all ``methods``."""
        return (self.table if methods else self.performances).to_frame()

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
        from .pictures import draw

        return draw(self, kind, ax, model=model, metric=metric, observed=observed)

    def _parts(self) -> Iterator[Table | list[str]]:
        wide = [] if self.sensitivity is None else [sensitivity_column(self.sensitivity, _interval)]
        like = in_digits_of(self.performances, attrgetter("metric"))
        plain = in_digits_of(self.table.where(method="none"), attrgetter("metric"))
        numbers = _numbers(like)
        yield Table(
            self.performances.records,
            (
                Column("", self._label, words=True),
                Column("your data", lambda row: _value(self.same(row, "none"), plain(row))),
                replace(numbers[0], name="target"),
                *numbers[1:],
                *wide,
                _ROWS,
                Column("eff. rows", lambda row: f"{row.effective_sample_size:,.0f}"),
            ),
        )
        yield self._methods()
        first = self.overall[0]
        if self.batches:
            rows = [part.overall[0] for part in self.batches.values()]
            alike = _numbers(in_digits_of(rows, attrgetter("metric")))
            columns = (
                Column(f"batch: {words(first.metric)}", lambda b: printable(b[0]), words=True),
                *(
                    Column(name, lambda batch, of=column: of.cell(batch[1].overall[0]))
                    for name, column in zip(("target", "s.e.", "interval"), alike, strict=True)
                ),
                Column("target rows", lambda batch: f"{batch[1].n_target:,}"),
                Column("shift", lambda batch: batch[1].verdict),
            )
            yield Table(tuple(self.batches.items()), columns)
        if self.differences:
            name = Column("difference on the target", _difference, words=True)
            yield Table(self.differences, (name, *_NUMBERS))
        labels = self.table.where(method="labels")
        if labels:
            columns = (
                Column("labels of the target", self._label, words=True),
                Column("observed", _value),
                *_NUMBERS[1:],
                Column("expected", lambda row: _value(self.same(row, "model"))),
                _ROWS,
            )
            yield Table(labels.records, columns)
        yield [
            "Do rows with the same columns have different outcomes there? p = "
            f"{change.p_value:.2g} ({printable(change.model)}): "
            f"{'it seems so' if change.p_value < 0.05 else 'no sign of it'}."
            for change in self.changes
        ]
        target = f"{self.n_target:,} target rows"
        if self.covered_share < 1:
            target += f" ({self.covered_share:.1%} of the target)"
        yield [
            f"Shift: {self.verdict}. {self.n_train:,} labelled test rows, {target}.",
            *weights_lines(self),
        ]

    def _methods(self) -> Table:
        """Set the methods beside one another: a line for each, a column for a few metrics each."""
        first = self.overall.where(model=self.table[0].model)[:_WIDE]
        same = self.table.where(model=first[0].model, metric=first[0].metric, group=None)
        known = {row.method for row in same}
        methods = [method for method in WORDS if method in known]
        columns = (
            Column("method", WORDS.__getitem__, words=True),
            *(
                Column(
                    printable(words(row.metric)),
                    lambda method, row=row: _value(self.same(row, method)),
                )
                for row in first
            ),
        )
        return Table(tuple(methods), columns, chosen={methods.index(self.method)})

    def _label(self, row: Any) -> str:
        parts = [printable(row.model)] if len({other.model for other in self.table}) > 1 else []
        parts.append(printable(words(row.metric)))
        if any(other.group is not None for other in self.table):
            parts.append(printable(getattr(row, "group", None) or "all"))
        return ": ".join(parts)


def _difference(row: Difference) -> str:
    label = words(row.metric) + ("" if row.group is None else f", {row.group}")
    return printable(f"{label}: {row.model} - {row.reference}")
