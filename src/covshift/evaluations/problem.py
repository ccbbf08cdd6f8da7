"""The problem of `estimate`, with the scores among what the outcome model sees.

What the outcome model leaves, the weighted residuals, is added to its mean only as far as it is no
noise. It leans from flat to full weights as in `engine.methods`; and of the sum r that this
makes, with the variance v that it has if the model is right, max(0, 1 - v / r^2) is added. So the
estimate is that of the model where nothing speaks against it, and the doubly robust one where much
does: it is still right in large samples if either part is. Errors are those of the doubly robust
form, and besides, as far as the estimate leans, that of the model, a jackknife over the folds:
where few labelled rows are positive, their residuals hardly tell it. For classes the variance of
the form goes a third of the way from flat to full weights, and for numbers, whose squared errors
have long tails, two thirds (benchmarks/results/evaluations.md, answers_intervals.md: how often the
intervals cover). One share serves all metrics of classes, so that they agree with one another: v
and r^2 are summed over the residuals, their product with the prediction, and with the score. With
groups it is the largest of those of all rows and of each group. Weights of the user's choice, and
samples of more than 20,000 rows, have the doubly robust form as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.methods import Engine, beyond_noise, share_of_full_weights
from ..engine.outcome import (
    costly_deals,
    predict,
)
from ..engine.problem import Problem
from ..exceptions import InputError
from ..numerics.array import Real, Rows
from ..numerics.crossfit import CrossFit, Features, FoldFits, stacked
from ..numerics.influence import Influence
from .chances import Part, calibrated, mixed


@dataclass(frozen=True)
class Learned:
    """Rows that trained the model: the outcome model may learn from them, none is judged."""

    Z: Real  # (n, p): as the weighter sees rows
    given: Any  # (n, ...): as they were given
    labels: Rows  # (n,): numbers of the classes
    d: Real  # (n,): design weights


@dataclass(frozen=True)
class ScoredProblem(Problem):
    """Labelled rows that judge a model.

    The outcome model sees the features and the model's scores (`chances`). A model of the user's
    that also learns from rows that trained the model sees the features alone: scores of those rows
    are better than others.
    """

    scores: tuple[Real, Real] | None = None  # (N, c), (M, c): columns for the outcome model
    learned: Learned | None = None
    rest: Real | None = None  # (N, k): what the outcome model leaves of the metrics
    caution: float = 2 / 3  # see `engine.methods.Engine`
    fits: dict[str, FoldFits] = field(default_factory=dict)  # calibrations of the scores
    of_classes: bool = False  # whether a classifier is judged

    @property
    def n_deals(self) -> int:
        """How often the rows are dealt: models of classes are fitted again for each fold."""
        return costly_deals(len(self.sample.X)) if self.of_classes else super().n_deals

    @cached_property
    def engine(self) -> Engine:
        """The methods, leaning to the model by what it leaves."""
        engine = super().engine
        if self.rest is None or self.weights.steady is None:
            return engine
        full = self._largest(lambda rest: share_of_full_weights(rest, self.weights))
        share = engine.residual_share(full)
        factor = self._largest(lambda rest: beyond_noise(rest, share, share))
        return replace(engine, full_weight_share=full, residual_factor=factor, caution=self.caution)

    @property
    def leans(self) -> bool:
        """Whether the doubly robust form leans to the outcome model."""
        return self.weights.steady is not None

    def model_part(self, modelled: Influence) -> Influence:
        """What the folds' models add to the errors of a number, as far as it leans to the model."""
        lean = float(np.sqrt(max(0.0, 1 - self.engine.residual_factor)))
        return modelled.known_target().times(lean)

    def model_error(self, part: Influence) -> float:
        """Error of a number's `model_part`, or of a difference of two."""
        return self.errors("model").error(part)[0]

    def about(self, rest: Real, caution: float = 2 / 3) -> ScoredProblem:
        """Return the same problem for metrics of which the model leaves ``rest`` (N, k)."""
        return replace(self, rest=rest, caution=caution)

    def _largest(self, of: Callable[[Real], float]) -> float:
        assert self.rest is not None
        inside = [self._groups.indicator(k)[:, None] for k, _ in self.groups()]
        return max(of(self.rest), *(of(self.rest * rows) for rows in inside), 0.0)

    def _predicted(self, y: NDArray[Any], classes: NDArray[Any] | None, name: str) -> CrossFit:
        if classes is not None and self.outcome_model is None:
            found, chosen = self._chances(y, classes)
            self.seen[name] = chosen
            return found
        N, learned = len(y), self.learned if classes is not None else None
        features = self._features(learned)
        fold, final, d = self.fold, self.weights.final, self.sample.d
        if learned is not None:
            more = len(learned.labels)
            y = np.concatenate([y, learned.labels])
            unseen = np.full((len(fold), more), -1)  # in no fold: all models see them
            fold = np.hstack([fold, unseen])
            final = np.concatenate([final, np.zeros(more)])
            d = np.concatenate([d, learned.d])
        found, chosen = predict(
            self.outcome_model,
            features,
            y,
            fold,
            classes=classes,
            weight=d if self.sample.weighted else None,
            final=final,
            copies=self.copies if learned is None else None,
        )
        self.seen[name] = chosen
        return CrossFit(found.train[:N], found.folds)

    def calibration(self, labels: Rows, classes: Rows, name: str) -> FoldFits:
        """Calibrate the scores on the labelled rows as they are, or as weighted for the target."""
        assert self.scores is not None
        if name not in self.fits:
            weight = self.weights.final if name == "weighted calibration" else self.sample.d
            part = Part(Features(*self.scores), labels, self.fold, weight)
            self.fits[name] = calibrated(part, classes)
        return self.fits[name]

    def _chances(self, labels: Rows, classes: Rows) -> tuple[CrossFit, list[str]]:
        """Mix models of the features and the scores, and calibrated scores."""
        assert self.scores is not None
        d = self.sample.d if self.sample.weighted else None
        own = Features(self.weights.Z, self.weights.T)
        beside, alone = own.beside(*self.scores), Features(*self.scores)
        judging = Part(beside, labels, self.fold, d)
        fits = {name: (fit, beside) for name, fit in judging.fits(classes).items()}
        for name in ("calibrated scores", "weighted calibration"):
            fits[name] = self.calibration(labels, classes, name), alone
        if self.learned is not None:
            more = self.learned
            part = Part(
                Features(np.vstack([own.train, more.Z]), own.target),
                np.concatenate([labels, more.labels]),
                np.hstack([self.fold, np.full((len(self.fold), len(more.labels)), -1)]),
                None if d is None else np.concatenate([d, more.d]),
            )
            for name, fit in part.fits(classes).items():
                fits[f"{name} of all rows"] = fit, part.features
        return mixed(fits, labels, self.sample.d)

    def _features(self, learned: Learned | None) -> Features:
        assert self.scores is not None
        if self.outcome_model is None:
            return Features(self.weights.Z, self.weights.T).beside(*self.scores)
        features = self.sample.inputs
        if learned is not None:
            return Features(
                stacked(features.train, learned.given, "the rows in trained_on"), features.target
            )
        return Features(
            _with_scores(features.train, self.scores[0]),
            _with_scores(features.target, self.scores[1]),
        )


def _with_scores(rows: Any, scores: Real) -> Any:
    """Add columns to an array or a pandas frame."""
    if hasattr(rows, "assign"):
        rows = rows.copy()
        for column in scores.T:
            rows[_new_name(rows.columns)] = column
        return rows
    if hasattr(rows, "columns"):
        raise InputError(
            "An outcome_model sees the scores as further columns, which can be added to arrays and "
            "pandas frames alone. Pass X as one of these, or leave out outcome_model."
        )
    return np.column_stack([np.asarray(rows), scores])


def _new_name(taken: Any) -> Any:
    """Name a further column of a pandas frame: by a number where all names are numbers."""
    if all(isinstance(name, int | np.integer) for name in taken):
        return max(taken, default=-1) + 1
    numbers = (k for k in range(1, len(taken) + 2) if f"score {k}" not in taken)
    return f"score {next(numbers)}"
