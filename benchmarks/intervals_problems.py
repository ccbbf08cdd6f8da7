"""Labelled rows, a target and rows that judge the coverage, with the true density ratio.

Real tables: the table is the population, and every row has a chance p to be the target's
(`tables_data.target_chance`; or "hard": a logistic of the linear direction in which a linear model
of the outcome errs more, where plain intervals lose most). The others are the labelled sample's, so
that the density ratio is p / (1 - p) up to a factor. The coverage is that over all rows that are in
neither sample, weighted by the chance that such a row is the target's. Generated problems: fresh
target rows.

Contenders are plain, weighted, doubly robust and oracle thresholds. A family is a way to score (one
fitted `ConformalRegressor` or `ConformalClassifier`); its contenders share the fitted model and the
calibration rows, and differ in the weights.
"""

from __future__ import annotations

import copy
import warnings
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covshift.conformal import ConformalClassifier, ConformalRegressor
from covshift.conformal.shift import Shift
from covshift.exceptions import InputError

SIZES = {  # labelled rows (half of them calibrate), target rows
    "60": (60, 60),  # of the tests alone
    "200": (200, 200),
    "400": (400, 400),
    "1000": (1000, 1000),
    "4000": (4000, 4000),
    "10000": (10_000, 10_000),
    "1000, target of 50": (1000, 50),
}

MOST_COLUMNS, MOST_JUDGES, LEAST_JUDGES, LEAST_CLASS, SPARE = 50, 4000, 100, 12, 1.3


@dataclass(frozen=True)
class Problem:
    """``judges`` are rows of known outcomes and ``weight`` their share of the target."""

    key: str
    kind: str
    X: np.ndarray
    y: np.ndarray
    T: np.ndarray
    judges: np.ndarray
    outcomes: np.ndarray
    weight: np.ndarray
    source_weight: np.ndarray  # the same rows' share of the labelled sample's population
    ratio: Any  # of rows to their true density ratio

    @property
    def judging(self) -> float:
        """Kish's number of the rows that judge."""
        return float(self.weight.sum() ** 2 / (self.weight @ self.weight))


class Lookup:
    """The density ratio of known rows, found by what they hold."""

    def __init__(self, X, ratio):
        self.known = {row.tobytes(): value for row, value in zip(X, ratio, strict=True)}

    def __call__(self, X):
        return np.array([self.known[row.tobytes()] for row in np.ascontiguousarray(X)])


@cache
def hard_chance(name):
    """Chance of each row to be the target's, the greater the more a linear model errs there."""
    from tables_data import STRENGTH, columns, load

    X, y = columns(name), np.asarray(load(name).y, dtype=float)
    Z = np.clip((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), -3, 3)
    error = np.abs(y - RidgeCV(np.logspace(-2, 4, 13)).fit(Z, y).predict(Z))
    score = RidgeCV(np.logspace(-2, 4, 13)).fit(Z, error).predict(Z)
    score = np.clip((score - score.mean()) / score.std(), -3, 3)
    return 1 / (1 + np.exp(-STRENGTH * score))


def of_table(name, shift, size, run):
    """Return a problem, or None where the table is too small."""
    from tables_data import columns, load, target_chance

    table, (N, M) = load(name), SIZES[size]
    rng = np.random.default_rng([zlib.crc32(f"intervals/{name}/{shift}/{size}".encode()), run])
    X, y = np.ascontiguousarray(columns(name)), np.asarray(table.y)
    p = hard_chance(name) if shift == "hard" else target_chance(table.X, shift, rng)
    in_target = rng.uniform(size=len(y)) < p
    source, target = (rng.permutation(np.flatnonzero(part)) for part in (~in_target, in_target))
    M = min(M, int(len(target) / SPARE))
    if len(source) < N or M < min(50, SIZES[size][1]) or M < SIZES[size][1] / 2:
        return None
    S, K = len(source), len(target)
    labelled, seen = source[:N], target[:M]
    if table.kind == "classification" and np.bincount(y[labelled]).min() < LEAST_CLASS:
        return None
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), np.concatenate([labelled, seen])))
    rest = rest[:MOST_JUDGES]
    left = p[rest] * (1 - M / K) + (1 - p[rest]) * (1 - N / S)  # chance to be in neither sample
    problem = Problem(
        f"{name}/{shift}/{size}/{run}",
        table.kind,
        X[labelled],
        y[labelled],
        X[seen],
        X[rest],
        y[rest],
        p[rest] / left,
        (1 - p[rest]) / left,
        Lookup(X, p / (1 - p)),
    )
    return problem if problem.judging >= LEAST_JUDGES else None


# generated: features of the sample and of the target, and the ratio of the two


def _moved(d, by):
    """Normal features, of which the first has moved."""

    def rows(rng, n, there):
        X = rng.normal(size=(n, d))
        X[:, 0] += by * there
        return X

    return rows, lambda X: np.exp(by * X[:, 0] - by**2 / 2)


LEVELS = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])


def _levels():
    """Three columns of four levels, one-hot: two of them are other levels in the target."""

    def rows(rng, n, there):
        codes = [rng.choice(4, size=n, p=LEVELS[int(there and k < 2)]) for k in range(3)]
        return np.concatenate([np.eye(4)[code] for code in codes], axis=1)

    odds = LEVELS[1] / LEVELS[0]
    return rows, lambda X: (X[:, :4] @ odds) * (X[:, 4:8] @ odds)


def _uncovered():
    """Uniform features: a quarter of the target lies beyond all rows of the sample."""

    def rows(rng, n, there):
        X = rng.uniform(size=(n, 5))
        X[:, 0] += 0.5 * rng.uniform(size=n) * there
        return X

    def ratio(X):
        return np.where(X[:, 0] <= 1, 2 * np.minimum(X[:, 0], 0.5), np.inf)

    return rows, ratio


def _spread(X, rng):
    return X[:, 0] + X[:, 1] + np.exp(0.5 * X[:, 0]) * rng.normal(size=len(X))


def _curved(X, rng):
    return X[:, 0] ** 2 + X[:, 1] + rng.normal(size=len(X))


def _by_level(X, rng):
    scale = 0.5 + X[:, :4] @ np.arange(4.0) + 0.5 * X[:, 4:8] @ np.arange(4.0)
    return X[:, 8] - X[:, 9] + scale * rng.normal(size=len(X))


def _classes(X, rng):
    """Four classes, the harder to tell apart the greater the first feature."""
    means = 3 * X[:, 1:5] * np.exp(-0.6 * X[:, :1])
    return np.argmax(means + rng.gumbel(size=means.shape), axis=1)


GENERATED = {
    "heteroscedastic": ("regression", _moved(5, 0.8), _spread),
    "curved": ("regression", _moved(5, 0.8), _curved),
    "levels, one-hot": ("regression", _levels(), _by_level),
    "one of 20 features": ("regression", _moved(20, 0.8), _spread),
    "one of 50 features": ("regression", _moved(50, 0.8), _spread),
    "four classes": ("classification", _moved(5, 0.8), _classes),
    "unshifted": ("regression", _moved(5, 0.0), _spread),
}

LITTLE = {
    "moved by 1.5": ("regression", _moved(5, 1.5), _spread),
    "moved by 2": ("regression", _moved(5, 2.0), _spread),
    "moved by 3": ("regression", _moved(5, 3.0), _spread),
    "a quarter beyond": ("regression", _uncovered(), _spread),
}


def generated(name, size, run):
    """Draw a generated problem."""
    kind, (rows, ratio), outcome = {**GENERATED, **LITTLE}[name]
    N, M = SIZES[size]
    rng = np.random.default_rng([zlib.crc32(f"intervals/{name}/{size}".encode()), run])
    X, T, judges, others = (
        rows(rng, n, there) for n, there in ((N, 0), (M, 1), (MOST_JUDGES, 1), (MOST_JUDGES, 0))
    )
    is_target = np.arange(2 * MOST_JUDGES) < MOST_JUDGES
    both = np.concatenate([judges, others])
    return Problem(
        f"{name}/generated/{size}/{run}",
        kind,
        X,
        outcome(X, rng),
        T,
        both,
        outcome(both, rng),
        is_target.astype(float),
        (~is_target).astype(float),
        ratio,
    )


COVERAGE = 0.9

TREES = {"max_leaf_nodes": 8, "learning_rate": 0.1, "max_iter": 100, "random_state": 0}

PLUS_JUDGES = 1000  # each costs a sort of the calibration rows


class Known:
    """Stands for `Shift`: the true density ratio."""

    weighter = scaler = None
    notes = ()

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
    other, rows = copy.copy(made).set_params(weighter=weighter), made._by_sample.rows
    scores = other.scores_
    other._calibration_scores = lambda rows: scores
    apart = None if made.method == "split" else other._weigh_apart(rows, shift)
    other._keep(rows, shift, apart)
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
    if find_spec("mapie") is None or settings.get("conformity_score") in ("normalized", "quantile"):
        return None
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
