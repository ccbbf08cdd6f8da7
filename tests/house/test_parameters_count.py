"""Signatures stay short: options of a kernel, of views or of a quantity live in that object."""

from __future__ import annotations

import inspect

import pytest

import covshift
from covshift import registry
from covshift.weights import CDFWeights

MOST = {
    covshift.estimate: 20,
    covshift.evaluate: 18,
    covshift.VSVC: 10,
    covshift.VSVR: 10,
    CDFWeights: 8,
}
FIT = {"X", "y", "X_target", "sample_weight", "target_weight"}


def members(thing):
    """The public things of a module; another thing is its own."""
    if not inspect.ismodule(thing):
        return [thing]
    names = getattr(thing, "__all__", dir(thing))
    return [getattr(thing, name) for name in names if not name.startswith("_")]


def public_estimators():
    """Every class of ours with a fit: those of the public modules, and those of the registry."""
    found = [one for name in covshift.__all__ for one in members(getattr(covshift, name))]
    for entry in [*registry.learners(), *registry.weighters()]:
        loaded = entry.load()
        found += loaded if isinstance(loaded, tuple) else [loaded]
    ours = {one for one in found if inspect.isclass(one) and one.__module__.startswith("covshift")}
    return {one for one in ours if hasattr(one, "fit") and hasattr(one, "get_params")}


def count(thing):
    return len(inspect.signature(thing).parameters)


@pytest.mark.parametrize("thing", MOST, ids=lambda thing: thing.__name__)
def test_there_are_at_most_so_many_parameters(thing):
    assert count(thing) <= MOST[thing]


def test_every_fit_takes_rows_outcomes_target_and_weights_and_nothing_else():
    taken = {
        one.__name__: set(inspect.signature(one.fit).parameters) - {"self"}
        for one in public_estimators()
    }
    more = {name: names - FIT for name, names in taken.items() if not names <= FIT}
    assert more == {"ConformalClassifier": {"y_target"}, "ConformalRegressor": {"y_target"}}


def test_the_walk_meets_estimators_of_every_kind():
    names = {one.__name__ for one in public_estimators()}
    assert names >= {"VSVC", "VBoostRegressor", "CDFWeights", "KLIEP", "Reweighted", "TableEncoder"}
    assert names >= {"ConformalClassifier", "RobustBiasAware", "BoostedTreesRegressor", "Weighter"}
