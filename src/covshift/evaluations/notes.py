"""What is worth knowing about an evaluation, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import fdtrc

from ..data import Groups
from ..data.columns import Outcome, row_list
from ..data.row_weights import kish
from ..engine.intervals import Errors, Number
from ..engine.methods import Signal
from ..numerics.array import Flags, Real, Rows
from ..numerics.crossfit import CrossFit
from ..numerics.influence import Design, Influence, mean_influence
from ..show.notes import Note
from ..show.table import Record, Table
from .masses import Masses
from .methods import Classified, Method, Scored, residual_parts
from .metrics import Metric, Range, limits, words
from .numbers import Regressed, plain
from .problem import ScoredProblem

_DISAGREE = 2.6  # standard errors: one of a hundred by chance
_SHOWN = 1e-3  # of a number: differences that three digits show
_ENOUGH = 20  # rows, of which none is beyond 0 and 1 by chance
_CHANGED = 0.01  # level of the test of p(y | x)


def disagreement(model: str, metric: str, numbers: dict[Method, Number]) -> Iterator[Note]:
    """Warn where the methods are further apart than their errors allow."""
    best = numbers["dr"]
    apart = [
        f"{method!r} {number.value:.3g}"
        for method, number in numbers.items()
        if method in ("model", "cbpe", "pape")
        and abs(number.value - best.value)
        > max(
            _DISAGREE * np.hypot(number.standard_error, best.standard_error),
            _SHOWN * abs(best.value),
        )
    ]
    if apart:
        text = (
            f"{words(metric)} of {model}: the methods disagree by more than their errors: "
            f"'dr' {best.value:.3g}, but {', '.join(apart)}. The scores may be calibrated "
            "otherwise on the target than on the labelled rows, the labelled rows may cover "
            "little of the target, or they may have trained the model (trained_on= or cv= of "
            "Predictions). Labels of a few target rows would tell whether p(y | x) has changed."
        )
        yield Note("disagreement", text, "warning")


def perfect_score(model: str, what: str) -> Note:
    """Warn of a model that makes no error on the labelled rows."""
    text = (
        f"{model} gets {what} of the labelled rows right. Perhaps they trained it: then "
        "they cannot judge it. Mark them: Predictions(model, trained_on=...), or let cv=5 of it "
        "refit the model."
    )
    return Note("perfect score", text, "warning")


def changed_outcome(change: Change) -> Iterator[Note]:
    """Warn where labels of the target contradict what was learned from the labelled rows."""
    if change.p_value < _CHANGED:
        text = (
            f"{change.rows} labels of the target say that p(y | x) is another one there than "
            f"on the labelled rows (p = {change.p_value:.2g}; {change.model}): no weights and "
            "no outcome model can correct this. Trust the labels of the target."
        )
        yield Note("changed outcome", text, "warning")


def about_scores(scored: Scored) -> Iterator[Note]:
    """Warn of scores that may mean something else than they are taken for."""
    if not scored.classes:
        return
    named = scored.name
    ends = scored.chosen, scored.chosen_target
    said = {int(k) for part in ends if part is not None for k in np.unique(part)}
    if len(said) == 1:
        text = f"{named}: the prediction is {scored.classes[said.pop()]!r} for every row."
        if scored.given == "scores" and len(scored.classes) == 2:
            text += (
                " Scores beyond 0 and 1 are cut at 0, unless Predictions(..., threshold=...) says "
                "otherwise."
            )
        yield Note("one prediction", text, "warning")
    if scored.given != "scores":
        return
    kept = [scored.positive] if len(scored.classes) == 2 else slice(None)
    parts = scored.train[:, kept], scored.target[:, kept]
    within = [bool(((part >= 0) & (part <= 1)).all()) for part in parts]
    if all(within):
        text = (
            f"{named}: scores are within 0 and 1, but do not sum to one over the classes. They "
            "rank the rows, and are no probabilities."
        )
        yield Note("scores", text, "warning")
    elif any(len(part) >= _ENOUGH for part, inside in zip(parts, within, strict=True) if inside):
        inner, outer = ("labelled", "target") if within[0] else ("target", "labelled")
        text = (
            f"{named}: scores are within 0 and 1 on the {inner} rows, but not on the {outer} rows. "
            "Perhaps the one are probabilities and the other are not: then the numbers here "
            "mean nothing."
        )
        yield Note("scores", text, "warning")


def absent_classes(scored: Scored, labels: Any) -> Iterator[Note]:
    """Warn of classes that the model knows, but that no label shows."""
    lost = sorted(set(scored.classes) - set(labels.tolist()))
    if lost:
        text = (
            f"{scored.name} knows classes that no labelled row here has: {', '.join(lost[:5])}. "
            "Their share of the target counts as zero."
        )
        yield Note("absent classes", text, "warning")


def one_target_row(rows: int) -> Iterator[Note]:
    """Warn of a target of which nobody knows how its rows differ."""
    if rows == 1:
        text = (
            "The target is a single row: the interval is about rows like this one, and says "
            "nothing about how rows of the target differ."
        )
        yield Note("one target row", text, "warning")


def undefined_checks(checks: tuple[Check, ...]) -> Iterator[Note]:
    """Say which metrics the labels of the target leave undefined."""
    undefined = {words(check.metric) for check in checks if np.isnan(check.value)}
    if undefined:
        text = (
            f"The {checks[0].rows} labels of the target cannot check "
            f"{', '.join(sorted(undefined))}, which they do not define: a class is missing among "
            "them or is never predicted, or they are all alike."
        )
        yield Note("undefined checks", text)


def rows_that_judge(outcome: Outcome, trained: Flags) -> Iterator[Note]:
    """Say which labelled rows do not judge."""
    if outcome.missing:
        lost = np.flatnonzero(~outcome.present)
        text = (
            f"The label is missing in {len(lost)} of {len(outcome.y)} rows, which were left "
            f"out (rows {row_list(lost)})."
        )
        yield Note("missing labels", text)
    if trained.any():
        text = (
            f"{trained.sum()} rows trained the model and do not judge it. Outcome models "
            "of classes learn from them as well."
        )
        yield Note("training rows", text)


def without_number(rows: Table, groups: Groups | None) -> Iterator[Note]:
    """Warn of metrics and groups that have no number; ``rows`` are those of the chosen method."""
    undefined = {
        f"{words(row.metric)} ({row.group or 'all'})" for row in rows if np.isnan(row.value)
    }
    if undefined:
        text = (
            f"Not defined here: {', '.join(sorted(undefined))}. A class is missing, is never "
            "predicted, or is separated by the scores; the scores or the outcomes are all alike; "
            "or no row is in the bin."
        )
        yield Note("undefined metrics", text, "warning")
    if groups is not None and (groups.absent or groups.sample_only):
        named = {*groups.absent, *groups.sample_only}
        text = f"Groups of one sample alone, which have no number: {', '.join(sorted(named))}."
        yield Note("absent groups", text, "warning")


# The few labels that the target has: they check what was expected, and test p(y | x).
#
# The residuals y - q of labelled rows, times a few functions z of the row (one, the prediction, the
# score), must have the same mean on both sides if p(y | x) is the same:
#
#     D = mean_T z (y - q) - sum_i w_i z_i (y_i - q_i) ,   D' Cov(D)^-1 D ,
#
# against the F distribution. A change that neither the prediction nor the score shows is found only
# by its effect on the mean: the test answers for the metrics, not for every p(y | x). An error of q
# cancels where the weights balance it. For numbers, the error of the prediction takes the place of
# y, and its expectation that of q.


@dataclass(frozen=True)
class Check(Record):
    """A metric of the target rows that have labels, beside the expected one."""

    proportion: ClassVar[bool] = False  # numbers are written as decimals

    model: str
    metric: str
    rows: int
    value: float
    standard_error: float
    interval: tuple[float, float]
    expected: float


@dataclass(frozen=True)
class Change(Record):
    """Whether p(y | x) differs between the labelled rows and the target: a test."""

    model: str
    rows: int  # target rows with a label
    statistic: float
    p_value: float


@dataclass(frozen=True)
class Labelled:
    """Target rows that have a label."""

    rows: Rows  # (n,): of the target
    y: Any  # (n,): numbers of the classes, or numbers
    weight: Real  # (n,): shares of the target

    def check(
        self,
        model: str,
        metric: str,
        influence: Influence,
        expected: float,
        c: float,
        range_: Range,
    ) -> Check:
        """Set a metric beside the expected one, with an interval of coverage c."""
        n = len(self.rows)
        size = kish(self.weight)
        number = Errors(Design.simple(n), n - 1, size, size, c).number(influence, **limits(range_))
        interval = (number.low, number.high)
        return Check(model, metric, n, number.value, number.standard_error, interval, expected)

    def of_masses(self, judge: Classified, metric: Metric) -> Influence:
        """Compute a metric of classes on these rows."""
        N, M = len(judge.labels), len(judge.scored.target)
        Y = np.zeros((N + M, len(judge.scored.classes)))
        share = self.weight / self.weight.sum()
        Y[N + self.rows, self.y] = 1.0
        mass = np.zeros_like(Y)
        mass[N + self.rows] = share[:, None] * Y[N + self.rows]
        found = judge.masses("none")
        slope = metric.of(Masses(mass, found.scores, found.chosen))
        values = np.sum(Y * slope.gradient, axis=1)[N + self.rows]
        _, train = mean_influence(values[:, None], self.weight)
        return Influence(np.array([slope.value]), train, np.zeros((0, 1)))

    def of_numbers(self, scored: Scored, metric: Any) -> Influence:
        """Compute a metric of numbers on these rows."""
        return plain(metric, self.y, scored.target[self.rows, 0], self.weight)

    def change_of_classes(self, judge: Classified) -> Change:
        """Test whether p(y | x) has changed, by the residuals of the classes."""
        kept = [judge.scored.positive]
        if len(judge.scored.classes) > 2:
            kept = list(range(1, len(judge.scored.classes)))
        q = judge.predicted("model").columns(kept)
        y = np.asarray(self.y[:, None] == np.array(kept), dtype=np.float64)
        return self._change(judge.problem, judge.scored, Signal(judge.Y[:, kept], q), y)

    def change_of_numbers(self, judge: Regressed, scored: Scored) -> Change:
        """Test whether p(y | x) has changed, by the errors of the predictions."""
        signal = judge.problem.numbers(judge.f - judge.y, "error")
        rest = _products(signal.values - signal.h.train, residual_parts(scored)[0])
        error = scored.target[self.rows, 0] - self.y
        return self._change(judge.problem.about(rest), scored, signal, error[:, None])

    def _change(self, problem: ScoredProblem, scored: Scored, signal: Signal, y: Real) -> Change:
        here, there = residual_parts(scored)
        h = signal.h
        products = Signal(
            _products(signal.values, here),
            CrossFit(_products(h.train, here), _products(h.folds, there)),
        )
        rest = products.values - products.h.train
        train = problem.engine.means(products, "dr").train
        residual = _products(y - h.target[self.rows], there[self.rows])
        mean, target = mean_influence(residual, self.weight)
        engine = replace(problem.engine, residual_factor=1.0)
        D = mean - engine.residual_share(engine.full_weight_share) @ rest
        covariance = problem.design.covariance(train)
        covariance = covariance + Design.simple(len(self.rows)).covariance(target)
        k = int(np.linalg.matrix_rank(covariance, hermitian=True))
        if k == 0:
            return Change(scored.name, len(self.rows), 0.0, 1.0)
        statistic = float(D @ np.linalg.pinv(covariance, hermitian=True) @ D) / k
        freedom = max(1.0, min(kish(self.weight), problem.weights.effective_sample_size) - k)
        p = float(fdtrc(k, freedom, statistic))
        return Change(scored.name, len(self.rows), statistic, p)


def _products(values: Real, parts: Real) -> Real:
    """All products of columns (..., n, a) and (n, b): (..., n, a b)."""
    found = values[..., :, None] * parts[:, None, :]
    return np.asarray(found.reshape(*values.shape[:-1], -1))
