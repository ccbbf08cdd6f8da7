"""When does a measured cell agree with a published one? One rule, in one function.

"Two standard errors" are two only where trials are many: with few, Student's t puts as many
standard errors in their place as hold a mean with the same confidence, four and a half for three
trials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

from scipy.stats import norm, t

Verdict = Literal["agrees", "same direction", "differs"]
VERDICTS: tuple[Verdict, ...] = ("agrees", "same direction", "differs")


class Cell(NamedTuple):
    """A mean of ratios to the unweighted error, with its standard deviation and trials."""

    mean: float
    std: float
    trials: int

    @property
    def standard_error(self) -> float:
        """Deviation of the mean: std / sqrt(trials)."""
        return self.std / math.sqrt(self.trials)

    @property
    def margin(self) -> float:
        """Two standard errors, more for few trials."""
        return standard_errors(self.trials - 1) * self.standard_error

    @property
    def direction(self) -> int:
        """-1 better than unweighted, 1 worse, 0 within two standard errors of it."""
        if abs(self.mean - 1) <= self.margin:
            return 0
        return 1 if self.mean > 1 else -1

    @property
    def p_worse(self) -> float:
        """Probability of so large a mean, or a larger one, if it were one in truth."""
        if self.standard_error == 0:
            return float(self.mean <= 1)
        return float(t.sf((self.mean - 1) / self.standard_error, self.trials - 1))


def clearly_worse(cells: Sequence[Cell], level: float = 0.05) -> list[bool]:
    """Tell which means are above one: by Holm's method, since of many cells some are by chance."""
    order = sorted(range(len(cells)), key=lambda k: cells[k].p_worse)
    found = [False] * len(cells)
    for rank, k in enumerate(order):
        if cells[k].p_worse > level / (len(cells) - rank):
            break
        found[k] = True
    return found


@cache
def standard_errors(freedom: float) -> float:
    """As many as hold a mean as surely as two do when the deviation is known."""
    return float(t.ppf(norm.cdf(2), freedom))


def margin_of_difference(one: Cell, other: Cell) -> float:
    """Two standard errors of the difference of two independent means, more for few trials.

    The standard error combines both, sqrt(std_1^2 / trials_1 + std_2^2 / trials_2), and the degrees
    of freedom are Welch's.
    """
    parts = [(cell.standard_error**2, cell.trials - 1) for cell in (one, other)]
    variance = sum(square for square, _ in parts)
    if variance == 0:
        return 0.0
    freedom = variance**2 / sum(square**2 / trials for square, trials in parts)
    return standard_errors(freedom) * math.sqrt(variance)


def verdict(published: Cell, measured: Cell) -> Verdict:
    """Compare two independent means.

    "agrees": they are within two standard errors of their difference (`margin_of_difference`).
    "same direction": they are not, but both are better than the unweighted classifier, both worse,
    or both not to be told from it, each by two of its own standard errors.
    "differs": otherwise.

    Of cells that agree in truth, about one in twenty fails the first test by chance.
    """
    if abs(published.mean - measured.mean) <= margin_of_difference(published, measured):
        return "agrees"
    return "same direction" if published.direction == measured.direction else "differs"
