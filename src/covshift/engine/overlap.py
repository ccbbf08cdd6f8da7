"""Is there anything to go by? No number without overlap, and a diagnosis where one is asked for.

Most samples overlap, and a few tests say so: of single columns, of neighbours, and of the weights.
Where they doubt it, the verdict of the whole diagnosis decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..data import Samples
from ..data.features import MISSING
from ..data.validation import checked
from ..diagnostics import Diagnosis, MarginsDiagnosis
from ..diagnostics.coverage import in_words, neighborhood, set_aside, significant_parts
from ..diagnostics.measure import judge_samples, overlap_of
from ..diagnostics.verdict import unlike_share
from ..exceptions import NoOverlapError, Remedy
from ..numerics.array import Flags, Real, Rows
from ..numerics.progress import doing
from ..numerics.quiet import quiet
from ..numerics.support import NO_OVERLAP, Uncovered
from ..show.notes import Note
from ..show.words import printable

_ROWS = 5_000  # training rows among which neighbours are looked for


class Diagnosed:
    """A diagnosis that is made when it is first asked for, and kept."""

    def __init__(self, make: Callable[[], Diagnosis | MarginsDiagnosis]) -> None:
        self._make = make

    @cached_property
    def found(self) -> Diagnosis | MarginsDiagnosis:
        """The diagnosis."""
        return self._make()

    def __getstate__(self) -> dict[str, Any]:
        """Keep the diagnosis, not the rows that it is made from."""
        return {"found": self.found}


@dataclass(frozen=True)
class Covered:
    """The samples that the answer is for, and what is known of their overlap."""

    sample: Samples
    diagnosed: Diagnosed
    unlike: float  # share of the target unlike all training rows, where it matters
    share: float  # of the target that the answer is for
    notes: tuple[Note, ...] = ()
    trusted: bool = True  # whether the sample shows the whole of it


@doing("overlap", "step 1 of 4, ")
def check_overlap(
    sample: Samples,
    known: Rows,
    *,
    restrict: str | None,
    random_state: int,
    labelled: bool = False,
) -> Covered:
    """Refuse samples that do not overlap, or keep the covered part of the target.

    Where target rows are ``labelled``, these answer for what the sample does not cover.

    Only training rows ``known`` to have an outcome can cover anything.

    A column leaves part of the target uncovered where this part is significant and more than a
    tenth of the target beyond what chance explains (`covshift.numerics.support`); besides, the
    verdict of a diagnosis must not be "no overlap", which is made where the samples' overlap is in
    doubt (`overlap_of`). With ``restrict="overlap"`` the target rows
    of all significant parts are left out (`covshift.diagnostics.coverage`), and where the verdict
    still says so, those without training rows nearby.
    """
    whole_sample, sample = sample, sample.take(known)
    kept = np.ones(len(sample.T), dtype=bool)
    parts: list[Uncovered] = []
    notes: list[Note] = []
    trusted = True
    if restrict is None:
        gaps = [part for part in significant_parts(_both(sample)) if part.excess >= NO_OVERLAP]
        if gaps and not labelled:
            raise _refusal(gaps, sample)
        if gaps:
            notes.append(_answered(in_words(_distinct(gaps, sample.T), sample)))
            trusted = False
    else:
        place, parts = set_aside(_both(sample))
        kept = place < 0
        if not kept.any():
            raise NoOverlapError(
                "No target row is covered by the training rows: there is nothing to answer for. "
                f"{in_words(_distinct(parts, sample.T), sample)}."
            )
    left = sample if kept.all() else sample.take_target(np.flatnonzero(kept))
    known_before = sample.diagnosis if not parts else None
    diagnosed, unlike, reason = _looked_at(left, known_before, random_state)
    near = np.ones(len(left.T), dtype=bool)
    if reason and labelled and restrict is None:
        if trusted:
            notes.append(_answered(reason.removesuffix(".")))
        trusted = False
    elif reason:
        if restrict is None:
            raise NoOverlapError(f"{reason} {_NOTHING}", _restricted(), _LEAVE_OUT)
        near = _near(left, random_state)
        if not near.any():
            raise NoOverlapError("No target row has training rows nearby.")
        left = left.take_target(np.flatnonzero(near))
        diagnosed, unlike, reason = _looked_at(left, None, random_state)
        if reason:
            raise NoOverlapError(
                f"Even where the target rows have training rows nearby: {reason} "
                "Leave out features that the outcome does not need."
            )
    whole = bool(kept.all() and near.all())  # shares may sum to a little less than one
    share = 1.0 if whole else float(sample.share[kept][near].sum())
    if not whole:
        text = f"The answer is for {share:.1%} of the target. Left out, for lack of training rows: "
        reasons = f"{in_words(_distinct(parts, sample.T), sample)}." if parts else ""
        if not near.all():
            reasons += " " * bool(reasons) + f"{(~near).sum()} target rows far from all of them."
        notes.append(Note("restricted target", text + reasons, "warning"))
    notes += whole_sample.notes
    covered = np.flatnonzero(kept)[near]
    left = whole_sample if whole else whole_sample.take_target(covered)
    return Covered(left, diagnosed, unlike, share, tuple(notes), trusted)


def refuse_uncovered(sample: Samples) -> None:
    """Refuse a target of which no row is like the training rows in every column."""
    gaps = [part for part in significant_parts(_both(sample)) if part.excess >= NO_OVERLAP]
    inside = ~np.any([part.holds(sample.T) for part in gaps], axis=0) if gaps else True
    if not np.any(sample.share * inside > 0):
        raise _refusal(gaps, sample)


_NOTHING = "The sample has no information about this part of the population."
_LEAVE_OUT = Remedy(
    "To leave out a column that the outcome does not need",
    'X_target=Target(rows, kinds={"column": "drop"})',
    ("--drop", "COLUMN"),
)
_SPLIT = 0.5  # of the target outside in one column: samples of other years or places


def _answered(where: str) -> Note:
    text = (
        f"{where}. The sample has no rows there: the number rests on the outcomes of target "
        "rows, not on the correction."
    )
    return Note("uncovered target", text, "warning")


def _both(sample: Samples) -> Samples:
    """The samples as coverage sees them; rows without a design weight show nothing."""
    rows = np.flatnonzero(sample.d > 0)
    return replace(sample.take(rows), d=np.ones(len(rows)))


def _restricted(more: str = "") -> Remedy:
    """Offer the covered part of the target."""
    when = f"To answer for the covered part{more}"
    return Remedy(when, 'restrict="overlap"', ("--restrict", "overlap"))


def _kinds(names: list[str], kind: str) -> str:
    return f"X_target=Target(rows, kinds={dict.fromkeys(names, kind)!r})"


def _without_trend(names: list[str], sample: Samples) -> list[Remedy]:
    """Offer to keep the month and the weekday of dates that split the samples."""
    days = {sample.names[k] for k in sample.dates}
    dates = [name for name in names if name in days]
    if not dates:
        return []
    when = "To keep the month and the weekday, and leave out the trend"
    return [Remedy(when, _kinds(dates, "season"), _options("--season", dates))]


def _options(option: str, names: list[str]) -> tuple[str, ...]:
    shown = [printable(name) for name in names]
    pairs = [(f"{option}={k}",) if k.startswith("-") else (option, k) for k in shown]
    return tuple(part for pair in pairs for part in pair)


def _refusal(gaps: list[Uncovered], sample: Samples) -> NoOverlapError:
    """Say what is not covered, and what to do: a column that splits the samples can be left out."""
    outside = np.zeros(len(sample.T), dtype=bool)
    by_feature: dict[str, Flags] = {}
    for gap in gaps:
        rows = gap.holds(sample.T)
        feature = sample.made[gap.column][0].removesuffix(MISSING)
        by_feature[feature] = by_feature.get(feature, np.zeros_like(outside)) | rows
        outside |= rows
    left = float(sample.share[~outside].sum())
    split = [name for name, rows in by_feature.items() if sample.share[rows].sum() >= _SPLIT]
    told = in_words(_distinct(gaps, sample.T), sample)
    text = f"The training rows do not cover the target. {told}. {_NOTHING}"
    ways = [_restricted(f" ({left:.0%} of the target)")] if left > 0 else []
    if split:
        columns = ", ".join(repr(printable(name)) for name in split)
        dropped = _options("--drop", split)
        when = f"If the outcome does not depend on {columns} given the other columns"
        ways = [Remedy(when, _kinds(split, "drop"), dropped), *_without_trend(split, sample), *ways]
    else:
        ways.append(_LEAVE_OUT)
    return NoOverlapError(text, *ways)


def _distinct(parts: list[Uncovered], T: Real) -> list[Uncovered]:
    """Name the same target rows once: what a person lacks, not also the values filled in there."""
    found: dict[bytes, Uncovered] = {}
    for part in parts:
        found.setdefault(part.holds(T).tobytes(), part)
    return list(found.values())


def _looked_at(
    sample: Samples, known: Diagnosis | None, random_state: int
) -> tuple[Diagnosed, float, str]:
    """Return the diagnosis, the share unlike all training rows, and why there is no overlap.

    As `covshift.diagnose` does, without rows of weight zero.
    """
    if known is not None:
        diagnosed, doubtful, unlike = Diagnosed(lambda: known), True, unlike_share(known.support)
    else:
        counted = sample.take(np.flatnonzero(sample.d > 0))
        counted = counted.take_target(np.flatnonzero(sample.share > 0))

        def make() -> Diagnosis:
            with quiet(), checked():
                return judge_samples(counted, random_state=random_state)

        diagnosed = Diagnosed(make)
        with quiet(), checked():
            doubtful, unlike = overlap_of(counted, random_state=random_state)
    without = doubtful and diagnosed.found.verdict == "no overlap"
    return diagnosed, unlike, diagnosed.found.reason if without else ""


def _near(sample: Samples, random_state: int) -> Flags:
    rng = np.random.default_rng(random_state)
    rows = sample.X[sample.d > 0]
    if len(rows) > _ROWS:
        rows = rows[rng.choice(len(rows), size=_ROWS, replace=False)]
    return neighborhood(rows, sample.T, sample.share, groups=sample.one_feature)
