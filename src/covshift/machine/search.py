"""Which coordinates and which kernel a machine uses: those that are named, or found on a sample.

What is learned here comes from at most 5000 labelled rows, chosen by their content
(`covshift.numerics.row_sample`), so that a fit in memory, on landmarks, in blocks, on a cluster and
on a GPU chooses alike.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack
from scipy.spatial.distance import pdist, squareform

from ..data.features import feature_groups, gap_factors, members
from ..exceptions import InputError
from ..numerics.array import Real, Rows, Whole
from ..numerics.coordinates import Centered, Coordinates, OnCoordinates, Unchanged, fit_coordinates
from ..numerics.folds import Fold, ranked_folds
from ..numerics.hashing import RowUnits
from ..numerics.kernels import SEARCHED, Kernel, KernelSum, NamedKernel
from ..numerics.parallel import one_blas_thread
from ..numerics.row_sample import RowSample
from ..operators import Diagonal
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
# Amplitudes and relevances have the largest evidence (`covshift.machine.search`); how freely the
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


# Amplitudes and relevances of a sum of kernels by marginal likelihood (theory, eq. 3.11).
#
# Least squares with a penalty is the mean of a Gaussian process: y = c + f(x) + noise with f of
# covariance s^2 K and noise of variance s^2 / w_i. With c free (of a wide prior), s profiled out
# and C = K + diag(1 / w) + wide 1 1', the outcomes Y (N, k), whose columns have unit variance, have
#
#     -log p(Y) = (k W / 2) log(tr Y'C^-1 Y) + (k / 2) log|C| + const ,    W = sum_i w_i .
#
# Priors hold what the rows cannot tell: log-normal for the amplitudes and the common width, and for
# the relevance of each group of features one around the common one, of spread ``shrink``. With
# ``shrink=0`` all features share one width. Rows that repeat may be given once, with their number
# as weight: the value does not change but for a constant.
#
# C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006,
# sections 5.4 and 5.1 (relevance). O(N^3 + n N^2) time for a value with its gradient, O(N^2)
# memory.


_WIDE = 100.0  # prior variance of the intercept, in units of the noise
_SPREAD_COMMON, _SPREAD_AMPLITUDE, _SPREAD_RATIO = 3.0, 3.0, 1.0  # of the priors, in log units
_BELOW, _ABOVE = 12.0, 8.0  # how far the search may go from its start, in log units
_KEPT = 1 << 24  # differences of pairs of rows, 128 MB; more are computed each time
_SMALL = 64  # rows of a triangle that LAPACK inverts
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
        self._features, self._gap_factors = members(layout.groups), gap_factors(layout.groups)
        self._by_gaps = bool({"laplacian", "main_effects"} & set(layout.parts))
        self._kept: Real | None = None
        self._alike: tuple[Real, Real] | None = None

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
        ratio = float(np.exp(theta[-1]))
        V = self.U * root[layout.groups]
        alike = self.shrink == 0 and bool((root == root[0]).all())
        halves, city = self._distances(root, V, alike)
        terms: dict[str, Real] = {}
        diagonal = 1 / self.w
        for part, a in amplitude.items():
            if part == "linear":
                diagonal = diagonal + a * self._linear[1]
                continue
            diagonal = diagonal + a
            if part == "rbf":
                terms[part] = _decay(halves, 1.0, a)
            elif part == "laplacian":
                terms[part] = _decay(city, ratio, a)
            else:
                every = zip(root, self._gaps(), strict=True)
                terms[part] = np.asarray(sum(_decay(gaps, ratio * r, a / G) for r, gaps in every))
        pairs = amplitude.get("linear", 0.0) * self._linear[0] + _WIDE
        for values in terms.values():
            pairs += values
        C = squareform(pairs, checks=False)
        C[np.diag_indices(N)] = diagonal + _WIDE
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
        inverse, _ = lapack.dlauum(inverse_of_triangle(L), lower=1, overwrite_c=1)
        slope = blas.dsyrk(
            -columns * mass / total, solved, columns, inverse, lower=1, overwrite_c=1
        )
        D, on_diagonal = _pairs(slope.T), np.diag(slope) / 2
        gradient = np.zeros(layout.size)
        for values in terms.values():
            values *= D
        for j, (part, a) in enumerate(amplitude.items()):
            if part == "linear":
                by_part = a * (D @ self._linear[0] + on_diagonal @ self._linear[1])
            else:
                by_part = terms[part].sum() + a * on_diagonal.sum()
            gradient[1 + G + j] = by_part
        by_feature, gradient[-1] = self._by_width(
            D, terms, V, root, halves, city, ratio, amplitude, alike
        )
        gradient[0] = by_feature.sum()
        if not alike:
            gradient[1 : 1 + G] = by_feature
        return value, gradient

    def _distances(self, root: Real, V: Real, alike: bool) -> tuple[Real, Real]:
        """Return half the squared distances of all pairs, and their distances without squares.

        Of features that are ``alike``, those of one width, they are computed once.
        """
        squared, added = "rbf" in self.layout.parts, "laplacian" in self.layout.parts
        none = np.empty(0)
        if not alike:
            return _half_squares(V) if squared else none, self._added(root) if added else none
        if self._alike is None:
            flat = self.U * self._gap_factors
            self._alike = (
                _half_squares(self.U) if squared else none,
                np.asarray(pdist(flat, "cityblock")) if added else none,
            )
        return root[0] ** 2 * self._alike[0], root[0] * self._alike[1]

    def _by_width(
        self,
        D: Real,
        slopes: dict[str, Real],
        V: Real,
        root: Real,
        halves: Real,
        city: Real,
        ratio: float,
        amplitude: dict[str, float],
        alike: bool,
    ) -> tuple[Real, float]:
        """Return the gradient by the log relevance of every feature (G,), and by log ratio.

        ``slopes`` are D times the values of every part. Of features that are ``alike`` the sum is
        enough, and stands first.
        """
        G = self.layout.n_groups
        found, by_ratio = np.zeros(G), 0.0
        if "rbf" in slopes and alike:
            found[0] -= slopes["rbf"] @ halves
        elif "rbf" in slopes:
            P = squareform(slopes["rbf"], checks=False)
            by_column = P.sum(axis=1) @ V**2 - np.sum(V * (P @ V), axis=0)
            found -= np.bincount(self.layout.groups, by_column, minlength=G) / 2
        if "laplacian" in slopes:
            by_ratio -= ratio * float(slopes["laplacian"] @ city)
            if alike:
                found[0] += by_ratio / 2
            else:
                found -= ratio / 2 * root * self._weighed(slopes["laplacian"])
        if "main_effects" in slopes:
            for g, gaps in enumerate(self._gaps()):
                gap = ratio * root[g] * gaps
                slope = -amplitude["main_effects"] / G * float(D @ (gap * np.exp(-gap)))
                found[g] += slope / 2
                by_ratio += slope
        return found, by_ratio

    def _gaps(self) -> Iterator[Real]:
        """Yield the differences of all pairs in one feature after another, of relevance one."""
        kept = self._kept_gaps()
        if kept is not None:
            yield from kept
            return
        yield from self._each_gap()

    def _each_gap(self) -> Iterator[Real]:
        for columns in self._features:
            yield pdist(self.U[:, columns] * self._gap_factors[columns], "cityblock")

    def _kept_gaps(self) -> Real | None:
        """Return the differences (G, pairs), or None where these are too many to keep."""
        count = self.layout.n_groups * len(self._linear[0])
        if self._kept is None and self._by_gaps and count <= _KEPT:
            self._kept = np.stack(list(self._each_gap()))
        return self._kept

    def _added(self, root: Real) -> Real:
        """Add up the differences of all features, each times its root (G,)."""
        kept = self._kept_gaps()
        if kept is not None:
            return np.asarray(root @ kept)
        scaled = self.U * (root[self.layout.groups] * self._gap_factors)
        return np.asarray(pdist(scaled, "cityblock"))

    def _weighed(self, pairs: Real) -> Real:
        """Sum the differences of each feature, weighed by what belongs to the pairs: (G,)."""
        kept = self._kept_gaps()
        if kept is not None:
            return np.asarray(kept @ pairs)
        return np.array([gaps @ pairs for gaps in self._gaps()])


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


def inverse_of_triangle(L: Real) -> Real:
    """Return L^-1 of a lower triangle (N, N), in LAPACK's order.

    By halves, whose products take the processor's full speed: LAPACK's dtrtri takes three times as
    long for some hundred rows.
    """
    N = len(L)
    if N <= _SMALL:
        return np.asarray(lapack.dtrtri(L, lower=1)[0])
    half = N // 2
    inverse = np.zeros((N, N), order="F")
    first = inverse[:half, :half] = inverse_of_triangle(L[:half, :half])
    last = inverse[half:, half:] = inverse_of_triangle(L[half:, half:])
    inverse[half:, :half] = -(last @ L[half:, :half]) @ first
    return inverse


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
