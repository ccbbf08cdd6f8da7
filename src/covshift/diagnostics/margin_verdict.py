"""From margins to one word: how far is the sample from them, and has it rows everywhere?

The rules, in order; those for target rows are in `verdict`.

1. *no shift*: no margin differs (Holm's p > 0.05), and none leaves a twentieth of the target
without training rows. Also where a difference is found but is negligible: every distance below
0.03, every difference of means and standard deviations below 0.1 standard deviations.
2. *no overlap*: cells of one margin that hold a tenth of the target have no training rows, or no
weights give the sample all margins together.
3. *strong*: empty cells of one margin hold a twentieth of the target, or with at least half of
the
weighting methods the effective sample size is below a tenth of the rows.
4. *moderate*: what remains.

A share counts as uncovered by as much as it exceeds 10 / N, which N rows may miss by chance.
Whether columns go together differently in sample and target, margins cannot tell.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..numerics.support import MISSED, NO_OVERLAP, STRONG
from .margins_result import MarginShift
from .sizes import MethodSize
from .verdict import NEGLIGIBLE_KS, NEGLIGIBLE_SMD, STRONG_SIZE, Judgement, Verdict

_LEVEL = 0.05  # of all margins together

ADVICE: dict[Verdict, str] = {
    "no shift": "No weights are needed for these margins. Columns without a margin, and how "
    "columns go together, may still differ.",
    "moderate": "Estimate numbers of the population with covshift.estimate, or weigh the sample "
    "(covshift weigh; in Python covshift.weights.Raking).",
    "strong": "Correct with caution: join cells of few training rows, report the effective sample "
    "size, and look for training rows like those that are missing.",
    "no overlap": "Do not correct by weights. Join cells without training rows with others, leave "
    "out margins that the outcome does not need, or collect rows there.",
}


def judge(
    shifts: Sequence[MarginShift], sizes: Sequence[MethodSize], N: float, overlap: bool
) -> Judgement:
    """Apply the rules of this module, in order; ``N`` is the effective number of rows."""
    verdict, reason = _decide(shifts, sizes, N, overlap)
    return Judgement(verdict, reason, ADVICE[verdict])


def _decide(
    shifts: Sequence[MarginShift], sizes: Sequence[MethodSize], N: float, overlap: bool
) -> tuple[Verdict, str]:
    differ = [shift for shift in shifts if shift.p_value <= _LEVEL]
    missing = max(shifts, key=lambda shift: shift.uncovered)
    excess = missing.uncovered - MISSED / N
    if not differ and excess < STRONG:
        return "no shift", "No margin differs significantly from the sample."
    limits = {"mean": NEGLIGIBLE_SMD, "mean and sd": NEGLIGIBLE_SMD}
    if excess < STRONG and all(s.distance < limits.get(s.kind, NEGLIGIBLE_KS) for s in shifts):
        return "no shift", "Sample and margins differ detectably, but by too little to matter."
    one = len(shifts) == 1
    what = f"{len(differ)} of {len(shifts)} margin{'' if one else 's'} differ"
    found = what + ("s" if len(differ) == 1 else "")
    where = f"{missing.uncovered:.0%} of the target has {missing.name!r} in "
    where += f"{' or '.join(missing.empty[:3])}, where there are no training rows"
    if excess >= NO_OVERLAP:
        return "no overlap", f"{found}, and {where}."
    if not overlap:
        return "no overlap", f"{found}, and no weights give the sample all margins together."
    if excess >= STRONG:
        return "strong", f"{found}, and {where}."
    few = [row for row in sizes if (row.share or 0.0) < STRONG_SIZE]
    if sizes and 2 * len(few) >= len(sizes):
        return "strong", (
            f"{found}; with {len(few)} of {len(sizes)} weighting methods, the effective sample "
            f"size is below {STRONG_SIZE:.0%} of the training rows."
        )
    return "moderate", f"{found}."
