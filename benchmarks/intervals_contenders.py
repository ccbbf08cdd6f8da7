"""Coverage and width of plain, weighted, doubly robust and oracle thresholds on one problem.

A family is a way to score (one fitted `ConformalRegressor` or `ConformalClassifier`); its
contenders share the fitted model and the calibration rows, and differ in the weights.
"""

from __future__ import annotations

import copy
import os
import sys
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covshift.conformal import ConformalClassifier, ConformalRegressor
from covshift.conformal.shift import Shift
from covshift.exceptions import InputError

COVERAGE = 0.9
TREES = {"max_leaf_nodes": 8, "learning_rate": 0.1, "max_iter": 100, "random_state": 0}
PLUS_JUDGES = 1000  # each costs a sort of the calibration rows


class Known:
    """Stands for `Shift`: the true density ratio."""

    weighter = scaler = None

    def __init__(self, ratio):
        self.ratio = ratio

    def weigh(self, X, N):
        return self.ratio(np.asarray(X))

    def described(self):
        return []


def estimator(kind, name):
    """Linear models and boosted trees; "quantile" are boosted trees of quantiles."""
    if kind == "classification":
        if name == "boosted":
            return HistGradientBoostingClassifier(**TREES)
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    if name == "quantile":
        return HistGradientBoostingRegressor(loss="quantile", quantile=0.5, **TREES)
    if name == "boosted":
        return HistGradientBoostingRegressor(**TREES)
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))


def measure(problem, families, contenders, *, asks=(), mapie=False):
    """Return one line: of each family, model and contender [coverage, width, infinite, relative].

    ``families``: pairs of a model and settings of ours; ``asks``: families whose expected coverage
    is asked for as well. The relative width is that over the oracle of the same family, of the rows
    for which both are finite; for classes the width is the mean size of the sets.
    """
    line = {"key": problem.key, "kind": problem.kind, "judging": problem.judging, "found": {}}
    shifts = {}
    for title, (model, settings) in families.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = _fitted(problem, model, settings)
            limit = _limit(problem, made)
            split = (settings.get("calibration_size"), settings.get("method"))
            oracle = _predicted(_with(made, Known(problem.ratio)), problem)
            found = {"plain": made}
            for name in contenders[title]:
                weighter, _, more = name.partition(" ")
                fitted = weighter, more == "all", split
                if fitted not in shifts:
                    shifts[fitted] = _shift(problem, made, weighter, all_rows=more == "all")
                if shifts[fitted] is None:
                    continue
                found[name] = _with(made, shifts[fitted], weighter)
                if more == "dr":
                    found[name].set_params(threshold="dr")
            rows = {"oracle": _row(problem, oracle, oracle)}
            for name, each in found.items():
                rows[name] = _row(problem, _predicted(each, problem), oracle)
            line["found"][title] = rows
            line.setdefault("limit", {})[title] = limit
            if title in asks and "cdf" in found:
                said = found["cdf"].expected_coverage(COVERAGE)
                line.setdefault("expected", {})[title] = [said.value, *said.interval]
            if mapie and "method" not in settings:
                line.setdefault("mapie", {})[title] = _beside(problem, made, settings)
            line.setdefault("effective", {})[title] = {
                name: float(each.effective_sample_size_) for name, each in found.items()
            }
    return line


def _fitted(problem, model, settings):
    kind = ConformalRegressor if problem.kind == "regression" else ConformalClassifier
    made = kind(estimator(problem.kind, model), weighter=None, random_state=0, **settings)
    return made.fit(problem.X, problem.y, X_target=problem.T)


def _shift(problem, made, weighter, *, all_rows):
    """Fit a weighter to the rows that trained, as `fit` does; or to all labelled rows."""
    rows = problem.X
    if made.method == "split" and not all_rows:
        taken = made._split(_Outcomes(problem.y))[0]
        rows = rows[taken]
    try:
        return Shift.fit(weighter, rows, problem.T, None, {}, made._seed)
    except InputError:
        return None


class _Outcomes:
    def __init__(self, y):
        self.y = y

    def __len__(self):
        return len(self.y)


def _with(made, shift, weighter=None):
    """Return the same fitted model and scores, with other weights."""
    other = copy.copy(made).set_params(weighter=weighter)
    other._thresholds, other._expected = {}, {}
    scores = other.scores_
    other._calibration_scores = lambda rows: scores
    apart = None if made.method == "split" else other._weigh_apart(made._rows, shift)
    other._keep(made._rows, shift, apart)
    return other


def _judges(problem, made):
    n = len(problem.judges)
    return slice(0, n if made.method == "split" else PLUS_JUDGES)


def _predicted(made, problem):
    """Return for each row that judges: covered, width, infinite."""
    some = _judges(problem, made)
    rows, y = problem.judges[some], problem.outcomes[some]
    if problem.kind == "regression":
        found = made.predict_interval(rows, COVERAGE)
        with np.errstate(invalid="ignore"):
            return found.covers(y), found.upper - found.lower, found.infinite
    found = made.predict_set(rows, COVERAGE)
    return found.covers(y), found.member.sum(axis=1), found.member.all(axis=1)


def _row(problem, predicted, oracle):
    covered, width, infinite = predicted
    w = problem.weight[: len(covered)]
    both = w > 0
    if problem.kind == "regression":
        both &= ~infinite & ~oracle[2]
    if not both.any():
        return [_mean(covered, w), None, _mean(infinite, w), None]
    wide, best = (float(np.average(v[both], weights=w[both])) for v in (width, oracle[1]))
    return [_mean(covered, w), wide, _mean(infinite, w), wide / best if best else None]


def _mean(values, w):
    return float(np.average(values, weights=w))


def _limit(problem, made):
    """Coverage of the plain threshold with endless calibration rows: what the shift alone loses."""
    if made.method != "split":
        return None
    if problem.kind == "regression":
        scores = made._model.band(problem.judges).scores(problem.outcomes)
    else:
        p = made._probabilities(made.estimator_, problem.judges)
        code = np.searchsorted(made.classes_, problem.outcomes)
        scores = made._score.matrix(p)[np.arange(len(code)), code]
    order = np.argsort(scores)
    upto = np.cumsum(problem.source_weight[order])
    q = scores[order][np.searchsorted(upto, COVERAGE * upto[-1])]
    return _mean(scores <= q, problem.weight)


def _beside(problem, made, settings):
    """Return MAPIE's coverage by the same model and rows, and the share of equal answers."""
    folder = os.environ.get("MAPIE_FOLDER")
    if folder is None or settings.get("conformity_score") in ("normalized", "quantile"):
        return None
    if folder not in sys.path:
        sys.path.append(folder)
    import mapie.classification
    import mapie.regression

    rows = made._rows
    options = {"confidence_level": COVERAGE, "prefit": True}
    if problem.kind == "regression":
        peer = mapie.regression.SplitConformalRegressor(made._model.estimator, **options)
        ends = peer.conformalize(rows.X, rows.y).predict_interval(problem.judges)[1]
        low, high = np.squeeze(ends).T
        covered = (low <= problem.outcomes) & (problem.outcomes <= high)
        ours = made.predict_interval(problem.judges, COVERAGE)
        same = np.isclose(ours.upper, high, rtol=1e-6) & np.isclose(ours.lower, low, rtol=1e-6)
    else:
        score = settings.get("conformity_score", "lac")
        peer = mapie.classification.SplitConformalClassifier(
            made.estimator_, conformity_score=score, **options
        )
        peer.conformalize(rows.X, rows.y)
        member = np.squeeze(peer.predict_set(problem.judges)[1])
        code = np.searchsorted(made.classes_, problem.outcomes)
        covered = member[np.arange(len(code)), code]
        same = (member == made.predict_set(problem.judges, COVERAGE).member).all(axis=1)
    return [_mean(covered, problem.weight), _mean(same, problem.weight)]
