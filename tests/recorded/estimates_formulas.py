"""The formulas behind the recorded values of svy and delicatessen, in plain NumPy and SciPy.

    python tests/recorded/estimates_formulas.py    # checks estimates_peers.json

`make_estimates.py` found every value with the libraries and requires that these
formulas give the same to 1e-6 (relative). Neither library is needed here.

One idea covers all of svy's estimates: each has one score per row, z_i, with estimate - truth
close to the sum of the z_i, and the variance of that sum over the design is

    V = sum_h  n_h / (n_h - 1)  sum_{c in h} (z_hc - mean_h z)^2,

z_hc the sum of the scores in cluster (PSU) c of stratum h, n_h the number of clusters in h. Without
clusters every row is one, without strata all rows are one stratum. No finite population correction.
A domain keeps all n_h of the whole sample; rows outside have the score 0. So do rows of weight 0:
they count in n_h, but not in the degrees of freedom.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from scipy import special, stats

RECORDED = Path(__file__).with_name("estimates_peers.json")
LEVEL = 0.95
RULES = ("higher", "lower", "nearest", "linear", "middle")
ZERO_WEIGHTS = 5  # so many rows get the weight 0 in "mean, some weights 0"


KEYS = ("svy", "quantiles with ties", "delicatessen")


# The design: variance of a sum of scores, degrees of freedom, intervals.


def covariance(scores, stratum, cluster):
    """Covariance of the column sums of `scores`: clusters within strata, centred per stratum."""
    scores = np.asarray(scores, dtype=float).reshape(len(stratum), -1)
    total = np.zeros((scores.shape[1], scores.shape[1]))
    for h in np.unique(stratum):
        rows = stratum == h
        sums = np.array([scores[rows & (cluster == c)].sum(0) for c in np.unique(cluster[rows])])
        centred = sums - sums.mean(0)
        total += len(sums) / (len(sums) - 1) * centred.T @ centred
    return total


def degrees_of_freedom(stratum, cluster, rows):
    """Clusters less strata, of those with a row in the domain and a weight above 0 (`rows`)."""
    return len(set(zip(stratum[rows], cluster[rows], strict=True))) - len(set(stratum[rows]))


def t_quantile(df):
    return stats.t.ppf((1 + LEVEL) / 2, df)


def wald(estimate, se, df):
    t = t_quantile(df)
    return record(estimate, se, estimate - t * se, estimate + t * se, df)


def record(estimate, se, lower, upper, df):
    """Plain numbers; None where there is none (a limit of a quantile beyond the data)."""
    found = {"estimate": estimate, "se": se, "lower": lower, "upper": upper}
    numbers = {key: float(value) if np.isfinite(value) else None for key, value in found.items()}
    return {**numbers, "df": int(df)}


def from_scores(estimate, scores, stratum, cluster, rows):
    se = np.sqrt(covariance(scores, stratum, cluster)[0, 0])
    return wald(estimate, se, degrees_of_freedom(stratum, cluster, rows))


# Scores of the estimates: estimate - truth = sum of the scores.


def mean_scores(y, w, rows=None):
    """The mean, and w (y - mean) / sum w over the rows of the domain, 0 elsewhere."""
    inside = w if rows is None else w * rows
    mean = inside @ y / inside.sum()
    return mean, inside * (y - mean) / inside.sum()


def ratio_scores(y, z, w):
    ratio = (w @ y) / (w @ z)
    return ratio, w * (y - ratio * z) / (w @ z)


def proportion_intervals(p, se, df, n):
    """Three intervals of svy for a proportion; logit is its default."""
    t = t_quantile(df)
    logit, scale = special.logit(p), se / (p * (1 - p))
    size = p * (1 - p) / se**2 * (t_quantile(n - 1) / t) ** 2  # effective rows, for the df
    middle = (p + t**2 / (2 * size)) / (1 + t**2 / size)
    half = t / (1 + t**2 / size) * np.sqrt(p * (1 - p) / size + t**2 / (4 * size**2))
    tail = (1 - LEVEL) / 2
    found = {
        "logit": (special.expit(logit - t * scale), special.expit(logit + t * scale)),
        "wilson": (middle - half, middle + half),
        "beta": (
            stats.beta.ppf(tail, size * p, size * (1 - p) + 1),
            stats.beta.ppf(1 - tail, size * p + 1, size * (1 - p)),
        ),
    }
    return {name: [float(lower), float(upper)] for name, (lower, upper) in found.items()}


# Quantiles: the inverse of the weighted distribution function, by five rules.


def inverse(y, w, p, rule):
    """F has the steps c_k = (w_1 + ... + w_k) / sum w at the sorted y_k. With k the first of
    c_k >= p: higher y_k; lower y_(k-1); middle their mean; linear on the line through
    (c_(k-1), y_(k-1)) and (c_k, y_k); nearest the one whose c is nearer to p. At k = 1, y_1.
    There is none outside [0, 1].
    """
    if not 0 <= p <= 1:
        return np.nan
    order = np.argsort(y, kind="stable")
    y, steps = y[order], np.cumsum(w[order]) / w.sum()
    k = min(int(np.searchsorted(steps, p, side="left")), len(y) - 1)
    if rule == "higher" or k == 0:
        return y[k]
    below, share = y[k - 1], (p - steps[k - 1]) / (steps[k] - steps[k - 1])
    return {
        "lower": below,
        "middle": (below + y[k]) / 2,
        "linear": below + share * (y[k] - below),
        "nearest": below if share <= 0.5 else y[k],
    }[rule]


def woodruff(y, w, p, rule, stratum, cluster):
    """F^-1(F(q) -+ t se(F(q))), with F(q) the share of y <= q, not p, and t of the design's df;
    the standard error is the interval's width / (2 t).
    """
    q = inverse(y, w, p, rule)
    share, scores = mean_scores((y <= q).astype(float), w)
    df = degrees_of_freedom(stratum, cluster, w > 0)
    t, se = t_quantile(df), np.sqrt(covariance(scores, stratum, cluster)[0, 0])
    lower, upper = (inverse(y, w, share + sign * t * se, rule) for sign in (-1, 1))
    return record(q, (upper - lower) / (2 * t), lower, upper, df)


# Regressions: scores are the inverse Hessian times the estimating functions.


def regression(X, y, w, stratum, cluster, logistic):
    """Coefficients beta with sum w x (y - mu) = 0; covariance A^-1 V(sum w x (y - mu)) A^-1,
    A = sum w mu' x x'; df = clusters - strata - (coefficients - 1).
    """
    X = np.column_stack([np.ones(len(X)), X])
    beta = np.zeros(X.shape[1])
    for _ in range(50):
        mu = special.expit(X @ beta) if logistic else X @ beta
        slope = mu * (1 - mu) if logistic else np.ones(len(y))
        A = X.T @ (X * (w * slope)[:, None])
        beta = beta + np.linalg.solve(A, X.T @ (w * (y - mu)))
    mu = special.expit(X @ beta) if logistic else X @ beta
    scores = (X * (w * (y - mu))[:, None]) @ np.linalg.inv(A)
    V = covariance(scores, stratum, cluster)
    df = degrees_of_freedom(stratum, cluster, w > 0) - (X.shape[1] - 1)
    return {
        "coefficients": [wald(b, s, df) for b, s in zip(beta, np.sqrt(np.diag(V)), strict=True)],
        "covariance": V.tolist(),
    }


def survey(data, stratum, cluster):
    """All that svy estimates under one design."""
    y, z, w, g, b, X = (np.asarray(data[k], dtype=float) for k in ("y", "z", "w", "g", "b", "x"))
    design, whole = (stratum, cluster), (stratum, cluster, w > 0)
    cut = np.where(np.arange(len(w)) < ZERO_WEIGHTS, 0.0, w)
    found = {
        "mean": from_scores(*mean_scores(y, w), *whole),
        "mean, some weights 0": from_scores(*mean_scores(y, cut), *design, cut > 0),
        "total": from_scores(w @ y, w * y, *whole),
        "ratio": from_scores(*ratio_scores(y, z, w), *whole),
        "mean of b": from_scores(*mean_scores(b, w), *whole),
    }
    p = found["mean of b"]
    found["intervals of b"] = proportion_intervals(p["estimate"], p["se"], p["df"], len(b))
    levels = np.unique(g)
    domains = [mean_scores(y, w, g == level) for level in levels]
    found["domains"] = {
        str(int(level)): from_scores(*domain, *design, g == level)
        for level, domain in zip(levels, domains, strict=True)
    }
    found["domain covariance"] = covariance(np.transpose([s for _, s in domains]), *design).tolist()
    (first, first_scores), (second, second_scores) = domains[0], domains[1]
    found["difference 1 - 0"] = from_scores(second - first, second_scores - first_scores, *whole)
    ratio = second / first
    found["ratio 1 / 0"] = from_scores(
        ratio, (second_scores - ratio * first_scores) / first, *whole
    )
    found["quantiles"] = {
        rule: {str(p): woodruff(y, w, p, rule, *design) for p in (0.25, 0.5, 0.75)}
        for rule in RULES
    }
    found["linear"] = regression(X, y, w, *design, logistic=False)
    found["logistic"] = regression(X, b, w, *design, logistic=True)
    return found


def ties(case):
    """Quantiles with equal values, probabilities on a step of F and limits beyond the data."""
    y, w = np.asarray(case["y"], dtype=float), np.asarray(case["w"], dtype=float)
    design = np.zeros(len(y), int), np.arange(len(y))
    return {
        rule: {str(p): woodruff(y, w, p, rule, *design) for p in case["probabilities"]}
        for rule in RULES
    }


def designs(data):
    """No strata and no clusters; strata; strata and clusters. One row is one cluster at first."""
    n = len(data["y"])
    rows, one = np.arange(n), np.zeros(n, int)
    stratum, psu = np.asarray(data["stratum"]), np.asarray(data["psu"])
    return {"weights": (one, rows), "strata": (stratum, rows), "clusters": (stratum, psu)}


# Estimated weights: the sandwich over all n + m rows is the sum of squared influence values,
# without n / (n - 1) and without centring (the values of a stacked solution sum to 0).


def logistic_weights(X, y, T, penalty=0.0):
    """Weights exp(x'beta), beta from the logistic regression of "is a target row", where
    sum (s - p) x = penalty beta (0 for the intercept). The influence of a row is

        [train] w (y - theta) / W  +  c' (H + penalty)^-1 ((s - p) x - penalty beta / (n + m)),

    c = sum_train w (y - theta) x / W, H = sum p (1 - p) x x'. The share of the penalty per row only
    centres the scores, since they sum to penalty beta.
    """
    rows = np.column_stack([np.ones(len(X) + len(T)), np.concatenate([X, T])])
    s = np.repeat([0.0, 1.0], [len(X), len(T)])
    ridge = penalty * np.diag([0.0] + [1.0] * X.shape[1])
    beta = np.zeros(rows.shape[1])
    for _ in range(50):
        p = special.expit(rows @ beta)
        H = rows.T @ (rows * (p * (1 - p))[:, None]) + ridge
        beta = beta + np.linalg.solve(H, rows.T @ (s - p) - ridge @ beta)
    w = np.where(s == 0, np.exp(rows @ beta), 0.0)
    response = np.concatenate([y, np.zeros(len(T))])
    theta, own = mean_scores(response, w)
    scores = rows * (s - p)[:, None] - ridge @ beta / len(s)
    influence = own + scores @ np.linalg.solve(H, rows.T @ own)
    return {"estimate": float(theta), "se": float(np.sqrt(influence @ influence))}


def entropy_weights(X, y, T, d=None):
    """Weights d exp(lambda'(x - m)) with weighted mean m = mean of T. The influence is
    w (y - theta - B'(x - m)) / W for a training row and B'(t - m) / M for a target row,
    B = (sum w (x - m)(x - m)')^-1 sum w (x - m)(y - theta).
    """
    d = np.ones(len(X)) if d is None else d
    m = T.mean(0)
    centred, tilt = X - m, np.zeros(X.shape[1])
    for _ in range(100):
        w = d * np.exp(centred @ tilt)
        tilt = tilt - np.linalg.solve(centred.T @ (centred * w[:, None]), centred.T @ w)
    w = d * np.exp(centred @ tilt)
    theta = w @ y / w.sum()
    B = np.linalg.solve(centred.T @ (centred * w[:, None]), centred.T @ (w * (y - theta)))
    training = w * (y - theta - centred @ B) / w.sum()
    target = (T - m) @ B / len(T)
    se = np.sqrt(training @ training + target @ target)
    return {"estimate": float(theta), "se": float(se)}


def stacked(data):
    """All that delicatessen estimates."""
    X, y, T, d = (np.asarray(data[key], dtype=float) for key in ("x", "y", "target", "w"))
    return {
        "logistic": logistic_weights(X, y, T),
        "ridge": logistic_weights(X, y, T, penalty=1.0),
        "entropy": entropy_weights(X, y, T),
        "entropy with design weights": entropy_weights(X, y, T, d),
    }


def formulas(data):
    """Every recorded value, by formula: the same keys as in the file."""
    return {
        "svy": {name: survey(data, *design) for name, design in designs(data).items()},
        "quantiles with ties": ties(data["ties"]),
        "delicatessen": stacked(data),
    }


def furthest(found, expected, path=""):
    """The largest relative difference of two trees of numbers with the same keys, and where."""
    if isinstance(expected, dict | list):
        keys = expected if isinstance(expected, dict) else range(len(expected))
        if len(found) != len(expected):
            raise ValueError(f"{path}: {len(found)} values for {len(expected)}")
        return max(furthest(found[key], expected[key], f"{path}/{key}") for key in keys)
    if found is None or expected is None:
        return (0.0 if found is expected else np.inf), path
    if not np.isfinite([found, expected]).all():
        raise ValueError(f"{path}: {found} for {expected}")
    return abs(found - expected) / max(abs(expected), 1e-3), path


if __name__ == "__main__":
    stored = json.loads(RECORDED.read_text())
    difference, where = furthest(formulas(stored["data"]), {key: stored[key] for key in KEYS})
    print(f"largest relative difference {difference:.1e}, at {where}")
    sys.exit(difference > 1e-6)
