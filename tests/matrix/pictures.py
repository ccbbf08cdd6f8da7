"""Entry points that draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np

from covshift import plot

from .estimators import ROWS
from .functions import BY_WEIGHTS, TWO, canonical_scores, known_model, weighted
from .problem import Entry, Problem

mpl.use("Agg")


def drawn(make: Callable[[Problem], Any], values: Callable[[Any], Any]) -> Callable[[Problem], Any]:
    """A picture: what it shows."""

    def answer(problem: Problem) -> Any:
        import matplotlib.pyplot as plt

        try:
            return values(make(problem))
        finally:
            plt.close("all")

    return answer


def curve_values(display: Any) -> Any:
    return np.concatenate([np.ravel(part) for curve in display.curves.values() for part in curve])


SCORED = ("X", "y", "sample_weight")

PICTURES = [
    Entry(
        "ECDFDisplay.from_samples",
        drawn(
            lambda p: plot.ECDFDisplay.from_samples(p.X, p.X_target, feature=0, **weighted(p)),
            curve_values,
        ),
        TWO,
        covers=("ECDFDisplay",),
        tables=True,
        slow=True,
    ),
    Entry(
        "LovePlotDisplay.from_samples",
        drawn(
            lambda p: plot.LovePlotDisplay.from_samples(p.X, p.X_target, **weighted(p)),
            lambda display: display.before,
        ),
        TWO,
        covers=("LovePlotDisplay",),
        tables=True,
        slow=True,
    ),
    Entry(
        "OverlapDisplay.from_samples",
        drawn(
            lambda p: plot.OverlapDisplay.from_samples(
                p.X, p.X_target, target_weight=p.target_weight
            ),
            lambda display: np.abs(display.train),
        ),
        (*ROWS, "target_weight"),
        covers=("OverlapDisplay",),
        tables=True,
        slow=True,
    ),
    Entry(
        "ReliabilityDisplay.from_estimator",
        drawn(
            lambda p: plot.ReliabilityDisplay.from_estimator(
                known_model("classes"), p.X, p.y, p.sample_weight
            ),
            curve_values,
        ),
        SCORED,
        covers=("ReliabilityDisplay",),
        called=BY_WEIGHTS,
        slow=True,
    ),
    Entry(
        "ReliabilityDisplay.from_predictions",
        drawn(
            lambda p: plot.ReliabilityDisplay.from_predictions(
                p.y, canonical_scores("classes"), p.sample_weight
            ),
            curve_values,
        ),
        ("y", "sample_weight"),
        called=BY_WEIGHTS,
        slow=True,
    ),
    Entry(
        "ROCDisplay.from_estimator",
        drawn(
            lambda p: plot.ROCDisplay.from_estimator(
                known_model("classes"), p.X, p.y, p.sample_weight
            ),
            curve_values,
        ),
        SCORED,
        covers=("ROCDisplay",),
        called=BY_WEIGHTS,
        slow=True,
    ),
    Entry(
        "ROCDisplay.from_predictions",
        drawn(
            lambda p: plot.ROCDisplay.from_predictions(
                p.y, canonical_scores("classes"), p.sample_weight
            ),
            curve_values,
        ),
        ("y", "sample_weight"),
        called=BY_WEIGHTS,
        slow=True,
    ),
    Entry(
        "WeightsDisplay.from_weights",
        drawn(
            lambda p: plot.WeightsDisplay.from_weights(p.sample_weight),
            lambda display: np.asarray(display.weights) / np.mean(display.weights),
        ),
        ("sample_weight",),
        covers=("WeightsDisplay",),
        called=BY_WEIGHTS,
        slow=True,
    ),
]
