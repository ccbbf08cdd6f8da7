"""Two tests of one feature together: distribution functions, and location.

The Kolmogorov-Smirnov test sees every change of a distribution, and a change of its place less
often than a test of means does: 0.25 standard deviations in one of six features, with 300 rows in
each sample, a third less often. So a test of location stands beside it, van der Waerden's: rows
of both samples get normal scores by their ranks, equal values their mean score,

a_l = n / c_l (phi(z_{l-1}) - phi(z_l)) ,   Phi(z_l) = C_l / n ,

with c_l rows at the l-th value, C_l up to it, n of both samples together; and S = sum of the
scores of the target rows. Without a shift these are a random choice of M of the n rows, so that
mean, variance and third moment of S are known exactly,

0 ,   N M / (n (n - 1)) sum_l c_l a_l^2 ,
N M (N - M) / (n (n - 1) (n - 2)) sum_l c_l a_l^3 ,

and choose the scaled gamma distribution that the p-value is read from: the normal one has ten
times too many small p-values where rare values meet few target rows. Of normal features the test
is as powerful as the t-test in large samples, of others more so (Chernoff and Savage 1958). Of
two values the first test is an exact one of shares already, and stays alone.

The p-value is the smaller of p / (1/3) by distribution functions and p / 0.8 by location. Shares
of one in total would be Bonferroni's. The two tests mostly alarm together, so that these have the
level of one: `benchmarks/diagnose.py` has the simulation.

Sources: van der Waerden (1952), *Order tests for the two-sample problem and their power*; Hájek,
Šidák and Sen (1999), *Theory of rank tests*, for ties.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc, gammaincc, ndtr, ndtri

from ..numerics.array import Real, Rows
from .kolmogorov import SURELY, SYMMETRIC, _groups, _ks_p_value

_OF_DISTANCE, _OF_LOCATION = 1 / 3, 0.8


def number_p_value(
    x: Real,
    t: Real,
    share: Real,
    size: float,
    own: Real | None = None,
    order: Rows | None = None,
) -> float:
    """Chance, without a shift, of what the tests of distance and of location find, together.

    Arguments as of `ks_p_value`; ``order`` (N + M,) sorts the values of both.

    >>> from covshift.diagnostics.kolmogorov import ks_p_value
    >>> rng = np.random.default_rng(2)
    >>> x, t = rng.normal(size=300), rng.normal(0.25, 1, size=300)
    >>> share = np.full(300, 1 / 300)
    >>> ks_p_value(x, t, share, 300.0) > 0.01 > number_p_value(x, t, share, 300.0)
    True
    """
    groups = _groups(x, t, share, size, own, order)
    distance = _ks_p_value(groups)
    if len(groups.counts) <= 2:
        return distance
    if distance < SURELY:
        return distance / _OF_DISTANCE
    return min(1.0, distance / _OF_DISTANCE, location_p_value(*groups) / _OF_LOCATION)


def location_p_value(counts: Real, gap: Real, N: float, M: float) -> float:
    """Chance of at least this sum of normal scores, both sides.

    ``counts`` (groups,) are the rows of both samples at each value and ``gap`` is F - G up to it.
    Cost O(groups).
    """
    counts, gap = counts[counts > 0], gap[counts > 0]
    upto = np.cumsum(counts)
    n = float(upto[-1])  # N + M, but for the rounding of Kish's numbers
    of_target = np.diff((upto / N - gap) / (1 / N + 1 / M), prepend=0.0)
    density = np.append(np.exp(-(ndtri(upto[:-1] / n) ** 2) / 2) / np.sqrt(2 * np.pi), 0.0)
    scores = -np.diff(density, prepend=0.0) * n / counts
    second, third = float(counts @ scores**2), float(counts @ scores**3)
    variance = N * M / (n * (n - 1)) * second
    if n <= 2 or not variance > 0:
        return 1.0
    z = float(of_target @ scores) / np.sqrt(variance)
    skew = N * M * (N - M) / (n * (n - 1) * (n - 2)) * third / variance**1.5
    if abs(skew) < SYMMETRIC:
        tail = float(ndtr(-abs(z)))
    else:
        shape = 4 / skew**2
        at = max(0.0, shape + z * np.sign(skew) * np.sqrt(shape))
        tail = float(min(gammainc(shape, at), gammaincc(shape, at)))
    return min(1.0, max(2 * tail, float(np.finfo(np.float64).eps)))
