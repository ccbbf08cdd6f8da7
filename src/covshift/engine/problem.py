"""One outcome to estimate: its rows, weights, models and errors, made once and shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..data import Groups, Samples
from ..data.row_weights import kish
from ..numerics.array import Flags, Real, Rows
from ..numerics.crossfit import CrossFit, Features, deal_count, deals
from ..numerics.influence import Design, Influence
from .explanation import Moved
from .intervals import Errors, Number
from .measures import Measures, Method, Signal, leaning
from .sensitivity import Bound
from .stack import NAME, classifies, predict, predict_linear
from .weights import Weights


class Size(NamedTuple):
    """Rows of a group or of all, and how many equally weighted ones are as precise."""

    rows: int
    effective: float  # under the final weights
    plain: float  # under the design weights alone


def _ratio(measures: Measures, top: Signal, bottom: Signal | None, method: Method) -> Influence:
    means = measures.means(top, method)
    return means if bottom is None else means.over(measures.means(bottom, method))


@dataclass(frozen=True)
class Item:
    """One estimated quantity, by all methods."""

    label: str  # such as "median"; empty where the outcome's name says it all
    group: str | None
    numbers: dict[Method, Number]
    proportion: bool
    size: Size
    errors: dict[Method, Errors]
    change: Number | None = None  # the method's number less the plain one
    influence: Influence | None = None  # of the doubly robust number, where it has one
    moved: Moved | None = None  # what explains the change, where a problem asks for it


@dataclass(frozen=True)
class Problem:
    """The rows that have the outcome, with all that the quantities need."""

    sample: Samples
    weights: Weights
    method: Method
    confidence: float
    n_folds: int
    outcome_model: Any
    finite_population: bool
    random_state: int
    outcome: Real | None = None  # (N,): tells rows of equal features apart
    n_rep: int | None = None  # deals of the folds
    seen: dict[str, dict[str, float]] = field(default_factory=dict)  # shares of models, by outcome
    made: dict[Any, Signal] = field(default_factory=dict)  # signals, which other weights share
    dealt: dict[int, Rows] = field(default_factory=dict)  # by number of folds, likewise
    bound: Bound | None = None  # of all signals, instead of what they are
    # What is fixed while a number moves, by its label and group; None: nothing is to be explained.
    fixed: dict[tuple[str, str | None], Any] | None = None

    @cached_property
    def design(self) -> Design:
        """Units and strata of the training rows."""
        sample = self.sample
        return Design.of(len(sample.X), sample.strata, sample.cluster, sample.fpc)

    @cached_property
    def measures(self) -> Measures:
        """The four methods on these rows."""
        return Measures(
            self.sample.d,
            self.weights,
            self.sample.share,
            self.finite_population,
            self.margin_size,
            len(self.fold),
        )

    @property
    def margin_size(self) -> float | None:
        """Rows that the margins describe which are the target; None: they are exact, or rows."""
        return None if self.sample.known is None else self.sample.known.margins.size

    def with_weights(self, d: Real, final: Real, share: Real) -> Problem:
        """Return the same problem, its models included, under other weights and target shares."""
        return replace(
            self,
            sample=replace(self.sample, d=d, share=share),
            weights=replace(self.weights, final=final, flat=None),
        )

    def bounded(self, odds: float, side: int) -> Self:
        """Return the same problem, whose signals are bounds (`engine.sensitivity`)."""
        return replace(self, bound=None if odds == 1 else Bound(odds, side))

    @property
    def unbounded(self) -> Self:
        """The same problem, with signals as they are."""
        return replace(self, bound=None)

    @property
    def opposite(self) -> Self:
        """The same problem, with the other bound."""
        return replace(self, bound=None if self.bound is None else self.bound.opposite)

    def numbers(self, y: Real, name: str) -> Signal:
        """Predict a number y (N,); what has the same name is predicted once.

        A classifier of the user's predicts chances of zeros and ones, not the likelier of the two.
        """
        if classifies(self.outcome_model) and np.isin(y, (0.0, 1.0)).all():
            return self.indicator(y, name)
        if name not in self.made:
            self.made[name] = Signal(y[:, None], self._predicted(y, None, name))
        return self.bound_of(self.made[name], name)

    def bound_of(self, signal: Signal, name: str) -> Signal:
        """Return the bound of a signal that has been predicted, or itself where none is asked.

        Margins tell the mean of what is linear in them alone, so that it is fitted to the bound.
        """
        if self.bound is None:
            return signal
        if np.isin(signal.values, (0.0, 1.0)).all():
            found = self.bound.of_chances(signal)
        else:
            left = np.abs(signal.values - signal.h.train)[:, 0]
            spread = self.unbounded.numbers(left, f"spread of {name}")
            found = self.bound.of_numbers(signal, spread, self.weights.final)
        if self.sample.known is None:
            return found
        plain, named = self.unbounded, f"{name}, {self.bound}"
        parts = [plain.numbers(y, f"{named}, {k}") for k, y in enumerate(found.values.T)]
        return Signal(found.values, CrossFit.side_by_side([part.h for part in parts]))

    def classes(self, labels: NDArray[Any], classes: NDArray[Any], name: str) -> Signal:
        """Predict the shares of classes (k,)."""
        if name not in self.made:
            values = (labels[:, None] == classes).astype(np.float64)
            self.made[name] = Signal(values, self._predicted(labels, classes, name))
        return self.bound_of(self.made[name], name)

    def indicator(self, flags: Real, name: str) -> Signal:
        """Predict the chance that ``flags`` (N,) of zeros and ones is one."""
        found = self.classes(flags.astype(int), np.array([0, 1]), name)
        return Signal(found.values[:, 1:], found.h.columns([1]))

    def in_group(
        self, signal: Signal, group: int | None, name: str
    ) -> tuple[Signal, Signal | None]:
        """Return the parts of a ratio: the signal ``name`` within a group, and the group itself.

        Where groups are known of the sample alone, both are predicted like an outcome.
        """
        if group is None:
            return signal, None
        groups = self._groups
        train = groups.indicator(group)
        if groups.target is not None:
            target = groups.indicator(group, target=True)
            known = CrossFit.known(train[:, None], target[:, None], len(signal.h.folds))
            return signal.times(train, target), Signal(train[:, None], known)
        inside = signal.values * train[:, None]
        names = [f"{name}, {k}, in {groups.labels[group]}" for k in range(inside.shape[1])]
        if self.bound is not None:
            names = [f"{title}, {self.bound}" for title in names]
        plain = self.unbounded
        parts = [plain.numbers(y, title) for y, title in zip(inside.T, names, strict=True)]
        h = CrossFit.side_by_side([part.h for part in parts])
        member = self._membership.h.columns([group]) if groups.share is None else None
        if groups.share is not None:  # published, and the indicator is one of the features
            share = np.array([[groups.share[group]]])
            member = CrossFit.known(train[:, None], share, len(signal.h.folds))
        assert member is not None
        return Signal(inside, h), Signal(train[:, None], member)

    def errors(self, method: Method, group: int | None = None) -> Errors:
        """What the intervals of a method need."""
        train, target = np.ones(len(self.sample.d)), np.ones(len(self.sample.share))
        if group is not None:
            train = self._groups.indicator(group)
            if self._groups.target is not None:
                target = self._groups.indicator(group, target=True)
        return self.errors_within(method, train, target)

    def errors_within(self, method: Method, train: Real, target: Real) -> Errors:
        """Return the same for a part of both samples: indicators (N,) and (M,)."""
        w = (self.sample.d if method == "none" else self.weights.final) * train
        there = self.margin_size or kish(self.sample.share * target)
        if method == "model":
            K = int(self.fold.max()) + 1
            by_deal = Design(None, np.repeat(np.arange(len(self.fold)), K))
            return Errors(by_deal, K - 1, kish(w), there, self.confidence)
        freedom = float(self.design.degrees_within(w > 0))
        if method != "none" and self.weights.weighter is not None:
            freedom = min(freedom, kish(w) - 1)  # estimated weights may rest on few rows
        return Errors(self.design, freedom, kish(w), there, self.confidence)

    def ratio(self, top: Signal, bottom: Signal | None, method: Method) -> Influence:
        """Estimate a mean, or the ratio of two."""
        flat = self.measures.flat if method == "dr" else None
        full = _ratio(self.measures, top, bottom, method)
        return full if flat is None else leaning(full, _ratio(flat, top, bottom, method))

    def moved(
        self,
        values: Real,
        plain: Influence,
        corrected: Influence,
        errors: Mapping[Method, Errors],
    ) -> Moved:
        """Return what explains the change of a number that is, to first order, a mean of values."""
        final, finite = self.weights.final, self.finite_population
        one = errors[self.explained_method]
        return Moved(self.sample, values, plain, corrected, one, final, finite)

    @property
    def explained_method(self) -> Method:
        """The method whose influence values tell the error of a change."""
        return self.method if self.method in ("dr", "weights") else "dr"

    def size_of(self, group: int | None, within: Flags | None = None) -> Size:
        """Rows, and effective rows, of a group or of all; only those ``within``, if given."""
        inside = self.sample.d > 0
        if within is not None:
            inside = inside & within
        if group is not None:
            inside = inside & (self._groups.train == group)
        return Size(
            int(inside.sum()), kish(self.weights.final * inside), kish(self.sample.d * inside)
        )

    def groups(self) -> list[tuple[int, str]]:
        """Number and label of the groups that have rows in both samples."""
        if self.sample.groups is None:
            return []
        found = self._groups
        there = np.unique(found.train[self.sample.d > 0])
        return [
            (int(k), found.labels[k]) for k in there if found.labels[k] not in found.sample_only
        ]

    @cached_property
    def fold(self) -> Rows:
        """Fold of each row in each deal: (R, N)."""
        if self.n_folds not in self.dealt:
            y = np.zeros(len(self.sample.X)) if self.outcome is None else self.outcome
            self.dealt[self.n_folds] = self._deal(self.sample.X, y, self.design.unit)
        return self.dealt[self.n_folds]

    def _deal(self, X: Real, y: Real, cluster: Rows | None = None) -> Rows:
        count = deal_count(len(self.sample.X)) if self.n_rep is None else self.n_rep
        seed = self.random_state
        return deals(X, y, self.n_folds, count, cluster=cluster, random_state=seed)

    @property
    def _groups(self) -> Groups:
        assert self.sample.groups is not None
        return self.sample.groups

    @property
    def _membership(self) -> Signal:
        labels = np.arange(len(self._groups.labels))
        return self.unbounded.classes(self._groups.train, labels, "group (by)")

    def _predicted(self, y: NDArray[Any], classes: NDArray[Any] | None, name: str) -> CrossFit:
        sample = self.sample
        weight = sample.d if sample.weighted else None
        if sample.known is not None:
            self.seen[name] = {NAME: 1.0}
            return predict_linear(
                sample.X,
                sample.T,
                y,
                self.fold,
                classes=classes,
                weight=weight,
            )
        default = Features(self.weights.Z, self.weights.T)
        found, chosen = predict(
            self.outcome_model,
            default if self.outcome_model is None else sample.inputs,
            y,
            self.fold,
            classes=classes,
            weight=weight,
            final=self.weights.final,
        )
        self.seen[name] = chosen
        return found
