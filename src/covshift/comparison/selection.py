"""Model selection under covariate shift: what a model will cost on the target, without its labels.

Importance-weighted cross-validation (Sugiyama, Krauledat, Müller 2007): held-out training rows,
weighted by w(x) = q(x) / p(x), stand for the target; the weighted mean of their losses estimates
the target risk without bias where the weights are right.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from ..data.labels import outcomes_for
from ..data.parameters import Rule, Rules, check_parameters, flag, function, one_of, whole
from ..data.row_weights import check_weight, row_weights, target_weights
from ..data.validation import is_margins, refuse_no_rows, refuse_target_weights, unwrap_target
from ..encoding import groups_of
from ..encoding.feature import with_groups
from ..encoding.samples import encode_samples
from ..exceptions import InputError, InputTypeError, UnseenLevelWarning, WeightWarning
from ..machine.reweighted import fit_for_target
from ..numerics.array import Real, Rows, row_count, take_rows
from ..numerics.parallel import one_thread
from ..numerics.quiet import quiet
from ..numerics.statistics import paired_gains, weighted_risk
from ..registry import NONE
from ..weights import as_weighter
from .methods import refuse_no_estimator, refuse_what_needs_rows
from .result import Comparison, Row, empty_row
from .target import default_judge

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
        yield from _fits(self, estimator, X, y, X_target, target_weight, sample_weight)


def compare_estimators(
    X: Any,
    y: Any,
    X_target: Any,
    estimators: Mapping[str, Any],
    *,
    baseline: Any = None,
    weighter: Any = None,
    loss: Any = "squared_error",
    cv: Any = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    failing: bool = False,
) -> Comparison:
    """Compare estimators of the user's: `compare` with ``estimators``.

    Where they are one learner with several weights, those that cannot be had have a row that says
    why: they may be ``failing``.
    """
    if not isinstance(estimators, Mapping):
        raise InputTypeError(
            f"estimators must be a mapping of names to estimators, such as {{'ridge': Ridge()}}, "
            f"not {estimators!r:.60}."
        )
    for name, estimator in estimators.items():
        if not isinstance(name, str):
            raise InputTypeError(f"estimators must have names that are text, not {name!r:.60}.")
        refuse_no_estimator(estimator, f"estimators[{name!r}]")
    if baseline is not None:
        refuse_no_estimator(baseline, "baseline")
    if baseline is not None and NONE in estimators:
        raise InputError(
            'The baseline is given twice: as baseline=... and as the contender "none".'
        )
    contenders = {NONE: _baseline(estimators, baseline), **estimators}
    splitter = TargetSafeSplit() if cv is None else cv
    refuse_no_rows(X, "X")
    y = outcomes_for(contenders[NONE], y, row_count(X))
    rows = row_weights(row_count(X), sample_weight)
    target, target_weight = unwrap_target(X_target), unwrap_target(target_weight)
    margins = target if is_margins(target) else None
    if margins is not None:
        refuse_target_weights(target_weight=target_weight)
        refuse_what_needs_rows(weighter, judge=True)
    weighter = default_judge(margins) if weighter is None else weighter
    design = None if rows.equal else rows.w
    if not rows.kept.all():
        kept = np.flatnonzero(rows.kept)
        X, y = take_rows(X, kept), take_rows(y, kept)
        design = None if design is None else design[kept]
    if target is not None and target_weight is not None:
        refuse_no_rows(target, "X_target")
        there = target_weights(row_count(target), target_weight)
        kept = np.flatnonzero(there.kept)
        X_target = (take_rows(target, kept),)
        target_weight = None if there.equal else there.w[kept]
    Z, T, encoder = (X, X_target, None) if margins else encode_samples(X, X_target)
    scorer = ImportanceWeightedScorer(weighter, loss=loss).fit(
        Z, y, X_target=T, sample_weight=design, target_weight=target_weight
    )
    w = scorer.weighter_.weights_
    if design is not None:
        w = w * design
    lines: list[Row] = []
    losses_of: list[Real] = []
    notes = [] if encoder is None else [*encoder.notes_]
    for name, estimator in contenders.items():
        start = time.perf_counter()
        fits = _fits(splitter, estimator, X, y, X_target, target_weight, design)
        kind = "baseline" if name == NONE else "weights" if failing else "estimator"
        try:
            with one_thread(len(w)), quiet(WeightWarning, when=failing):
                losses = _held_out_losses(fits, X, y, _losses(loss))
        except InputError as error:
            if failing and name != NONE and not isinstance(error, InputTypeError):
                lines.append(empty_row(name, kind, note=f"failed: {error}".split(". ")[0]))
                continue
            if margins is None:
                raise
            raise InputError(f"The contender {name!r}: {error}") from error
        seconds = time.perf_counter() - start
        losses_of.append(losses)
        risk, gain = weighted_risk(losses, w), weighted_risk(losses_of[0] - losses, w)
        found = {
            "risk": risk.value,
            "standard_error": risk.standard_error,
            "gain": gain.value,
            "gain_standard_error": gain.standard_error,
            "seconds": seconds,
        }
        lines.append(empty_row(name, kind) | found)
    needed = paired_gains(losses_of[0], np.reshape(losses_of[1:], (-1, len(w))), w).needed()
    return Comparison(
        lines,
        needed,
        loss=getattr(loss, "__name__", str(loss)),
        notes=notes,
        rows_compared=ComparedEstimators(
            contenders, X, y, unwrap_target(X_target), target_weight, design, Z, T, weighter
        ),
    )


@dataclass(frozen=True, eq=False)
class ComparedEstimators:
    """What `Comparison.fit` and `Comparison.weights` need: the rows and the contenders."""

    contenders: Mapping[str, Any]
    X: Any
    y: Any
    target: Any
    target_weight: Any
    sample_weight: Any
    judged: Any  # X as the weighter takes it
    judged_target: Any
    weighter: Any

    def fit(self, name: str) -> Any:
        """Fit a contender to all rows."""
        given = self.X, self.y, self.target, self.target_weight, self.sample_weight
        return fit_for_target(clone(self.contenders[name]), *given)

    def weights(self, name: Any) -> Real:
        """Weights (N,) of the training rows: factors on those of the design."""
        scorer = ImportanceWeightedScorer(self.weighter if name is None else name).fit(
            self.judged,
            self.y,
            X_target=self.judged_target,
            sample_weight=self.sample_weight,
            target_weight=self.target_weight,
        )
        return np.asarray(scorer.weighter_.weights_)


def _fits(
    splitter: Any,
    estimator: Any,
    X: Any,
    y: Any,
    X_target: Any,
    target_weight: Any,
    sample_weight: Any,
) -> Iterator[tuple[Any, Any]]:
    target, own = unwrap_target(X_target), None
    if sample_weight is not None:
        own = row_weights(row_count(X), sample_weight).w
    for train, test in folds_of(splitter, X, y):
        rows, outcomes = take_rows(X, train), take_rows(y, train)
        inside = None if own is None else own[train]
        yield fit_for_target(clone(estimator), rows, outcomes, target, target_weight, inside), test


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


def _held_out_losses(fits: Iterator[tuple[Any, Any]], X: Any, y: Any, loss: Losses) -> Real:
    losses = np.full(len(y), np.nan)
    with quiet(UnseenLevelWarning):  # of levels that one fold alone has
        for model, test in fits:
            losses[test] = loss(model, take_rows(X, test), take_rows(y, test))
    return losses


def _losses(loss: Any) -> Losses:
    (one_of(*LOSSES) | function()).check(loss, "loss")
    return LOSSES[loss] if isinstance(loss, str) else loss


def _baseline(estimators: Mapping[str, Any], baseline: Any) -> Any:
    if baseline is not None:
        return baseline
    if NONE in estimators:
        return estimators[NONE]
    for estimator in estimators.values():
        parameters = estimator.get_params(deep=False)
        if "weighter" in parameters:
            return clone(estimator).set_params(weighter=None)
        if "correction" in parameters:
            return clone(estimator).set_params(correction=NONE)
    raise InputError(
        "No contender shows what the unweighted model is. Pass it: baseline=LogisticRegression()."
    )
