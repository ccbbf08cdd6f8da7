"""How wrong an answer could be: bounds against linear programs, identities and known truths."""

from __future__ import annotations

import csv
import gzip
import os
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import reference
from calls import estimate_with
from reference import free_bound, sharp_bound
from sklearn.linear_model import LinearRegression, LogisticRegression

from covshift import (
    CDF,
    Difference,
    Margins,
    Proportion,
    Quantile,
    Ratio,
    Total,
    diagnose,
    estimate,
)
from covshift.data import Samples
from covshift.datasets import make_survey
from covshift.engine.columns import ColumnSets
from covshift.engine.measures import Signal
from covshift.engine.robustness import Robustness, benchmark, robustness_value
from covshift.engine.sensitivity import Bound
from covshift.exceptions import InputError
from covshift.numerics.crossfit import CrossFit
from covshift.show.table import Table

PUBLISHED = Path(os.environ.get("COVSHIFT_DATA", "none")) / "published"
N, M = 120, 90
_rng = np.random.default_rng(1)
X, T = _rng.normal(size=(N, 2)), _rng.normal(0.4, 1, size=(M, 2))
Y = 2 + X @ [1.0, -0.5] + _rng.exponential(size=N)
FLAGS = np.asarray(Y > 2.5, dtype=float)
W = _rng.exponential(size=N) + 0.3
GROUPS, TARGET_GROUPS = _rng.integers(0, 2, N), _rng.integers(0, 2, M)


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(X, T, methods=())


@pytest.fixture
def ask(diagnosis):
    def asked(y=Y, X=X, T=T, **options):
        binary = set(np.unique(y)) <= {0.0, 1.0}
        model = LogisticRegression() if binary else LinearRegression()
        usual = {"outcome_model": model, "weighter": W}
        return estimate_with(diagnosis, X, y, T, **{**usual, **options})

    return asked


# Bounds of one row


@pytest.mark.parametrize("odds", [1.0, 1.3, 2.0, 7.0])
@pytest.mark.parametrize("K", [2, 3, 6])
def test_bounds_of_classes_are_those_of_a_linear_program(odds, K):
    rng = np.random.default_rng(K)
    chances = rng.dirichlet(np.full(K, 0.7), size=8)
    gains = rng.normal(size=(8, K)).round(1)  # some are alike
    for side in (1, -1):
        _, rho = Bound(odds, side).of_classes(gains, chances)
        oracle = [
            side * sharp_bound(side * g, q, odds) for g, q in zip(gains, chances, strict=True)
        ]
        np.testing.assert_allclose(rho, oracle, atol=1e-9)


def test_bounds_of_zeros_and_ones_have_a_closed_form():
    h = np.linspace(0, 1, 41)[:, None]
    signal = Signal(np.ones_like(h), CrossFit(h, h[None]))
    for L in (1.0, 1.5, 4.0):
        high, low = (Bound(L, side).of_chances(signal).h.train for side in (1, -1))
        np.testing.assert_allclose(high, np.minimum(L * h, 1 - (1 - h) / L), atol=1e-12)
        np.testing.assert_allclose(low, np.maximum(h / L, 1 - L * (1 - h)), atol=1e-12)


def test_no_quantile_makes_the_bound_too_small():
    """Of equal rows: the mean of phi is the sharp bound at the right Q, and larger elsewhere."""
    y = np.random.default_rng(0).exponential(size=60)
    sharp = sharp_bound(y, np.full(60, 1 / 60), 2.0)
    means = [Bound(2.0, 1).tilted(y, np.full(60, Q)).mean() for Q in np.linspace(-1, 5, 50)]
    assert min(means) >= sharp - 1e-9
    level = np.sort(y)[39]  # two thirds are not above it
    assert Bound(2.0, 1).tilted(y, np.full(60, level)).mean() == pytest.approx(sharp)


def test_the_start_of_a_quantile_is_the_share_whose_bound_is_the_level():
    for L in (1.2, 3.0):
        for p in (0.1, 0.5, 0.9):
            F = Bound(L, 1).start(p)
            assert min(L * F, 1 - (1 - F) / L) == pytest.approx(p)
            F = Bound(L, -1).start(p)
            assert max(F / L, 1 - L * (1 - F)) == pytest.approx(p)


# Bounds of estimates


def test_a_share_is_bounded_by_the_chances_of_its_rows(ask):
    """A model that knows nothing, h = 1/2, and weights: phi and rho by hand."""
    row = ask(FLAGS, outcome_model=Half()).with_sensitivity(2.0).overall[0]
    # rho = 1 - .5 / 2 = .75 and Q = 1; phi = y / 2 + 1 / 2
    w = W / W.sum()
    expected = 0.75 + w @ (FLAGS / 2 + 0.5 - 0.75)
    assert row.sensitivity_bounds[1] == pytest.approx(expected, rel=1e-12)


class Half(LogisticRegression):
    """One half for every row."""

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


_ASKED = {"mean": "mean", "total": Total(50), "cdf": CDF([2.0, 3.0]), "ratio": Ratio(3 + X[:, 0])}


@pytest.mark.part(8)
@pytest.mark.parametrize(
    ("what", "grouped"),
    [
        *(pytest.param(what, False, id=name) for name, what in _ASKED.items()),
        *(pytest.param(what, True, id=f"{name} by group") for name, what in _ASKED.items()),
        pytest.param(Quantile(0.3), False, id="quantile"),
        pytest.param("difference", True, id="difference"),
    ],
)
def test_one_fold_is_the_plain_interval_and_more_is_wider(ask, what, grouped):
    by = {"by": (GROUPS, TARGET_GROUPS)} if grouped else {}
    model = {} if isinstance(what, str | Total | Ratio) else {"outcome_model": LogisticRegression()}
    found = ask(what=what, **by, **model)
    plain = np.array([row.interval for row in found.estimates])
    same = found.with_sensitivity(1.0).estimates
    np.testing.assert_array_equal(plain, [row.sensitivity_interval for row in same])
    before = np.array([row.sensitivity_bounds for row in same])
    for odds in (1.2, 3.0):
        rows = found.with_sensitivity(odds).estimates
        bounds = np.array([row.sensitivity_bounds for row in rows])
        ends = np.array([row.sensitivity_interval for row in rows])
        step = 0 if isinstance(what, Quantile) else 1e-3  # quantiles are outcomes of rows
        assert (bounds[:, 0] <= before[:, 0] - step).all()
        assert (bounds[:, 1] >= before[:, 1] + step).all()
        assert (ends[:, 0] <= np.minimum(plain[:, 0], bounds[:, 0])).all()
        assert (ends[:, 1] >= np.maximum(plain[:, 1], bounds[:, 1])).all()
        before = bounds


def test_a_difference_is_from_the_largest_to_the_smallest(ask):
    by = (GROUPS, TARGET_GROUPS)
    apart = ask(what=Difference("0"), by=by).with_sensitivity(2.0).estimates[0]
    zero, one = ask(by=by).with_sensitivity(2.0).estimates[1:]
    low, high = apart.sensitivity_bounds
    assert high == pytest.approx(one.sensitivity_bounds[1] - zero.sensitivity_bounds[0])
    assert low == pytest.approx(one.sensitivity_bounds[0] - zero.sensitivity_bounds[1])


def test_totals_shares_and_categories_follow_from_means(ask):
    mean, total = (ask(what=what).with_sensitivity(3.0).overall[0] for what in ("mean", Total(7)))
    np.testing.assert_allclose(total.sensitivity_bounds, 7 * np.array(mean.sensitivity_bounds))
    share = ask(FLAGS).with_sensitivity(3.0).overall[0]
    words = np.where(FLAGS == 1, "yes", "no")
    no, yes = (
        ask(words, what=Proportion(), outcome_model=LogisticRegression())
        .with_sensitivity(3.0)
        .overall
    )
    assert yes.sensitivity_bounds == pytest.approx(share.sensitivity_bounds)
    assert no.sensitivity_bounds == pytest.approx(1 - np.array(share.sensitivity_bounds)[::-1])
    assert 0 <= yes.sensitivity_interval[0] < yes.sensitivity_interval[1] <= 1


def test_a_ratio_to_one_is_the_mean(ask):
    mean, ratio = (
        ask(what=what).with_sensitivity(2.0).overall[0] for what in ("mean", Ratio(ONES))
    )
    np.testing.assert_allclose(ratio.sensitivity_bounds, mean.sensitivity_bounds, rtol=1e-9)
    np.testing.assert_allclose(ratio.sensitivity_interval, mean.sensitivity_interval, rtol=1e-6)
    minus = ask(what=Ratio(-ONES)).with_sensitivity(2.0).overall[0]
    np.testing.assert_allclose(minus.sensitivity_bounds, -np.array(mean.sensitivity_bounds)[::-1])


ONES = np.ones(N)


def test_bounds_are_not_wider_than_those_of_free_weights(ask):
    for y in (Y, FLAGS):
        for odds in (1.5, 3.0):
            found = ask(y).with_sensitivity(odds).table.where(method="weights")[0]
            low, high = -free_bound(-y, W, odds), free_bound(y, W, odds)
            assert low < found.sensitivity_bounds[0] < found.sensitivity_bounds[1] < high


@pytest.mark.thorough
def test_the_bound_is_right_if_the_weights_or_the_model_are():
    """Zeros and ones in three cells, where the largest share in the target is known.

    A wrong model has a wrong Q in the first cell, where phi then is y / 2 + 1 / 2: not sharp.
    """
    rng = np.random.default_rng(3)
    n, p, q, h, L = 6000, [0.6, 0.3, 0.1], [0.1, 0.3, 0.6], np.array([0.2, 0.6, 0.9]), 2.0
    here, there = rng.choice(3, n, p=p), rng.choice(3, n, p=q)
    y = (rng.random(n) < h[here]).astype(float)
    truth = q @ np.minimum(L * h, 1 - (1 - h) / L)
    X, T = np.eye(3)[here], np.eye(3)[there]
    diagnosis = diagnose(X, T, methods=())
    right = (np.array(q) / p)[here]
    wrong, good = (right, Half(), 0.02), (np.ones(n), LogisticRegression(C=1e4), 0.0)
    for weighter, model, beyond in (wrong, good):
        found = estimate_with(diagnosis, X, y, T, weighter=weighter, outcome_model=model)
        row = found.with_sensitivity(L).overall[0]
        assert row.sensitivity_bounds[1] == pytest.approx(truth + beyond, abs=0.02)
        assert row.sensitivity_interval[1] > truth


def test_replicates_make_the_errors_of_bounds(ask):
    found = ask(weighter="entropy", replicates=20).with_sensitivity(2.0)
    other = ask(weighter="entropy").with_sensitivity(2.0)
    a, b = found.overall[0], other.overall[0]
    assert a.sensitivity_bounds == pytest.approx(b.sensitivity_bounds, rel=1e-6)
    assert a.sensitivity_interval != b.sensitivity_interval
    assert np.ptp(a.sensitivity_interval) == pytest.approx(np.ptp(b.sensitivity_interval), rel=0.5)


# What is said and refused


def test_the_table_says_by_how_much_odds_differ(ask):
    found = ask(FLAGS).with_sensitivity(2.0)
    assert "if odds differ up to 2-fold" in str(found)
    assert found.to_dict()["sensitivity"] == 2.0
    assert found.table.where(method="none")[0].sensitivity_interval is None


@pytest.mark.parametrize("odds", [0.05, -1, float("nan"), float("inf"), True, "2"])
def test_a_factor_of_odds_is_at_least_one(ask, odds):
    with pytest.raises(InputError, match=r"must be a number of at least 1.*former meaning"):
        ask().with_sensitivity(odds)


def test_what_does_not_rest_on_the_assumption_has_no_sensitivity(ask):
    with pytest.raises(InputError, match="sensitivity of coefficients is not known"):
        ask(what="coefficients").with_sensitivity(2.0)
    with pytest.raises(InputError, match="method='none' does not use that assumption"):
        ask(method="none").with_sensitivity(2.0)


def test_a_stored_answer_has_no_rows_to_ask(ask):
    found = pickle.loads(pickle.dumps(ask()))
    assert found.value == ask().value
    with pytest.raises(InputError, match="which are not kept in files"):
        found.with_sensitivity(2.0)


# How strong an unobserved factor would have to be


def test_robustness_values_and_benchmarks_are_those_of_loops():
    rng = np.random.default_rng(5)
    w, v, y = rng.exponential(size=40), rng.exponential(size=40), rng.normal(size=40)
    w, v = w / w.mean(), v / v.mean()
    number = w @ y / 40
    for null in (0.0, 0.3, number):
        found = robustness_value(number, null, y, w)
        assert found == pytest.approx(reference.robustness_value(number, null, y, w), abs=1e-12)
    row = benchmark("age", y, w, v, abs(number))
    R2, rho, bias = reference.benchmark(w, v, y)
    assert (row.explained, row.correlation, row.bias) == pytest.approx((R2, rho, bias), abs=1e-12)
    assert row.times == pytest.approx(abs(number / bias))
    assert row.bias == pytest.approx((v - w) @ y / 39)  # what leaving it out does to the number


def test_weights_and_outcomes_without_spread_have_robustness_values():
    flat, y = np.ones(4), np.arange(4.0)
    assert robustness_value(1.5, 1.5, y, flat) == 0.0
    assert robustness_value(1.5, 0.0, y, flat) == 1.0
    assert benchmark("x", y, flat, flat, 1.0).times == np.inf


def test_senseweight_prints_the_same_of_its_poll():
    """Its vignette "survey": .54 is raked to .47; RV .05 at one half; education .32, .06, .03.

    The poll is `poll.data` of R's senseweight (Hartman and Huang 2024), made-up people; MIT.
    """
    path = Path(__file__).parents[1] / "recorded" / "senseweight_poll.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        poll = list(csv.DictReader(file))
    y = np.array([float(row["Y"]) for row in poll])
    names = [name for name in poll[0] if name != "Y"]

    def raked(columns):
        levels = [
            (name, level) for name in columns for level in sorted({row[name] for row in poll})[1:]
        ]
        A = np.array([[float(row[name] == level) for name, level in levels] for row in poll])
        shares = dict(zip(ALL_LEVELS, SHARES, strict=True))
        A -= [shares[pair] for pair in levels]
        b = np.zeros(A.shape[1])
        for _ in range(50):
            w = np.exp(A @ b)
            mean = w @ A / w.sum()
            step = np.linalg.solve((A * w[:, None]).T @ A / w.sum() - np.outer(mean, mean), -mean)
            b += step * min(1.0, 1 / np.abs(A @ step).max())
        return w / w.mean()

    ALL_LEVELS = [(n, level) for n in names for level in sorted({row[n] for row in poll})[1:]]
    SHARES = [0.212, 0.264, 0.236, 0.310, 0.114, 0.360, 0.528, 0.114, 0.021, 0.034, 0.805]
    SHARES += [0.266, 0.075, 0.312, 0.349]
    w = raked(names)
    number = w @ y / len(y)
    assert (round(y.mean(), 2), round(number, 2)) == (0.54, 0.47)
    assert round(robustness_value(number, 0.5, y, w), 2) == 0.05
    row = benchmark("educ", y, w, raked([name for name in names if name != "educ"]), number - 0.5)
    assert [round(part, 2) for part in (row.explained, row.correlation, row.bias)] == [
        0.32,
        0.06,
        0.03,
    ]


@pytest.mark.skipif(
    not (PUBLISHED / "jtpa_women.csv").exists(), reason="COVSHIFT_DATA has no published samples"
)
def test_the_robustness_of_a_real_table_is_that_of_its_own_weights():
    with (PUBLISHED / "jtpa_women.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = ["prevearn", "age", "married", "hrwage", "black", "hsorged", "yrs_educ"]
    X, T = (
        np.array([[float(row[n]) for n in names] for row in rows if (row["site"] == "NE") == here])
        for here in (True, False)
    )
    y = np.array([float(row["Y"]) for row in rows if row["site"] == "NE"])
    diagnosis = diagnose(X, T, methods=())
    model = LinearRegression()
    found = estimate_with(diagnosis, X, y, T, weighter="entropy", outcome_model=model)
    w, theta = found.weights, found.value
    oracle = reference.robustness_value(theta, y.mean(), y, w)
    assert found.robustness().value == pytest.approx(oracle, abs=1e-6)
    oracle = reference.robustness_value(theta, 5000.0, y, w)
    assert found.robustness(5000.0).value == pytest.approx(oracle, abs=1e-6)


@pytest.fixture(scope="module")
def shifted():
    """One column that decides and has moved, one that has moved, one that is noise."""
    rng = np.random.default_rng(7)
    X, T = rng.normal(size=(600, 3)), rng.normal([0.8, 0.8, 0.0], 1, size=(600, 3))
    y = (rng.random(600) < 1 / (1 + np.exp(-1.5 * X[:, 0]))).astype(float)
    return X, y, T, diagnose(X, T, methods=())


def test_the_line_names_the_column_that_undoes_the_correction(shifted):
    X, y, T, diagnosis = shifted
    found = estimate_with(diagnosis, X, y, T, weighter="entropy", outcome_model=LinearRegression())
    robust = found.robustness()
    assert robust.columns == ("x0",)
    said = "To undo the correction, an unobserved factor would have to be as strong as x0 alone"
    assert robust.sentence.startswith(said)
    assert robust.table[0].column == "x0"
    for text in (str(found), found.assumption, found.to_dict()["assumption"]):
        assert said in " ".join(text.split())
    assert found.to_dict()["robustness_value"] == pytest.approx(robust.value)
    kept = pickle.loads(pickle.dumps(found))
    assert kept.assumption == found.assumption
    with pytest.raises(InputError, match="which are not kept in files"):
        kept.robustness(0.5)


def test_a_null_may_be_anywhere(shifted):
    X, y, T, diagnosis = shifted
    found = estimate_with(diagnosis, X, y, T, weighter="entropy", outcome_model=LinearRegression())
    near, far = found.robustness(found.value - 0.02), found.robustness(found.value + 0.5)
    assert near.sentence.startswith(
        f"To move the answer to {100 * found.value - 2:.4g}%, an unobserved"
    )
    assert near.columns == ("x0",)
    assert far.columns is None
    assert "stronger than all 3 columns together" in far.sentence
    assert near.value < found.robustness().value < far.value
    with pytest.raises(InputError, match="null='a' must be a finite number"):
        found.robustness("a")


def test_where_the_correction_is_noise_nothing_is_said_about_undoing_it(shifted):
    X, _, T, diagnosis = shifted
    y = np.random.default_rng(1).normal(size=len(X))
    found = estimate_with(diagnosis, X, y, T, weighter="entropy", outcome_model=LinearRegression())
    assert not found.robustness().clear
    assert "unobserved" not in str(found)
    assert "To move the answer to 1," in found.robustness(1.0).line


def test_what_has_no_robustness_says_so(ask):
    for options in ({"method": "model"}, {"method": "none"}):
        found = ask(**options)
        assert found.robustness_value is None
        with pytest.raises(InputError, match="robustness of this answer is not known"):
            found.robustness()


def test_columns_are_named_as_far_as_it_helps():
    def said(columns, count):
        rows = [benchmark(f"c{k}", ONES, ONES, ONES, 1.0) for k in range(count)]
        found = Robustness(0.3, 0.4, 0.25, Table(rows), columns, undoes=True, clear=True)
        return found.sentence.removeprefix(
            "To undo the correction, an unobserved factor would have to be "
        ).removesuffix(" (robustness value 0.25).")

    assert said(("c0",), 1) == "as strong as c0"
    assert said(("c0", "c1"), 2) == "as strong as c0 and c1 together"
    assert said(("c0", "c1", "c2"), 5) == "as strong as c0, c1 and c2 together"
    assert said(("c0", "c1", "c2"), 3) == "as strong as all 3 columns together"
    assert said(tuple(f"c{k}" for k in range(6)), 9) == (
        "as strong as the 6 strongest of 9 columns together"
    )
    assert said(None, 9) == "stronger than all 9 columns together"
    assert said(None, 2) == "stronger than both columns together"


def test_margins_have_bounds_and_robustness():
    """Weights that meet cells: the bounds of a share are those of its cells, weighted."""
    rng = np.random.default_rng(9)
    cell = rng.integers(0, 2, 4000)
    h, L = np.array([0.3, 0.8]), 2.0
    y = (rng.random(4000) < h[cell]).astype(float)
    table = pd.DataFrame({"place": np.where(cell == 0, "town", "land")})
    margins = Margins({"place": {"town": 20, "land": 80}})
    found = estimate(table, y, margins)
    bounds = found.with_sensitivity(L).overall[0].sensitivity_bounds
    seen = np.array([y[cell == k].mean() for k in (0, 1)])
    high = [0.2, 0.8] @ np.minimum(L * seen, 1 - (1 - seen) / L)
    low = [0.2, 0.8] @ np.maximum(seen / L, 1 - L * (1 - seen))
    assert bounds == pytest.approx((low, high), abs=0.005)
    assert "an unobserved factor would have to be as strong as place (" in found.assumption
    number = estimate(table, y + rng.normal(size=4000), margins).with_sensitivity(L).overall[0]
    assert number.sensitivity_bounds[0] < number.interval[0] < number.sensitivity_bounds[1]


def test_the_robustness_value_keeps_its_digits_far_away(shifted):
    y, w = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.5, 1.5, 1.0, 1.0])
    far = [robustness_value(0.5, 0.5 + 10.0**k, y, w) for k in (1, 4, 9, 30, 200, 300)]
    assert far == sorted(far)
    assert far[-1] == pytest.approx(1.0)
    X, y, T, diagnosis = shifted
    found = estimate_with(diagnosis, X, y, T, weighter="entropy", outcome_model=LinearRegression())
    assert found.robustness(-1e300).value == pytest.approx(1.0)


def test_an_answer_that_is_the_null_already_takes_no_reason(shifted):
    X, y, T, diagnosis = shifted
    ask = partial(estimate_with, diagnosis, X, weighter="entropy", outcome_model=LinearRegression())
    found = ask(y, T)
    there = found.robustness(found.value)
    assert there.value == 0
    assert there.sentence == f"The answer is {100 * found.value:.4g}% already."
    same = ask(np.full(len(y), 0.1), T)  # whose weighted mean is 0.1 to rounding
    assert same.robustness().value == 0
    assert "nothing to undo" in same.robustness().sentence
    assert "undo" not in str(same)


def test_weights_without_a_feature_are_those_of_the_others():
    survey = make_survey(120, 150, random_state=0)
    sets = ColumnSets.of(Samples.of(survey.X, survey.y, survey.X_target), survey.y)
    every = range(len(sets.names))
    for k in every:
        others = sets.weights([j for j in every if j != k])
        np.testing.assert_allclose(sets.weights_without(k), others, rtol=1e-8, atol=1e-10)
