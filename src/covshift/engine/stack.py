"""What the features say of the outcome: the user's model, or a mixture of three of ours.

The mixture: ridge regressions on broken lines of each feature (additive) and on a Gaussian kernel
at landmarks (which sees what features do together), and small boosted trees, in the shares that
make the squared error of the cross-fitted predictions least. Zeros and ones are predicted like
numbers: probabilities by logistic models gave no smaller error. Three and more categories are
predicted by a logistic model and boosted trees.

Where the target is margins, a ridge regression h(x) = a + b'f(x) on features whose target means m
are known has the target mean a + b'm: no target row is needed, and nothing is assumed about how
features go together. On indicators of cells it is an additive model of the columns, with a step at
each published cut.

Source: Breiman (1996), *Stacked regressions*. The kernel pays, a linear ridge regression besides
did not (benchmarks/results/estimator.md).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from ..boosting.ensemble import WORTH_TABLES
from ..boosting.histogram import as_ensemble
from ..exceptions import InputError, InputTypeError
from ..numerics.array import Real, Rows
from ..numerics.crossfit import CrossFit, Features, FoldFits, cross_fit, fit_folds
from ..numerics.progress import doing
from ..numerics.quiet import alone, quiet
from ..numerics.row_sample import ENOUGH_ROWS
from .ridge import BrokenLines, KernelColumns, LeaveOneOutRidge

NAME = "ridge on published numbers"
LEAST_SHARE = 0.01  # of a model in the mixture; smaller ones are left out
FEW_ROWS = 50  # below which trees have nothing to split
_MOST_ROWS = 100_000  # that trees learn from, per fold
_MANY_ROWS = 10_000  # from which trees may be larger


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
) -> tuple[CrossFit, dict[str, float]]:
    """Cross-fit the outcome model; return the predictions and the shares of the models in them.

    ``fold`` (R, N) are deals, or one (N,). Without a ``model`` those of `_candidates` are mixed;
    ``final`` weights say where errors count.
    """
    if model is not None:
        _check_model(model, classes is not None)
        return _of_the_user(model, features, y, fold, weight, classes), {type(model).__name__: 1.0}
    center, unit = 0.0, 1.0
    if classes is None:  # sums of squares neither overflow nor vanish
        center, unit = float(y.mean()), float(np.abs(y - y.mean()).max()) or 1.0
        y = (y - center) / unit
    fold = np.atleast_2d(fold)
    models = _candidates(classes, len(y))
    options: dict[str, Any] = {"weight": weight, "classes": classes}
    values = y[:, None] if classes is None else (y[:, None] == classes) * 1.0
    with quiet(ConvergenceWarning), alone():

        def fitted(name: str, fold: Rows) -> FoldFits:
            most = most_rows(models[name])
            return fit_folds(models[name], features.train, y, fold, most=most, **options)

        fits = {name: fitted(name, fold[:1]) for name in models}
        fits, shares = _useful(fits, values, final)
        if len(fold) > 1:  # what has a part in the first deal's mixture is fitted in the others too
            fits = {
                name: one.averaged(fitted(name, fold[1:]), len(fold)) for name, one in fits.items()
            }
            fits, shares = _useful(fits, values, final)
        parts = [fit.on(features.target) for fit in fits.values()]
    found = CrossFit.mixed(parts, shares)
    found = CrossFit(center + unit * found.train, center + unit * found.folds)
    return found, {name: float(share) for name, share in zip(fits, shares, strict=True)}


def _useful(
    fits: dict[str, FoldFits], values: Real, final: Real
) -> tuple[dict[str, FoldFits], Real]:
    """Keep the models with a part in the mixture, and return their shares."""
    shares = mixture(values, [fit.train for fit in fits.values()], final)
    used = shares >= LEAST_SHARE
    kept = {name: fit for (name, fit), one in zip(fits.items(), used, strict=True) if one}
    return kept, shares[used] / shares[used].sum()


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
    model, rows = LeaveOneOutRidge(cut=False), Features(Z, means)
    if classes is None or len(classes) == 1:  # one class is predicted like the number one
        return cross_fit(
            model, rows, y if classes is None else np.ones(len(y)), fold, weight=weight
        )
    parts = [cross_fit(model, rows, (y == c) * 1.0, fold, weight=weight) for c in classes[1:]]
    rest = CrossFit.side_by_side(parts)
    ones = 1 - rest.train.sum(axis=1, keepdims=True), 1 - rest.folds.sum(axis=2, keepdims=True)
    return CrossFit.side_by_side([CrossFit(*ones), rest])  # shares sum to one


def _of_the_user(
    model: Any, features: Features, y: NDArray[Any], fold: Rows, weight: Real | None, classes: Any
) -> CrossFit:
    try:
        fit = cross_fit(model, features, y, fold, weight=weight, classes=classes)
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
    return fit


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


def _candidates(classes: NDArray[Any] | None, rows: int) -> dict[str, Any]:
    """Models to mix."""
    found: dict[str, Any]
    if classes is None or len(classes) == 2:
        found = {
            "piecewise-linear ridge": make_pipeline(BrokenLines(), LeaveOneOutRidge()),
            "kernel": make_pipeline(KernelColumns(), LeaveOneOutRidge()),
        }
        boosted = BoostedTrees(**tree_settings(rows))
    else:
        found = {"logistic": LogisticRegression(C=0.1, max_iter=200)}
        boosted = BoostedClasses(**tree_settings(rows))
    return {**found, "boosted trees": boosted} if rows >= FEW_ROWS else found


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
