"""What CDF weights say where parts of the target have no training rows."""

from __future__ import annotations

from collections.abc import Sequence

from ..._support import Uncovered
from .at_cuts import UncoveredCells

_NAMED = 5  # parts of the target without training rows that a message names

ADVICE = (
    "Restrict the target to where there is training data, leave out columns that the outcome does "
    "not need, or pass allow_no_overlap=True to go on with the nearest weights."
)
"""What to do about it."""


def no_overlap(
    views: str,
    missing: Sequence[Uncovered | UncoveredCells],
    names: Sequence[str] | None,
    mismatch: float | None,
    noise: float,
) -> str:
    """Name what is missing; ``mismatch`` is that of the best weights, None: they are near enough.

    ``names`` are those of the columns, where they have any.
    """
    reasons = [part.describe(names) for part in missing[:_NAMED]]
    if len(missing) > _NAMED:
        reasons.append(f"and {len(missing) - _NAMED} more such columns or values")
    if mismatch is not None:
        reasons.append(
            f"in the {views} view(s), the distribution functions differ by {mismatch:.3g} in mean "
            f"square, sampling noise is {noise:.3g}, and weaker penalties do not close the gap"
        )
    return (
        "No weights make X look like X_target: parts of the target have no training rows, "
        f"there is no overlap. Found: {'; '.join(reasons)}."
    )
