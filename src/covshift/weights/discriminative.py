"""Weights from a classifier that tells target rows from training rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from ..data.parameters import VERBOSE, Rules, number, one_of, whole
from ..data.row_weights import kish, shares_of
from ..exceptions import InputError, InputTypeError
from ..numerics.array import Real
from ..numerics.copies import copies, together
from ..numerics.crossfit import fit_weighted, takes_sample_weight
from ..numerics.folds import fold_of
from ..numerics.progress import track
from ..numerics.quiet import alone
from .base import LogRatioWeighter
from .m_estimation import Influences, coefficients_of, design_matrix, logistic_odds, penalty_of
from .points import mean_over_equal
from .problem import Problem

_EQUAL_MEANS = 1e-12  # difference that rounding leaves, in standard deviations


class Discriminative(LogRatioWeighter):
    """Odds of coming from the target, by any classifier with ``predict_proba``.

    w(x) = [P(target | x) / P(train | x)] [n_train / n_target], which is q(x) / p(x) by Bayes' rule.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Cloned before it is fitted. Default: logistic regression (L2 penalty, C = 1) on features in
        units of their standard deviation.
    cv : int or None
        Number of folds of the training rows: the probability of a row comes from a classifier
        fitted without it, so that one that memorises its rows does not tell that they are
        training rows. None: one classifier for all, in sample.
    max_ratio : float
        The odds are capped here, before they are scaled to mean one: a probability of one, as trees
        and neighbours give it, would be an infinite weight.
    random_state : int, RandomState or None
        Seed of the folds; a classifier with random parts has its own.
    verbose : int
        Show a progress bar over the folds, on a terminal.

    Attributes
    ----------
    classifier_ : classifier
        Fitted on all rows; it gives the weights of new rows. Class 1 is the target.
    weights_, effective_sample_size_
        See `Weighter`. With cross-fitting, ``predict_weights(X)`` of training rows differs from
        ``weights_``.

    Notes
    -----
    Sources: Qin (1998), *Inferences for case-control and semiparametric two-sample density ratio
    models*; Bickel, Brückner and Scheffer (2009), *Discriminative learning under covariate shift*.
    Where the classifier takes ``sample_weight``, the target rows get their weights, scaled so that
    both classes weigh the same, and the prior is one; otherwise it sees the rows as they are, and
    its odds are multiplied by n_train / n_target. So do the training rows with theirs; a classifier
    that takes none is refused then. Rows are dealt into folds one by one, copies of a row in both
    samples together, and equal rows get the odds of their mean probability. Cost: cv + 1 fits.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import Discriminative
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(500, 1)), rng.normal(0.5, 1.0, size=(2000, 1))
    >>> ratio = Discriminative(random_state=0).fit(X, X_target=T)
    >>> ratio.predict_weights([[-1.0], [0.0], [1.0]]).round(1)  # the truth: 0.5, 0.9, 1.5
    array([0.5, 0.9, 1.5])
    """

    _takes_sample_weight = True

    _rules: ClassVar[Rules] = {
        "cv": whole(2) | one_of(None),
        "max_ratio": number(least=1),
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        classifier: Any = None,
        *,
        cv: int | None = 5,
        max_ratio: float = 100.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.max_ratio = max_ratio
        self.random_state = random_state
        self.verbose = verbose

    def _solve_log(self, problem: Problem) -> Real:
        share, own = problem.share, problem.own
        self._units = problem.units(by_feature=False)
        weighted = takes_sample_weight(self._template())
        for name, shares in (("target_weight", share), ("sample_weight", own)):
            if not weighted and np.ptp(shares) > 1e-9 * shares.max():
                raise InputError(
                    f"{name} was given, but {type(self.classifier).__name__} takes no "
                    "sample_weight. Use a classifier that does, such as LogisticRegression, or "
                    "repeat the rows."
                )
        X, T = self._features(problem.X), self._features(problem.T)
        T, share = T[share > 0], share[share > 0]
        self.classifier_, self._log_prior = self._classifier(X, own, T, share, weighted)
        if self.cv is None:
            return self._log_odds(self.classifier_, self._log_prior, X)
        rng, group = check_random_state(self.random_state), copies(X, T)
        folds = fold_of(X, self.cv, rng)
        if group is not None:
            folds = together(folds, group, len(X), rng)
        folds, away = folds[: len(X)], folds[len(X) :]  # the target's, where it holds copies
        if folds.max() == 0:  # one row alone
            return self._log_odds(self.classifier_, self._log_prior, X)
        log_ratio, n_folds = np.empty(len(X)), int(folds.max()) + 1
        label = "Discriminative: folds"
        for fold in track(range(n_folds), n_folds, label, verbose=bool(self.verbose)):
            held = folds == fold
            there = slice(None) if group is None else away != fold
            parts = X[~held], shares_of(own[~held]), T[there], shares_of(share[there])
            log_ratio[held] = self._log_odds(*self._classifier(*parts, weighted), X[held])
        # P(train | x), both samples counted alike
        training = mean_over_equal(X, expit(-log_ratio), own)
        return np.asarray(np.where(training == expit(-log_ratio), log_ratio, -logit(training)))

    def _log_ratio(self, X: Real) -> Real:
        return self._log_odds(self.classifier_, self._log_prior, self._features(X))

    def _has_mean_influence(self) -> bool:
        return penalty_of(self.classifier_) is not None

    def _mean_influence(
        self, values: Real, X: Real, T: Real, d: Real, share: Real
    ) -> Influences | None:
        """Influence by the scores of the logistic regression; None for another classifier.

        The formula is that of one regression of all rows. With cross-fitting it is used with the
        cross-fitted weights, whose regressions differ from this one by little.
        """
        model = self.classifier_
        penalty = penalty_of(model)
        if penalty is None:
            return None
        f, f_target = (design_matrix(model, self._features(rows)) for rows in (X, T))
        beta, ridge = coefficients_of(model, penalty)
        own = d / d.sum()
        counts = kish(own) * own, kish(own) * share
        free = self._log_ratio(X) < np.log(self.max_ratio)
        w = d * self.weights_
        return logistic_odds(values, f, f_target, w, counts, beta, ridge, free=free)

    def _features(self, X: Real) -> Real:
        return self._units(X) if self.classifier is None else X

    def _template(self) -> Any:
        if self.classifier is None:
            return LogisticRegression(solver="newton-cholesky", tol=1e-6)
        if not hasattr(self.classifier, "predict_proba"):
            raise InputTypeError(
                f"classifier={self.classifier!r} has no predict_proba. Pass an instance that has, "
                "or wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        return clone(self.classifier)

    def _classifier(
        self, X: Real, own: Real, T: Real, share: Real, weighted: bool
    ) -> tuple[Any, float]:
        """Fit on training rows X against the target; also the log of n_train / n_target."""
        rows = np.concatenate([X, T])
        label = np.repeat([0, 1], [len(X), len(T)])
        classifier = self._template()
        if not weighted:
            return classifier.fit(rows, label), float(np.log(len(X) / len(T)))
        weight = kish(own) * np.concatenate([own, share])
        if self.classifier is None and np.abs(own @ X - share @ T).max() < _EQUAL_MEANS:
            # The optimum is the start, zero. Newton's method looks at the gradient only after a
            # line search, which cannot improve on it and complains; this solver looks first.
            classifier.set_params(solver="lbfgs")
        with alone(when=self.classifier is None):
            return fit_weighted(classifier, rows, label, weight), 0.0

    def _log_odds(self, classifier: Any, log_prior: float, X: Real) -> Real:
        with alone(when=self.classifier is None):
            probability = classifier.predict_proba(X)
        with np.errstate(divide="ignore"):
            log_p, log_q = (
                np.log(probability[:, list(classifier.classes_).index(k)]) for k in (0, 1)
            )
        return np.asarray(np.minimum(log_q - log_p + log_prior, np.log(self.max_ratio)))
