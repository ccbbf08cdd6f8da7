"""Errors by drawing again: weights refitted in every draw, and replicate weights to keep.

The draws are those of `_resampling`. The target's rows are drawn in the same way, unless they are
the whole population. In each draw the weighter is fitted again; the outcome model stays.

Cost: ``n_bootstrap`` fits of the weighter.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import clone

from .._influence import Design
from .._progress import track
from .._quiet import quiet
from .._resampling import bootstrap_draws
from .._types import Real
from ..exceptions import NoOverlapError, WeightWarning
from .intervals import interval_of
from .margin_weights import margin_factors
from .methods import Method
from .problem import Item, Problem
from .weighing import factors, trimmed

DRAWN: tuple[Method, ...] = ("dr", "weights", "none")
"""Methods whose errors the draws tell; the model stays as it is."""


def is_complete(draw: list[Item]) -> bool:
    """Whether a draw has all numbers: one in which a group lost all weight has not."""
    return all(np.isfinite(item.numbers[method].value) for item in draw for method in DRAWN)


def draws(
    problem: Problem,
    weighter: Any,
    n_bootstrap: int,
    *,
    max_weight: float | None = None,
    verbose: bool = False,
) -> list[Problem]:
    """Return the problem under the weights of every draw; draws without weights are left out."""
    rng = np.random.default_rng(problem.random_state)
    sample = problem.sample
    target = None if problem.finite_population else Design.simple(len(sample.share))
    again = islice(bootstrap_draws(problem.design, target, rng), n_bootstrap)
    found, failure = [], ""
    for own, others in track(again, n_bootstrap, "bootstrap", verbose=verbose):
        d, share = sample.d * own, sample.share
        if others is not None:
            share = share * others
            share = share / share.sum()
        try:
            factor = _factor(problem, weighter, d, share)
        except ValueError as reason:  # such as a draw whose samples do not overlap
            failure = str(reason).partition("\n")[0]
            continue
        final = d * factor
        final, _ = trimmed(final / final.mean(), max_weight)
        found.append(problem.with_weights(d, final, share))
    if len(found) < max(2, n_bootstrap / 2):
        raise NoOverlapError(
            f"In {n_bootstrap - len(found)} of {n_bootstrap} draws no weights were found, so that "
            f"the others say nothing about the error. The last reason: {failure}"
        )
    return found


def _factor(problem: Problem, weighter: Any, d: Real, share: Real) -> Real:
    """Factors of one draw; weights that were given stay as they are."""
    sample, weights = problem.sample, problem.weights
    if weights.weighter is None:
        return np.asarray(weights.final / np.where(sample.d > 0, sample.d, 1.0))
    with quiet(WeightWarning):
        if sample.known is not None:
            return margin_factors(sample, clone(weights.weighter), d)
        factor, _ = factors(
            sample, weighter, weights.Z, weights.T, problem.random_state, d=d, share=share
        )
    return factor


def with_drawn_errors(items: list[Item], drawn: list[list[Item]]) -> list[Item]:
    """Give the items the spread of the draws as standard error, for what the weights decide."""
    found = []
    for k, item in enumerate(items):
        numbers = dict(item.numbers)
        for method in DRAWN:
            values = np.array([draw[k].numbers[method].value for draw in drawn])
            errors = item.errors[method]
            numbers[method] = interval_of(
                item.numbers[method].value,
                float(values.std(ddof=1)),
                errors.quantile(1.0, 0.0),
                errors,
                proportion=item.proportion,
            )
        found.append(replace(item, numbers=numbers, change=None))
    return found
