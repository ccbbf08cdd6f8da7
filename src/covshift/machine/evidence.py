"""Amplitudes and relevances of a sum of kernels by marginal likelihood (theory, eq. 3.11).

Least squares with a penalty is the mean of a Gaussian process: y = c + f(x) + noise with f of
covariance s^2 K and noise of variance s^2 / w_i. With c free (of a wide prior), s profiled out and
C = K + diag(1 / w) + wide 1 1', the outcomes Y (N, k), whose columns have unit variance, have

    -log p(Y) = (k W / 2) log(tr Y'C^-1 Y) + (k / 2) log|C| + const ,    W = sum_i w_i .

Priors hold what the rows cannot tell: log-normal for the amplitudes and the common width, and for
the relevance of each group of features one around the common one, of spread ``shrink``. With
``shrink=0`` all features share one width. Rows that repeat may be given once, with their number as
weight: the value does not change but for a constant.

C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006,
sections 5.4 and 5.1 (relevance). O(N^3 + n N^2) time for a value with its gradient, O(N^2) memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.spatial.distance import cdist

from .._groups import feature_groups, gap_factors, members
from .._kernel_sum import KernelSum
from .._parallel import one_blas_thread
from .._types import Real, Rows

_WIDE = 100.0  # prior variance of the intercept, in units of the noise
_SPREAD_COMMON, _SPREAD_AMPLITUDE, _SPREAD_RATIO = 3.0, 3.0, 1.0  # of the priors, in log units
_BELOW, _ABOVE = 12.0, 8.0  # how far the search may go from its start, in log units
_NEGLIGIBLE = 1e-4  # of the largest amplitude: such a part is left out


@dataclass(frozen=True)
class Layout:
    """Where the parameters stand in one vector: common relevance, groups, amplitudes, ratio."""

    parts: tuple[str, ...]
    groups: Rows  # (n,), the feature that every column belongs to

    @property
    def n_groups(self) -> int:
        return int(self.groups.max()) + 1

    @property
    def size(self) -> int:
        return 1 + self.n_groups + len(self.parts) + 1

    @property
    def start(self) -> Real:
        """Every relevance one over the number of features, every amplitude one."""
        theta = np.zeros(self.size)
        theta[0] = -np.log(self.n_groups)
        return theta

    def kernel(self, theta: Real) -> KernelSum:
        """Return the sum of kernels at ``theta``; parts of hardly any amplitude are left out."""
        G = self.n_groups
        amplitude = np.exp(theta[1 + G : -1])
        amplitude[amplitude < _NEGLIGIBLE * amplitude.max()] = 0.0
        found = {part: float(a) for part, a in zip(self.parts, amplitude, strict=True)}
        relevance = np.exp(theta[0] + theta[1 : 1 + G][self.groups])
        groups = feature_groups(self.groups, len(self.groups))
        return KernelSum(relevance, ratio=float(np.exp(theta[-1])), groups=groups, **found)


class Evidence:
    """The negative log evidence of rows U (N, n), outcomes Y (N, k) and weights w, with priors."""

    def __init__(self, U: Real, Y: Real, w: Real, layout: Layout, shrink: float) -> None:
        self.U, self.w, self.layout, self.shrink = U, w, layout, shrink
        centred = Y - (w @ Y) / w.sum()
        spread = np.sqrt((w @ centred**2) / w.sum())
        self.Y = centred[:, spread > 0] / spread[spread > 0]
        self._linear = U @ U.T / layout.n_groups
        self._features, self._gap_factors = members(layout.groups), gap_factors(layout.groups)

    def __call__(self, theta: Real) -> tuple[float, Real]:
        """Return the value at ``theta`` and its gradient."""
        with one_blas_thread(len(self.U) ** 2):
            value, gradient = self._likelihood(theta)
        offset, spread = theta - self.layout.start, self._prior_spread()
        free = spread > 0
        value += 0.5 * float(np.sum((offset[free] / spread[free]) ** 2))
        gradient[free] += offset[free] / spread[free] ** 2
        gradient[~free] = 0.0
        return value, gradient

    def _prior_spread(self) -> Real:
        spread = np.full(self.layout.size, _SPREAD_AMPLITUDE)
        spread[0], spread[-1] = _SPREAD_COMMON, _SPREAD_RATIO
        spread[1 : 1 + self.layout.n_groups] = self.shrink
        return spread

    def _likelihood(self, theta: Real) -> tuple[float, Real]:
        layout, N, G = self.layout, len(self.U), self.layout.n_groups
        root = np.exp((theta[0] + theta[1 : 1 + G][layout.groups]) / 2)  # (n,)
        amplitude, ratio = np.exp(theta[1 + G : -1]), float(np.exp(theta[-1]))
        V = self.U * root
        W = V * self._gap_factors
        city = cdist(W, W, "cityblock") if "laplacian" in layout.parts else None
        terms = {}
        for part, a in zip(layout.parts, amplitude, strict=True):
            if part == "linear":
                terms[part] = a * self._linear
            elif part == "rbf":
                terms[part] = a * np.exp(-0.5 * cdist(V, V, "sqeuclidean"))
            elif city is not None and part == "laplacian":
                terms[part] = a * np.exp(-ratio * city)
            else:
                terms[part] = a / G * sum(np.exp(-ratio * gaps) for gaps in self._by_feature(W))
        C = sum(terms.values()) + _WIDE
        C[np.diag_indices(N)] += 1 / self.w
        L, info = lapack.dpotrf(C, lower=1, overwrite_a=1)
        if info != 0:
            return np.inf, np.zeros(layout.size)
        log_det = 2 * float(np.log(np.diag(L)).sum())
        inverse, _ = lapack.dpotri(L, lower=1, overwrite_c=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        columns, mass = self.Y.shape[1], float(self.w.sum())
        solved = inverse @ self.Y
        total = float(np.sum(self.Y * solved))
        value = columns * (mass * np.log(total) + log_det) / 2
        # Gradient by C: what every kernel value adds.
        D = columns / 2 * (inverse - (mass / total) * (solved @ solved.T))
        gradient = np.zeros(layout.size)
        for j, part in enumerate(layout.parts):
            gradient[1 + G + j] = np.vdot(D, terms[part])
        by_feature, gradient[-1] = self._by_width(
            D, terms, (V, W), city, ratio, dict(zip(layout.parts, amplitude, strict=True))
        )
        gradient[1 : 1 + G] = by_feature
        gradient[0] = by_feature.sum()
        return value, gradient

    def _by_width(
        self,
        D: Real,
        terms: dict[str, Real],
        scaled: tuple[Real, Real],
        city: Real | None,
        ratio: float,
        amplitude: dict[str, float],
    ) -> tuple[Real, float]:
        """Return the gradient by the log relevance of every feature (G,), and by log ratio."""
        (V, W), G = scaled, self.layout.n_groups
        found, by_ratio = np.zeros(G), 0.0
        if "rbf" in terms:
            P = D * terms["rbf"]
            by_column = P.sum(axis=1) @ V**2 - np.sum(V * (P @ V), axis=0)
            found -= np.bincount(self.layout.groups, by_column, minlength=G)
        if city is not None:
            P = D * terms["laplacian"]
            found -= ratio / 2 * np.array([np.vdot(P, gaps) for gaps in self._by_feature(W)])
            by_ratio -= ratio * float(np.vdot(P, city))
        if "main_effects" in terms:
            for g, gaps in enumerate(self._by_feature(W)):
                gap = ratio * gaps
                slope = -amplitude["main_effects"] / G * float(np.vdot(D, gap * np.exp(-gap)))
                found[g] += slope / 2
                by_ratio += slope
        return found, by_ratio

    def _by_feature(self, W: Real) -> Iterator[Real]:
        """Yield the differences |u - v| of all rows in one feature after another: (N, N)."""
        for columns in self._features:
            if len(columns) == 1:
                yield _gaps(W[:, columns[0]])
            else:
                yield cdist(W[:, columns], W[:, columns], "cityblock")


def maximise(evidence: Evidence, start: Real, *, steps: int) -> Real:
    """Return the parameters of largest evidence, found by L-BFGS in ``steps`` at most."""
    from scipy.optimize import minimize

    origin = evidence.layout.start
    bounds = list(zip(origin - _BELOW, origin + _ABOVE, strict=True))
    found = minimize(
        evidence, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
    )
    return np.asarray(found.x)


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


def _gaps(v: Real) -> Real:
    return np.abs(v[:, None] - v)
