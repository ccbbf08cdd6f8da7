"""Energy balancing: the kernel-free relative of kernel mean matching."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from ..data.parameters import VERBOSE, Rules, flag, number, whole
from ..exceptions import InputError
from ..numerics.array import Real
from ..numerics.progress import warn_if_slow
from ..numerics.qp import solve_simplex
from .base import Weighter
from .points import blocks, check_fits, target_mean
from .problem import Problem

_SECONDS = 1e-4  # of a fit, for every million of N^3
_SECONDS_OF_PAIR = 3e-9  # of target rows
_SMOOTH = 3.0  # least penalty for rows that the fit has not seen


class EnergyWeights(Weighter):
    """Weights of smallest energy distance to the target.

        minimise  (2/N) sum_i w_i d(x_i) - (1/N^2) sum_ij w_i w_j |x_i - x_j| + (reg/N^2) |w|^2

    over w >= 0 with mean one, d(x) the target's mean distance from x. Without the penalty this is
    Székely and Rizzo's energy distance between the weighted sample and the target, up to a
    constant: zero only for equal distributions. Distances are in units of their mean between the
    two samples, so that ``reg`` means the same in any dimension. With ``sample_weight`` a row
    counts for g_i = N d_i / sum d rows: g_i w_i takes the place of w_i, and g_i w_i^2 that of w_i^2
    in the penalty.

    Parameters
    ----------
    reg : float
        Penalty on large weights. With 0 the weights are those of Huling and Mak's energy
        balancing, and defined on the training rows alone: `predict` needs a positive one.
    standardize : bool
        Divide the features by their standard deviation first (the variances of both samples
        averaged). False: distances in the features as they are, invariant to rotations.
    refuse_above : int
        Largest N: the distances take 8 N^2 bytes.
    verbose : int
        Show a progress bar over the rows that meet the target, on a terminal. The solver after it
        has none: how many systems it takes is not known.

    Attributes
    ----------
    distance_ : float
        Energy distance that is left, in units of the mean distance.
    weights_, effective_sample_size_
        See `Weighter`.

    Notes
    -----
    Source: Huling and Mak (2024), *Energy balancing of covariate distributions*. The kernel
    -|x - z| is positive definite only among weights of fixed sum; |x| + |z| - |x - z| is so always
    and gives the same problem there.

    A new row weighs, with c the multiplier of the mean,

        w(x) = [(c + sum_j g_j w_j |x - x_j| - N d(x)) / reg]_+ ,   g_j = 1 for equal rows ;

    on training rows this is ``weights_``. A weak penalty fits the very rows, and others would weigh
    two to seven times as much (benchmarks/results/discrepancy.md): new rows have the
    weights of the penalty 3, where ``reg`` is smaller. Cost: O(N (N + M) n) for the
    distances, some systems in the positive weights for each penalty, O(N^3) at most; O(N^2) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import EnergyWeights
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(300, 2)), rng.normal(0.5, 1.0, size=(300, 2))
    >>> energy = EnergyWeights().fit(X, X_target=T)
    >>> bool(np.abs(np.average(X, axis=0, weights=energy.weights_) - T.mean(axis=0)).max() < 0.02)
    True
    """

    _takes_sample_weight = True

    _rules: ClassVar[Rules] = {
        "reg": number(least=0),
        "standardize": flag(),
        "refuse_above": whole(1),
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        reg: float = 0.1,
        *,
        standardize: bool = True,
        refuse_above: int = 20_000,
        verbose: int = 0,
    ) -> None:
        self.reg = reg
        self.standardize = standardize
        self.refuse_above = refuse_above
        self.verbose = verbose

    def _solve(self, problem: Problem) -> Real:
        N = len(problem.X)
        self._units = problem.units(standardize=self.standardize)
        # Equal rows are one point: they have equal weights.
        X, g, place, T, share = problem.merged(self._units)
        check_fits(len(X), self.refuse_above, "EnergyWeights", _SECONDS)
        warn_if_slow(
            f"EnergyWeights of {len(T)} different target rows",
            _SECONDS_OF_PAIR * len(T) ** 2,
            "The distances between them grow with M^2: fit to a subsample of the target.",
            stacklevel=3,
        )
        apart = target_mean(  # d(x_i)
            cdist, X, T, share, label="EnergyWeights: distances", verbose=self.verbose
        )
        self._unit = float(g @ apart) / N or 1.0
        apart /= self._unit
        norm = np.linalg.norm(X, axis=1) / self._unit
        D = cdist(X, X)
        D /= self._unit
        H = norm[:, None] + norm - D

        def solved(reg: float) -> tuple[Real, float]:  # g times the weights, and their level
            np.fill_diagonal(H, 2 * norm + reg / g)
            found = solve_simplex(H, N * (norm - apart), total=float(N), tol=1e-15)
            return found.w, found.level - float(norm @ found.w)

        w, self._level = solved(self.reg)
        self._new_w, self._new_level = w, self._level
        if 0 < self.reg < _SMOOTH:
            self._new_w, self._new_level = solved(_SMOOTH)
        self.distance_ = float(
            2 * (w @ apart) / N
            - w @ D @ w / N**2
            - share @ target_mean(cdist, T, T, share) / self._unit
        )
        self._X, self._w, self._T, self._share = X, w, T, share
        return np.asarray((w / g)[place])

    def _ratio_of_unused(self, X: Real) -> Real:
        return self._ratio(X) if self.reg > 0 else np.zeros(len(X))

    def _ratio(self, X: Real) -> Real:
        if not self.reg > 0:
            raise InputError(
                "EnergyWeights with reg=0 defines weights of the training rows alone. Fit with a "
                "positive reg to predict those of new rows."
            )
        X = self._units(X)
        N = float(self._w.sum())  # of all rows, equal ones among them
        both = np.column_stack([self._w, self._new_w])
        pull, seen = np.empty((len(X), 2)), np.empty(len(X), dtype=bool)
        for rows in blocks(len(X), len(self._w)):
            D = cdist(X[rows], self._X)
            pull[rows], seen[rows] = D @ both, (D == 0).any(axis=1)
        pull -= N * target_mean(cdist, X, self._T, self._share)[:, None]
        pull = pull / self._unit + np.array([self._level, self._new_level])
        w = np.maximum(pull, 0.0) / [self.reg, max(self.reg, _SMOOTH)]
        return np.asarray(np.where(seen, *w.T))
