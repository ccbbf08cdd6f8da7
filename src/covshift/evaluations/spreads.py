"""What the models leave unknown of each number that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data import Samples
from ..engine.problem import Item, Problem
from ..engine.weights import weigh
from ..estimates import CDF, Quantile
from ..estimates.quantiles import Median
from ..estimates.quantities import Quantity, as_quantity, every_group, outcomes_of
from ..exceptions import InputError
from ..numerics.array import Flags, Real, Rows
from ..numerics.crossfit import fold_count
from ..numerics.influence import Influence
from .core import _judging, _trained
from .curves import bins_of
from .methods import Classified
from .metrics import class_metrics, number_metrics, title, words
from .numbers import Regressed
from .one_model import codes
from .predictions import Predictions, Reader, are_scores
from .problem import ScoredProblem


@dataclass(frozen=True)
class Settings:
    """What is asked for."""

    what: Any
    model: Any
    confidence: float
    random_state: int


@dataclass(frozen=True)
class Spread:
    """What models leave unknown of one number."""

    what: str
    group: str | None
    sigma: Real  # (M,): spread of a row's influence value given its features
    target: float  # variance of the number by the target's own sampling

    def beyond(self, outside: Flags) -> Spread:
        """Give rows that training rows do not cover the largest spread of the others."""
        if outside.all() or not outside.any():
            return self
        return replace(self, sigma=np.where(outside, self.sigma[~outside].max(), self.sigma))


def of_quantity(
    settings: Settings, X: Any, y: Any, X_target: Any, given: dict[str, Any]
) -> tuple[Samples, Rows, list[Spread]]:
    quantity = as_quantity("mean" if settings.what is None else settings.what)
    quantity.check(X.groups if isinstance(X, Samples) else given.get("by"))
    beside = {name: getattr(quantity, name) for name in quantity.row_options}
    sample = Samples.of(X, y, X_target, beside=beside, **given)
    quantity = quantity.with_rows(sample.beside, len(sample.X))
    outcomes, quantity = outcomes_of(sample, quantity, known=settings.what is not None)
    if len(outcomes) > 1:
        raise InputError(f"y has {len(outcomes)} columns. Plan the labels of one outcome.")
    outcome = outcomes[0]
    present = outcome.present & (sample.d > 0)
    for name in quantity.row_options:
        present &= ~np.isnan(getattr(quantity, name))
    used = np.flatnonzero(present)
    if len(used) < 2:
        raise InputError(f"Only {len(used)} training rows have an outcome. Two are needed.")
    problem = Problem(**_flat(sample.take(used), outcome.y[used], settings))
    of_rows = quantity.rows(used)
    return sample, used, list(spreads_of_quantity(problem, of_rows, outcome.y[used], outcome.name))


def of_model(
    settings: Settings, X: Any, y: Any, X_target: Any, given: dict[str, Any]
) -> tuple[Samples, Rows, list[Spread]]:
    sample, used, judge = judged(settings, X, y, X_target, given)
    if isinstance(judge, Regressed):
        return sample, used, list(spreads_of_numbers(judge, settings.what or "rmse"))
    return sample, used, list(spreads_of_classes(judge, settings.what or "accuracy"))


def judged(
    settings: Settings, X: Any, y: Any, X_target: Any, given: dict[str, Any]
) -> tuple[Samples, Rows, Classified | Regressed]:
    """Read the model, and set it beside the labelled rows that may judge it."""
    model = settings.model
    asked = model if isinstance(model, Predictions) else Predictions(model)
    asked.check()
    if isinstance(asked.model, Mapping):
        raise InputError("model is a dict. Labels are planned for one model: pass it alone.")
    there = asked.model if isinstance(asked.model, str) and asked.target is None else asked.target
    scores = {"model": asked.model} if are_scores(asked.model) else {}
    sample = Samples.of(
        X,
        y,
        X_target,
        beside={"trained_on": asked.trained_on, **scores},
        beside_target={"target scores": there},
        **given,
    )
    if sample.groups is not None and sample.groups.target is None:
        raise InputError(
            "by has groups of the labelled rows alone. Pass those of both samples as a pair "
            "(groups, groups_of_the_target)."
        )
    scored, outcome = Reader(sample, asked).read(
        sample.beside.get("model", asked.model),
        type(asked.model).__name__,
        sample.beside.get("target scores"),
    )
    trained = _trained(sample.beside.get("trained_on"), len(sample.X))
    used = _judging(scored, outcome, sample.d, trained)
    here, labels = scored.rows(used), outcome.y[used]
    flat = _flat(sample.take(used), labels, settings)
    problem = ScoredProblem(**flat, scores=here.columns())
    if not here.classes:
        return sample, used, Regressed(problem, labels, here.train[:, 0], here.target[:, 0])
    return sample, used, Classified(problem, here, codes(labels, here.classes))


def _flat(sample: Samples, y: Any, settings: Settings) -> dict[str, Any]:
    """Fields of a problem whose rows keep their design weights: models alone tell spreads."""
    N, seed = len(sample.X), settings.random_state
    return {
        "sample": sample,
        "weights": weigh(sample, np.ones(N), max_weight=None, random_state=seed),
        "method": "dr",
        "confidence": settings.confidence,
        "n_folds": fold_count(N),
        "outcome_model": None,
        "finite_population": False,
        "random_state": seed,
        "outcome": np.unique(y, return_inverse=True)[1].reshape(-1).astype(np.float64),
    }


def spreads_of_quantity(
    problem: Problem, quantity: Quantity, y: Any, name: str
) -> Iterator[Spread]:
    """What is unknown of a quantity of the outcome y (N,), for all and for every group."""
    for item in quantity.items(problem, y, name):
        about, factor = item, 1.0
        if isinstance(quantity, Quantile):  # c moves by 1 / density where the share below it does
            shares = CDF(item.numbers["dr"].value).items(problem, y, name)
            about = next(one for one in shares if one.group == item.group)
            errors = (one.numbers["dr"].standard_error for one in (item, about))
            factor = next(errors) / max(next(errors), np.finfo(float).tiny)
        assert about.influence is not None
        influence = about.influence.times(factor)
        sigma = None
        if about.proportion and item.group is None:
            sigma = factor * _of_share(problem, about)
        yield _spread(problem, item.label or quantity.name, item.group, influence, sigma)


def _of_share(problem: Problem, item: Item) -> Real:
    """Return the root of q (1 - q); the influence of a target row is s (q - mean q)."""
    assert item.influence is not None
    q = per_row(item.influence.target[:, 0], problem.sample.share) + item.influence.value[0]
    q = np.clip(q, 0.0, 1.0)
    return np.asarray(np.sqrt(q * (1 - q)))


def spreads_of_numbers(judge: Regressed, metrics: Any) -> Iterator[Spread]:
    """What is unknown of metrics of a regression."""
    for metric in number_metrics(metrics):
        if metric == "median_absolute_error":
            size = np.abs(judge.y - judge.f)
            for spread in spreads_of_quantity(judge.problem, Median(), size, "absolute error"):
                yield replace(spread, what=words(metric))
            continue
        for group, label in every_group(judge.problem):
            influence = judge.influence(metric, "dr", group)
            yield _spread(judge.problem, words(title(metric)), label, influence)


def spreads_of_classes(judge: Classified, metrics: Any) -> Iterator[Spread]:
    """What is unknown of metrics of a classifier."""
    problem, scored = judge.problem, judge.scored
    N, q, share = len(judge.labels), judge.predicted("model").target, problem.sample.share
    asked = (metrics, scored.classes, scored.positive, scored.given, scored.losses, bins_of(judge))
    for metric in class_metrics(*asked):
        for group, label in every_group(problem):
            slope = metric.of(judge.masses("model", group))
            if not np.isfinite(slope.value):
                of = "" if label is None else f" in the group {label!r}"
                raise InputError(
                    f"The metric {metric.name!r} has no value on the target{of}: no row is "
                    "expected to be of the class, or predicted so. Plan for another metric."
                )
            g = slope.gradient[N:] * judge.inside(group)[N:, None]
            h = np.sum(q * g, axis=1)
            sigma = np.sqrt(np.sum(q * (g - h[:, None]) ** 2, axis=1))
            own = float(np.sum((share * (h - share @ h)) ** 2))
            yield Spread(words(metric.name), label, sigma, own)


def _spread(
    problem: Problem, what: str, group: str | None, influence: Influence, sigma: Real | None = None
) -> Spread:
    """Model how far influence values are from their expectation, unless ``sigma`` is known.

    The influence of a training row under design weights d is d (psi - h(x)) / sum d.
    """
    if sigma is None:
        rest = per_row(influence.train[:, 0], problem.sample.d / problem.sample.d.sum())
        size = np.abs(rest)
        unit = float(size.max()) or 1.0
        model = problem.numbers(size / unit, f"residual of {what}, {group}")
        own = problem.sample.d / problem.sample.d.sum()
        fitted = np.maximum(model.h.train[:, 0], 0.0)
        level = np.sqrt(own @ (size / unit) ** 2 / max(own @ fitted**2, np.finfo(float).tiny))
        sigma = unit * level * np.maximum(model.h.target[:, 0], 0.0)
    return Spread(what, group, sigma, float(np.sum(influence.target**2)))


def per_row(influence: Real, share: Real) -> Real:
    return np.asarray(np.divide(influence, share, out=np.zeros_like(share), where=share > 0))
