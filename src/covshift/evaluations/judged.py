"""The problem of `estimate`, with the scores among what the outcome model sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._crossfit import CrossFit, Features
from .._optional import import_extra
from .._types import Real, Rows
from ..estimates.methods import leaning
from ..estimates.outcome import predict
from ..estimates.problem import Problem
from ..exceptions import InputError


@dataclass(frozen=True)
class Learned:
    """Rows that trained the model: the outcome model may learn from them, none is judged."""

    Z: Real  # (n, p): as the weighter sees rows
    given: Any  # (n, ...): as they were given
    labels: Rows  # (n,): numbers of the classes
    d: Real  # (n,): design weights


@dataclass(frozen=True)
class Judged(Problem):
    """Labelled rows that judge a model.

    The outcome model sees the features and the model's scores. Where it also learns from rows that
    trained the model, it sees the features alone: scores of those rows are better than others.
    """

    scores: tuple[Real, Real] | None = None  # (N, c), (M, c): columns for the outcome model
    learned: Learned | None = None
    weight_of: Real | None = None  # (N, k): what a metric multiplies the residuals with

    def _lean(self) -> float:
        """How much of the full weights to use: by the parts of the residuals that metrics take."""
        if self.weight_of is None or not self.made:
            return super()._lean()
        first = next(iter(self.made.values()))
        residual = (first.values - first.h.train)[:, :, None] * self.weight_of[:, None, :]
        residual = residual.reshape(len(residual), -1)
        lean = leaning(residual, self.weights)
        for k, _ in self.groups():
            lean = max(lean, leaning(residual * self._groups.indicator(k)[:, None], self.weights))
        return lean

    def _predicted(self, y: NDArray[Any], classes: NDArray[Any] | None, name: str) -> CrossFit:
        N, learned = len(y), self.learned if classes is not None else None
        features = self._features(learned)
        fold, final, d = self.fold, self.weights.final, self.sample.d
        if learned is not None:
            more = len(learned.labels)
            y = np.concatenate([y, learned.labels])
            fold = np.concatenate([fold, np.full(more, -1)])  # in no fold: all models see them
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

    def _features(self, learned: Learned | None) -> Features:
        own = self.outcome_model is not None
        features = self.sample.features if own else Features(self.weights.Z, self.weights.T)
        if learned is not None:
            more = learned.given if own else learned.Z
            return Features(_stacked(features.train, more), features.target)
        if self.scores is None:
            return features
        if not own:
            return features.beside(*self.scores)
        return Features(
            _with_scores(features.train, self.scores[0]),
            _with_scores(features.target, self.scores[1]),
        )


def _with_scores(rows: Any, scores: Real) -> Any:
    """Add columns to an array or a pandas frame."""
    names = [f"score {k + 1}" for k in range(scores.shape[1])]
    if hasattr(rows, "assign"):
        return rows.assign(**dict(zip(names, scores.T, strict=True)))
    if hasattr(rows, "columns"):
        raise InputError(
            "An outcome_model sees the scores as further columns, which can be added to arrays and "
            "pandas frames alone. Pass X as one of these, or leave out outcome_model."
        )
    return np.column_stack([np.asarray(rows), scores])


def _stacked(rows: Any, more: Any) -> Any:
    """Put rows of the same kind below one another."""
    if hasattr(rows, "iloc"):
        pandas = import_extra("pandas", extra="pandas", needed_by="trained_on with a frame")
        return pandas.concat([rows, more])
    if hasattr(rows, "columns"):
        raise InputError(
            "An outcome_model that also learns from the rows in trained_on needs X as an array or "
            "a pandas frame. Pass X as one of these, or leave out outcome_model."
        )
    return np.vstack([np.asarray(rows), np.asarray(more)])
