"""Errors by drawing again: weights refitted in every draw, and replicate weights to keep.

The draws are those of `covshift.numerics.resampling`: a bootstrap for weights that solve an
estimating equation, else a jackknife. The target's rows are drawn in the same way, unless they
are the whole population. In each draw the weighter is fitted again; the outcome model stays.

Cost: ``count`` fits of the weighter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import clone

from ..engine.intervals import interval_of
from ..engine.measures import Method
from ..engine.problem import Item, Problem
from ..engine.weights import factors, trimmed
from ..exceptions import NoOverlapError, WeightWarning
from ..numerics.array import Real
from ..numerics.influence import Design
from ..numerics.progress import track
from ..numerics.quiet import quiet
from ..numerics.resampling import Draw, Plan, no_weights_without, plan, target_draws
from .margins import margin_factors

DRAWN: tuple[Method, ...] = ("dr", "weights", "none")
"""Methods whose errors the draws tell; the model stays as it is."""


def draws(
    problem: Problem,
    weighter: Any,
    count: int,
    *,
    max_weight: float | None = None,
) -> tuple[list[Problem], Plan]:
    """Return the problem under the weights of every draw, and how a variance follows from them.

    Draws of a bootstrap that have no weights are left out. Replicate weights of the user's stand
    for draws of the training rows.
    """
    rng = np.random.default_rng(problem.random_state)
    sample = problem.sample
    target = None if problem.finite_population else Design.simple(len(sample.share))
    solve_equation = problem.weights.solve_equation
    if sample.replicates is not None:
        weights, made = sample.replicates
        there = target_draws(target, made.scale * made.rscales, rng)
        parts = weights.T / np.where(sample.d > 0, sample.d, 1.0)
        again: Iterator[Draw] = zip(parts, there, strict=True)
    else:
        made, again = plan(
            problem.design, target, "bootstrap" if solve_equation else "jackknife", count, rng
        )
    kind = made.kind
    found: list[Problem] = []
    failure = ""
    for own, others in track(islice(again, made.count), made.count, kind):
        d, share = sample.d * own, sample.share
        if others is not None:
            share = share * others
            share = share / share.sum()
        try:
            if made.given and not solve_equation:
                factor = problem.weights.final / np.where(sample.d > 0, sample.d, 1.0)
            else:
                factor = _factor(problem, weighter, d, share)
        except ValueError as reason:  # such as a draw whose samples do not overlap
            failure = str(reason).partition("\n")[0]
            if kind != "bootstrap":
                raise no_weights_without(len(found) + 1, made.count, failure) from reason
            continue
        final = d * factor
        final, _ = trimmed(final / final.mean(), max_weight)
        found.append(problem.with_weights(d, final, share))
    if kind != "bootstrap":
        return found, made
    if len(found) < max(2, count / 2):
        raise NoOverlapError(
            f"In {count - len(found)} of {count} draws no weights were found, so the "
            f"others cannot show the error. The last reason: {failure}"
        )
    return found, made.first(len(found))


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


def with_drawn_errors(
    items: list[Item],
    whole: list[Item],
    drawn: list[list[Item]],
    made: Plan,
    *,
    refitted: bool = True,
) -> list[Item]:
    """Give the items the spread of the draws as standard error, for what the weights decide.

    ``whole`` are the same numbers by the weights that the draws fit again. A group may be lost in a
    draw: others of a bootstrap tell its error, those of a jackknife do not. Weights that were not
    ``refitted`` balance about what the outcome model explains: the error of "weights" is that of
    "dr", and what they leave unbalanced.
    """
    found = []
    for k, item in enumerate(items):
        numbers = dict(item.numbers)
        for method in DRAWN:
            seen: Method = "dr" if method == "weights" and not refitted else method
            values = np.array([draw[k].numbers[seen].value for draw in drawn])
            known, used = np.isfinite(values), made
            if made.kind == "bootstrap" and 2 <= known.sum() < len(known):
                values, used = values[known], made.first(int(known.sum()))
            own = whole[k].numbers
            apart = own[seen].value - own[method].value
            error = float(np.hypot(np.sqrt(used.variance(values, own[seen].value)), apart))
            errors = item.errors[method]
            errors = replace(errors, freedom=min(errors.freedom, used.freedom))
            numbers[method] = interval_of(
                item.numbers[method].value,
                error if np.isfinite(error) else np.inf,
                errors.quantile(1.0, 0.0),
                errors,
                proportion=item.proportion,
            )
        found.append(replace(item, numbers=numbers, change=None))
    return found
