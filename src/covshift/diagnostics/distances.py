"""How far apart the two samples are in one feature at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data import Samples
from ..data.features import FeatureColumns
from ..numerics.array import Flags, Real, Rows
from ..numerics.parallel import one_blas_thread


class Distances(NamedTuple):
    """Distances of two weighted samples of one feature."""

    ks: float
    energy: float


@one_blas_thread(0)
def standardized_mean_differences(
    X: Real, T: Real, share: Real, weights: Real | None = None, own: Real | None = None
) -> Real:
    """Return the standardised mean difference of each feature, target minus training, (n,).

    (mean of T - mean of X) / sqrt((var X + var T) / 2). ``own`` (N,) are the shares that the rows
    of X have by the design of the sample, equal without them. ``weights`` (N,) weigh the rows in
    place of them in the mean only: the unit stays that of the samples as they came, so that the
    numbers before and after a correction can be compared. A feature that is constant in both
    samples gives 0 where the two values agree, and an infinite difference otherwise.
    Cost O((N + M) n).
    """
    own = np.full(len(X), 1 / len(X)) if own is None else own
    w = own if weights is None else weights / weights.max() / (weights / weights.max()).sum()
    found = np.empty(X.shape[1])
    for k in range(X.shape[1]):
        x, t = _in_own_unit(X[:, k], T[:, k])
        gap, spread = _mean(t, share) - _mean(x, w), pooled_spread(x, t, share, own)
        with np.errstate(divide="ignore", over="ignore"):
            found[k] = 0.0 if gap == 0 else np.divide(gap, spread)
    return found


class Known(NamedTuple):
    """The rows in which a feature is known, in its columns."""

    X: Real
    T: Real
    own: Real  # shares of the training rows
    share: Real
    rows: Flags | slice  # which of the training rows these are


def known_rows(feature: FeatureColumns, samples: Samples) -> Known | None:
    """Leave out rows in which a feature was filled; None where a sample has no other."""
    columns = list(feature.columns)
    if feature.gaps is None:
        X, T = samples.X[:, columns], samples.T[:, columns]
        return Known(X, T, samples.own, samples.share, slice(None))
    x, t = samples.X[:, feature.gaps] == 0, samples.T[:, feature.gaps] == 0
    if not (x.any() and t.any()):
        return None
    own, share = samples.own[x], samples.share[t]
    X, T = samples.X[np.ix_(x, columns)], samples.T[np.ix_(t, columns)]
    return Known(X, T, own / own.sum(), share / share.sum(), x)


def feature_differences(samples: Samples, weights: Real | None = None) -> Real:
    """Standardised mean difference of each feature, (features,): the largest of its columns.

    A number is compared where it is known. ``weights`` (N,) as in `standardized_mean_differences`.
    """
    if samples.one_feature is None:
        return standardized_mean_differences(
            samples.X, samples.T, samples.share, weights, samples.own
        )
    found = np.zeros(len(samples.features))
    for k, feature in enumerate(samples.features):
        part = known_rows(feature, samples)
        w = None if part is None or weights is None else weights[part.rows]
        if part is None or (w is not None and not w.any()):
            continue
        every = standardized_mean_differences(part.X, part.T, part.share, w, part.own)
        found[k] = every[np.argmax(np.abs(every))]
    return found


@one_blas_thread(0)
def distances(
    x: Real,
    t: Real,
    share: Real,
    weights: Real | None = None,
    own: Real | None = None,
    order: Rows | None = None,
) -> Distances:
    """Return the Kolmogorov-Smirnov and the energy distance of one feature.

    With F and G the (weighted) distribution functions of ``x`` and ``t``, and u the feature in
    units of the pooled standard deviation, in which ``x`` has the shares ``own``,

        ks = max |F - G| ,     energy = sqrt(2 int (F - G)^2 du) .

    The square of the energy distance is twice Cramér's distance. ``order`` (N + M,) sorts the
    values of both, where it is known. Cost O((N + M) log(N + M)).
    """
    x, t = _in_own_unit(x, t)
    points = np.concatenate([x, t])
    own = np.full(len(x), 1 / len(x)) if own is None else own
    mass = np.concatenate([own if weights is None else weights / weights.sum(), -share])
    order = np.argsort(points, kind="stable") if order is None else order
    points, mass = points[order], mass[order]
    step = np.diff(points)
    # Ties: the distribution functions are compared after the last of equal values.
    gap = np.where(step > 0, np.cumsum(mass)[:-1], 0.0)
    spread = pooled_spread(x, t, share, own)
    ks = float(np.abs(gap).max(initial=0.0))
    with np.errstate(divide="ignore", over="ignore"):
        area = float(gap**2 @ step)
        energy = 0.0 if area == 0 else float(np.sqrt(2 * np.divide(area, spread)))
    return Distances(min(ks, 1.0), energy)


def pooled_spread(x: Real, t: Real, share: Real, own: Real) -> float:
    """Square root of the mean variance of the two samples; exactly zero where both are constant."""
    parts = [_variance(x, own), _variance(t, share)]
    return float(np.sqrt(sum(parts) / 2))


def _in_own_unit(x: Real, t: Real) -> tuple[Real, Real]:
    """Divide by the largest size, so that sums and squares do not overflow."""
    unit = max(float(np.abs(x).max()), float(np.abs(t).max())) or 1.0
    return x / unit, t / unit


def _mean(values: Real, share: Real) -> float:
    # Exact for a constant, which must not differ from itself by rounding.
    return float(values[0]) if values.min() == values.max() else float(share @ values)


def _variance(values: Real, share: Real) -> float:
    if values.min() == values.max():
        return 0.0
    return float(share @ (values - share @ values) ** 2)
