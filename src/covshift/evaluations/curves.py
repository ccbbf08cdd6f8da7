"""Curves of a classifier of two classes, on the target and on the labelled rows as they are.

Both are functions of the masses (`evaluations.masses`), p of the positive class and n of the other:

    reliability   in every bin B of the score:  sum_B (p + n) s / sum_B (p + n)   mean score,
                                                sum_B p / sum_B (p + n)           share of positives
    ROC           from the highest score down:  (sum n, sum p) / (all n, all p)

A share has the errors of any metric of masses, with the effective rows of its bin alone: where no
labelled row could correct the outcome model, the interval is from 0 to 1. Signed masses (doubly
robust) can make the sums of the ROC curve fall: the running maximum is taken, within 0 and 1. Cost
O(n log n).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.intervals import Number
from ..engine.measures import Signal
from ..numerics.array import Real
from ..numerics.crossfit import CrossFit
from ..numerics.influence import Influence
from ..show.notes import plain
from ..show.table import Record, Table, card
from . import masses as on
from .bins import Bins, score_bins
from .masses import Masses
from .methods import Classified, Method, engine_method
from .metrics import Metric, limits

if TYPE_CHECKING:
    pass

_MOST_POINTS = 200


@dataclass(frozen=True, eq=False)
class Reliability(Record):
    """How often the positive class comes true, in k bins of its score; NaN for empty bins."""

    bounds: Real  # (k + 1,): scores between the bins
    score: Real  # (k,): mean
    share: Real  # (k,): of the positive class
    standard_error: Real  # (k,)
    interval: Real  # (k, 2)
    mass: Real  # (k,): how much of the sample is in the bin


@dataclass(frozen=True, eq=False)
class ROC(Record):
    """Points of the ROC curve, from (0, 0) to (1, 1), and the area under it."""

    false_positive_rate: Real = field(repr=False)  # (p,)
    true_positive_rate: Real = field(repr=False)  # (p,)
    auc: float


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves of one classifier of two classes that has scores.

    Attributes
    ----------
    model : str
    positive : str
        The positive class.
    reliability, reliability_labelled : Reliability or None
        On the target, by the chosen method, and on the labelled rows as they are. None where the
        scores are not probabilities.
    roc, roc_labelled : ROC or None
        The same for the ROC curve; None where a class is missing.
    """

    model: str
    positive: str
    reliability: Reliability | None
    reliability_labelled: Reliability | None
    roc: ROC | None
    roc_labelled: ROC | None

    def _repr_html_(self) -> str:
        areas = [
            (name, "–" if curve is None else f"{curve.auc:.3f}")
            for name, curve in (("target", self.roc), ("labelled rows", self.roc_labelled))
        ]
        tables, curve = [Table.of(("area under the ROC curve", "AUC"), areas)], self.reliability
        if curve is not None:
            numbers = (curve.score, curve.share, curve.interval[:, 0], curve.interval[:, 1])
            rows = [
                (f"{low:.3g} to {high:.3g}", *(f"{column[k]:.3f}" for column in numbers))
                for k, (low, high) in enumerate(pairwise(curve.bounds))
            ]
            head = ("score", "mean score", "share of positives", "low", "high")
            tables.append(Table.of(head, rows))
        return card(f"Curves of {self.model} on the target, class {self.positive}", *tables)

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration curves as lists; ROC curves by their areas alone."""
        found: dict[str, Any] = {"model": self.model, "positive": self.positive}
        for name in ("reliability", "reliability_labelled"):
            curve = getattr(self, name)
            found[name] = None if curve is None else plain(vars(curve))
        for name in ("roc", "roc_labelled"):
            curve = getattr(self, name)
            found[f"{name}_auc"] = None if curve is None else plain(curve.auc)
        return found


def curves_of(judge: Classified, method: Method, bins: Bins | None) -> Curves | None:
    """Return the curves, where there are two classes and scores."""
    scored = judge.scored
    if len(scored.classes) != 2 or scored.given == "predictions":
        return None
    c = scored.positive
    return Curves(
        scored.name,
        scored.classes[c],
        None if bins is None else reliability(judge, bins, method),
        None if bins is None else reliability(judge, bins, "none"),
        roc(judge.masses(method), c),
        roc(judge.masses("none"), c),
    )


def bins_of(judge: Classified, count: int | None = None) -> Bins | None:
    """Bin the probabilities of the positive one of two classes."""
    scored = judge.scored
    if len(scored.classes) != 2 or scored.given != "probabilities":
        return None
    c = scored.positive
    return score_bins(scored.train[:, c], scored.target[:, c], judge.problem.sample.share, count)


def reliability(judge: Classified, bins: Bins, method: Method) -> Reliability:
    """Compute the calibration curve by one method, all bins at once.

    The numbers are those of the metric "calibration_curve" (`number_within`), for less work.
    """
    masses = judge.masses(method)
    share, mass = _shares(masses, bins, judge.scored.positive)
    numbers = []
    for k, found in enumerate(_influences(judge, bins, method, share, mass)):
        errors = judge.errors(method, None, found, bins.place == k)
        numbers.append(errors.number(found, proportion=True))
    s, total = masses.scores[:, judge.scored.positive], masses.mass.sum(axis=1)
    empty = np.isnan(share)
    scores = np.bincount(bins.place, weights=total * s, minlength=bins.count)
    return Reliability(
        bins.bounds,
        np.where(empty, np.nan, scores / np.where(empty, 1.0, mass)),
        np.array([number.value for number in numbers]),
        np.array([number.standard_error for number in numbers]),
        np.array([(number.low, number.high) for number in numbers]),
        np.where(empty, 0.0, mass / mass.sum()),
    )


def number_within(
    judge: Classified,
    metric: Metric,
    method: Method,
    group: int | None = None,
    found: Influence | None = None,
) -> Number:
    """Estimate a metric; the interval rests on the rows alone that the metric is about."""
    if metric.within is None:
        return judge.number(metric, method, group, found)
    found = judge.influence(metric, method, group) if found is None else found
    errors = judge.errors(method, group, found, metric.within)
    return errors.number(found, **limits(metric.range))


def _shares(masses: Masses, bins: Bins, c: int) -> tuple[Real, Real]:
    """Share of class c in every bin (k,), NaN where it is empty, and the mass of the bin."""
    p, n = masses.pair(c)
    own = np.bincount(bins.place, weights=p, minlength=bins.count)
    mass = np.bincount(bins.place, weights=p + n, minlength=bins.count)
    some = mass > on.NOTHING * float(masses.mass.sum())
    return np.where(some, own / np.where(some, mass, 1.0), np.nan), mass.astype(np.float64)


def _influences(
    judge: Classified, bins: Bins, method: Method, share: Real, mass: Real
) -> Iterator[Influence]:
    """Influence of every row (or fold) on the share of every bin, as `Classified.influence` does.

    A mass of class a in a bin moves its share by (1[a = c] - share) / mass.
    """
    N, scored = len(judge.labels), judge.scored
    some = ~np.isnan(share)
    centre, scale = np.where(some, share, 0.0), np.where(some, 1 / np.where(some, mass, 1.0), 0.0)
    c, place = scored.positive, bins.place
    if method == "label":
        g = (judge.Y[:, c] - centre[place[:N]]) * scale[place[:N]]
        yield from (judge.by_shares(share[k], g * (place[:N] == k)) for k in range(bins.count))
        return
    q = judge.predicted("model" if method in ("none", "weights") else method)
    values, h, folds = (
        (chance[..., c] - centre[where] * chance.sum(axis=-1)) * scale[where]
        for chance, where in (
            (judge.Y, place[:N]),
            (q.train, place[:N]),
            (q.folds, place[N:]),
        )
    )
    for k in range(bins.count):
        here, there = place[:N] == k, place[N:] == k
        signal = Signal(
            (values * here)[:, None], CrossFit((h * here)[:, None], (folds * there)[..., None])
        )
        linear = judge.problem.measures.means(signal, engine_method(method))
        yield replace(linear, value=share[k : k + 1])


def roc(masses: Masses, c: int, most: int = _MOST_POINTS) -> ROC | None:
    """Compute the ROC curve of class c; ``most`` points of it, evenly along the curve."""
    p, n = masses.pair(c)
    _, level = np.unique(-masses.scores[:, c], return_inverse=True)
    sums = [np.cumsum(np.bincount(level.reshape(-1), weights=part)) for part in (n, p)]
    if not all(part[-1] > 0 for part in sums):
        return None
    x, y = (
        np.clip(np.maximum.accumulate(np.concatenate([[0.0], part / part[-1]])), 0.0, 1.0)
        for part in sums
    )
    moved = np.concatenate([[True], (np.diff(x) > 0) | (np.diff(y) > 0)])
    x, y = x[moved], y[moved]
    if len(x) > most:
        kept = np.searchsorted(x + y, np.linspace(0.0, 2.0, most))
        kept = np.unique(np.minimum(kept, len(x) - 1))
        x, y = x[kept], y[kept]
    return ROC(x, y, float(np.clip(on.roc_auc(masses, c).value, 0.0, 1.0)))
