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

    theta = theta_L - exp(-z^2 / 8) D c / v_D ,    z = D / v_D^(1/2) :

the most precise combination where the two agree, and theta_L where they do not. Among soft and hard
thresholds and smooth ones this rule had the least error on the tables that settled it
(benchmarks/results/labels.md). The interval is that of theta_L, within which the answer is kept.

Sources: Angelopoulos, Duchi and Zrnic (2023), *PPI++: efficient prediction-powered inference*;
Armstrong, Kline and Sun (2023), *Adapting to misspecification*. Cost of `estimate`: the outcome
models once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ..data import Samples
from ..data.groups import Groups
from ..data.row_weights import kish
from ..exceptions import InputError, WeightWarning
from ..numerics.array import Flags, Real, Rows, take_rows
from ..numerics.crossfit import CrossFit, Features, stacked
from ..numerics.influence import Design, Influence
from ..numerics.quiet import quiet
from ..show.notes import Note
from .intervals import Number
from .measures import Signal
from .problem import Problem
from .stack import predict
from .weights import Weights, weigh

LEAST_LABELS = 5  # outcomes of target rows that tell a spread
_NAMED = "target rows with an outcome"
_LEAST = 1e-12  # of a weight, in units of the mean
# Of the test whether these rows are a random part, over all columns. In 3,500 draws of 25 to 100
# labels from 12 tables (rare levels, skewed numbers, 2 to 71 columns) 0.6 % gave the alarm, at most
# 1.3 % of a table; of 25 labels whose log-odds grew by one per standard deviation of one column 74
# to 98 % did.
_LEVEL = 0.01
_TRUST = 8.0  # of exp(-z^2 / 8): settled by benchmarks/labels.py


@dataclass(frozen=True, eq=False)
class Labels:
    """Outcomes of target rows, with how these rows were chosen.

    Pass it to `covshift.estimate` or `covshift.evaluate` as ``y_target``, where a plain column or
    array says that the rows with an outcome are a random part of the target.

    Parameters
    ----------
    y : name, (M,) or (M, k) array, or data frame
        The outcome of every target row, missing where it is not known.
    probability : name or (M,) array, optional
        With which each row was chosen to get its outcome, up to a common factor.
    selected : bool
        Whether rows were selected by what their columns say, in an unknown way: then they are
        weighted to the whole target, as the sample is, and given the columns they must be like
        the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import Labels, estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> asked = np.arange(400) < 60
    >>> y_target = np.where(asked, survey.y_target, np.nan)
    >>> chance = np.where(asked, 0.15, 0.0)
    >>> given = Labels(y_target, probability=chance)
    >>> found = estimate(survey.X, survey.y, survey.X_target, y_target=given)
    >>> found.method, found.n_labels
    ('both', 60)
    """

    y: Any
    probability: Any = None
    selected: bool = False

    @classmethod
    def of(cls, given: Any) -> Labels | None:
        """Return what was given, or its outcomes as a random part."""
        found = given if given is None or isinstance(given, cls) else cls(given)
        if found is not None and not isinstance(found.selected, bool):
            raise InputError("Labels: selected is True or False, whether columns decided.")
        if found is not None and found.selected and found.probability is not None:
            raise InputError("Labels: pass probability, or selected=True where it is not known.")
        return found


def chances(given: Any, chosen: Flags) -> Real:
    """Check the chances (M,) with which rows were chosen; one for those that were not."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("probability must hold numbers: the chances of target rows.") from None
    if values.shape != chosen.shape:
        raise InputError(
            f"probability has {len(np.ravel(values))} values, but X_target has {len(chosen)} rows."
        )
    found = np.where(chosen, values, 1.0)
    if not ((found > 0) & np.isfinite(found)).all():
        raise InputError(
            "probability must be above 0 for every target row that has an outcome: it is the "
            "chance with which the row was chosen."
        )
    return found


def check_weight_of_labels(weight: Real, probability: Real) -> None:
    """Refuse labels of which one counts as much as all others."""
    count = kish(weight)
    if count < LEAST_LABELS <= len(weight):
        k = int(np.argmin(probability))
        raise InputError(
            f"The {len(weight)} outcomes of target rows count as {count:.1f} equally likely ones: "
            f"one of these rows has the probability {probability[k]:.2g}. Check the probabilities; "
            f"an interval needs at least {LEAST_LABELS} such outcomes."
        )


def chances_by_columns(sample: Samples, rows: Rows, random_state: int) -> Real:
    """Estimate the chances (L,) of target rows, by weights that carry them to all target rows."""
    d = sample.share[rows] / sample.share[rows].mean()
    there = Samples(
        sample.T[rows],
        sample.T,
        sample.names,
        d,
        sample.share,
        one_feature=sample.one_feature,
        made=sample.made,
    )
    with quiet(WeightWarning):
        final = weigh(there, None, max_weight=None, random_state=random_state).final
    return np.asarray(d / np.maximum(final, _LEAST))


def no_labels_in(groups: Sequence[str]) -> Iterator[Note]:
    """Say which groups have no labelled target row."""
    if groups:
        text = (
            f"No target row of {', '.join(groups)} has an outcome: these numbers rest on the "
            "correction alone."
        )
        yield Note("groups without outcomes", text, "warning")


def unlike_the_rest(sample: Samples, rows: Rows) -> Iterator[Note]:
    """Say where rows that should be a random part of the target are not, by their columns."""
    if len(sample.T) < 2 * len(rows) or len(rows) < 2:
        return
    p_values = chances_of_draw(sample.T, rows)
    k = int(np.argmin(p_values))
    if p_values[k] * len(p_values) < _LEVEL:
        text = (
            f"The {len(rows)} target rows with an outcome differ from the others in "
            f"{sample.names[k]!r}, so they are hardly a random part. Pass Labels(y, "
            "probability=...) if their chances are known, or Labels(y, selected=True) if these "
            "columns explain who was chosen. If they decided themselves whether to answer, no "
            "correction repairs that."
        )
        yield Note("selected labels", text, "warning")


def chances_of_draw(T: Real, rows: Rows) -> Real:
    """Return how often a random draw of so many rows of T (M, n) is as far off: (n,) p-values.

    Of columns with two values by the hypergeometric distribution, which is exact however rare
    one is; of others by Wilcoxon's rank sum, whose variance is that of all rows.
    """
    from scipy.stats import hypergeom, rankdata  # takes most of a second to import

    M, L = T.shape[0], len(rows)
    found = np.ones(T.shape[1])
    low, high = T.min(axis=0), T.max(axis=0)
    two = ((T == low) | (T == high)).all(axis=0)
    above = T[:, two] == high[two]
    count = above[rows].sum(axis=0)
    drawn = hypergeom(M, above.sum(axis=0), L)
    found[two] = np.minimum(1.0, 2 * np.minimum(drawn.cdf(count), drawn.sf(count - 1)))
    for k in np.flatnonzero(~two):
        ranks = rankdata(T[:, k])
        spread = np.sqrt(ranks.var(ddof=1) * (1 / L - 1 / M))
        found[k] = 2 * ndtr(-abs(ranks[rows].mean() - ranks.mean()) / spread)
    return found


@dataclass(frozen=True)
class LabelledProblem(Problem):
    """Labelled target rows, then the sample's: the former count, all teach."""

    labelled: Rows = field(kw_only=True)  # (L,): target rows

    @classmethod
    def of(cls, problem: Problem, rows: Rows, probability: Real, outcome: Real) -> LabelledProblem:
        """Put labelled target rows (L,) of a problem before its sample; ``outcome`` is of both.

        They were chosen with a ``probability`` (L,), up to a factor.
        """
        sample, weights = problem.sample, problem.weights
        u = sample.share[rows] / probability
        d = np.concatenate([u / u.mean(), np.zeros(len(sample.X))])
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
            inputs=None if problem.outcome_model is None else _inputs(sample.inputs, rows),
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
            problem.n_rep,
            labelled=rows,
        )

    @cached_property
    def fold(self) -> Rows:
        """Folds of the labelled rows; rows of the sample teach all models."""
        L = len(self.labelled)
        outcome = np.zeros(L) if self.outcome is None else self.outcome[:L]
        own = self._deal(self.sample.X[:L], outcome)
        return np.hstack([own, np.full((len(own), len(self.sample.X) - L), -1)])

    @cached_property
    def design(self) -> Design:
        """The labelled rows, drawn one by one; those of the sample are no part of them."""
        return Design.of(
            len(self.sample.X), np.where(self.fold[0] >= 0, "labelled", "sample"), None
        )

    def in_group(
        self, signal: Signal, group: int | None, name: str
    ) -> tuple[Signal, Signal | None]:
        """Return the parts of a ratio; what h leaves counts by the labels of the group (Hájek).

        The labels' share of a group is not that of the target: residuals are multiplied by
        the ratio of the two, so that they are divided by the number of these labels.
        """
        top, bottom = super().in_group(signal, group, name)
        if group is None or self._groups.target is None:
            return top, bottom
        d, share = self.sample.d, self.sample.share
        here = d @ self._groups.indicator(group) / d.sum()
        factor = share @ self._groups.indicator(group, target=True) / here
        rest = factor * (top.values - top.h.train)
        return Signal(top.values, CrossFit(top.values - rest, top.h.folds)), bottom

    def _predicted(self, y: NDArray[Any], classes: NDArray[Any] | None, name: str) -> CrossFit:
        """Predict, and shrink the predictions by their slope among the labelled rows."""
        default, given = Features(self.weights.Z, self.weights.T), self.sample.inputs
        found, chosen = predict(
            self.outcome_model,
            default if self.outcome_model is None else given,
            y,
            self.fold,
            classes=classes,
            weight=None,
            final=self.weights.final,
        )
        self.seen[name] = chosen
        L = len(self.labelled)
        values = y[:, None].astype(np.float64) if classes is None else (y[:, None] == classes) * 1.0
        power = slopes(values[:L], found.train[:L], self.sample.d[:L])
        folds = found.folds.copy()
        folds[:, self.labelled] = found.train[:L]  # also there by models that have not seen them
        return CrossFit(found.train * power, folds * power)


def slopes(values: Real, predicted: Real, weight: Real) -> Real:
    """Slope of each column on its prediction, between 0 and 1: (k,)."""
    share = weight / weight.sum()
    h = predicted - share @ predicted
    spread = share @ h**2
    slope = share @ (h * (values - share @ values)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.clip(np.where(spread > 0, slope, 0.0), 0.0, 1.0))


@dataclass(frozen=True)
class Known:
    """A number with its influence values, where it has some."""

    number: Number
    influence: Influence | None


def combined(labelled: Known, corrected: Known, rows: Rows) -> tuple[Number, float]:
    """Return theta with the interval of theta_L, and D in standard errors.

    ``rows`` (L,) are the labelled target rows. Where a number has no influence values, the two are
    taken as independent.
    """
    theta_L, theta_0 = labelled.number, corrected.number
    if not np.isfinite(theta_L.value):  # such as a group of which no row has an outcome
        return theta_0, np.nan
    v_L, v_0 = theta_L.standard_error**2, theta_0.standard_error**2
    if v_L == 0:  # all outcomes are alike, and only the interval of a share knows better
        v_L = (max(theta_L.high - theta_L.value, theta_L.value - theta_L.low) / 2) ** 2
    shared = 0.0
    if labelled.influence is not None and corrected.influence is not None:
        own = labelled.influence.target[:, 0].copy()
        np.add.at(own, rows, labelled.influence.train[: len(rows), 0])
        shared = float(own @ corrected.influence.target[:, 0])
    D, v_D, c = theta_L.value - theta_0.value, v_L + v_0 - 2 * shared, v_L - shared
    if not (np.isfinite(v_D) and v_D > 0 and np.isfinite(D)):
        return theta_L, np.nan
    z = float(D / np.sqrt(v_D))
    if c <= 0:
        return theta_L, z
    value = float(theta_L.value - np.exp(-(z**2) / _TRUST) * D * c / v_D)
    return replace(theta_L, value=float(np.clip(value, theta_L.low, theta_L.high))), z


def _inputs(given: Features, rows: Rows) -> Features:
    """What a model of the user's sees."""
    return Features(stacked(take_rows(given.target, rows), given.train, _NAMED), given.target)


def _with_labelled(groups: Groups, rows: Rows) -> Groups:
    assert groups.target is not None
    return replace(groups, train=np.concatenate([groups.target[rows], groups.train]))
