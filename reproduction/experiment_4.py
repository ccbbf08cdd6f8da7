"""Experiment 4, "Single feature bias": rows above a feature's median train 4x more or less."""

from __future__ import annotations

from typing import Any

import numpy as np

from covshift.numerics.array import Real

from . import table
from .biasing import bias_by_feature
from .configuration import Job, Settings
from .data import scaled


def draw(X: Real, y: Any, cell: str, settings: Settings, rng: np.random.RandomState) -> table.Draw:
    """A feature and a direction at random; all other rows are the target, and the test set."""
    chosen = settings["table"]
    X = scaled(X)
    split = bias_by_feature(X, chosen["n_train"], factor=chosen["factor"], random_state=rng)
    return table.cut(X, y, split, chosen["most_target"], rng)


def run(job: Job, settings: Settings) -> dict[str, Any]:
    """Run one trial."""
    return table.run_trial(draw, job, settings)
