"""Outside agreement: values that other packages computed on the same small samples.

They are recorded in `tests/recorded`, with the script that made them. Differences of convention are
bridged here, where they can be seen:

- densratio takes the target first, and sets negative *coefficients* of uLSIF and RuLSIF to zero,
  where we set negative values of the ratio to zero. Compared is what follows from our coefficients
  by its rule.
- densratio's KLIEP climbs by gradient steps that stop short of the maximum, here by 0.1 and 0.2 in
  the mean log likelihood; ours must be more likely. adapt's, by 100,000 steps of Frank and Wolfe,
  gets there, and ours must be the same. Our `predict` stops at N, so the ratio is taken from the
  coefficients.
- skada and adapt return the weights of kernel mean matching before they are scaled to mean one.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from covshift.exceptions import WeightWarning
from covshift.weights import KLIEP, KMM, RULSIF, ULSIF

DATA = Path(__file__).parents[1] / "recorded"


def recorded(package):
    """What a package computed: samples, and one dictionary for each case."""
    record = json.loads((DATA / f"{package}.json").read_text(encoding="utf-8"))
    points = {name: np.array(record[name]) for name in ("X", "T", "new")}
    return [{**points, "gamma": record["gamma"], "case": case} for case in record["cases"]]


def name(record):
    case = record["case"]
    return "-".join(str(value) for value in case.values() if not isinstance(value, list))


def of_method(package, *methods):
    return [record for record in recorded(package) if record["case"].get("method") in methods]


def calmly(weighter, X, T):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        return weighter.fit(X, X_target=T)


def expansion(record, rows, centers, coefficients):
    """Sum of kernels at the rows of that name; our centres are relative to the samples' middle."""
    middle = record["X"].mean(axis=0) / 2 + record["T"].mean(axis=0) / 2
    squares = cdist(record[rows] - middle, centers, "sqeuclidean")
    return np.exp(squares / (-2 * record["case"]["sigma"] ** 2)) @ coefficients


@pytest.mark.parametrize("record", of_method("densratio", "uLSIF", "RuLSIF"), ids=name)
def test_least_squares_ratios_are_those_of_densratio(record):
    case, X, T = record["case"], record["X"], record["T"]
    options = {"width": case["sigma"], "reg": case["lambda_"], "standardize": False}
    relative = case["method"] == "RuLSIF"
    weighter = RULSIF(case["alpha"], **options) if relative else ULSIF(**options)
    found = calmly(weighter, X, T)
    assert len(found.centers_) == len(T)  # every target row is a centre, as in the record
    for rows in ("X", "new"):
        ratio = expansion(record, rows, found.centers_, np.maximum(found.coef_, 0))
        np.testing.assert_allclose(ratio, case[rows], rtol=1e-7, atol=1e-9)


def likelihood(at_X, at_T):
    return np.mean(np.log(np.array(at_T) / np.mean(at_X)))


def fitted_kliep(record):
    """Our ratio at the rows of each kind, at the recorded width."""
    weighter = KLIEP(width=record["case"]["sigma"], standardize=False)
    found = calmly(weighter, record["X"], record["T"])
    names = ("X", "T", "new")
    return {rows: expansion(record, rows, found.centers_, found.coef_) for rows in names}


@pytest.mark.parametrize("record", of_method("densratio", "KLIEP"), ids=name)
def test_kliep_is_more_likely_than_that_of_densratio(record):
    case, ours = record["case"], fitted_kliep(record)
    assert np.mean(case["X"]) == pytest.approx(1.0, abs=1e-8)  # the same constraint
    assert np.mean(ours["X"]) == pytest.approx(1.0, abs=1e-8)
    assert likelihood(ours["X"], ours["T"]) > likelihood(case["X"], case["T"])


@pytest.mark.parametrize("record", of_method("adapt", "KLIEP"), ids=name)
def test_kliep_is_that_of_adapt(record):
    case, ours = record["case"], fitted_kliep(record)
    gain = likelihood(ours["X"], ours["T"]) - likelihood(case["X"], case["T"])
    assert -1e-8 < gain < 1e-4
    for rows in ("X", "new"):
        np.testing.assert_allclose(ours[rows], case[rows], rtol=0.01, atol=0.01)


@pytest.mark.parametrize("record", of_method("skada", "KMM") + of_method("adapt", "KMM"), ids=name)
def test_kernel_mean_matching_is_at_least_as_good_as_that_of_skada_and_adapt(record):
    case, X, T, gamma = record["case"], record["X"], record["T"], record["gamma"]
    N, B = len(X), case.get("B", 1000.0)
    eps = case.get("eps", (np.sqrt(N) - 1) / np.sqrt(N))
    found = calmly(KMM(B=B, eps=eps, width=1 / np.sqrt(2 * gamma), standardize=False), X, T)
    K = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
    kappa = N * np.exp(-gamma * cdist(X, T, "sqeuclidean")).mean(axis=1)

    def objective(w):
        return w @ K @ w / 2 - kappa @ w

    ours, theirs = found.weights_ * found.total_ / N, np.array(case["w"])
    assert objective(ours) == pytest.approx(found.objective_, rel=1e-9)
    assert -1e-8 <= ours.min() <= ours.max() <= B * (1 + 1e-8)
    assert abs(ours.sum() - N) <= N * (eps + 1e-8)
    # Theirs is feasible up to its tolerance, so ours may be higher by as much at most.
    assert abs(theirs.sum() - N) <= N * (eps + 1e-5)
    assert -1e-5 <= theirs.min() <= theirs.max() <= B + 1e-5
    assert objective(ours) <= objective(theirs) + 1e-6 * abs(objective(theirs))
    if case["solver"] == "cvxopt":  # an exact solver
        assert objective(ours) == pytest.approx(objective(theirs), rel=1e-6)
    else:
        assert objective(ours) == pytest.approx(objective(theirs), rel=1e-2)
