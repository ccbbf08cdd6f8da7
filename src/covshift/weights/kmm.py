"""Kernel mean matching."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from ..data.parameters import VERBOSE, Rules, flag, function, number, one_of, whole
from ..exceptions import InputError, WeightWarning
from ..numerics.array import Real
from ..numerics.kernels import WIDTH, NamedKernel, find_width
from ..numerics.qp import solve_simplex
from .base import Weighter
from .points import blocks, check_fits, squared_distances, target_mean
from .problem import Problem

_SECONDS = 1e-3  # of a fit, for every million of N^3
_NEIGHBOURS = 1.0  # a row must see so much of the others, or the kernel is too narrow


class KMM(Weighter):
    """Kernel mean matching: weights that bring the sample's kernel mean to the target's.

        minimise  w'Kw / 2 - kappa'w   over   0 <= w <= B,  |sum w - N| <= N eps ,

    K(i, j) = k(x_i, x_j) and kappa_i = N times the target mean of k(x_i, .): half of N^2 times the
    squared distance between the two kernel means, up to a constant. With ``sample_weight`` a row
    counts for g_i = N d_i / sum d rows: g_i w_i takes the place of w_i but in the bounds 0 and B,
    and N is their effective number in ``eps``.

    Parameters
    ----------
    B : float
        Largest weight, before scaling to mean one.
    eps : float or None
        How far the mean weight may be from one, before scaling. None: (sqrt(N) - 1) / sqrt(N).
    kernel : {"rbf", "laplacian"} or callable
        A callable takes two rows and returns a number, not negative.
    width : "median", "scale" or float
        k(x, z) = exp(-|x - z|^2 / (2 width^2)), for "laplacian" exp(-|x - z|_1 / width). With m
        the median squared distance of distinct training rows, "median" is sqrt(m / 2), for
        "laplacian" m; with v their variance, "scale" is sqrt(n v / 2), for "laplacian" n sqrt(v).
    standardize : bool
        Divide the features by their standard deviation first (the variances of both samples
        averaged); the width is then in these units.
    refuse_above : int
        Largest N: the kernel takes 8 N^2 bytes.
    verbose : int
        Show a progress bar over the rows that meet the target, on a terminal. The solver after it
        has none: how many systems it takes is not known.

    Attributes
    ----------
    width_ : float or None
        The width used; a callable has none.
    objective_ : float
        w'Kw / 2 - kappa'w at the solution, before scaling.
    total_ : float
        Sum of the weights there.
    weights_, effective_sample_size_
        See `Weighter`.

    Notes
    -----
    Source: Huang, Smola, Gretton, Borgwardt and Schölkopf (2007), *Correcting sample selection
    bias by unlabeled data*. The constraints hold to rounding, and the objective is within 1e-9 of
    the minimum.

    The problem defines weights on the training rows alone. New rows get a kernel mean of those,
    w(x) = sum_i g_i k(x, x_i) w_i / sum_i g_i k(x, x_i) (Nadaraya and Watson), and the weight of
    the nearest row where the kernel vanishes. It is smooth: on training rows it is not
    ``weights_``.

    With a kernel so narrow that K is nearly the identity the sum falls to its lower bound and the
    weights, scaled, carry no information about the target; a warning says so.

    Cost: O(N (N + M) n) for the kernel, a few systems in the positive weights, O(N^3) at most;
    O(N^2) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import KMM
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(300, 2)), rng.normal(0.5, 1.0, size=(300, 2))
    >>> kmm = KMM(B=5).fit(X, X_target=T)
    >>> bool(np.abs(np.average(X, axis=0, weights=kmm.weights_) - T.mean(axis=0)).max() < 0.02)
    True
    """

    _takes_sample_weight = True

    _rules: ClassVar[Rules] = {
        "B": number(above=0),
        "eps": number(least=0) | one_of(None),
        "kernel": one_of("rbf", "laplacian") | function(),
        "width": WIDTH,
        "standardize": flag(),
        "refuse_above": whole(1),
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        B: float = 1000.0,
        *,
        eps: float | None = None,
        kernel: Any = "rbf",
        width: Any = "median",
        standardize: bool = True,
        refuse_above: int = 20_000,
        verbose: int = 0,
    ) -> None:
        self.B = B
        self.eps = eps
        self.kernel = kernel
        self.width = width
        self.standardize = standardize
        self.refuse_above = refuse_above
        self.verbose = verbose

    def _solve(self, problem: Problem) -> Real:
        N = len(problem.X)
        total = self._total(N, problem.N)
        self._units = problem.units(standardize=self.standardize)
        # Equal rows are one variable: they make K singular and have equal weights.
        X, count, place, T, share = problem.merged(self._units)
        check_fits(len(X), self.refuse_above, "KMM", _SECONDS)
        self._kernel = self._make_kernel(X)
        self.width_ = self._kernel.width
        K = self._kernel(X, X)
        kappa = N * target_mean(
            self._kernel, X, T, share, label="KMM: kernel means", verbose=self.verbose
        )
        solution = solve_simplex(K, kappa, upper=self.B * count, total=total)
        self.objective_, self.total_ = solution.objective, float(solution.w.sum())
        self._X, self._w, self._count = X, solution.w / count, count
        self._warn_of_collapse(K, count / np.bincount(place))
        return np.asarray(self._w[place])

    def _ratio(self, X: Real) -> Real:
        X = self._units(X)
        w = np.empty(len(X))
        for rows in blocks(len(X), len(self._X)):
            k = self._kernel(X[rows], self._X) * self._count
            seen = k.sum(axis=1)
            far = seen < 1e-200
            if far.any():
                distances = squared_distances(X[rows][far], self._X)
                nearest = distances == distances.min(axis=1, keepdims=True)
                k[far] = nearest * self._count
                seen[far] = k[far].sum(axis=1)
            w[rows] = k @ self._w / seen
        return w

    def _total(self, N: int, size: float) -> tuple[float, float]:
        """Bounds on the sum of N weights, of so many rows in effect."""
        root = np.sqrt(size)
        eps = (root - 1) / root if self.eps is None else self.eps
        least = max(N * (1 - eps), 0.0)
        if N * self.B < least:
            raise InputError(
                f"No weights up to B={self.B:g} have a mean of at least {1 - eps:g}: raise B or "
                "eps."
            )
        return float(least), float(N * (1 + eps))

    def _make_kernel(self, X: Real) -> NamedKernel:
        return NamedKernel(self.kernel, find_width(self.width, self.kernel, X, np.ones(len(X))))

    def _warn_of_collapse(self, K: Real, row: Real) -> None:
        """Tell where a row sees too little of the others; ``row`` is what one at a value counts."""
        N = round(float(self._count.sum()))
        seen = float(np.median(K @ self._count - row * np.diag(K)))
        if seen < min(_NEIGHBOURS, 0.01 * N):
            warnings.warn(
                f"The kernel of KMM is too narrow (width={self.width_}): a row is near {seen:.2g} "
                f"of the other {N - 1} rows, K is nearly the identity and the weights carry no "
                f"information about the target (their sum is {self.total_:.3g}, N is {N}). Use a "
                "larger "
                'width, such as width="median".',
                WeightWarning,
                stacklevel=4,
            )
