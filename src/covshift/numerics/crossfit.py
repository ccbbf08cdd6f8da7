"""Outcome models, cross-fitted: no row is predicted by a model that has seen it.

The rows are dealt into K folds; model k learns from the rows outside fold k and predicts those
inside. A target row gets the mean of the K models. So the residuals of the training rows are honest
whatever the model, and an overfitted model only makes the estimate less precise, not wrong.

The deal itself moves an estimate, by up to half a standard error of few rows. So rows may be dealt
R times, and a row is predicted by the mean over the deals, each time by a model that has not seen
it. What is linear in the predictions, such as the doubly robust mean, is then the mean of the
deals'.

Source: Chernozhukov et al. (2018), *Double/debiased machine learning for treatment and structural
parameters*. Cost: R K fits of each model.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from ..exceptions import InputError, import_extra
from .array import Flags, Real, Rows, take_rows
from .hashing import RowUnits, row_hash
from .parallel import one_thread
from .row_sample import ENOUGH_ROWS

_ROWS = 1 << 16  # predicted at a time
_FEW_ROWS, _DEALS = 1_000, 5  # benchmarks/estimator.py: how far a seed moves an answer


@dataclass(frozen=True)
class CrossFit:
    """Predictions h of k columns: of every training row left out, and of the target rows."""

    train: Real  # (N, k)
    folds: Real  # (R K, M, k): the target rows by the model of each fold of each deal

    @property
    def target(self) -> Real:
        """Predictions of the target rows, (M, k): the mean of all folds' models."""
        return np.asarray(self.folds.mean(axis=0))

    @classmethod
    def mixed(cls, parts: Sequence[CrossFit], shares: Real) -> CrossFit:
        """Return a mixture of predictions, ``shares`` summing to one."""
        pairs = list(zip(shares, parts, strict=True))
        train = np.asarray(sum(share * part.train for share, part in pairs))
        return cls(train, np.asarray(sum(share * part.folds for share, part in pairs)))

    @classmethod
    def known(cls, train: Real, target: Real, n_folds: int) -> CrossFit:
        """Return values (N, k) and (M, k) that are known, not predicted."""
        return cls(train, np.broadcast_to(target, (n_folds, *target.shape)))

    def columns(self, kept: Any) -> CrossFit:
        """Keep some of the k columns."""
        return CrossFit(self.train[:, kept], self.folds[:, :, kept])

    @classmethod
    def side_by_side(cls, parts: Sequence[CrossFit]) -> CrossFit:
        """Return the columns of all parts."""
        return cls(
            np.hstack([part.train for part in parts]),
            np.concatenate([part.folds for part in parts], axis=2),
        )


@dataclass(frozen=True)
class Features:
    """Features of the training and of the target rows, as a model sees them."""

    train: Any  # (N, n) array or data frame
    target: Any  # (M, n)

    def rows(self, rows: Rows) -> Features:
        """Keep some of the training rows."""
        return Features(take_rows(self.train, rows), self.target)

    def target_rows(self, rows: Rows) -> Features:
        """Keep some of the target rows."""
        return Features(self.train, take_rows(self.target, rows))

    def beside(self, train: Real, target: Real) -> Features:
        """Add columns."""
        return Features(
            np.column_stack([self.train, train]), np.column_stack([self.target, target])
        )


def stacked(rows: Any, more: Any, named: str) -> Any:
    """Put rows of the same kind, for a model of the user's, below one another."""
    if hasattr(rows, "iloc"):
        pandas = import_extra("pandas", extra="pandas", needed_by=f"{named} of a frame")
        return pandas.concat([rows, more])
    if hasattr(rows, "columns"):
        raise InputError(
            f"An outcome_model that also learns from {named} needs X as an array or a pandas "
            "frame. Pass X as one of these, or leave out outcome_model."
        )
    return np.vstack([np.asarray(rows), np.asarray(more)])


def fold_count(rows: int) -> int:
    """Folds for so many training rows: five, and three where each still has many."""
    return 5 if rows <= ENOUGH_ROWS else 3


def deal_count(rows: int) -> int:
    """How often so many training rows are dealt, unless it is said."""
    return _DEALS if rows <= _FEW_ROWS else 1


def deals(
    X: Real, y: Real, n_folds: int, count: int, *, cluster: Any = None, random_state: int = 0
) -> Rows:
    """Number the fold of each row in several deals: (count, N).

    Chance deals rows by what they hold and not by their place, from the order of their distance
    from the mean in units of the columns' spread: it is the same for columns of another sign, unit
    or order, and nearly so for rounded numbers. Rows of one cluster stay together.
    """
    order = np.lexsort((row_hash(X, units=RowUnits.of(X)), y, distance(X)))
    rank = np.empty(len(X), dtype=np.intp)
    rank[order] = np.arange(len(X))
    if cluster is not None:
        _, group = np.unique(cluster, return_inverse=True)
        first = np.full(int(group.max()) + 1, len(X))
        np.minimum.at(first, group.reshape(-1), rank)
        rank = np.unique(first, return_inverse=True)[1].reshape(-1)[group.reshape(-1)]
    size = int(rank.max()) + 1
    drawn = (np.random.default_rng((random_state, k)).permutation(size) for k in range(count))
    return np.stack([place[rank] % min(n_folds, size) for place in drawn])


def deal(X: Real, y: Real, n_folds: int, *, cluster: Any = None) -> Rows:
    """Number the fold of each row (N,) in one deal."""
    return np.asarray(deals(X, y, n_folds, 1, cluster=cluster)[0])


def distance(X: Real) -> Real:
    """Squared distance of rows from their mean, in units of the columns' spread, rounded: (N,)."""
    largest = np.abs(X).max(axis=0, initial=1e-300)
    Z = X / np.where(largest > 0, largest, 1.0)  # squares neither overflow nor vanish
    spread = Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf)
    return np.asarray(np.round((Z**2).sum(axis=1), 9))


def cross_fit(
    model: Any,
    rows: Features,
    y: NDArray[Any],
    fold: Rows,
    *,
    weight: Real | None = None,
    classes: NDArray[Any] | None = None,
    most: int | None = None,
) -> CrossFit:
    """Fit a clone of ``model`` to the rows outside each fold, and predict both samples.

    With ``classes`` (k,) the columns are the probabilities of these classes, of a classifier, or of
    a regressor of the indicators; else there is one column, the prediction. Rows of weight zero
    train nothing. A fit learns from at most ``most`` rows, every so many of a larger sample.
    """
    options: dict[str, Any] = {"weight": weight, "classes": classes, "most": most}
    return fit_folds(model, rows.train, y, fold, **options).on(rows.target)


@dataclass(frozen=True)
class FoldFits:
    """The models of all folds, and what they predict for the training rows left out."""

    train: Real  # (N, k)
    predict: Sequence[Callable[[Any], Real]]  # of each fold: rows -> (rows, k)

    def on(self, target: Any) -> CrossFit:
        """Predict the target rows as well."""
        every = np.ones(_length(target), dtype=bool)
        folds = np.empty((len(self.predict), len(every), self.train.shape[1]))
        with one_thread(len(self.train)):
            for found, predict in zip(folds, self.predict, strict=True):
                _fill(found, predict, target, every)
        return CrossFit(self.train, folds)

    def averaged(self, others: FoldFits, deals: int) -> FoldFits:
        """Put the other deals, ``deals`` with this one, beside this one."""
        train = (self.train + (deals - 1) * others.train) / deals
        return FoldFits(train, [*self.predict, *others.predict])

    def of_columns(self, order: Rows) -> FoldFits:
        """Return the same for rows whose columns come in another order."""

        def reordered(predict: Callable[[Any], Real]) -> Callable[[Any], Real]:
            return lambda rows: predict(rows[:, order])

        return FoldFits(self.train, [reordered(predict) for predict in self.predict])


def fit_folds(
    model: Any,
    X: Any,
    y: NDArray[Any],
    fold: Rows,
    *,
    weight: Real | None = None,
    classes: NDArray[Any] | None = None,
    most: int | None = None,
) -> FoldFits:
    """Fit the models of `cross_fit`, and predict the training rows X (N, n).

    Several deals (R, N) may be given. Rows of fold -1 train all models, and their prediction is
    zero. Inside of `sharing_fits` the same models of the same rows are fitted once.
    """
    known = _shared.get()
    if known is None:
        return _fit_folds(model, X, y, fold, weight, classes, most)
    order = _order(X)
    rows = X if order is None else X[:, order]
    key = _digest(model, rows, y, fold, weight, classes, most)
    found = known.pop(key, None) or _fit_folds(model, rows, y, fold, weight, classes, most)
    if key is not None:
        known[key] = found  # the last one: the first to go
        while len(known) > _SHARED:
            del known[next(iter(known))]
    return found if order is None else found.of_columns(order)


_SHARED = 32  # models, each of some folds, that are remembered
_shared: ContextVar[dict[bytes | None, FoldFits] | None] = ContextVar("_shared", default=None)


@contextmanager
def sharing_fits() -> Iterator[None]:
    """Remember what `fit_folds` fitted: several targets of the same training rows share models.

    Columns are put into an order of their own, as that of a category's levels may follow a target.
    """
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def _order(X: Any) -> Rows | None:
    """Order of an array's columns by what they hold; None for tables."""
    if not isinstance(X, np.ndarray):
        return None
    return np.array(sorted(range(X.shape[1]), key=lambda k: X[:, k].tobytes()), dtype=np.intp)


def _digest(*parts: Any) -> bytes | None:
    """Return a hash of what a fit depends on; None of what cannot be written."""
    try:
        return blake2b(b"".join(map(pickle.dumps, parts))).digest()
    except Exception:  # whatever a model of the user's may raise
        return None


def _fit_folds(
    model: Any,
    X: Any,
    y: NDArray[Any],
    fold: Rows,
    weight: Real | None,
    classes: NDArray[Any] | None,
    most: int | None,
) -> FoldFits:
    train = np.zeros((len(y), 1 if classes is None else len(classes)))
    models = []
    own, deals = np.zeros_like(train), np.atleast_2d(fold)
    with one_thread(len(y)):
        for one, number in product(deals, range(int(fold.max()) + 1)):
            held = one == number
            used = np.flatnonzero(~held if weight is None else ~held & (weight > 0))
            if most is not None and len(used) > most:
                used = used[:: -(-len(used) // most)]
            fitted = _fit(model, take_rows(X, used), y[used], weight, used, classes)
            _fill(own, fitted, X, held)
            train[held] += own[held]
            models.append(fitted)
    return FoldFits(train / len(deals), models)


def _fill(found: Real, predict: Callable[[Any], Real], X: Any, which: Flags) -> None:
    """Predict ``which`` (N,) rows, some thousands at a time: a model may make columns of each."""
    if len(which) <= _ROWS and which.all():
        found[:] = predict(X)
        return
    rows = np.flatnonzero(which)
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        found[part] = predict(take_rows(X, part))


def _fit(
    model: Any, X: Any, y: NDArray[Any], weight: Real | None, used: Rows, classes: Any
) -> Callable[[Any], Real]:
    """Fit a clone; return what predicts (rows, k)."""
    w = None if weight is None else weight[used]
    if classes is None and len(y) == 1:  # nothing to learn
        return lambda rows: np.full((_length(rows), 1), float(y[0]))
    if classes is None:
        return _column(_fitted(model, X, y, w))
    present = np.unique(y)
    if len(present) == 1:  # nothing to tell apart
        return lambda rows: np.tile((classes == present[0]) * 1.0, (_length(rows), 1))
    if is_classifier(model):
        return _probabilities(_fitted(model, X, y, w), classes)
    models = [_column(_fitted(model, X, (y == c) * 1.0, w)) for c in classes[1:]]

    def predict(rows: Any) -> Real:
        rest = np.clip(np.hstack([one(rows) for one in models]), 0.0, 1.0)
        return np.column_stack([1 - rest.sum(axis=1), rest])

    return predict


def _fitted(model: Any, X: Any, y: NDArray[Any], weight: Real | None) -> Any:
    if weight is None or np.ptp(weight) == 0 or not takes_sample_weight(model):
        return clone(model).fit(X, y)
    return fit_weighted(clone(model), X, y, weight / weight.mean())


def _column(fitted: Any) -> Callable[[Any], Real]:
    return lambda rows: np.asarray(fitted.predict(rows), dtype=np.float64).reshape(-1, 1)


def _probabilities(fitted: Any, classes: NDArray[Any]) -> Callable[[Any], Real]:
    place = np.searchsorted(classes, fitted.classes_)

    def predict(rows: Any) -> Real:
        found = np.zeros((_length(rows), len(classes)))
        found[:, place] = fitted.predict_proba(rows)
        return found

    return predict


def _length(rows: Any) -> int:
    return int(rows.shape[0])


def takes_sample_weight(estimator: Any) -> bool:
    """Tell whether ``estimator``, or the last step of a pipeline, can be fitted with weights."""
    if isinstance(estimator, Pipeline):
        return takes_sample_weight(estimator.steps[-1][1])
    return bool(has_fit_parameter(estimator, "sample_weight"))


def fit_weighted(estimator: Any, X: Any, y: Any, weight: Real) -> Any:
    """Fit ``estimator`` with weights; in a pipeline they go to the last step."""
    if isinstance(estimator, Pipeline):
        return estimator.fit(X, y, **{f"{estimator.steps[-1][0]}__sample_weight": weight})
    return estimator.fit(X, y, sample_weight=weight)
