"""Influence on weighted means of weights that solve an equation: M-estimation.

Weights w(x; beta) whose parameters solve sum_i g_i(beta) = 0 over the rows of both samples move
with every row, and with them the weighted mean mu = sum w L / sum w. To first order a row changes
mu by its own term and by what it does to the parameters,

    psi_i = [training row] w_i (L_i - mu) / sum w + c' A^-1 g_i ,

c = d mu / d beta and A = -d sum g / d beta. Scales and units of the features, which are learned
from the same rows, count as known: they change weights only where there is a penalty.

Source: Stefanski and Boos (2002), *The calculus of M-estimation*. Cost O((N + M)(q^2 + q k)).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from ..numerics.array import Flags, Real

Influences = tuple[Real, Real, Real]  # weighted means (k,), training rows (N, k), target (M, k)


def tilted(values: Real, f: Real, f_target: Real, w: Real, share: Real, reg: float) -> Influences:
    """Influence under weights w proportional to d exp(theta'f) that balance the moments f (N, q).

    theta solves sum w (f - m) / sum w + reg theta = 0, m the target's mean. With the regression
    B = (cov_w(f) + reg I)^-1 cov_w(f, L):

        training rows  w_i [L_i - mu - B'(f_i - mean_w f)] / sum w ,
        target rows    s_q B'(f_q - m) .
    """
    own = w / w.sum()
    mu, centre, m = own @ values, own @ f, share @ f_target
    apart, rest = f - centre, values - mu
    weighted = own[:, None] * apart
    A = weighted.T @ apart + reg * np.eye(f.shape[1])
    B = np.linalg.pinv(A, rcond=1e-12, hermitian=True) @ (weighted.T @ rest)
    return mu, own[:, None] * (rest - apart @ B), share[:, None] * ((f_target - m) @ B)


def calibrated(values: Real, f: Real, f_target: Real, w: Real, share: Real, d: Real) -> Influences:
    """Influence under weights w, to which the weights d of a design were calibrated to meet f.

    As survey software has it: the residuals of a regression of L - mu on (1, f - m), coefficients b
    and B, by the design weights, times the calibrated weights (Deville and Särndal 1992):

        training rows  w_i [L_i - mu - b - B'(f_i - m)] / sum w ,
        target rows    s_q B'(f_q - m) .

    It is `tilted` where w / d is near one, as in a sample that was drawn by d. In one that was not,
    B is off and the variance too large.
    """
    own, design = w / w.sum(), d / d.sum()
    mu, m = own @ values, share @ f_target
    columns, rest = np.column_stack([np.ones(len(f)), f - m]), values - mu
    weighted = design[:, None] * columns
    A = np.linalg.pinv(weighted.T @ columns, rcond=1e-12, hermitian=True) @ (weighted.T @ rest)
    return mu, own[:, None] * (rest - columns @ A), share[:, None] * ((f_target - m) @ A[1:])


def clipped_tilt(
    values: Real, f: Real, f_target: Real, w: Real, share: Real, d: Real, free: Flags
) -> Influences:
    """Influence under weights w = d clip(exp(a + theta'f)) that have the sum of d and the moments.

    Only rows that are ``free`` follow a and theta: the factor of others stays at a limit. With the
    regression of L - mu on (1, f - m) by the weights of the free rows, coefficients b and B,

        training rows  w_i [L_i - mu - b - B'(f_i - m)] / sum w + b d_i / sum d ,
        target rows    s_q B'(f_q - m) .
    """
    own = w / w.sum()
    mu, m = own @ values, share @ f_target
    apart, rest = f - m, values - mu
    columns = np.column_stack([np.ones(len(f)), apart])
    weighted = (own * free)[:, None] * columns
    A = np.linalg.pinv(weighted.T @ columns, rcond=1e-10, hermitian=True)
    b, B = np.split(A @ (weighted.T @ rest), [1])
    train = own[:, None] * (rest - b - apart @ B) + (d / d.sum())[:, None] * b
    return mu, train, share[:, None] * ((f_target - m) @ B)


def logistic_odds(
    values: Real,
    f: Real,
    f_target: Real,
    w: Real,
    counts: tuple[Real, Real],
    beta: Real,
    ridge: Real,
    *,
    free: Flags | None = None,
) -> Influences:
    """Influence under weights w proportional to d exp(beta'f), the odds of a logistic regression.

    beta solves sum_target v (1 - p) f - sum_train v p f = diag(ridge) beta, with ``counts`` v of
    the training and of the target rows. With H = sum v p (1 - p) f f' + diag(ridge) and
    c = sum w (L - mu) f / sum w:

        training rows  w_i (L_i - mu) / sum w - c'H^-1 (v_i p_i f_i + e_i) ,
        target rows    c'H^-1 (v_q (1 - p_q) f_q - e_q) ,

    e = diag(ridge) beta v / sum v, so that all of them sum to zero. Only rows that are ``free``
    follow beta: the weight of others stays at a limit.
    """
    own = w / w.sum()
    mu = own @ values
    rest = own[:, None] * (values - mu)
    c = f.T @ (rest if free is None else rest * free[:, None])
    v, v_target = counts
    p, p_target = expit(f @ beta), expit(f_target @ beta)
    H = np.diag(ridge) + (f * (v * p * (1 - p))[:, None]).T @ f
    H += (f_target * (v_target * p_target * (1 - p_target))[:, None]).T @ f_target
    pull = np.linalg.pinv(H, rcond=1e-13, hermitian=True) @ c
    even = (ridge * beta) @ pull / (v.sum() + v_target.sum())
    train = rest - v[:, None] * (p[:, None] * (f @ pull) + even)
    return mu, train, v_target[:, None] * ((1 - p_target)[:, None] * (f_target @ pull) - even)


def penalty_of(model: Any) -> float | None:
    """Penalty of the squared slopes in a logistic regression; None where it is another model."""
    if type(model) is not LogisticRegression or model.class_weight is not None:
        return None
    if model.solver == "liblinear" or model.l1_ratio:  # penalises the intercept; absolute values
        return None
    if model.penalty is None:
        return 0.0
    return 1 / float(model.C) if model.penalty in ("l2", "deprecated") else None


def design_matrix(model: LogisticRegression, X: Real) -> Real:
    """Features (N, q) that the coefficients of `coefficients_of` belong to."""
    return np.column_stack([np.ones(len(X)), X]) if model.fit_intercept else X


def coefficients_of(model: LogisticRegression, penalty: float) -> tuple[Real, Real]:
    """Coefficients (q,) of a fitted logistic regression, and the penalty of each."""
    slopes = model.coef_.reshape(-1)
    ridge = np.full(len(slopes), penalty)
    if not model.fit_intercept:
        return slopes, ridge
    return np.append(model.intercept_, slopes), np.append(0.0, ridge)
