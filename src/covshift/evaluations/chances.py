"""Chances of the classes of a row: a mixture of a few models, and of the scores themselves.

q(x, s) = sum_k a_k q_k(x, s) ,    a_k >= 0 ,  sum_k a_k = 1 .

The parts q_k: logistic models and boosted trees of the features and the scores; the scores alone,
calibrated on the labelled rows as they are and as weighted for the target (Platt). Rows that
trained the model have better scores than others, so models that learn from these rows as well see
the features alone. All predictions are cross-fitted, and the shares a maximise the likelihood

sum_i d_i log sum_k a_k q_k(y_i | x_i, s_i)

by the steps of expectation and maximisation, which start from equal shares. `estimate` mixes by
least squares, as means need; metrics that rank rows need chances.

Source: van der Laan, Polley and Hubbard (2007), *Super learner*. Cost: the fits of the parts, and
O(N k) a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from ..engine.stack import FEW_ROWS, LEAST_SHARE, BoostedClasses, tree_settings
from ..numerics.array import Real, Rows
from ..numerics.crossfit import CrossFit, Features, FoldFits, fit_folds
from ..numerics.quiet import alone, quiet

_WEAK_PENALTY = 1e4  # of the calibration's logistic regression: C
_STEPS = 200
_MOST_ROWS = 30_000  # that a fit or the shares learn from: what they miss, the residuals tell
_LEAST_CHANCE = 1e-3  # of the class that was seen: no row decides alone


@dataclass(frozen=True)
class Part:
    """What one set of models learns from, and the target rows it predicts."""

    features: Features
    labels: Rows  # (n,): numbers of the classes
    fold: Rows  # (R, n); -1: seen by the models of all folds
    weight: Real | None = None  # (n,)

    def fits(self, classes: Rows) -> dict[str, FoldFits]:
        """Fit a logistic model, and boosted trees where there are rows to split."""
        models = {"logistic": LogisticRegression(max_iter=300)}
        if len(self.labels) >= FEW_ROWS:
            models["boosted trees"] = BoostedClasses(**tree_settings(len(self.labels)))
        return {name: self.fit(model, classes) for name, model in models.items()}

    def fit(self, model: object, classes: Rows) -> FoldFits:
        """Cross-fit one model."""
        with quiet(ConvergenceWarning), alone():
            return fit_folds(
                model,
                self.features.train,
                self.labels,
                self.fold,
                weight=self.weight,
                classes=classes,
                most=_MOST_ROWS,
            )


def calibrated(part: Part, classes: Rows) -> FoldFits:
    """Calibrate the scores, which are all that ``part`` sees, by a logistic regression (Platt)."""
    return part.fit(LogisticRegression(C=_WEAK_PENALTY, max_iter=500), classes)


def mixed(
    fits: dict[str, tuple[FoldFits, Features]], labels: Rows, d: Real
) -> tuple[CrossFit, dict[str, float]]:
    """Mix predictions; return those of both samples, and the shares by name.

    The first N = len(labels) training rows of every part are the rows that judge.
    """
    N = len(labels)
    some = np.arange(0, N, -(-N // _MOST_ROWS))
    seen = [fit.train[some, labels[some]] for fit, _ in fits.values()]
    shares = likeliest(np.column_stack(seen), d[some])
    used = [k for k, share in enumerate(shares) if share >= LEAST_SHARE]
    shares = shares[used] / shares[used].sum()
    kept = [list(fits.values())[k] for k in used]
    with alone():
        parts = [FoldFits(fit.train[:N], fit.predict).on(rows.target) for fit, rows in kept]
    names = {list(fits)[k]: float(share) for k, share in zip(used, shares, strict=True)}
    return CrossFit.mixed(parts, shares), names


def likeliest(seen: Real, weight: Real) -> Real:
    """Shares (k,) of the parts, from the chances (N, k) that they gave the class that was seen."""
    seen = np.maximum(seen, _LEAST_CHANCE)
    weight = weight / weight.sum()
    a = np.full(seen.shape[1], 1 / seen.shape[1])
    for _ in range(_STEPS):
        a = a * (weight / (seen @ a) @ seen)
    return np.asarray(a / a.sum())
