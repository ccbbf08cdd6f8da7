"""Experiment 2, "Probability prediction error": normalised L2 error against N, over 50 trials.

Errors of a trial, by contender and variant:

    own, own variation      V and weights from the target rows at which the error is measured (4b)
    other, other variation  from another sample of the target, of 500 rows (4c)
    train, mirrored, unit   the controls of the table, with the own target
    cv                      gamma by cross-validated squared error
    gamma                   errors over four decades of gamma (at some N)
    exp(-d^2), ...          Gaussian readings of the kernel, for the methods with a V (at some N)
"""

from __future__ import annotations

from typing import Any

from covshift.numerics.array import Real

from . import synthetic
from .configuration import Job, Settings
from .contenders import CONTENDERS, ByV
from .machine import Machine, Watch, unit_diagonal
from .seeds import seed_of
from .table import options_of


def run(job: Job, settings: Settings) -> dict[str, Any]:
    """Run one trial."""
    chosen, key = settings["synthetic"], job.key
    seed = seed_of(settings["seed"], key.experiment, key.cell, key.trial)
    found = synthetic.draw(int(key.cell.removeprefix("N = ")), chosen["n_target"], seed)
    other = synthetic.draw(10, chosen["other_target"], seed_of(seed, "other target")).X_target
    machines = {"": synthetic.machine(found, chosen["kernel"], chosen["width"])}
    readings = chosen["readings"] if len(found.X) in chosen["swept_sizes"] else {}
    for reading, factor in readings.items():
        machines[reading] = synthetic.machine(found, "rbf", factor)
    return {
        name: _contend(name, found, other, machines, settings, seed_of(seed, name))
        for name in job.contenders
    }


def _contend(
    name: str, found: Any, other: Any, machines: dict[str, Machine], settings: Settings, seed: int
) -> dict[str, Any]:
    chosen = settings["synthetic"]
    sample, gamma = synthetic.sample_of(found), chosen["gamma"]
    watch = Watch()
    errors: dict[str, Any] = {}

    def judge(variant: str, f: Real, *, variation: bool = False) -> None:
        errors[variant] = round(synthetic.normalised_error(f, found), 6)
        if variation:
            errors[f"{variant} variation"] = round(synthetic.excess_variation(f), 6)

    learner = synthetic.learner(name)
    if learner is not None:
        options, at = options_of(settings, "synthetic", name), synthetic.points(found)
        with watch.time("select"):
            for variant, seen in (("own", sample), ("other", sample.with_target(other))):
                judge(variant, learner.probability(seen, at, options, seed), variation=True)
        return {"errors": errors, "seconds": watch.seconds, "warned": watch.warned}

    with watch.time("select"):
        V = synthetic.make_v(name, sample, settings, seed)
        V_other = synthetic.make_v(name, sample.with_target(other), settings, seed)
    with watch.time("machine"):
        judge("own", machines[""].values(V, gamma), variation=True)
        judge("other", machines[""].values(V_other, gamma), variation=True)
        judge("cv", machines[""].values(V, "cv"), variation=True)
        if len(sample.X) in chosen["swept_sizes"]:
            errors["gamma"] = [
                round(synthetic.normalised_error(machines[""].values(V, value), found), 6)
                for value in chosen["gammas"]
            ]
    if isinstance(CONTENDERS[name], ByV):
        with watch.time("controls"):
            judge("unit", machines[""].values(unit_diagonal(V), gamma))
            for variant, seen in (
                ("train", sample.without_target()),
                ("mirrored", sample.mirrored()),
            ):
                V_seen = synthetic.make_v(name, seen, settings, seed)
                judge(variant, machines[""].values(V_seen, gamma))
            for reading in list(machines)[1:]:
                judge(reading, machines[reading].values(V, gamma), variation=True)
    return {"errors": errors, "seconds": watch.seconds, "warned": watch.warned}
