"""Who competes in benchmarks/tables.py: six ways that users have, and the machines of covshift.

A contender is made for a kind of outcome and a seed, takes its columns in one of two forms, and a
target where it has use for one. Adding one is a line of `CONTENDERS`. "dummies" are the columns as
a careful user prepares them: categories one-hot, everything standardised by the training rows,
constants left out. "frame" are the columns as they are, categories included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import (
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from tables_gaussian import RelevanceGP, few_steps

from covshift import VSVC, VSVR, Kernel

TREES, PROCESS_ROWS, TUNING_ROWS, FOLDS = 500, 500, 1000, 5


@dataclass(frozen=True)
class Contender:
    make: Callable[[str, int], Any]  # (kind, seed) -> estimator
    columns: str = "dummies"
    target: bool = False  # fit takes X_target
    ours: bool = False


def dummies():
    """One-hot categories beside the other columns, all standardised; what is constant goes."""
    encode = OneHotEncoder(drop="if_binary", handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (encode, make_column_selector(dtype_include="category")), remainder="passthrough"
    )
    return make_pipeline(columns, VarianceThreshold(), StandardScaler())


def ours(**parameters) -> Contender:
    """VSVC or VSVR on the columns as they are."""
    return Contender(_machine(parameters), columns="frame", target=True, ours=True)


def forest(kind, seed):
    made = RandomForestRegressor if kind == "regression" else RandomForestClassifier
    return made(TREES, random_state=seed)


def boosting(kind, seed):
    regression = kind == "regression"
    made = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    return made(random_state=seed)


def linear(kind, seed):
    if kind == "regression":
        return RidgeCV(np.logspace(-2, 5, 29))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return LogisticRegressionCV(
        Cs=np.logspace(-4, 3, 15), cv=folds, scoring="neg_log_loss", max_iter=1000, **_PLAIN
    )


def vectors(kind, seed):
    return TunedVectors(kind, seed)


def process(kind, seed):
    return GaussianProcess(kind, seed)


class TunedVectors(BaseEstimator):
    """SVC or SVR, C and gamma by cross-validation (on `TUNING_ROWS` rows if there are more).

    SVR sees a standardised outcome; SVC has probabilities by Platt's method.
    """

    def __init__(self, kind, seed):
        self.kind, self.seed = kind, seed

    def fit(self, X, y):
        regression = self.kind == "regression"
        rows = np.random.default_rng(self.seed).permutation(len(X))[:TUNING_ROWS]
        scale = 1 / (X.shape[1] * X.var())
        grid = {"C": [0.3, 3, 30], "gamma": [0.1 * scale, 0.4 * scale, 1.6 * scale]}
        folds = KFold if regression else StratifiedKFold
        folds = folds(FOLDS, shuffle=True, random_state=self.seed)
        if regression:
            z = (y - y.mean()) / y.std()
            score = "neg_mean_squared_error"
            search = GridSearchCV(SVR(), grid, cv=folds, scoring=score).fit(X[rows], z[rows])
            best = SVR(**search.best_params_)
            self.model_ = TransformedTargetRegressor(best, transformer=StandardScaler()).fit(X, y)
        else:
            search = GridSearchCV(SVC(), grid, cv=folds).fit(X[rows], y[rows])
            best = SVC(**search.best_params_)
            self.model_ = CalibratedClassifierCV(best, cv=folds, ensemble=False).fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class GaussianProcess(BaseEstimator):
    """Gaussian process, one width per column, by marginal likelihood on at most `PROCESS_ROWS`.

    Classes by regression on 0 and 1, cut off at `EDGE` and 1 - `EDGE`.
    """

    EDGE = 0.01

    def __init__(self, kind, seed):
        self.kind, self.seed = kind, seed

    def fit(self, X, y):
        rows = np.random.default_rng(self.seed).permutation(len(X))[:PROCESS_ROWS]
        widths = np.full(X.shape[1], np.sqrt(X.shape[1]))
        kernel = ConstantKernel() * RBF(widths, (1e-2, 1e4)) + WhiteKernel(0.5, (1e-4, 1e2))
        model = RelevanceGP(kernel, optimizer=few_steps, normalize_y=True)
        self.model_ = model.fit(X[rows], y[rows].astype(float))
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        p = np.clip(self.model_.predict(X), self.EDGE, 1 - self.EDGE)
        return np.column_stack([1 - p, p])


def _machine(parameters, **of_classes):
    def make(kind, seed):
        if kind == "regression":
            return VSVR(random_state=seed, **parameters)
        return VSVC(random_state=seed, **parameters, **of_classes)

    return make


_PLAIN = {"use_legacy_attributes": False, "l1_ratios": (0,)}
# The default of covshift 0.1.0, every parameter written out.
_TODAY = {
    "correction": "blended",
    "kernel": Kernel("rbf", width="scale", coordinates="none"),
    "reg": "cv",
    "n_folds": 5,
}

PEERS = {
    "random forest": Contender(forest),
    "boosting": Contender(boosting, columns="frame"),
    "linear": Contender(linear),
    "Gaussian process": Contender(process),
    "SVM": Contender(vectors),
}
CONTENDERS = {
    "VSVC today": Contender(_machine(_TODAY, probability="clip"), target=True, ours=True),
    **PEERS,
    "default": ours(correction="none"),  # what it is without a target
    "blended": ours(correction="blended"),
    "auto": ours(correction="auto"),
    "fast": ours(correction="none", fast=True),
}
