"""The methods of one learner: rows standardised, weights estimated and options found once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ..data import Samples
from ..data.labels import class_labels, one_outcome
from ..data.row_weights import RowWeights, check_weight, row_weights, target_weights
from ..data.validation import (
    Target,
    checked,
    column_names,
    is_margins,
    refuse_target_weights,
    unwrap_target,
)
from ..encoding import encoded as grouped
from ..exceptions import ConstantColumnWarning, InputError, MarginsWarning, OverlapWarning
from ..numerics.array import Real, Rows
from ..numerics.parallel import one_thread
from ..numerics.quiet import Heard, alone, heard, quiet
from ..show.notes import Note, distinct
from ..weights import WEIGHTERS, effective_sample_size
from .methods import (
    Method,
    fit_method,
    found_once,
    learner_entry,
    methods_for,
    refuse_what_needs_rows,
    resolve,
)
from .result import Comparison, Row
from .selection import LOSSES, Losses, TargetSafeSplit, squared_error
from .target import (
    MarginTarget,
    RowTarget,
    beside_margins,
    default_judge,
    methods_with_margins,
    refuse_scored,
    standardised,
)
from .trial import Field, Fit, Trial

_SHORT = 160  # characters of a note
Scored = tuple[Real, NDArray[Any], Real]  # rows, their outcomes, and shares


def compare_learner(
    X: Any,
    y: Any,
    X_target: Any,
    *,
    learner: str,
    task: str,
    loss: str,
    y_target: Any,
    X_scored: Any,
    scored_weight: Any,
    sample_weight: Any,
    target_weight: Any,
    methods: list[Method] | None,
    weighter: str | None,
    n_folds: int,
    max_rows: int | None,
    random_state: int,
    verbose: bool,
) -> Comparison:
    """Compare all methods of one learner: `compare` without ``estimators``."""
    if task == "regression" and loss != "squared_error":
        raise InputError(f"loss={loss!r} is for classes. For numbers use 'squared_error'.")
    notes: list[Note] = []
    both = X if isinstance(X, Samples) else _samples(X, X_target, deciding=X_scored is None)
    named = isinstance(X, Samples) or column_names(X) is not None
    if not isinstance(X, Samples) and X_scored is not None:
        X_scored = both.encode(X_scored, "X_scored")
    N, n = both.X.shape
    judge, share = weighter or default_judge(both.margins), None
    if both.margins is None:
        notes += () if isinstance(X, Samples) else both.notes
        methods = methods_for(learner, n) if methods is None else methods
        share = target_weights(len(both.T), unwrap_target(target_weight))
        if y_target is not None and X_scored is None:
            X_scored, scored_weight = both.T, share.w
    else:
        refuse_target_weights(target_weight=target_weight)
        refuse_scored(y_target, X_scored)
        refuse_what_needs_rows(judge, judge=True)
        methods = methods_with_margins(learner, n, both.margins, methods, notes)
        notes += both.notes
    y = _outcomes(task, y, "y", N, "X")
    for method in methods:
        resolve(learner, method.name)
    every = EveryRow(
        learner, task, both, named, y, judge, row_weights(N, sample_weight), share, random_state
    )
    rng = np.random.default_rng(random_state)
    limit = learner_entry(learner).max_rows if max_rows is None else max_rows
    drawn = [
        _some(np.flatnonzero(weights.kept), limit, rng, which, notes)
        for weights, which in ((every.own, "training"), (share, "target"))
        if weights is not None
    ]
    rows = every.standardised(*drawn, loss=alone()(LOSSES[loss]))
    if y_target is not None:
        of = "X_target" if X_scored is both.T else "X_scored"
        truth = _outcomes(task, y_target, "y_target", len(X_scored), of)
        w = np.ones(len(X_scored))
        if scored_weight is not None:
            w = check_weight(scored_weight, len(X_scored), "scored_weight", of=of)
        rows.scored = rows.scaled(X_scored), truth, w / w.sum()
    trial = Trial(rows, rows.folds(n_folds), rows.weighed_by(judge, notes))
    table = trial.rows(methods, verbose=verbose)
    return Comparison(
        table,
        trial.needed(),
        learner=learner,
        loss=loss,
        scored_on_target_labels=y_target is not None,
        notes=distinct(notes),
        needed_by_control=trial.needed(controls=True) if trial.controls else None,
        rows_compared=replace(every, shared=rows.shared),
    )


def _samples(X: Any, X_target: Any, *, deciding: bool) -> Samples:
    """Both samples as numbers; ``deciding`` unless other rows have to be read by the same rules."""
    target = unwrap_target(X_target)
    if is_margins(target):
        return beside_margins(target, X)
    return Samples.of_rows(X, X_target, deciding=deciding, kinds=Target.of(X_target).kinds)


def _outcomes(task: str, y: Any, name: str, rows: int, of: str) -> NDArray[Any]:
    """Check outcomes once, so that no method fails for what is wrong with them."""
    if task == "regression":
        return one_outcome(y, name, rows, of)
    labels = class_labels(y, rows, name, of)
    if name == "y" and len(np.unique(labels)) < 2:
        raise InputError(f"y holds only the class {labels[0]!r}; a comparison needs two.")
    return labels


def _some(rows: Rows, limit: int, rng: np.random.Generator, which: str, notes: list[Note]) -> Rows:
    """Draw as many of the rows, and note it."""
    if len(rows) <= limit:
        return rows
    text = f"Compared on {limit} of {len(rows)} {which} rows, drawn at random."
    notes.append(Note("thinned", text))
    return rows[np.sort(rng.choice(len(rows), limit, replace=False))]


@dataclass(frozen=True, eq=False)
class EveryRow:
    """All rows as they were given: a comparison takes some of them, `Comparison.fit` all."""

    learner: str
    task: str
    samples: Samples
    named: bool  # whether columns have names that messages may use
    y: NDArray[Any]
    judge: str
    own: RowWeights  # of the training rows
    share: RowWeights | None  # of the target's rows; None where margins are the target
    random_state: int
    shared: dict[str, dict[str, Any]] = field(default_factory=dict)  # found once, by learner

    def standardised(
        self, rows: Rows, target_rows: Rows | None = None, *, loss: Losses = squared_error
    ) -> Standardised:
        """Some of the rows as learners take them."""
        samples, own = self.samples, _mean_one(self.own, rows)
        with alone():
            scaler = StandardScaler().fit(samples.X[rows], sample_weight=own)
        scaled = alone()(scaler.transform)
        target: RowTarget | MarginTarget
        X = scaled(samples.X[rows])
        groups, names = samples.one_feature, samples.names if self.named else None
        if self.share is None:
            target = standardised(samples.take(rows), scaler)
        else:
            T = scaled(samples.T[target_rows])
            target = RowTarget(X, T, _mean_one(self.share, target_rows), groups, names)
        return Standardised(grouped(X, groups), self.y[rows], loss, self, scaler, target, own)

    def _whole(self) -> Standardised:
        there = None if self.share is None else np.flatnonzero(self.share.kept)
        return self.standardised(np.flatnonzero(self.own.kept), there)

    def fit(self, name: str) -> Any:
        """Fit a method to all rows; the pipeline takes rows as they were given."""
        rows = self._whole()
        w = rows.weigh(name) if name in WEIGHTERS else None
        numbers = FunctionTransformer(partial(_numbers_of, self.samples))
        model = rows.fit(name, w)
        return Pipeline([("numbers", numbers), ("scaler", rows.scaler), ("model", model)])

    def weights(self, name: Any) -> Real:
        """Weights (N,) of the training rows: factors on those of the design."""
        found = np.zeros(len(self.y))
        found[self.own.kept] = self._whole().weigh(self.judge if name is None else name)
        return found

    def options(self, name: str) -> dict[str, Any]:
        """Options of a method's learner that the comparison found once, such as the kernel."""
        return self.shared.get(resolve(self.learner, name)[0].name, {})


@dataclass(eq=False)
class Standardised(Field):
    """Rows as a learner takes them, and what its methods share."""

    X: Real  # (N, n)
    y: NDArray[Any]
    loss: Losses
    every: EveryRow
    scaler: StandardScaler
    target: RowTarget | MarginTarget
    own: Real | None  # (N,): weights by the design of the sample, mean one
    scored: Scored | None = None
    weights: dict[Any, Real] = field(default_factory=dict)  # of weighters, each fitted once
    chosen: dict[str, dict[str, Any]] = field(default_factory=dict)  # options of every learner
    shared: dict[str, dict[str, Any]] = field(default_factory=dict)  # of these, what a fit found

    def scaled(self, X: Real) -> Real:
        """Standardise further rows."""
        with alone():
            return np.asarray(self.scaler.transform(X))

    def folds(self, n_folds: int) -> list[tuple[Rows, Rows]]:
        """Deal the rows to folds, of which each has every class."""
        labels, smallest = None, len(self.y)
        if self.every.task == "classification":
            labels, smallest = self.y, int(np.unique(self.y, return_counts=True)[1].min())
        n_folds = max(2, min(n_folds, smallest))
        split = TargetSafeSplit(n_folds, random_state=self.every.random_state)
        with alone():
            return list(split.split(self.X, labels))

    def weigh(self, name: Any) -> Real:
        """Weights (N,) by a weighter: factors on those of the design."""
        if name not in self.weights:
            seed = self.every.random_state
            self.weights[name] = self.target.weigh(name, self.y, self.own, seed)
        return self.weights[name]

    def weighed_by(self, judge: Any, notes: list[Note]) -> Real:
        """Weights (N,) of the rows when they are held out; notes say what is wrong with them."""
        kind, w = "weights of held-out rows", None
        with one_thread(len(self.y)), heard() as caught, checked():
            try:
                w = self.weigh(judge)
            except Exception as error:
                text = (
                    f"The held-out rows could not be weighted ({_short(error)}): the risks are "
                    "those of the training distribution, not of the target."
                )
                notes.append(Note(kind, text, "warning"))
        notes += [Note(kind, f"Held-out rows: {_said(item)}") for item in caught[:1]]
        return self._final(w)

    def _final(self, w: Real | None) -> Real:
        """Weights (N,) to use: factors, one where there are none, times those of the design."""
        w = np.ones(len(self.X)) if w is None else w
        return w if self.own is None else w * self.own

    def ready(self, method: Method, row: Row) -> Fit:
        """Weigh the rows, and find on all of them what the folds share."""
        w = None
        if method.kind == "weights":
            w = self.weigh(method.name)
            row[f"{self.target.measure}_after"] = self.target.off(self.own, self._final(w))
        if method.kind != "correction":
            row["effective_sample_size"] = effective_sample_size(self._final(w))
        entry = resolve(self.every.learner, method.name)[0]
        options = self.chosen.setdefault(
            entry.name, dict(entry.in_comparison.get(self.every.task, {}))
        )
        whole = self.fit(method.name, w, options=options)
        if entry.shared is not None and entry.shared not in options:
            self.shared[entry.name] = found_once(self.every.learner, method.name, whole)
            options[entry.shared] = self.shared[entry.name][entry.shared]
        if self.scored is not None:
            *rows, share = self.scored
            row["true_risk"] = float(share @ self.loss(whole, *rows))
        tuned = {} if entry.tuned is None else {entry.tuned: getattr(whole, f"{entry.tuned}_")}
        fit = partial(self.fit, method.name, w, options={**options, **tuned})
        return quiet()(fit)  # the fit on all rows has said it

    def fit(
        self,
        name: str,
        w: Real | None,
        rows: Rows | slice = slice(None),
        options: dict[str, Any] | None = None,
    ) -> Any:
        """Fit a method, whose weights are ``w`` (N,), to some of the rows."""
        every = self.every
        # A note has told of columns without margins.
        with quiet(MarginsWarning, when=isinstance(self.target, MarginTarget)):
            return fit_method(
                every.learner,
                name,
                every.task,
                self.X[rows],
                self.y[rows],
                self.target.for_learner(resolve(every.learner, name)[1]),
                weights=None if w is None else w[rows],
                sample_weight=None if self.own is None else self.own[rows],
                target_weight=self.target.share,
                options=options,
                random_state=every.random_state,
            )

    @contextmanager
    def trying(self, method: Method, row: Row) -> Iterator[None]:
        """Whatever goes wrong with a method becomes its note."""
        row[f"{self.target.measure}_before"] = self.target.off(self.own)
        with heard() as caught, checked():
            try:
                yield
            except Exception as error:
                row["note"] = f"failed: {_short(error)}"
        doubts = [
            _said(item)
            for item in caught
            if item.category.__module__.startswith("covshift")
            and not issubclass(item.category, ConstantColumnWarning)  # of the rows that were drawn
        ]
        row["note"] = "; ".join(filter(None, [row["note"], *doubts[:1]])).replace(".; ", ". ")


def _mean_one(weights: RowWeights, rows: Rows | None) -> Real | None:
    """Weights of some rows, of mean one; None where all rows count alike."""
    if weights.equal:
        return None
    w = weights.w[rows]
    return np.asarray(w / w.mean())


def _numbers_of(samples: Samples, X: Any) -> Real:
    """Rows as the numbers that models see."""
    return samples.encode(X, "X")


def _said(warning: Heard) -> str:
    """Return its first sentence; extremes are those of scaled columns, which nobody knows."""
    apart = issubclass(warning.category, OverlapWarning)
    return "There is no overlap." if apart else _short(warning.text)


def _short(message: object) -> str:
    """Return the first sentence, which says what is wrong: others say what to do about it."""
    text = re.split(r"(?<=\.) (?=[A-Z])|\n", str(message), maxsplit=1)[0]
    if len(text) <= _SHORT:
        return text
    part, comma, _ = text[:_SHORT].rpartition(", ")
    return f"{part}." if comma else f"{text[:_SHORT].rpartition(' ')[0]} ..."
