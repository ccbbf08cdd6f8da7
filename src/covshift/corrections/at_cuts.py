"""V from margins: a target that is known at published cuts, and nowhere else.

The additive V asks of the target, feature by feature, how much of it lies at or above a value (and
at or below, where it is symmetric). Margins answer at the ends of their cells. So a row is its
number of cell, the target has one threshold for each cell, with its share as mass, and

    V(i, j) = (1/n) sum_k sum_c share_kc 1[c >= cell_k(x_i)] 1[c >= cell_k(x_j)] ,

each feature with thresholds of its own. Rows of one cell are not told apart, and nothing is assumed
about how the target spreads inside it. A category is one indicator for each level, a single one
where it has two, and its indicators share the weight of one feature; of a table of two columns, V
sees the margins. Where every value of some target
rows is a cell, this is the V of these rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ..data.row_weights import RowWeights
from ..encoding import groups_of
from ..exceptions import InputError
from ..margins import Margins
from ..margins.features import cdf_features, columns_of
from ..margins.reading import cell_columns, reading_of
from ..margins.target_rows import side_by_side
from ..numerics.array import Array, Real, Rows, take_rows
from ..operators import Sums, TargetSums, VOperator
from ..weights import as_weighter
from .base import of_features


@dataclass(frozen=True)
class AtCuts:
    """Training rows and a target, as numbers of the margins' cells."""

    margins: Margins
    X: Any  # the rows as they came
    Z: Real  # (N, p)
    cells: Real  # (R, p): rows that have the margins
    share: Real  # (R,)
    groups: Rows  # (p,), numbers of the margins' columns

    @classmethod
    def of(cls, margins: Margins, X: Any) -> AtCuts:
        """Read the rows X (N, n), by name, with the eyes of the margins."""
        used = cell_columns(margins)
        reading = reading_of(margins, X, used, "V", strict=False, free="V does not see them.")
        points = reading.encode(X)
        known: dict[str, Any] = {name: margins.margin(name) for name in used}
        features, lines = cdf_features(Margins.of(known), reading.names)
        Z = columns_of(features, points)
        for k, feature in enumerate(features):
            if not feature.ends:
                Z[:, k] = known[lines[k].column].cells.places(Z[:, k])
        cells, share = side_by_side([line.share for line in lines])
        own: list[Any] = [line.column for line in lines]
        encoded = groups_of(X)
        if encoded is not None:  # margins of encoded rows name columns by their numbers
            own = [int(encoded[int(column)]) for column in own]
        groups = np.unique(own, return_inverse=True)[1].reshape(-1)
        return cls(margins, X, Z, cells.astype(np.float64), share, groups)

    def rows(self, some: Rows) -> AtCuts:
        """Keep some of the training rows."""
        if len(some) == len(self.Z) and (some == np.arange(len(some))).all():
            return self
        return replace(self, X=take_rows(self.X, some), Z=self.Z[some])

    def varying(self) -> AtCuts:
        """Leave out features in which all training rows and all of the target are in one cell."""
        low = np.minimum(self.Z.min(axis=0), self.cells.min(axis=0))
        high = np.maximum(self.Z.max(axis=0), self.cells.max(axis=0))
        vary = np.flatnonzero(low < high)
        if len(vary) in (0, len(low)):
            return self
        return replace(self, Z=self.Z[:, vary], cells=self.cells[:, vary], groups=self.groups[vary])

    def weigh(self, weighter: Any, rows: RowWeights) -> Real:
        """Fit a weighter, or the one of a name, to the margins: the weights (N,) of the rows."""
        given = rows.options("sample_weight")
        fitted = clone(as_weighter(weighter)).fit(self.X, X_target=self.margins, **given)
        return np.asarray(fitted.weights_)

    def operator(self, correction: Any, X: Any, rows: RowWeights) -> VOperator:
        """Make V; ``X`` (N, n) are the rows for corrections that do not look at the target."""
        found: VOperator
        ready = self.ready(correction, rows)
        given = rows.options("sample_weight")
        if not ready.uses_target:
            found = ready.operator(X, **given)
            return found
        found = ready.operator(self.Z, (self.cells,), target_weight=self.share, **given)
        return found

    def raw_diagonal(self, correction: Any, X: Array) -> Array:
        """Return V(i, i) before normalising and blending."""
        points = self.Z if correction.uses_target else X
        seeing = self._seeing(correction)
        diagonal: Array = seeing.raw_diagonal(points, self.cells, self.share)
        return diagonal

    def target_sums(self, correction: Any, X: Array, rows: RowWeights) -> TargetSums:
        """Return the target side of V, for sums over blocks of the rows here."""
        ready = self.ready(correction, rows)
        if not ready.uses_target:
            found: TargetSums = ready.target_sums(X, np.full(len(X), 1 / len(X)), X)
            return found
        return _CutSums(ready.target_sums(self.cells, self.share, self.Z), self.Z)

    def ready(self, correction: Any, rows: RowWeights) -> Any:
        """Return a correction whose weights are found; refuse one that needs target rows."""
        weights = getattr(correction, "weights", None)
        if isinstance(weights, str) or hasattr(weights, "fit"):
            correction = clone(correction).set_params(weights=None)
            if correction.uses_target:
                self._refuse_rows(correction)
            return self._seeing(correction.set_params(weights=self.weigh(weights, rows)))
        if getattr(correction, "uses_target", True):
            self._refuse_rows(correction)
        return self._seeing(correction)

    def _seeing(self, correction: Any) -> Any:
        """Tell a correction that looks at the cells which of them are those of one column."""
        looks = getattr(correction, "uses_target", True)
        return of_features(correction, self.groups) if looks else correction

    def _refuse_rows(self, correction: Any) -> None:
        if not getattr(correction, "by_features", False):
            raise InputError(
                f"{correction!r} needs target rows, and X_target is a covshift.Margins: use "
                "'additive' or 'blended', which see one column at a time, or weights such as 'cdf' "
                "and 'raking'."
            )


@dataclass(frozen=True)
class _CutSums:
    """Sums over rows that are known by their numbers in the sample."""

    target_sums: TargetSums
    Z: Real

    def sums(self, X: Array, A: Array, w: Array, rows: Any, plain: Array | None = None) -> Sums:
        return self.target_sums.sums(self.Z[rows], A, w, rows, plain)

    def gram(self, sums: Sums) -> Array:
        return self.target_sums.gram(sums)
