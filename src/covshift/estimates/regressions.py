"""Regression coefficients for the target: linear or logistic.

With the regressors x' = (1, x), the mean function mu (identity, or the logistic function), and
the cross-fitted prediction h of the outcome, the coefficients solve the doubly robust score

    sum_q s_q x'(t_q) [h(t_q) - mu(x'(t_q)'b)] + sum w x'(x_i) [y_i - h(x_i)] / sum w = 0 .

"weights" solves sum w x' (y - mu) = 0 on the training rows, "none" the same with the design
weights alone, "model" the first sum alone. Errors are sandwiches: the influence of a row on b is
A^-1 times its influence on the mean score, A = mean of mu' x' x'' where the score is summed. Each
slope takes one of the degrees of freedom.

Source: Robins, Rotnitzky and Zhao (1994). Cost: O((N + M) p^2) per step of Newton's method.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..data import Samples
from ..data.parameters import one_of
from ..engine.intervals import Errors
from ..engine.measures import METHODS, Measures, Method, Signal, leaning
from ..engine.problem import Item, Problem
from ..exceptions import InputError
from ..numerics.array import Real
from ..numerics.crossfit import CrossFit
from ..numerics.influence import Influence, mean_influence
from .quantities import Quantity

Family = Literal["linear", "logistic"]
_STEPS = 100


@dataclass(frozen=True)
class Coefficients(Quantity):
    """Intercept and coefficients of a regression of the outcome, for the target.

    Parameters
    ----------
    regressors : name, number or list of these, optional
        Features; default: all.
    family : {"linear", "logistic"}

    Examples
    --------
    >>> from covshift import Coefficients, estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> found = estimate(survey.X, survey.y, survey.X_target, what=Coefficients([0]))
    >>> [row.what for row in found]
    ['intercept', 'x0']
    """

    regressors: Any = None
    family: Family = "linear"

    def check(self, by: Any) -> None:
        one_of("linear", "logistic").check(self.family, "family")
        if by is not None:
            raise InputError("what='coefficients' has no groups: leave out by.")

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        columns, names = self._columns(problem.sample)
        binary = bool(np.isin(y, (0.0, 1.0)).all())
        if self.family == "logistic" and not binary:
            raise InputError(
                f"family='logistic' needs an outcome of zeros and ones, but {name!r} has others."
            )
        signal = problem.indicator(y, name) if binary else problem.numbers(y, name)
        X, T = (np.column_stack([np.ones(len(part)), part]) for part in columns)
        _check_rank(X[problem.sample.d > 0], names)
        given = signal, X, T, self.family
        found = {m: _solve(problem.measures, *given, m) for m in METHODS}
        if problem.measures.flat is not None:
            flat = _solve(problem.measures.flat, *given, "dr")
            every = [leaning(found["dr"].column(k), flat.column(k)) for k in range(X.shape[1])]
            found["dr"] = replace(
                found["dr"],
                value=np.array([one.value[0] for one in every]),
                apart=np.array([float(np.sum(one.apart)) for one in every]),
            )
        size = problem.size_of(None)
        errors = {m: _errors(problem, m, len(names)) for m in METHODS}
        for k, column in enumerate(("intercept", *names)):
            numbers = {m: errors[m].number(found[m].column(k)) for m in METHODS}
            change = None
            if problem.method in ("dr", "weights"):
                difference = found[problem.method].minus(found["none"]).column(k)
                change = errors[problem.method].number(difference)
            own, moved = found["dr"].column(k), None
            if problem.fixed is not None:
                if (column, None) not in problem.fixed:
                    b = found[problem.explained_method].value
                    inverse = _inverse(T, problem.sample.share, b, self.family)
                    problem.fixed[column, None] = found["none"].value, inverse[k]
                b, slope = problem.fixed[column, None]
                scores = (X @ slope) * (signal.values[:, 0] - _mean(X @ b, self.family))
                both = found["none"].column(k), found[problem.explained_method].column(k)
                moved = problem.moved(b[k] + scores, *both, errors)
            yield Item(column, None, numbers, False, size, errors, change, own, moved)

    def _columns(self, sample: Samples) -> tuple[tuple[Real, Real], tuple[str, ...]]:
        """Return the columns of the regressors, (N, p) and (M, p), and their names."""
        if self.regressors is None:
            return (sample.X, sample.T), sample.names
        given = self.regressors
        given = [given] if isinstance(given, str) or not hasattr(given, "__iter__") else list(given)
        places = []
        for column in given:
            if isinstance(column, str) and column in sample.names:
                places.append(sample.names.index(column))
            elif isinstance(column, int | np.integer) and 0 <= column < len(sample.names):
                places.append(int(column))
            else:
                raise InputError(
                    f"regressors: {column!r} is not one of the columns "
                    f"{', '.join(map(repr, sample.names[:20]))}."
                )
        names = tuple(sample.names[k] for k in places)
        return (sample.X[:, places], sample.T[:, places]), names


def _solve(
    measures: Measures, signal: Signal, X: Real, T: Real, family: Family, method: Method
) -> Influence:
    share, h, y = measures.share, signal.h, signal.values[:, 0]
    no_target = np.zeros((len(T), X.shape[1]))
    if method in ("none", "weights"):
        w = measures.d if method == "none" else measures.weights.final
        w = w / w.sum()
        b, A = _newton(X, w, X.T @ (w * y), family)
        fitted, fitted_target = _mean(X @ b, family), _mean(T @ b, family)
        scores = X * (y - fitted)[:, None]
        known = X * (h.train[:, 0] - fitted)[:, None]
        known_target = T * (h.folds[:, :, 0] - fitted_target)[:, :, None]
        found = measures.means(Signal(scores, CrossFit(known, known_target)), method)
        return replace(found.linear(A.T), value=b)
    means = [share * column for column in h.folds[:, :, 0]]
    if method == "model":
        by_fold = np.array([_newton(T, share, T.T @ part, family)[0] for part in means])
        b, A = _newton(T, share, T.T @ (share * h.target[:, 0]), family)
        train = measures.jackknife(by_fold)
    else:
        weights = measures.weights
        left, train = mean_influence(X * (y - h.train[:, 0])[:, None], weights.final)
        b, A = _newton(T, share, T.T @ (share * h.target[:, 0]) + left, family)
        train = weights.few_rows * train @ A
    score = T * (h.target[:, 0] - _mean(T @ b, family))[:, None]
    target = (share[:, None] * (score - share @ score)) @ A
    return Influence(b, train, no_target if measures.finite_population else target)


def _inverse(X: Real, w: Real, b: Real, family: Family) -> Real:
    """Inverse of the derivative of sum w x' mu(x'b) by b: (p, p)."""
    mu = _mean(X @ b, family)
    slope = mu * (1 - mu) if family == "logistic" else np.ones(len(w))
    return np.asarray(np.linalg.pinv(((w * slope)[:, None] * X).T @ X, hermitian=True))


def _newton(X: Real, w: Real, moment: Real, family: Family) -> tuple[Real, Real]:
    """Solve sum w x' mu(x'b) = moment for b; also the inverse of the derivative, (p, p)."""
    b = np.zeros(X.shape[1])
    if family == "linear":
        inverse = np.linalg.pinv((w[:, None] * X).T @ X, hermitian=True)
        return inverse @ moment, np.asarray(inverse)
    for _ in range(_STEPS):
        mu = expit(X @ b)
        gradient = moment - X.T @ (w * mu)
        inverse = np.linalg.pinv(((w * mu * (1 - mu))[:, None] * X).T @ X, hermitian=True)
        step = inverse @ gradient
        if np.abs(X @ step).max() > 5:  # far from the solution a full step overshoots
            step *= 5 / np.abs(X @ step).max()
        b = b + step
        if np.abs(gradient).max() < 1e-12:
            return b, np.asarray(inverse)
        if np.abs(X @ b).max() > 500:
            break
    if np.abs(gradient).max() < 1e-8:
        return b, np.asarray(inverse)
    raise InputError(
        "The logistic regression has no finite coefficients: the regressors tell the two classes "
        "apart, or a corrected share lies outside of zero to one. Use fewer regressors, or "
        "family='linear'."
    )


def _errors(problem: Problem, method: Method, slopes: int) -> Errors:
    """Errors of a regression: every slope takes a degree of freedom."""
    errors = problem.errors(method)
    if method == "model":
        return errors
    return replace(errors, freedom=max(0.0, errors.freedom - slopes))


def _mean(linear: Real, family: Family) -> Real:
    return np.asarray(expit(linear) if family == "logistic" else linear)


def _check_rank(X: Real, names: tuple[str, ...]) -> None:
    units = np.abs(X).max(axis=0)
    rank = np.linalg.matrix_rank(X / np.where(units > 0, units, 1.0))
    if rank < X.shape[1]:
        raise InputError(
            f"The {len(names)} regressors are linearly dependent on the training rows, so that "
            "their coefficients are not determined. Leave out columns, such as one level of every "
            "category, with regressors=[...]."
        )
