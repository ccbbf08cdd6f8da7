"""Errors by drawing again: weights refitted in every draw, and replicate weights to keep.

The draws are fractional (Rubin's, smooth where the usual ones repeat and lose rows): in a stratum
of n units these get the multipliers D, with D / n of Dirichlet's distribution with n parameters
(n - 2) / n. They are never negative, their mean is one in every draw, and their covariance is
n / (n - 1) (I - 11'/n), so that the variance of a sum over the draws is that of `_influence`. Of
two units one counts twice and the other not at all; a single unit stays. The target's rows are
drawn in the same way, unless they are the whole population. In each draw the weighter is fitted
again; the outcome model stays.

Sources: Rubin (1981), *The Bayesian bootstrap*; Rao and Wu (1988), *Resampling inference with
complex survey data*, whose draws have the same covariance. Cost: ``n_bootstrap`` fits of the
weighter.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._influence import Design
from .._progress import track
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


def multipliers(design: Design, rng: np.random.Generator) -> Real:
    """Draw a non-negative multiplier for each row, mean one in every stratum: (N,)."""
    counts = np.bincount(design.stratum)
    n = counts[design.stratum]
    drawn = rng.standard_gamma(np.where(n > 2, (n - 2) / n, 1.0))
    twos = np.flatnonzero(n == 2)
    one, other = twos[np.argsort(design.stratum[twos], kind="stable")].reshape(-1, 2).T
    drawn[one] = rng.uniform(size=len(one)) < 0.5
    drawn[other] = 1 - drawn[one]
    found = drawn * (counts / np.bincount(design.stratum, weights=drawn))[design.stratum]
    return found if design.unit is None else found[design.unit]


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
    target = Design.simple(len(sample.share))
    found, failure = [], ""
    for _ in track(range(n_bootstrap), n_bootstrap, "bootstrap", verbose=verbose):
        d = sample.d * multipliers(problem.design, rng)
        share = sample.share
        if not problem.finite_population and target.units > 1:
            share = share * multipliers(target, rng)
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
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
