"""How wrong an answer could be, where rows with the same columns differ between the samples.

**Bounds.** Unobserved factors may change the odds of being in the target, among rows with the same
columns, at most L-fold (the marginal sensitivity model): q(y | x) = lambda(x, y) p(y | x) with
1 / L <= lambda <= L. The largest mean of y in the target is then that of

    rho(x) = E[phi | x] ,   phi = y / L + (1 - 1 / L) [Q + (1 + L) (y - Q)_+] ,

Q the quantile of y given x at L / (1 + L): rows above it count L-fold, those below 1 / L-fold. The
smallest mean is minus the largest of -y. With any other Q the mean of phi is too large, never too
small; and phi is estimated like any outcome, by the weights, by rho, or by both (doubly robust).

- y of classes with the chances q, and a gain g_c of each: Q is the quantile of the g_c, and
  rho = sum_c q_c phi(g_c), the solution of a fractional knapsack. For zeros and ones rho is
  min(L h, 1 - (1 - h) / L).
- y of numbers: Q = h(x) + k s(x), s the prediction of |y - h| by a model of its own, and k the
  weighted quantile of e = (y - h) / s. So rho = h / L + (1 - 1 / L) (h + c s) with
  c = k + (1 + L) mean (e - k)_+.

Sources: Tan (2006), *A distributional approach for causal inference using propensity scores*; Dorn
and Guo (2023), *Sharp sensitivity analysis for inverse propensity weighting via quantile
balancing*; Dorn, Guo and Kallus (2024), *Doubly-valid/doubly-sharp sensitivity analysis for causal
inference with unmeasured confounding*. Cost: one more cross-fit for numbers, O(N + M) besides.

**Robustness value.** With the weights w of the training rows (mean one), the values y whose
weighted mean is the number theta, and another value b of it,

    a = (theta - b)^2 / (var(y) var(w)) ,   RV = ((a^2 + 4 a)^(1/2) - a) / 2 :

an unobserved factor that explains the share RV of the variance of the ideal weights, and as much of
that of y, moves the number to b. A column is a benchmark: with the weights v without it, e = v - w,

    R^2 = var(e) / var(w) ,   rho = cor(e, y) ,   bias = rho (var(w) var(y) R^2)^(1/2) ,

of which the share R^2 / (1 + R^2) of the ideal weights is what an unobserved factor of its strength
would explain. The bias is that of leaving the column out, and |theta - b| / |bias| how many times
as strong as the column a reason must be. Weights with and without columns are those of
`engine.columns`, which need no further fit.

Source: Hartman and Huang (2024), *Sensitivity analysis for survey weights*.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..exceptions import InputError
from ..numerics.array import Real
from ..numerics.crossfit import CrossFit
from ..numerics.progress import doing
from ..numerics.row_sample import ENOUGH_ROWS, drawn_rows
from ..show.answer import Answer
from ..show.notes import Note
from ..show.table import Column, Record, Table
from ..show.words import printable, readable
from .columns import ColumnSets
from .explanation import Moved
from .methods import Signal

_LEAST_SPREAD = 0.1  # of the mean of |y - h|: models of it may predict less than nothing
_ROUNDING = 1e-12
_FAR = 1e100  # standard deviations, beyond which squares overflow
_REACHED = 0.9  # of a distance, which counts as all of it
_NAMED = 4  # columns, at most


def check_odds(odds: float) -> None:
    """Refuse what is no factor of odds."""
    good = isinstance(odds, int | float | np.number) and not isinstance(odds, bool)
    if not good or not 1 <= odds < np.inf:
        raise InputError(
            "{odds} must be a number of at least 1: 2.0 asks what is left of the answer if "
            "unobserved factors change the odds of being in the target up to 2-fold, among rows "
            "with the same columns. The former meaning, a change of the mean outcome, is gone.",
            odds=repr(odds),
        )


def check_null(null: float) -> None:
    """Refuse what is no value that an answer may be moved to."""
    good = isinstance(null, int | float | np.number) and not isinstance(null, bool)
    if not good or not np.isfinite(null):
        raise InputError("{null} must be a finite number.", null=repr(null))


@dataclass(frozen=True)
class Bound:
    """The largest (side 1) or smallest (side -1) mean that odds up to so many-fold allow."""

    odds: float
    side: int

    @property
    def opposite(self) -> Bound:
        """The other end."""
        return replace(self, side=-self.side)

    @property
    def level(self) -> float:
        """Level of the quantile Q."""
        return (self.odds if self.side > 0 else 1.0) / (1 + self.odds)

    def start(self, p: float) -> float:
        """Share of the sample whose largest or smallest share in the target is p, of equal rows."""
        L = self.odds if self.side > 0 else 1 / self.odds
        return p / L if p * (1 + L) <= L else 1 - L * (1 - p)

    def tilted(self, y: Real, Q: Real) -> Real:
        """Return phi, of values y and their quantiles Q."""
        beyond = np.maximum(self.side * (y - Q), 0.0)
        return np.asarray(
            y / self.odds + (1 - 1 / self.odds) * (Q + self.side * (1 + self.odds) * beyond)
        )

    def of_classes(self, gains: Real, chances: Real) -> tuple[Real, Real]:
        """Quantiles Q (...,) and rho (...,) of gains (..., K) that come with chances (..., K)."""
        gains = np.broadcast_to(gains, chances.shape)
        order = np.argsort(gains, axis=-1, kind="stable")
        ranked = np.take_along_axis(gains, order, axis=-1)
        upto = np.cumsum(np.take_along_axis(chances, order, axis=-1), axis=-1)
        place = (upto[..., :-1] < (self.level - _ROUNDING) * upto[..., -1:]).sum(axis=-1)
        Q = np.take_along_axis(ranked, place[..., None], axis=-1)
        return Q[..., 0], np.asarray((chances * self.tilted(gains, Q)).sum(axis=-1))

    def of_chances(self, signal: Signal) -> Signal:
        """Bound the means of zeros and ones (N, k), each column for itself."""
        zero_one = np.array([0.0, 1.0])
        parts = []
        for h in (signal.h.train, signal.h.folds):
            h = np.clip(h, 0.0, 1.0)
            parts.append(self.of_classes(zero_one, np.stack([1 - h, h], axis=-1)))
        (Q, train), (_, folds) = parts
        return Signal(self.tilted(signal.values, Q), CrossFit(train, folds))

    def of_numbers(self, signal: Signal, spread: Signal, w: Real) -> Signal:
        """Bound the mean of numbers (N, 1), whose ``spread`` is that of |y - h|; w are weights."""
        h, share = signal.h, w / w.sum()
        least = max(_LEAST_SPREAD * float(share @ spread.values[:, 0]), np.finfo(float).tiny)
        s = CrossFit(np.maximum(spread.h.train, least), np.maximum(spread.h.folds, least))
        e = ((signal.values - h.train) / s.train)[:, 0]
        k = weighted_quantile(e, share, self.level)
        c = k + self.side * (1 + self.odds) * float(share @ np.maximum(self.side * (e - k), 0.0))
        rest = 1 - 1 / self.odds
        rho = CrossFit(h.train + rest * c * s.train, h.folds + rest * c * s.folds)
        return Signal(self.tilted(signal.values, h.train + k * s.train), rho)


def weighted_quantile(values: Real, share: Real, level: float) -> float:
    """Smallest value (N,) at which the shares (N,), which sum to one, reach the level."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(share[order])
    place = int(np.searchsorted(upto, (level - _ROUNDING) * upto[-1]))
    return float(values[order[min(place, len(values) - 1)]])


# How strong an unobserved factor would have to be.


def robustness_value(number: float, null: float, y: Real, w: Real) -> float:
    """Return RV for the values y (N,) and the weights w (N,), mean one.

    >>> y, w = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.5, 1.5, 1.0, 1.0])
    >>> round(robustness_value(0.625, 0.5, y, w), 3)
    0.408
    """
    spread = float(np.sqrt(y.var(ddof=1) * w.var(ddof=1)))
    apart = abs(number - null)
    if not spread > 0:
        return 1.0 if apart > 0 else 0.0
    root = min(apart / spread, _FAR)  # of a: RV = 2 / ((1 + 4 / a)^(1/2) + 1) keeps its digits
    return float(2 * root / (np.hypot(root, 2.0) + root))


@dataclass(frozen=True)
class Benchmark(Record):
    """What leaving out a column would do, as a measure of what an unobserved factor may do."""

    column: str
    explained: float  # share of the variance of the ideal weights
    correlation: float  # of what it adds to the weights with the values
    bias: float  # of the number without it
    times: float  # as strong as this a reason must be to move the number to the null

    _columns: ClassVar[tuple[Column, ...]] = (
        Column("column", lambda row: printable(row.column), words=True),
        Column("explained", lambda row: f"{row.explained:.2f}"),
        Column("correlation", lambda row: f"{row.correlation:.2f}"),
        Column("bias", lambda row: readable(row.bias)),
        Column("times as strong", lambda row: f"{row.times:.1f}"),
    )


def benchmark(column: str, y: Real, w: Real, without: Real, apart: float) -> Benchmark:
    """Set an unobserved factor beside a column: weights w (N,) with all columns, and without it.

    ``apart`` is the distance of the number from the null.
    """
    e = without - w
    spread, own = float(w.var(ddof=1)), float(e.var(ddof=1))
    if not (own > 0 and spread > 0 and y.var() > 0):
        return Benchmark(column, 0.0, 0.0, 0.0, np.inf)
    R2, rho = own / spread, float(np.corrcoef(e, y)[0, 1])
    bias = rho * float(np.sqrt(spread * y.var(ddof=1) * R2))
    times = apart / abs(bias) if bias else np.inf
    return Benchmark(column, R2 / (1 + R2), rho, bias, times)


@dataclass(frozen=True, eq=False, repr=False)
class Robustness(Answer):
    """How strong an unobserved factor would have to be to move an answer to another value.

    Attributes
    ----------
    number, null : float
        The answer, and the other value: the uncorrected number unless another was named.
    value : float
        The robustness value: the share of the variance of the ideal weights, and of the outcome,
        that the reason would have to explain.
    table : Table
        The columns as benchmarks, strongest first: rows of `Benchmark`.
    columns : tuple of str or None
        The fewest columns, strongest first, that are as strong together; None: all are weaker;
        none at all where the answer is the other value already.
    undoes : bool
        Whether the other value is the uncorrected number.
    clear : bool
        Whether the correction is beyond its noise, so that there is something to undo.
    """

    number: float
    null: float
    value: float
    table: Table
    columns: tuple[str, ...] | None
    undoes: bool
    clear: bool
    notes: tuple[Note, ...] = ()
    proportion: bool = False

    _facts: ClassVar[tuple[str, ...]] = ("number", "null", "value", "columns")
    _data: ClassVar[tuple[str, ...]] = ("table",)

    def _spelled(self, value: float) -> str:
        percent = self.proportion and 0 <= value <= 1
        return f"{100 * value:.4g}%" if percent else readable(value)

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        if self.columns == ():
            if self.undoes:
                return "The correction changes nothing, so that there is nothing to undo."
            return f"The answer is {self._spelled(self.null)} already."
        goal = "undo the correction"
        if not self.undoes:
            goal = f"move the answer to {self._spelled(self.null)}"
        start = f"To {goal}, an unobserved factor would have to be "
        end = f" (robustness value {self.value:.2f})."
        count = len(self.table)
        if self.columns is None:
            what = {1: "the only column", 2: "both columns together"}.get(
                count, f"all {count} columns together"
            )
            return f"{start}stronger than {what}{end}"
        names = [printable(name) for name in self.columns]
        if len(names) == 1:
            return f"{start}as strong as {names[0]}{' alone' if count > 1 else ''}{end}"
        if (len(names) == count and count > 2) or len(names) > _NAMED:
            what = (
                f"all {count}" if len(names) == count else f"the {len(names)} strongest of {count}"
            )
            return f"{start}as strong as {what} columns together{end}"
        return f"{start}as strong as {', '.join(names[:-1])} and {names[-1]} together{end}"

    @property
    def line(self) -> str:
        """The sentence for the answer itself; empty where there is nothing to undo."""
        return self.sentence if self.clear or not self.undoes else ""

    def _parts(self) -> Iterator[Table | list[str]]:
        yield self.table


def robustness(
    moved: Moved,
    number: float,
    plain: float,
    null: float | None = None,
    *,
    proportion: bool = False,
) -> Robustness:
    """Say how strong an unobserved factor would have to be to move a number to ``null``.

    ``plain`` is the uncorrected number. Columns are in the order of their bias towards it, as an
    unobserved factor may work either way. Their weights have a number of their own, so distances
    count in units of its correction, where this is beyond noise. Beyond 20,000 rows of a sample,
    columns are compared on rows drawn at random; the robustness value is that of all rows.
    """
    b = plain if null is None else float(null)
    error = moved.errors.error(moved.corrected.minus(moved.plain))[0]
    scale = float(np.abs(moved.values).max()) or 1.0  # squares must not overflow
    y, apart = moved.values / scale, abs(number - b) / scale
    apart = apart if apart > _ROUNDING else 0.0
    change = (plain - number) / scale
    clear = bool(abs(change) > max(error / scale, _ROUNDING))
    weights = moved.weight / moved.weight.mean()
    value = robustness_value(apart, 0.0, y, weights)
    sample = moved.sample
    if sample.known is None:  # columns are named by so many rows as well as by all
        rng = np.random.default_rng(0)
        drawn = drawn_rows(len(y), ENOUGH_ROWS, rng)
        sample, y = sample.take(drawn), y[drawn]
        sample = sample.take_target(drawn_rows(len(sample.T), ENOUGH_ROWS, rng))
    sets = ColumnSets.of(sample, y)
    every = range(len(sets.names))
    whole, w = sets.value(every), sets.weights(every)
    own = sets.mean - whole
    needed = apart * abs(own / change) if clear else apart
    rows = [benchmark(sets.names[k], y, w, sets.weights_without(k), needed) for k in every]
    side = np.sign(own if clear else change) or 1.0
    order = sorted(every, key=lambda k: -side * rows[k].bias)
    columns: tuple[str, ...] | None = None if apart else ()
    for count in range(1, len(order) + 1) if apart else ():
        if side * (sets.value(order[count:]) - whole) >= _REACHED * needed:
            columns = tuple(sets.names[k] for k in order[:count])
            break
    rows.sort(key=lambda row: -abs(row.bias))
    table = Table([replace(row, bias=row.bias * scale) for row in rows])
    return Robustness(number, b, value, table, columns, null is None, clear, proportion=proportion)


class Robust:
    """What estimates and evaluations say about their robustness."""

    _robustness: Robustness | None

    @property
    def robustness_value(self) -> float | None:
        """That of undoing the correction, or of the null asked for; None where not known."""
        return None if self._robustness is None else self._robustness.value

    def robustness(self, null: float | None = None) -> Robustness:
        """Say how strong an unobserved factor would have to be to move the first number elsewhere.

        Parameters
        ----------
        null : float, optional
            Where to: default the uncorrected number. It is no parameter of the question, as
            several values may be asked of one answer.

        Returns
        -------
        Robustness
            ``print`` it: the sentence, and every column as a benchmark.
        """
        if null is not None:
            check_null(null)
        if self._robustness is None:
            raise InputError(
                "The robustness of this answer is not known: it is known of means, shares, totals, "
                "ratios and metrics that are corrected by weights, without outcomes of the target."
            )
        if null is None:
            return self._robustness
        return _robustness_of(self, null)

    def _robust_line(self) -> str:
        return "" if self._robustness is None else self._robustness.line


def _robustness_of(answer: Any, null: float | None) -> Robustness:
    row = answer.headline
    moved = answer._asked_of("robustness").moved(row)
    plain = answer.same(row, "none").value
    return robustness(moved, row.value, plain, null, proportion=row.proportion)


@doing("what would undo the answer", "step 4 of 4, ")
def robust(answer: Any) -> Any:
    """Return estimates or evaluations that know what would undo their first number."""
    row = answer.headline
    if answer.method not in ("dr", "weights") or not np.isfinite(row.value):
        return answer
    plain, moved = answer.same(row, "none").value, answer._source.moved(row)
    if moved is None or not (np.isfinite(plain) and np.isfinite(moved.values).all()):
        return answer
    made = robustness(moved, row.value, plain, proportion=row.proportion)
    return replace(answer, _robustness=made)
