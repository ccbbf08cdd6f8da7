"""Judgements on the claims about parameters, each by a rule on the sweeps."""

from __future__ import annotations

import numpy as np

from ..trials import Trials
from .judgement import NotRunError, Standing
from .layout import label
from .robustness import spread


def bandwidth(trials: Trials) -> tuple[Standing, str]:
    """The error moves by more than five points on every data set; only under a setting, on some."""
    parts, ranges = [], []
    for cell in trials.cells("robustness"):
        found = spread(trials, cell, "shimodaira", "own")
        if found is None:
            continue
        ranges.append(found.range.mean)
        parts.append(
            f"{cell} {100 * found.range.mean:.1f} points, worst {found.worst:.2f} and "
            f"best {found.best:.2f} of unweighted"
        )
    if not ranges:
        raise NotRunError
    text = (
        "Largest less smallest target error of the KDE ratio over bandwidths 0.01 to 100: "
        + "; ".join(parts)
        + "."
    )
    return ("holds" if min(ranges) > 0.05 else "only under a setting"), text


def no_tuning(trials: Trials) -> tuple[Standing, str]:
    """Over gamma the errors of the additive V and of the symmetric V, whose diagonal is that of the
    identity, move by less than half as much as unweighted; only under a setting, if one does.
    """
    names = ("unweighted", "additive", "symmetric", "blended", "shimodaira", "kliep", "ulsif")
    means = {}
    for name in names:
        found = [spread(trials, cell, name, "gamma") for cell in trials.cells("robustness")]
        there = [one for one in found if one is not None]
        if there:
            means[name] = float(np.mean([one.range.mean for one in there]))
    if "additive" not in means or "unweighted" not in means:
        raise NotRunError
    text = (
        "The V-matrix has no bandwidth, but its machine has a penalty as all others have. Largest "
        "less smallest target error over γ from 0.001 to 10, mean over the data sets, in points: "
        + ", ".join(f"{label(name)} {100 * value:.1f}" for name, value in means.items())
        + "."
    )
    text += (
        " The additive V is summed over the features here, so that the same γ is weaker for it; "
        "the symmetric V has the diagonal of the identity."
    )
    steadier = [
        means[name] < 0.5 * means["unweighted"]
        for name in ("additive", "symmetric")
        if name in means
    ]
    if all(steadier):
        return "holds", text
    return ("only under a setting" if any(steadier) else "does not hold"), text
