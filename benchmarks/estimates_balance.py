"""What balance 0.23 estimates: the mean outcome of the target, and its interval.

balance is not installed with the other packages: before Python 3.12 it needs NumPy below 2.
benchmarks/estimates-balance-requirements.txt is an environment in which it ran. Intervals are
balance's own: estimate -+ 1.96 sqrt(sum w^2 (y - estimate)^2) / sum w; they take the weights as
known, and aipw has none.
"""

from __future__ import annotations

import logging
import time
import warnings
from functools import partial

import balance
import numpy as np
import pandas as pd
from balance.util import quantize

logging.getLogger("balance").setLevel(logging.ERROR)

LEVEL = 0.95
# Name: how balance is called. "halves" is replaced by two bins of every feature.
METHODS = {
    # balance's defaults: ten bins of every feature; 250 penalties, the largest one whose
    # cross-validated deviance is within one standard error of the best
    "ipw": ("ipw", {}),
    "cbps": ("cbps", {}),
    "rake": ("rake", {}),
    "poststratify": ("poststratify", {}),
    # not its defaults: fewer penalties (another one is chosen), the features as they are, hardly
    # any penalty, cells that are not empty
    "coarse ipw": ("ipw", {"num_lambdas": 25}),
    "linear ipw": ("ipw", {"num_lambdas": 25, "transformations": None}),
    "ipw without penalty": (
        "ipw",
        {"num_lambdas": 1, "lambda_max": 1e-5, "transformations": None},
    ),
    "linear cbps": ("cbps", {"transformations": None}),
    "poststratify halves": ("poststratify", {"transformations": "halves"}),
}
AIPW = {"aipw": "ipw", "coarse aipw": "coarse ipw"}  # by whose weights; boosting for the outcome


def balance_estimates(X, y, T, methods):
    """One record per method: the estimated mean of y in the target, its interval, its seconds.

    The seconds of aipw include those of its weights, which are not computed twice. A method that
    fails gives its error instead of numbers.
    """
    sample = framed(X, T, y)
    adjusted = {"unadjusted": (sample, 0.0)}
    return [estimated(sample, adjusted, method) for method in methods]


def estimated(sample, adjusted, method):
    weighting, error = AIPW.get(method, method), None
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if weighting not in adjusted:
                weighted = reweighted(sample, weighting)
                adjusted[weighting] = (weighted, time.perf_counter() - start)
                start = time.perf_counter()
            weighted, seconds = adjusted[weighting]
            numbers = doubly_robust(weighted) if method in AIPW else weighted_mean(weighted)
        seconds += time.perf_counter() - start
    except Exception as problem:  # balance raises many kinds; the other methods go on
        numbers, seconds = (None, None, None), None
        error = f"{type(problem).__name__}: {problem}"[:300]
    values = dict(zip(("estimate", "lower", "upper"), numbers, strict=True))
    return {"method": method, **values, "seconds": seconds, "error": error}


def framed(X, T, y):
    """The sample with its target, as balance wants them: named columns, unique ids."""
    columns = [f"x{k}" for k in range(np.shape(X)[1])]
    rows = pd.DataFrame(np.asarray(X, dtype=float), columns=columns)
    rows = rows.assign(y=np.asarray(y, dtype=float), id=[f"s{i}" for i in range(len(X))])
    target = pd.DataFrame(np.asarray(T, dtype=float), columns=columns)
    target = target.assign(id=[f"t{j}" for j in range(len(T))])
    sample = balance.Sample.from_frame(rows, id_column="id", outcome_columns=["y"])
    return sample.set_target(balance.Sample.from_frame(target, id_column="id"))


def reweighted(sample, name):
    method, options = METHODS[name]
    if options.get("transformations") == "halves":
        columns = sample.covars().df.columns
        options = {**options, "transformations": dict.fromkeys(columns, partial(quantize, q=2))}
    return sample.adjust(method=method, **options)


def weighted_mean(adjusted):
    outcomes = adjusted.outcomes()
    estimate = outcomes.mean(on_linked_samples=False)["y"].iloc[0]
    lower, upper = outcomes.ci_of_mean(on_linked_samples=False, conf_level=LEVEL)["y"].iloc[0]
    return finite(estimate), finite(lower), finite(upper)


def doubly_robust(adjusted):
    return finite(adjusted.fit_outcome_model(inplace=False).aipw()["y"]), None, None


def finite(value):
    if not np.isfinite(value):
        raise ValueError(f"balance gave {value}")
    return float(value)
