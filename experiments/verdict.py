"""When does a measured cell agree with a published one? One rule, in one function."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

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
    def direction(self) -> int:
        """-1 better than unweighted, 1 worse, 0 within two standard errors of it."""
        if abs(self.mean - 1) <= 2 * self.standard_error:
            return 0
        return 1 if self.mean > 1 else -1


def verdict(published: Cell, measured: Cell) -> Verdict:
    """Compare two independent means.

    "agrees": they are within two standard errors of their difference, which combines both:
    sqrt(std_published^2 / trials_published + std_measured^2 / trials_measured).
    "same direction": they are not, but both are better than the unweighted classifier, both worse,
    or both not to be told from it, each by two of its own standard errors.
    "differs": otherwise.

    Of cells that agree in truth, about one in twenty fails the first test by chance.
    """
    error = math.hypot(published.standard_error, measured.standard_error)
    if abs(published.mean - measured.mean) <= 2 * error:
        return "agrees"
    return "same direction" if published.direction == measured.direction else "differs"
