"""What the features say of the outcome: the user's model, or a mixture of ours.

The mixture: ridge regressions on the features, on broken lines of each (additive) and on a Gaussian
kernel at up to 200 landmarks (which sees what features do together), and small boosted trees, in
the shares that make the squared error of the cross-fitted predictions least. Zeros and ones are
predicted like numbers: probabilities by logistic models gave no smaller error. Three and more
categories are predicted by a logistic model and boosted trees.

Source: Breiman (1996), *Stacked regressions*.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin, clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from ..boosting.ensemble import WORTH_TABLES
from ..boosting.histogram import as_ensemble
from ..exceptions import InputError, InputTypeError
from ..numerics.array import Real, Rows
from ..numerics.crossfit import CrossFit, Features, FoldFits, cross_fit, distance, fit_folds
from ..numerics.parallel import over_rows
from ..numerics.progress import doing
from ..numerics.quiet import alone, quiet
from ..numerics.row_sample import ENOUGH_ROWS, drawn_rows

_MOST_ROWS = 100_000  # that trees learn from, per fold
_MANY_ROWS = 10_000  # from which trees may be larger
LEAST_SHARE = 0.01  # of a model in the mixture; smaller ones are left out
_LANDMARKS = 200
_AT_ONCE = 2048  # rows whose kernel fits into the processor's cache
_NARROW = 0.3  # inverse squared width of the kernel, in units of the mean squared distance
_FEW_ROWS = 5_000  # up to which folds are dealt several times
_DEALS = 4_000  # over the number of rows: deals of ridge regressions
_COSTLY = ((1_000, 4), (_FEW_ROWS, 2))  # up to so many rows: deals of other models
_PREDICTIONS = 10_000_000  # of target rows by all folds' models
FEW_ROWS = 50  # below which trees have nothing to split


@doing("outcome models", "step 3 of 4, ")
def predict(
    model: Any,
    features: Features,
    y: NDArray[Any],
    fold: Rows,
    *,
    classes: NDArray[Any] | None,
    weight: Real | None,
    final: Real,
    copies: Rows | None = None,
) -> tuple[CrossFit, list[str]]:
    """Cross-fit the outcome model; return the predictions and the names of the models in them.

    ``fold`` (R, N) are deals, or one (N,): all for ridge regressions, some for costlier models.
    Without a ``model`` those of `_candidates` are mixed; ``final`` weights say where errors count.
    Beyond 100,000 training rows these are mixed by so many of them, and what is left out of the
    mixture predicts no others. Rows with the same number in ``copies`` (N,) are one row, of their
    weights' sum: a penalty chosen with a copy of the row that is left out would be too weak.
    """
    fold = np.atleast_2d(fold)
    if model is not None:
        _check_model(model, classes is not None)
        return _of_the_user(model, features, y, fold, weight, classes), [type(model).__name__]
    if (one := _distinct(copies, y, fold)) is not None:
        first, same = one
        rows = Features(features.train[first], features.target)
        weight = _summed(weight, same)
        found, chosen = predict(
            None,
            rows,
            y[first],
            fold[:, first],
            classes=classes,
            weight=weight,
            final=_summed(final, same),
        )
        return CrossFit(found.train[same], found.folds), chosen
    if classes is None:  # sums of squares neither overflow nor vanish
        center, unit = float(y.mean()), float(np.abs(y - y.mean()).max()) or 1.0
        y = (y - center) / unit
    fits: dict[str, FoldFits] = {}
    unit_of = LevelUnits().fit(features.train).unit_
    columns = sum(float((x / u).var()) for x, u in zip(features.train.T, unit_of, strict=True))
    some = np.zeros(len(y), dtype=bool)  # rows by which the models are mixed
    some[drawn_rows(len(y), _MOST_ROWS, np.random.default_rng(0))] = True
    candidates = _candidates(classes, len(y), columns)
    costly = fold[: costly_deals(len(y))]

    def fitted(candidate: Any, fold: Rows) -> FoldFits:
        most = most_rows(candidate)
        options: dict[str, Any] = {"weight": weight, "classes": classes, "most": most, "some": some}
        with quiet(ConvergenceWarning), alone():
            return fit_folds(candidate, features.train, y, fold, **options)

    for name, candidate in candidates.items():
        if len(fold) > 1 and _is_ridge(candidate):
            with alone():
                fits[name] = ridge_folds(candidate, features.train, y, fold, classes, weight)
        else:
            fits[name] = fitted(candidate, costly[:1])
    judged = y[some, None]
    values = judged.astype(float) if classes is None else (judged == classes) * 1.0
    shares = mixture(values, [fit.train[some] for fit in fits.values()], final[some])
    if len(costly) > 1:  # what has a part in the first deal's mixture is fitted in the others too
        for name, share in zip(candidates, shares, strict=True):
            if share >= LEAST_SHARE and not _is_ridge(candidates[name]):
                fits[name] = fits[name].averaged(fitted(candidates[name], costly[1:]), len(costly))
        shares = mixture(values, [fit.train[some] for fit in fits.values()], final[some])
    used = [k for k, share in enumerate(shares) if share >= LEAST_SHARE]
    names, kept = [list(fits)[k] for k in used], [list(fits.values())[k] for k in used]
    fits.clear()  # as long as the sample, each
    with alone():
        if not some.all():
            kept = [fit.completed(features.train, fold[0], some) for fit in kept]
        parts = [fit.on(features.target) for fit in kept]
    shares = shares[used] / shares[used].sum()
    found = CrossFit.mixed(parts, shares).repeated(len(fold) * (int(fold.max()) + 1))
    chosen = [f"{name} {share:.0%}" for name, share in zip(names, shares, strict=True)]
    if classes is None:
        found = CrossFit(center + unit * found.train, center + unit * found.folds)
    return found, chosen


def _distinct(copies: Rows | None, y: NDArray[Any], fold: Rows) -> tuple[Rows, Rows] | None:
    """First of each row's copies, and which of these each row is; None where they differ."""
    if copies is None:
        return None
    _, first, same = np.unique(copies, return_index=True, return_inverse=True)
    alike = (y[first][same] == y).all() and (fold[:, first][:, same] == fold).all()
    return (first, same.reshape(-1)) if alike else None


def _summed(weight: Real | None, same: Rows) -> Real:
    """Weights of rows that are there as often as their number in ``same``, of mean one."""
    total = np.bincount(same, weight)
    return np.asarray(total / total.mean())


def _of_the_user(
    model: Any, features: Features, y: NDArray[Any], fold: Rows, weight: Real | None, classes: Any
) -> CrossFit:
    try:
        some = fold[: costly_deals(len(y))]
        fit = cross_fit(model, features, y, some, weight=weight, classes=classes)
    except Exception as error:  # whatever a model of the user's may raise
        wanted = "numbers" if classes is None else "classes"
        raise InputError(
            f"outcome_model={type(model).__name__} cannot be fitted to X, as it was given, and to "
            f"an outcome of {wanted}: {error} Pass one that can, such as a pipeline that encodes "
            "categories first, or leave it out."
        ) from error
    if not (np.isfinite(fit.train).all() and np.isfinite(fit.folds).all()):
        raise InputError(
            f"outcome_model={type(model).__name__} predicts NaN or inf. Pass another, or leave it "
            "out."
        )
    return fit.repeated(len(fold) * (int(fold.max()) + 1))


def ridge_deals(rows: int, predicted: int) -> int:
    """Return how often so many rows are dealt for ridge regressions that predict target rows.

    The aim is that the deal moves an estimate by less than .05 standard errors, which
    benchmarks/fold_noise.py measures.
    """
    if rows > _FEW_ROWS:
        return 1
    fewest = costly_deals(rows)  # of which it is a multiple
    most = max(1, _PREDICTIONS // (fewest * 5 * predicted))
    return fewest * min(most, max(1, -(-_DEALS // (fewest * rows))))


def costly_deals(rows: int) -> int:
    """Return how often so many rows are dealt for models that are fitted again for each fold."""
    return next((count for most, count in _COSTLY if rows <= most), 1)


def mixture(values: Real, predicted: list[Real], weight: Real) -> Real:
    """Shares, summing to one, of the predictions (N, k) whose mixture is nearest to the values."""
    if len(predicted) == 1:
        return np.ones(1)
    root = np.sqrt(weight / weight.sum())[:, None]
    A = np.column_stack([(root * part).ravel() for part in predicted])
    # A row of large numbers asks the shares to sum to one.
    much = 1e3 * float(np.abs(A).max() or 1.0)
    A = np.vstack([A, np.full(A.shape[1], much)])
    found = nnls(A, np.append((root * values).ravel(), much))[0]
    return np.asarray(found / found.sum())


def _candidates(classes: NDArray[Any] | None, rows: int, columns: float) -> dict[str, Any]:
    """Models to mix; ``columns`` is the sum of their variances, one for each that is a number."""
    trees = tree_settings(rows)
    found: dict[str, Any]
    if classes is None or len(classes) == 2:
        gamma = _NARROW / (2 * max(1.0, columns))
        count = min(_LANDMARKS if rows < _MANY_ROWS else _LANDMARKS // 2, rows // 2)
        found = {
            "ridge": LeaveOneOutRidge(),
            "piecewise-linear ridge": make_pipeline(BrokenLines(), LeaveOneOutRidge()),
            "kernel": KernelRidge(gamma, count),
        }
        boosted = BoostedTrees(**trees)
    else:
        found = {"logistic": LogisticRegression(C=0.1, max_iter=200)}
        boosted = BoostedClasses(**trees)
    if rows >= FEW_ROWS:
        found["boosted trees"] = boosted
    return found


class BoostedTrees(HistGradientBoostingRegressor):  # type: ignore[misc]
    """Boosted trees that look many rows up in tables: the same numbers in half the time."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the trees."""
        super().fit(X, y, sample_weight=sample_weight)
        self.ensemble_ = as_ensemble(self)
        return self

    def predict(self, X: Any) -> Real:
        """Predict rows (M, n)."""
        few = len(X) < WORTH_TABLES
        return np.asarray(super().predict(X) if few else self.ensemble_(X)[:, 0])


class BoostedClasses(HistGradientBoostingClassifier):  # type: ignore[misc]
    """Boosted trees of classes, also where a class has a single row.

    Above 10,000 rows some are held out to see when to stop, and scikit-learn refuses to split a
    class of one row. Then no row is held out.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BoostedClasses:
        """Fit the trees."""
        if np.unique(y, return_counts=True)[1].min() < 2:
            self.early_stopping = False
        super().fit(X, y, sample_weight=sample_weight)
        return self


def tree_settings(rows: int) -> dict[str, Any]:
    """Return what boosted trees are made with: small ones for few rows, and quick ones for many."""
    # Settings of half the time for the same error: benchmarks/results/cost.md.
    if rows < _MANY_ROWS:
        few = {"learning_rate": 0.1, "max_leaf_nodes": 8, "max_iter": 50, "max_bins": 63}
        return {**few, "random_state": 0}
    stopped = {"max_iter": 200, "early_stopping": True, "random_state": 0}
    if rows <= ENOUGH_ROWS:
        return {"learning_rate": 0.1, "max_leaf_nodes": 31, **stopped}
    return {"learning_rate": 0.2, "max_leaf_nodes": 15, "max_bins": 63, **stopped}


def most_rows(candidate: Any) -> int:
    """Return how many rows a fit of the model learns from."""
    trees = isinstance(candidate, HistGradientBoostingRegressor | HistGradientBoostingClassifier)
    return _MOST_ROWS if trees else ENOUGH_ROWS


def classifies(model: Any) -> bool:
    """Whether a model of the user's is a classifier."""
    return hasattr(model, "fit") and not isinstance(model, type) and bool(is_classifier(model))


def _check_model(model: Any, classes: bool) -> None:
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise InputTypeError(
            f"outcome_model={model!r} is not an estimator. Pass an instance such as "
            "sklearn.ensemble.RandomForestRegressor()."
        )
    if not classes and classifies(model):
        raise InputTypeError(
            f"outcome_model={model!r} is a classifier, but the outcome has numbers other than zero "
            "and one. Pass a regressor, or ask for what='proportion'."
        )
    if classes and classifies(model) and not hasattr(model, "predict_proba"):
        raise InputTypeError(
            f"outcome_model={model!r} has no predict_proba. Pass a classifier that has, or wrap it "
            "in sklearn.calibration.CalibratedClassifierCV."
        )


# Outcome models that are linear in published features, cross-fitted.
#
# A ridge regression h(x) = a + b'f(x) on features whose target means m are known has the target
# mean a + b'm: no target row is needed, and nothing is assumed about how features go together. On
# indicators of cells it is an additive model of the columns, with a step at each published cut.


NAME = "ridge on published numbers"


def predict_linear(
    Z: Real,
    means: Real,
    y: NDArray[Any],
    fold: Rows,
    *,
    classes: NDArray[Any] | None,
    weight: Real | None,
    copies: Rows | None = None,
) -> CrossFit:
    """Predict y (N,), or the shares of ``classes``, at rows Z (N, p) and at the ``means`` (1, p).

    Predictions are not cut off at the range of the outcomes: their mean would not follow then.
    ``copies`` of a row are one, as in `predict`.
    """
    if (one := _distinct(copies, y, fold)) is not None:
        first, same = one
        weight = _summed(weight, same)
        found = predict_linear(
            Z[first], means, y[first], fold[:, first], classes=classes, weight=weight
        )
        return CrossFit(found.train[same], found.folds)
    model = LeaveOneOutRidge()
    if classes is None or len(classes) == 1:  # one class is predicted like the number one
        values = y if classes is None else np.ones(len(y))
        return ridge_folds(model, Z, values, fold, None, weight, cut=False).on(means)
    parts = [
        ridge_folds(model, Z, (y == c) * 1.0, fold, None, weight, cut=False).on(means)
        for c in classes[1:]
    ]
    rest = CrossFit.side_by_side(parts)
    ones = 1 - rest.train.sum(axis=1, keepdims=True), 1 - rest.folds.sum(axis=2, keepdims=True)
    return CrossFit.side_by_side([CrossFit(*ones), rest])  # shares sum to one


# Ridge regression with the penalty of least leave-one-out error, and bases of columns for it.
#
# The error of each row left out has a closed form, so the penalty costs no further fits: with the
# leverage a_i of row i, the left-out residual is (y_i - f(x_i)) / (1 - a_i). O(N p min(N, p)).


_CATEGORIES = 8  # a feature of at most so many values has a column for each
_BENDS = (0.2, 0.4, 0.6, 0.8)  # quantiles
_PENALTIES = np.logspace(-6, 4, 21)  # in units of the mean eigenvalue
_LARGEST_LEVERAGE = 1 - 1e-8


class LeaveOneOutRidge(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression on standardised columns, on weighted rows where weights are given.

    Columns of two values have half their range as the unit, the spread of values that are equally
    common: the effects of a category's levels are then drawn from one distribution, and that of a
    level with n of the rows is shrunken by n / (n + k), k by the error of rows left out. In units
    of their own spread rare levels would be shrunken as little as common ones. Predictions stay
    within the range of the outcomes.

    Attributes
    ----------
    left_out_ : (N,) array
        Prediction of each training row by the fit without it.
    penalty_ : float
        In units of the standardised columns' moments.
    moments_, axes_ : (r,) and (columns, r) arrays
        Of the standardised columns that vary.
    """

    def fit(self, X: Real, y: Real, sample_weight: Real | None = None) -> Self:
        """Fit to columns X (N, p), with weights where they are given."""
        B, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        w = np.ones(len(y)) if sample_weight is None else sample_weight
        share = w / w.sum()
        self.range_ = float(y.min()), float(y.max())
        self.mean_ = float(share @ y)
        self.center_ = share @ B
        spread = np.sqrt(share @ (B - self.center_) ** 2)
        self.kept_ = spread > 1e-12 * np.abs(B).max(axis=0, initial=1e-300)
        self.spread_ = np.maximum(spread, _reach(B) / 2)[self.kept_]
        if not self.kept_.any():
            self._set(np.zeros(0))
            self.penalty_, self.moments_, self.axes_ = 0.0, np.zeros(0), np.zeros((0, 0))
            self.left_out_ = _leave_out(y, np.full(len(y), self.mean_), share)
            return self
        B = self.standardised(B)
        values, Q = self.moments_, self.axes_ = _axes(np.sqrt(share)[:, None] * B)
        Z = B @ Q  # (N, r)
        moment = Z.T @ (share * (y - self.mean_))
        shrunk = 1 / (values[:, None] + _PENALTIES * float(values.mean()))  # (r, penalties)
        coefs = shrunk * moment[:, None]
        leverage = share[:, None] * (1 + Z**2 @ shrunk)
        predicted = _leave_out(y[:, None], self.mean_ + Z @ coefs, leverage)
        best = int(np.argmin(share @ (y[:, None] - predicted) ** 2))
        self.left_out_ = predicted[:, best].copy()
        self.penalty_ = float(_PENALTIES[best] * values.mean())
        self._set(Q @ coefs[:, best])
        return self

    def predict(self, X: Any) -> Real:
        """Predict rows (M, p)."""
        return np.clip(self.intercept_ + np.asarray(X) @ self.coef_, *self.range_)

    def _set(self, standardised: Real) -> None:
        """Turn coefficients of standardised columns into those of the columns."""
        self.coef_ = np.zeros(len(self.kept_))
        self.coef_[self.kept_] = standardised / self.spread_
        self.intercept_ = self.mean_ - float(self.center_ @ self.coef_)

    def standardised(self, B: Real) -> Real:
        """Return the columns that vary, centred and in their units, at rows (M, p)."""
        return np.asarray((B[:, self.kept_] - self.center_[self.kept_]) / self.spread_)


def _reach(B: Real) -> Real:
    """Range of each column of two values; zero of others."""
    low, high = B.min(axis=0), B.max(axis=0)
    return np.where(((B == low) | (B == high)).all(axis=0), high - low, 0.0)


def _is_ridge(model: Any) -> bool:
    last = model[-1] if isinstance(model, Pipeline) else model
    return isinstance(last, LeaveOneOutRidge | KernelRidge)


def ridge_folds(
    model: Any,
    X: Real,
    y: NDArray[Any],
    fold: Rows,
    classes: NDArray[Any] | None,
    weight: Real | None,
    *,
    cut: bool = True,
) -> FoldFits:
    """Cross-fit a `LeaveOneOutRidge`, alone or behind a basis, over all deals from one fit.

    With the columns Z, ones among them, the rows' shares D, the inverse P of Z'DZ plus the penalty,
    the coefficients b and what they leave e, those of the rows outside of a fold S are

        b_S = b - P Y' (I - Y P Y')^-1 D_S^(1/2) e_S ,    Y = D_S^(1/2) Z_S ,

    at the penalty of all rows. So many deals cost little: one fit, and for each fold the solution
    of a system of its rows or of the columns, whichever are fewer. The basis is that of all rows,
    and sees no outcomes. Two ``classes`` are predicted by the indicator of the second. Predictions
    are ``cut`` off at the range of the outcomes.
    """
    values = y.astype(np.float64) if classes is None else (y == classes[1]) * 1.0
    share = np.ones(len(y)) if weight is None else weight / weight.sum()
    used = np.flatnonzero(share > 0)
    basis = model[:-1] if isinstance(model, Pipeline) else getattr(model, "basis", None)
    if basis is not None:  # landmarks are drawn from rows in an order of their own
        basis = clone(basis).fit(X[used[np.argsort(distance(X[used]), kind="stable")]])
    made = X if basis is None else basis.transform(X)
    ridge = LeaveOneOutRidge().fit(made[used], values[used], share[used])
    share = share / share.sum()
    root = np.sqrt(share)

    B = ridge.standardised(made)
    axes = ridge.axes_
    Z = np.column_stack([np.ones(len(B)), B @ axes])
    P = 1 / np.append(1.0, np.maximum(ridge.moments_ + ridge.penalty_, np.finfo(float).tiny))
    b = P * (Z.T @ (share * values))
    rest = root * (values - Z @ b)
    low, high = ridge.range_ if cut else (-np.inf, np.inf)
    fold, K = np.atleast_2d(fold), int(fold.max()) + 1
    train, outside = np.zeros(len(y)), np.empty((len(b), len(fold) * K))
    for number, (one, k) in enumerate(product(fold, range(K))):
        held = np.flatnonzero(one == k)
        own = root[held, None] * Z[held]
        if len(held) < len(b):
            left = own.T @ np.linalg.solve(_near(len(held)) - (own * P) @ own.T, rest[held])
        else:
            left = np.linalg.solve(_near(len(b)) - own.T @ own * P, own.T @ rest[held])
        outside[:, number] = b - P * left
        train[held] += np.clip(Z[held] @ outside[:, number], low, high) / len(fold)

    def of(found: Real) -> Real:
        return found[..., None] if classes is None else np.stack([1 - found, found], axis=-1)

    def predict(rows: Any) -> Real:
        B = ridge.standardised(np.asarray(rows) if basis is None else basis.transform(rows))
        Z = np.column_stack([np.ones(len(B)), B @ axes])
        return of(np.clip(Z @ outside, low, high).T)

    return FoldFits(of(train), together=predict)


def _near(size: int) -> Real:
    """Return the unit matrix, and a little: leverages of one are less."""
    return np.eye(size) * (1 + 1e-9)


class LevelUnits(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns of two values in units of their range, the others as they are.

    Rows of two levels of a category are then as far apart as two rows of a standardised number are
    on average, however rare the levels and however many.
    """

    def fit(self, X: Real, y: Any = None) -> Self:
        """Find the columns."""
        reach = _reach(np.asarray(X, dtype=np.float64))
        self.unit_ = np.where(reach > 0, reach, 1.0)
        return self

    def transform(self, X: Any) -> Real:
        """Return the columns at rows (M, n)."""
        return np.asarray(X, dtype=np.float64) / self.unit_


class KernelRidge(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression on a Gaussian kernel at landmarks: f(x) = c + sum_j v_j k(x, z_j).

    The Nystroem columns of `LevelUnits`, of which the kernel at a row alone is needed to predict.

    Parameters
    ----------
    gamma : float
        Inverse squared width, over two.
    count : int
        Landmarks, drawn of the rows.
    """

    def __init__(self, gamma: float, count: int) -> None:
        self.gamma = gamma
        self.count = count

    @property
    def basis(self) -> Pipeline:
        """What makes the columns, not yet fitted."""
        landmarks = Nystroem(gamma=self.gamma, n_components=self.count, random_state=0)
        return make_pipeline(LevelUnits(), landmarks)

    def fit(self, X: Real, y: Real, sample_weight: Real | None = None) -> Self:
        """Fit to rows X (N, n), with weights where they are given."""
        self.units_, landmarks = (step for _, step in self.basis.steps)
        columns = landmarks.fit_transform(self.units_.fit_transform(X))
        ridge = LeaveOneOutRidge().fit(columns, y, sample_weight=sample_weight)
        self.landmarks_ = landmarks.components_
        self.coef_ = landmarks.normalization_.T @ ridge.coef_
        self.intercept_, self.range_ = ridge.intercept_, ridge.range_
        return self

    def predict(self, X: Real) -> Real:
        """Predict rows (M, n)."""
        rows, found = self.units_.transform(X), np.empty(len(X))
        squares = (self.landmarks_**2).sum(axis=1)

        def work(chunk: slice) -> None:
            for start in range(chunk.start, chunk.stop, _AT_ONCE):
                some = slice(start, min(start + _AT_ONCE, chunk.stop))
                near = rows[some] @ (2 * self.landmarks_.T)
                near -= squares
                near -= (rows[some] ** 2).sum(axis=1, keepdims=True)
                near *= self.gamma
                found[some] = np.exp(np.minimum(near, 0.0, out=near), out=near) @ self.coef_

        over_rows(work, len(rows), at_least=_AT_ONCE)
        return np.clip(self.intercept_ + found, *self.range_)


class BrokenLines(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns whose sums are additive functions, c + sum_j h_j(x_j).

    Each h_j is a broken line with bends at the quantiles of the feature, or one value per category
    where it has at most eight. Weights that match the distribution of every feature match the mean
    of every such function.
    """

    def fit(self, X: Real, y: Any = None) -> Self:
        """Place the bends."""
        self.features_ = [_feature(x) for x in np.asarray(X, dtype=np.float64).T]
        return self

    def transform(self, X: Any) -> Real:
        """Return the columns at rows (M, n): at most eight per feature."""
        rows = np.asarray(X, dtype=np.float64)
        ends = np.cumsum([0, *(feature.width for feature in self.features_)])
        found = np.empty((len(rows), ends[-1]))

        def work(chunk: slice) -> None:
            for start in range(chunk.start, chunk.stop, _AT_ONCE):
                some = slice(start, min(start + _AT_ONCE, chunk.stop))
                for k, feature in enumerate(self.features_):
                    found[some, ends[k] : ends[k + 1]] = feature.columns(rows[some, k])

        over_rows(work, len(rows), at_least=_AT_ONCE)
        return found


class _Feature(NamedTuple):
    """Basis of one feature: the ``values`` of its categories, or the bends of a broken line."""

    values: Real
    categories: bool
    center: float
    scale: float

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.values) + (not self.categories)

    def columns(self, x: Real) -> Real:
        """Return the basis at x (rows,): (rows, columns)."""
        if self.categories:
            return np.asarray(x[:, None] == self.values, dtype=np.float64)
        z = (x - self.center) / self.scale
        return np.column_stack([z, np.maximum(z[:, None] - self.values, 0.0)])


def _feature(x: Real) -> _Feature:
    values = np.unique(x)
    if len(values) <= _CATEGORIES:
        return _Feature(values, True, 0.0, 1.0)
    unit = float(np.abs(x).max())  # squares must neither overflow nor vanish
    center, scale = float((x / unit).mean()) * unit, float((x / unit).std()) * unit or 1.0
    bends = np.unique(np.quantile(x, _BENDS))
    return _Feature((bends - center) / scale, False, center, scale)


def _axes(A: Real) -> tuple[Real, Real]:
    """Return the squared singular values (r,) of A (N, p) and its right axes (p, r)."""
    if A.shape[0] < A.shape[1]:
        _, values, axes = np.linalg.svd(A, full_matrices=False)
        return values**2, axes.T
    values, axes = np.linalg.eigh(A.T @ A)
    return np.maximum(values, 0.0), axes


def _leave_out(y: Real, fitted: Real, leverage: Real) -> Real:
    """Turn fitted values of a linear smoother into those of each row left out."""
    return np.asarray(y - (y - fitted) / (1 - np.minimum(leverage, _LARGEST_LEVERAGE)))
