"""Weights from distribution functions (theory, section 7)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...data.parameters import Rules, flag, number, one_of
from ...exceptions import InputError, NoOverlapError, OverlapWarning
from ...margins import Margins
from ...margins.features import cdf_features
from ...margins.reading import Reading, cell_columns, reading_of
from ...numerics.array import Real, Rows, like
from ...numerics.hashing import Keys, row_hash
from ...numerics.parallel import one_blas_thread
from ...numerics.support import NO_OVERLAP, Uncovered, uncovered
from ..limits import LIMITS, clipped, inside, only_one
from ..points import distinct
from ..problem import Problem
from .at_cuts import UncoveredCells, target_of, uncovered_cells
from .device import DENSE_LINES, OnDevice
from .matching import Match, Matching
from .newton import MOST_STEPS
from .penalty import ROUGH, WEAKEST, by_discrepancy, by_folds, noise_limit, overlap, sampling_noise
from .thresholds import Block, LocalParts, ThresholdMatching, mass_of
from .views import (
    VIEWS_RULE,
    TargetSide,
    as_views,
    make_target,
    name_of,
    tails_scale,
)

# Rows that the fit has not seen.
#
# A weak penalty fits the very rows: in w(x) = [(c + N b(x) - K(x, X) w) / reg]_+ each of them has
# its own term K(x_i, x_i) w_i on the right, which others lack. Were row i new, it would weigh about
# w_i / (reg H_ii), H = (K + reg I)^-1 on the positive weights and reg H_ii < 1: on average two to
# seven times as much with a hundred rows (benchmarks/results/discrepancy.md). At the penalty 1 that
# is about a tenth more.


@dataclass(frozen=True)
class NewRows:
    """Weights of rows that the fit has not seen: those of a stronger penalty."""

    match: Match
    known: Keys  # (rows,), sorted: keys of the rows that it has seen

    def __post_init__(self) -> None:
        if (self.known[1:] <= self.known[:-1]).any():
            raise ValueError("keys that are not sorted")

    def ratio(self, X: Any, rows: Any, own: Any) -> Any:
        """Weights of the rows X with their R; ``own`` are those of rows that the fit has seen."""
        seen = np.isin(row_hash(X), self.known.astype(np.uint64))
        return own * like(seen, own) + self.match.ratio(rows) * like(~seen, own)


_TRAINING = 10.0  # penalty for training: weights that estimate a mean well hurt a learner
_SMOOTH = 1.0  # least penalty for rows that the fit has not seen, where it was not given
_MOST_KNOWN = 1_000_000  # rows of a fit that are told from others
_DENSE_BOXES = 3000  # rows up to which the dense solver is faster in views of several dimensions
# In views of one dimension so many rows, and no more pairs of them than so many per threshold: of
# 1,000 rows of 25 columns without ties Newton's method takes as long.
_MOST_DENSE, _PAIRS_OF_THRESHOLD = 1500, 40
_COARSE = 512  # thresholds of a view on which the penalty is sought, where there are many more
_RESTS_ON = 0.25  # share of the training rows that weights may rest on, in the overlap alarm
_ROUNDING = 1e-20  # squared difference of distribution functions that are equal
_SOLVERS = ("auto", "dense", "thresholds")


class CDFWeights(OnDevice):
    """Weights under which the training sample has the target's distribution functions (ours).

    In the views of the target (theory, section 2.2), with R their factor and F the target seen by
    its own rows,

        w = argmin  |R w / N - F|^2 + (reg / N^2) |w|^2   over   w >= 0, mean w = 1 .

    This is kernel mean matching with the V-matrix as its kernel: no bandwidth, and in the additive
    view no dependence on monotone changes of the features. With ``sample_weight`` a row counts for
    g_i = N d_i / sum d rows: g_i w_i takes the place of w_i, and g_i w_i^2 that of w_i^2.

    Parameters
    ----------
    views : {"additive", "pairwise", "sliced", "multiplicative"}, or such a correction
        What is compared: the distribution of each feature, of each pair of features, of random
        projections, or the joint one. Additive sees no change of dependence between features. An
        object of `covshift.corrections` has options: ``Sliced(n_directions=200)`` ("sliced" has
        50), ``Pairwise(symmetric=True)`` (in views of one dimension it makes no difference beyond
        ties, since the weights have mean one), and ``Additive(phi="anderson-darling")``, which
        compares distribution functions with weight 1 / (6 F (1 - F)), F that of the target: it
        gives the tails the weight that their variance asks for. With many features, or where the
        spread of the features changes, second moments come out much nearer. Other phi,
        ``normalize``, ``blend`` and ``weights`` are refused.
    reg : float, "discrepancy", "cv" or None
        Penalty. A larger one keeps the weights nearer to one. "discrepancy": the largest, and at
        least 0.01, whose mismatch is within a limit: a tenth of the target's sampling noise under
        a plain shift, all of it where the samples look the same. "cv": the one, of nine from 0.01
        to 100, with the smallest squared error of w as a density ratio in five folds. None: as
        ``purpose`` says.
    purpose : {"estimation", "training"}
        What None means for ``reg``: "discrepancy", or 10. Weights that estimate a mean or a risk
        well usually hurt a flexible learner, which wants them much nearer to one.
    allow_no_overlap : bool
        Warn, where no weights can represent the target, instead of raising `NoOverlapError`.
    solver : {"auto", "dense", "thresholds"}
        "dense": active set on the N x N kernel, exact. "thresholds": Newton's method on one
        variable per threshold, which needs only sums over the rows: no N x N array, and no N x M
        array in views of one dimension. "auto" takes the faster of the two.
        `covshift.distributed.fit` uses the second.
    limits : (low, high), optional
        Bounds of the weights, whose mean is one. The penalty, and whether the samples overlap, are
        found without them; the weights within them are then those of the same penalty.
    tol : float
        Bound on the root mean square error of the weights, for the solver "thresholds".
    random_state : int, RandomState or None
        Seed of the projections and of the folds.

    Attributes
    ----------
    reg_ : float
        Penalty used; infinite where equal weights are within the limit already.
    mismatch_ : float
        |R w / N - F|^2, the mean squared difference of the distribution functions that is left.
    noise_ : float
        The same for the target sample and its own distribution, on average: spread / (M - 1).
    overlap_ : bool
        False is an alarm: parts of the target have no training rows. Either no weights bring the
        mismatch within the sampling noise of M target rows and a quarter of the N training rows,
        or more than 1/10 + 10/N of the target is uncovered in a single column.
    uncovered_ : tuple of Uncovered, or of UncoveredCells with margins
        Significant parts of the target beyond the training values of a column, or at a value that
        no training row has (theory, section 7), the largest share first. On a device and on a
        cluster only what lies beyond the training values is looked for.
    balance_cost_ : BalanceCost
        With ``limits``: largest gap and effective sample size with and without them.
    scores_ : (2, 9) array
        Penalties tried by "cv", and their held-out criterion.
    weights_, effective_sample_size_
        See `Weighter`.

    Notes
    -----
    A new row x weighs, with c the multiplier of the mean and b(x) the target mean of K(x, .),

        w(x) = [(c + N b(x) - K(x, X) w) / reg]_+ ;

    on training rows this is ``weights_``. A penalty below 1 that "discrepancy" finds fits the very
    rows, and others would weigh up to seven times as much (benchmarks/results/discrepancy.md): new
    rows have the weights of the penalty 1. Probability weights of either
    sample enter the noise by its effective size. ``sample_weight``, margins and ``limits`` are
    taken in memory, not on a device or a cluster.

    `covshift.Margins` as a target: the distribution function of each number is compared at the
    ends of the published brackets, and nowhere else, with their shares as weights of the points;
    a category, and a table of two columns, enters as the indicators of its cells. In additive
    views, for any penalty but "cv". Margins that hold every value of some rows give the weights
    of these rows.

    The limit of "discrepancy" is ``noise_`` times the square of (noise of both samples) /
    (mismatch of equal weights), at least 0.1 and at most 1: where the samples look the same
    the weights stay near one, and under a plain shift little of it is left. What is left of a shift
    is systematic and adds up over the features, where noise averages out.

    Cost, lines (additive, sliced): O(G (N + M) log(N + M)) to sort G views, then O(G (N + m)) for
    each of about fifty products; memory O(G (N + m)). m is the number of thresholds of a view: the
    distinct values of the target, or 65 535 of equal shares where there are more. Pairwise and
    multiplicative: the kernel takes O(N^2 M) for each view, products O(N M).

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import CDFWeights
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(500, 2)), rng.normal(0.5, 1.0, size=(500, 2))
    >>> match = CDFWeights().fit(X, X_target=T)
    >>> bool(np.abs(X.mean(axis=0) - T.mean(axis=0)).max() > 0.4)
    True
    >>> bool(np.abs(np.average(X, axis=0, weights=match.weights_) - T.mean(axis=0)).max() < 0.05)
    True
    >>> match.overlap_
    True
    """

    _takes_sample_weight = True
    _tells_overlap = True
    _sides: Real | None = None
    _new: NewRows | None = None  # also in files from before

    _rules: ClassVar[Rules] = {
        "views": VIEWS_RULE,
        "reg": number(above=0) | one_of("discrepancy", "cv", None),
        "purpose": one_of("estimation", "training"),
        "allow_no_overlap": flag(),
        "solver": one_of(*_SOLVERS),
        "limits": LIMITS,
        "tol": number(above=0),
    }

    def __init__(
        self,
        views: Any = "additive",
        *,
        reg: Any = None,
        purpose: str = "estimation",
        allow_no_overlap: bool = False,
        solver: str = "auto",
        limits: Any = None,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.views = views
        self.reg = reg
        self.purpose = purpose
        self.allow_no_overlap = allow_no_overlap
        self.solver = solver
        self.limits = limits
        self.tol = tol
        self.random_state = random_state

    def _solve(self, problem: Problem) -> Real:
        self._penalty()
        X, T, share = problem.X, problem.T, problem.share
        gaps = uncovered(X, T, share, problem.size, own=problem.own)
        self._sides = problem.sides()
        of_target = partial(self._target, groups=problem.groups)
        seen, target = self._seen(X), of_target(self._seen(T), share)

        def by_folds_of_rows() -> float:
            grid, scores = by_folds(
                lambda X, own, *T: self._matching(X, own, of_target(*T)),
                seen,
                problem.own,
                distinct(self._seen(T), share),
                random_state=self.random_state,
            )
            self.scores_ = np.stack([grid, scores])
            return float(grid[np.argmin(scores)])

        return self._weigh(problem, seen, target, gaps, by_folds_of_rows)

    def _weigh(
        self,
        problem: Problem,
        seen: Real,
        target: TargetSide,
        gaps: tuple[Uncovered | UncoveredCells, ...],
        by_folds: Callable[[], float] | None = None,
    ) -> Real:
        """Match the rows, as they are ``seen``, to a target; clip what limits ask for."""
        dense = len(seen) ** 2 if self._is_dense(seen, target) else 0
        with one_blas_thread(dense):
            matching = self._matching(seen, problem.own, target)
            keys = partial(row_hash, problem.X)
            names, sizes = problem.features.columns, (problem.N, problem.size)
            match = self._match_rows(matching, *sizes, gaps, keys, names=names, by_folds=by_folds)
            w = matching.weights(match)
            if self.limits is None:
                return w
            self._unlimited = w / float(problem.own @ w)
            if inside(self._unlimited, self.limits):
                return w
            self._match = self._limited(matching, match)
            if self._new is not None:
                self._new = replace(self._new, match=self._limited(matching, self._new.match))
            self.mismatch_ = self._match.mismatch
            return clipped(matching.weights(self._match), self.limits)

    def _limited(self, matching: Matching | ThresholdMatching, match: Match) -> Match:
        """Weights of the same penalty within the limits."""
        if only_one(self.limits):
            return matching.unweighted()
        low, high = (float(end) for end in self.limits)
        return matching.limited(low, high).solve(match.reg, match, min(self.tol, 1e-7))

    def _read(self, margins: Margins, X: Any) -> Reading:
        views = self._views
        if name_of(views) != "additive" or views.symmetric or self._penalty() == "cv":
            raise InputError(
                "Margins give the distribution functions of single columns, not rows: use "
                "CDFWeights(views='additive') and a penalty other than 'cv'."
            )
        who = type(self).__name__
        reading = reading_of(margins, X, cell_columns(margins), who, strict=False)
        return replace(reading, features=cdf_features(margins, reading.names)[0])

    def _solve_margins(self, problem: Problem, margins: Margins) -> Real:
        self._sides = None
        Z, lines = problem.X, cdf_features(margins, tuple(cell_columns(margins)))[1]
        even_tails = self._views.phi is not None
        target = target_of(lines, even_tails=even_tails, scale=tails_scale(even_tails))
        return self._weigh(problem, Z, target, uncovered_cells(Z, lines, problem.N, problem.size))

    def _match_rows(
        self,
        matching: Matching | ThresholdMatching,
        N: float,
        size: float,
        gaps: tuple[Uncovered | UncoveredCells, ...],
        keys: Callable[[], Keys],
        *,
        names: Sequence[str] | None = None,
        by_folds: Callable[[], float] | None = None,
    ) -> Match:
        """Choose the penalty, match the rows to the target, and tell what was found.

        ``N`` is the effective number of training rows, ``size`` the number of target rows.
        ``gaps`` are the parts of the target without training rows in a column, ``keys`` returns
        those of the rows (`row_hash`), and ``by_folds`` chooses the penalty by cross-validation,
        where that is possible.
        """
        target = matching.target
        self.noise_ = sampling_noise(target, size)
        match = self._matched(matching, N, by_folds)
        matched = overlap(matching, match, self._tolerated(target, N))
        self.uncovered_ = gaps
        missing = [part for part in gaps if part.excess >= NO_OVERLAP]
        self.overlap_ = matched and not missing
        self._match, self._made = match, target
        self._new = None
        if self._penalty() == "discrepancy" and match.reg < _SMOOTH and matching.N <= _MOST_KNOWN:
            self._new = NewRows(matching.solve(_SMOOTH, match, self.tol), np.unique(keys()))
        self.reg_, self.mismatch_ = match.reg, match.mismatch
        if not self.overlap_:
            mismatch = None if matched else self.mismatch_
            noise = self._tolerated(target, N)
            message = no_overlap(name_of(self._views), missing, names, mismatch, noise)
            if not self.allow_no_overlap:
                raise NoOverlapError(f"{message} {ADVICE}")
            warnings.warn(message, OverlapWarning, stacklevel=6)
        if not match.converged:
            warnings.warn(
                f"CDFWeights did not converge in {MOST_STEPS} steps of Newton's method. Raise tol, "
                "or use solver='dense'.",
                ConvergenceWarning,
                stacklevel=6,
            )
        return match

    def _tolerated(self, target: TargetSide, N: float) -> float:
        """Noise of the target, and of as few training rows as a usable reweighting rests on."""
        return self.noise_ + target.spread / (_RESTS_ON * N) + _ROUNDING

    def _ratio(self, X: Real) -> Real:
        rows = self._made.rows(self._seen(X))
        found: Any = self._match.ratio(rows)
        if self._new is not None:
            found = self._new.ratio(X, rows, found)
        return clipped(found, self.limits)

    def _seen(self, X: Any) -> Any:
        """Rows, each column from the side that shows it (`column_sides`)."""
        return X if self._sides is None else like(self._sides, X) * X

    def _matched(
        self,
        matching: Matching | ThresholdMatching,
        N: float,
        by_folds: Callable[[], float] | None,
    ) -> Match:
        reg = self._penalty()
        if reg == "cv" and by_folds is not None:
            reg = by_folds()
        coarse = matching.coarse(_COARSE)
        search = coarse or matching
        if not isinstance(reg, str):
            first = search.unweighted()
            if coarse is not None:
                first = coarse.refined(coarse.solve(reg, first, ROUGH))
            return matching.solve(reg, first, self.tol)
        target = matching.target
        both = self.noise_ + target.spread / N
        limit = noise_limit(self.noise_, both, matching.unweighted().mismatch)
        alarm = self._tolerated(target, N)
        match = by_discrepancy(search, limit, alarm)
        if np.isinf(match.reg):
            return matching.unweighted()
        start = match if coarse is None else coarse.refined(match)
        solution = matching.solve(match.reg, start, self.tol)
        # What is within the limit on the coarse grid may miss it by a little on the fine one.
        while match.mismatch <= limit < 0.98 * solution.mismatch and solution.reg > WEAKEST:
            solution = matching.solve(max(0.8 * solution.reg, WEAKEST), solution, self.tol)
        return solution

    def _penalty(self) -> float | str:
        if self.reg is None:
            return "discrepancy" if self.purpose == "estimation" else _TRAINING
        return self.reg if isinstance(self.reg, str) else float(self.reg)

    def _target(self, T: Any, share: Any, groups: Rows | None) -> TargetSide:
        return make_target(self._views, T, share, random_state=self.random_state, groups=groups)

    @property
    def _views(self) -> Any:
        """The correction whose views are compared."""
        return as_views(self.views)

    def _matching(self, X: Real, own: Real, target: TargetSide) -> Matching | ThresholdMatching:
        mass = mass_of(own)
        if self._is_dense(X, target):
            return Matching(X, target, mass)
        block = Block(target.rows(X), mass, remembers=True)
        return ThresholdMatching(LocalParts([block]), len(X), target)

    def _is_dense(self, X: Real, target: TargetSide) -> bool:
        if self.solver != "auto":
            return bool(self.solver == "dense")
        N, most = len(X), _DENSE_BOXES if target.lines is None else DENSE_LINES
        return N <= most or (N <= _MOST_DENSE and N**2 <= _PAIRS_OF_THRESHOLD * len(target.F))

    def _flat_on_purpose(self) -> bool:
        return self.limits is not None or not isinstance(self._penalty(), str)


# What CDF weights say where parts of the target have no training rows.


_NAMED = 5  # parts of the target without training rows that a message names

ADVICE = (
    "Restrict the target to where there is training data, leave out columns that the outcome does "
    "not need, or pass allow_no_overlap=True to go on with the nearest weights."
)
"""What to do about it."""


def no_overlap(
    views: str | None,
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
        "No weights make the training rows look like the target: parts of it have no such rows, "
        f"there is no overlap. Found: {'; '.join(reasons)}."
    )
