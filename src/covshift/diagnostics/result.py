"""The diagnosis as plain data: to print, to store, to draw."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from .._notes import Note
from .._optional import import_extra
from .._plain import plain
from .._types import Flags
from .covered import RowFlags
from .features import FeatureShift
from .intervals import IntervalOutlook
from .joint import TwoSampleAUC
from .sizes import MethodSize
from .support import Support
from .text import as_html, describe
from .verdict import Verdict


@dataclass(frozen=True)
class Diagnosis:
    """What `covshift.diagnose` found. Print it, or read its fields.

    Attributes
    ----------
    verdict : {"no shift", "correctable", "strong", "no overlap"}
    reason, advice : str
        Why, and what to do next, in a sentence each.
    n_train, n_target : int
        Rows of the samples; rows of weight zero are left out.
    features : tuple of FeatureShift
        In the order of the columns; `worst` sorts them.
    auc : TwoSampleAUC or None
        None where a sample has fewer than ten rows.
    methods : tuple of MethodSize
        Effective sample sizes.
    support : Support
        How much of the target lies outside the training sample.
    overlap : bool
        Whether some weights match the distribution functions of the features, and no single one
        leaves a tenth of the target without training rows (`CDFWeights.overlap_`).
    mismatch, noise : float or None
        Mean squared difference of the distribution functions that is left under these weights,
        and what sampling alone would leave (`CDFWeights.mismatch_` and ``noise_``).
    random_state : int
        Seed of the folds and of the rows that were drawn.
    notes : tuple of Note
        What was cut or left out, and why: ``kind``, ``text`` and ``severity``.
    intervals : IntervalOutlook or None
        How useful prediction intervals (`ConformalRegressor`) will be; None without weights.
    rows : RowFlags or None
        Which target rows have no training rows near, and why; `uncovered_rows` are the flags.
        `to_dict` has their numbers, and no flags.
    """

    verdict: Verdict
    reason: str
    advice: str
    n_train: int
    n_target: int
    features: tuple[FeatureShift, ...]
    auc: TwoSampleAUC | None
    methods: tuple[MethodSize, ...]
    support: Support
    overlap: bool
    mismatch: float | None
    noise: float | None
    random_state: int
    notes: tuple[Note, ...]
    intervals: IntervalOutlook | None = None
    rows: RowFlags | None = field(default=None, repr=False, compare=False)

    @property
    def uncovered_rows(self) -> Flags:
        """Target rows without training rows near: (M,) in the order given; `rows` says why."""
        if self.rows is None:
            return np.zeros(self.n_target, dtype=bool)
        return self.rows.uncovered

    @property
    def worst(self) -> tuple[FeatureShift, ...]:
        """The features, the largest Kolmogorov-Smirnov distance first."""
        return tuple(sorted(self.features, key=lambda feature: (-feature.ks, -abs(feature.smd))))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists and numbers that JSON can hold.

        An infinite number becomes None.
        """
        found: dict[str, Any] = plain(asdict(replace(self, rows=None)))
        rows = self.rows
        found["rows"] = None if rows is None else {"uncovered": rows.count, "why": rows.counts}
        return found

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each feature, the worst first."""
        pandas = import_extra("pandas", extra="pandas", needed_by="Diagnosis.to_frame")
        return pandas.DataFrame([asdict(feature) for feature in self.worst]).set_index("name")

    def plot(self, ax: Any = None) -> Any:
        """Draw the love plot; returns a `covshift.plot.LovePlotDisplay`."""
        from ..plot import LovePlotDisplay  # it needs matplotlib: loaded when asked for

        return LovePlotDisplay.from_diagnosis(self, ax=ax)

    def __str__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        return as_html(self)
