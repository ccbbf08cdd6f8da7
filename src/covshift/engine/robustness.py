"""How strong an unobserved factor would have to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..exceptions import InputError
from ..numerics.array import Real
from ..numerics.progress import doing
from ..numerics.row_sample import ENOUGH_ROWS, drawn_rows
from ..show.answer import Answer
from ..show.notes import Note
from ..show.table import Column, Record, Table
from ..show.words import printable, readable
from .columns import ColumnSets
from .explanation import Moved
from .sensitivity import FAR, NAMED, REACHED, ROUNDING, check_null


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
    root = min(apart / spread, FAR)  # of a: RV = 2 / ((1 + 4 / a)^(1/2) + 1) keeps its digits
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
        if (len(names) == count and count > 2) or len(names) > NAMED:
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
    apart = apart if apart > ROUNDING else 0.0
    change = (plain - number) / scale
    clear = bool(abs(change) > max(error / scale, ROUNDING))
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
        if side * (sets.value(order[count:]) - whole) >= REACHED * needed:
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
    explained = ("dr", "weights", "model") if answer._evaluates else ("dr", "weights")
    if answer.method not in explained or not np.isfinite(row.value):
        return answer
    plain, moved = answer.same(row, "none").value, answer._source.moved(row)
    if moved is None or not (np.isfinite(plain) and np.isfinite(moved.values).all()):
        return answer
    made = robustness(moved, row.value, plain, proportion=row.proportion)
    return replace(answer, _robustness=made)
