"""Experiment 5, "Multiple feature bias": as Experiment 4, by the L2 norm of the feature vector.

The paper scales features to [0, 1] first, so the norm is taken of those. In the cells named
"raw norm" it is taken of the features as they come: the control for a reading that would fit
twonorm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covshift.numerics.array import Real

from . import table
from .biasing import bias_by_norm
from .configuration import Job, Settings
from .data import scaled


def draw(X: Real, y: Any, cell: str, settings: Settings, rng: np.random.RandomState) -> table.Draw:
    """A direction at random; all other rows are the target, and the test set."""
    chosen = settings["table"]
    seen = X if cell.endswith("raw norm") else scaled(X)
    split = bias_by_norm(seen, chosen["n_train"], factor=chosen["factor"], random_state=rng)
    return table.cut(scaled(X), y, split, chosen["most_target"], rng)


def run(job: Job, settings: Settings) -> dict[str, Any]:
    """Run one trial."""
    return table.run_trial(draw, job, settings)
