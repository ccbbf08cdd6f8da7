"""What an estimate found: numbers of the population, beside those of the sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from ..diagnostics import Diagnosis, MarginsDiagnosis
from ..engine.citing import Cited
from ..engine.explanation import Explanation, explained
from ..engine.intervals import Number
from ..engine.label_shift import LabelShiftTest, of_classes
from ..engine.lookup import Numbers
from ..engine.measures import Method
from ..engine.overlap import Diagnosed
from ..engine.paper import Reportable
from ..engine.robustness import Robust, Robustness
from ..engine.sensitivity import check_odds
from ..exceptions import InputError, InputTypeError
from ..margins import Margins
from ..numerics.array import Real
from ..show.answer import ASSUMPTION, OF_LABELS, Answer, caution_of, few_rows
from ..show.notes import Note
from ..show.table import Column, Record, Table
from ..show.words import Written, in_digits_of, interval_of, joined, printable, shown

Shown = Literal[Method, "labels", "both"]
_POSITIVE = frozenset({"yes", "true", "1", "y", "t"})
METHOD_WORDS = {
    "dr": "doubly robust",
    "weights": "weights alone",
    "model": "outcome model alone",
    "label": "class shares (label shift)",
    "none": "sample as it is",
    "labels": "outcomes of target rows alone",
    "both": "outcomes of target rows, and the correction",
}


@dataclass(frozen=True)
class Estimate(Record):
    """One number of the population, by one method.

    ``sensitivity_bounds`` are the smallest and the largest number where unobserved factors change
    the odds of being in the target up to ``sensitivity``-fold, and ``sensitivity_interval`` is the
    interval around them.
    """

    outcome: str
    what: str  # such as "median"; empty for the mean
    group: str | None
    method: Shown
    value: float
    standard_error: float
    interval: tuple[float, float]
    rows: int  # with the outcome, in the group
    effective_sample_size: float
    proportion: bool = False
    sensitivity_bounds: tuple[float, float] | None = None
    sensitivity_interval: tuple[float, float] | None = None

    _not_shown: ClassVar[frozenset[str]] = frozenset({"proportion"})
    _columns: ClassVar[tuple[Column, ...]] = (
        Column("outcome", lambda row: printable(row.outcome), words=True),
        Column("what", lambda row: printable(row.what or "mean"), words=True),
        Column("group", lambda row: printable(row.group or ""), words=True),
        Column("method", lambda row: row.method, words=True),
        Column("value", lambda row: shown(row.value, row)),
        Column("s.e.", lambda row: _error(row)),
        Column("interval", lambda row: _interval(row)),
        Column("rows", lambda row: f"{row.rows:,}"),
    )


@dataclass(frozen=True)
class Change(Record):
    """How far the corrected number is from the plain one, with the error of the difference."""

    outcome: str
    what: str
    group: str | None
    value: float
    standard_error: float
    interval: tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(Numbers, Robust, Reportable, Answer):
    """What `covshift.estimate` found. Print it, or read its fields.

    ``value``, ``standard_error`` and ``interval`` are those of the whole population by the chosen
    method: a number, or an array where several were asked for (outcomes, categories, quantiles,
    coefficients), in the order of `table`.

    Attributes
    ----------
    table : Table
        All methods beside one another, for all and for every group: rows of `Estimate`.
    method : {"dr", "weights", "model", "none", "both", "label"}
        The chosen one; "both" where outcomes of target rows were given, "label" with
        ``shift="label"``.
    what : str
    confidence : float
    effective_sample_size : float
        Kish's number of equally weighted rows that are as precise as the weighted ones.
    design_effect, largest_weight, trimmed_share : float
        Rows over effective rows; the largest weight in units of the mean; the share of the weight
        that `Trimmed` cut off.
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
        The shares of the outcome models, by what they predict.
    unlike_share : float
        Share of the target unlike all training rows, where it is large enough to matter; else zero.
    sensitivity : float or None
        By which factor odds may differ in ``sensitivity_interval``.
    replicate_weights, replicate_scales : (N, B) and (B,) arrays, or None
        Where replicates were asked for. The variance of a number theta is
        ``replicate_scales @ (thetas - theta) ** 2``, with the numbers of the replicates.
    errors : {"influence", "bootstrap", "jackknife"}
        Where the standard errors come from.
    notes : tuple of Note
    margins : Margins or None
        The target, where it is no rows.
    n_labels : int
        Target rows of which the outcome was given.
    label_shift : tuple of LabelShiftTest
        With ``shift="label"``, for every outcome: whether the target is a mixture of its classes.
    """

    table: Table
    method: Shown
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
    models: dict[str, dict[str, float]]
    _diagnosed: Diagnosed = field(repr=False, compare=False)
    unlike_share: float
    sensitivity: float | None = None
    replicate_weights: Real | None = None
    replicate_scales: Real | None = None
    errors: str = "influence"
    notes: tuple[Note, ...] = ()
    margins: Margins | None = None
    n_labels: int = 0
    _source: Any = field(default=None, repr=False, compare=False)  # the run, for later questions
    _robustness: Robustness | None = field(default=None, repr=False, compare=False)
    label_shift: tuple[LabelShiftTest, ...] = ()

    _facts: ClassVar[tuple[str, ...]] = (
        *("what", "method", "confidence", "effective_sample_size", "design_effect"),
        *("largest_weight", "trimmed_share", "n_train", "n_target", "n_labels", "covered_share"),
        *(
            "unlike_share",
            "weighter",
            "models",
            "sensitivity",
            "robustness_value",
            "errors",
            "verdict",
        ),
    )
    _data: ClassVar[tuple[str, ...]] = ("estimates", "table", "changes", "label_shift")

    @property
    def diagnosis(self) -> Diagnosis | MarginsDiagnosis:
        """How the samples differ: `covshift.diagnose`, made when it is first asked for."""
        return self._diagnosed.found

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
        row = self.headline
        plain = self.same(row, "none")
        label = self._label(row)
        of = f" ({label})" if label else ""
        interval = interval_of(row, row.interval, self.confidence)
        if row.method == "none":
            return f"Sample{of}: {shown(row.value, row)} ({interval}), not adjusted."
        way = "Adjusted to the target population"
        if row.method == "both":
            way = f"Target population, using {self.n_labels:,} of its own outcomes"
        return (
            f"Sample{of}: {shown(plain.value, plain)}. {way}: {shown(row.value, row)} ({interval})."
        )

    @property
    def caution(self) -> str:
        """That few rows carry the weights the number rests on, or that it is extrapolated."""
        if self.method in ("none", "both"):
            return ""
        if self.method == "label":
            return few_rows(self.effective_sample_size, self.n_train, self.largest_weight)
        return caution_of(self, weighted=self.method in ("dr", "weights"))

    @property
    def assumption(self) -> str:
        """The untestable assumption behind the estimate."""
        if self.method == "both":
            return OF_LABELS
        if self.method == "label":
            return of_classes(self.label_shift)
        return "" if self.method == "none" else f"{ASSUMPTION} {self._robust_line()}".rstrip()

    def with_sensitivity(self, odds: float) -> Estimates:
        """Return the estimates with intervals that hold under a violation of the assumption.

        They hold if unobserved factors change the odds of being in the target up to ``odds``-fold,
        among rows with the same columns: outcomes that are common there may be ``odds`` times as
        frequent as in the sample, and others ``odds`` times as rare (the marginal sensitivity
        model). The bounds are sharp and doubly robust (`covshift.engine.sensitivity`); 1 gives the
        plain intervals. Methods without a correction have none.

        Examples
        --------
        >>> from covshift import estimate
        >>> from covshift.datasets import make_survey
        >>> survey = make_survey(300, 400, random_state=0)
        >>> found = estimate(survey.X, survey.y, survey.X_target).with_sensitivity(1.5)
        >>> row = found.estimates[0]
        >>> row.sensitivity_interval[0] < row.interval[0]
        True
        """
        return replace(self, table=bounded(self, odds), sensitivity=odds)

    def explain(
        self, row: Estimate | None = None, *, groups: Mapping[str, Sequence[str]] | None = None
    ) -> Explanation:
        """Say why the number changed from the sample to the target: how much each column moved.

        Parameters
        ----------
        row : Estimate, optional
            Which number: a row of `table`. Default: the one that the sentence is about.
        groups : dict of str to list of str, optional
            Columns to join: ``{"money": ["income", "wealth"]}``.

        Returns
        -------
        Explanation
            One line per column, with intervals, that sum to the change. Where outcomes of target
            rows were given, the three parts of the change, and where p(y | x) changed.

        Examples
        --------
        >>> from covshift import estimate
        >>> from covshift.datasets import make_survey
        >>> survey = make_survey(500, 1000, random_state=0)
        >>> why = estimate(survey.X, survey.y, survey.X_target).explain()
        >>> round(sum(part.value for part in why.table) - why.change.value, 10)
        0.0
        """
        row = self.headline if row is None else row
        return explained_row(self, row, Estimate, groups)

    # What the methods section asks for

    _evaluates = False
    _method_words = METHOD_WORDS

    def _question(self) -> str:
        """Say what was estimated."""
        rows = self.estimates
        outcomes = [printable(name, 100) for name in dict.fromkeys(row.outcome for row in rows)]
        kinds = [printable(kind) for kind in dict.fromkeys(row.what for row in rows) if kind]
        of, named = joined(outcomes), joined(kinds)
        share = all(row.proportion for row in rows)
        detail = self._procedure.detail
        what = {
            "mean": f"the share of rows with {of} = 1" if share else f"the mean of {of}",
            "proportion": f"the shares of the categories of {of} ({named})",
            "total": f"the total of {of}",
            "ratio": f"the ratio of the mean of {of} to that of a denominator",
            "median": f"the median of {of}",
            "quantile": f"quantiles of {of} ({named})",
            "cdf": f"shares of {of} up to given values ({named})",
            "difference": f"differences between groups in the mean of {of} ({named})",
            "coefficients": f"the coefficients of a {detail} regression of {of}",
        }.get(self.what, f"{self.what} of {of}")
        if self.method == "none":
            return f"We report {what} in the sample, not adjusted to the target population."
        return f"We estimated {what} in the target population."

    def _from_means(self) -> Iterator[str]:
        """Say how the quantity follows from means."""
        by_function = "Quantiles came from inverting the distribution function, estimated likewise."
        made = {
            "total": "The total is the mean times the known size of the population.",
            "ratio": "The ratio is that of two such means, linearised.",
            "median": by_function,
            "quantile": by_function,
            "difference": "Differences have the errors of joint influence values.",
            "coefficients": "The coefficients solve the score equations, estimated likewise.",
        }
        yield from (made[self.what],) if self.what in made else ()

    def _scale(self, cite: Cited) -> str:
        """How the intervals of this quantity were made, beyond the rule."""
        if self.what in ("median", "quantile"):
            return (
                f"for quantiles by inverting the distribution function {cite('woodruff', 'kallus')}"
            )
        if self.what == "coefficients":
            return "with standard errors of the sandwich form"
        return "on the logit scale for shares" if any(row.proportion for row in self) else ""

    @property
    def _errors_word(self) -> str:
        if self.method == "both":
            return "by outcomes of target rows"
        if self.errors == "influence" or self.method == "label":
            return "by a jackknife over folds" if self.method == "model" else "by influence values"
        return f"by {self.errors}" if self.method != "model" else "by a jackknife over folds"

    def __getitem__(self, name: str) -> Any:
        """Return the number of a class or another quantity, an outcome or a group.

        A name that several numbers have, such as that of a group, gives the table of them.
        """
        kinds = ("what", "outcome", "group")
        for kind in kinds:
            found = [row for row in self if getattr(row, kind) == name]
            whole = [row for row in found if row.group is None]
            if found := whole or found:
                return found[0] if len(found) == 1 else Table(found)
        known = dict.fromkeys(getattr(row, kind) for kind in kinds for row in self)
        raise InputError(
            f"There is no number {name!r}. Found: {', '.join(repr(one) for one in known if one)}."
        )

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def to_frame(self, *, methods: bool = False) -> Any:
        """Return a pandas data frame of the estimates, or of all ``methods``."""
        return (self.table if methods else self.estimates).to_frame()

    def plot(self, ax: Any = None) -> Any:
        """Draw plain and corrected numbers of all and of the groups: a forest plot.

        Returns a `covshift.plot.ForestPlotDisplay`.
        """
        from ..plot import ForestPlotDisplay  # it needs matplotlib: loaded when asked for

        return ForestPlotDisplay.from_estimates(self, ax=ax)

    def _parts(self) -> Iterator[Table | list[str]]:
        like = in_digits_of(self.estimates, _number)
        plain = in_digits_of(self.table.where(method="none"), _number)
        columns = [
            Column("", self._name, words=True),
            Column("sample", lambda row: _value(self.same(row, "none"), plain(row))),
            Column("adjusted", lambda row: _value(row, like(row))),
            Column("s.e.", lambda row: _error(row, like(row))),
            Column("interval", lambda row: _interval(row, like=like(row))),
            Column("rows", lambda row: f"{row.rows:,}"),
            Column("eff. rows", lambda row: f"{row.effective_sample_size:,.0f}"),
        ]
        if self.sensitivity is not None:
            columns.insert(
                5,
                sensitivity_column(
                    self.sensitivity, lambda row, ends: _interval(row, ends, like(row))
                ),
            )
        yield Table(self.estimates.records, tuple(columns))
        methods = [method for method in METHOD_WORDS if self.table.where(method=method)]
        label = self._label(self.headline) if self.what == "proportion" else ""
        of = f" ({label})" if label else ""
        rows = tuple(self.same(self.headline, method) for method in methods)
        by_method = in_digits_of(rows, _number)
        yield Table(
            rows,
            (
                Column(f"method{of}", lambda row: METHOD_WORDS[row.method], words=True),
                Column("value", lambda row: _value(row, by_method(row))),
                Column("s.e.", lambda row: _error(row, by_method(row))),
                Column("interval", lambda row: _interval(row, like=by_method(row))),
            ),
            chosen={methods.index(self.method)},
        )
        yield [
            f"Shift: {self.verdict}. {self.n_train:,} training rows, {self._target()}.",
            *weights_lines(self),
        ]

    def _target(self) -> str:
        target = f"{self.n_target:,} target rows"
        if self.margins is not None:
            columns = self.margins.columns
            target = f"margins of {len(columns)} column{'s' if len(columns) > 1 else ''}"
            if self.margins.source:
                target += f" ({printable(self.margins.source, 60)})"
        if self.covered_share < 1:
            target += f" ({self.covered_share:.1%} of the target)"
        return target

    @property
    def headline(self) -> Estimate:
        """The number that the sentence is about; of two categories yes, or else the rarer one."""
        rows: list[Estimate] = list(self.overall or self.estimates)
        rows = [row for row in rows if row.outcome == rows[0].outcome]
        if self.what == "proportion" and len(rows) == 2:  # of yes and no people mean yes
            positive = [row for row in rows if row.what.casefold() in _POSITIVE]
            rare = min(rows, key=lambda row: self.same(row, "none").value)
            return positive[0] if len(positive) == 1 else rare
        return rows[0]

    @property
    def headline_name(self) -> str:
        """The outcome of the headline, with its category."""
        row = self.headline
        category = f" = {row.what}" if self.what == "proportion" else ""
        return printable(f"{row.outcome}{category}", width=1000)

    def name_of(self, row: Estimate) -> str:
        """The outcome of a row, with its category or quantity, and its group."""
        name = printable(row.outcome, width=100)
        if row.what:
            what = printable(row.what)
            name += f" = {what}" if self.what == "proportion" else f" ({what})"
        return name if row.group is None else f"{name} in {printable(row.group)}"

    def same(self, row: Estimate, method: str) -> Estimate:
        """Return the same number by another method."""
        same = self.table.where(outcome=row.outcome, what=row.what, group=row.group, method=method)
        found: Estimate = same[0]
        return found

    def _label(self, row: Estimate) -> str:
        """Name a number where there are several, or where it is not a plain mean."""
        several = len({other.outcome for other in self.table}) > 1
        parts = [printable(row.outcome)] if several else []
        if row.what:
            parts.append(printable(row.what))
        return ", ".join(parts)

    def _name(self, row: Estimate) -> str:
        """Name a number and its group."""
        label, grouped = self._label(row), any(other.group is not None for other in self.estimates)
        name = "all" if row.group is None else printable(row.group)
        if not label:
            return name
        return f"{label}: {name}" if grouped else label


def bounded(answer: Any, odds: float) -> Table:
    """Return the table of an estimate or an evaluation with bounds (`engine.sensitivity`)."""
    check_odds(odds)
    if answer.method == "label":
        raise InputError("The bounds are for covariate shift: there are none under label shift.")
    if answer.method in ("none", "both"):
        raise InputError(
            f"method={answer.method!r} does not use that assumption, so sensitivity analysis does "
            "not apply."
        )
    bounds = answer._asked_of("with_sensitivity").bounds(odds)
    rows = []
    for row in answer.table:
        first = (row.model, row.metric) if hasattr(row, "metric") else (row.outcome, row.what)
        found = bounds.get((*first, row.group, row.method))
        if found is None or not all(np.isfinite(end.value) for end in found):
            rows.append(replace(row, sensitivity_bounds=None, sensitivity_interval=None))
        else:
            rows.append(_with_bounds(row, *found))
    return Table(rows)


def _with_bounds(row: Any, least: Number, most: Number) -> Any:
    """Give a row of a table its bounds, and the interval from one's lower to the other's upper."""
    low, high = min(least.low, row.interval[0]), max(most.high, row.interval[1])
    bounds = min(least.value, row.value), max(most.value, row.value)
    return replace(row, sensitivity_bounds=bounds, sensitivity_interval=(low, high))


def sensitivity_column(odds: float, interval: Callable[..., str]) -> Column:
    """Column of the intervals under a sensitivity."""

    def cell(row: Any) -> str:
        return "" if row.sensitivity_interval is None else interval(row, row.sensitivity_interval)

    return Column(f"if odds differ up to {odds:g}-fold", cell)


def explained_row(
    answer: Any, row: Any, kind: type, groups: Mapping[str, Sequence[str]] | None
) -> Explanation:
    """Explain one number of an estimate or an evaluation, by the answer's own method."""
    if not isinstance(row, kind):
        raise InputTypeError(
            f"explain takes a row of the table, such as found.table[0], not {type(row).__name__}."
        )
    if answer.method == "none":
        raise InputError("method='none' adjusts nothing, so that no change is to be explained.")
    if answer.method == "label":
        raise InputError(
            "Under label shift the change is that of the class shares: columns explain covariate "
            "shift alone."
        )
    source = answer._asked_of("explain")
    there: Any = answer.same(row, answer.method)
    here = answer.same(row, "none")
    moved = source.moved(there) if np.isfinite(there.value - here.value) else None
    if moved is None:
        raise InputError("This number, or its change, is not defined: there is nothing to explain.")
    values, name = (here.value, there.value), answer.name_of(row)
    return explained(moved, name, values, proportion=there.proportion, groups=groups)


def weights_lines(answer: Any) -> list[str]:
    """Say how precise the weights leave an estimate or an evaluation, and by which models."""
    lines = [
        f"Weights: effective sample size {answer.effective_sample_size:,.0f}, design effect "
        f"{answer.design_effect:.2f}, largest weight {answer.largest_weight:.1f}, trimmed "
        f"{answer.trimmed_share:.1%}."
    ]
    used = {models_in_words(shares) for shares in answer.models.values()}
    if used:
        lines.append(f"Outcome model: {'; '.join(sorted(used)[:3])}, cross-fitted.")
    return lines


def models_in_words(shares: Mapping[str, float]) -> str:
    """Name the models of a mixture with their shares, or the one that there is."""
    several = len(shares) > 1
    return ", ".join(f"{name} {share:.0%}" if several else name for name, share in shares.items())


def _number(row: Estimate) -> tuple[str, str]:
    """What number it is, in whatever group and by whatever method."""
    return row.outcome, row.what


def _value(row: Estimate, like: Written) -> str:
    return shown(row.value, like)


def _error(row: Estimate, like: Written | None = None) -> str:
    return shown(row.standard_error, like or row, percent=False)


def _interval(
    row: Estimate, interval: tuple[float, float] | None = None, like: Written | None = None
) -> str:
    ends = interval or row.interval
    return " to ".join(shown(bound, like or row, percent=False) for bound in ends)


def _one_or_all(values: Sequence[float]) -> Any:
    return values[0] if len(values) == 1 else np.array(values)
