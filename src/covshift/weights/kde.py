"""The ratio of two kernel density estimates, as it is or flattened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.utils import Tags, check_consistent_length, check_random_state, column_or_1d

from ..data.parameters import Rules, number, one_of
from ..exceptions import InputError
from ..numerics.array import Real, Rows
from ..numerics.folds import fold_of
from ..numerics.parallel import over_rows
from ..numerics.statistics import moments
from .base import LogRatioWeighter
from .points import Distinct, blocks, distinct, squared_distances
from .problem import Problem

_FACTORS = np.geomspace(0.25, 4.0, 9)  # tried around Scott's width
_NARROWEST = 1e-30  # width, in units of the samples' spread: distances must not overflow
_TAUS = np.linspace(0.0, 1.0, 11)  # those that Sugiyama et al. compare
_RIDGE = 1e-3  # of the learner that chooses tau, for standardised features
_N_FOLDS = 5  # four fifths of the rows are about as many as all


@dataclass(frozen=True)
class _Density:
    """A weighted Gaussian kernel density, up to a factor that both samples share."""

    h: Real  # (n,)
    points: Real  # (m, n), in units of h
    log_share: Real  # (m,)
    alone: float  # log density at a row without neighbours

    @classmethod
    def of(cls, sample: Distinct, h: Real) -> _Density:
        """Put a kernel of width h on every value of the sample."""
        h = np.maximum(h, _NARROWEST)
        alone = float(np.log(sample.row.min()))
        return cls(h, sample.points / h, np.log(sample.share), alone)

    @classmethod
    def fit(cls, sample: Distinct, width: Any, scale: Real, groups: Rows | None) -> _Density:
        points, share = sample.points, sample.share
        if not isinstance(width, str):
            return cls.of(sample, float(width) / scale)
        m = 1 / float(share @ sample.row)  # Kish's number of rows
        _, std = moments(points, share)
        n = points.shape[1]
        rows = np.full(n, m)
        if groups is not None:  # a feature of several columns is one dimension, of their variance
            total, columns = np.bincount(groups, weights=std**2), np.bincount(groups)
            n, std = len(total), np.sqrt(total)[groups]
            # Numbers vary among rows of equal levels: two rows are such with chance 1 - 2 total.
            alike = max(1.0, m * float(np.prod(1 - 2 * total[columns > 1])))
            rows = np.where(columns[groups] > 1, m, alike)
        # The unit is the spread of both samples; it serves where this one does not vary.
        h = np.where(std > 0, np.maximum(std, 1e-6), 1.0) * rows ** (-1 / (n + 4))
        if width == "silverman":
            h = h * ((n + 2) / 4) ** (-1 / (n + 4))
        if width == "cv" and len(points) > 1:
            h = h * _most_likely_factor(sample._replace(points=points / h), n)
        return cls.of(sample, h)

    def log(self, X: Real, *, floor: bool = False) -> Real:
        """Log density at the rows of X, with ``floor`` at least that of a point alone: (rows,)."""
        values = np.empty(len(X))

        def fill(rows: slice) -> None:
            part, out = X[rows] / self.h, values[rows]
            for block in blocks(len(part), len(self.points)):
                exponent = squared_distances(part[block], self.points)
                exponent *= -0.5
                exponent += self.log_share
                out[block] = _log_sum_exp(exponent)

        over_rows(fill, len(X), at_least=64)
        if floor:
            values = np.maximum(values, self.alone)
        return np.asarray(values - np.log(self.h).sum())


class KDE(LogRatioWeighter):
    """Ratio of two Gaussian kernel density estimates, to the power tau.

        w(x) = [q(x) / p(x)]^tau ,   q(x) = sum_j s_j prod_k N(x^k; t_j^k, h_k^2) ,

    s_j the target's shares, and p the same for the training sample with its own.

    Parameters
    ----------
    width : "scott", "silverman", "cv" or float
        The kernels' standard deviation h, or bandwidth. "scott": h_k = std_k m^(-1 / (n + 4)),
        each sample with its own standard deviations and its own m, the effective number of its
        rows. "silverman": the same with m (n + 2) / 4. "cv": a multiple of Scott's from 1/4 to 4,
        the one of largest leave-one-out likelihood. A number: h for all features of both samples,
        in the units of the features.
    tau : float between 0 and 1, or "cv"
        1 is Shimodaira's weight, 0 no weight; between them the flattened weight of Sugiyama et
        al. is less variable and more biased. "cv" chooses among 0, 0.1, ..., 1 by
        importance-weighted cross-validation, which needs labels: ``fit(X, y, X_target=...)``.
    random_state : int, RandomState or None
        Seed of the folds of tau="cv".

    Attributes
    ----------
    width_ : (2, n) array
        Widths of the training and the target density, feature by feature; infinite for a
        feature that is constant in both samples.
    tau_ : float
        The power used.
    tau_scores_ : (11,) array
        With tau="cv", the estimated target risk at each candidate.
    weights_, effective_sample_size_
        See `Weighter`.

    Notes
    -----
    Sources: Shimodaira (2000), *Improving predictive inference under covariate shift by weighting
    the log-likelihood function*; Sugiyama, Krauledat and Müller (2007), *Covariate shift
    adaptation by importance weighted cross validation*. The learner whose risk chooses tau is
    ridge regression on the standardised features (one column for each class, when y is not
    numeric or has at most two values): trained with w^tau, judged on held-out rows with w.

    A training row counts in its own density. So that new rows in the gaps and far away do not get
    weights that no training row could have, p is nowhere taken smaller than at a training row
    without neighbours. Equal rows are observations of their own, of which "cv" leaves out one: drop
    duplicates that are none, or it takes the smallest width. A category of a data frame is one
    feature for Scott's rule, and m of its numbers the effective number of rows of equal levels.
    Time O(N (N + M) n), for "cv" nine times the exponentials; in blocks, no N x M array is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import KDE
    >>> X, T = np.array([[-1.0], [0.0], [1.0]]), np.array([[0.0], [1.0], [2.0]])
    >>> KDE().fit(X, X_target=T).weights_.round(2)
    array([0.32, 1.07, 1.61])
    >>> KDE(tau=0.5).fit(X, X_target=T).weights_.round(2)
    array([0.59, 1.08, 1.33])
    """

    _takes_sample_weight = True

    _rules: ClassVar[Rules] = {
        "width": number(above=0) | one_of("scott", "silverman", "cv"),
        "tau": number(least=0, most=1) | one_of("cv"),
    }

    def __init__(self, width: Any = "scott", *, tau: Any = 1.0, random_state: Any = None) -> None:
        self.width = width
        self.tau = tau
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.target_tags.required = isinstance(self.tau, str)
        return tags

    def _solve_log(self, problem: Problem) -> Real:
        X, y = problem.X, problem.y
        by_labels = isinstance(self.tau, str)
        if by_labels and y is None:
            raise InputError(
                'KDE(tau="cv") requires y to be passed, but the target y is None: tau is chosen by '
                "the error of predicting y. Call fit(X, y, X_target=...), or give tau a number."
            )
        self._set_densities(problem)
        self.tau_ = 1.0
        log_ratio = self._log_ratio(X)
        if by_labels:
            check_consistent_length(X, y)
            rng = check_random_state(self.random_state)
            self.tau_, self.tau_scores_ = _choose_tau(
                self._units(X), _columns(y), problem.own, log_ratio, rng
            )
        else:
            self.tau_ = float(self.tau)
        return self.tau_ * log_ratio

    def _set_densities(self, problem: Problem) -> None:
        X, T, groups = problem.X, problem.T, problem.groups
        self._units = problem.units()
        scale = self._units.scale  # of a width in the units of the features
        if groups is not None:  # where two levels of a category are at distance one
            scale = np.where(np.bincount(groups)[groups] > 1, 1.0, scale)
        varies = (T.min(axis=0) != T.max(axis=0)) | (X.min(axis=0) != X.max(axis=0))
        samples = ((X, problem.own), (T, problem.share))
        self._densities = tuple(
            _Density.fit(distinct(self._units(points), shares), self.width, scale, groups)
            for points, shares in samples
        )
        in_units = np.stack([density.h for density in self._densities])
        self.width_ = np.where(varies, in_units * scale, np.inf)

    def _flat_on_purpose(self) -> bool:
        return bool(self.tau != 1)

    def _log_ratio(self, X: Real) -> Real:
        points = self._units(X)
        train, target = self._densities
        return np.asarray(self.tau_ * (target.log(points) - train.log(points, floor=True)))


def _log_sum_exp(exponent: Real) -> Real:
    """Log of the row sums of exp(exponent), which is overwritten: a third of SciPy's time."""
    largest = exponent.max(axis=1)
    exponent -= largest[:, None]
    np.exp(exponent, out=exponent)
    return np.asarray(np.log(exponent.sum(axis=1)) + largest)


def _most_likely_factor(sample: Distinct, n: int) -> float:
    """Factor on the width with the largest likelihood of single rows, each left out.

    The points have n features.
    """
    Z, share, row = sample.points, sample.share, sample.row
    likelihood = np.zeros(len(_FACTORS))
    log_share = np.log(share)
    with np.errstate(divide="ignore"):
        log_others = np.log1p(-1 / sample.repeats)  # what stays of a value without one of its rows
    for block in blocks(len(Z), len(Z)):
        squares = squared_distances(Z[block], Z)
        own = np.arange(len(squares)), np.arange(len(Z))[block]
        for k, factor in enumerate(_FACTORS):
            exponent = log_share - squares / (2 * factor**2)
            exponent[own] += log_others[block]
            log_p = _log_sum_exp(exponent)
            log_p -= np.log1p(-row[block]) + n * np.log(factor)
            likelihood[k] += share[block] @ log_p
    return float(_FACTORS[np.argmax(likelihood)])


def _columns(y: Any) -> Real:
    """Labels as columns to regress on: the number itself, or one indicator for each class."""
    labels = column_or_1d(y)
    classes, codes = np.unique(labels, return_inverse=True)
    if labels.dtype.kind in "fiu" and len(classes) > 2:
        values = labels.astype(np.float64)
        if not np.isfinite(values).all():
            raise InputError("y contains NaN or inf.")
        return np.asarray(values[:, None])
    return np.asarray(np.eye(len(classes))[codes])


def _choose_tau(
    Z: Real, Y: Real, own: Real, log_ratio: Real, rng: np.random.RandomState
) -> tuple[float, Real]:
    """Importance-weighted cross-validation of ridge regression trained with w^tau.

    ``own`` are the shares of the rows, by which both are multiplied.
    """
    folds = fold_of(np.column_stack([Z, Y]), _N_FOLDS, rng)
    if folds.max() == 0:
        return 1.0, np.zeros(len(_TAUS))
    own = own / own.max()
    w = own * np.exp(log_ratio - log_ratio.max())
    risks = np.zeros(len(_TAUS))
    for k, tau in enumerate(_TAUS):
        flat = own * np.exp(tau * (log_ratio - log_ratio.max()))
        for fold in range(folds.max() + 1):
            held = folds == fold
            kept = flat[~held] / max(float(flat[~held].sum()), np.finfo(float).tiny)
            ridge = Ridge(_RIDGE).fit(Z[~held], Y[~held], sample_weight=kept)
            errors = ((Y[held] - ridge.predict(Z[held]).reshape(-1, Y.shape[1])) ** 2).sum(axis=1)
            risks[k] += w[held] @ errors
    return float(_TAUS[np.argmin(risks)]), risks / w.sum()
