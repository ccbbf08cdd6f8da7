"""Estimates of a population known by its margins: closed forms, rows, refusals, coverage."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from calls import estimate_with
from reference import calibrated_variance

from covshift import CDF, Difference, Margins, Ratio, Target, Total, diagnose, estimate
from covshift.engine.ridge import LeaveOneOutRidge
from covshift.engine.stack import predict_linear
from covshift.estimates import Trimmed
from covshift.exceptions import InputError, NoOverlapError
from covshift.numerics.crossfit import deals
from covshift.weights import CDFWeights, EntropyBalancing, PostStratification, Raking
from covshift.weights.limits import strictly_inside
from covshift.weights.m_estimation import clipped_tilt

rng = np.random.default_rng(0)
N = 400
X = pd.DataFrame(
    {
        "age": rng.integers(18, 90, N),
        "sex": rng.choice(["f", "m"], N, p=[0.35, 0.65]),
        "region": rng.choice(["e", "n", "s"], N, p=[0.5, 0.3, 0.2]),
    }
)
Y = 0.05 * X.age + (X.sex == "f") - 0.5 * (X.region == "s") + rng.normal(0, 1, N)
D = rng.uniform(0.5, 3, N)
MARGINS = Margins(
    {
        "age": {(18, 29): 30, (30, 64): 50, (65, None): 20},
        "sex": {"f": 0.51, "m": 0.49},
        "region": {"n": 0.4, "s": 0.4, "e": 0.2},
    }
)
SIZED = Margins.of(MARGINS.single, size=80_000)
FEATURES = np.column_stack(
    [X.age < 30, X.age >= 65, X.sex == "f", X.region == "n", X.region == "s"]
).astype(float)
MEANS = np.array([0.3, 0.2, 0.51, 0.4, 0.4])


def row(found, method="weights", **where):
    return found.table.where(method=method, **where)[0]


def few_rows(w, fitted):
    size = w.sum() ** 2 / (w @ w)
    return size / (size - fitted)


# Oracles


def test_one_margin_is_poststratification_in_closed_form():
    region = X[["region"]]
    found = estimate(region, Y, MARGINS.select(["region"]), method="weights")
    share = {"n": 0.4, "s": 0.4, "e": 0.2}
    cells = {k: Y[X.region == k] for k in share}
    assert found.value == pytest.approx(sum(share[k] * y.mean() for k, y in cells.items()))
    parts = (share[k] ** 2 * y.var(ddof=0) / len(y) for k, y in cells.items())
    factor = few_rows(found.weights, 3) * N / (N - 1)
    assert found.standard_error == pytest.approx(np.sqrt(factor * sum(parts)))


def test_rows_of_categories_and_their_margins_give_one_number():
    T = pd.DataFrame({"region": rng.choice(["e", "n", "s"], 500, p=[0.2, 0.4, 0.4])})
    margins = Margins.from_rows(T, bins=None, min_count=1)
    by_rows = estimate(
        X[["region"]],
        Y,
        Target(T, finite_population=True),
        weighter=PostStratification(),
        method="weights",
    )
    found = estimate(X[["region"]], Y, margins, method="weights")
    assert found.value == pytest.approx(by_rows.value, abs=1e-9)
    np.testing.assert_allclose(found.weights, by_rows.weights, atol=1e-8)
    again = estimate(X[["region"]], Y, margins, weighter=PostStratification(), method="weights")
    assert again.standard_error == pytest.approx(found.standard_error)


@pytest.mark.parametrize("method", ["dr", "weights", "model"])
def test_margins_of_few_rows_err_as_these_do(method):
    size, share = 50, {"n": 0.4, "s": 0.4, "e": 0.2}
    exact = MARGINS.select(["region"])
    sized = Margins.of(exact.single, size=size)
    outcome = Y + 3 * (X.region == "n")
    known, rough = (row(estimate(X, outcome, m), method) for m in (exact, sized))
    assert rough.value == known.value
    means = np.array([outcome[X.region == k].mean() for k in share])
    shares = np.array(list(share.values()))
    spread = shares @ (means - shares @ means) ** 2
    added = rough.standard_error**2 - known.standard_error**2
    assert added == pytest.approx(spread / size, rel=0.05)
    whole = row(estimate(X, outcome, Target(sized, finite_population=True)), method)
    assert whole.standard_error == pytest.approx(known.standard_error)
    plain = (row(estimate(X, outcome, m), "none").standard_error for m in (exact, sized))
    assert len(set(plain)) == 1


def test_the_size_of_groups_errs_too():
    found = [
        row(
            estimate(X, Y, Margins.of(MARGINS.single, size=size), by="sex", what=Total(1.0)),
            "weights",
            group="f",
        )
        for size in (None, 40)
    ]
    values = Y * (X.sex == "f")
    w = Raking().fit(X, X_target=MARGINS).weights_
    A = np.column_stack([np.ones(N), FEATURES])
    root = np.sqrt(w)
    b = np.linalg.lstsq(root[:, None] * A, root * values.to_numpy(), rcond=None)[0]
    explained = A @ b
    spread = np.average((explained - np.average(explained, weights=w)) ** 2, weights=w)
    added = found[1].standard_error ** 2 - found[0].standard_error ** 2
    assert added == pytest.approx(spread / 40, rel=0.1)


@pytest.mark.parametrize("design", [None, D], ids=["plain", "design weights"])
@pytest.mark.parametrize("weighter", [None, "raking", EntropyBalancing()], ids=str)
def test_calibrated_weights_have_the_error_of_regression_residuals(weighter, design):
    found = estimate(X, Y, MARGINS, weighter=weighter, sample_weight=design)
    d = np.ones(N) if design is None else design
    w = d * Raking().fit(X, X_target=MARGINS, sample_weight=d).weights_
    assert row(found).value == pytest.approx(np.average(Y, weights=w), abs=1e-6)
    np.testing.assert_allclose(w @ FEATURES / w.sum(), MEANS, atol=1e-8)
    if design is not None:  # the regression is that of the design, as in survey software
        variance = calibrated_variance(Y.to_numpy(), FEATURES, w, d, np.arange(N))
        assert row(found).standard_error == pytest.approx(np.sqrt(variance), rel=1e-5)
        return
    A = np.column_stack([np.ones(N), FEATURES])
    root = np.sqrt(w)
    b = np.linalg.lstsq(root[:, None] * A, root * Y.to_numpy(), rcond=None)[0]
    psi = w * (Y.to_numpy() - A @ b) / w.sum()
    error = np.sqrt(few_rows(w, 6) * N / (N - 1) * (psi @ psi))
    assert row(found).standard_error == pytest.approx(error, rel=1e-5)


def test_weights_of_other_software_that_meet_the_margins_count_as_calibrated():
    w = Raking().fit(X, X_target=MARGINS).weights_
    given, own = estimate(X, Y, MARGINS, weighter=w), estimate(X, Y, MARGINS, weighter="raking")
    assert row(given).standard_error == pytest.approx(row(own).standard_error)
    uneven = w * np.where(X.age < 40, 1.5, 1.0)
    rough = row(estimate(X, Y, MARGINS, weighter=uneven))
    psi = uneven * (Y - np.average(Y, weights=uneven)) / uneven.sum()
    assert rough.standard_error == pytest.approx(np.sqrt(N / (N - 1) * (psi @ psi)))


def test_the_order_in_which_levels_are_written_says_nothing():
    """A row has one number for its level, in the margin of the column and in every table."""
    people = np.random.default_rng(5)
    names = ["a", "b", "c"]
    sample = pd.DataFrame(people.integers(0, 3, (400, 3)).astype(str), columns=names)
    target = pd.DataFrame(
        people.choice(["0", "1", "2"], (900, 3), p=[0.2, 0.3, 0.5]), columns=names
    )
    y = sample.a.astype(int) + sample.b.astype(int) * sample.c.astype(int)

    def published(pairs, turned, alone):
        def written(counts):
            items = list((counts / len(target)).to_dict().items())
            return dict(items[::-1] if turned else items)

        one = {name: written(target[name].value_counts(sort=False)) for name in alone}
        two = {pair: written(target.groupby(list(pair)).size()) for pair in pairs}
        return Margins({**one, **dict(reversed(two.items()) if turned else two.items())})

    for pairs, alone in (([("a", "b"), ("b", "c")], names), ([("a", "b"), ("c", "b")], [])):
        plain, turned = (estimate(sample, y, published(pairs, back, alone)) for back in (0, 1))
        assert turned.value == pytest.approx(plain.value, abs=1e-6)
        assert turned.standard_error == pytest.approx(plain.standard_error, rel=1e-4)


def test_a_table_and_a_margin_with_other_levels_are_refused():
    with pytest.raises(InputError, match="'a' has the cells 'x', 'z' in the table a x b, and 'x'"):
        Margins({"a": {"x": 0.5, "y": 0.5}, ("a", "b"): {("x", "u"): 0.5, ("z", "u"): 0.5}})


def test_an_outcome_of_one_class_has_the_share_one():
    same = pd.Series(["yes"] * N)
    assert estimate(X, same, MARGINS, what="proportion").value == 1.0


@pytest.mark.parametrize("classes", [None, np.array(["a", "b", "c"])], ids=["number", "classes"])
def test_the_target_mean_of_a_linear_model_follows_from_the_margins(classes):
    T = rng.normal(size=(300, 4))
    Z = rng.normal(size=(120, 4))
    y = Z[:, 0] + rng.normal(size=120)
    if classes is not None:
        y = classes[np.digitize(y, [-0.5, 0.7])]
    fold = deals(Z, np.zeros(120), 5, 3)
    options = {"classes": classes, "weight": None}
    by_mean = predict_linear(Z, T.mean(axis=0)[None, :], y, fold, **options)
    by_rows = predict_linear(Z, T, y, fold, **options)
    np.testing.assert_allclose(by_mean.folds[:, 0], by_rows.folds.mean(axis=1), atol=1e-12)
    if classes is not None:
        np.testing.assert_allclose(by_mean.train.sum(axis=1), 1)


def test_doubly_robust_is_the_model_plus_weighted_residuals():
    found = estimate(X, Y, MARGINS, weighter=CDFWeights())
    Z = np.column_stack(
        [X.age < 30, X.age.between(30, 64), X.age >= 65, X.sex == "f", X.sex == "m"]
        + [X.region == k for k in "nse"]
    ).astype(float)
    means = np.array([0.3, 0.5, 0.2, 0.51, 0.49, 0.4, 0.4, 0.2])
    y = Y.to_numpy()
    ranks = np.unique(y, return_inverse=True)[1].astype(float)
    fold = deals(Z, ranks, 5, 5)
    h = predict_linear(Z, means[None, :], y, fold, classes=None, weight=None)
    assert row(found, "model").value == pytest.approx(h.target[0, 0])
    left = np.average(y - h.train[:, 0], weights=found.weights)
    assert found.value == pytest.approx(h.target[0, 0] + left)


def test_the_order_of_the_margins_does_not_deal_other_folds():
    some = X.iloc[:120]
    turned = Margins.of(dict(reversed(MARGINS.single.items())))
    one = estimate(some, Y[:120], MARGINS, weighter=CDFWeights())
    other = estimate(some[["region", "sex", "age"]], Y[:120], turned, weighter=CDFWeights())
    for a, b in zip(one.table, other.table, strict=True):
        assert a.value == pytest.approx(b.value)
        assert a.standard_error == pytest.approx(b.standard_error)


def test_the_order_of_the_rows_does_not_matter():
    moved = rng.permutation(N)
    one = estimate(X, Y, MARGINS)
    other = estimate(X.iloc[moved], Y.iloc[moved], MARGINS)
    for a, b in zip(one.table, other.table, strict=True):
        assert a.value == pytest.approx(b.value)
        assert a.standard_error == pytest.approx(b.standard_error)


def test_weights_that_miss_the_margins_count_what_they_miss():
    exact = estimate(X, Y, MARGINS, weighter=EntropyBalancing())
    rough = estimate(X, Y, MARGINS, weighter=EntropyBalancing(reg=5.0))
    missed = abs(row(rough, "dr").value - row(rough).value)
    assert missed > row(exact).standard_error
    assert row(rough).standard_error > missed
    assert abs(rough.value - exact.value) < 0.5 * missed
    trimmed = estimate(X, Y, MARGINS, weighter=Trimmed(1.5))
    assert trimmed.trimmed_share > 0
    assert row(trimmed).value != pytest.approx(row(exact).value, abs=1e-4)


# Groups and quantities


@pytest.mark.parametrize("by", ["region", "age"])
def test_groups_are_cells_of_a_margin_and_make_up_the_whole(by):
    found = estimate(X, Y, MARGINS, by=by, method="weights")
    labels = [part.group for part in found.estimates][1:]
    margin = MARGINS.margin(by)
    assert sorted(labels) == sorted(margin.cells.labels)
    share = dict(zip(margin.cells.labels, margin.share, strict=True))
    for method in ("weights", "dr", "model"):
        parts = [row(found, method, group=g).value * share[g] for g in labels]
        assert sum(parts) == pytest.approx(row(found, method, group=None).value, abs=0.02)
    if by == "region":
        inside = (X.region == "n").to_numpy()
        mean = np.average(Y[inside], weights=found.weights[inside])
        assert row(found, group="n").value == pytest.approx(mean)


def test_a_difference_of_groups():
    found = estimate(X, Y, MARGINS, by="sex", what=Difference("m"), method="weights")
    groups = estimate(X, Y, MARGINS, by="sex", method="weights")
    gap = row(groups, group="f").value - row(groups, group="m").value
    assert found.value == pytest.approx(gap)
    both = [row(groups, group=g).standard_error for g in "fm"]
    assert found.standard_error == pytest.approx(np.hypot(*both), rel=0.2)


def test_groups_without_rows_are_named():
    old = Margins({"age": {(0, 17): 0.02, (18, 64): 0.7, (65, None): 0.28}})
    found = estimate(X[["age"]], Y, old, by="age")
    assert [part.group for part in found.estimates] == [None, "18 to 64", "65 and over"]
    kinds = {note.kind: note.text for note in found.notes}
    assert "'0 to 17' (2.0%)" in kinds["absent groups"]
    assert "'age' in 0 to 17 (2.0%)" in kinds["empty cells"]
    assert "no weights meet all of them" in kinds["weights"]
    assert found.weighter == "CDFWeights"


def test_the_size_of_the_population_is_the_margins():
    total, mean = (estimate(X, Y, SIZED, what=what) for what in ("total", "mean"))
    assert total.value == pytest.approx(80_000 * mean.value)
    assert estimate(X, Y, SIZED, what=Total(10)).value == pytest.approx(10 * mean.value)
    few = Margins.of(MARGINS.single, size=40)
    of_these, exact = (
        estimate(X, Y, m, what=what) for m, what in ((few, "total"), (MARGINS, Total(40)))
    )
    assert of_these.standard_error == pytest.approx(exact.standard_error)
    nameless = Margins({"sex": {"f": 0.5, "m": 0.5}})
    with pytest.raises(InputError, match="needs the size of the population"):
        estimate(X[["sex"]], Y, nameless, what="total")


def test_quantiles_and_shares_by_weights():
    found = estimate(X, Y, MARGINS, what="median", method="weights")
    order = np.argsort(Y.to_numpy())
    below = np.cumsum(found.weights[order]) / N
    assert found.value == Y.to_numpy()[order][np.searchsorted(below, 0.5)]
    low, high = found.interval
    assert low < found.value < high
    at = estimate(X, Y, MARGINS, what=CDF(2.0), method="weights")
    assert at.value == pytest.approx(np.average(Y <= 2.0, weights=at.weights))
    word = np.where(Y > 3, "much", np.where(Y > 1, "some", "none"))
    shares = estimate(X, word, MARGINS, what="proportion")
    assert sum(shares.value) == pytest.approx(1)
    ratio = estimate(X, Y, MARGINS, what=Ratio(X.age), method="weights")
    expected = np.average(Y, weights=at.weights) / np.average(X.age, weights=at.weights)
    assert ratio.value == pytest.approx(expected)


def test_means_and_standard_deviations_are_met():
    margins = Margins({"age": {"mean": 45.0, "sd": 18.0}, "sex": {"f": 0.5, "m": 0.5}})
    found = estimate(X[["age", "sex"]], X.age.astype(float), margins)
    assert row(found).value == pytest.approx(45.0)
    assert row(found).standard_error < 1e-6
    income = X.assign(age=X.age * 1e6)
    rich = Margins({"age": {"mean": 45e6}, "sex": {"f": 0.5, "m": 0.5}})
    plain = estimate(X[["age", "sex"]], Y, Margins({"age": {"mean": 45.0}}).select(["age"]))
    assert np.isfinite(estimate(income[["age", "sex"]], Y, rich).value)
    assert np.isfinite(plain.value)


# Designs, choices, refusals


def test_the_scale_of_design_weights_says_nothing_and_a_row_of_none_is_not_there():
    one, other = (estimate(X, Y, MARGINS, sample_weight=k * D) for k in (1, 1000))
    assert one.value == pytest.approx(other.value)
    assert one.standard_error == pytest.approx(other.standard_error)
    kept = rng.random(N) < 0.8
    zero = estimate(X, Y, MARGINS, sample_weight=D * kept)
    cut = estimate(X[kept], Y[kept], MARGINS, sample_weight=D[kept])
    assert row(zero).value == pytest.approx(row(cut).value, abs=1e-7)
    assert row(zero).standard_error == pytest.approx(row(cut).standard_error, rel=0.01)


def test_rows_without_the_outcome_are_left_out():
    lost = Y.mask(rng.random(N) < 0.2)
    found = estimate(X, lost, MARGINS)
    there = lost.notna()
    assert row(found).value == pytest.approx(row(estimate(X[there], Y[there], MARGINS)).value)
    assert found.n_train == there.sum()
    assert found.n_target == 0


def test_clusters_widen_the_interval():
    cluster = X.age // 4
    plain = row(estimate(X, Y + np.sin(cluster), MARGINS))
    together = row(estimate(X, Y + np.sin(cluster), MARGINS, cluster=cluster))
    assert together.value == pytest.approx(plain.value)
    assert together.standard_error > 1.1 * plain.standard_error


@pytest.mark.thorough
def test_the_bootstrap_agrees_with_the_influence_values():
    plain = estimate(X, Y, MARGINS, method="weights")
    drawn = estimate(X, Y, MARGINS, method="weights", replicates=150)
    assert drawn.value == pytest.approx(plain.value)
    assert drawn.standard_error == pytest.approx(plain.standard_error, rel=0.2)
    assert drawn.replicate_weights.shape == (N, 150)


def test_draws_that_lose_rows_have_weights_too():
    """Of two units in a stratum a draw takes one twice, and the rows of the other are not there."""
    given = {"method": "weights", "replicates": 20}
    drawn = estimate(X, Y, MARGINS, strata=np.arange(N) // 2, **given)
    assert (drawn.replicate_weights == 0).sum(axis=0).tolist() == [N // 2] * 20


def test_many_numbers_for_few_rows_are_met_by_cdf_weights():
    T = rng.normal(0.2, 1, size=(1000, 2))
    margins = Margins.from_rows(T, bins=30)
    found = estimate(rng.normal(size=(200, 2)), Y[:200], margins)
    assert found.weighter == "CDFWeights"
    texts = [note.text for note in found.notes if note.kind == "weights"]
    assert len(texts) == 1
    assert "for 200 rows" in texts[0]


def test_what_the_margins_do_not_cover_has_no_number():
    young = Margins({"age": {(0, 17): 0.3, (18, None): 0.7}})
    with pytest.raises(NoOverlapError, match="30% of the target has 'age' in 0 to 17"):
        estimate(X[["age"]], Y, young)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"what": "coefficients"}, "needs target rows.*sample_weight"),
        ({"outcome_model": LeaveOneOutRidge()}, "leave it out"),
        ({"target_weight": np.ones(3)}, "target_weight is for target rows"),
        ({"restrict": "overlap"}, "join cells"),
        ({"by": X.sex.to_numpy()}, r"by names a column .*'age', 'sex', 'region'.*Add a margin"),
        ({"by": "income"}, "not 'income'"),
        ({"weighter": "kmm"}, "KMM needs target rows"),
    ],
)
def test_what_needs_rows_is_said_in_a_sentence(options, words):
    with pytest.raises(InputError, match=words):
        estimate(X, Y, MARGINS, **options)


def test_samples_carry_their_diagnosis():
    own = diagnose(X, MARGINS)
    assert estimate_with(own, X, Y, MARGINS).diagnosis is own


def test_the_result_prints_and_is_plain_data():
    margins = Margins({"sex": {"f": 0.51, "m": 0.49}}, source="census")
    found = estimate(X[["sex", "age"]], Y, margins)
    text = str(found)
    assert "margins of 1 column (census)" in text
    assert "ridge on published numbers" in text
    assert "No margin covers 'age'" in text
    assert json.dumps(found.to_dict())
    assert len(found.table) == 4
    assert "target rows" not in found._repr_html_()


@pytest.mark.thorough
def test_intervals_cover():
    """Biased selection by age and sex, 150 samples: 95 % intervals hold the truth."""
    draw = np.random.default_rng(1)
    M = 20_000
    old, woman = draw.random(M) < 0.3, draw.random(M) < 0.5
    y = 2.0 * old + 1.0 * woman + draw.normal(0, 1, M)
    chance = np.where(old, 0.06, 0.02) * np.where(woman, 1.5, 1.0)
    frame = pd.DataFrame({"old": np.where(old, "y", "n"), "woman": np.where(woman, "y", "n")})
    margins = Margins.from_rows(frame)
    held = {"dr": 0, "weights": 0, "none": 0}
    diagnosis = None
    for _ in range(150):
        rows = np.flatnonzero(draw.random(M) < chance)[:300]
        found = estimate_with(diagnosis, frame.iloc[rows], y[rows], margins)
        diagnosis = found.diagnosis
        for method in held:
            low, high = row(found, method).interval
            held[method] += low <= y.mean() <= high
    assert 136 <= held["weights"] <= 149
    assert 136 <= held["dr"] <= 149
    assert held["none"] < 60


def test_a_small_empty_cell_leaves_a_number_with_a_warning():
    levels = Margins(
        {"sex": {"f": 0.5, "m": 0.42, "x": 0.08}, "region": {"n": 0.5, "(other)": 0.5}}
    )
    found = estimate(X[["sex", "region"]], Y, levels)
    kinds = {note.kind: note for note in found.notes}
    assert found.verdict == "strong"
    assert "'sex' in x (8.0%)" in kinds["empty cells"].text
    assert kinds["empty cells"].severity == "warning"
    balanced = np.average(X.region == "n", weights=found.weights)
    assert balanced == pytest.approx(0.5, abs=0.03)


@pytest.mark.thorough
def test_errors_follow_rows_whose_weights_are_not_at_a_limit():
    """Against what a little more design weight of each row does to the estimate."""
    rows = np.random.default_rng(5)
    x = rows.normal(size=60)
    y = x**2 + 0.3 * rows.normal(size=60)
    X, margins = pd.DataFrame({"x": x}), Margins({"x": {"mean": 0.4}})
    weighter = EntropyBalancing(limits=(0.2, 2.0), tol=1e-12)

    def corrected(d):
        w = d * weighter.fit(X, X_target=margins, sample_weight=d).weights_
        return w @ y / w.sum()

    first = weighter.fit(X, X_target=margins).weights_
    assert 5 < (first > 2 - 1e-9).sum() < 40
    step = 1e-4
    moved = np.array([corrected(1 + step * (np.arange(60) == i)) for i in range(60)])
    expected = (moved - corrected(np.ones(60))) / step
    found = clipped_tilt(
        y[:, None], x[:, None], np.array([[0.4]]), first, np.ones(1), np.ones(60),
        strictly_inside(weighter.fit(X, X_target=margins)),
    )[1][:, 0]  # fmt: skip
    np.testing.assert_allclose(found, expected, atol=2e-4)
    assert found.sum() == pytest.approx(0, abs=1e-8)
    error = estimate(X, y, margins, weighter=weighter, method="weights").table
    known = np.sqrt(np.sum(found**2))
    assert error.where(method="weights")[0].standard_error == pytest.approx(known, rel=0.1)
