"""Find the kernel on a sample of the rows: a sum of kernels, with relevances where they pay.

Amplitudes and relevances have the largest evidence (`covshift.machine.evidence`); how freely the
relevances may differ is what held-out squared error says, with everything learned anew without the
rows held out. Evidence alone would let them differ too much where features are many, rows few and
the noise is not Gaussian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._folds import Fold, ranked_folds
from .._kernel_sum import KernelSum
from .._parallel import one_blas_thread
from .._types import Real, Rows, Whole
from .evidence import Evidence, Layout, maximise, posterior_mean

PARTS = ("linear", "rbf", "laplacian")
"""What kernel="cv" adds up."""


@dataclass(frozen=True)
class Effort:
    """How much is tried, and on how many rows."""

    rows: int  # that are searched
    shrinks: tuple[float, ...]  # spreads of the relevances that are compared; zero: one width
    steps: int
    fold_steps: int
    refined_rows: int  # rows that the best is refined on
    refined_steps: int


FULL = Effort(300, (0.0, 0.7, 1.5), 30, 12, 1000, 8)
FAST = Effort(150, (0.0, 1.0), 15, 6, 0, 0)
_FOLDS = 3
_FEWEST = 12  # rows below which one width is all that can be learned


@dataclass(frozen=True)
class Found:
    """The kernel, and what was compared to find it."""

    kernel: KernelSum
    shrinks: tuple[float, ...]
    errors: tuple[float, ...]  # mean squared error of held-out rows, one per spread

    @property
    def error(self) -> float:
        """Held-out error of the kernel found."""
        return min(self.errors, default=np.inf)

    def report(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "amplitudes": self.kernel.amplitudes,
            "relevance_spread": list(self.shrinks),
            "error": list(self.errors),
        }


def find_kernel(
    U: Real,
    Y: Real,
    w: Real,
    repeats: Whole | None = None,
    *,
    parts: tuple[str, ...] = PARTS,
    groups: Rows | None = None,
    relevance: Any = "cv",
    effort: Effort = FULL,
    judged: bool = False,
) -> Found:
    """Search for rows U (N, n) in coordinates, outcomes Y (N, k), counts w and repeats (N,).

    The rows come in a random order, each pair of row and outcome once (`RowSample`): the first of
    them are searched.

    ``groups`` (n,) numbers the features that the columns belong to, which have one relevance each,
    such as the levels of a category; None: each is its own.
    ``relevance``: "cv" compares, True lets every group have its own, False gives one to all.
    ``judged`` asks for the held-out error also where there is nothing to compare.
    O(rows^3 + n rows^2) for each of a few hundred evaluations, whatever N is.
    """
    with one_blas_thread(max(effort.rows, effort.refined_rows) ** 2):  # SciPy's L-BFGS calls it too
        return _search(U, Y, w, repeats, parts, groups, relevance, effort, judged)


def _search(
    U: Real,
    Y: Real,
    w: Real,
    repeats: Whole | None,
    parts: tuple[str, ...],
    groups: Rows | None,
    relevance: Any,
    effort: Effort,
    judged: bool,
) -> Found:
    layout = Layout(parts, np.arange(U.shape[1]) if groups is None else groups)
    some = slice(min(effort.rows, len(U)))
    shrinks = _spreads(relevance, effort, layout, some.stop)
    if np.ptp(Y, axis=0).max() == 0:
        return Found(layout.kernel(layout.start), shrinks[:1], ())
    rows = U[some], Y[some], w[some]
    seen = None if repeats is None else repeats[some]
    first = maximise(Evidence(*rows, layout, 0.0), layout.start, steps=effort.steps)
    errors = []
    if len(shrinks) > 1 or judged:
        folds = ranked_folds(*rows[:2], min(_FOLDS, some.stop), rows[2], seen)
        errors = [_held_out_error(rows, folds, layout, shrink, first, effort) for shrink in shrinks]
    best = shrinks[int(np.argmin(errors))] if errors else shrinks[0]
    theta = first
    if best > 0:
        theta = maximise(Evidence(*rows, layout, best), first, steps=effort.steps)
    if effort.refined_steps and len(U) > some.stop:
        more = slice(effort.refined_rows)
        evidence = Evidence(U[more], Y[more], w[more], layout, best)
        theta = maximise(evidence, theta, steps=effort.refined_steps)
    return Found(layout.kernel(theta), shrinks, tuple(errors))


def _spreads(relevance: Any, effort: Effort, layout: Layout, rows: int) -> tuple[float, ...]:
    if relevance is False or layout.n_groups == 1 or rows < _FEWEST:
        return (0.0,)
    return effort.shrinks[1:2] if relevance is True else effort.shrinks


def _held_out_error(
    rows: tuple[Real, Real, Real],
    folds: Sequence[Fold],
    layout: Layout,
    shrink: float,
    start: Real,
    effort: Effort,
) -> float:
    """Mean squared error of rows held out, the kernel found without them."""
    U, Y, w = rows
    total = 0.0
    for fold in folds:
        kept, share = fold.rest(w)
        train = U[kept], Y[kept], w[kept] * share
        if np.ptp(train[1], axis=0).max() == 0:
            theta = start
        else:
            theta = maximise(Evidence(*train, layout, shrink), start, steps=effort.fold_steps)
        f = posterior_mean(layout.kernel(theta), *train, U[fold.rows])
        total += float(fold.weight @ ((f - Y[fold.rows]) ** 2).sum(axis=1))
    return total / float(w.sum())
