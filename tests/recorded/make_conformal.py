"""Writes the intervals and sets that other packages compute for the tests of conformal prediction.

    python tests/recorded/make_conformal.py > tests/recorded/conformal_peers.json

with the interpreter of an environment that has `crepes-weighted==0.1.3` and `mapie==1.6.0`. The
samples are in the file as well, so nothing depends on a random stream.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib.metadata import version

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import PredefinedSplit

COVERAGES = (0.5, 0.75, 0.9, 0.95)


def ratios():
    """Residuals of calibration rows, predictions of new rows, and the ratios of both."""
    from crepes_weighted import ConformalRegressor

    rng = np.random.default_rng(19)
    residuals, difficulty = rng.normal(size=60).round(3), rng.uniform(0.5, 2, 60).round(3)
    ratio, new_ratio = rng.lognormal(0, 0.8, 60).round(3), rng.lognormal(0.5, 0.8, 8).round(3)
    center, new_difficulty = rng.normal(size=8).round(3), rng.uniform(0.5, 2, 8).round(3)
    found = {}
    for coverage in COVERAGES:
        plain = ConformalRegressor().fit(residuals)
        weighted = ConformalRegressor().fit(residuals, likelihood_ratios=ratio)
        scaled = ConformalRegressor().fit(residuals, sigmas=difficulty, likelihood_ratios=ratio)
        new = {"likelihood_ratios": new_ratio, "confidence": coverage}
        found[str(coverage)] = {
            "plain": listed(plain.predict(center, confidence=coverage)),
            "weighted": listed(weighted.predict(center, **new)),
            "normalized": listed(scaled.predict(center, sigmas=new_difficulty, **new)),
        }
    given = {
        "residuals": residuals,
        "difficulty": difficulty,
        "ratio": ratio,
        "center": center,
        "new_difficulty": new_difficulty,
        "new_ratio": new_ratio,
    }
    return {**{name: listed(values) for name, values in given.items()}, "intervals": found}


def regression():
    """MAPIE's intervals: split, and CV+ of given folds."""
    from mapie.regression import CrossConformalRegressor, SplitConformalRegressor

    rng = np.random.default_rng(20)
    X, new = rng.normal(size=(45, 2)).round(3), rng.normal(size=(6, 2)).round(3)
    y = (X[:, 0] - X[:, 1] + rng.normal(size=45)).round(3)
    fold = np.arange(45) % 5
    model = LinearRegression().fit(X[:15], y[:15])
    split = SplitConformalRegressor(model, confidence_level=COVERAGES, prefit=True)
    _, ends = split.conformalize(X[15:], y[15:]).predict_interval(new)
    plus = CrossConformalRegressor(
        LinearRegression(), confidence_level=COVERAGES, cv=PredefinedSplit(fold)
    )
    _, plus_ends = plus.fit_conformalize(X, y).predict_interval(new)
    return {
        "X": listed(X),
        "y": listed(y),
        "new": listed(new),
        "fold": fold.tolist(),
        "trained": 15,
        "split": {str(c): listed(ends[:, :, k]) for k, c in enumerate(COVERAGES)},
        "cv+": {str(c): listed(plus_ends[:, :, k]) for k, c in enumerate(COVERAGES)},
    }


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are the columns of X."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.arange(X.shape[1]), X.shape[1]
        return self

    def predict_proba(self, X):
        return np.asarray(X)

    def predict(self, X):
        return self.classes_[np.argmax(X, axis=1)]


def classification():
    """MAPIE's sets from given probabilities; those of "aps" are random, also without weights."""
    from mapie.classification import SplitConformalClassifier

    rng = np.random.default_rng(21)
    p = rng.dirichlet([0.7, 1, 1, 1.5], size=50)
    p = np.exp2(np.round(np.log2(p + 0.01), 1))
    p = p / p.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(4, p=row) for row in p])
    model = SplitConformalClassifier(
        Given().fit(p, y), confidence_level=COVERAGES, conformity_score="lac", prefit=True
    )
    _, sets = model.conformalize(p[:40], y[:40]).predict_set(p[40:])
    found = {str(c): sets[:, :, k].astype(int).tolist() for k, c in enumerate(COVERAGES)}
    return {"p": listed(p), "y": y.tolist(), "calibrated": 40, "sets": found}


def listed(values):
    """Plain lists; what is infinite becomes None."""
    if isinstance(values, np.ndarray):
        return [listed(row) for row in values]
    return float(values) if np.isfinite(values) else None


def main():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = {
            "versions": {name: version(name) for name in ("crepes-weighted", "mapie")},
            "ratios": ratios(),
            "regression": regression(),
            "classification": classification(),
        }
    json.dump(record, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
