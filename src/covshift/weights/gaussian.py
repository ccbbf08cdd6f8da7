"""The ratio of two fitted normal densities, in closed form."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..data.parameters import Rules, number
from ..numerics.array import Flags, Real
from .base import LogRatioWeighter
from .problem import Problem

_NO_SPREAD = 1e-12  # relative variance below which a direction counts as constant


class GaussianRatio(LogRatioWeighter):
    """Ratio of two normal densities with full covariances.

        w(x) = N(x; m_T, S_T) / N(x; m_X, S_X) ,

    with the means and covariances of the (weighted) training sample and of the (weighted) target.

    A covariance may be singular: both are drawn towards their mean S = (S_X + S_T) / 2,
    S_T <- (1 - shrinkage) S_T + shrinkage S, and directions in which neither sample varies are
    left out. The result does not change when both samples go through the same invertible affine
    map.

    Columns of zeros and ones, which categories and gaps of a data frame become, are far from
    normal: a level that has become frequent would make all others unlikely. In data frames that are
    not numbers they have the covariance S in both samples, and the other columns are normal given
    them, with one regression for both: in the levels the log ratio is linear, about (q - p) /
    ((q + p) / 2), which is close to log(q / p).

    Parameters
    ----------
    shrinkage : float between 0 and 1
        Strength of the pull. 1 makes the covariances equal, and the log ratio linear (linear
        discriminant analysis).

    Attributes
    ----------
    weights_, effective_sample_size_
        See `Weighter`.

    Notes
    -----
    Source: Shimodaira (2000), *Improving predictive inference under covariate shift by weighting
    the log-likelihood function*, with normal densities; the shrinkage is ours. Cost:
    O((N + M) n^2 + n^3).

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import GaussianRatio
    >>> X, T = np.array([[-1.0], [0.0], [1.0]]), np.array([[0.0], [1.0], [2.0]])
    >>> GaussianRatio().fit(X, X_target=T).weights_.round(2)
    array([0.12, 0.53, 2.36])
    """

    _takes_sample_weight = True

    _rules: ClassVar[Rules] = {"shrinkage": number(least=0, most=1)}

    def __init__(self, shrinkage: float = 1e-3) -> None:
        self.shrinkage = shrinkage

    def _solve_log(self, problem: Problem) -> Real:
        X, T = problem.X, problem.T
        self._units = problem.units(by_feature=False)
        mean_X, S_X = _mean_and_covariance(self._units(X), problem.own)
        mean_T, S_T = _mean_and_covariance(self._units(T), problem.share)
        turn = np.eye(X.shape[1])
        if problem.groups is not None or problem.framed:
            both = np.concatenate([X, T])
            levels = np.asarray(np.isin(both, (0, 1)).all(axis=0))
            turn, S_X, S_T = _alike_in(levels, S_X, S_T)
            mean_X, mean_T = mean_X @ turn, mean_T @ turn
        # Where (S_X + S_T) / 2 is the identity, the two are diagonal together: u and 2 - u.
        white = _whitening((S_X + S_T) / 2)  # (n, r)
        u, rotation = np.linalg.eigh(white.T @ S_X @ white)
        u = np.clip(u, 0.0, 2.0)
        axes = white @ rotation
        pull = self.shrinkage
        self._axes = turn @ axes
        self._variances = tuple(
            np.maximum((1 - pull) * v + pull, np.finfo(float).tiny) for v in (u, 2 - u)
        )
        self._means = mean_X @ axes, mean_T @ axes
        return self._log_ratio(X)

    def _log_ratio(self, X: Real) -> Real:
        Z = self._units(X) @ self._axes  # (rows, r)
        with np.errstate(over="ignore"):
            train, target = (
                ((Z - mean) ** 2 / variance + np.log(variance)).sum(axis=1) / 2
                for mean, variance in zip(self._means, self._variances, strict=True)
            )
        finite = (np.minimum(energy, 1e300) for energy in (train, target))
        return np.asarray(np.subtract(*finite))


def _mean_and_covariance(X: Real, share: Real) -> tuple[Real, Real]:
    mean = share @ X
    centered = X - mean
    return mean, (centered * share[:, None]).T @ centered


def _alike_in(levels: Flags, S_X: Real, S_T: Real) -> tuple[Real, Real, Real]:
    """Make two covariances equal in some columns, and these independent of what is left of others.

    Returns the map Z -> Z A (n, n) that takes from the other columns what the levels tell of them,
    and both covariances there.
    """
    S = (S_X + S_T) / 2
    inside, across = np.ix_(levels, levels), np.ix_(levels, ~levels)
    turn = np.eye(len(S))
    turn[across] = -np.linalg.pinv(S[inside], rcond=_NO_SPREAD, hermitian=True) @ S[across]
    found = []
    for own in (S_X, S_T):
        turned = turn.T @ own @ turn
        turned[across] = turned[np.ix_(~levels, levels)] = 0.0
        turned[inside] = S[inside]
        found.append(turned)
    return turn, found[0], found[1]


def _whitening(S: Real) -> Real:
    """Return W (n, r) with W'SW = I, without the directions of no variance."""
    values, vectors = np.linalg.eigh(S)
    kept = values > _NO_SPREAD * max(float(values[-1]), np.finfo(float).tiny)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
