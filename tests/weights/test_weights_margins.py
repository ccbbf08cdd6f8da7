"""Weights from margins: the same as from rows where margins say as much; what they refuse."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from contract import run_check
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import covshift
from covshift import Margins, Reweighted
from covshift.corrections import Additive
from covshift.exceptions import (
    FewRowsWarning,
    InputError,
    MarginsWarning,
    NoOverlapError,
    WeightWarning,
)
from covshift.registry import MARGINS, weighters
from covshift.testing import check_weighter
from covshift.weights import (
    WEIGHTERS,
    CDFWeights,
    EntropyBalancing,
    PostStratification,
    Raking,
    as_weighter,
)

DATA = Path(__file__).parents[1] / "recorded"
rng = np.random.default_rng(0)
X, T = rng.normal(size=(200, 3)), rng.normal(0.4, 1.0, size=(150, 3))
X[:, 2], T[:, 2] = X[:, 2].round(1), T[:, 2].round(1)
D = rng.uniform(0.5, 3.0, size=200)
SAMPLE = pd.DataFrame(
    {
        "age": rng.integers(18, 90, 300),
        "sex": rng.choice(["f", "m"], 300, p=[0.35, 0.65]),
        "region": rng.choice(["e", "n", "s"], 300),
        "bmi": rng.normal(26, 5, 300),
    }
)
MARGINS_OF_ALL = Margins(
    {
        "age": {(18, 29): 16, (30, 64): 48, (65, None): 36},
        ("sex", "region"): {
            ("f", "n"): 0.2, ("f", "s"): 0.2, ("f", "e"): 0.12,
            ("m", "n"): 0.19, ("m", "s"): 0.1, ("m", "e"): 0.19,
        },
        "bmi": {"mean": 27.1, "sd": 4.8},
    },
    size=1e6,
)  # fmt: skip
CELLS_OF_ALL = MARGINS_OF_ALL.select(["age", "sex", "region"])
CELL_SAMPLE = SAMPLE[["age", "sex", "region"]]
TAKES = {entry.name for entry in weighters() if MARGINS in entry.can}


def quiet(weighter, X, target, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginsWarning)
        warnings.simplefilter("ignore", WeightWarning)
        return weighter.fit(X, X_target=target, **more)


def gaps(margins, X, w):
    return [abs(row.gap) for row in margins.balance(X, w)]


# CDF weights


@pytest.mark.part(3)
@pytest.mark.parametrize("design", [None, D], ids=["plain", "design weights"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "dense"},
        {"solver": "thresholds"},
        {"solver": "thresholds", "tol": 1e-10},
        {"reg": 0.1},
        {"views": Additive(phi="anderson-darling")},
        {"purpose": "training"},
    ],
    ids=str,
)
def test_margins_with_every_value_give_the_weights_of_the_rows(options, design):
    everything = Margins.from_rows(T, bins=None, min_count=1)
    by_rows = quiet(CDFWeights(**options), X, T, sample_weight=design)
    found = quiet(CDFWeights(**options), X, everything, sample_weight=design)
    np.testing.assert_allclose(found.weights_, by_rows.weights_, atol=1e-8)
    assert found.reg_ == pytest.approx(by_rows.reg_, rel=1e-9)
    assert found.mismatch_ == pytest.approx(by_rows.mismatch_, rel=1e-6)
    assert found.noise_ == pytest.approx(by_rows.noise_)
    new = rng.normal(size=(20, 3))
    np.testing.assert_allclose(found.predict_weights(new), by_rows.predict_weights(new), atol=1e-7)


def test_categories_are_the_indicators_that_frames_have():
    levels = np.array(["a", "b", "c"])
    frame = pd.DataFrame(
        {"x": X[:, 0], "k": rng.choice(levels, 200), "b": rng.choice(["no", "yes"], 200)}
    )
    target = pd.DataFrame(
        {
            "x": T[:, 0],
            "k": rng.choice(levels, 150, p=[0.2, 0.3, 0.5]),
            "b": rng.choice(["no", "yes"], 150, p=[0.3, 0.7]),
        }
    )
    by_rows = quiet(CDFWeights(), frame, target)
    everything = Margins.from_rows(target, bins=None, min_count=1)
    found = quiet(CDFWeights(), frame, everything)
    np.testing.assert_allclose(found.weights_, by_rows.weights_, atol=1e-8)
    assert found.reg_ == pytest.approx(by_rows.reg_, rel=1e-9)
    assert found.mismatch_ == pytest.approx(by_rows.mismatch_, rel=1e-6)


def test_only_the_published_cuts_count():
    """Values may move between two cuts without any change."""
    margins = Margins({0: {(None, -0.5): 0.2, (-0.5, 0.5): 0.3, (0.5, None): 0.5}})
    x = X[:, :1]
    moved = np.where(x < -0.5, x - 3, np.where(x < 0.5, x * 0.9, x + 7))
    w = CDFWeights(reg=0.01).fit(x, X_target=margins).weights_
    np.testing.assert_allclose(CDFWeights(reg=0.01).fit(moved, X_target=margins).weights_, w)
    assert max(gaps(margins, x, w)) < 0.01


def test_coarse_margins_bring_what_they_say():
    margins = Margins.from_rows(T, bins=10)
    w = quiet(CDFWeights(), X, margins).weights_
    before, after = (
        np.abs(np.average(X, axis=0, weights=weight) - T.mean(axis=0)) for weight in (None, w)
    )
    assert (after < 0.2 * before).all()


def test_cells_without_training_rows_are_named():
    margins = Margins({"age": {(0, 18): 0.3, (18, 200): 0.7}})
    with pytest.raises(NoOverlapError, match=r"30% of the target has 'age' in 0 to under 18"):
        CDFWeights().fit(SAMPLE[["age"]], X_target=margins)
    with pytest.warns(WeightWarning, match="0 to under 18"):
        found = CDFWeights(allow_no_overlap=True).fit(SAMPLE[["age"]], X_target=margins)
    assert not found.overlap_
    assert found.uncovered_[0].share == pytest.approx(0.3)
    far = Margins({"age": {(18, 90): 0.6, (90, 100): 0.2, (100, None): 0.2}})
    with pytest.raises(NoOverlapError, match=r"40% .* 90 to under 100 ... 100 and over"):
        CDFWeights().fit(SAMPLE[["age"]], X_target=far)


@pytest.mark.parametrize(
    "options", [{"views": "pairwise"}, {"views": Additive(symmetric=True)}, {"reg": "cv"}], ids=str
)
def test_views_that_need_rows_are_refused(options):
    with pytest.raises(InputError, match="not rows: use CDFWeights"):
        CDFWeights(**options).fit(X, X_target=Margins.from_rows(T))


def test_means_are_no_distribution_functions():
    with pytest.warns(MarginsWarning, match="does not use the means of 'bmi'"):
        CDFWeights().fit(SAMPLE, X_target=MARGINS_OF_ALL)
    with pytest.raises(InputError, match="can use none of the margins"):
        Raking().fit(SAMPLE[["bmi"]], X_target=MARGINS_OF_ALL.select(["bmi"]))


# Entropy balancing


def test_entropy_balancing_meets_every_number():
    w = EntropyBalancing(2).fit(SAMPLE, X_target=MARGINS_OF_ALL).weights_
    assert max(gaps(MARGINS_OF_ALL, SAMPLE, w)) < 1e-7
    assert np.average(SAMPLE.bmi, weights=w) == pytest.approx(27.1)
    assert np.average((SAMPLE.bmi - 27.1) ** 2, weights=w) == pytest.approx(4.8**2)


def test_a_mean_alone_is_the_moment_of_the_rows():
    margins = Margins({k: {"mean": float(T[:, k].mean())} for k in range(3)})
    by_rows = EntropyBalancing().fit(X, X_target=T).weights_
    found = EntropyBalancing().fit(X, X_target=margins)
    np.testing.assert_allclose(found.weights_, by_rows, atol=1e-7)
    np.testing.assert_allclose(found.predict_weights(X), found.weights_)


def test_an_unreachable_mean_is_named():
    with pytest.raises(NoOverlapError, match="the mean of 'bmi'"):
        EntropyBalancing().fit(SAMPLE[["bmi"]], X_target=Margins({"bmi": {"mean": 99.0}}))


# Raking and post-stratification


@pytest.mark.parametrize("design", [None, np.linspace(1, 4, 300)], ids=["plain", "design weights"])
def test_raking_is_the_tilt_of_largest_entropy(design):
    by_tilt = EntropyBalancing(tol=1e-12).fit(
        CELL_SAMPLE, X_target=CELLS_OF_ALL, sample_weight=design
    )
    found = Raking().fit(CELL_SAMPLE, X_target=CELLS_OF_ALL, sample_weight=design)
    np.testing.assert_allclose(found.weights_, by_tilt.weights_, atol=1e-7)
    assert found.imbalance_ < 1e-9
    np.testing.assert_allclose(found.predict_weights(CELL_SAMPLE), found.weights_, atol=1e-12)


@pytest.mark.parametrize("package", ["svy", "balance"])
def test_raking_and_poststratification_agree_with_others(package):
    recorded = json.loads((DATA / f"raking_{package}.json").read_text())
    sample = pd.DataFrame(recorded["sample"])
    d = sample.pop("design").to_numpy()
    cells = {(s, a): v for s, row in recorded["cells"].items() for a, v in row.items()}
    everything = Margins({**recorded["margins"]})
    table = Margins({("sex", "age"): cells})
    ours = {
        "raking": Raking(tol=1e-13).fit(sample, X_target=everything, sample_weight=d),
        "one margin": PostStratification("age").fit(sample, X_target=everything, sample_weight=d),
        "table": PostStratification().fit(sample[["sex", "age"]], X_target=table, sample_weight=d),
    }
    assert {"raking", "table"} <= recorded["weights"].keys() <= ours.keys()
    for name, theirs in recorded["weights"].items():
        final = d * ours[name].weights_
        expected = np.array(theirs) * len(d) / np.sum(theirs)
        np.testing.assert_allclose(final * len(d) / final.sum(), expected, rtol=1e-10)


def test_bounded_raking_is_the_nearest_within_the_limits():
    """Against a general solver: least relative entropy under the same bounds and shares."""
    few = CELL_SAMPLE[:60]
    region = {"n": 0.5, "s": 0.3, "e": 0.2}
    margins = Margins(
        {"sex": {"f": 0.6, "m": 0.4}, "age": {(18, 50): 0.3, (50, None): 0.7}, "region": region}
    )
    plain = Raking().fit(few, X_target=margins).weights_
    limits = (0.35, 2.1)
    assert plain.min() < limits[0]
    assert plain.max() > limits[1]
    found = Raking(limits).fit(few, X_target=margins).weights_
    regions = [few.region == name for name in ("n", "s", "e")]  # add up to the mean of one
    indicators = np.column_stack([few.sex == "f", few.age < 50, *regions]).astype(float)
    exact = minimize(
        lambda w: float(w @ np.log(w)),
        np.ones(60),
        jac=lambda w: np.log(w) + 1,
        bounds=[limits] * 60,
        constraints={
            "type": "eq",
            "fun": lambda w: indicators.T @ w / 60 - [0.6, 0.3, 0.5, 0.3, 0.2],
            "jac": lambda w: indicators.T / 60,
        },
        options={"ftol": 1e-15, "maxiter": 500},
    )
    np.testing.assert_allclose(found, exact.x, atol=1e-5)
    assert limits[0] - 1e-12 <= found.min() < found.max() <= limits[1] + 1e-12
    assert max(gaps(margins, few, found)) < 1e-8


def test_what_limits_cost_in_balance_is_said():
    margins = Margins({"sex": {"f": 0.8, "m": 0.2}})
    one = SAMPLE[["sex"]]
    share = float((one.sex == "f").mean())
    with pytest.warns(WeightWarning, match=r"share of 'f' is off by"):
        found = Raking((0.5, 1.5)).fit(one, X_target=margins)
    reached = min(1.5 * share, 1 - 0.5 * (1 - share))
    assert found.imbalance_ == pytest.approx(0.8 - reached, abs=1e-9)
    assert found.weights_.mean() == pytest.approx(1)


def test_wide_limits_change_nothing():
    plain = Raking().fit(CELL_SAMPLE, X_target=CELLS_OF_ALL)
    wide = Raking((0.01, 50)).fit(CELL_SAMPLE, X_target=CELLS_OF_ALL)
    np.testing.assert_array_equal(wide.weights_, plain.weights_)


def test_raking_in_a_few_rounds_says_that_it_has_not_converged():
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 rounds"):
        Raking(max_iter=1).fit(CELL_SAMPLE, X_target=CELLS_OF_ALL)


def test_margins_that_no_weights_give_are_refused():
    frame = pd.DataFrame({"a": list("xxyy"), "b": list("uuvv")})
    margins = Margins({"a": {"x": 0.3, "y": 0.7}, "b": {"u": 0.6, "v": 0.4}})
    with pytest.raises(NoOverlapError, match="all margins together"):
        Raking().fit(frame, X_target=margins)


def test_poststratification_is_the_ratio_of_shares():
    table = CELLS_OF_ALL.select(["sex", "region"])
    sample = SAMPLE[["sex", "region"]]
    w = PostStratification().fit(sample, X_target=table).weights_
    for (a, b), share in zip(np.ndindex(2, 3), table.tables[0].share.ravel(), strict=True):
        names = [cells.levels[k] for cells, k in zip(table.tables[0].cells, (a, b), strict=True)]
        there = (sample.sex == names[0]) & (sample.region == names[1])
        np.testing.assert_allclose(w[there], share * 300 / there.sum())


def test_the_table_or_column_can_be_chosen():
    by_age = quiet(PostStratification("age"), SAMPLE, MARGINS_OF_ALL).weights_
    assert np.average(SAMPLE.age < 30, weights=by_age) == pytest.approx(0.16)
    for by in (["region", "sex"], ("sex", "region")):
        w = quiet(PostStratification(by), SAMPLE, MARGINS_OF_ALL).weights_
        assert np.average(SAMPLE.sex == "f", weights=w) == pytest.approx(0.52)
    by_sex = quiet(PostStratification("sex"), SAMPLE, MARGINS_OF_ALL).weights_
    assert np.average(SAMPLE.sex == "f", weights=by_sex) == pytest.approx(0.52)
    with pytest.raises(InputError, match=r"have 'age', 'sex x region'. Choose with by="):
        PostStratification().fit(CELL_SAMPLE, X_target=CELLS_OF_ALL)
    with pytest.raises(InputError, match="no such cells"):
        PostStratification(["sex", "age"]).fit(CELL_SAMPLE, X_target=CELLS_OF_ALL)


@pytest.mark.parametrize("kind", [Raking, PostStratification])
def test_empty_cells_are_named_or_join_their_neighbours(kind):
    margins = Margins({"age": {(18, 65): 0.6, (65, 95): 0.3, (95, None): 0.1}})
    one = SAMPLE[["age"]]
    with pytest.raises(NoOverlapError, match=r"'95 and over' \(10.0%\).*collapse=True"):
        kind().fit(one, X_target=margins)
    w = kind(collapse=True).fit(one, X_target=margins).weights_
    assert np.average(one.age >= 65, weights=w) == pytest.approx(0.4)
    levels = Margins({"sex": {"f": 0.5, "m": 0.4, "x": 0.1}})
    for collapse in (False, True):
        with pytest.raises(NoOverlapError, match="'x'"):
            kind(collapse=collapse).fit(SAMPLE[["sex"]], X_target=levels)


def test_cells_of_a_table_join_along_brackets_alone():
    frame = pd.DataFrame({"sex": list("ffmmm"), "age": [20, 50, 20, 50, 80]})
    cells = {
        (s, a): v for s in "fm" for a, v in {(18, 40): 0.1, (40, 60): 0.1, (60, 99): 0.3}.items()
    }
    margins = Margins({("sex", "age"): cells})
    with pytest.raises(NoOverlapError, match=r"sex x age: f, 60 to 99 \(30.0%\)"):
        PostStratification().fit(frame, X_target=margins)
    w = PostStratification(collapse=True).fit(frame, X_target=margins).weights_
    np.testing.assert_allclose(w, 5 * np.array([0.1, 0.4, 0.1, 0.1, 0.3]))


def test_a_cell_of_nobody_weighs_nothing():
    margins = Margins({"sex": {"f": 1.0, "m": 0.0}})
    for weighter in (Raking(), PostStratification()):
        w = weighter.fit(SAMPLE[["sex"]], X_target=margins).weights_
        assert not w[SAMPLE.sex == "m"].any()


# All that take margins


@pytest.mark.part(20)
@pytest.mark.parametrize("weighter", [Raking(), Raking((0.2, 5)), PostStratification()], ids=str)
def test_the_contract_of_weighters_holds_for_rows(weighter):
    check_weighter(weighter)


@parametrize_with_checks([Raking(), PostStratification()])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        run_check(estimator, check)


def test_the_table_says_who_takes_margins():
    assert TAKES == {"cdf", "entropy", "raking", "poststratification"}
    for name in WEIGHTERS:
        if name in TAKES:
            assert quiet(as_weighter(name), X[:, :1], Margins.from_rows(T[:, :1])).weights_.any()
            continue
        with pytest.raises(
            InputError, match="needs target rows: fit CDFWeights, EntropyB"
        ) as found:
            as_weighter(name).fit(X, X_target=Margins.from_rows(T))
        assert WEIGHTERS[name].__name__ in str(found.value)
        assert all(WEIGHTERS[other].__name__ in str(found.value) for other in TAKES)


EVERY = {
    "cdf": CDFWeights(),
    "entropy": EntropyBalancing(),
    "raking": Raking(),
    "bounded raking": Raking((0.2, 3.0)),
    "poststratification": PostStratification(["sex", "region"]),
}


@pytest.mark.parametrize("name", EVERY)
def test_a_fit_to_margins_can_be_saved(name, tmp_path):
    fitted = quiet(EVERY[name], SAMPLE, MARGINS_OF_ALL)
    covshift.save(fitted, tmp_path / "w.covshift")
    again = covshift.load(tmp_path / "w.covshift")
    np.testing.assert_array_equal(again.predict_weights(SAMPLE), fitted.predict_weights(SAMPLE))
    np.testing.assert_allclose(again.weights_, again.predict_weights(SAMPLE), atol=1e-7)


@pytest.mark.parametrize("name", EVERY)
def test_factors_are_on_the_design_weights(name):
    d = np.linspace(1.0, 5.0, 300)
    fitted = quiet(EVERY[name], SAMPLE, MARGINS_OF_ALL, sample_weight=d)
    final = d * fitted.weights_
    assert final.sum() / d.sum() == pytest.approx(1)
    assert np.average(SAMPLE.sex == "f", weights=final) == pytest.approx(0.52, abs=0.01)
    scaled = quiet(EVERY[name], SAMPLE, MARGINS_OF_ALL, sample_weight=1000 * d).weights_
    np.testing.assert_allclose(scaled, fitted.weights_, atol=1e-6)
    dropped = np.where(np.arange(300) < 30, 0.0, d)
    kept = quiet(EVERY[name], SAMPLE, MARGINS_OF_ALL, sample_weight=dropped).weights_[30:]
    without = quiet(EVERY[name], SAMPLE[30:], MARGINS_OF_ALL, sample_weight=d[30:]).weights_
    np.testing.assert_allclose(kept, without, atol=1e-6)


def test_a_row_of_weight_zero_may_lie_in_no_bracket():
    margins = Margins({"age": {(18, 60): 0.5, (60, 80): 0.5}})
    ages, there = SAMPLE[["age"]], (SAMPLE.age <= 80).to_numpy()
    for weighter in (Raking(), EntropyBalancing(), PostStratification(), CDFWeights()):
        expected = weighter.fit(ages[there], X_target=margins).weights_
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = weighter.fit(ages, X_target=margins, sample_weight=there).weights_
        np.testing.assert_allclose(found[there], expected, atol=1e-9)


def test_margins_of_weighted_rows_give_the_weights_of_these():
    v = np.random.default_rng(1).integers(1, 6, 150)
    margins = Margins.from_rows(T, bins=None, min_count=1, weight=v)
    found = quiet(CDFWeights(tol=1e-9), X, margins)
    expected = quiet(CDFWeights(tol=1e-9), X, T, target_weight=v)
    np.testing.assert_allclose(found.weights_, expected.weights_, atol=1e-8)
    assert found.noise_ == pytest.approx(expected.noise_)


@pytest.mark.parametrize("name", EVERY)
def test_a_one_tuple_and_the_order_of_columns_make_no_difference(name):
    w = quiet(EVERY[name], SAMPLE, MARGINS_OF_ALL).weights_
    turned = SAMPLE[["bmi", "region", "age", "sex"]]
    np.testing.assert_allclose(quiet(EVERY[name], turned, (MARGINS_OF_ALL,)).weights_, w)


@pytest.mark.parametrize("name", EVERY)
def test_a_refit_to_rows_forgets_the_margins(name):
    numbers = X[:, :2]
    again = quiet(EVERY[name], SAMPLE, MARGINS_OF_ALL)
    if name == "poststratification":
        again.set_params(by=None)
    quiet(again, numbers, T[:, :2])
    assert again.predict_weights(numbers).shape == (200,)
    np.testing.assert_allclose(again.predict_weights(numbers), again.weights_, atol=1e-6)


def test_columns_without_a_margin_are_named():
    with pytest.warns(MarginsWarning, match="without a margin: 'bmi', 'job'. The weights do"):
        Raking().fit(SAMPLE.assign(job=1.0), X_target=CELLS_OF_ALL)


def test_margins_of_columns_that_are_not_there_are_named():
    with pytest.raises(
        InputError, match=r"have 'sex', 'region', which X lacks. X has 'age', 'bmi'"
    ):
        Raking().fit(SAMPLE[["age", "bmi"]], X_target=CELLS_OF_ALL)
    with pytest.raises(InputError, match=r"have 'age'.*its columns are called 0, 1, 2"):
        Raking().fit(X, X_target=CELLS_OF_ALL.select(["age"]))


def test_unknown_categories_are_named():
    margins = Margins({"region": {"n": 0.5, "s": 0.5}})
    one = SAMPLE[["region"]]
    count = int((one.region == "e").sum())
    words = rf"'region' has 'e' \({count} of 300 rows\), and the margins have 'n', 's'"
    with pytest.raises(InputError, match=words):
        Raking().fit(one, X_target=margins)
    other = Margins({"region": {"n": 0.3, "(other)": 0.7}})
    w = Raking().fit(one, X_target=other).weights_
    assert np.average(one.region == "n", weights=w) == pytest.approx(0.3)


def test_rows_in_no_bracket_are_named():
    margins = Margins({"age": {(18, 60): 0.5, (60, 80): 0.5}})
    one = SAMPLE[["age"]]
    count = int((one.age > 80).sum())
    words = rf"{count} of 300 rows of X lie in no bracket of 'age': they have values from 81 to 89"
    for weighter in (Raking(), EntropyBalancing(), PostStratification()):
        with pytest.raises(InputError, match=words):
            weighter.fit(one, X_target=margins)
    with pytest.warns(MarginsWarning, match=words):
        w = CDFWeights(reg=0.01).fit(one, X_target=margins).weights_
    assert w[one.age > 80].max() < 0.05


def test_numbers_may_be_categories():
    codes = (SAMPLE.sex == "m").to_numpy().astype(float)[:, None] + 1
    w = Raking().fit(codes, X_target=Margins({0: {1: 0.7, 2: 0.3}})).weights_
    assert np.average(codes[:, 0] == 1, weights=w) == pytest.approx(0.7)


def test_weights_of_the_target_are_for_rows():
    with pytest.raises(InputError, match="target_weight is for target rows"):
        Raking().fit(X, X_target=Margins.from_rows(T), target_weight=np.ones(150))


def test_weights_that_rest_on_few_rows_warn():
    margins = Margins({"age": {(18, 88): 0.01, (88, None): 0.99}})
    with pytest.warns(FewRowsWarning):
        Raking().fit(SAMPLE[["age"]], X_target=margins)


# Others


def test_reweighted_weighs_the_columns_as_they_came():
    numbers = SAMPLE[["age", "bmi"]]
    y = (SAMPLE.age > 50).astype(int)
    margins = Margins({"age": {(18, 40): 0.6, (40, None): 0.4}})
    model = Reweighted(make_pipeline(StandardScaler(), LogisticRegression()), weighter=Raking())
    with pytest.warns(MarginsWarning, match="'bmi'"):
        model.fit(numbers, y, X_target=margins)
    expected = Raking().fit(numbers[["age"]], X_target=margins).weights_
    np.testing.assert_allclose(model.weights_, expected)
    times = np.arange(300) % 3
    quiet(model, numbers, margins, y=y, sample_weight=times)
    final = times * model.weights_
    assert np.average(numbers.age < 40, weights=final) == pytest.approx(0.6)


def test_reweighted_hands_margins_on_where_the_columns_are_still_those():
    numbers, y = SAMPLE[["age"]], (SAMPLE.age > 50).astype(int)
    margins = Margins({"age": {(18, 40): 0.6, (40, None): 0.4}})
    machine = covshift.VSVC("additive", kernel="rbf")
    found = Reweighted(machine, weighter="raking").fit(numbers, y, X_target=margins)
    machine.fit(numbers, y, X_target=margins, sample_weight=found.weights_)
    np.testing.assert_allclose(found.predict_proba(numbers), machine.predict_proba(numbers))
    scaled = Reweighted(make_pipeline(StandardScaler(), machine), weighter="raking")
    with pytest.raises(InputError, match="as they came, and VSVC gets others"):
        scaled.fit(numbers, y, X_target=margins)


def refusals():
    y = X[:, 0]
    label = (y > 0).astype(int)
    return {
        "robust": lambda m: covshift.RobustBiasAware().fit(X, label, X_target=m),
        "evaluate": lambda m: covshift.evaluate(LogisticRegression().fit(X, label), X, label, m),
        "compare": lambda m: covshift.compare(
            X, label, m, estimators={"a": Reweighted(LogisticRegression(), weighter="kmm")}
        ),
    }


@pytest.mark.parametrize("name", refusals())
def test_what_needs_rows_says_what_to_use_instead(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"is a covshift.Margins.*Raking or PostStratification"):
        refusals()[name](Margins.from_rows(T))
