"""Experiment 3, "Replicating": rows enter the target with probability min(1, 4 x_c^2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from covshift.numerics.array import Real

from . import table
from .biasing import bias_by_acceptance
from .configuration import Job, Settings
from .data import scaled


def draw(X: Real, y: Any, cell: str, settings: Settings, rng: np.random.RandomState) -> table.Draw:
    """Scale to [0, 1]; of ringnorm keep five features a trial, and bias by one of those."""
    chosen = settings["table"]
    X = scaled(X)
    if cell == "ringnorm":
        X = X[:, np.sort(rng.choice(X.shape[1], chosen["ringnorm_features"], replace=False))]
    split = bias_by_acceptance(X, chosen["n_train"], chosen["n_target"], random_state=rng)
    return table.cut(X, y, split, chosen["n_target"], rng)


def run(job: Job, settings: Settings) -> dict[str, Any]:
    """Run one trial."""
    return table.run_trial(draw, job, settings)
