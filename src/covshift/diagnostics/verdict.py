"""From the numbers to one word: how far are the samples apart, and do they overlap?

The rules, in order; the thresholds are named below and explained in docs/diagnosis.md.

1. *no shift*: no feature differs (distribution function and location, of categories chi-square;
   Holm's p > 0.015), none leaves a twentieth of the target without training rows (`_support`,
   Holm's p > 0.01), and the classifier cannot tell the samples apart (its 95% interval reaches
   down to 0.5). Together they raise a false alarm in one pair of equal samples in twenty at most.
   Also where a difference is found but is negligible: the AUC's interval below 0.53, every KS
   distance below 0.03, every SMD below 0.1.
2. *no overlap*: a single feature leaves a tenth of the target without training rows, or no weights
   bring the distribution functions together (the alarm of `CDFWeights`), or half of the target
   lies outside the training support.
3. *strong*: a single feature leaves a twentieth of the target without training rows, or with at
   least half of the weighting methods the effective sample size is below a tenth of the rows, or
   the interval of the classifier's AUC lies above 0.85, or a tenth of the target lies outside the
   support.
4. *moderate*: what remains.

The words are about the columns alone: whether the outcome behaves the same given them, no column
shows. A feature leaves a share uncovered by as much as it exceeds 10 / N, which N rows may miss by
chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ..data.features import MISSING
from ..numerics.support import NO_OVERLAP, STRONG
from ..show.words import printable
from .classifier import TwoSampleAUC
from .coverage import Support
from .features import FeatureShift
from .sizes import MethodSize

Verdict = Literal["no shift", "moderate", "strong", "no overlap"]

LEVEL = 0.015  # of the features; the AUC adds 0.025, and `_support` 0.01: 0.05 together
NEGLIGIBLE_AUC, NEGLIGIBLE_KS, NEGLIGIBLE_SMD = 0.53, 0.03, 0.1
STRONG_SIZE = 0.1  # effective sample size, as a share of the rows
STRONG_AUC = 0.85  # of two normal distributions whose weights have that effective size
STRONG_OUTSIDE, NO_OVERLAP_OUTSIDE = 0.1, 0.5

ADVICE: dict[Verdict, str] = {
    "no shift": "Train without weights. If the model still fails on the target, suspect a change "
    "of the outcome given the features, which no comparison of features can show.",
    "moderate": "Find out whether a correction helps your model (covshift compare; in Python "
    "covshift.compare), and keep the unweighted one where no gain is clear.",
    "strong": "Correct with caution: prefer regularised corrections (the V-machines, or "
    "flatter weights), report the effective sample size, and look for training rows like the "
    "target's.",
    "no overlap": "Do not correct by weights. Restrict the target to where there are training "
    "rows (--restrict overlap, and covshift diagnose -o rows.csv lists the rows; in Python "
    "covshift.diagnostics.measure), leave out the features that separate the samples "
    "(--drop COL) if the outcome does not need them, or collect labels there.",
}


class Judgement(NamedTuple):
    """A verdict, why, and what to do next."""

    verdict: Verdict
    reason: str
    advice: str


def unlike_share(support: Support) -> float:
    """Share of the target unlike all training rows; zero where it is too small for "strong"."""
    near = support.outside or 0.0
    parts = [part.share for part in support.uncovered if part.excess >= STRONG]
    return max([near if near >= STRONG_OUTSIDE else 0.0, *parts])


def judge(
    features: Sequence[FeatureShift],
    auc: TwoSampleAUC | None,
    methods: Sequence[MethodSize],
    support: Support,
    overlap: bool,
    where: str,
) -> Judgement:
    """Apply the rules of this module, in order.

    ``where`` says which part of the target the first of ``support.uncovered`` is.
    """
    verdict, reason = _decide(features, auc, methods, support, overlap, where)
    return Judgement(verdict, reason, ADVICE[verdict])


def _decide(
    features: Sequence[FeatureShift],
    auc: TwoSampleAUC | None,
    methods: Sequence[MethodSize],
    support: Support,
    overlap: bool,
    where: str,
) -> tuple[Verdict, str]:
    outside = support.outside or 0.0
    shifted = [feature for feature in features if feature.p_value <= LEVEL]
    told_apart = auc is not None and auc.interval[0] > 0.5
    missing = [part for part in support.uncovered if part.excess >= STRONG]
    if not shifted and not told_apart and not missing:
        return "no shift", _nothing_found(auc)
    if not missing and _negligible(features, auc):
        return "no shift", (
            "The samples differ detectably, but by too little to matter: every Kolmogorov-Smirnov "
            f"distance is below {NEGLIGIBLE_KS:g} and the two-sample AUC below {NEGLIGIBLE_AUC:g}."
        )
    found = _what_differs(shifted, told_apart, len(features), auc)
    if missing and missing[0].excess >= NO_OVERLAP:
        return "no overlap", f"{found}, and {where}: no training row shows what happens there."
    if outside >= NO_OVERLAP_OUTSIDE:
        return (
            "no overlap",
            f"{found}, and {outside:.0%} of the target has no training rows nearby.",
        )
    if not overlap:
        return "no overlap", (
            f"{found}, and no weights bring the distribution functions together: parts of the "
            "target have no training rows."
        )
    if missing:
        return "strong", f"{found}, and {where}: no training row shows what happens there."
    few = [row for row in methods if (row.share or 0.0) < STRONG_SIZE]
    if methods and 2 * len(few) >= len(methods):
        return "strong", (
            f"{found}; with {len(few)} of {len(methods)} weighting methods, the effective sample "
            f"size is below {STRONG_SIZE:.0%} of the training rows.{_stays_off(features)}"
        )
    if auc is not None and auc.interval[0] >= STRONG_AUC:
        return "strong", f"{found}: a classifier tells most rows of the two samples apart."
    if outside >= STRONG_OUTSIDE:
        return "strong", f"{found}, and {outside:.0%} of the target has no training rows nearby."
    return "moderate", f"{found}.{_stays_off(features)}"


def _stays_off(features: Sequence[FeatureShift]) -> str:
    """A sentence on what the weights do not correct, where that is more than negligible."""
    left = [
        feature
        for feature in features
        if feature.smd_corrected is not None and abs(feature.smd_corrected) > NEGLIGIBLE_SMD
    ]
    if not left:
        return ""
    worst = max(left, key=lambda feature: abs(feature.smd_corrected or 0.0))
    more = f", and {len(left) - 1} more by over {NEGLIGIBLE_SMD:g}" if len(left) > 1 else ""
    assert worst.smd_corrected is not None
    return (
        f" Weights do not correct all of it: '{printable(worst.name)}' stays off by "
        f"{abs(worst.smd_corrected):.2f} standard deviations (from {abs(worst.smd):.2f}){more}."
    )


def _negligible(features: Sequence[FeatureShift], auc: TwoSampleAUC | None) -> bool:
    return (
        auc is not None
        and auc.interval[1] < NEGLIGIBLE_AUC
        and all(feature.ks < NEGLIGIBLE_KS for feature in features)
        and all(abs(feature.smd) < NEGLIGIBLE_SMD for feature in features)
    )


def _nothing_found(auc: TwoSampleAUC | None) -> str:
    if auc is None:
        return (
            "No feature differs significantly; with so few rows, only a large shift would have "
            "been detected."
        )
    return (
        "No feature differs significantly, and a classifier cannot tell the samples apart (AUC "
        f"{auc.value:.2f}, interval {auc.interval[0]:.2f} to {auc.interval[1]:.2f})."
    )


def _what_differs(
    shifted: Sequence[FeatureShift], told_apart: bool, n: int, auc: TwoSampleAUC | None
) -> str:
    area = f" (two-sample AUC {auc.value:.2f})" if auc is not None else ""
    if not shifted and not told_apart:
        return f"No feature differs significantly as a whole{area}"
    if not shifted:
        return f"No single feature differs significantly, but the samples do jointly{area}"
    features = "feature" if n == 1 else "features"
    count = f"{len(shifted)} of {n} {features} differ{'s' if len(shifted) == 1 else ''}"
    most = ", most of all " if len(shifted) > 1 else ": "
    return f"{count}{most}{_named(max(shifted, key=lambda feature: feature.ks))}{area}"


def _named(feature: FeatureShift) -> str:
    if feature.kind == "missing":
        name, detail = feature.name.removesuffix(MISSING), feature.detail.removeprefix("missing ")
        return f"the missing values of '{printable(name)}' ({detail} of the rows)"
    detail = f" ({printable(feature.detail, 40)})" if feature.detail else ""
    return f"'{printable(feature.name)}'{detail}"
