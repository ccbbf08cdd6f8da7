"""The one path of a comparison: every contender is fitted without the rows that judge it.

What contenders are fitted to differs: rows made ready once for a learner of ours, or rows as they
came for estimators of the user's. Both are a `Field`. How a contender is judged does not.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.array import Real, Rows, take_rows
from ..numerics.parallel import one_thread
from ..numerics.progress import Progress
from ..numerics.statistics import paired_gains, weighted_risk
from .methods import Method
from .result import Row, control_of, empty_row
from .selection import Losses

Fit = Callable[[Rows], Any]


class Field(ABC):
    """Rows that contenders are fitted to."""

    X: Any  # (N, n): rows as fitted models predict them
    y: NDArray[Any]  # (N,)
    loss: Losses

    @abstractmethod
    def ready(self, method: Method, row: Row) -> Fit:
        """Return what fits a contender to some of the rows; write what all rows say into ``row``.

        What is made once for all folds is made here.
        """

    @abstractmethod
    @contextmanager
    def trying(self, method: Method, row: Row) -> Iterator[None]:
        """Catch what goes wrong with a contender, and write it into its row, or raise it."""


@dataclass(eq=False)
class Trial:
    """Held-out rows, their weights, and the losses of all who were judged by them."""

    ground: Field
    folds: Sequence[tuple[Rows, Rows]]
    w: Real  # (N,): of the held-out rows
    losses: dict[str, Real] = field(default_factory=dict)  # of each contender, (N,)
    baseline: str = ""
    controls: set[str] = field(default_factory=set)

    def rows(self, methods: Sequence[Method], *, verbose: bool) -> list[Row]:
        """Judge every contender."""
        table = []
        with (  # the fits are many and small: threads would wait for each other
            one_thread(len(self.w)),
            Progress(len(methods), "comparing", verbose=verbose) as progress,
        ):
            for method in methods:
                progress.show(method.name)
                table.append(self.row(method))
                progress.done += 1
        return table

    def row(self, method: Method) -> Row:
        """Judge one contender."""
        start = time.perf_counter()
        row = empty_row(method.name, method.kind, note=method.note, control=method.control)
        with self.ground.trying(method, row):
            fit, losses = self.ground.ready(method, row), np.empty(len(self.w))
            for train, test in self.folds:
                model = fit(train)
                rows = take_rows(self.ground.X, test), take_rows(self.ground.y, test)
                losses[test] = self.ground.loss(model, *rows)
            row |= self._judged(method, losses)
        row["seconds"] = time.perf_counter() - start
        return row

    def _judged(self, method: Method, losses: Real) -> Row:
        self.losses[method.name] = losses
        if method.kind == "baseline":
            self.baseline = method.name
        if method.control:
            self.controls.add(method.name)
        risk = weighted_risk(losses, self.w)
        found: Row = {"risk": risk.value, "standard_error": risk.standard_error}
        found |= self._gain("gain", self.baseline, losses)
        if not method.control:
            found |= self._gain("gain_over_control", control_of(method.name), losses)
        return found

    def _gain(self, key: str, other: str, losses: Real) -> Row:
        """What is gained over another contender; nothing where that was not judged."""
        if other not in self.losses:
            return {}
        gain = weighted_risk(self.losses[other] - losses, self.w)
        return {key: gain.value, f"{key}_standard_error": gain.standard_error}

    def needed(self, *, controls: bool = False) -> float:
        """Return the standard errors that a gain must exceed to be clear, infinite without any.

        ``controls``: among controls alone.
        """
        able = [
            losses
            for name, losses in self.losses.items()
            if name != self.baseline and np.isfinite(losses).all()
            if not controls or name in self.controls
        ]
        if self.baseline not in self.losses or not able:
            return math.inf
        return paired_gains(self.losses[self.baseline], np.array(able), self.w).needed()
