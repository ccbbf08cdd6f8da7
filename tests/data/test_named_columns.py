"""Arguments that name columns give the numbers of arrays, and rows cannot be mispaired."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from covshift import (
    VSVC,
    Margins,
    Predictions,
    Ratio,
    Reweighted,
    TableEncoder,
    Target,
    compare,
    diagnose,
    estimate,
    evaluate,
)
from covshift.data import Samples
from covshift.exceptions import InputError

N, M = 160, 140
rng = np.random.default_rng(3)
FEATURES = ["age", "town"]


def people(size: int, shift: float) -> pd.DataFrame:
    age = rng.normal(shift, 1, size)
    town = rng.choice(["a", "b", "c"], size, p=[0.5, 0.3, 0.2])
    ill = (rng.uniform(size=size) < 1 / (1 + np.exp(-age))).astype(int)
    score = 1 / (1 + np.exp(-age + 0.3 * rng.normal(size=size)))
    weight = rng.uniform(0.5, 2, size)
    return pd.DataFrame(
        {
            "age": age,
            "ill": ill,
            "pw": weight,
            "town": town,
            "psu": rng.integers(0, 25, size),
            "layer": rng.choice(["x", "y"], size),
            "income": rng.uniform(1, 2, size),
            "score": score,
        }
    )


SURVEY, TARGET = people(N, 0.0), people(M, 0.4)
OPTIONS = {"outcome_model": LinearRegression(), "weighter": "entropy"}
KINDS = {"pandas": lambda X: X, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.fixture(params=KINDS)
def frames(request):
    make = KINDS[request.param]
    return make(SURVEY.reset_index(drop=True)), make(TARGET[["town", "age", "pw", "ill"]])


def same(a, b):
    assert [row.group for row in a.table] == [row.group for row in b.table]
    for one, two in zip(a.table, b.table, strict=True):
        assert one.value == two.value
        assert one.standard_error == two.standard_error


@pytest.mark.part(3)
def test_estimate_takes_columns_for_all_that_belongs_to_rows(frames):
    survey, target = frames
    drop = ["score", "income"]
    names = [name for name in SURVEY if name not in drop]
    survey = survey.select(names) if hasattr(survey, "select") else survey[names]
    named = estimate(
        survey,
        "ill",
        target,
        by="town",
        sample_weight="pw",
        strata="layer",
        cluster="psu",
        target_weight="pw",
        **OPTIONS,
    )
    given = estimate(
        SURVEY[FEATURES],
        SURVEY["ill"],
        TARGET[FEATURES],
        by="town",
        sample_weight=SURVEY["pw"].to_numpy(),
        strata=SURVEY["layer"].to_numpy(),
        cluster=SURVEY["psu"].to_numpy(),
        target_weight=TARGET["pw"].to_numpy(),
        **OPTIONS,
    )
    same(named, given)
    assert {row.outcome for row in named.table} == {"ill"}


@pytest.mark.thorough
@pytest.mark.part(5)
def test_evaluate_takes_columns_of_scores_labels_and_flags(frames):
    make = type(frames[0])
    survey, target = (
        SURVEY.assign(seen=np.arange(N) % 3 == 0),
        TARGET.assign(month=np.arange(M) % 2),
    )
    columns = ["age", "town", "ill", "score", "seen", "psu"]
    survey, target = survey[columns], target[["age", "town", "ill", "score", "month"]]
    pair = [survey, target]
    if make is not pd.DataFrame:
        convert = pl.from_pandas if make is pl.DataFrame else pa.Table.from_pandas
        pair = [convert(part) for part in pair]
    options = {
        "metrics": ["accuracy", "roc_auc"],
        "outcome_model": LogisticRegression(),
    }
    named = evaluate(
        Predictions("score", trained_on="seen"),
        pair[0],
        "ill",
        Target(pair[1], batch="month"),
        cluster="psu",
        y_target="ill",
        **options,
    )
    given = evaluate(
        Predictions(
            survey["score"].to_numpy(),
            target["score"].to_numpy(),
            trained_on=survey["seen"].to_numpy(),
        ),
        survey[FEATURES],
        survey["ill"].to_numpy(),
        Target(target[FEATURES], batch=target["month"].to_numpy()),
        cluster=survey["psu"].to_numpy(),
        y_target=target["ill"].to_numpy(),
        **options,
    )
    assert named.to_dict() == given.to_dict()


@pytest.mark.thorough
def test_scores_of_several_models_are_columns_by_name():
    survey, target = (
        SURVEY.assign(other=SURVEY["score"] ** 2),
        TARGET.assign(late=TARGET["score"] ** 2),
    )
    survey = survey[["age", "ill", "score", "other"]]
    target = target[["age", "score", "late"]]
    named = evaluate(
        Predictions({"a": "score", "b": "other"}, {"b": "late"}),
        survey,
        "ill",
        target,
        metrics="brier",
    )
    assert [row.model for row in named.table.where(method="dr")] == ["a", "b"]


@pytest.mark.thorough
def test_a_model_gets_the_columns_it_was_fitted_to():
    model = LogisticRegression().fit(SURVEY[["age", "pw"]], SURVEY["ill"])
    survey, target = SURVEY[["age", "pw", "ill"]], TARGET[["age", "pw"]]
    found = evaluate(model, survey, "ill", target, sample_weight="pw", metrics="accuracy")
    said = model.predict(SURVEY[["age", "pw"]]) == SURVEY["ill"]
    plain = next(row for row in found.table if row.method == "none")
    assert plain.value == pytest.approx(np.average(said, weights=SURVEY["pw"]), abs=1e-12)


def test_several_outcomes_and_a_denominator_are_columns():
    survey = SURVEY[["age", "ill", "income", "score"]]
    found = estimate(survey, ["ill", "score"], TARGET[["age"]], what=Ratio("income"), **OPTIONS)
    assert {row.outcome for row in found.table} == {"ill", "score"}


def test_with_margins_the_named_columns_are_no_columns_without_a_margin():
    margins = Margins({"town": {"a": 0.2, "b": 0.3, "c": 0.5}})
    survey = SURVEY[["town", "ill", "pw"]]
    named = estimate(survey, "ill", margins, sample_weight="pw", by="town")
    given = estimate(
        SURVEY[["town"]], SURVEY["ill"], margins, sample_weight=SURVEY["pw"], by="town"
    )
    same(named, given)
    assert not [note for note in named.notes if note.kind == "columns without margins"]


@pytest.mark.thorough
def test_groups_that_the_target_does_not_have_leave_the_features():
    survey = SURVEY[["age", "ill", "layer"]]
    named = estimate(survey, "ill", TARGET[["age"]], by="layer", **OPTIONS)
    given = estimate(survey[["age"]], survey["ill"], TARGET[["age"]], by=survey["layer"], **OPTIONS)
    same(named, given)


def test_rows_are_paired_by_their_index():
    order = rng.permutation(N)
    y, weight, group = (SURVEY[name].iloc[order] for name in ("ill", "pw", "layer"))
    options = {**OPTIONS, "by": group, "sample_weight": weight}
    moved = estimate(SURVEY[["age"]], y, TARGET[["age"]], **options)
    options = {**OPTIONS, "by": SURVEY["layer"], "sample_weight": SURVEY["pw"]}
    same(moved, estimate(SURVEY[["age"]], SURVEY["ill"], TARGET[["age"]], **options))


@pytest.mark.parametrize("name", ["y", "sample_weight", "by", "strata", "cluster"])
def test_another_index_is_refused(name):
    strange = pd.Series(SURVEY["ill"].to_numpy(), index=np.arange(N) + 1)
    given = {"y": SURVEY["ill"], name: strange}
    with pytest.raises(InputError, match=f"{name} has a different index from X"):
        estimate(SURVEY[["age"]], X_target=TARGET[["age"]], **given)


def test_another_index_of_the_target_is_refused():
    weight = TARGET["pw"].set_axis(np.arange(M) + 1)
    with pytest.raises(InputError, match="target_weight has a different index from X_target"):
        estimate(SURVEY[["age"]], SURVEY["ill"], TARGET[["age"]], target_weight=weight)


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (
            "sick",
            {},
            r"y='sick' names a column, but X has no such column. Its columns are: 'age'",
        ),
        ("ill", {"sample_weight": "nothing"}, "sample_weight='nothing' names a column"),
        ("ill", {"target_weight": "nothing"}, "but X_target has no such column"),
        ("ill", {"by": "ill"}, "'ill' cannot be the outcome and by at once"),
        ("ill", {"cluster": "ill"}, "'ill' cannot be the outcome and cluster at once"),
        ("ill", {"cluster": "age", "strata": "town"}, "X has no features"),
    ],
)
def test_what_names_no_column_is_refused(y, options, message):
    survey = SURVEY[["age", "town", "ill"]]
    with pytest.raises(InputError, match=message):
        estimate(survey, y, TARGET[["age", "town", "ill"]], **options)


@pytest.mark.parametrize(
    "y", [SURVEY["ill"], SURVEY["ill"].to_numpy(), SURVEY["ill"].tolist(), "ill"]
)
def test_the_old_order_is_refused_with_the_new_one(y):
    with pytest.raises(InputError, match=r"use estimate\(X, y, X_target\)"):
        estimate(y, SURVEY[["age"]], TARGET[["age"]])
    with pytest.raises(InputError, match=r"use estimate\(X, y, X_target\)"):
        estimate(y, SURVEY[["age"]].to_numpy(), TARGET[["age"]].to_numpy())


def test_samples_of_samples_are_the_same():
    samples = Samples.of(SURVEY[["age", "ill"]], "ill", TARGET[["age"]])
    assert Samples.of(samples) is samples
    found = estimate(samples, **OPTIONS)
    same(found, estimate(SURVEY[["age"]], SURVEY["ill"], TARGET[["age"]], **OPTIONS))


def test_diagnose_takes_columns_of_weights():
    survey, target = SURVEY[["age", "town", "pw"]], TARGET[["age", "town", "pw"]]
    named = diagnose(survey, target, sample_weight="pw", target_weight="pw", methods=())
    weights = {"sample_weight": SURVEY["pw"], "target_weight": TARGET["pw"]}
    given = diagnose(SURVEY[FEATURES], TARGET[FEATURES], **weights, methods=())
    assert named.to_dict() == given.to_dict()
    margins = Margins({"town": {"a": 0.2, "b": 0.3, "c": 0.5}})
    named = diagnose(survey[["town", "pw"]], margins, sample_weight="pw")
    given = diagnose(survey[["town"]], margins, sample_weight=SURVEY["pw"])
    assert named.to_dict() == given.to_dict()


@pytest.mark.part(20)
@pytest.mark.parametrize("features", [FEATURES, ["age"]])
@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_compare_takes_columns_and_its_model_rows_that_have_them(make, features):
    options = {"learner": "linear", "methods": ["entropy"], "n_folds": 2}
    survey, target = (
        make(part[[*features, "ill", "pw"]].reset_index(drop=True)) for part in (SURVEY, TARGET)
    )
    weights = {"sample_weight": "pw", "target_weight": "pw"}
    named = compare(survey, "ill", target, y_target="ill", **weights, **options)
    X, T = (make(part[features].reset_index(drop=True)) for part in (SURVEY, TARGET))
    weights = {"sample_weight": SURVEY["pw"].to_numpy(), "target_weight": TARGET["pw"].to_numpy()}
    y, y_target = SURVEY["ill"].to_numpy(), TARGET["ill"].to_numpy()
    given = compare(X, y, T, y_target=y_target, **weights, **options)
    for one, other in zip(named.rows, given.rows, strict=True):
        for key in ("risk", "true_risk", "gain", "smd_after"):
            assert one[key] == other[key] or np.isnan(one[key])
    predicted = named.fit().predict_proba(target)
    np.testing.assert_array_equal(predicted, given.fit().predict_proba(T))
    some = compare(
        survey, "ill", target, X_scored=target, y_target="ill", scored_weight="pw", **options
    )
    assert np.isfinite(some.rows[0]["true_risk"])


def test_compare_pairs_rows_by_their_index_and_refuses_other_names():
    options = {"learner": "linear", "methods": [], "n_folds": 2}
    found = compare(SURVEY[["age"]], SURVEY["ill"].iloc[::-1], TARGET[["age"]], **options)
    given = compare(SURVEY[["age"]], SURVEY["ill"], TARGET[["age"]], **options)
    assert found.rows[0]["risk"] == given.rows[0]["risk"]
    for y, more, message in (
        ("sick", {}, "y='sick' names a column, but X has no such column"),
        ("ill", {"target_weight": "pw"}, "target_weight='pw' names a column, but X_target has"),
        ("ill", {"y_target": "ill"}, "y_target='ill' names a column, but X_target has no"),
    ):
        with pytest.raises(InputError, match=message):
            compare(SURVEY[["age", "ill"]], y, TARGET[["age"]], **more, **options)


def test_compare_of_margins_takes_columns():
    margins = Margins({"town": {"a": 0.2, "b": 0.3, "c": 0.5}})
    options = {"learner": "linear", "methods": ["entropy"], "n_folds": 2}
    survey = SURVEY[["town", "ill", "pw"]]
    named = compare(survey, "ill", margins, sample_weight="pw", **options)
    given = compare(SURVEY[["town"]], SURVEY["ill"], margins, sample_weight=SURVEY["pw"], **options)
    assert [row["risk"] for row in named.rows] == [row["risk"] for row in given.rows]
    np.testing.assert_array_equal(
        named.fit().predict(TARGET[["town", "pw"]]), given.fit().predict(TARGET[["town"]])
    )


LAZY = pl.DataFrame({"a": [1.0, 2.0, 3.0], "y": [0.0, 1.0, 0.0]}).lazy()
HERE = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: estimate(LAZY, "y", LAZY),
        lambda: estimate(HERE, HERE[:, 0], Target(LAZY)),
        lambda: estimate(HERE, LAZY, HERE),
        lambda: estimate(HERE, HERE[:, 0], HERE, sample_weight=LAZY),
        lambda: estimate(HERE, HERE[:, 0], HERE, by=(LAZY, LAZY)),
        lambda: evaluate(LinearRegression(), LAZY, "y", LAZY),
        lambda: diagnose(LAZY, LAZY),
        lambda: compare(LAZY, "y", LAZY),
        lambda: Margins.from_rows(LAZY),
        lambda: TableEncoder().fit(LAZY),
        lambda: Reweighted(LinearRegression()).fit(LAZY, HERE[:, 0], X_target=LAZY),
        lambda: VSVC().fit(LAZY, [0, 1, 0], X_target=HERE),
    ],
)
def test_a_lazy_frame_is_told_to_be_collected(ask):
    with pytest.raises(InputError, match="collect"):
        ask()


def test_a_target_says_where_its_weights_go():
    with pytest.raises(InputError, match="target_weight="):
        Target(HERE, weight=np.ones(3))
