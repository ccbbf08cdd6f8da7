"""How the target of the CDF weights goes into a file (`covshift._fields`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._array import to_numpy
from ..._fields import Kind, Part, Path, Reals, Wholes, Writer
from ..._types import Real, Whole
from ...operators import Coordinates
from ...operators.lines.thresholds import Thresholds
from ...operators.lines.vectors import LineTarget
from .views import FactorTarget, Projections


@dataclass(frozen=True)
class SavedLines:
    """A `LineTarget` whose views lie one after another: few arrays, however many views."""

    project: Coordinates | Projections
    sizes: Whole  # (views,): thresholds of each
    thresholds: Real  # (m,)
    weights: Real  # (m,)
    below: Real  # (m,)

    _saved: ClassVar[dict[str, Kind]] = {
        "project": Part(Coordinates, Projections, n="n"),
        "sizes": Wholes("views"),
        "thresholds": Reals("m"),
        "weights": Reals("m"),
        "below": Reals("m"),
    }

    @classmethod
    def of(cls, target: LineTarget) -> SavedLines:
        """Copy the target, to the host if it is on a device."""
        project: Any = target.project
        sizes = np.array([line.size for line in target.lines])
        thresholds = [line.values for line in target.lines]
        weights = [line.weights for line in target.lines]
        parts = ([to_numpy(v) for v in part] for part in (thresholds, weights, target.below))
        return cls(project, sizes, *(np.concatenate(part).astype(np.float64) for part in parts))

    @classmethod
    def _from_saved(cls, project: Any, sizes: Whole, **parts: Real) -> LineTarget:
        if not len(sizes) or (sizes < 1).any() or sizes.sum() != len(parts["thresholds"]):
            raise ValueError("the views do not cover the thresholds")
        cut = {name: np.split(part, np.cumsum(sizes)[:-1]) for name, part in parts.items()}
        views = zip(cut["thresholds"], cut["weights"], strict=True)
        return LineTarget(project, [Thresholds(*view) for view in views], cut["below"])


class _Target(Part):
    def write(self, value: Any, path: Path, out: Writer) -> Any:
        if isinstance(value, LineTarget):
            value = SavedLines.of(value)
        return super().write(value, path, out)


TARGET = _Target(SavedLines, FactorTarget, n="p")


def check_columns(target: LineTarget | FactorTarget, n: int) -> None:
    """Refuse a target whose rows have another number of columns."""
    project: Any = target.project
    if isinstance(target, FactorTarget):
        found = target.T.shape[1]
    elif isinstance(project, Projections):
        found = project.directions.shape[1]
    else:
        found = len(target.lines)
    if found != n:
        raise ValueError("views of other columns")
