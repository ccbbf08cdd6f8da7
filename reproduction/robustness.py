"""Figure 1b for every method and data set: target error over a method's own parameter.

The draws are those of Experiment 4. Each method's parameter (bandwidth, kernel width, penalty,
blend) runs over its range with all else as in the table; the machine's penalty gamma runs over
four decades for every method. A method that finds no weights at a value has no error there (null).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covshift.numerics.array import Real

from . import data, experiment_4, table
from .configuration import Job, Key, Settings, dataset_of
from .contenders import CONTENDERS, Contender, Learner
from .machine import Machine, Watch, error_rate
from .seeds import seed_of


def values_of(settings: Settings, name: str) -> list[float]:
    """The values of a contender's own parameter; none for a method that has no parameter."""
    swept = settings["robustness"].get(name)
    if swept is None:
        return []
    if "values" in swept:
        return list(swept["values"])
    return [float(f"{value:.3g}") for value in np.geomspace(swept["from"], swept["to"], 9)]


def run(job: Job, settings: Settings) -> dict[str, Any]:
    """Run one trial: errors over gamma and over the own parameter of each contender."""
    X, y = data.load(dataset_of(job.key.cell), settings.source)
    same = Job(Key("4", job.key.cell, job.key.trial))  # the very draws of Experiment 4
    draw = table.first_with_both_classes(experiment_4.draw, same, settings, X, y)
    chosen, sample = settings["table"], draw.sample
    machine = Machine(sample.X, sample.y, sample.T, chosen["kernel"], chosen["width"])
    return {name: _sweep(CONTENDERS[name], draw, machine, job, settings) for name in job.contenders}


def _sweep(
    contender: Contender, draw: table.Draw, machine: Machine, job: Job, settings: Settings
) -> dict[str, Any]:
    watch, chosen = Watch(), settings["table"]
    options = table.options_of(settings, "table", contender.name)
    seed = seed_of(settings["seed"], "4", job.key.cell, job.key.trial, contender.name)
    found: dict[str, Any] = {}
    if not isinstance(contender, Learner):
        with watch.time("select"):
            V = _v(contender, draw, options, seed, chosen)
        with watch.time("machine"):
            found["gamma"] = [
                _judged(machine.values(V, gamma), draw)
                for gamma in settings["robustness"]["gammas"]
            ]
    swept = settings["robustness"].get(contender.name)
    if swept is not None:
        unit = _distance(draw.sample.T, draw.sample.X) if swept.get("unit") else 1.0
        with watch.time("sweep"):
            found["own"] = [
                _at(
                    contender,
                    draw,
                    machine,
                    {**options, swept["parameter"]: unit * value},
                    seed,
                    chosen,
                )
                for value in values_of(settings, contender.name)
            ]
    return {"errors": found, "seconds": watch.seconds, "warned": watch.warned}


def _at(
    contender: Contender, draw: table.Draw, machine: Machine, options: Any, seed: int, chosen: Any
) -> float | None:
    try:
        if isinstance(contender, Learner):
            sample = draw.sample
            return _judged(contender.probability(sample, sample.T, options, seed), draw)
        V = _v(contender, draw, options, seed, chosen)
    except ValueError:  # no usable weights at this value
        return None
    return _judged(machine.values(V, chosen["gamma"]), draw)


def _v(contender: Contender, draw: table.Draw, options: Any, seed: int, chosen: Any) -> Real:
    summed = contender.name == "additive" and chosen["scale"]["4"] == "summed"
    factor = draw.sample.X.shape[1] if summed else 1
    return factor * contender.v(draw.sample, options, seed)


def _judged(f: Real, draw: table.Draw) -> float:
    return round(error_rate(f, draw.y_target), 6)


def _distance(T: Real, X: Real) -> float:
    """Typical distance in standardised features, in which the widths of the weighters are."""
    deviation = np.sqrt((T.var(axis=0) + X.var(axis=0)) / 2)
    return float(np.sqrt(2 * np.count_nonzero(deviation)))
