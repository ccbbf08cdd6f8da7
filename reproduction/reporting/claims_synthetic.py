"""Judgements on the claims of Experiments 1 and 2, each by a rule on the numbers."""

from __future__ import annotations

from ..trials import Trials, as_cell
from ..verdict import Cell
from .judgement import CLASSICAL, NotRunError, Standing, known
from .layout import label


def smooth(trials: Trials) -> tuple[Standing, str]:
    """Less than half the excess variation of all others; only under a setting, if not so with
    every reading of the kernel or with gamma chosen by cross-validation.
    """
    size = "N = 200"

    def rough(name: str, variant: str) -> float:
        return known(as_cell(trials.errors("2", size, name, f"{variant} variation"))).mean

    weighted = {name: rough(name, "own") for name in CLASSICAL if name in trials.contenders("2")}
    ours, plain = rough("empirical", "own"), rough("unweighted", "own")
    tuned = rough("unweighted", "cv")
    gaussian = {
        reading: (rough("unweighted", reading), rough("empirical", reading))
        for reading in trials.settings["synthetic"]["readings"]
    }
    worst = max(gaussian, key=lambda reading: gaussian[reading][0])
    text = (
        f"At N = 200, kernel exp(−|d|), γ = 0.1, the total variation beyond that of a monotone "
        f"function is {ours:.2f} for the empirical V, {plain:.2f} unweighted and "
        f"{min(weighted.values()):.2f} to {max(weighted.values()):.2f} for the weighted losses. "
        f"With a Gaussian kernel all are smooth (at most {gaussian[worst][0]:.2f} unweighted "
        f"against {gaussian[worst][1]:.2f}), and with γ by cross-validation the unweighted fit "
        f"has {tuned:.2f}."
    )
    if ours > min(plain, *weighted.values()) / 2:
        return "does not hold", text
    everywhere = tuned > plain / 2 and all(v < plain / 2 for plain, v in gaussian.values())
    return ("holds" if everywhere else "only under a setting"), text


def lower_error(trials: Trials) -> tuple[Standing, str]:
    """Smaller than the best other method by two standard errors at every N; only under a setting,
    if not so with gamma by cross-validation.
    """
    rivals = [name for name in ("unweighted", *CLASSICAL) if name in trials.contenders("2")]
    parts: list[str] = []
    fixed: list[bool] = []
    tuned: list[bool] = []
    for size in trials.cells("2"):
        best = min(rivals, key=lambda name: float(trials.errors("2", size, name, "own").mean()))
        for variant, kept in (("own", fixed), ("cv", tuned)):
            gap = _difference(trials, size, ("empirical", variant), (best, variant))
            kept.append(gap.mean < -gap.margin)
        a, b = (
            known(as_cell(trials.errors("2", size, name, "own"))).mean
            for name in ("empirical", best)
        )
        c, d = (
            known(as_cell(trials.errors("2", size, name, "cv"))).mean
            for name in ("empirical", best)
        )
        parts.append(
            f"{size}: {a:.3f} against {b:.3f} ({label(best)}), with γ by "
            f"cross-validation {c:.3f} against {d:.3f}"
        )
    text = "Normalised L2 error of the empirical V and of the best other method of the paper. "
    text += "; ".join(parts) + "."
    if not fixed:
        raise NotRunError
    if not all(fixed):
        return "does not hold", text
    return ("holds" if all(tuned) else "only under a setting"), text


def beats_uniform(trials: Trials) -> tuple[Standing, str]:
    """Better by two standard errors at every N; only under a setting, if at some, worse at none."""
    parts, better, worse = [], [], []
    for size in trials.cells("2"):
        gap = _difference(trials, size, ("empirical", "own"), ("uniform", "own"))
        better.append(gap.mean < -gap.margin)
        worse.append(gap.mean > gap.margin)
        parts.append(f"{size}: {gap.mean:+.4f} ± {gap.standard_error:.4f}")
    text = (
        "Mean paired difference in normalised L2 error, empirical less uniform V (negative: the "
        "target helps): " + "; ".join(parts) + "."
    )
    if not better:
        raise NotRunError
    if all(better):
        return "holds", text
    sometimes = any(better) and not any(worse)
    return ("only under a setting" if sometimes else "does not hold"), text


def other_sample(trials: Trials) -> tuple[Standing, str]:
    """The change is below a tenth of the lead over V = I at every N."""
    parts, small = [], []
    for size in trials.cells("2"):
        gap = _difference(trials, size, ("empirical", "other"), ("empirical", "own"))
        lead = _difference(trials, size, ("empirical", "other"), ("unweighted", "other"))
        small.append(abs(gap.mean) < 0.1 * abs(lead.mean))
        parts.append(f"{size}: {gap.mean:+.4f} ± {gap.standard_error:.4f}")
    text = (
        "Mean paired difference in normalised L2 error of the empirical V, another target sample "
        "less the same one: " + "; ".join(parts) + "."
    )
    if not small:
        raise NotRunError
    return ("holds" if all(small) else "does not hold"), text


def _difference(trials: Trials, size: str, one: tuple[str, str], other: tuple[str, str]) -> Cell:
    """Paired differences of two errors of Experiment 2."""
    a, b = trials.paired("2", size, one, other)
    return known(as_cell(a - b))
