"""Raking: the margins of the target by iterative proportional fitting."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..data.parameters import Rules, flag, number, whole
from ..exceptions import NoOverlapError, WeightWarning
from ..margins import Margins
from ..margins.reading import Reading, cell_columns, reading_of, table_parts
from ..numerics.array import Real, Whole
from .base import Weighter
from .cells import (
    CellTable,
    Fitted,
    Raked,
    crossed,
    distinct_codes,
    factors_within,
    feature_axes,
    fitted_factors,
    product,
    target_table,
    warn_of_moved,
)
from .limits import LIMITS, clipped, inside
from .problem import Features, Problem

_GROSS = 1e-3  # a share that is still wrong by more: no weights give the margins
_MET = 1e-8  # a share that is wrong by less within limits is right


class Raking(Weighter):
    """Weights that give the sample the target's margins, as even as possible.

        minimise  sum_i d_i w_i log w_i   over   weighted share of every cell = target's share ,

    for the cells of one column, or of two together, at a time; d are the design weights. The
    solution is a product of one factor for each margin, and iterative proportional fitting finds
    it: scale the cells of one margin to their shares, then those of the next, until all agree.
    With ``limits`` the product is clipped to these, and the factors solve the clipped equations
    (`covshift.weights.tilt`).

    Parameters
    ----------
    limits : (low, high), optional
        Bounds of the weights, whose mean is one: bounded (trimmed) raking. Where no weights within
        them give all shares, those of the smallest sum of squared differences are taken, and a
        warning says what is left.
    bins : int
        With target rows: most cells of a column, cut at the target's quantiles. Fewer are taken,
        down to two, where no weights give all of them their shares.
    collapse : bool
        With margins: brackets without training rows join the nearest one that has some, instead
        of being refused. Levels of a category have no neighbours, and are refused in any case.
    tol : float
        Largest difference between a weighted share and the target's at which it ends.
    max_iter : int
        Most rounds through all margins; it ends earlier where 50 of them do not halve the error.

    Attributes
    ----------
    imbalance_ : float
        Largest difference that is left between a weighted share and the target's.
    n_iter_ : int
        Rounds through all margins, without limits.
    balance_cost_ : BalanceCost
        With ``limits``: largest gap and effective sample size with and without them.
    weights_, effective_sample_size_
        See `Weighter`.

    Notes
    -----
    Source: Deming and Stephan (1940), *On a least squares adjustment of a sampled frequency table*;
    with limits, Deville and Särndal (1992), *Calibration estimators in survey sampling*. The
    target is `covshift.Margins` with brackets, categories or tables of two columns; or rows, whose
    columns are cut at quantiles. New rows get the factors of their cells. Cost: O(S) for a margin
    and round, S the number of different combinations of cells, at most N.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import Margins
    >>> from covshift.weights import Raking
    >>> X = np.random.default_rng(0).integers(0, 2, size=(200, 2)) * [20, 1] + [30, 0]
    >>> margins = Margins({0: {(18, 40): 0.3, (40, None): 0.7}, 1: {0: 0.6, 1: 0.4}})
    >>> w = Raking().fit(X, X_target=margins).weights_
    >>> float(np.average(X[:, 0] < 40, weights=w).round(6)), float(w.mean().round(6))
    (0.3, 1.0)
    """

    _takes_sample_weight = True

    _rules: ClassVar[Rules] = {
        "limits": LIMITS,
        "bins": whole(2),
        "collapse": flag(),
        "tol": number(above=0),
        "max_iter": whole(1),
    }

    def __init__(
        self,
        limits: Any = None,
        *,
        bins: int = 5,
        collapse: bool = False,
        tol: float = 1e-9,
        max_iter: int = 1000,
    ) -> None:
        self.limits = limits
        self.bins = bins
        self.collapse = collapse
        self.tol = tol
        self.max_iter = max_iter

    def _read(self, margins: Margins, X: Any) -> Reading:
        return reading_of(margins, X, cell_columns(margins), type(self).__name__)

    def _solve_margins(self, problem: Problem, margins: Margins) -> Real:
        names = cell_columns(margins)
        found = [
            crossed(
                part, [names.index(name) for name in columns], problem.X, collapse=self.collapse
            )
            for columns, part in table_parts(margins)
        ]
        tables = [table for table, _ in found]
        labels = [label for _, label in found]
        return self._rake(problem, tables, labels, self._fitted(problem, tables))

    def _solve(self, problem: Problem) -> Real:
        features = problem.features.members(problem.X.shape[1])
        for bins in range(self.bins, 1, -1):
            found = [part for columns in features for part in _cut(problem, columns, bins)]
            tables = [table for table, _ in found]
            fitted = self._fitted(problem, tables)
            if fitted.converged:
                break
        moved = max(joined for _, joined in found)
        advice = ": Raking cannot correct this."
        warn_of_moved(problem, moved, "cells of a column", "cell that has", advice)
        labels = [_labels(problem.features, table) for table in tables]
        return self._rake(problem, tables, labels, fitted)

    def _fitted(self, problem: Problem, tables: list[CellTable]) -> Fitted:
        return fitted_factors(*_masses(problem, tables), self.tol, self.max_iter)

    def _rake(
        self, problem: Problem, tables: list[CellTable], labels: list[list[str]], found: Fitted
    ) -> Real:
        """Keep the factors, which were found without limits, or find those within them."""
        limited = self.limits is not None and self._beyond(problem, tables, found)
        if limited:
            low, high = (float(end) for end in self.limits)
            found = factors_within(*_masses(problem, tables), low, high, self.tol)
        self._raked = tuple(map(Raked, tables, found.factors, found.tilts))
        self.imbalance_, self.n_iter_ = found.off, found.rounds
        self._judge(found, labels, limited=limited)
        return self._ratio(problem.X)

    def _beyond(self, problem: Problem, tables: list[CellTable], fitted: Fitted) -> bool:
        """Keep the weights without limits, and say whether these exclude them."""
        raw = product(tuple(map(Raked, tables, fitted.factors)), problem.X)
        free = raw / float(problem.own @ raw)
        self._unlimited = None if _impossible(fitted) else free
        return not (fitted.converged and inside(free, self.limits))

    def _judge(self, fitted: Fitted, labels: list[list[str]], *, limited: bool) -> None:
        """Say where the weighted shares are not the target's."""
        worst, cell = fitted.worst
        name = labels[worst][cell]
        if not limited and _impossible(fitted):
            raise NoOverlapError(
                "No weights give the training rows all margins together: there is too little "
                f"overlap. After {fitted.rounds} rounds the share of {name} is still off by "
                f"{fitted.off:.2g}. Merge cells, or leave out a margin."
            )
        if limited and fitted.off > max(self.tol, _MET):
            warnings.warn(
                f"Within limits={tuple(self.limits)} the weights do not reach the margins: the "
                f"share of {name} is off by {fitted.off:.2g}, in what comes nearest. Widen the "
                "limits, or merge cells.",
                WeightWarning,
                stacklevel=5,
            )
        elif not (limited or fitted.converged):
            warnings.warn(
                f"Raking did not converge in {fitted.rounds} rounds: the share of {name} "
                f"is off by {fitted.off:.2g}. Raise max_iter or tol, or merge cells.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _ratio(self, X: Real) -> Real:
        return clipped(product(self._raked, X), self.limits)


def _cut(problem: Problem, columns: list[int], bins: int) -> Iterator[tuple[CellTable, float]]:
    """Yield a margin for the levels of a category, or for each column of a feature."""
    axes = feature_axes(problem, columns, bins)
    for part in [axes] if not axes[0].ordered else [(axis,) for axis in axes]:
        yield target_table(problem, part)


def _labels(features: Features, table: CellTable) -> list[str]:
    """What the cells of a margin of target rows are called."""
    names = [features.column(axis.column) for axis in table.axes]
    if len(names) == 1:
        return [f"cell {c} of {names[0]}" for c in range(len(table.share))]
    return [
        " and ".join(name for name, here in zip(names, code, strict=True) if here)
        or "no known level"
        for code in table.known
    ]


def _masses(problem: Problem, tables: list[CellTable]) -> tuple[Whole, Real, list[Real]]:
    """Combinations of cells, the share of the rows in each, and the target's shares."""
    some, where = distinct_codes([table.places(problem.X) for table in tables])
    mass = np.bincount(where, weights=problem.own).astype(np.float64)
    return some, mass, [table.share for table in tables]


def _impossible(fitted: Fitted) -> bool:
    """Whether no weights, within whatever limits, give the training rows all margins."""
    return fitted.stalled and fitted.off > _GROSS
