"""`plan`: which target rows to label next, and how many.

Row q of the target, of the share s_q, gets a label with the probability pi_q; the pi_q sum to the
number of labels n. The number that prediction-powered inference makes of them
(`covshift.engine.labels`) has the variance

    v(pi) = sum_q s_q^2 sigma^2(t_q) / pi_q + sum_q s_q^2 (h(t_q) - sum s h)^2 ,
    sigma^2(x) = E[(psi - h(x))^2 | x] ,

psi the influence value of a row on the asked number and h(x) its expectation given x, both under
models of the sample. The second sum is the target's own sampling; the first is least for pi
proportional to s sigma (Neyman 1934). So rows are drawn where the asked number needs them:

    a share             sigma^2 = q (1 - q) ,                      q(x) = P(y | x) ,
    metrics of classes  sigma^2 = sum_c q_c (g_c - sum_c q_c g_c)^2 ,
    of numbers          sigma   = k E[|psi - h(x)| | x] ,

g_c the metric's derivative by the mass of class c (`evaluations.masses`), k such that the squares
have their mean among the training rows.

Models may be wrong, so a part of the labels is drawn as the target itself is,

    pi proportional to (1 - a) s sigma / sum s sigma + a s ,     at most 1 ,

which keeps the weights 1 / pi below 1 / a times those of a random sample. Where the training rows
cover nothing, nobody knows sigma: it is the largest of the covered rows. Several numbers (groups,
categories, metrics) share the plan by the mean of their sigma^2, each in units of its own mean.

Rows are drawn systematically from a random order: exactly n, row q with exactly pi_q (Madow 1949).
The interval is right whatever sigma is; a bad one makes it wider.

Sources: Neyman (1934), *On the two different aspects of the representative method*; Madow (1949),
*On the theory of systematic sampling, II*; Zrnic and Candès (2024), *Active statistical
inference*; Sawade, Landwehr and Scheffer (2010), *Active estimation of F-measures*. Cost: the
outcome models of one `estimate`, and O(M log M).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..data import Samples
from ..data.columns import refuse_old_order
from ..data.parameters import number, whole
from ..data.row_weights import kish
from ..data.validation import is_margins, unwrap_target
from ..diagnostics.coverage import set_aside
from ..engine.intervals import Errors
from ..engine.labels import LEAST_LABELS, Labels
from ..exceptions import InputError
from ..numerics.array import Flags, Real, Rows
from ..numerics.influence import Design
from ..show.answer import Answer
from ..show.notes import Note
from ..show.table import Column, Record, Table
from ..show.words import percent, printable, readable
from .spreads import Settings, Spread, of_model, of_quantity, per_row

COUNT = 100  # labels, where nothing is said
_UNIFORM = 0.3  # a: share of the labels that are drawn as the target is


def plan(
    X: Any,
    y: Any = None,
    X_target: Any = None,
    *,
    what: Any = None,
    model: Any = None,
    by: Any = None,
    count: int | None = None,
    half_width: float | None = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Plan:
    """Choose the target rows whose outcomes say most about a number, and how many are needed.

    Rows are drawn with probabilities in proportion to what models of the sample leave unknown of
    the number that is asked for (see this module's docstring for the equations). Their outcomes,
    with these probabilities, give `covshift.estimate` and `covshift.evaluate` an interval that
    holds whatever p(y | x) is in the target.

    Parameters
    ----------
    X, y, X_target
        As for `covshift.estimate`: labelled rows, their outcome, and rows of the target.
    what : str, Quantity, function, Cost or list of metrics, optional
        A quantity of `covshift.estimate`, such as "mean" or ``Quantile(0.9)``; with a ``model`` a
        metric of `covshift.evaluate`, or several. Default: the mean of numbers and the proportions
        of categories; of a model the accuracy, or the RMSE.
    model : model, name of a column, or Predictions, optional
        What is to be evaluated, as for `covshift.evaluate`.
    by : str, (N,) array or pair of arrays, optional
        Groups, each of which gets its own number too.
    count : int, optional
        How many rows to label; default 100, or as many as ``half_width`` needs.
    half_width : float, optional
        The wished half-width of the confidence interval, of every number that is asked for.
    sample_weight, target_weight : names, or (N,) and (M,) arrays, optional
        Design weights, on any scale.
    confidence : float
        Coverage of the interval.
    random_state : int
        Seed of the draw.

    Returns
    -------
    Plan
        ``rows`` to label, and ``labels(outcomes)`` for `covshift.estimate` and
        `covshift.evaluate`.

    Examples
    --------
    >>> from covshift import estimate, plan
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(500, 1000, random_state=0)
    >>> next_ones = plan(survey.X, survey.y, survey.X_target, count=60)
    >>> len(next_ones.rows)
    60
    >>> answers = survey.y_target[next_ones.rows]  # ask these people
    >>> y_target = next_ones.labels(answers)
    >>> found = estimate(survey.X, survey.y, survey.X_target, y_target=y_target)
    >>> found.n_labels
    60
    """
    refuse_old_order(X, y)
    if count is not None:
        whole(LEAST_LABELS).check(count, "count")
    number(above=0, below=1).check(confidence, "confidence")
    whole(0).check(random_state, "random_state")
    if half_width is not None:
        number(above=0).check(half_width, "half_width")
    if count is not None and half_width is not None:
        raise InputError(
            "{count} and {half_width}: pass the one that is given, not both.",
            count="",
            half_width="",
        )
    if is_margins(unwrap_target(X_target)):
        raise InputError("plan needs target rows to choose from; covshift.Margins has none.")
    given = {"by": by, "sample_weight": sample_weight, "target_weight": target_weight}
    make = of_quantity if model is None else of_model
    settings = Settings(what, model, confidence, random_state)
    sample, used, spreads = make(settings, X, y, X_target, given)
    outside = set_aside(replace(sample.take(used), d=np.ones(len(used))))[0] >= 0
    spreads = [spread.beyond(outside) for spread in spreads]
    return _planned(spreads, sample, outside, count, half_width, settings)


# From spreads to probabilities, a draw, and the widths to expect.


@dataclass(frozen=True)
class Widths:
    """How wide intervals are, by the number of labels and how rows are drawn."""

    spreads: list[Spread]
    share: Real  # (M,)
    finite_population: bool
    confidence: float

    @property
    def sizes(self) -> Real:
        """What probabilities are proportional to, (M,)."""
        squares = np.zeros(len(self.share))
        for spread in self.spreads:
            level = float(self.share @ spread.sigma**2)
            squares += spread.sigma**2 / level if level > 0 and np.isfinite(level) else 0.0
        best = self.share * np.sqrt(squares)
        if not best.sum() > 0:
            return self.share
        return np.asarray((1 - _UNIFORM) * best / best.sum() + _UNIFORM * self.share)

    @property
    def even(self) -> Real:
        """The same for rows drawn at random, (M,)."""
        return np.asarray(self.share > 0, dtype=np.float64)

    @property
    def most(self) -> int:
        """Rows that can be labelled."""
        return int((self.share > 0).sum())

    def of(self, spread: Spread, sizes: Real, count: int) -> float:
        """Half-width of one interval with so many labels."""
        pi = probabilities(sizes, count)
        labels = float(np.sum(per_row((self.share * spread.sigma) ** 2, pi)))
        target = 0.0 if self.finite_population else spread.target
        errors = Errors(Design.simple(2), count - 1, count, kish(self.share), self.confidence)
        return errors.quantile(labels, target) * float(np.sqrt(labels + target))

    def widest(self, sizes: Real, count: int) -> float:
        """Half-width of the widest interval."""
        return max(self.of(spread, sizes, count) for spread in self.spreads)

    def needed(self, sizes: Real, half_width: float, spreads: list[Spread] | None = None) -> int:
        """Fewest labels with which no interval is wider; all rows where none are enough."""
        low, high = LEAST_LABELS, max(LEAST_LABELS, self.most)
        own = self if spreads is None else replace(self, spreads=spreads)
        while low < high:
            middle = (low + high) // 2
            if own.widest(sizes, middle) <= half_width * (1 + 1e-9):
                high = middle
            else:
                low = middle + 1
        return low


def probabilities(sizes: Real, count: int) -> Real:
    """Return min(1, c sizes), (M,), with the c of which they sum to the count."""
    pi = np.zeros(len(sizes))
    certain = np.zeros(len(sizes), dtype=bool)
    for _ in range(len(sizes)):
        rest = count - int(certain.sum())
        pi = np.where(certain, 1.0, rest * sizes / max(sizes[~certain].sum(), 1e-300))
        over = (pi > 1) & ~certain
        if not over.any():
            break
        certain |= over
    return np.asarray(np.minimum(pi, 1.0))


def systematic(pi: Real, rng: np.random.Generator) -> Rows:
    """Draw rows with inclusion probabilities pi (M,), as many as they sum to; in their order.

    The rows in a random order lie one after the other on a line, each as long as its probability;
    points one apart, from a random start on, hit the rows that are drawn.
    """
    order = rng.permutation(len(pi))
    ends = np.cumsum(pi[order])
    count = round(float(ends[-1]))
    points = np.arange(count) + rng.uniform()
    place = np.searchsorted(ends * (count / ends[-1]), points, side="right")
    return np.sort(order[np.minimum(place, len(pi) - 1)])


def _planned(
    spreads: list[Spread],
    sample: Samples,
    outside: Flags,
    count: int | None,
    half_width: float | None,
    settings: Settings,
) -> Plan:
    widths = Widths(spreads, sample.share, sample.finite_population, settings.confidence)
    sizes, even, most = widths.sizes, widths.even, widths.most
    if most < LEAST_LABELS:
        raise InputError(
            f"X_target has {most} rows. An interval needs {LEAST_LABELS} labels at least."
        )
    if count is not None and count > most:
        raise InputError(f"{{count}}, but the target has {most} rows to label.", count=count)
    if half_width is not None:
        least = widths.widest(sizes, most)
        if least > half_width:
            raise InputError(
                f"{{half_width}} cannot be reached: with the labels of all {most} target rows it "
                f"is {_written(least)}. Ask for a wider interval, or add target rows.",
                half_width=f"{half_width:g}",
            )
        count = widths.needed(sizes, half_width)
    count = min(COUNT, most) if count is None else count
    pi = probabilities(sizes, count)
    lines = []
    for spread in spreads:
        expected = widths.of(spread, sizes, count)
        needed = widths.needed(even, expected, [spread])
        random = widths.of(spread, even, count)
        lines.append(Expected(spread.what, spread.group, expected, random, needed))
    for line in lines:
        if not np.isfinite(line.half_width):
            raise InputError(
                f"{line.what}: {count} labels give no finite interval. Ask for more, or for "
                "another number."
            )
    widest = max(lines, key=lambda line: line.half_width)
    return Plan(
        Table(lines),
        systematic(pi, np.random.default_rng(settings.random_state)),
        pi,
        count,
        widest.half_width,
        widths.needed(even, widest.half_width),
        settings.confidence,
        len(sample.T),
        int(outside.sum()),
        (*sample.notes, *_notes(outside, sample.share)),
    )


def _notes(outside: Flags, share: Real) -> Iterator[Note]:
    if outside.any():
        text = (
            f"No training row is like {int(outside.sum()):,} target rows "
            f"({percent(float(share[outside].sum()))} of the target): they are drawn as often as "
            "the rows that are hardest to predict."
        )
        yield Note("uncovered rows", text)


def _written(half_width: float) -> str:
    """Write two digits: nobody knows more of a width to come."""
    return readable(float(f"{half_width:.2g}"))


@dataclass(frozen=True)
class Expected(Record):
    """The interval to expect of one number, with the labels of the plan and of random rows."""

    what: str
    group: str | None
    half_width: float
    half_width_at_random: float  # with as many labels of rows drawn at random
    count_at_random: int  # rows drawn at random for the half-width of the plan

    _columns: ClassVar[tuple[Column, ...]] = (
        Column("what", lambda row: printable(row.what), words=True),
        Column("group", lambda row: printable(row.group or ""), words=True),
        Column("half-width", lambda row: _written(row.half_width)),
        Column("at random", lambda row: _written(row.half_width_at_random)),
        Column("labels at random", lambda row: f"{row.count_at_random:,}"),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Answer):
    """Which target rows to label next: what `covshift.plan` returns. Print it, or read its fields.

    Attributes
    ----------
    table : Table
        Of every number that was asked for, the half-width to expect: rows of `Expected`.
    rows : (count,) array
        Numbers of the rows of X_target to label, from 0, in their order.
    probability : (M,) array
        With which each target row was drawn.
    count : int
    half_width : float
        Expected half-width of the widest interval.
    count_at_random : int
        Labels of rows drawn at random that would give the same half-width.
    confidence : float
    n_target : int
    n_uncovered : int
        Target rows that no training row is like.
    notes : tuple of Note
    """

    table: Table
    rows: Rows
    probability: Real
    count: int
    half_width: float
    count_at_random: int
    confidence: float
    n_target: int
    n_uncovered: int
    notes: tuple[Note, ...] = ()

    _facts: ClassVar[tuple[str, ...]] = (
        *("count", "half_width", "count_at_random", "confidence", "n_target", "n_uncovered"),
    )
    _data: ClassVar[tuple[str, ...]] = ("table", "rows")

    @property
    def sentence(self) -> str:
        """How many rows to label, and what they give."""
        widest = max(self.table, key=lambda line: line.half_width)
        of = printable(widest.what) + (f" of {printable(widest.group)}" if widest.group else "")
        return (
            f"Label {self.count:,} of {self.n_target:,} target rows: expected "
            f"{100 * self.confidence:g}% CI of {of} ±{_written(self.half_width)}, as with "
            f"{self.count_at_random:,} rows drawn at random."
        )

    @property
    def assumption(self) -> str:
        """What the widths rest on."""
        return (
            "The widths are expected from models of the sample. Where these are wrong, the "
            "interval is wider, but still right: it rests on the labels and their probabilities."
        )

    def labels(self, y: Any) -> Labels:
        """Return outcomes of the planned `rows` (count,) as `estimate` and `evaluate` take them.

        Missing ones (NaN, None) stay missing.
        """
        values = np.asarray(y)
        if values.shape != (self.count,):
            raise InputError(
                f"y has the shape {values.shape}. Pass {self.count} outcomes, one for each of rows."
            )
        everywhere: Any = np.full(self.n_target, np.nan)
        if not np.issubdtype(values.dtype, np.number):
            everywhere = np.full(self.n_target, None, dtype=object)
        everywhere[self.rows] = values
        return Labels(everywhere, probability=self.probability)
