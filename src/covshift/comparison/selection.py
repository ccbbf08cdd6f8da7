"""Model selection under covariate shift: what a model will cost on the target, without its labels.

Importance-weighted cross-validation (Sugiyama, Krauledat, Müller 2007): held-out training rows,
weighted by w(x) = q(x) / p(x), stand for the target; the weighted mean of their losses estimates
the target risk without bias where the weights are right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from ..data.parameters import Rule, Rules, check_parameters, flag, function, one_of, whole
from ..data.row_weights import check_weight, row_weights
from ..data.validation import unwrap_target
from ..encoding import groups_of
from ..encoding.feature import with_groups
from ..exceptions import InputError, InputTypeError
from ..machine.reweighted import fit_for_target
from ..numerics.array import Real, Rows, row_count, take_rows
from ..weights import as_weighter

Losses = Callable[[Any, Any, Any], Real]
SEED = whole(0, 2**32 - 1)


def squared_error(estimator: Any, X: Any, y: Any) -> Real:
    """Squared error of every row; for classifiers the Brier score over all classes, halved.

    A class that the training rows lacked is one of them, with probability zero.
    """
    if not is_classifier(estimator):
        residuals = np.asarray(estimator.predict(X)) - np.asarray(y)
        return np.asarray((residuals.reshape(len(residuals), -1) ** 2).sum(axis=1))
    if not hasattr(estimator, "predict_proba"):
        return zero_one(estimator, X, y)
    truth = np.asarray(y)[:, None] == estimator.classes_[None, :]
    unseen = ~truth.any(axis=1)  # such a class has probability zero
    return np.asarray((((estimator.predict_proba(X) - truth) ** 2).sum(axis=1) + unseen) / 2)


def zero_one(estimator: Any, X: Any, y: Any) -> Real:
    """One for every row whose class is wrong."""
    wrong = np.asarray(estimator.predict(X)) != np.asarray(y)
    return np.asarray(wrong, dtype=np.float64)


def log_loss(estimator: Any, X: Any, y: Any) -> Real:
    """Minus the log of the probability of the class that came; probabilities cut at 1e-15.

    A class that the training rows lacked has probability zero.
    """
    truth = np.asarray(y)[:, None] == estimator.classes_[None, :]
    p = np.where(truth, estimator.predict_proba(X), 0.0).sum(axis=1)
    return np.asarray(-np.log(np.clip(p, 1e-15, 1)))


LOSSES: dict[str, Losses] = {
    "squared_error": squared_error,
    "zero_one": zero_one,
    "log_loss": log_loss,
}


class ImportanceWeightedScorer(BaseEstimator):  # type: ignore[misc]
    """A scorer for searches: minus the importance-weighted loss of the held-out rows.

    Fit it once on all training and target rows; every fold then reads the weights of its rows.

    Parameters
    ----------
    weighter : str or weighter
        A name or an object of `covshift.weights`.
    loss : {"squared_error", "zero_one", "log_loss"} or callable
        Loss of every row, ``loss(estimator, X, y)``; for classifiers "squared_error" is Brier's.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covshift.datasets import make_survey
    >>> from covshift.comparison import ImportanceWeightedScorer
    >>> data = make_survey(300, 300, random_state=0)
    >>> scorer = ImportanceWeightedScorer("discriminative").fit(data.X, X_target=data.X_target)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> search = GridSearchCV(tree, {"max_depth": [2, 20]}, scoring=scorer).fit(data.X, data.y)
    >>> search.best_params_
    {'max_depth': 2}
    """

    def __init__(self, weighter: Any = "cdf", *, loss: Any = "squared_error") -> None:
        self.weighter = weighter
        self.loss = loss

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_target: Any,
        sample_weight: Any = None,
        target_weight: Any = None,
    ) -> Any:
        """Estimate the weights of the training rows for the target; weights as in `compare`."""
        self.weighter_ = with_groups(clone(as_weighter(self.weighter)), groups_of(X))[0]
        given = {
            "sample_weight": sample_weight,
            "target_weight": target_weight,
        }
        given = {name: value for name, value in given.items() if value is not None}
        self.weighter_.fit(X, y, X_target=X_target, **given)
        return self

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the weighted mean loss of these rows, as searches maximise.

        ``sample_weight`` are the weights that these rows have by the design of the sample.
        """
        w = self.weighter_.predict_weights(X)
        if sample_weight is not None:
            w = w * check_weight(sample_weight, len(w), "sample_weight", of="X")
        losses = _losses(self.loss)(estimator, X, y)
        return -float(w @ losses / w.sum()) if w.sum() > 0 else -float(losses.mean())


def _draws(value: Any) -> bool:
    return isinstance(value, np.random.RandomState)


class TargetSafeSplit(BaseEstimator):  # type: ignore[misc]
    """Folds of the training rows for which the target stays whole.

    A splitter for searches like any other; `fits` also fits an estimator on every fold with the
    full target, whatever its length. scikit-learn's searches would silently cut a target that is
    as long as X into folds.

    Parameters
    ----------
    n_splits : int
    shuffle : bool
    random_state : int or None
    """

    _rules: ClassVar[Rules] = {
        "n_splits": whole(2),
        "shuffle": flag(),
        "random_state": SEED | one_of(None) | Rule(("a RandomState",), _draws),
    }

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = 0) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yield training and test rows; classes are spread evenly where y has few of them."""
        check_parameters(self)
        if self.n_splits > row_count(X):
            raise InputError(
                f"n_splits={self.n_splits} is more than the {row_count(X)} rows of X: use fewer "
                "folds."
            )
        kind = KFold
        if y is not None and np.asarray(y).ndim == 1:
            counts = np.unique(np.asarray(y), return_counts=True)[1]
            if len(counts) < len(np.asarray(y)) / 2 and counts.min() >= self.n_splits:
                kind = StratifiedKFold
        seed = self.random_state if self.shuffle else None
        yield from kind(self.n_splits, shuffle=self.shuffle, random_state=seed).split(X, y)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def fits(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        X_target: Any = None,
        target_weight: Any = None,
        sample_weight: Any = None,
    ) -> Iterator[tuple[Any, Any]]:
        """Yield an estimator fitted on each fold's training rows, and which rows test it.

        The weights are probability weights, on any scale.
        """
        own = None if sample_weight is None else row_weights(row_count(X), sample_weight).w
        given = estimator, X, y, unwrap_target(X_target), target_weight, own
        for train, test in folds_of(self, X, y):
            yield fit_to_rows(*given, train), test


def fit_to_rows(
    estimator: Any,
    X: Any,
    y: Any,
    target: Any,
    target_weight: Any,
    sample_weight: Real | None,
    rows: Rows,
) -> Any:
    """Fit a clone to some of the rows, with the whole target."""
    own = None if sample_weight is None else sample_weight[rows]
    some = take_rows(X, rows), take_rows(y, rows)
    return fit_for_target(clone(estimator), *some, target, target_weight, own)


def folds_of(splitter: Any, X: Any, y: Any) -> list[tuple[Rows, Rows]]:
    """Training and test rows of every fold; refuse what does not hold out every row once."""
    if not hasattr(splitter, "split") or isinstance(splitter, str | type):
        raise InputTypeError(
            "cv must be a splitter, such as covshift.comparison.TargetSafeSplit(5), not "
            f"{splitter!r:.60}. Of a number of folds: n_folds."
        )
    N = row_count(X)
    folds = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y)]
    for rows in (part for fold in folds for part in fold):
        if not len(rows):
            raise InputError("cv leaves a fold without rows to train on, or to test.")
        if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= N:
            raise InputError(f"cv must give numbers of rows from 0 to {N - 1}.")
    counts = np.zeros(N, dtype=np.intp)
    for _, test in folds:
        np.add.at(counts, test, 1)
    if not (counts == 1).all():
        off = int(np.flatnonzero(counts != 1)[0])
        raise InputError(
            f"cv holds out row {off} {counts[off]} times: every row must be held out once."
        )
    return folds


def _losses(loss: Any) -> Losses:
    (one_of(*LOSSES) | function()).check(loss, "loss")
    return LOSSES[loss] if isinstance(loss, str) else loss
