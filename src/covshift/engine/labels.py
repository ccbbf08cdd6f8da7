"""Outcomes of some target rows: an interval that needs no assumption, and a nearer number.

L of the M target rows have an outcome, row i with the known probability pi_i (equal where nothing
is said), so that they are a sample of the target by design. With h(x) learned from both samples,
every labelled row predicted by models that have not seen it, and u_i = 1 / pi_i,

    theta_L = sum_q s_q lambda h(t_q) + sum_i u_i (y_i - lambda h(x_i)) / sum_i u_i

is the target's mean whatever p(y | x) is in the sample: prediction-powered inference, whose power
lambda is the slope of y on h among the labelled rows, between 0 and 1 (PPI++). It is the doubly
robust form of `methods`, with labelled rows as the sample and their design as weights; so every
quantity, group and error is made as for `estimate`. Rows of the sample have the weight zero: models
learn from them.

The number theta_0 that rests on the sample and the assumption (covariate shift) has a smaller
spread and an unknown bias. With D = theta_L - theta_0, of the variance v_D, and the covariance c of
theta_L and D, both from influence values, the answer is

    theta = theta_L - c / v_D (D - v_D^(1/2) S(D / v_D^(1/2))) ,    S(z) = sign(z) max(0, |z| - k) :

the most precise combination where the two agree, and nearly theta_L where they do not. The
interval is that of theta_L, which holds the answer: it lies at most k standard errors of theta_L
from its middle.

Sources: Angelopoulos, Duchi and Zrnic (2023), *PPI++: efficient prediction-powered inference*;
Armstrong, Kline and Sun (2023), *Adapting to misspecification*. Cost: the outcome models once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Samples
from ..data.groups import Groups
from ..numerics.array import Real, Rows
from ..numerics.crossfit import CrossFit, Features, deal
from ..numerics.influence import Design, Influence
from .intervals import Number
from .outcome import predict
from .problem import Problem
from .weights import Weights

_THRESHOLD = 0.6  # k, in standard errors of the difference


@dataclass(frozen=True)
class Labels:
    """Target rows that have an outcome."""

    rows: Rows  # (L,): their numbers among the target rows
    probability: Real  # (L,): with which each got its label, up to a factor


@dataclass(frozen=True)
class LabelledProblem(Problem):
    """Labelled target rows, then the sample's: the former count, all teach."""

    labelled: int = field(default=0, kw_only=True)

    @classmethod
    def of(cls, problem: Problem, labels: Labels, outcome: Real) -> LabelledProblem:
        """Put the labelled rows of a problem's target before its sample; ``outcome`` is of both."""
        sample, weights, rows = problem.sample, problem.weights, labels.rows
        L, N = len(rows), len(sample.X)
        u = sample.share[rows] / labels.probability
        d = np.concatenate([u / u.mean(), np.zeros(N)])
        groups = sample.groups
        if groups is not None and groups.target is not None:
            groups = _with_labelled(groups, rows)
        joined = Samples(
            np.vstack([sample.T[rows], sample.X]),
            sample.T,
            sample.names,
            d,
            sample.share,
            weighted=True,
            one_feature=sample.one_feature,
            made=sample.made,
            inputs=sample.inputs,
            groups=groups,
            finite_population=sample.finite_population,
        )
        Z = np.vstack([weights.T[rows], weights.Z])
        return cls(
            joined,
            Weights(d, None, Z, weights.T, 0.0),
            "dr",
            problem.confidence,
            problem.n_folds,
            problem.outcome_model,
            problem.finite_population,
            problem.random_state,
            outcome,
            labelled=L,
        )

    @cached_property
    def fold(self) -> Rows:
        """Folds of the labelled rows; rows of the sample teach all models."""
        L = self.labelled
        outcome = np.zeros(L) if self.outcome is None else self.outcome[:L]
        own = deal(self.sample.X[:L], outcome, self.n_folds)
        return np.concatenate([own, np.full(len(self.sample.X) - L, -1)])

    @cached_property
    def design(self) -> Design:
        """The labelled rows, drawn one by one."""
        return Design.simple(len(self.sample.X))

    def _predicted(self, y: NDArray[Any], classes: NDArray[Any] | None, name: str) -> CrossFit:
        """Predict, and shrink the predictions by their slope among the labelled rows."""
        found, chosen = predict(
            self.outcome_model,
            Features(self.weights.Z, self.weights.T),
            y,
            self.fold,
            classes=classes,
            weight=None,
            final=self.weights.final,
        )
        self.seen[name] = chosen
        L = self.labelled
        values = y[:, None].astype(np.float64) if classes is None else (y[:, None] == classes) * 1.0
        power = slopes(values[:L], found.train[:L], self.sample.d[:L])
        return CrossFit(found.train * power, found.folds * power)


def slopes(values: Real, predicted: Real, weight: Real) -> Real:
    """Slope of each column on its prediction, between 0 and 1: (k,)."""
    share = weight / weight.sum()
    h = predicted - share @ predicted
    spread = share @ h**2
    slope = share @ (h * (values - share @ values)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.clip(np.where(spread > 0, slope, 0.0), 0.0, 1.0))


def combined(labelled: Influence, corrected: Influence, rows: Rows, besides: float = 0.0) -> float:
    """Return the number between that of the labels and the corrected one (one column each).

    ``rows`` (L,) are the labelled target rows; ``besides`` is an error of the corrected number that
    its influence values do not hold.
    """
    first = labelled.target[:, 0].copy()
    np.add.at(first, rows, labelled.train[: len(rows), 0])
    second = corrected.target[:, 0]
    v_L = float(first @ first)
    shared = float(first @ second)
    v_0 = float(corrected.train[:, 0] @ corrected.train[:, 0] + second @ second) + besides**2
    D = float(labelled.value[0] - corrected.value[0])
    v_D, c = v_L + v_0 - 2 * shared, v_L - shared
    if not v_D > 0 or c <= 0:
        return float(labelled.value[0])
    z = D / np.sqrt(v_D)
    agreed = z - np.sign(z) * max(0.0, abs(z) - _THRESHOLD)
    return float(labelled.value[0] - c / np.sqrt(v_D) * agreed)


def at(number: Number, value: float) -> Number:
    """Return the interval of a number with another value inside of it."""
    return replace(number, value=float(np.clip(value, number.low, number.high)))


def _with_labelled(groups: Groups, rows: Rows) -> Groups:
    assert groups.target is not None
    return replace(groups, train=np.concatenate([groups.target[rows], groups.train]))
