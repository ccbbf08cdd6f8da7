"""Rows that calibrate: their scores, their weights, and what a threshold makes of them.

A model has two such sets at most. The rows of the sample weigh as the target asks for; target rows
with an outcome are a sample of the target, and weigh by their design alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..numerics.array import Flags, Real, Rows
from ..weights import effective_sample_size
from .coverage import lifted
from .data import LabelledRows
from .result import ExpectedCoverage
from .scores import ScoreDistribution, Thresholds, at_worst, reached, suffice

_FOUND = ("thresholds", "expected")  # by coverage and group: in files a list of pairs


@dataclass(eq=False)
class Calibration:
    """Scored rows and their weights; a file keeps all but the rows themselves."""

    scores: Real  # (n,)
    weights: Real  # (n,): by the weighter and the design
    factor: Real  # (n,): by the weighter alone; zero where it knows nothing
    beyond: Flags  # (n,): rows where it knows nothing
    design: Real | None  # (n,)
    groups: NDArray[Any] | None  # (n,), texts
    rows: LabelledRows | None
    of_target: bool = False
    odds: float = 1.0  # by which unobserved factors may change the weights
    doubly_robust: bool = False
    thresholds: dict[Any, ScoreDistribution] = field(default_factory=dict)
    expected: dict[Any, ExpectedCoverage] = field(default_factory=dict)

    @classmethod
    def of(cls, scores: Real, rows: LabelledRows, factor: Real, **form: Any) -> Calibration:
        """Weigh scored rows; ``factor`` (n,) is infinite where no rows have trained."""
        beyond = ~np.isfinite(factor)
        factor = np.where(beyond, 0.0, factor)
        weights = factor if rows.design is None else factor * rows.design
        if not weights.sum() > 0:
            raise InputError(
                "All calibration rows have weight zero: none is like the target. Look at "
                "covshift.diagnose(X, X_target)."
            )
        return cls(scores, weights, factor, beyond, rows.design, rows.groups, rows, **form)

    def __len__(self) -> int:
        return len(self.scores)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {name: list(getattr(self, name).items()) for name in _FOUND}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {name: dict(state[name]) for name in _FOUND})

    @property
    def effective_size(self) -> float:
        """Kish's number of equally weighted rows."""
        return float(effective_sample_size(self.weights))

    def for_file(self) -> Calibration:
        """Return the same without the rows."""
        return replace(self, rows=None)

    def suffice(self, coverage: float, groups: NDArray[Any] | None) -> bool:
        """Whether these rows reach the coverage alone, in each of the ``groups`` as well."""
        parts = [self.weights]
        if groups is not None:
            parts = [self.weights[self.groups == group] for group in np.unique(groups)]
        return all(suffice(part, coverage) for part in parts)

    def own_weights(self, weights: Real, part: Rows) -> Real:
        """Weights of new rows, from those of the weighter, as the rows ``part`` have them.

        The weight by the design that a new row would have is not known: it is that of the target on
        average, in its group.
        """
        if self.design is None:
            return weights
        w = self.weights[part]
        w, d = (w, self.design[part]) if w.any() else (self.weights, self.design)
        return np.asarray(weights * (w @ d / w.sum()))

    def limits(
        self, coverage: float, part: Rows, group: Any, own: Real, u: Real | None
    ) -> Thresholds:
        """Thresholds for new rows of weight ``own`` (m,) by the rows ``part``.

        Labelled target rows that are too few for the coverage have the one that they reach.
        """
        level: Any = at_worst(coverage, self.odds)
        if self.of_target:
            level = np.minimum(coverage, reached(self.weights[part], own))
        return self.distribution(coverage, part, group).thresholds(level, own, u)

    def distribution(self, coverage: float, part: Rows, group: Any) -> ScoreDistribution:
        """Scores of some of the rows as the target has them."""
        key = (coverage if self.doubly_robust else None, group)
        if key not in self.thresholds:
            scores, weights = self.scores[part], self.weights[part]
            found = ScoreDistribution.of(scores, weights)
            if self.doubly_robust and len(part):
                if self.rows is None:
                    raise InputError(
                        f"threshold='dr' needs the calibration rows for a coverage of {coverage:g},"
                        " and a file does not keep them. Compute it once before saving."
                    )
                rows = self.rows if group is None else self.rows.in_group(group)
                found = lifted(found, scores, rows, self.factor[part], coverage)
            self.thresholds[key] = found
        return self.thresholds[key]
