"""What the features say of the outcome: the user's model, or a mixture of ours.

The mixture: ridge regressions on the features, on broken lines of each (additive) and on a Gaussian
kernel at up to 200 landmarks (which sees what features do together), and small boosted trees, in
the shares that make the squared error of the cross-fitted predictions least. Zeros and ones are
predicted like numbers: probabilities by logistic models gave no smaller error. Three and more
categories are predicted by a logistic model and boosted trees.

Source: Breiman (1996), *Stacked regressions*.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from ..exceptions import InputError, InputTypeError
from ..numerics.array import Real, Rows
from ..numerics.crossfit import CrossFit, Features, cross_fit, fit_folds
from ..numerics.quiet import alone, quiet
from ..numerics.ridge import BrokenLines, LeaveOneOutRidge

_MOST_ROWS = 100_000  # that trees learn from, per fold
_ENOUGH_ROWS = 20_000  # for a model of a few hundred coefficients
_MANY_ROWS = 10_000  # from which trees may be larger
LEAST_SHARE = 0.01  # of a model in the mixture; smaller ones are left out
_LANDMARKS = 200
_NARROW = 0.3  # inverse squared width of the kernel, in units of the mean squared distance
FEW_ROWS = 50  # below which trees have nothing to split


def predict(
    model: Any,
    features: Features,
    y: NDArray[Any],
    fold: Rows,
    *,
    classes: NDArray[Any] | None,
    weight: Real | None,
    final: Real,
) -> tuple[CrossFit, list[str]]:
    """Cross-fit the outcome model; return the predictions and the names of the models in them.

    Without a ``model`` those of `_candidates` are mixed; ``final`` weights tell where errors count.
    """
    if model is not None:
        _check_model(model, classes is not None)
        return _of_the_user(model, features, y, fold, weight, classes), [type(model).__name__]
    if classes is None:  # sums of squares neither overflow nor vanish
        center, unit = float(y.mean()), float(np.abs(y - y.mean()).max()) or 1.0
        y = (y - center) / unit
    fits = {}
    for name, candidate in _candidates(classes, len(y), features.train.shape[1]).items():
        with quiet(ConvergenceWarning), alone():
            fits[name] = fit_folds(
                candidate,
                features.train,
                y,
                fold,
                weight=weight,
                classes=classes,
                most=most_rows(candidate),
            )
    values = y[:, None].astype(float) if classes is None else (y[:, None] == classes) * 1.0
    shares = mixture(values, [fit.train for fit in fits.values()], final)
    used = [k for k, share in enumerate(shares) if share >= LEAST_SHARE]
    with alone():
        parts = [list(fits.values())[k].on(features.target) for k in used]
    shares = shares[used] / shares[used].sum()
    found = CrossFit.mixed(parts, shares)
    names = [list(fits)[k] for k in used]
    chosen = [f"{name} {share:.0%}" for name, share in zip(names, shares, strict=True)]
    if classes is None:
        found = CrossFit(center + unit * found.train, center + unit * found.folds)
    return found, chosen


def _of_the_user(
    model: Any, features: Features, y: NDArray[Any], fold: Rows, weight: Real | None, classes: Any
) -> CrossFit:
    try:
        found = cross_fit(model, features, y, fold, weight=weight, classes=classes)
    except Exception as error:  # whatever a model of the user's may raise
        wanted = "numbers" if classes is None else "classes"
        raise InputError(
            f"outcome_model={type(model).__name__} cannot be fitted to X, as it was given, and to "
            f"an outcome of {wanted}: {error} Pass one that can, such as a pipeline that encodes "
            "categories first, or leave it out."
        ) from error
    if not (np.isfinite(found.train).all() and np.isfinite(found.folds).all()):
        raise InputError(
            f"outcome_model={type(model).__name__} predicts NaN or inf. Pass another, or leave it "
            "out."
        )
    return found


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


def _candidates(classes: NDArray[Any] | None, rows: int, columns: int) -> dict[str, Any]:
    trees = tree_settings(rows)
    found: dict[str, Any]
    if classes is None or len(classes) == 2:
        gamma = _NARROW / (2 * max(1, columns))
        count = min(_LANDMARKS if rows < _MANY_ROWS else _LANDMARKS // 2, rows // 2)
        landmarks = Nystroem(gamma=gamma, n_components=count, random_state=0)
        found = {
            "ridge": LeaveOneOutRidge(),
            "piecewise-linear ridge": make_pipeline(BrokenLines(), LeaveOneOutRidge()),
            "kernel": make_pipeline(landmarks, LeaveOneOutRidge()),
        }
        boosted = HistGradientBoostingRegressor(**trees)
    else:
        found = {"logistic": LogisticRegression(C=0.1, max_iter=200)}
        boosted = BoostedClasses(**trees)
    if rows >= FEW_ROWS:
        found["boosted trees"] = boosted
    return found


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
    """Return what boosted trees are made with: small ones for few rows."""
    if rows < _MANY_ROWS:
        return {"learning_rate": 0.05, "max_leaf_nodes": 8, "random_state": 0}
    return {
        "learning_rate": 0.1,
        "max_leaf_nodes": 31,
        "max_iter": 200,
        "early_stopping": True,
        "random_state": 0,
    }


def most_rows(candidate: Any) -> int:
    """Return how many rows a fit of the model learns from."""
    trees = isinstance(candidate, HistGradientBoostingRegressor | HistGradientBoostingClassifier)
    return _MOST_ROWS if trees else _ENOUGH_ROWS


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


def random_folds(points: Real, y: Real, n_folds: int, random_state: int) -> Rows:
    """Number the fold of each row (N,), at random, but whatever the order of the rows.

    Few cells have many rows each. Dealt in turn, as `_crossfit.deal` does, folds would be more
    alike than chance has it, and their jackknife too sure of itself.
    """
    order = np.lexsort((y, *points.T))
    drawn = np.random.default_rng(random_state).permutation(len(y))
    fold = np.empty(len(y), dtype=np.intp)
    fold[order] = drawn % min(n_folds, len(y))
    return fold


def predict_linear(
    Z: Real,
    means: Real,
    y: NDArray[Any],
    fold: Rows,
    *,
    classes: NDArray[Any] | None,
    weight: Real | None,
) -> CrossFit:
    """Predict y (N,), or the shares of ``classes``, at rows Z (N, p) and at the ``means`` (1, p).

    Predictions are not cut off at the range of the outcomes: their mean would not follow then.
    """
    values = y[:, None].astype(np.float64) if classes is None else (y[:, None] == classes) * 1.0
    K, k = int(fold.max()) + 1, values.shape[1]
    train, folds = np.zeros((len(Z), k)), np.zeros((K, len(means), k))
    first = 0 if classes is None else 1  # shares sum to one
    for number in range(K):
        held = fold == number
        used = ~held if weight is None else ~held & (weight > 0)
        for column in range(first, k):
            own = None if weight is None else weight[used]
            model = LeaveOneOutRidge().fit(Z[used], values[used, column], sample_weight=own)
            train[held, column] = model.intercept_ + Z[held] @ model.coef_
            folds[number, :, column] = model.intercept_ + means @ model.coef_
    if classes is not None:
        train[:, 0], folds[:, :, 0] = 1 - train.sum(axis=1), 1 - folds.sum(axis=2)
    return CrossFit(train, folds)
