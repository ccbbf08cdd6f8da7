"""The minimax classifier: certain only where the training sample is."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from .corrections.base import of_features
from .data import validation
from .data.labels import at_least_two, check_labels
from .data.parameters import Rules, check_parameters, number
from .data.row_weights import row_weights, target_weights
from .encoding import TableEncoder, groups_of
from .encoding.samples import encode_samples
from .exceptions import FewRowsWarning, OverlapWarning
from .machine.fit import TARGET_REQUEST
from .numerics.array import Real
from .numerics.quiet import quiet
from .numerics.statistics import moments
from .weights import Discriminative, as_weighter

_GRADIENT = 1e-9  # the largest that counts as zero


class RobustBiasAware(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Robust bias-aware classifier: minimax log loss on the target.

    Among all conditional distributions with the training sample's mean features, the worst for the
    target is the one of largest target entropy. The best answer to it is

        P(y | x) proportional to exp( r(x) theta_y'f(x) ),    r(x) = p(x) / q(x) ,

    p the training density, q the target's, f(x) = (1, x). Where the target is and the training
    sample is not, r is near zero and all classes are equally likely; where the training sample is
    dense, the classifier is sure. theta minimises the convex

        mean_i [ log(sum_y exp(r_i theta_y'f_i)) / r_i - theta_{y_i}'f_i ] + reg |theta|^2 / 2 .

    Parameters
    ----------
    weighter : weighter or name, optional
        Estimates q / p; cloned. Default: logistic regression, ``Discriminative(cv=None)``.
    reg : float
        Penalty on theta, without the intercepts, for features of unit variance.
    clip : float
        r is kept between 1 / clip and clip.

    Attributes
    ----------
    classes_ : (K,) array
    coef_, intercept_ : (K, n) and (K,) arrays
        theta, for the features as they are given; of a table with text, dates or gaps, for the
        columns that `covshift.TableEncoder` makes of it.
    weighter_ : weighter or None
        Fitted; None without a target.
    n_iter_ : int

    Notes
    -----
    Source: Liu and Ziebart (2014), *Robust classification under sample selection bias*. Without a
    target r = 1, and this is logistic regression. For features of higher order, expand them
    first (`sklearn.preprocessing.PolynomialFeatures`); r is then estimated from the expanded
    features too. Cost: O(N n K) for each product with the Hessian, in a trust-region Newton method.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.robust import RobustBiasAware
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(-1.0, 1.0, size=(300, 1))
    >>> y = (X[:, 0] + rng.normal(size=300) > -1).astype(int)
    >>> T = rng.normal(2.0, 1.0, size=(300, 1))
    >>> model = RobustBiasAware().fit(X, y, X_target=T)
    >>> model.predict_proba([[-2.0], [0.0], [4.0]])[:, 1].round(2)  # seen, less often, never
    array([0.02, 0.86, 0.56])
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = TARGET_REQUEST
    _rules: ClassVar[Rules] = {"reg": number(least=0), "clip": number(least=1)}

    _frame: TableEncoder | None = None  # what made numbers of a table

    def __init__(self, weighter: Any = None, *, reg: float = 0.01, clip: float = 10.0) -> None:
        self.weighter = weighter
        self.reg = reg
        self.clip = clip

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_target: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : (N, n) array or data frame
            Training rows. A frame may hold text, dates and gaps.
        y : (N,) array
            Classes.
        X_target : (M, n) array or data frame, or a one-tuple of it, optional
            Target rows. None: the target is the training sample, r = 1.
        sample_weight, target_weight : (N,) and (M,) arrays, optional
            Probability weights of the rows, on any scale. The training sample is the weighted one,
            in the loss and in r.
        """
        check_parameters(self)
        validation.check_columns(self, X, reset=True)
        validation.refuse_margins(validation.unwrap_target(X_target), "X_target")
        X, X_target, self._frame = encode_samples(
            X,
            X_target,
            sample_weight=sample_weight,
            target_weight=target_weight,
        )
        groups = groups_of(X) if self._frame is None else self._frame.groups
        labels = check_labels(self, X, y)
        X, T = validation.check_host_samples(X, X_target)
        rows = row_weights(len(X), sample_weight)
        target = target_weights(len(T), validation.unwrap_target(target_weight))
        kept = np.flatnonzero(rows.kept)
        X, labels, rows = X[kept], labels[kept], rows.take(kept)
        classes, codes = np.unique(labels, return_inverse=True)
        self.classes_ = at_least_two(self, classes)
        self.weighter_ = None
        if validation.unwrap_target(X_target) is not None:
            weighter = Discriminative(cv=None) if self.weighter is None else self.weighter
            self.weighter_ = clone(as_weighter(weighter))
            # Little overlap is what this classifier is for, and it divides by the weights.
            with quiet(FewRowsWarning, OverlapWarning):
                self.weighter_ = of_features(self.weighter_, groups)
                self.weighter_.fit(
                    X,
                    X_target=(T,),
                    **rows.options("sample_weight"),
                    **target.options("target_weight"),
                )
        share = rows.share
        mean, std = moments(X, share)
        std = np.where(std > 0, std, 1.0)
        F = np.column_stack([np.ones(len(X)), (X - mean) / std])  # (N, 1 + n)
        theta, self.n_iter_ = _minimise(F, codes, share, self._train_over_target(X), self.reg)
        self.coef_ = (theta[1:] / std[:, None]).T
        self.intercept_ = theta[0] - self.coef_ @ mean
        return self

    def predict_proba(self, X: Any) -> Real:
        """Return P(y | x) for each row and class: (rows, K)."""
        check_is_fitted(self, "coef_")
        points = self._points(X)
        r = self._train_over_target(points)
        with np.errstate(over="ignore"):
            logits = points @ self.coef_.T + self.intercept_
        logits = np.clip(logits, -1e300, 1e300) / self.clip
        return np.asarray(softmax(logits * (r * self.clip)[:, None], axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each row."""
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[probability.argmax(axis=1)])

    def _points(self, X: Any) -> Real:
        """Check new rows, and make numbers of a table."""
        if self._frame is None:
            return validation.check_host_rows(self, X, reset=False)
        validation.check_columns(self, X, reset=False)
        return self._frame.encode(X, "X")

    def _train_over_target(self, X: Real) -> Real:
        """Return r = p / q, clipped: (rows,)."""
        if self.weighter_ is None:
            return np.ones(len(X))
        return np.asarray(1 / np.clip(self.weighter_.predict_weights(X), 1 / self.clip, self.clip))


def _minimise(
    F: Real, codes: NDArray[np.intp], share: Real, r: Real, reg: float
) -> tuple[Real, int]:
    """Minimise the dual over theta (1 + n, K); also the number of steps."""
    K = int(codes.max()) + 1
    shape = (F.shape[1], K)
    penalty = np.full(shape, reg)
    penalty[0] = 0.0
    observed = F.T @ (share[:, None] * (codes[:, None] == np.arange(K)))  # mean features by class

    def value(theta: Real) -> tuple[float, Real]:
        theta = theta.reshape(shape)
        scaled = r[:, None] * (F @ theta)  # (N, K)
        loss = share @ (logsumexp(scaled, axis=1) / r) - (observed * theta).sum()
        gradient = F.T @ (share[:, None] * softmax(scaled, axis=1)) - observed + penalty * theta
        return float(loss + (penalty * theta**2).sum() / 2), gradient.ravel()

    def hessian_product(theta: Real, direction: Real) -> Real:
        P = softmax(r[:, None] * (F @ theta.reshape(shape)), axis=1)
        moved = P * (F @ direction.reshape(shape))
        moved -= P * moved.sum(axis=1, keepdims=True)
        change = F.T @ ((share * r)[:, None] * moved) + penalty * direction.reshape(shape)
        return np.asarray(change.ravel())

    solution = minimize(
        value,
        np.zeros(shape).ravel(),
        jac=True,
        hessp=hessian_product,
        method="trust-ncg",
        options={"gtol": _GRADIENT, "maxiter": 1000},
    )
    return solution.x.reshape(shape), int(solution.nit)
