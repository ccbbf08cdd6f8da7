"""Machines on real tables: random forest, boosting, linear, Gaussian process, SVM, and covshift.

Choices are settled on one half of the tables and of the generated problems and reported on the
other. Six ways that users have compete with the machines of covshift. A contender is made for a
kind of outcome and a seed, takes its columns in one of two forms, and a target where it has use for
one. Adding one is a line of `CONTENDERS`. "dummies" are the columns as a careful user prepares
them: categories one-hot, everything standardised by the training rows, constants left out. "frame"
are the columns as they are, categories included.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from harness import Work, main, runs, table
from scipy.linalg import cho_solve, cholesky
from scipy.optimize import minimize
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
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from tables_data import GENERATED, SHIFTS, TABLES, available, half, left_out, problem, split
from threadpoolctl import threadpool_limits

from covshift import VSVC, VSVR, Kernel

STEPS = 400


def few_steps(objective, theta, bounds):
    """scikit-learn's optimiser, stopped after `STEPS` steps: hundreds of dummies need thousands."""
    found = minimize(
        objective, theta, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": STEPS}
    )
    return found.x, found.fun


class RelevanceGP(GaussianProcessRegressor):
    """`GaussianProcessRegressor` for the kernel Constant * RBF(one width per column) + White.

    The same likelihood, the same optimiser, the same predictions. scikit-learn forms an N x N x n
    array of derivatives; the trace of W dK/dl_k needs the rows of X alone, O(N^2 n) in one product.
    """

    def log_marginal_likelihood(self, theta=None, eval_gradient=False, clone_kernel=True):
        if not eval_gradient:
            return super().log_marginal_likelihood(theta, False, clone_kernel)
        X, y = self.X_train_, self.y_train_
        height, widths, noise = np.exp(theta[0]), np.exp(theta[1:-1]), np.exp(theta[-1])
        if not clone_kernel:  # as scikit-learn does: the kernel keeps the last parameters
            self.kernel_.theta = theta
        Z = X / widths
        size = np.einsum("ik,ik->i", Z, Z)
        smooth = height * np.exp(np.minimum(Z @ Z.T - 0.5 * (size[:, None] + size), 0))
        K = smooth + (noise + self.alpha) * np.eye(len(X))
        try:
            L = cholesky(K, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return -np.inf, np.zeros_like(theta)
        a = cho_solve((L, True), y, check_finite=False)
        value = -0.5 * y @ a - np.log(np.diag(L)).sum() - 0.5 * len(X) * np.log(2 * np.pi)
        W = np.outer(a, a) - cho_solve((L, True), np.eye(len(X)), check_finite=False)
        pull = W * smooth
        squares = 2 * (pull.sum(axis=1) @ Z**2 - np.einsum("ik,ik->k", Z, pull @ Z))
        gradient = 0.5 * np.r_[pull.sum(), squares, noise * np.trace(W)]
        return value, gradient


TITLE = "Machines on real tables"
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

EDGE = 1e-3  # probabilities are cut off there before their logarithm is taken, everybody's

# All shifts where fits are cheap; further down the list where they are not.
SHIFTS_AT = {100: 4, 400: 4, 1500: 2, 5000: 1}

QUICK = ("diabetes", "breast cancer", "categories")

QUICK_CONTENDERS = ("VSVC today", "linear", "boosting", "Gaussian process")


def cells(names, sizes, reps):
    """List the cells (name, shift, N, rep), cheap ones first, as many shifts as `SHIFTS_AT` says.

    Which of the induced shifts comes first alternates between problems.
    """
    found = []
    for N in sizes:
        for number, name in enumerate(sorted(names)):
            induced = SHIFTS[1:3] if number % 2 else SHIFTS[2:0:-1]
            natural = name in TABLES and TABLES[name].natural
            shifts = [*(["natural"] if natural else []), *induced, "none"]
            found += [
                (name, shift, N, rep) for rep in range(reps) for shift in shifts[: SHIFTS_AT[N]]
            ]
    return found


def fit_cell(name, shift, N, rep, *contenders):
    """Fit the contenders, or all, on one cell; return a row for each."""
    table = problem(name)
    drawn = split(table, shift, N, rep)
    if drawn is None:
        return []
    about = {"half": half(name), "table": name, "kind": table.kind, "shift": shift, "N": N}
    about |= {"rep": rep, "real": table.truth is None}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # convergence, widths at their bounds, rare categories
        prepare = dummies().fit(drawn.X)
        forms = {"frame": (drawn.X, drawn.T)}
        forms["dummies"] = (prepare.transform(drawn.X), prepare.transform(drawn.T))
        return [
            about | {"contender": name} | fit_one(CONTENDERS[name], table.kind, forms, drawn, rep)
            for name in contenders or CONTENDERS
        ]


def fit_one(contender, kind, forms, drawn, seed):
    """Fit one contender, and score it on the target."""
    X, T = forms[contender.columns]
    start = time.process_time()
    try:
        target = {"X_target": T} if contender.target else {}
        model = contender.make(kind, seed).fit(X, drawn.y, **target)
        predict = model.predict if kind == "regression" else model.predict_proba
        found = np.asarray(predict(T))
    except Exception as error:  # a contender that fails is a result, and no reason to stop
        return {"failed": f"{type(error).__name__}: {error}"[:300]}
    return {"seconds": time.process_time() - start} | scores(found, kind, drawn)


def scores(found, kind, drawn):
    """Return squared error relative to the variance of the outcome, log-loss and accuracy.

    The squared error of generated problems is that against the truth.
    """
    estimate = found if kind == "regression" else found[:, 1]
    aim = drawn.y_T if drawn.truth_T is None else drawn.truth_T
    result = {"error": float(np.mean((estimate - aim) ** 2) / drawn.scale)}
    if kind == "classification":
        p = np.clip(estimate, EDGE, 1 - EDGE)
        right = np.where(drawn.y_T == 1, p, 1 - p)
        result["log_loss"] = float(-np.mean(np.log(right)))
        result["accuracy"] = float(np.mean((estimate > 0.5) == (drawn.y_T == 1)))
    return result


TODAY, TOLERANCE, WORST = "VSVC today", 1.15, 8

ON_TOP = ("blended", "auto")  # corrections of the default, compared with it alone

CELL = ["half", "real", "kind", "table", "shift", "N", "rep"]

HALVES = {"report": "The half on which nothing was chosen", "settle": "The half of the choices"}


def works(share, quick):
    """Cells of both halves, by size."""
    if quick:
        jobs = [(name, "direction", 100, 0, *QUICK_CONTENDERS) for name in QUICK]
        return [Work("report 100", fit_cell, jobs)]
    seconds = {100: 3.0, 400: 8.0, 1500: 40.0, 5000: 120.0}
    works = []
    for part in HALVES:
        names = [*available(part), *(name for name in GENERATED if half(name) == part)]
        for N in SHIFTS_AT if part == "report" else (100, 400):
            title = f"{part} {N}"
            works.append(Work(title, fit_cell, cells(names, (N,), runs(1, share)), seconds[N]))
    return works


def report(parts):
    """Return both halves."""
    found = pd.DataFrame([row for part in parts.values() for _, rows in part for row in rows])
    found = found.reindex(columns=[*found.columns.union(["failed", "log_loss", "accuracy"])])
    sections = [left_out("report")]
    for half_of, title in HALVES.items():
        part = found[found["half"] == half_of]
        if len(part):
            sections += [f"## {title} (`{half_of}`)", *_half(part)]
    failed = found[found["failed"].notna()]
    if len(failed):
        counts = failed.groupby(["contender", "failed"]).size().reset_index(name="fits")
        head = ["contender", "error", "fits"]
        sections += ["## Fits that failed", table(head, counts.to_numpy().tolist())]
    return [
        "Squared error on the target (Brier score for classes) relative to the variance of the "
        "outcome; on generated problems, error against the true function. Figures are geometric "
        f'means of ratios to "{TODAY}", the default of covshift 0.1.0, on the same rows; smaller '
        "is better. Every table counts once, as the mean over its shifts, sizes and draws. Shifts: "
        "natural ones (another region, a later year, ...), selection along a random direction, "
        "selection by the rank in one column, none. Seeds are made of a cell's name; draws of a "
        f"cell: {found['rep'].max() + 1}.",
        'Peers see standardised columns and dummies, "boosting" (HistGradientBoosting) the '
        'categories themselves. "random forest" has 500 trees. "linear" is RidgeCV or '
        'LogisticRegressionCV. "Gaussian process" has one width per column by marginal likelihood, '
        "on 500 rows and in 400 steps at most, and takes classes as numbers 0 and 1, cut off at "
        '.01. "SVM" compares nine pairs of C and gamma by 5 folds, on 1000 rows at most, and '
        "has probabilities by Platt's method.",
        *filter(None, sections),
    ]


def _half(part):
    errors = part.pivot_table(index=CELL, columns="contender", values="error")
    names = [name for name in CONTENDERS if name in errors and name not in ON_TOP]
    logs = np.log(errors[names])
    sections = []
    for real, title in ((True, "Real tables"), (False, "Generated problems")):
        if real not in logs.index.get_level_values("real"):
            continue
        own = logs.xs(real, level="real")
        reference = TODAY if TODAY in own else names[0]
        relative = own.sub(own[reference], axis=0)
        count = own.index.get_level_values("table").nunique()
        sections += [f"### {title}", f"{count} tables.", _by(relative, "N"), _by(relative, "shift")]
        best = _best_peer(own)
        if best is not None:
            sections += [
                f'The best single peer is "{best}"; relative to it, and to the best peer of each '
                "table, chosen with hindsight:",
                _to_peers(own, best),
                f'Each table\'s mean relative to "{reference}":',
                _by_table(relative),
                *_losses(own),
            ]
    corrected = _on_top(np.log(errors))
    part = part[~part["contender"].isin(ON_TOP)]
    seconds = ["CPU seconds of fit and prediction:", _seconds(part)]
    return [*sections, *corrected, *_probabilities(part), *seconds]


def _on_top(logs):
    """Compare corrections of the default machine with it, on the cells that have both."""
    rows = []
    for name in ON_TOP:
        if name not in logs or "default" not in logs:
            continue
        ratio = (logs[name] - logs["default"]).dropna()
        for real in (True, False):
            own = ratio[ratio.index.get_level_values("real") == real]
            if len(own) > 1:
                sizes = sorted(set(own.index.get_level_values("N")))
                rows.append(
                    [
                        name,
                        "real" if real else "generated",
                        f"{len(own)} (N = {', '.join(map(str, sizes))})",
                        f"{np.exp(own.mean()):.4f}",
                        f"{own.std() / np.sqrt(len(own)):.4f}",
                        f"{np.exp(own.max()):.3f}",
                    ]
                )
    if not rows:
        return []
    header = ["correction", "problems", "cells", "geometric mean", "s.e.", "worst cell"]
    return [
        "### A correction on top",
        'Relative to "default", which has none, on the cells that have both; the standard error is '
        "that of the mean logarithm.",
        table(header, rows),
    ]


def _mean(logs):
    """Geometric mean in which every table counts once."""
    return np.exp(logs.groupby(level="table").mean().mean())


def _by(relative, level):
    values = relative.index.get_level_values(level)
    columns = {str(value): _mean(relative[values == value]) for value in dict.fromkeys(values)}
    columns = dict(sorted(columns.items(), key=lambda item: _number(item[0])))
    kinds = relative.index.get_level_values("kind")
    if level == "N":
        columns = {f"N = {value}": column for value, column in columns.items()}
        columns |= {kind: _mean(relative[kinds == kind]) for kind in dict.fromkeys(kinds)}
    columns["all"] = _mean(relative)
    rows = [
        [name, *(_show(column[name]) for column in columns.values())] for name in relative.columns
    ]
    return table(["", *columns], rows)


def _best_peer(logs):
    peers = [name for name in PEERS if name in logs]
    return min(peers, key=lambda name: _mean(logs)[name]) if peers else None


def _to_peers(logs, best):
    hindsight = _by_best_of_table(logs)
    single = _mean(logs.sub(logs[best], axis=0))
    rows = [
        [
            name,
            _show(single[name]),
            _show(np.exp(hindsight[name].mean())),
            f"{(np.exp(hindsight[name]) > TOLERANCE).sum()} of {hindsight[name].notna().sum()}",
            f"{_show(np.exp(hindsight[name].max()))} ({hindsight[name].idxmax()})",
        ]
        for name in logs.columns
    ]
    header = ["", f'to "{best}"', "to the best of each table", f"tables above {TOLERANCE}", "worst"]
    return table(header, rows)


def _by_best_of_table(logs):
    """Log of each table's error relative to the peer that is best on it."""
    means = logs.groupby(level="table").mean()
    return means.sub(means[[name for name in PEERS if name in means]].min(axis=1), axis=0)


def _by_table(relative):
    means = np.exp(relative.groupby(level=["kind", "table"]).mean())
    rows = [[f"{name} ({kind[:5]}.)", *map(_show, row)] for (kind, name), row in means.iterrows()]
    return table(["table", *means.columns], rows)


def _losses(logs):
    """Name where the first of our contenders that took part loses to the best peer."""
    ours = [name for name in ("default", *CONTENDERS) if name in logs and CONTENDERS[name].ours]
    if not ours:
        return []
    cells = logs[[name for name in PEERS if name in logs]]
    behind = (logs[ours[0]] - cells.min(axis=1)).groupby(level=["table", "N"]).mean()
    best = cells.groupby(level=["table", "N"]).mean().idxmin(axis=1)
    worst = behind.sort_values(ascending=False).head(WORST)
    rows = [[name, N, _show(np.exp(value)), best[name, N]] for (name, N), value in worst.items()]
    return [
        f'Where "{ours[0]}" loses most, relative to the best peer of each cell:',
        table(["table", "N", "ratio", "best peer"], rows),
    ]


def _probabilities(part):
    classes = part[part["kind"] == "classification"]
    if not len(classes):
        return []
    names = [name for name in CONTENDERS if name in set(classes["contender"])]
    columns = {}
    for real, title in ((True, "real"), (False, "generated")):
        for value, label in (("log_loss", "log-loss"), ("accuracy", "accuracy")):
            cells = classes[classes["real"] == real].pivot_table(
                index=CELL, columns="contender", values=value
            )
            if len(cells):
                cells = cells.reindex(columns=names).dropna(axis=1, how="all").dropna()
                columns[f"{label}, {title}"] = cells.groupby(level="table").mean().mean()
    rows = [
        [name, *(_show(column.get(name, np.nan)) for column in columns.values())] for name in names
    ]
    return [
        "### Probabilities",
        "Means over tables, of the cells in which everybody took part; probabilities are cut off "
        "at .001 before their logarithm is taken.",
        table(["", *columns], rows),
    ]


def _seconds(part):
    means = part.pivot_table(index="contender", columns="N", values="seconds")
    rows = [
        [name, *(f"{value:.2g}" for value in means.loc[name])]
        for name in CONTENDERS
        if name in means.index
    ]
    return table(["", *(f"N = {N}" for N in means.columns)], rows)


def _number(text):
    return (0, int(text), "") if text.isdigit() else (1, 0, text)


def _show(value):
    return "–" if np.isnan(value) else f"{value:.3f}"


if __name__ == "__main__":
    main(__file__)
