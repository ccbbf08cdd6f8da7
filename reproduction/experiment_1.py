"""Experiment 1, "Robustness": the predicted p(y = 1 | x) of every method on a single run."""

from __future__ import annotations

from typing import Any

from . import synthetic
from .configuration import Job, Settings
from .machine import Watch
from .seeds import seed_of
from .table import options_of


def run(job: Job, settings: Settings) -> dict[str, Any]:
    """Run one trial: the curve on the grid, its error and its roughness, by contender."""
    chosen, key = settings["synthetic"], job.key
    seed = seed_of(settings["seed"], key.experiment, key.cell, key.trial)
    found = synthetic.draw(chosen["n_train"], chosen["n_target"], seed)
    sample, at = synthetic.sample_of(found), synthetic.points(found)
    machine = synthetic.machine(found, chosen["kernel"], chosen["width"])
    results = {}
    for name in job.contenders:
        watch, own = Watch(), seed_of(seed, name)
        learner = synthetic.learner(name)
        with watch.time("select"):
            if learner is not None:
                options = options_of(settings, "synthetic", name)
                f = learner.probability(sample, at, options, own)
            else:
                V = synthetic.make_v(name, sample, settings, own)
        if learner is None:
            with watch.time("machine"):
                f = machine.values(V, chosen["gamma"])
        results[name] = {
            "errors": {
                "l2": round(synthetic.normalised_error(f, found), 6),
                "variation": round(synthetic.excess_variation(f), 6),
            },
            "curve": [round(value, 4) for value in f[-len(synthetic.GRID) :: 2].tolist()],
            "seconds": watch.seconds,
            "warned": watch.warned,
        }
    return results
