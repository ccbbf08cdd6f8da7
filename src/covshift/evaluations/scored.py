"""What a model says of the rows of both samples: scores and predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.columns import row_list
from ..exceptions import InputError
from ..numerics.array import Real, Rows
from .masses import log_odds
from .metrics import Needs, title

_TINY = float(np.finfo(np.float64).tiny)
_MOST_ODDS = 7.0  # log-odds that an outcome model sees: probabilities of .001 to .999


@dataclass(frozen=True)
class Scored:
    """What a model says of the rows of both samples; of numbers, one column of predictions."""

    name: str
    train: Real  # (N, K), or (N, 1)
    target: Real  # (M, K), or (M, 1)
    given: Needs = "predictions"
    classes: tuple[str, ...] = ()
    positive: int = 0
    chosen: Rows | None = None  # (N,): number of the predicted class
    chosen_target: Rows | None = None  # (M,)

    def rows(self, rows: Rows) -> Scored:
        """Keep some of the training rows."""
        chosen = None if self.chosen is None else self.chosen[rows]
        return replace(self, train=self.train[rows], chosen=chosen)

    def target_rows(self, rows: Rows) -> Scored:
        """Keep some of the target rows."""
        chosen = None if self.chosen_target is None else self.chosen_target[rows]
        return replace(self, target=self.target[rows], chosen_target=chosen)

    @property
    def both(self) -> Real:
        """Scores of the training rows, then of the target rows: (N + M, K)."""
        return np.vstack([self.train, self.target])

    def losses(self, function: Any) -> Real:
        """Losses (N + M, K) of the rows of both samples, if each class were theirs."""
        both, K = self.both, len(self.classes)
        said = both[:, self.positive] if K == 2 else both
        numbers = [float(c == self.positive) if K == 2 else float(c) for c in range(K)]
        name = title(function)
        parts = [losses_of(function, np.full(len(both), c), said, name) for c in numbers]
        return np.column_stack(parts)

    def columns(self) -> tuple[Real, Real]:
        """Columns that an outcome model sees beside the features: (N, c), (M, c).

        Log-odds of probabilities, other scores as they are; in units of their spread.
        """
        both = self.both
        if self.given == "probabilities":
            both = np.clip(log_odds(both), -_MOST_ODDS, _MOST_ODDS)
        if len(self.classes) == 2:
            both = both[:, [self.positive]]
        elif self.classes:
            both = both[:, 1:]
        largest = np.maximum(np.abs(both).max(axis=0), _TINY)
        both = both / np.exp2(np.floor(np.log2(largest)))  # exact; squares do not overflow
        labelled = both[: len(self.train)]
        spread = labelled.std(axis=0)
        both = (both - labelled.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return both[: len(self.train)], both[len(self.train) :]


def losses_of(loss: Callable[..., Any], y: Any, said: Any, name: str) -> Real:
    """Apply a loss(y, score) of one finite number per row."""
    try:
        found = np.asarray(loss(np.array(y), np.array(said)), dtype=np.float64)
    except Exception as error:  # whatever a function of the user's may raise
        raise InputError(
            f"The loss {name!r} failed: {type(error).__name__}: {error}. It gets the outcomes and "
            "the scores of all rows, and must return one number per row."
        ) from error
    if found.shape != (len(y),):
        raise InputError(
            f"The loss {name!r} returned the shape {found.shape} for {len(y)} rows. It must return "
            "one number per row."
        )
    if not np.isfinite(found).all():
        bad = np.flatnonzero(~np.isfinite(found))
        raise InputError(f"The loss {name!r} is NaN or infinite (rows {row_list(bad)}).")
    return found
