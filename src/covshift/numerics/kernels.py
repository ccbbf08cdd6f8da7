"""Kernels by name, their widths, and Nyström landmarks.

A kernel's width, or bandwidth, is called ``width`` everywhere, in machines and in weighters. It is
a length in the units of the features, larger for smoother functions:

    "rbf", Gaussian         exp(-|x - z|^2 / (2 width^2)): a standard deviation
    "laplacian"             exp(-|x - z|_1 / width)
    "poly", "polynomial"    (x'z / width^2 + coef0)^degree
    "sigmoid"               tanh(x'z / width^2 + coef0)
    "chi2"                  exp(-sum_k (x_k - z_k)^2 / (x_k + z_k) / width)

Besides a positive number it may be "scale", "median" (`find_width`) or "cv", the best of several
by cross-validation. scikit-learn's gamma is one over 2 width^2, width, width^2, width^2 and width;
`NamedKernel` alone knows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from ..data.features import gap_factors, members
from ..data.parameters import Rule, Rules, check_parameters, flag, function, number, one_of
from ..exceptions import InputError
from .array import Array, Real, Rows, namespace
from .hashing import HashedSample, RowUnits, draw_seed
from .parallel import over_rows

_ROWS = 1 << 20  # raised to double precision at a time
MEDIAN_ROWS = 1000  # distinct rows whose distances give the median width
_MULTIPLES = (4.0, 2.0, 1.0, 1 / 2, 1 / 4)  # of the scale width, which "cv" compares
_NARROWEST = 1e-154  # one over its square is finite
_GAMMA = {  # kernel: a and p of gamma = 1 / (a width^p)
    "rbf": (2.0, 2),
    "laplacian": (1.0, 1),
    "poly": (1.0, 2),
    "polynomial": (1.0, 2),
    "sigmoid": (1.0, 2),
    "chi2": (1.0, 1),
}

KERNEL = one_of(*sorted(PAIRWISE_KERNEL_FUNCTIONS), "precomputed") | function()
WIDTH = number(above=0) | one_of("scale", "median")
"""What the parameters of a kernel may be: K(x, z) itself, and its width."""


Fill = Callable[[Real, Real], None]


def values_at(kernel: Any, Z: Real) -> Fill:
    """Return what writes K(x, Z) for rows X (a, n) to an array (a, b), for any kernel."""
    if hasattr(kernel, "values_at"):
        found: Fill = kernel.values_at(Z)
        return found

    def fill(X: Real, out: Real) -> None:
        out[:] = kernel(X, Z)

    return fill


@dataclass(frozen=True)
class NamedKernel:
    """K(x, z), by name or as a callable; ``width`` is None for a kernel that has none."""

    name: str | Callable[..., Any]
    width: float | None = None
    degree: float = 3
    coef0: float = 1
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fits = self.width is not None and self.width > 0
        if not (fits if has_width(self.name) else self.width is None):
            raise ValueError(f"width={self.width!r} does not fit kernel={self.name!r}")

    @property
    def gamma(self) -> float | None:
        """What scikit-learn calls gamma."""
        if self.width is None:
            return None
        a, p = _GAMMA[str(self.name)]
        return float((1 / max(self.width, _NARROWEST)) ** p / a)

    def __call__(self, X: Real, Z: Real) -> Real:
        """Kernel values of the rows of ``X`` (a, n) with those of ``Z`` (b, n): (a, b)."""
        if callable(self.name):
            return np.asarray(pairwise_kernels(X, Z, metric=self.name, **self.params))
        K, fill = np.empty((len(X), len(Z))), self.values_at(Z)
        # Below this many entries a thread costs more than it saves.
        size = max(1, (1 << 18) // len(Z))
        over_rows(lambda rows: fill(X[rows], K[rows]), len(X), at_least=size)
        return K

    def values_at(self, Z: Real) -> Fill:
        """Return what writes the values of rows X (a, n) with Z (b, n) to an array (a, b)."""
        if self.name == "rbf" and self.width is not None:
            return Gaussian(self.width, Z).fill
        unit, gamma = 1.0, None
        if self.width is not None:  # in the power of two next to it, so that squares are finite
            (a, p), unit = _GAMMA[str(self.name)], power_of_two(self.width)
            gamma = (unit / self.width) ** p / a
        Z_in_unit = Z / unit

        def fill(X: Real, out: Real) -> None:
            if callable(self.name):
                out[:] = self(X, Z)
                return
            out[:] = pairwise_kernels(
                X / unit,
                Z_in_unit,
                metric=self.name,
                filter_params=True,
                gamma=gamma,
                degree=self.degree,
                coef0=self.coef0,
            )

        return fill


def has_width(kernel: Any) -> bool:
    """Whether the kernel has a parameter ``width``."""
    return isinstance(kernel, str) and kernel in _GAMMA


def find_width(
    width: Any, kernel: Any, X: Real, w: Real, n_features: int | None = None
) -> float | None:
    """Turn the parameter ``width`` into a number, for training rows X (N, n) of weights w (N,).

    With v the variance over all numbers in X, "scale" is sqrt(n v / 2) for "rbf", as in
    `sklearn.svm.SVC`, n sqrt(v) for "laplacian", sqrt(n v) for "poly" and "sigmoid", n v for
    "chi2". With m the median squared distance of at most 1000 distinct rows, "median" is
    sqrt(m / 2) for "rbf", sqrt(m) for "poly" and "sigmoid", m for "laplacian" and "chi2". "cv"
    starts from "scale" (`widths_to_compare`). Where the columns belong to fewer ``n_features``,
    n sqrt(v) is sqrt(n_features n v): distances without squares add up over features.
    """
    if not has_width(kernel):
        return None
    if isinstance(width, str):
        if width == "median":
            return median_width(
                kernel, HashedSample.of(X, MEDIAN_ROWS, 0, RowUnits.of(X)).sorted_rows
            )
        return Spread.of(X, w).width(kernel, X.shape[1], n_features)
    return float(width)


def widths_to_compare(kernel: str, width: float) -> list[float]:
    """Return what "cv" compares around a width, widest first: factors of 1/16 to 16 in gamma."""
    _, p = _GAMMA[kernel]
    return [width * multiple ** (2 / p) for multiple in _MULTIPLES]


def _width_at(kernel: str, inverse: float) -> float:
    """Return the width whose gamma is one over ``inverse``."""
    a, p = _GAMMA[kernel]
    return float((inverse / a) ** (1 / p))


@dataclass(frozen=True)
class Spread:
    """Mean and variance over all numbers of some rows, as plain sums that combine.

    In units of the largest number, so that squares do not overflow.
    """

    unit: float
    weight: float
    mean: float  # of the numbers over unit
    square: float  # sum over rows of w times the mean squared distance from the mean

    @classmethod
    def of(cls, X: Real, w: Real) -> Spread:
        """Sum over the rows X (N, n) of weights w (N,), arrays of NumPy or tensors."""
        xp = namespace(X)
        unit = float(xp.max(xp.abs(X))) or 1.0
        parts = [slice(start, start + _ROWS) for start in range(0, X.shape[0], _ROWS)]

        def mean_of(function: Callable[[Array], Array]) -> float:
            rows = ((xp.astype(X[part], xp.float64) / unit, w[part]) for part in parts)
            means = ((xp.mean(function(x), axis=1), xp.astype(v, xp.float64)) for x, v in rows)
            return sum(float(v @ mean) for mean, v in means)

        weight = float(xp.sum(w, dtype=xp.float64))
        mean = mean_of(lambda x: x) / weight
        return cls(unit, weight, mean, mean_of(lambda x: (x - mean) ** 2))

    def combine(self, other: Spread) -> Spread:
        """Add the sums over other rows."""
        unit = max(self.unit, other.unit)
        a, b = self._in(unit), other._in(unit)
        weight = a.weight + b.weight
        apart = b.mean - a.mean
        return Spread(
            unit,
            weight,
            a.mean + apart * (b.weight / weight),
            a.square + b.square + apart**2 * (a.weight * b.weight / weight),
        )

    def width(self, kernel: str, n: int, n_features: int | None = None) -> float:
        """Return the width "scale" of n columns, to 12 digits: beyond, it is the order of the rows.

        They belong to ``n_features``; None: each is its own.
        """
        variance = self.square / self.weight
        if not variance > 0:
            return float(f"{_width_at(kernel, 1.0):.12g}")
        _, p = _GAMMA[kernel]
        if kernel == "laplacian":  # which measures distances and not their squares
            several = 1.0 if n_features is None else np.sqrt(n_features / n)
            in_unit = _width_at(kernel, n * np.sqrt(variance) * several)
        else:
            in_unit = _width_at(kernel, n * variance)
        unit = self.unit if p == 2 or kernel == "laplacian" else np.float64(self.unit) ** 2
        return float(f"{_positive(in_unit * unit):.12g}")

    def _in(self, unit: float) -> Spread:
        ratio = self.unit / unit
        return Spread(unit, self.weight, self.mean * ratio, self.square * ratio**2)


def median_width(kernel: str, X: Real) -> float:
    """Return the width "median", from the squared distances of the rows X (N, n); O(N^2 n)."""
    unit = power_of_two(float(np.ptp(X, axis=0).max()) or 1.0)  # squares must not overflow
    X = X / unit
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    median = float(np.median(squares[np.triu_indices(len(X), 1)])) if len(X) > 1 else 0.0
    if not median > 0:
        return _width_at(kernel, 1.0)
    _, p = _GAMMA[kernel]
    return _positive(_width_at(kernel, median) * (unit if p == 2 else np.float64(unit) ** 2))


def _positive(width: float) -> float:
    """Return a width that is a positive number, whatever it would have been."""
    return float(np.clip(width, np.finfo(np.float64).tiny, np.finfo(np.float64).max))


def landmarks(X: Real, count: int, random_state: np.random.RandomState, units: RowUnits) -> Real:
    """Choose ``count`` distinct training rows at random, or all of them where there are fewer.

    By a seeded hash of their content in ``units`` (`HashedSample`): neither the order of the rows
    nor repeating them nor another unit of measurement changes the choice.
    """
    return HashedSample.of(X, count, draw_seed(random_state), units).sorted_rows


# Values of the Gaussian kernel for many rows, in blocks that stay in the cache of a core.
#
#     K(x, z) = exp(-|x - z|^2 / (2 width^2)) ,   |x - z|^2 = |x|^2 - 2 x'z + |z|^2 ,
#
# the distances as one product of [x, |x|^2, 1] with a table of z. Both are measured from the mean
# of the z, in the power of two next to the width: far from zero the three terms would cancel,
# squares of large numbers overflow, and a unit or an origin must not matter.


_NARROWEST_GAUSSIAN = 2.0**-300  # width, of the size of the numbers
_STEEPEST = 2.0**300  # unit over width: its square is finite
_BYTES = 1 << 19  # of values that are made at a time


def power_of_two(size: float) -> float:
    """Power of two next to a positive size: dividing by it loses nothing.

    >>> power_of_two(5.0), power_of_two(0.3)
    (4.0, 0.25)
    """
    _, exponent = math.frexp(size)
    return math.ldexp(1.0, exponent - 1)


class Gaussian:
    """K(x, Z) for the rows Z (D, n); O(D (n + 1)) time for each row x."""

    def __init__(self, width: float, Z: Real) -> None:
        size = float(np.abs(Z).max(initial=0.0))  # a width far below it makes no larger squares
        self._unit = power_of_two(max(width, _NARROWEST_GAUSSIAN * size))
        self._gamma = min(self._unit / width, _STEEPEST) ** 2 / 2
        self._center = (Z / self._unit).mean(axis=0)
        z = Z / self._unit - self._center
        self._table = np.vstack([-2 * z.T, np.ones(len(z)), (z**2).sum(axis=1)])
        self._size = max(16, _BYTES // (8 * max(1, len(z))))

    def fill(self, X: Real, out: Real) -> None:
        """Write the values of the rows X (b, n) to ``out`` (b, D)."""
        n = X.shape[1]
        rows = np.empty((min(self._size, len(X)), n + 2))
        rows[:, n + 1] = 1.0
        for start in range(0, len(X), self._size):
            values = out[start : start + self._size]
            some = rows[: len(values)]
            np.divide(X[start : start + self._size], self._unit, out=some[:, :n])
            some[:, :n] -= self._center
            np.einsum("ij,ij->i", some[:, :n], some[:, :n], out=some[:, n])
            np.matmul(some, self._table, out=values)
            np.maximum(values, 0.0, out=values)  # rounding of a distance of zero
            with np.errstate(over="ignore", under="ignore"):  # beyond the largest number: K = 0
                values *= -self._gamma
                np.exp(values, out=values)


# A sum of kernels with one relevance per feature (theory, eq. 3.10).
#
#     K(u, v) = a_1 sum_k u_k v_k / n                          linear
#             + a_2 exp(-sum_k r_k (u_k - v_k)^2 / 2)          "rbf": smooth, all features together
#             + a_3 exp(-q sum_k sqrt(r_k) |u_k - v_k|)        "laplacian": rough, as trees are
#             + a_4 sum_k exp(-q sqrt(r_k) |u_k - v_k|) / n    "main_effects": one feature at a time
#
# The width of feature k is 1 / sqrt(r_k): a feature of relevance zero plays no part. The amplitudes
# a are in units of the noise, so that reg = 1 is the penalty of largest evidence
# (`covshift.machine.evidence` finds them).
#
# Columns of one feature, such as the levels of a category, count as one: n is the number of
# features, and |u - v| of a feature is the sum over its columns over sqrt 2
# (`covshift.data.features`), one for two rows of different levels.


PARTS = ("linear", "rbf", "laplacian", "main_effects")
_ENTRIES = 1 << 17  # kernel values that a thread works on at a time: they stay in its cache


@dataclass(frozen=True)
class KernelSum:
    """K(u, v) on coordinates; a part of amplitude zero is not computed."""

    relevance: Real  # (n,), the r_k
    linear: float = 0.0
    rbf: float = 0.0
    laplacian: float = 0.0
    main_effects: float = 0.0
    ratio: float = 1.0  # q
    groups: Rows | None = None  # (n,), of the columns, where some of them are one feature

    @property
    def name(self) -> str:
        """What it is called where a kernel's name is asked for."""
        return "sum"

    @property
    def width(self) -> Real:
        """Width of every feature in the Gaussian part: (n,)."""
        return np.asarray(1 / np.sqrt(self.relevance))

    @property
    def amplitudes(self) -> dict[str, float]:
        """Amplitude of each part that plays one."""
        return {part: getattr(self, part) for part in PARTS if getattr(self, part) > 0}

    @property
    def features(self) -> list[list[int]]:
        """Columns of every feature."""
        if self.groups is None:
            return [[k] for k in range(len(self.relevance))]
        return members(self.groups)

    @property
    def gap_roots(self) -> Real:
        """What every column is multiplied by where differences are added without squares: (n,)."""
        root = np.sqrt(self.relevance)
        return np.asarray(root if self.groups is None else root * gap_factors(self.groups))

    def __call__(self, U: Real, Z: Real) -> Real:
        """Kernel values of the rows of U (a, n) with those of Z (b, n): (a, b)."""
        K, fill = np.empty((len(U), len(Z))), self.values_at(Z)
        size = max(1, 2 * _ENTRIES // len(Z))
        over_rows(lambda rows: fill(U[rows], K[rows]), len(U), at_least=size)
        return K

    def values_at(self, Z: Real) -> Callable[[Real, Real], None]:
        """Return what writes the values of rows U (a, n) with Z (b, n) to an array (a, b)."""
        size, features = max(1, _ENTRIES // len(Z)), self.features
        n, root, gap_root = len(features), np.sqrt(self.relevance), self.gap_roots
        smooth, flat = Gaussian(1.0, Z * root), Z * gap_root

        def write(U: Real, K: Real) -> None:
            if self.rbf:
                smooth.fill(U * root, K)
                K *= self.rbf
            else:
                K[:] = 0.0
            if self.linear:
                K += self.linear / n * (U @ Z.T)
            u = U * gap_root
            if self.laplacian:
                K += self.laplacian * np.exp(-self.ratio * cdist(u, flat, "cityblock"))
            if self.main_effects:
                for k in features:
                    gap = cdist(u[:, k], flat[:, k], "cityblock")
                    K += self.main_effects / n * np.exp(-self.ratio * gap)

        def fill(U: Real, out: Real) -> None:
            for start in range(0, len(U), size):
                write(U[start : start + size], out[start : start + size])

        return fill


# What a machine is asked for: a kernel and its options.


SEARCHED = ("linear", "rbf", "laplacian")
"""What "cv" adds up."""


def _is_sum(name: Any) -> bool:
    """Whether ``name`` lists parts of a sum, each once."""
    if not isinstance(name, list | tuple) or not name:
        return False
    return all(name.count(part) == 1 and part in PARTS for part in name)


KERNEL_OR_SUM = (
    KERNEL
    | one_of("cv", "main_effects")
    | Rule((f"a list of some of {', '.join(map(repr, PARTS))}",), _is_sum)
)
"""What a machine takes for a kernel without options."""


class Kernel(BaseEstimator):  # type: ignore[misc]
    """The kernel of `VSVC` and `VSVR` with its options: ``kernel=Kernel("rbf", width=2.0)``.

    A name by itself, as in ``kernel="rbf"``, leaves all options at their defaults.

    Parameters
    ----------
    name : str, list of str or callable
        "cv": a sum of a linear, a Gaussian and a Laplacian kernel, whose amplitudes and widths have
        the largest evidence on a sample of the rows (theory, section 3.6). A list of "linear",
        "rbf", "laplacian" and "main_effects" (a sum over single features) does the same with these.
        By name: "rbf", "laplacian", "linear", "poly", "sigmoid", another kernel of scikit-learn; a
        callable; another machine's ``kernel_``; or "precomputed" (with a correction that needs no
        points, such as ``Precomputed(V)``).
    width : float, "scale", "median" or "cv"
        Width of a kernel by name, a length in coordinates: sigma in exp(-|x - z|^2 / (2 sigma^2))
        for "rbf", in exp(-|x - z|_1 / sigma) for "laplacian", and in x'z / sigma^2 for "poly" and
        "sigmoid". "scale" follows the spread of the training rows as in `sklearn.svm.SVC`, "median"
        their median distance; "cv" compares five widths, of which "scale" is the middle one. A sum
        of kernels finds its own.
    relevance : "cv", True or False
        Whether each feature, or category, has a width of its own in a sum of kernels: "cv" lets the
        error of held-out rows decide.
    coordinates : {"standard", "cdf", "cv", "none"}
        What the kernel sees of the columns: standardised with outliers bounded; their pooled
        distribution functions, which no monotone transformation changes; the better of both by the
        error of held-out rows; or the columns as they are. Columns of two values become 0 and 1;
        two levels of a category are as far apart as these.
    degree, coef0 : float
        Of the polynomial and sigmoid kernels.
    params : dict, optional
        Further arguments of a callable kernel.

    Examples
    --------
    >>> from covshift import VSVR, Kernel
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> machine = VSVR(kernel=Kernel("poly", width=1.0, degree=2, coordinates="none"), reg=1e-6)
    >>> machine.fit(X, [0.0, 1.0, 4.0, 9.0]).predict([[1.5], [4.0]]).round(2)
    array([ 2.25, 16.  ])
    >>> machine.set_params(kernel__degree=1).kernel
    Kernel(coordinates='none', degree=1, name='poly', width=1.0)
    """

    _rules: ClassVar[Rules] = {
        "name": KERNEL_OR_SUM,
        "width": WIDTH | one_of("cv"),
        "relevance": one_of("cv") | flag(),
        "coordinates": one_of("standard", "cdf", "cv", "none"),
        "degree": number(),
        "coef0": number(),
    }

    def __init__(
        self,
        name: Any = "cv",
        *,
        width: Any = "cv",
        relevance: Any = "cv",
        coordinates: str = "standard",
        degree: float = 3,
        coef0: float = 1,
        params: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.width = width
        self.relevance = relevance
        self.coordinates = coordinates
        self.degree = degree
        self.coef0 = coef0
        self.params = params

    @classmethod
    def of(cls, kernel: Any) -> Kernel:
        """Return the kernel itself, or a name with its default options."""
        return kernel if isinstance(kernel, Kernel) else cls(kernel)

    @property
    def searched(self) -> bool:
        """Whether it is a sum of kernels, found by evidence."""
        named = isinstance(self.name, str) and self.name in ("cv", "main_effects")
        return named or isinstance(self.name, list | tuple)

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts of the sum that a search adds up; without one, those of "cv"."""
        if not self.searched or self.name == "cv":
            return SEARCHED
        return (self.name,) if isinstance(self.name, str) else tuple(self.name)

    def check(self) -> None:
        """Refuse options that cannot be, and a width for a kernel that finds its own."""
        check_parameters(self)
        if self.searched and self.width != "cv":
            raise InputError(
                f"width={self.width!r} needs a kernel by name, such as 'rbf': kernel="
                f"{self.name!r} finds its own widths. Leave width at 'cv'."
            )

    def at_widths(self, U: Real, w: Real, groups: Rows | None) -> list[NamedKernel]:
        """Return the kernel by name for rows U (N, n), once per width that is to be compared."""
        n_features = None if groups is None else int(groups.max()) + 1
        width = find_width(self.width, self.name, U, w, n_features)
        widths: list[float | None] = [width]
        if self.width == "cv" and width is not None:
            widths = [*widths_to_compare(self.name, width)]
        params = dict(self.params or {})
        return [NamedKernel(self.name, each, self.degree, self.coef0, params) for each in widths]
