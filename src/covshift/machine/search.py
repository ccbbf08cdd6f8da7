"""Which coordinates and which kernel a machine uses: those that are named, or found on a sample.

What is learned here comes from at most 5000 labelled rows, chosen by their content
(`covshift.numerics.row_sample`), so that a fit in memory, on landmarks, in blocks, on a cluster and
on a GPU chooses alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ..exceptions import InputError
from ..numerics.array import Real, Rows, Whole
from ..numerics.coordinates import Centered, Coordinates, OnCoordinates, Unchanged, fit_coordinates
from ..numerics.folds import Fold, ranked_folds
from ..numerics.hashing import RowUnits
from ..numerics.kernels import SEARCHED, Kernel, KernelSum, NamedKernel
from ..numerics.parallel import one_blas_thread
from ..numerics.row_sample import RowSample
from ..operators import Diagonal
from .evidence import Evidence, Layout, maximise
from .ridge import tune

_LARGEST = 1e150  # its square is finite
_MADE = (NamedKernel, KernelSum, OnCoordinates)
_TUNING_ROWS = 1000  # that compare widths for the fit on landmarks


@dataclass(frozen=True)
class KernelChoice:
    """Coordinates, and the kernels of them among which the penalty's path decides."""

    coordinates: Coordinates
    kernels: Sequence[Any]  # of the columns themselves
    report: dict[str, Any] | None  # what a search compared


def choose_kernels(
    machine: Any,
    sample: RowSample,
    Y: Real,
    T: Real,
    share: Real,
    groups: Rows | None,
    units: RowUnits,
) -> KernelChoice:
    """Learn from labelled rows, their outcomes Y (c, k), and target rows T (M, n) of shares.

    ``groups`` (n,) numbers the features that the columns belong to; None: each is its own.
    ``units`` are what rows are measured in.
    """
    kernel = machine._kernel
    if isinstance(kernel.name, _MADE):  # another machine's kernel_
        own = getattr(kernel.name, "coordinates", Unchanged())
        return KernelChoice(own, [kernel.name], None)
    target = RowSample.of(T, np.zeros((T.shape[0], 1)), share, units=units)
    kinds = ("standard", "cdf") if kernel.coordinates == "cv" else (kernel.coordinates,)
    found = []
    for kind in kinds:
        if kind == "none" and _has_products(kernel):
            coordinates: Coordinates = Centered(_center(sample))
            found.append(_on(coordinates, machine, sample, Y, groups, judged=len(kinds) > 1))
            continue
        coordinates = fit_coordinates(
            kind,
            sample.X,
            sample.counts,
            target.X,
            target.w / target.w.sum(),
            groups,
            squared=kernel.name != "laplacian",
        )
        found.append(_on(coordinates, machine, sample, Y, groups, judged=len(kinds) > 1))
    best = min(found, key=lambda pair: pair[1])[0]
    if best.report is not None and len(kinds) > 1:
        best.report["coordinates"] = dict(zip(kinds, (error for _, error in found), strict=True))
    return best


def _has_products(kernel: Kernel) -> bool:
    """Whether a kernel, or a part of it, is linear in the columns."""
    return kernel.name == "linear" or (kernel.searched and "linear" in kernel.parts)


def _center(sample: RowSample) -> Real:
    """Mean of every column (n,); products of numbers so large that they overflow are refused."""
    if np.abs(sample.X).max() > _LARGEST:
        raise InputError(
            f"X has numbers beyond {_LARGEST:g}, whose products overflow in a linear kernel. Use "
            "coordinates='standard' in its Kernel, or rescale the columns."
        )
    return np.asarray(sample.counts @ sample.X / sample.counts.sum())


def _on(
    coordinates: Coordinates,
    machine: Any,
    sample: RowSample,
    Y: Real,
    groups: Rows | None,
    *,
    judged: bool,
) -> tuple[KernelChoice, float]:
    U, counts = coordinates(sample.X), sample.counts
    error, report = np.inf, None
    kernel = machine._kernel
    if kernel.searched or judged:
        found = find_kernel(
            U,
            Y,
            counts,
            sample.repeats,
            parts=kernel.parts,
            groups=groups,
            relevance=kernel.relevance,
            effort=FAST if machine.fast else FULL,
            judged=judged,
        )
        error, report = found.error, found.report()
    kernels: Sequence[Any]
    kernels = [found.kernel] if kernel.searched else kernel.at_widths(U, counts, groups)
    if not isinstance(coordinates, Unchanged):
        kernels = [OnCoordinates(each, coordinates) for each in kernels]
    return KernelChoice(coordinates, kernels, report), error


def best_of(kernels: Sequence[Any], sample: RowSample, Y: Real, n_folds: int) -> Any:
    """Return the kernel of least cross-validated error on rows of the sample, uncorrected."""
    if len(kernels) == 1:
        return kernels[0]
    X, Y, w = sample.X[:_TUNING_ROWS], Y[:_TUNING_ROWS], sample.counts[:_TUNING_ROWS]
    folds = ranked_folds(X, Y, max(2, n_folds), w, sample.repeats[:_TUNING_ROWS])
    with one_blas_thread(len(X) ** 2):
        found = tune(Diagonal(w), Y, w, kernels, lambda kernel: kernel(X, X), folds)
        return kernels[found.best[0]]


# Find the kernel on a sample of the rows: a sum of kernels, with relevances where they pay.
#
# Amplitudes and relevances have the largest evidence (`covshift.machine.evidence`); how freely the
# relevances may differ is what held-out squared error says, with everything learned anew without
# the rows held out. Evidence alone would let them differ too much where features are many, rows few
# and the noise is not Gaussian.


@dataclass(frozen=True)
class Effort:
    """How much is tried, and on how many rows."""

    rows: int  # that are searched
    shrinks: tuple[float, ...]  # spreads of the relevances that are compared; zero: one width
    steps: int
    fold_steps: int
    refined_rows: int  # rows that the best is refined on
    refined_steps: int


FULL = Effort(300, (0.0, 0.7, 1.5), 30, 8, 1000, 8)
FAST = Effort(150, (0.0, 1.0), 15, 8, 0, 0)
_FOLDS = 3  # each is a search of its own
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
    parts: tuple[str, ...] = SEARCHED,
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
    best, theta = shrinks[0], layout.start
    errors: Real = np.empty(0)
    if len(shrinks) > 1 or judged:
        folds = ranked_folds(*rows[:2], min(_FOLDS, some.stop), rows[2], seen)
        paths: list[tuple[Real, list[Real]]] = []
        for fold in folds:
            start = paths[0][1][0] if paths else theta
            paths.append(_without(fold, rows, layout, shrinks, start, effort))
        errors = np.sum([error for error, _ in paths], axis=0) / float(rows[2].sum())
        place = int(np.argmin(errors))
        best = shrinks[place]
        theta = np.mean([thetas[place] for _, thetas in paths], axis=0)
    more = slice(effort.refined_rows)
    refines = len(U[more]) > some.stop
    steps = effort.fold_steps if refines and len(errors) else effort.steps
    theta = maximise(Evidence(*rows, layout, best), theta, steps=steps)
    if refines:
        evidence = Evidence(U[more], Y[more], w[more], layout, best)
        theta = maximise(evidence, theta, steps=effort.refined_steps)
    return Found(layout.kernel(theta), shrinks, tuple(errors.tolist()))


def _spreads(relevance: Any, effort: Effort, layout: Layout, rows: int) -> tuple[float, ...]:
    if relevance is False or layout.n_groups == 1 or rows < _FEWEST:
        return (0.0,)
    return effort.shrinks[1:2] if relevance is True else effort.shrinks


def _without(
    fold: Fold,
    rows: tuple[Real, Real, Real],
    layout: Layout,
    shrinks: Sequence[float],
    start: Real,
    effort: Effort,
) -> tuple[Real, list[Real]]:
    """Find the kernel of every spread without a fold: its squared errors there, and parameters.

    Each search goes on from where that of the spread before has ended.
    """
    U, Y, w = rows
    kept, share = fold.rest(w)
    train = U[kept], Y[kept], w[kept] * share
    evidence, theta = Evidence(*train, layout, 0.0), start
    errors, thetas = np.empty(len(shrinks)), []
    for j, shrink in enumerate(shrinks):
        if np.ptp(train[1], axis=0).max() > 0:
            evidence = evidence.with_shrink(shrink)
            theta = maximise(evidence, theta, steps=effort.fold_steps)
        f = posterior_mean(layout.kernel(theta), *train, U[fold.rows])
        errors[j] = fold.weight @ ((f - Y[fold.rows]) ** 2).sum(axis=1)
        thetas.append(theta)
    return errors, thetas


def posterior_mean(kernel: KernelSum, U: Real, Y: Real, w: Real, at: Real) -> Real:
    """Predict at rows ``at`` (rows, n) with the penalty of the evidence, reg = 1: (rows, k)."""
    C = kernel(U, U)
    C[np.diag_indices(len(U))] += 1 / w
    with one_blas_thread(C.size):
        _, solved, info = lapack.dposv(C, np.column_stack([Y, np.ones(len(U))]), lower=1)
        if info != 0:
            return np.broadcast_to((w @ Y) / w.sum(), (len(at), Y.shape[1])).copy()
        c = solved[:, :-1].sum(axis=0) / solved[:, -1].sum()
        return np.asarray(kernel(at, U) @ (solved[:, :-1] - solved[:, -1:] * c) + c)
