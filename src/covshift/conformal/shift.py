"""The weights of calibration rows and of new rows: how much more common they are in the target.

Where a good part of the target has no training rows at all (`covshift.numerics.support`), nothing
is known, and new rows there have infinite weight: their intervals are infinite. The weights are
then those of the rest of the target, which the training rows can look like.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from ..data import Samples
from ..data.row_weights import target_weights
from ..data.validation import check_points, column_names, is_margins
from ..encoding import TableEncoder
from ..encoding.feature import with_groups
from ..engine.weights import DEFAULT
from ..exceptions import InputTypeError, OverlapWarning, WeightWarning
from ..numerics.array import Real, Rows, to_numpy
from ..numerics.quiet import quiet
from ..numerics.statistics import moments
from ..numerics.support import NO_OVERLAP, Uncovered, uncovered
from ..show.notes import Note
from ..weights import CDFWeights, as_weighter
from ..weights.base import Weighter

_NOTHING_KNOWN = "intervals are infinite and sets hold all classes there."


@dataclass(frozen=True)
class Shift:
    """A weighter, fitted to rows without their outcomes, and the form in which it sees rows.

    Without a weighter all rows weigh one.
    """

    weighter: Weighter | None = None
    frame: TableEncoder | None = None
    scaler: StandardScaler | None = None
    gaps: tuple[Uncovered, ...] = ()  # parts of the target without training rows
    names: tuple[str, ...] | None = None
    order: Rows | None = None  # of the columns that a table becomes

    @property
    def center(self) -> Real | None:
        return None if self.scaler is None else np.asarray(self.scaler.mean_)

    @property
    def scale(self) -> Real | None:
        return None if self.scaler is None else np.asarray(self.scaler.scale_)

    @classmethod
    def fit(
        cls,
        weighter: Any,
        X: Any,
        target: Any,
        design: Real | None,
        of_target: dict[str, Any],
        random_state: int,
    ) -> Shift:
        """Fit a clone of the weighter to rows X, of weights ``design``, and to the target."""
        if is_margins(target) and isinstance(weighter, str) and weighter == DEFAULT:
            weighter = CDFWeights()  # a tilt needs rows
        made = clone(as_weighter(weighter))
        if made.get_params(deep=False).get("random_state", 0) is None:
            made.set_params(random_state=random_state)
        given = {} if design is None else {"sample_weight": design}
        if is_margins(target):
            return cls(made.fit(X, X_target=target, **given))
        both = Samples.of_rows(X, target)
        Z, T = both.X, both.T
        shown = None if both.encoder is None and column_names(X) is None else both.names
        scaler = _scaler(*moments(Z, _shares(design, len(Z))))
        rows = target_weights(len(T), of_target.get("target_weight"))
        gaps = [
            part for part in uncovered(Z, T, rows.share, rows.size) if part.excess >= NO_OVERLAP
        ]
        reach = ~np.any([part.holds(T) for part in gaps], axis=0) if gaps else np.ones(len(T), bool)
        if not reach.all() and (rows.share[reach] > 0).any():
            T, of_target = T[reach], {name: np.asarray(w)[reach] for name, w in of_target.items()}
        for part in gaps:
            warnings.warn(f"{part.describe(shown)}: {_NOTHING_KNOWN}", OverlapWarning, stacklevel=4)
        if "allow_no_overlap" in made.get_params(deep=False):
            made.set_params(allow_no_overlap=True)
        with quiet(WeightWarning, when=bool(gaps)):  # said above, in the user's units
            scaled = scaler.transform(Z), scaler.transform(T)
            made, rows_seen, target_seen = with_groups(made, both.one_feature, *scaled)
            made.fit(rows_seen, X_target=(target_seen,), **of_target, **given)
        if not hasattr(made, "predict_weights"):
            raise InputTypeError(
                f"{type(made).__name__} has no predict_weights, so that new rows have no weight. "
                "Use a weighter of covshift.weights."
            )
        return cls(made, both.encoder, scaler, tuple(gaps), shown, both.order)

    def weigh(self, X: Any, N: int) -> Real:
        """Return one weight for each of the N rows X, on the scale of the fitted weights."""
        if self.weighter is None:
            return np.ones(N)
        if self.scaler is None:  # margins, which read the columns by name
            return np.asarray(self.weighter.predict_weights(X))
        Z = self.encoded(X)
        found = np.asarray(self.weighter.predict_weights(self.scaler.transform(Z)))
        for gap in self.gaps:
            found = np.where(gap.holds(Z), np.inf, found)
        return found

    def encoded(self, X: Any) -> Real:
        """Return the rows as numbers."""
        if self.frame is not None:
            values = np.asarray(self.frame.encode(X, "X"))
            return values if self.order is None else values[:, self.order]
        return np.asarray(to_numpy(check_points(X, "X")), dtype=np.float64)

    def described(self) -> list[str]:
        """Say which parts of the target have no training rows, and what follows."""
        return [f"{part.describe(self.names)}: {_NOTHING_KNOWN}" for part in self.gaps]

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was made of a table, in words."""
        return () if self.frame is None else tuple(self.frame.notes_)


def _scaler(center: Real, scale: Real) -> StandardScaler:
    """Return what subtracts the centers and divides by the scales (n,), zero of which are one."""
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_ = center, np.where(scale > 0, scale, 1.0)
    with np.errstate(over="ignore", under="ignore"):  # which nobody looks at
        scaler.var_ = scale**2
    scaler.n_features_in_ = len(center)
    return scaler


def _shares(design: Real | None, N: int) -> Real:
    return np.full(N, 1 / N) if design is None else design / design.sum()
