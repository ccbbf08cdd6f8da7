"""The problem of `estimate`, with the scores among what the outcome model sees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.problem import Problem
from ..engine.stack import predict
from ..exceptions import InputError
from ..numerics.array import Real, Rows
from ..numerics.crossfit import CrossFit, Features, FoldFits, stacked
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
    fits: dict[str, FoldFits] = field(default_factory=dict)  # calibrations of the scores

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

    def _chances(self, labels: Rows, classes: Rows) -> tuple[CrossFit, dict[str, float]]:
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
