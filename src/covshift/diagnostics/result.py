"""What a diagnosis found: verdict first, worst columns next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..data.features import MISSING
from ..data.row_weights import kish
from ..numerics.array import Flags, Real
from ..show.answer import OF_CORRECTIONS, Answer, few_rows
from ..show.notes import Note
from ..show.table import Cell, Column, Table
from ..show.words import NAME, printable, signed
from .classifier import TwoSampleAUC
from .coverage import RowFlags, Support
from .features import FeatureShift
from .sizes import MethodSize, sizes_table
from .summary import Summary
from .usefulness import IntervalOutlook
from .verdict import Verdict

_SHOWN = 10  # features


class Judged(Answer):
    """A verdict on the columns: what diagnoses of rows and of margins share."""

    if TYPE_CHECKING:
        verdict: Verdict
        reason: str
        advice: str
        n_train: int
        weights: Real | None

    @property
    def sentence(self) -> str:
        """The verdict; `reason` and `advice` say more."""
        return f"Verdict: {self.verdict}"

    @property
    def effective_sample_size(self) -> float | None:
        """Kish's number of equally weighted rows that are as precise as the weighted ones."""
        return None if self.weights is None else kish(self.weights)

    @property
    def largest_weight(self) -> float | None:
        """The largest weight, in units of the mean."""
        return None if self.weights is None else float(self.weights.max() / self.weights.mean())

    @property
    def caution(self) -> str:
        """That few rows carry the weights, where weights are of any use."""
        if self.verdict == "no overlap":
            return ""
        return few_rows(self.effective_sample_size, self.n_train, self.largest_weight)

    @property
    def assumption(self) -> str:
        """What a correction rests on, and the columns cannot show."""
        return OF_CORRECTIONS

    def _below(self) -> list[str]:
        effective, shown = self.effective_sample_size, self.verdict in ("moderate", "strong")
        left = []
        if effective is not None and shown and not self.caution:
            share = f"({effective / self.n_train:.0%})"
            left = [
                f"  Effective sample size after weighting: {effective:,.0f} of {self.n_train:,} "
                f"rows {share}."
            ]
        return [f"  {self.reason}", *left, f"  Next: {self.advice}"]


@dataclass(frozen=True, repr=False)
class Diagnosis(Judged):
    """What `covshift.diagnose` found. Print it, or read its fields.

    Attributes
    ----------
    verdict : {"no shift", "moderate", "strong", "no overlap"}
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
    weights : (n_train,) array or None
        Final weights of the training rows that ``smd_corrected`` and the corrected pictures stand
        for: those that were passed, else those of `CDFWeights`; None where there are none.
    weighter : str
        What made them.
    effective_sample_size, largest_weight : float or None
        Kish's number of equally weighted rows under these weights, and the largest of them, in
        units of the mean.
    summary : Summary or None
        What a report shows as well: means, distributions of the features that differ most, and a
        few rows.
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
    rows: RowFlags | None = field(default=None, compare=False)
    weights: Real | None = field(default=None, compare=False)
    weighter: str = "CDFWeights"
    summary: Summary | None = field(default=None, compare=False)

    _facts: ClassVar[tuple[str, ...]] = (
        *("verdict", "reason", "advice", "n_train", "n_target", "overlap", "mismatch", "noise"),
        *("random_state", "effective_sample_size", "largest_weight"),
    )
    _data: ClassVar[tuple[str, ...]] = (
        *("features", "auc", "methods", "support", "intervals", "rows"),
    )

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

    @property
    def table(self) -> Table:
        """The features, the largest Kolmogorov-Smirnov distance first."""
        corrected = any(feature.smd_corrected is not None for feature in self.features)
        after = Column("corrected", lambda feature: _signed(feature.smd_corrected))
        columns = (
            Column("column", lambda feature: Cell(feature.name, None, feature.detail), True, NAME),
            Column("SMD", lambda feature: _signed(feature.smd)),
            *((after,) if corrected else ()),
            Column("KS", lambda feature: Cell(f"{feature.ks:.3f}", feature.ks)),
            Column("p (Holm)", lambda feature: p_value(feature.p_value)),
            Column("energy", lambda feature: Cell(f"{feature.energy:.3f}", feature.energy)),
            Column(
                "beyond range",
                lambda feature: Cell(f"{feature.outside_range:.1%}", feature.outside_range),
            ),
        )
        return Table(
            self.worst,
            columns,
            f"{self.n_train:,} training rows, {self.n_target:,} target rows; worst columns first",
            "\n".join(_legend(self.worst[:_SHOWN], corrected)),
            most=_SHOWN,
            unit="columns",
        )

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each feature, the worst first."""
        return self.table.to_frame().set_index("name")

    def plot(self, ax: Any = None) -> Any:
        """Draw the love plot; returns a `covshift.plot.LovePlotDisplay`."""
        from ..plot import LovePlotDisplay  # it needs matplotlib: loaded when asked for

        return LovePlotDisplay.from_diagnosis(self, ax=ax)

    def _parts(self) -> Iterator[Table | list[str]]:
        yield self.table
        yield self._joint()
        if self.methods:
            yield sizes_table(self.methods, self.n_train)
        if self.intervals is not None:
            found = self.intervals
            yield [
                f"Prediction intervals for {100 * found.coverage:.0f}%: effective calibration size "
                f"{found.effective_size:,.0f}, "
                f"{found.infinite_share:.1%} infinite",
                *(
                    ()
                    if self.overlap
                    else ("  (without overlap the finite ones may miss as well)",)
                ),
            ]

    def _joint(self) -> list[str]:
        lines = ["All columns together"]
        if self.auc is not None:
            low, high = self.auc.interval
            lines.append(
                f"  two-sample AUC {self.auc.value:.3f}, {self.auc.confidence:.0%} interval "
                f"{low:.3f} to {high:.3f} (0.5: cannot tell the samples apart)"
            )
        if self.support.outside is not None:
            lines.append(
                f"  target without training rows nearby: {self.support.outside:.1%} "
                f"({self.support.expected:.1%} without a shift)"
            )
        lines.append(
            f"  target beyond the training range in some column: {self.support.outside_range:.1%} "
            f"({self.support.expected_range:.1%} without a shift)"
        )
        lines.append(f"  weights can cover the target: {'yes' if self.overlap else 'NO'}")
        if self.rows is not None and self.rows.count:
            lines.append(f"  {self.rows}")
        return lines


def _legend(shown: tuple[FeatureShift, ...], corrected: bool) -> Iterator[str]:
    """What the columns of the table are."""
    after = " (corrected: after weighting)" if corrected else ""
    yield (
        f"SMD: difference of the means in standard deviations, target minus training{after}; KS: "
        "largest gap between the two distributions, 0 to 1, with its p-value; energy: another "
        "distance; beyond range: share of the target outside the training values"
    )
    if any(feature.kind == "category" for feature in shown):
        yield "(KS of a category: the total variation distance of the shares of its levels)"
    levels = [
        f"{printable(_without_mark(f))}: {printable(f.detail, 40)}" for f in shown if f.detail
    ]
    if levels:
        yield f"Shares that differ most, training → target: {'; '.join(levels)}"


def _without_mark(feature: FeatureShift) -> str:
    return feature.name.removesuffix(MISSING) if feature.kind == "missing" else feature.name


def _signed(value: float | None) -> Cell:
    return Cell("" if value is None else signed(value), value)


def p_value(value: float) -> Cell:
    """Write a p-value with three digits."""
    return Cell("< 0.001" if value < 0.001 else f"{value:.3f}", value)
