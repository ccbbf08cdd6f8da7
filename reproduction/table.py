"""What Experiments 3, 4 and 5 share: one trial of Table 1, with the controls that it lacks.

Errors of a trial, by contender and variant:

    paper       the setting nearest to the paper: Gaussian kernel, fixed penalty gamma
    unit        V scaled to a mean diagonal of one: matched effective gamma
    train       V from the training rows alone
    mirrored    V from the features 1 - x
    cv          gamma by cross-validated squared error on the training rows
    averaged, summed                of the additive V: the two readings of Algorithm 2
    linear, linear cv, median cv    other kernels: gamma = 1, and cross-validated
    unit cv, unit linear, ...       the same of the scaled V, for the additive one
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covshift.numerics.array import Real

from . import data
from .configuration import Job, Settings, dataset_of
from .contenders import CONTENDERS, ByV, Contender, Learner, Sample
from .machine import Machine, Watch, error_rate, unit_diagonal
from .seeds import seed_of


@dataclass(frozen=True)
class Draw:
    """One biased split: what contenders see, and the labels of the target that judge them."""

    sample: Sample
    y_target: NDArray[np.int64]


def options_of(settings: Settings, group: str, name: str) -> dict[str, Any]:
    """Options of a contender in one group of experiments ("synthetic" or "table")."""
    own: dict[str, Any] = settings[group]["options"].get(name, {})
    return own or dict(settings["options"].get(name, {}))


def cut(X: Real, y: Any, split: Any, most_target: int, rng: np.random.RandomState) -> Draw:
    """Cut the data as a `BiasedSplit` says, with at most so many target rows, drawn at random."""
    target = split.target
    if len(target) > most_target:
        target = np.sort(rng.choice(target, most_target, replace=False))
    sample = Sample(X[split.train], y[split.train], X[target], (0.0, 1.0), split.density_ratio)
    return Draw(sample, y[target])


def run_trial(draw_of: Any, job: Job, settings: Settings) -> dict[str, dict[str, Any]]:
    """Run one trial: errors, CPU seconds and warnings of each contender asked for."""
    X, y = data.load(dataset_of(job.key.cell), settings.source)
    draw = first_with_both_classes(draw_of, job, settings, X, y)
    machines = _machines(draw, settings)
    return {
        name: _contend(CONTENDERS[name], draw, machines, job, settings) for name in job.contenders
    }


def first_with_both_classes(draw_of: Any, job: Job, settings: Settings, X: Real, y: Any) -> Draw:
    """Draw until both classes train; with a hundred rows the first draw nearly always does."""
    key = job.key
    for attempt in range(100):
        seed = seed_of(settings["seed"], key.experiment, key.cell, key.trial, "draw", attempt)
        draw: Draw = draw_of(X, y, key.cell, settings, np.random.RandomState(seed))
        if len(np.unique(draw.sample.y)) == 2:
            return draw
    raise ValueError(f"{key}: no draw of a hundred has both classes among the training rows.")


def _machines(draw: Draw, settings: Settings) -> dict[str, Machine]:
    chosen, sample = settings["table"], draw.sample
    made = {"paper": (chosen["kernel"], chosen["width"]), "linear": ("linear", None)}
    made["median"] = ("median", None)
    return {
        name: Machine(sample.X, sample.y, sample.T, kernel, factor)
        for name, (kernel, factor) in made.items()
    }


def _contend(
    contender: Contender, draw: Draw, machines: dict[str, Machine], job: Job, settings: Settings
) -> dict[str, Any]:
    key, chosen = job.key, settings["table"]
    options = options_of(settings, "table", contender.name)
    seed = seed_of(settings["seed"], key.experiment, key.cell, key.trial, contender.name)
    sample, watch, errors = draw.sample, Watch(), {}

    def judge(variant: str, f: Real) -> None:
        errors[variant] = round(error_rate(f, draw.y_target), 6)

    if isinstance(contender, Learner):
        with watch.time("select"):
            judge("paper", contender.probability(sample, sample.T, options, seed))
        return {"errors": errors, "seconds": watch.seconds, "warned": watch.warned}

    with watch.time("select"):
        V = contender.v(sample, options, seed)
    factor = _factor(contender, sample, chosen["scale"][key.experiment])
    variants = {"paper": factor * V}
    if isinstance(contender, ByV) and contender.name != "unweighted":
        variants["unit"] = unit_diagonal(V)
        with watch.time("controls"):
            variants["train"] = factor * contender.v(sample.without_target(), options, seed)
            variants["mirrored"] = factor * contender.v(sample.mirrored(), options, seed)
    if contender.name == "additive":
        variants |= {"averaged": V, "summed": sample.X.shape[1] * V}
    with watch.time("machine"):
        for variant, scaled in variants.items():
            judge(variant, machines["paper"].values(scaled, chosen["gamma"]))
        judge("cv", machines["paper"].values(variants["paper"], "cv"))
        if contender.name in chosen["kernels_for"]:
            scales = {"": V} | ({"unit ": variants["unit"]} if "averaged" in variants else {})
            for prefix, scaled in scales.items():
                judge(f"{prefix}linear", machines["linear"].values(scaled, 1.0))
                judge(f"{prefix}linear cv", machines["linear"].values(scaled, "cv"))
                judge(f"{prefix}median cv", machines["median"].values(scaled, "cv"))
    return {"errors": errors, "seconds": watch.seconds, "warned": watch.warned}


def _factor(contender: Contender, sample: Sample, scale: str) -> float:
    return float(sample.X.shape[1]) if contender.name == "additive" and scale == "summed" else 1.0
