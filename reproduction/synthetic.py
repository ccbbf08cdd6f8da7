"""What Experiments 1 and 2 share: the one-dimensional problem, and how a prediction is judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from covshift.datasets import make_sigmoid_shift
from covshift.numerics.array import Real

from .configuration import Settings
from .contenders import CONTENDERS, Contender, Learner, Sample
from .machine import Machine
from .seeds import seed_of
from .table import options_of

BOX = (-1.0, 1.0)
GRID = np.linspace(-1, 1, 401)[:, None]


def draw(n_train: int, n_target: int, seed: int) -> Any:
    """Draw until both classes train."""
    for attempt in range(100):
        found = make_sigmoid_shift(n_train, n_target, random_state=seed_of(seed, attempt))
        if len(np.unique(found.y)) == 2:
            return found
    raise ValueError(f"No draw of a hundred has both classes among {n_train} training rows.")


def sample_of(found: Any) -> Sample:
    """What contenders see of a draw."""
    return Sample(found.X, found.y, found.X_target, BOX, found.density_ratio)


def points(found: Any) -> Real:
    """Where functions are evaluated: the target rows, then the grid."""
    return np.vstack([found.X_target, GRID])


def machine(found: Any, kernel: str, factor: float) -> Machine:
    """The kernel machine of a draw, evaluated at its `points`."""
    return Machine(found.X, found.y, points(found), kernel, factor)


def normalised_error(f: Real, found: Any) -> float:
    """L2 error of the predicted probability over the target rows, relative to the truth's norm."""
    truth = found.probability_target
    return float(np.linalg.norm(f[: len(truth)] - truth) / np.linalg.norm(truth))


def excess_variation(f: Real) -> float:
    """Total variation of f on the grid beyond |f(1) - f(-1)|: zero for a monotone fit."""
    curve = f[-len(GRID) :]
    return float(np.abs(np.diff(curve)).sum() - abs(curve[-1] - curve[0]))


def make_v(name: str, sample: Sample, settings: Settings, seed: int) -> Real:
    """V of a contender with its options for Experiments 1 and 2."""
    return CONTENDERS[name].v(sample, options_of(settings, "synthetic", name), seed)


def learner(name: str) -> Learner | None:
    """The contender, where it is not the kernel machine."""
    contender: Contender = CONTENDERS[name]
    return contender if isinstance(contender, Learner) else None
