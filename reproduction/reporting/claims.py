"""What the paper says, what was measured, and whether it holds: words and numbers made together.

A claim holds, holds only under a setting, or does not hold, by a rule on the numbers that its
function states; "two standard errors" (`reproduction.verdict`) is the measure of difference
throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..trials import Trials
from . import claims_robustness, claims_synthetic, claims_table
from .judgement import NotRunError, Standing


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, its standing here, and the numbers behind it."""

    title: str
    quote: str
    standing: Standing
    evidence: str


ENOUGH = 10
"""Trials of a cell below which numbers are shown and no claim is judged by them."""


def claims(trials: Trials) -> list[Claim]:
    """Judge all claims of which there are trials."""
    found = []
    for title, quote, judge in _CLAIMS:
        try:
            standing, evidence = judge(trials)
            if trials.most < ENOUGH:
                standing = "too few trials"
        except NotRunError:
            standing, evidence = "not run", "The trials that would tell were not run."
        found.append(Claim(title, quote, standing, evidence))
    return found


_Judge = Callable[[Trials], tuple[Standing, str]]
_CLAIMS: tuple[tuple[str, str, _Judge], ...] = (
    (
        "Smoother predictions (Experiment 1)",
        "the proposed V-matrix is stable in its prediction of conditional probability … the "
        "predictions by unweighted L2-loss and the weighted L2-loss … are less smooth",
        claims_synthetic.smooth,
    ),
    (
        "Smaller error of the probability (Experiment 2, figure 4b)",
        "compares the normalized L2-error … the improvement is not surprising",
        claims_synthetic.lower_error,
    ),
    (
        "The empirical V improves on Vapnik's uniform V (Experiment 2)",
        "Our empirical V-matrix further improves this error because it takes into account the "
        "differences between the training and target distributions",
        claims_synthetic.beats_uniform,
    ),
    (
        "Another target sample does as well (figure 4c)",
        "calculates this V-matrix on a different set of 500 samples from the test distribution",
        claims_synthetic.other_sample,
    ),
    ("Table 1 can be reproduced", "Table 1, all columns", claims_table.table_agrees),
    (
        "Improves on banknote and ringnorm (Experiments 4 and 5)",
        "Our method improves performance in the banknote and ringnorm datasets",
        claims_table.improves,
    ),
    (
        "Never significantly worse than unweighted",
        "our method is stable in that it never significantly exceeds the error of an unweighted "
        "classifier",
        claims_table.never_worse,
    ),
    (
        "Comparable with the state of the art",
        "shows similar classification performance compared to the current state-of-the-art "
        "techniques",
        claims_table.comparable,
    ),
    (
        "The density ratio is sensitive to its bandwidth (figure 1b)",
        "These methods for covariate shift are extremely sensitive to the bandwidth",
        claims_robustness.bandwidth,
    ),
    ("No tuning of parameters", "is not reliant on parameter tuning", claims_robustness.no_tuning),
    (
        "Control: the gain comes from the target",
        "takes into account the differences between the training and target distributions",
        claims_table.from_target,
    ),
    (
        "Control: the method does not depend on the sign of a feature",
        "(not discussed in the paper)",
        claims_table.mirrored,
    ),
)


def counted(found: list[Claim]) -> Iterator[str]:
    """How many claims have each standing, in words."""
    words = {
        "holds": "hold",
        "only under a setting": "hold only under a setting",
        "does not hold": "do not hold",
        "too few trials": "have too few trials to tell",
        "not run": "were not run",
    }
    for standing, verb in words.items():
        count = sum(claim.standing == standing for claim in found)
        if count:
            yield f"{count} {verb}"
