"""Amplitudes and relevances of a sum of kernels by marginal likelihood (theory, eq. 3.11).

Least squares with a penalty is the mean of a Gaussian process: y = c + f(x) + noise with f of
covariance s^2 K and noise of variance s^2 / w_i. With c free (of a wide prior), s profiled out
and C = K + diag(1 / w) + wide 1 1', the outcomes Y (N, k), whose columns have unit variance, have

    -log p(Y) = (k W / 2) log(tr Y'C^-1 Y) + (k / 2) log|C| + const ,    W = sum_i w_i .

Priors hold what the rows cannot tell: log-normal for the amplitudes and the common width, and for
the relevance of each group of features one around the common one, of spread ``shrink``. With
``shrink=0`` all features share one width. Rows that repeat may be given once, with their number
as weight: the value does not change but for a constant.

C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006,
sections 5.4 and 5.1 (relevance). O(N^3 + n N^2) time for a value with its gradient, O(N^2)
memory.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack
from scipy.spatial.distance import pdist, squareform

from ..data.features import feature_groups, gap_factors, members
from ..numerics.array import Real, Rows
from ..numerics.kernels import KernelSum
from ..numerics.parallel import one_blas_thread

_WIDE = 100.0  # prior variance of the intercept, in units of the noise
_SPREAD_COMMON, _SPREAD_AMPLITUDE, _SPREAD_RATIO = 3.0, 3.0, 1.0  # of the priors, in log units
_BELOW, _ABOVE = 12.0, 8.0  # how far the search may go from its start, in log units
_KEPT = 1 << 24  # differences of pairs of rows, 128 MB; more are computed each time
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
    """The negative log evidence of rows U (N, n), outcomes Y (N, k) and weights w, with priors.

    Kernel values of the N (N - 1) / 2 pairs of rows stand in one vector, in SciPy's order.
    """

    def __init__(self, U: Real, Y: Real, w: Real, layout: Layout, shrink: float) -> None:
        self.U, self.w, self.layout, self.shrink = U, w, layout, shrink
        centred = Y - (w @ Y) / w.sum()
        spread = np.sqrt((w @ centred**2) / w.sum())
        self.Y = centred[:, spread > 0] / spread[spread > 0]
        products = U @ U.T / layout.n_groups
        self._linear = _pairs(products), np.diag(products).copy()
        self._members, self._scaled = members(layout.groups), U * gap_factors(layout.groups)
        by_gaps = bool({"laplacian", "main_effects"} & set(layout.parts))
        keeps = by_gaps and layout.n_groups * len(self._linear[0]) <= _KEPT
        self._kept = np.stack(list(self._each_gap())) if keeps else None

    def with_shrink(self, shrink: float) -> Evidence:
        """Return the same of another spread; what is known of the rows is not computed again."""
        other = copy.copy(self)
        other.shrink = shrink
        return other

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
        root = np.exp((theta[0] + theta[1 : 1 + G]) / 2)  # (G,)
        amplitude = dict(zip(layout.parts, np.exp(theta[1 + G : -1]), strict=True))
        ratio, linear = float(np.exp(theta[-1])), amplitude.get("linear", 0.0)
        V = self.U * root[layout.groups]
        city: Real = np.zeros(0)  # distances without squares
        terms: dict[str, Real] = {}
        if "rbf" in amplitude:
            terms["rbf"] = _decay(_half_squares(V), 1.0, amplitude["rbf"])
        if "laplacian" in amplitude:
            city = np.asarray(sum(root[some] @ gaps for some, gaps in self._gaps()))
            terms["laplacian"] = _decay(city, ratio, amplitude["laplacian"])
        if "main_effects" in amplitude:
            a, every = amplitude["main_effects"] / G, zip(root, self._each(), strict=True)
            terms["main_effects"] = np.asarray(sum(_decay(gap, ratio * r, a) for r, gap in every))
        pairs = linear * self._linear[0] + _WIDE
        for values in terms.values():
            pairs += values
        C = squareform(pairs, checks=False)
        diagonal = sum(amplitude.values()) - linear + linear * self._linear[1]
        C[np.diag_indices(N)] = 1 / self.w + diagonal + _WIDE
        # C is symmetric: transposed, it is in LAPACK's order without a copy.
        L, info = lapack.dpotrf(C.T, lower=1, overwrite_a=1)
        if info != 0:
            return np.inf, np.zeros(layout.size)
        log_det = 2 * float(np.log(np.diag(L)).sum())
        solved, _ = lapack.dpotrs(L, self.Y, lower=1)
        columns, mass = self.Y.shape[1], float(self.w.sum())
        total = float(np.sum(self.Y * solved))
        value = columns * (mass * np.log(total) + log_det) / 2
        # Gradient by C: what every kernel value adds; each pair is there twice.
        inverse, _ = lapack.dpotri(L, lower=1, overwrite_c=1)
        slope = blas.dsyrk(
            -columns * mass / total, solved, columns, inverse, lower=1, overwrite_c=1
        )
        D, on_diagonal = _pairs(slope.T), np.diag(slope) / 2
        slopes = {part: np.multiply(values, D, out=values) for part, values in terms.items()}
        gradient = np.zeros(layout.size)
        for j, (part, a) in enumerate(amplitude.items()):
            if part == "linear":
                by_part = a * (D @ self._linear[0] + on_diagonal @ self._linear[1])
            else:
                by_part = slopes[part].sum() + a * on_diagonal.sum()
            gradient[1 + G + j] = by_part
        by_feature = gradient[1 : 1 + G]
        if "rbf" in slopes:
            P = squareform(slopes["rbf"], checks=False)
            by_column = P.sum(axis=1) @ V**2 - np.sum(V * (P @ V), axis=0)
            by_feature -= np.bincount(layout.groups, by_column, minlength=G) / 2
        if "laplacian" in slopes:
            weighed = np.concatenate([gaps @ slopes["laplacian"] for _, gaps in self._gaps()])
            by_feature -= ratio / 2 * root * weighed
            gradient[-1] -= ratio * float(slopes["laplacian"] @ city)
        if "main_effects" in slopes:
            for g, gaps in enumerate(self._each()):
                gap = ratio * root[g] * gaps
                by_gap = -amplitude["main_effects"] / G * float(D @ (gap * np.exp(-gap)))
                by_feature[g] += by_gap / 2
                gradient[-1] += by_gap
        gradient[0] = by_feature.sum()
        return value, gradient

    def _gaps(self) -> Iterator[tuple[slice, Real]]:
        """Yield differences of all pairs in some features after others, of relevance one."""
        if self._kept is not None:
            yield slice(None), self._kept
            return
        for g, gaps in enumerate(self._each_gap()):
            yield slice(g, g + 1), gaps[None]

    def _each(self) -> Iterator[Real]:
        return iter(self._kept) if self._kept is not None else self._each_gap()

    def _each_gap(self) -> Iterator[Real]:
        return (pdist(self._scaled[:, columns], "cityblock") for columns in self._members)


def _decay(distances: Real, rate: float, amplitude: float) -> Real:
    """Return amplitude exp(-rate distances)."""
    values = -rate * distances
    np.exp(values, out=values)
    values *= amplitude
    return np.asarray(values)


def _half_squares(V: Real) -> Real:
    """Half the squared distances of all pairs of rows: by one product, faster than `pdist`."""
    halves = np.einsum("ij,ij->i", V, V)[:, None] / 2
    ones = np.ones_like(halves)
    found = _pairs(np.hstack([-V, halves, ones]) @ np.hstack([V, ones, halves]).T)
    return np.asarray(np.maximum(found, 0.0, out=found))


def _pairs(S: Real) -> Real:
    """Entries of a symmetric matrix (N, N) above its diagonal, row by row."""
    return np.asarray(squareform(S, force="tovector", checks=False))


def maximise(evidence: Evidence, start: Real, *, steps: int) -> Real:
    """Return the parameters of largest evidence, found by L-BFGS in ``steps`` at most."""
    from scipy.optimize import minimize

    origin = evidence.layout.start
    bounds = list(zip(origin - _BELOW, origin + _ABOVE, strict=True))
    solution = minimize(
        evidence, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
    )
    return np.asarray(solution.x)
