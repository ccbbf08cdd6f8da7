"""Estimates against recorded values: svy (known weights) and delicatessen (estimated weights).

tests/recorded/estimates_peers.json holds what the two libraries found; the formulas are in
tests/recorded/estimates_formulas.py. On purpose, and shown below:

- a row of weight zero is not there; svy counts it in n_h, though not in the degrees of freedom;
- the interval of a difference takes the degrees of freedom of the smaller group, svy's those of
  the whole design, which a group of three rows does not have;
- a quantile at the largest outcome has no upper bound, where svy's interval has width zero;
- an interval of a quantile that rows share is that around p, where svy takes F at the quantile,
  far above p, and misses outcomes just below;
- a total is a mean times a known population size, svy's is a sum whose size is estimated too.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from calls import estimate_with
from scipy import stats
from sklearn.linear_model import LinearRegression, LogisticRegression

from covshift import (
    Coefficients,
    Difference,
    Proportion,
    Quantile,
    Ratio,
    Total,
    diagnose,
    estimate,
)
from covshift.numerics.influence import Design
from covshift.weights import Discriminative, EntropyBalancing
from covshift.weights.m_estimation import logistic_odds, tilted

RECORDED = json.loads((Path(__file__).parents[1] / "recorded" / "estimates_peers.json").read_text())
DATA = {k: np.asarray(v) for k, v in RECORDED["data"].items() if k != "ties"}
Y, Z, B, G, W, X, T = (DATA[k] for k in ("y", "z", "b", "g", "w", "x", "target"))
DESIGNS = {
    "weights": {},
    "strata": {"strata": DATA["stratum"]},
    "clusters": {"strata": DATA["stratum"], "cluster": DATA["psu"]},
}
WAYS = {
    "none": {"method": "none", "sample_weight": W, "weighter": "entropy"},
    "weights": {"method": "weights", "weighter": W},
    "factors": {
        "method": "weights",
        "weighter": W / np.exp(X[:, 1]),
        "sample_weight": np.exp(X[:, 1]),
    },
}


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(X, T, methods=())


@pytest.fixture(params=WAYS)
def asked(request, diagnosis):
    """Ask one quantity under known weights, given in one of three ways."""
    way = WAYS[request.param]

    def ask(design, y=Y, **options):
        return estimate_with(
            diagnosis, X, y, T, outcome_model=LinearRegression(),
            **{**way, **DESIGNS[design], **options},
        )  # fmt: skip

    return ask


def agrees(found, recorded):
    low, high = (recorded[k] for k in ("lower", "upper"))
    expected = [recorded["estimate"], recorded["se"], low, high]
    expected = [
        v if v is not None else d
        for v, d in zip(expected, (0, np.inf, -np.inf, np.inf), strict=True)
    ]
    np.testing.assert_allclose(
        [found.value, found.standard_error, *found.interval], expected, rtol=1e-6
    )


@pytest.mark.part(6)
@pytest.mark.parametrize("design", DESIGNS)
def test_means_and_ratios_are_those_of_svy(asked, design):
    svy = RECORDED["svy"][design]
    agrees(asked(design).overall[0], svy["mean"])
    agrees(asked(design, what=Ratio(Z)).overall[0], svy["ratio"])


@pytest.mark.part(3)
@pytest.mark.parametrize("design", DESIGNS)
def test_shares_have_the_logit_interval_of_svy(asked, design):
    svy = RECORDED["svy"][design]
    low, high = svy["intervals of b"]["logit"]
    expected = {**svy["mean of b"], "lower": low, "upper": high}
    agrees(asked(design, B).overall[0], expected)
    agrees(asked(design, B, what=Proportion(1)).overall[0], expected)


@pytest.mark.part(6)
@pytest.mark.parametrize("design", DESIGNS)
def test_groups_are_the_domains_of_svy(asked, design):
    target_groups = np.arange(len(T)) % 3
    for by in (G, (G, target_groups)):
        found = asked(design, by=by)
        for label, recorded in RECORDED["svy"][design]["domains"].items():
            (row,) = found.estimates.where(group=label)
            agrees(row, recorded)


@pytest.mark.part(3)
@pytest.mark.parametrize("design", DESIGNS)
def test_differences_are_those_of_svy_with_the_freedom_of_the_smaller_group(asked, design):
    svy = RECORDED["svy"][design]
    row = asked(design, what=Difference(0), by=G).overall.where(what="1 - 0")[0]
    recorded, domains = svy["difference 1 - 0"], svy["domains"]
    t = stats.t.ppf(0.975, min(domains[k]["df"] for k in "01"))
    low, high = (recorded["estimate"] + sign * t * recorded["se"] for sign in (-1, 1))
    agrees(row, {**recorded, "lower": low, "upper": high})
    assert recorded["lower"] > low  # ours is wider


@pytest.mark.parametrize("design", DESIGNS)
def test_a_total_is_the_mean_of_svy_times_the_known_size(asked, design):
    svy = RECORDED["svy"][design]
    row = asked(design, what=Total(W.sum())).overall[0]
    assert row.value == pytest.approx(svy["total"]["estimate"], rel=1e-9)
    agrees(row, {k: v * W.sum() for k, v in svy["mean"].items()})


@pytest.mark.part(6)
@pytest.mark.parametrize("design", DESIGNS)
def test_quantiles_have_the_intervals_of_svy(asked, design):
    levels = RECORDED["svy"][design]["quantiles"]["higher"]
    found = asked(design, what=Quantile([float(q) for q in levels]))
    for row, recorded in zip(found.overall, levels.values(), strict=True):
        agrees(row, recorded)


@pytest.mark.part(3)
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_coefficients_are_those_of_svy(asked, design, family):
    y = Y if family == "linear" else B
    found = asked(design, y, what=Coefficients(family=family))
    expected = RECORDED["svy"][design][family]["coefficients"]
    for row, recorded in zip(found.overall, expected, strict=True):
        agrees(row, recorded)


def test_quantiles_with_ties_are_those_of_svy_but_where_rows_share_them_and_at_the_largest():
    case = RECORDED["data"]["ties"]
    y, w = np.asarray(case["y"], float), np.asarray(case["w"], float)
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(len(y), 1)), rng.normal(size=(30, 1))
    found = estimate(
        X,
        y,
        T,
        what=Quantile(case["probabilities"]),
        method="none",
        sample_weight=w,
        weighter="entropy",
        outcome_model=LinearRegression(),
    )
    recorded = RECORDED["quantiles with ties"]["higher"]
    for row, p in zip(found.overall, case["probabilities"], strict=True):
        assert row.value == recorded[str(p)]["estimate"]
        if p < 0.99 and (y == row.value).sum() == 1:
            agrees(row, recorded[str(p)])
    assert {row.value for row in found.overall if (y == row.value).sum() > 1} == {2, 3}
    assert recorded["0.99"]["upper"] == recorded["0.99"]["lower"] == 12  # svy: no doubt at all
    assert row.value == 12
    assert row.interval == (12, np.inf)


def test_rows_of_weight_zero_are_not_there(diagnosis):
    cut = np.where(np.arange(60) < 5, 0.0, W)
    row = estimate_with(
        diagnosis, X, Y, T, method="none", sample_weight=cut, weighter="entropy",
        outcome_model=LinearRegression(),
    ).overall[0]  # fmt: skip
    svy = RECORDED["svy"]["weights"]["mean, some weights 0"]
    assert row.value == pytest.approx(svy["estimate"], rel=1e-9)
    # svy: n / (n - 1) of all 60 rows; here of the 55 that are there. The freedom is the same.
    factor = np.sqrt((55 / 54) / (60 / 59))
    assert row.standard_error == pytest.approx(svy["se"] * factor, rel=1e-9)
    t = (row.interval[1] - row.value) / row.standard_error
    assert t == pytest.approx(stats.t.ppf(0.975, svy["df"]), rel=1e-9)


# delicatessen: the errors of weights that were estimated


def stacked_error(train, target):
    """Standard error as delicatessen has it: no centring, and no n / (n - 1)."""
    return float(np.sqrt((train**2).sum() + (target**2).sum()))


def test_entropy_balancing_has_the_error_of_delicatessen():
    for name, d in (("entropy", np.ones(60)), ("entropy with design weights", W)):
        fitted = EntropyBalancing().fit(X, X_target=T, sample_weight=d)
        value, train, target = fitted._mean_influence(
            Y[:, None], X, T, d, np.full(len(T), 1 / len(T))
        )
        recorded = RECORDED["delicatessen"][name]
        assert value[0] == pytest.approx(recorded["estimate"], rel=1e-6)
        assert stacked_error(train, target) == pytest.approx(recorded["se"], rel=1e-6)


def logistic_fit(X, T, v_target=1.0, **options):
    """Coefficients by Newton's method in scikit-learn, all rows counting as delicatessen's do."""
    rows, label = np.concatenate([X, T]), np.repeat([0, 1], [len(X), len(T)])
    model = LogisticRegression(solver="newton-cholesky", tol=1e-12, **options)
    return model.fit(rows, label, sample_weight=np.where(label == 1, v_target, 1.0))


# scikit-learn 1.8.0 asks for C=inf where there is no penalty, and then warns of it.
no_penalty = pytest.mark.filterwarnings("ignore:Setting penalty=None will ignore the C")


@no_penalty
@pytest.mark.parametrize(("name", "ridge"), [("logistic", 0.0), ("ridge", 1.0)])
def test_logistic_odds_have_the_error_of_delicatessen(name, ridge):
    model = logistic_fit(X, T, C=1 / ridge if ridge else np.inf)
    beta = np.append(model.intercept_, model.coef_)
    f, f_target = (np.column_stack([np.ones(len(rows)), rows]) for rows in (X, T))
    value, train, target = logistic_odds(
        Y[:, None], f, f_target, np.exp(f @ beta), (np.ones(60), np.ones(80)), beta,
        np.array([0.0, ridge, ridge]),
    )  # fmt: skip
    recorded = RECORDED["delicatessen"][name]
    assert value[0] == pytest.approx(recorded["estimate"], rel=1e-6)
    assert stacked_error(train, target) == pytest.approx(recorded["se"], rel=1e-6)


@no_penalty
@pytest.mark.parametrize("C", [np.inf, 0.5])
def test_a_weighter_of_logistic_odds_has_that_error_too(C):
    """As many target rows as training rows, so that the weighter counts each of them once."""
    T = DATA["target"][:60]
    classifier = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12)
    fitted = Discriminative(classifier, cv=None, max_ratio=1e6).fit(X, X_target=T)
    found = fitted._mean_influence(Y[:, None], X, T, np.ones(60), np.full(60, 1 / 60))
    model = logistic_fit(X, T, C=C)
    beta = np.append(model.intercept_, model.coef_)
    f, f_target = (np.column_stack([np.ones(len(rows)), rows]) for rows in (X, T))
    ridge = np.array([0.0, 1 / C, 1 / C])
    expected = logistic_odds(
        Y[:, None], f, f_target, np.exp(f @ beta), (np.ones(60), np.ones(60)), beta, ridge
    )
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)


def test_the_interval_of_weights_counts_what_both_samples_do_to_them(diagnosis):
    found = estimate_with(
        diagnosis, X, Y, T, method="weights", weighter=EntropyBalancing(),
        outcome_model=LinearRegression(),
    ).overall[0]  # fmt: skip
    w = EntropyBalancing().fit(X, X_target=T).weights_
    _, train, target = tilted(Y[:, None], X, T, w, np.full(80, 1 / 80), 0.0)
    variance = Design.simple(60).covariance(train) + Design.simple(80).covariance(target)
    assert found.standard_error == pytest.approx(float(np.sqrt(variance[0, 0])), rel=1e-6)
    fixed = w * (Y - w @ Y / w.sum()) / w.sum()  # if the weights were known
    assert abs(found.standard_error / np.sqrt(fixed @ fixed) - 1) > 0.05


def test_weights_of_another_classifier_have_no_influence_formula():
    from sklearn.naive_bayes import GaussianNB

    fitted = Discriminative(GaussianNB()).fit(X, X_target=T)
    assert not fitted._has_mean_influence()
    assert fitted._mean_influence(Y[:, None], X, T, np.ones(60), np.full(80, 1 / 80)) is None
    assert (
        not Discriminative(LogisticRegression(class_weight="balanced"))
        .fit(X, X_target=T)
        ._has_mean_influence()
    )
