"""Why a number changed: `explain` of estimates and evaluations."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from covshift import (
    Labels,
    Margins,
    Predictions,
    Quantile,
    Ratio,
    Target,
    Total,
    estimate,
    evaluate,
    report,
)
from covshift.engine.explanation import (
    NEW,
    OUTCOMES,
    TOGETHER,
    WITHIN,
    Explanation,
    Share,
    shortened,
)
from covshift.evaluations.curves import bins_of
from covshift.exceptions import InputError, InputTypeError
from covshift.show.table import Table


def rows(n, shift, seed, changed=0.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(shift, 1, n),
            "income": rng.normal(size=n),
            "town": rng.choice(["a", "b", "c"], n),
        }
    )
    y = X["age"] + 0.5 * (X["town"] == "a") + 0.5 * rng.normal(size=n)
    return X, y + changed * (X["income"] > 0)


X, Y = rows(300, 0.0, 0)
T, Y_T = rows(250, 0.6, 1, changed=1.0)
FAST = LinearRegression()
SIDE, SIDE_T = (np.where(part["income"] > 0, "up", "down") for part in (X, T))


def sums_to_the_change(why):
    return sum(row.value for row in why.table) == pytest.approx(why.change.value, abs=1e-10)


def shares(why):
    return {row.column: row.value for row in why.table}


@pytest.fixture(scope="module")
def mean():
    return estimate(X, Y, T, outcome_model=FAST)


def test_the_columns_sum_to_the_change_and_the_guilty_one_is_first(mean):
    why = mean.explain()
    assert sums_to_the_change(why)
    assert why.change.value == mean.value - mean.table.where(method="none")[0].value
    assert why.table[0].column == "age"
    assert why.table[-1].column == TOGETHER
    low, high = why.table[0].interval
    assert low < T["age"].mean() - X["age"].mean() < high
    assert "rises by" in why.sentence
    assert "age accounts for" in why.sentence


def test_the_interval_of_the_change_is_that_of_the_answer(mean):
    change = mean.changes[0]
    why = mean.explain()
    assert why.change.standard_error == pytest.approx(change.standard_error)
    np.testing.assert_allclose(why.change.interval, change.interval)


def test_joined_columns_are_one_line(mean):
    why = mean.explain(groups={"person": ["age", "income"]})
    assert {row.column for row in why.table} == {"person", "town", TOGETHER}
    assert sums_to_the_change(why)


def test_a_column_that_is_none_is_refused(mean):
    with pytest.raises(InputError, match=r"'person' has 'agee'.*Did you mean 'age'"):
        mean.explain(groups={"person": ["agee"]})
    with pytest.raises(InputError, match="'age' is in two groups"):
        mean.explain(groups={"one": ["age"], "two": ["age", "town"]})
    with pytest.raises(InputError, match="'age' is twice in a group"):
        mean.explain(groups={"one": ["age", "age"]})
    for name in ("income", TOGETHER):  # another column's line would vanish in the group's
        with pytest.raises(InputError, match="another name"):
            mean.explain(groups={name: ["age", "town"]})
    for groups in ("age", ["age"], 5, {"one": 5}, {"one": None}):
        with pytest.raises(InputTypeError, match="groups must be a dict"):
            mean.explain(groups=groups)
    with pytest.raises(InputTypeError, match="row of the table"):
        mean.explain("age")


def test_rows_are_not_kept_in_files(mean):
    again = pickle.loads(pickle.dumps(mean))
    assert again.value == mean.value
    with pytest.raises(InputError, match="explain needs the rows"):
        again.explain()
    json.dumps(mean.to_dict())


def test_it_prints_stores_and_exports(mean):
    why = mean.explain()
    assert TOGETHER in str(why)
    assert "<table" in why._repr_html_()
    assert json.loads(json.dumps(why.to_dict()))["table"][0]["column"] == "age"
    assert why.to_frame()["column"].iloc[0] == "age"


def test_what_was_not_adjusted_has_no_change_to_explain():
    with pytest.raises(InputError, match="adjusts nothing"):
        estimate(X, Y, T, method="none", outcome_model=FAST).explain()


@pytest.mark.thorough
@pytest.mark.part(5)
@pytest.mark.parametrize(
    "asked",
    [
        {"what": "median"},
        {"what": Quantile([0.2, 0.8])},
        {"what": Ratio(np.exp(X["income"]))},
        {"what": Total(1000)},
        {"what": "coefficients"},
        {"by": (SIDE, SIDE_T)},
        {"what": "difference", "by": (SIDE, SIDE_T)},
        {"method": "weights"},
        {"method": "model"},
        {"weighter": "entropy"},
    ],
    ids=str,
)
def test_every_quantity_is_explained(asked):
    data = (
        (X[["age", "income"]], Y, T[["age", "income"]])
        if asked.get("what") == "coefficients"
        else (X, Y, T)
    )
    found = estimate(*data, outcome_model=FAST, **asked)
    for row in found.estimates:
        why = found.explain(row)
        assert sums_to_the_change(why)
        assert np.isfinite([part.standard_error for part in why.table]).all()


@pytest.mark.part(3)
@pytest.mark.parametrize("what", ["mean", "median"])
def test_the_values_of_a_ratio_or_quantile_move_with_it(what):
    """To second order, so that little is left where the mean is linear in a column."""
    found = estimate(X, Y, T, what=what, by=(SIDE, SIDE_T), outcome_model=FAST)
    for row in found.estimates:
        why = found.explain(row)
        assert why.table[0].column == "age"
        assert abs(shares(why)[TOGETHER]) < 3 * why.table[-1].standard_error + 0.02


def test_many_columns_are_shortened_in_print_alone():
    rng = np.random.default_rng(3)
    here, there = rng.normal(size=(150, 15)), rng.normal(size=(150, 15)) + 0.3
    y = here[:, 4] + rng.normal(size=150)
    why = estimate(here, y, there, outcome_model=FAST).explain()
    assert len(why.table) == 16
    assert "the other 5 columns" in str(why)
    assert sums_to_the_change(why)


@pytest.mark.thorough
def test_margins_and_known_populations_are_explained():
    ages = {(-9, 0): 0.3, (0, 1): 0.4, (1, None): 0.3}
    town = {"a": 0.3, "b": 0.3, "c": 0.4}
    for size in (None, 400):
        why = estimate(X, Y, Margins({"age": ages, "town": town}, size=size)).explain()
        assert why.table[0].column == "age"
        assert sums_to_the_change(why)
    sampled = estimate(X, Y, T, outcome_model=FAST).explain()
    whole = estimate(X, Y, Target(T, finite_population=True), outcome_model=FAST).explain()
    assert whole.table[0].standard_error < sampled.table[0].standard_error


@pytest.mark.thorough
def test_weights_and_clusters_count_in_the_errors():
    cluster = np.arange(300) // 10
    effect = np.random.default_rng(5).normal(size=30)[cluster]
    alone = estimate(X, Y + effect, T, outcome_model=FAST).explain()
    together = estimate(X, Y + effect, T, cluster=cluster, outcome_model=FAST).explain()
    rest = [why.table[0].standard_error for why in (alone, together)]
    assert rest[0] != rest[1]


@pytest.fixture(scope="module")
def with_labels():
    known = np.where(np.arange(250) % 2 == 0, Y_T, np.nan)
    return estimate(X, Y, T, y_target=known, outcome_model=FAST).explain()


@pytest.mark.thorough
def test_with_outcomes_there_are_three_parts(with_labels):
    why = with_labels
    assert [row.column for row in why.table] == [WITHIN, OUTCOMES, NEW]
    assert sums_to_the_change(why)
    low, high = shares_interval(why, OUTCOMES)
    assert low < 0.5 < high
    assert low > 0.1
    assert shares_interval(why, WITHIN)[0] > 0
    assert why.columns[0].column == "age"
    assert "rows with the same columns have different outcomes" in why.sentence


def shares_interval(why, name):
    return next(row.interval for row in why.table if row.column == name)


@pytest.mark.thorough
def test_a_tree_says_where_alike_rows_differ(with_labels):
    regions = with_labels.regions
    assert sum(region.share for region in regions) == pytest.approx(1, abs=1e-9)
    assert all("income" in region.where for region in regions[:2])
    differing = [region for region in regions if region.interval[0] > 0]
    assert differing
    assert all("income > " in region.where for region in differing)
    assert "higher than the columns explain" in str(with_labels)


@pytest.mark.thorough
def test_few_outcomes_have_no_tree():
    known = np.where(np.arange(250) % 10 == 0, Y_T, np.nan)
    why = estimate(X, Y, T, y_target=Labels(known), outcome_model=FAST).explain()
    assert not len(why.regions)
    assert any("too few" in note.text for note in why.notes)


CLASSES, CLASSES_T = (np.where(part > 0.3, "yes", "no") for part in (Y, Y_T))


@pytest.fixture(scope="module")
def classified():
    here, there = X[["age", "income"]].to_numpy(), T[["age", "income"]].to_numpy()
    return LogisticRegression().fit(here[:100], CLASSES[:100]), here, there


@pytest.mark.thorough
def test_metrics_of_classes_are_explained(classified):
    model, here, there = classified
    found = evaluate(model, here, CLASSES, there, by=(SIDE, SIDE_T))
    for row in found.performances:
        why = found.explain(row)
        assert sums_to_the_change(why)
        assert np.isfinite([part.value for part in why.table]).all()
    assert found.explain().name == "Accuracy"
    assert found.explain(found["roc_auc"]).name == "AUC"


@pytest.mark.thorough
def test_the_slope_of_a_metric_is_its_change(classified):
    """The integral along the path is exact for accuracy, and for AUC to many digits."""
    model, here, there = classified
    found = evaluate(model, here, CLASSES, there)
    one = found._source.judged[0]
    judge = one.judged
    for metric in one._class_metrics(bins_of(judge)):
        masses = [judge.masses(method) for method in ("none", "dr")]
        values = [metric.of(part).value for part in masses]
        g = judge.slope(metric, "dr", None)
        moved = float(np.sum((masses[1].mass - masses[0].mass) * g))
        assert moved == pytest.approx(values[1] - values[0], abs=1e-6)


def test_metrics_of_numbers_are_explained():
    here, there = X[["age", "income"]].to_numpy(), T[["age", "income"]].to_numpy()
    model = LinearRegression().fit(here[:50], Y[:50])
    given = Predictions(model, trained_on=np.arange(300) < 50)
    metrics = ["mae", "rmse", "r2", "bias", "median_absolute_error"]
    found = evaluate(given, here, Y, there, metrics=metrics, outcome_model=FAST)
    for row in found.performances:
        assert sums_to_the_change(found.explain(row))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_evaluations_with_labels_have_three_parts(kind, classified):
    model, here, there = classified
    some = np.arange(250) % 2 == 0
    if kind == "classes":
        known = np.where(some, CLASSES_T, None)
        found = evaluate(model, here, CLASSES, there, y_target=known, metrics=["accuracy"])
    else:
        model = LinearRegression().fit(here[:60], Y[:60])
        known = np.where(some, Y_T, np.nan)
        found = evaluate(model, here, Y, there, y_target=known, metrics=["rmse"])
    for row in found.performances:
        why = found.explain(row)
        assert [part.column for part in why.table] == [WITHIN, OUTCOMES, NEW]
        assert sums_to_the_change(why)
        assert np.isfinite([part.standard_error for part in why.table]).all()
    again = pickle.loads(pickle.dumps(found))
    with pytest.raises(InputError, match="explain needs the rows"):
        again.explain()


@pytest.mark.thorough
def test_a_waterfall_starts_at_the_sample_and_ends_at_the_target(mean, with_labels):
    pytest.importorskip("matplotlib")
    for why in (mean.explain(), with_labels):
        display = why.plot()
        assert len(display.ax_.get_yticks()) == len(why.table) + 2
        ends = display.ax_.lines[-1].get_xdata()
        np.testing.assert_allclose(ends, [why.plain, why.value])


@pytest.mark.thorough
def test_the_report_says_why_where_the_rows_are_there(mean):
    pytest.importorskip("jinja2")
    page = report.build(mean)
    assert "Why the number changed" in page
    assert "age accounts for" in page
    assert "Why the number changed" not in report.build(pickle.loads(pickle.dumps(mean)))


def test_a_change_of_nothing_but_rounding_is_none():
    nearly = {"value": 0.9999999999999999, "change": -1.1e-16}
    for proportion in (True, False):
        part = Share("change", nearly["change"], 0.0, (0.0, 0.0), proportion)
        rows = Table((replace(part, column="age"), replace(part, column=TOGETHER)))
        why = Explanation("y", 1.0, nearly["value"], part, rows, 0.95)
        assert why.sentence.startswith("y does not change: 1")


def test_what_works_against_the_change_is_named(mean):
    def said(opposed):
        parts = (("age", 0.5), ("town", opposed), (TOGETHER, -0.01))
        rows = [Share(name, value, 0.05, (-1, 1)) for name, value in parts]
        change = Share("change", 0.49 + opposed, 0.05, (0.09, 0.6))
        return Explanation("y", 1.0, 1.49 + opposed, change, Table(rows), 0.95).sentence

    assert said(-0.3) == (
        "y rises by 0.190, from 1.000 to 1.190: age accounts for 0.500 of it; "
        "town works against it (-0.300)."
    )
    assert "against" not in said(-0.1)


def test_a_change_that_may_be_chance_is_said_to_be_before_any_column_is_named():
    def said(low):
        rows = [
            Share(name, value, 0.01, (-1, 1)) for name, value in (("age", -0.009), (TOGETHER, 0))
        ]
        change = Share("change", -0.009, 0.011, (low, 0.013 if low < -0.03 else -0.001))
        return Explanation("y", 0.4, 0.391, change, Table(rows), 0.95).sentence

    assert said(-0.031) == (
        "The change of y may be chance (95% CI -0.031 to 0.013). It falls by 0.009, from 0.400 to "
        "0.391: age accounts for 0.009 of it."
    )
    assert said(-0.017).startswith("y falls by 0.009, from 0.400 to 0.391: age")


def test_a_rest_larger_than_the_change_is_told():
    def said(rest):
        parts = (("age", -0.004), (TOGETHER, rest))
        rows = [Share(name, value, 0.005, (-1, 1)) for name, value in parts]
        change = Share("change", -0.009, 0.005, (-0.03, 0.01))
        return Explanation("AUC", 0.911, 0.902, change, Table(rows), 0.95).sentence

    assert said(-0.028).endswith(
        "; a first guess only: what is not attributed is larger (-0.0280)."
    )
    assert "first guess" not in said(-0.005)


def test_the_other_columns_have_as_many_digits_as_their_errors():
    rows = [Share(f"x{k}", 0.0011234567, 0.002, (-1, 1)) for k in range(20)]
    last = shortened(Table(rows))[-1]
    assert last.column == "the other 10 columns"
    assert last.value == pytest.approx(0.0112, abs=1e-12)


def test_parts_that_cancel_are_still_told():
    rows = [
        Share(WITHIN, 0.2, 0.05, (0, 1)),
        Share(OUTCOMES, -0.2, 1e-9, (-1, 0)),
        Share(NEW, 1e-6, 1e-9, (0, 1)),
    ]
    change = Share("change", 1e-6, 0.05, (-1, 1))
    why = Explanation("y", 1.0, 1.000001, change, Table(rows), 0.95)
    assert why.sentence == (
        "y hardly changes, from 1.000 to 1.000: +0.200 because the mix of rows differs in the "
        "shared region, +0.000 because the target has rows that the sample hardly has, -0.200 "
        "because rows with the same columns have different outcomes."
    )


@pytest.mark.thorough
def test_labels_of_one_class_leave_an_auc_to_the_columns(classified):
    model, here, there = classified
    labels = np.where(np.arange(len(there)) < 40, CLASSES[0], None)
    found = evaluate(model, here, CLASSES, there, y_target=labels, metrics=["roc_auc"])
    why = found.explain()
    assert not why.with_labels
    assert sums_to_the_change(why)
    assert why.change.value == pytest.approx(found.headline.value - why.plain)


@pytest.mark.thorough
def test_a_leaf_of_one_level_names_it_alone():
    rng = np.random.default_rng(0)
    here, there = (pd.DataFrame({"town": rng.choice(["a", "b", "c"], 200)}) for _ in range(2))
    y, y_target = rng.normal(size=(2, 200))
    y_target += 3 * (there["town"] == "a") - 3 * (there["town"] == "b")
    why = estimate(here, y, there, y_target=y_target, outcome_model=FAST).explain()
    where = [row.where for row in why.regions]
    assert "town = a" in where
    assert not any("=" in words and "is not" in words for words in where)


def test_constant_columns_explain_nothing():
    """Tests fail on warnings: weights of a constant once took the logarithm of zero."""
    found = estimate(np.ones((60, 1)), Y[:60], np.ones((40, 1)), outcome_model=FAST)
    assert found.explain().sentence.startswith("y does not change")


@pytest.mark.thorough
def test_the_order_of_many_columns_does_not_matter():
    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(10)]
    here, there = (pd.DataFrame(rng.normal(size=(100, 10)) + s, columns=names) for s in (0, 0.2))
    y = here["x3"] * here["x4"] + rng.normal(size=100)
    model = {"weighter": "entropy", "outcome_model": FAST}
    first = shares(estimate(here, y, there, **model).explain())
    again = shares(estimate(here[names[::-1]], y, there[names[::-1]], **model).explain())
    assert again == pytest.approx(first, abs=1e-9)
