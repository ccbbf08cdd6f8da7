"""Records what svy and delicatessen estimate on a made-up sample.

    pip install -r tests/recorded/estimates-requirements.txt    # in an environment of its own
    python tests/recorded/make_estimates.py

with svy 0.35.0 and delicatessen 4.3. The tests read the file and need neither library. The sample
is stored too, rounded to 4 decimals, so nothing depends on a random stream.

svy: weights known; without strata, with strata, with strata and clusters: means, totals, ratios,
proportions, domains and their contrasts, quantiles by five rules, a linear and a logistic
regression. delicatessen: weights estimated, M-estimation with stacked estimating equations.
`estimates_formulas.py` holds the formula of every value; this script stops unless they agree to
1e-6.
"""

from __future__ import annotations

import json
from importlib.metadata import version

import numpy as np
import polars as pl
import svy
from delicatessen import MEstimator
from delicatessen.estimating_equations import ee_regression, ee_ridge_regression
from estimates_formulas import RECORDED, RULES, ZERO_WEIGHTS, formulas, furthest

DESIGNS = {
    "weights": {},
    "strata": {"stratum": "stratum"},
    "clusters": {"stratum": "stratum", "psu": "psu"},
}
PROBABILITIES = (0.25, 0.5, 0.75)

NOTES = {
    "variance": "svy: scores z with estimate - truth = sum z; V = sum_h n_h/(n_h-1) sum_c "
    "(z_hc - mean_h)^2 over clusters c (rows, where there are none) of stratum h; no finite "
    "population correction.",
    "weights of 0": "The row counts in n_h, not in df. 'mean, some weights 0': the first 5 rows.",
    "lonely clusters": "A stratum with one cluster is an error in svy, unless a rule is declared.",
    "domains": "Scores are 0 outside the domain and n_h counts all clusters of the stratum. df "
    "counts only clusters and strata with a row in the domain.",
    "contrasts": "Difference and ratio (delta method) of domain means from the joint covariance; "
    "df of the whole design, not of the domains.",
    "df": "clusters - strata; regressions: clusters - strata - (coefficients - 1). Intervals are "
    "estimate -+ t se, t at df.",
    "proportion": "The standard error is that of the mean of b. svy's default interval is "
    "logit: expit(logit p -+ t se/(p(1-p))).",
    "quantiles": "F with steps at the sorted y; rule 'higher' (svy's default, R's qrule 'math'): "
    "the smallest y with F(y) >= p; 'linear' interpolates between the points (F(y_k), y_k). "
    "Woodruff: F^-1(F(q) -+ t se(F(q))) by the same rule, centred at F(q), the share of y <= q, "
    "and not at p; se = width / (2 t), t at df. A limit at a probability outside [0, 1] is "
    "missing (null), and so is se. An estimate at the largest y has "
    "F(q) = 1 and se(F(q)) = 0: an interval of width 0. 'lower' "
    "takes y_(k-1) even where F(y_k) = p.",
    "regression": "A^-1 V A^-1, A = sum w mu'(eta) x x', V the design's covariance of the sum of "
    "w x (y - mu): centred per stratum and with n_h/(n_h-1), thus not HC0.",
    "delicatessen": "n, not n - 1: the covariance is A^-1 (sum psi psi') A^-T with A the sum of "
    "derivatives, over the 60 + 80 rows as one sample. This is the sum of squared influence "
    "values. It is centred over all rows together, not per sample.",
    "ridge": "score - lambda beta = 0 with lambda = 1 for the slopes and 0 for the intercept, as "
    "LogisticRegression(C=1); each row carries lambda beta / (n + m), which centres the scores.",
    "scale": "Weights exp(x'beta) with the intercept in beta: the estimate has no scale.",
}


def made_up_sample():
    rng = np.random.default_rng(16)
    sizes, clusters = (18, 16, 14, 12), (5, 4, 4, 3)
    X, T = rng.normal(size=(60, 2)), rng.normal([0.4, -0.2], 0.9, size=(80, 2))
    stratum = np.repeat(np.arange(4), sizes)
    psu = np.concatenate(
        [10 * h + np.arange(n) % c for h, (n, c) in enumerate(zip(sizes, clusters, strict=True))]
    )
    g = rng.integers(0, 3, 60)
    g[(stratum == 3) & (g == 2)] = 0  # one domain misses a stratum, which changes its df
    data = {
        "y": 2 + X @ [1.0, -0.5] + 0.5 * g + 0.3 * stratum + rng.normal(size=60),
        "z": 3 * np.exp(0.2 * X[:, 0] + 0.3 * rng.normal(size=60)),
        "b": (rng.uniform(size=60) < 1 / (1 + np.exp(0.3 - 0.5 * X[:, 0]))).astype(int),
        "g": g,
        "stratum": stratum,
        "psu": psu,
        "w": 10 * np.exp(0.4 * X[:, 0] + 0.3 * rng.normal(size=60)),
        "x": X,
        "target": T,
    }
    ties = {
        "y": [1, 2, 2, 2, 3, 3, 5, 7, 8, 9, 10, 12],
        "w": [1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 2, 1],
        "probabilities": [0.05, 0.25, 0.5, 0.75, 0.99],
    }
    return {**{name: np.round(values, 4) for name, values in data.items()}, "ties": ties}


# svy


def recorded(row, df=None):
    found = {"estimate": row.est, "se": row.se, "lower": row.lci, "upper": row.uci}
    numbers = {key: float(value) if np.isfinite(value) else None for key, value in found.items()}
    return {**numbers, "df": int(row.df if df is None else df)}


def fitted(sample, response, family):
    fit = sample.glm.fit(response, x=["x1", "x2"], family=family, tol=1e-12).fitted
    rows = [recorded(row, row.wald.df) for row in fit.coefs]
    return {"coefficients": rows, "covariance": np.asarray(fit.cov_matrix).tolist()}


def quantiles(of, probabilities):
    return {
        rule: {
            str(p): recorded(of.quantile("y", p=p, q_method=rule).estimates[0])
            for p in probabilities
        }
        for rule in RULES
    }


def with_ties(case):
    frame = pl.DataFrame({"y": case["y"], "w": case["w"]})
    of = svy.Sample(data=frame, design=svy.Design(wgt="w")).estimation
    return quantiles(of, case["probabilities"])


def with_svy(data, design):
    names = ("y", "z", "b", "g", "stratum", "psu", "w")
    columns = {name: data[name] for name in names}
    cut = np.where(np.arange(len(data["w"])) < ZERO_WEIGHTS, 0.0, data["w"])
    frame = pl.DataFrame({**columns, "cut": cut, "x1": data["x"][:, 0], "x2": data["x"][:, 1]})
    sample = svy.Sample(data=frame, design=svy.Design(wgt="w", **design))
    with_zeros = svy.Sample(data=frame, design=svy.Design(wgt="cut", **design)).estimation
    of = sample.estimation
    domains = of.mean("y", by="g")
    found = {
        "mean": recorded(of.mean("y").estimates[0]),
        "mean, some weights 0": recorded(with_zeros.mean("y").estimates[0]),
        "total": recorded(of.total("y").estimates[0]),
        "ratio": recorded(of.ratio("y", "z").estimates[0]),
        "mean of b": recorded(of.mean("b").estimates[0]),
        "intervals of b": {},
        "domains": {str(row.by_level[0]): recorded(row) for row in domains.estimates},
        "domain covariance": np.asarray(domains.covariance).tolist(),
    }
    for method in ("logit", "wilson", "beta"):
        ones = next(row for row in of.prop("b", ci_method=method).estimates if row.y_level == 1)
        found["intervals of b"][method] = [float(ones.lci), float(ones.uci)]
    first, second = svy.estd(0), svy.estd(1)
    for name, contrast in (("difference 1 - 0", second - first), ("ratio 1 / 0", second / first)):
        found[name] = recorded(domains.contrast(contrast).estimates[0])
    found["quantiles"] = quantiles(of, PROBABILITIES)
    found["linear"] = fitted(sample, "y", "gaussian")
    found["logistic"] = fitted(sample, "b", "binomial")
    return found


# delicatessen: stacked estimating equations over the training rows, then the target rows


def solved(equations, start):
    estimator = MEstimator(equations, init=start)
    estimator.estimate(solver="lm", tolerance=1e-12, deriv_method="exact")
    return {
        "estimate": float(estimator.theta[-1]),
        "se": float(np.sqrt(estimator.variance[-1, -1])),
    }


def with_delicatessen(data):
    X, T, d = data["x"], data["target"], data["w"]
    rows = np.concatenate([X, T])
    design = np.column_stack([np.ones(len(rows)), rows])
    s = np.repeat([0.0, 1.0], [len(X), len(T)])
    y = np.concatenate([data["y"], np.zeros(len(T))])

    def logistic(theta):
        beta, mean = theta[:3], theta[3]
        membership = ee_regression(theta=beta, X=design, y=s, model="logistic")
        return np.vstack([membership, (1 - s) * np.exp(np.dot(design, beta)) * (y - mean)])

    def ridge(theta):
        beta, mean = theta[:3], theta[3]
        membership = ee_ridge_regression(
            theta=beta, X=design, y=s, model="logistic", penalty=[0.0, 1.0, 1.0]
        )
        return np.vstack([membership, (1 - s) * np.exp(np.dot(design, beta)) * (y - mean)])

    def entropy(weight):
        def equations(theta):
            m, tilt, mean = theta[:2], theta[2:4], theta[4]
            centred = rows - m
            w = (1 - s) * weight * np.exp(np.dot(centred, tilt))
            return np.vstack([s * centred.T, w * centred.T, w * (y - mean)])

        return equations

    ones = np.ones(len(rows))
    return {
        "logistic": solved(logistic, np.zeros(4)),
        "ridge": solved(ridge, np.zeros(4)),
        "entropy": solved(entropy(ones), np.zeros(5)),
        "entropy with design weights": solved(
            entropy(np.concatenate([d, np.ones(len(T))])), np.zeros(5)
        ),
    }


if __name__ == "__main__":
    data = made_up_sample()
    found = {
        "svy": {name: with_svy(data, design) for name, design in DESIGNS.items()},
        "quantiles with ties": with_ties(data["ties"]),
        "delicatessen": with_delicatessen(data),
    }
    difference, where = furthest(formulas(data), found)
    if not difference < 1e-6:
        raise SystemExit(f"the formulas differ by {difference:.1e} (relative) at {where}")
    written = {
        "versions": {name: version(name) for name in ("svy", "delicatessen")},
        "notes": NOTES,
        "data": {
            name: values if name == "ties" else values.tolist() for name, values in data.items()
        },
        **found,
    }
    RECORDED.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    print(f"{RECORDED.name}: the formulas agree to {difference:.1e}, worst at {where}")
