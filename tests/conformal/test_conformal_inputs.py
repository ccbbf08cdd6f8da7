"""What conformal prediction is given: frames, groups, margins, few rows, and what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from covshift import Margins, TableEncoder, estimate, load, save
from covshift.conformal import ConformalClassifier, ConformalRegressor
from covshift.conformal.data import groups_of
from covshift.exceptions import InputError, NoOverlapError, UnseenLevelWarning, WeightWarning
from covshift.weights import CDFWeights, TiltedCDFWeights

rng = np.random.default_rng(0)
X, T = rng.normal(size=(200, 2)), rng.normal([0.6, 0], 1, size=(150, 2))
y = X[:, 0] + rng.normal(size=200)
PLAIN = ConformalRegressor(Ridge(), weighter="gaussian-ratio", random_state=0)


def frame(Z, seed=0):
    """With a text column, more of the north where the first column is large."""
    chance = 1 / (1 + np.exp(-Z[:, 0]))
    region = np.where(np.random.default_rng(seed).random(len(Z)) < chance, "north", "south")
    region[:3] = "west"
    return pd.DataFrame({"age": Z[:, 0], "size": Z[:, 1], "region": region})


def encoder(last):
    to_numbers = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["region"]), remainder=StandardScaler()
    )
    return make_pipeline(to_numbers, last)


FRAME, TARGET = frame(X), frame(T, 1)


def model(**options):
    options = {"random_state": 0, **options}
    return ConformalRegressor(encoder(Ridge()), **options)


# frames


@pytest.mark.part(8)
@pytest.mark.parametrize("score", ["absolute", "normalized"])
@pytest.mark.parametrize("method", ["split", "cv+"])
def test_frames_of_pandas_with_text_columns(score, method):
    made = model(conformity_score=score, method=method, n_folds=3)
    low, high = made.fit(FRAME, y, X_target=TARGET).predict_interval(TARGET)
    assert (low < high).all()
    assert np.isfinite(high).mean() > 0.9
    assert made.weighter_.n_features_in_ == 5  # three regions and two numbers
    with pytest.raises(ValueError, match="feature names"):
        made.predict_interval(TARGET[["size", "age", "region"]])


def test_frames_of_polars_give_the_same_intervals():
    polars = pytest.importorskip("polars")
    expected = np.asarray(model().fit(FRAME, y, X_target=TARGET).predict_interval(TARGET))
    some, target = polars.from_pandas(FRAME), polars.from_pandas(TARGET)
    found = model(by="region").fit(some, y, X_target=target).predict_interval(target)
    assert len(found) == 150
    found = model().fit(some, y, X_target=target).predict_interval(target)
    np.testing.assert_allclose(np.asarray(found), expected)


def test_numbers_in_a_frame_are_those_of_an_array():
    columns = ["age", "size"]
    found = PLAIN.fit(FRAME[columns], y, X_target=TARGET[columns]).predict_interval(TARGET[columns])
    expected = PLAIN.fit(X, y, X_target=T).predict_interval(T)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected))
    listed = PLAIN.fit(X.tolist(), y.tolist(), X_target=T.tolist()).predict_interval(T.tolist())
    np.testing.assert_allclose(np.asarray(listed), np.asarray(expected))


def test_a_level_that_the_fit_never_saw_is_told():
    made = model().fit(FRAME, y, X_target=TARGET)
    new = TARGET.assign(region="east")
    with pytest.warns(UnseenLevelWarning, match="'east'"):
        made.predict_interval(new)


# groups


def test_every_group_has_a_threshold_of_its_own_rows():
    rows = np.column_stack([X[:, 0], np.arange(200) % 2])
    z = rng.normal(size=200) * np.where(rows[:, 1] == 1, 10.0, 1.0)
    zero = DummyRegressor(strategy="constant", constant=0.0).fit(rows, z)
    made = ConformalRegressor(zero, prefit=True, weighter=None, by=1).fit(rows, z)
    _, high = made.predict_interval(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0]]), coverage=0.8)
    for group in (0, 1):
        scores = np.sort(np.abs(z[rows[:, 1] == group]))
        assert high[group] == pytest.approx(scores[int(np.ceil(0.8 * 101)) - 1])
    assert np.isposinf(high[2])  # no row of the group calibrates
    groups = made.expected_coverage(0.8).groups
    assert set(groups) == {"0", "1"}
    for value, (low, high) in groups.values():
        assert value == pytest.approx(0.8, abs=0.02)
        assert low < value < high
    unlike = ConformalRegressor(zero, prefit=True, weighter=None).fit(rows, z)
    parts = unlike.expected_coverage(0.8, by=1).groups
    assert parts["0"][0] > 0.95 > 0.7 > parts["1"][0]


def test_groups_of_a_frame_are_reported_on_the_target():
    made = model(by="region").fit(FRAME, y, X_target=TARGET)
    found = made.predict_interval(TARGET)
    text = str(found)
    assert "north" in text
    assert {"north", "south"} <= set(found.expected_coverage.groups)
    assert found.to_dict()["expected_coverage"]["groups"]["north"]["value"] > 0.5


def test_numbers_of_groups_are_told_apart_in_all_digits():
    numbers = np.array([[1000001.0], [1000002.0], [0.1], [3.0]])
    assert groups_of(numbers, 0, "X").tolist() == ["1000001", "1000002", "0.1", "3"]
    mixed = np.array([[1, "a"], [2, "b"]], dtype=object)
    assert groups_of(mixed, 1, "X").tolist() == ["a", "b"]
    for by in ("region", 2, -3):
        with pytest.raises(InputError, match="is not a column of X, an array of 2 columns"):
            groups_of(X, by, "X")
    with pytest.raises(InputError, match="has no such column"):
        groups_of(FRAME, "town", "X")


def test_a_group_that_the_target_lacks_has_the_weighted_threshold():
    rows = np.column_stack([X[:, 0], np.arange(200) % 2])
    target = np.column_stack([T[:, 0], np.zeros(150)])
    options = {"by": 1, "weighter": None, "random_state": 0}
    robust = ConformalRegressor(Ridge(), threshold="dr", **options).fit(rows, y, X_target=target)
    plain = ConformalRegressor(Ridge(), **options).fit(rows, y, X_target=target)
    new = np.array([[0.0, 1.0]])
    np.testing.assert_array_equal(robust.predict_interval(new), plain.predict_interval(new))


# margins


@pytest.mark.filterwarnings("ignore:X has columns without a margin")
def test_rows_weigh_as_in_estimate_and_for_margins_by_distribution_functions():
    rows = ConformalRegressor(Ridge(), random_state=0).fit(X[:60], y[:60], X_target=T)
    assert type(rows.weighter_) is TiltedCDFWeights
    margins = Margins.from_rows(TARGET[["region"]])
    told = model().fit(FRAME[:60], y[:60], X_target=margins)
    assert type(told.weighter_) is CDFWeights
    with pytest.raises(InputError, match="TiltedCDFWeights needs target rows"):
        model(weighter=TiltedCDFWeights()).fit(FRAME, y, X_target=margins)


@pytest.mark.filterwarnings("ignore:X has columns without a margin")
def test_margins_weigh_without_target_rows():
    margins = Margins.from_rows(TARGET[["region"]])
    made = model(weighter="entropy", by="region").fit(FRAME, y, X_target=margins)
    share = pd.Series(made.weights_).groupby(made._by_sample.groups).sum() / made.weights_.sum()
    assert share["north"] == pytest.approx((TARGET["region"] == "north").mean(), abs=0.15)
    found = made.predict_interval(TARGET, coverage=0.8)
    assert 0.5 < found.expected_coverage.value <= 1
    assert "north" in found.expected_coverage.groups
    robust = model(weighter="entropy", threshold="dr").fit(FRAME, y, X_target=margins)
    assert len(robust.predict_interval(TARGET)) == 150
    with pytest.raises(InputError, match="target_weight"):
        model(weighter="entropy").fit(FRAME, y, X_target=margins, target_weight=np.ones(150))


# few rows, ties, no overlap


def test_two_rows_are_enough_and_one_is_not():
    for method in ("split", "cv+", "jackknife+"):
        made = ConformalRegressor(Ridge(), method=method, random_state=0)
        found = made.fit(X[:2], y[:2]).predict_interval(X, coverage=0.3)
        assert np.isfinite(np.asarray(found)).all() == (method != "split" or 0.3 <= 1 / 2)
        assert made.predict_interval(X, coverage=0.9).infinite.all()
        with pytest.raises(InputError, match="needs at least 2 rows"):
            made.fit(X[:1], y[:1])
    with pytest.raises(InputError, match="needs at least 2 training rows"):
        ConformalRegressor(Ridge(), conformity_score="normalized").fit(X[:2], y[:2])
    few = ConformalRegressor(Ridge(), random_state=0).fit(X[:10], y[:10], X_target=X[:10])
    assert "too few" in str(few.expected_coverage(0.5))


@pytest.mark.part(50)
@pytest.mark.parametrize("z", [np.full(200, 3.1), np.round(y), np.repeat([0.1, 0.7], 100)])
@pytest.mark.parametrize("score", ["absolute", "normalized"])
@pytest.mark.parametrize("method", ["split", "cv+"])
def test_outcomes_with_ties_are_covered(z, score, method):
    made = ConformalRegressor(
        DummyRegressor(), conformity_score=score, method=method, n_folds=4, random_state=0
    )
    found = made.fit(X, z).predict_interval(X, coverage=0.9)
    assert found.covers(z).mean() >= 0.85
    if np.ptp(z) == 0:
        assert found.covers(z).all()
        assert found.mean_width < 1e-12


def test_a_target_of_one_row():
    found = PLAIN.set_params(weighter="cdf").fit(X, y, X_target=T[:1]).predict_interval(T[:1])
    assert len(found) == 1
    PLAIN.set_params(weighter="gaussian-ratio")


def test_where_no_rows_have_trained_intervals_are_infinite():
    """The rest of the target has the weights that it would have alone."""
    apart = np.vstack([T, T[:60] + np.array([0, 20])])
    made = ConformalRegressor(Ridge(), random_state=0)
    rest = np.asarray(made.fit(X, y, X_target=T).predict_interval(T))
    with pytest.warns(WeightWarning, match=r"29% of the target lies above .* infinite"):
        made.fit(X, y, X_target=apart, target_weight=np.ones(210))
    found = made.predict_interval(apart)
    assert found.infinite[150:].all()
    np.testing.assert_array_equal(np.asarray(found)[:150], rest)
    assert "29% of the target" in next(n.text for n in found.notes if n.kind == "no overlap")
    assert "not known" in str(found)
    assert found.to_dict()["expected_coverage"]["value"] is None
    robust = ConformalRegressor(Ridge(), threshold="dr", random_state=0)
    with pytest.warns(WeightWarning):
        robust.fit(X, y, X_target=apart)
    np.testing.assert_array_equal(robust.predict_interval(apart).infinite, found.infinite)


def test_a_target_that_is_all_apart_is_refused_as_estimate_does():
    rows = {"day": pd.date_range("2024-01-01", periods=len(X)), "x": X[:, 0]}
    later = {"day": pd.date_range("2025-06-01", periods=len(T)), "x": T[:, 0]}
    table, target = pd.DataFrame(rows), pd.DataFrame(later)
    made = ConformalRegressor(make_pipeline(TableEncoder(), Ridge()), random_state=0)
    said = f"{table['day'].max():%Y-%m-%d}, the largest training value of 'day'"
    with pytest.raises(NoOverlapError, match=said):
        made.fit(table, y, X_target=target)
    with pytest.raises(NoOverlapError, match=said):
        estimate(table, y, target)


# refused


def test_design_weights_need_an_estimator_that_takes_them():
    made = ConformalRegressor(KNeighborsRegressor(), random_state=0)
    made.fit(X, y, X_target=T)
    with pytest.raises(TypeError, match="takes no sample_weight"):
        made.fit(X, y, X_target=T, sample_weight=np.linspace(1, 2, 200))


@pytest.mark.parametrize("coverage", [0, 1, float("nan"), 90, "0.9"])
def test_coverage_is_between_zero_and_one(coverage):
    fitted = PLAIN.fit(X, y, X_target=T)
    with pytest.raises(ValueError, match="coverage"):
        fitted.predict_interval(T, coverage=coverage)
    with pytest.raises(ValueError, match="coverage"):
        fitted.expected_coverage(coverage)


@pytest.mark.parametrize("option", [{"threshold": "dr"}, {"randomized": True}], ids=str)
def test_what_cv_plus_has_no_form_of_is_refused(option):
    with pytest.raises(InputError, match="is for method='split' and prefit=True, not 'cv\\+'"):
        ConformalRegressor(Ridge(), method="cv+", **option).fit(X, y)


def test_data_are_checked():
    made = ConformalRegressor(Ridge(), random_state=0)
    with pytest.raises(InputError, match="target_weight needs X_target"):
        made.fit(X, y, target_weight=np.ones(150))
    with pytest.raises(ValueError, match="3 features"):
        made.fit(X, y, X_target=T).predict_interval(np.ones((4, 3)))
    with pytest.raises(ValueError, match="not fitted"):
        ConformalRegressor(LinearRegression(), prefit=True).fit(X, y)
    with pytest.raises(InputError, match="pair of fitted models"):
        ConformalRegressor(Ridge().fit(X, y), prefit=True, conformity_score="quantile").fit(X, y)
    with pytest.raises(InputError, match="has no predict_proba"):
        ConformalClassifier(Ridge()).fit(X, (y > 0).astype(int))
    with pytest.raises(InputError, match="only one class"):
        ConformalClassifier(LogisticRegression()).fit(X, np.ones(200, dtype=int))


# Columns by name, as `estimate` and `evaluate` take them


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_outcomes_and_weights_may_be_names_of_columns(kind, tmp_path):
    make = pd.DataFrame
    if kind == "polars":
        make = pytest.importorskip("polars").DataFrame
    d, share = rng.uniform(0.5, 2, 200), rng.uniform(0.5, 2, 150)
    survey = make({"age": X[:, 0], "size": X[:, 1], "pw": d, "income": y})
    people = make({"age": T[:, 0], "size": T[:, 1], "share": share})
    plain = ["age", "size"]
    made = ConformalRegressor(Ridge(), weighter="gaussian-ratio", random_state=0)
    named = clone(made).fit(
        survey, "income", X_target=people, sample_weight="pw", target_weight="share"
    )
    given = clone(made).fit(
        survey[plain], y, X_target=people[plain], sample_weight=d, target_weight=share
    )
    assert list(named.feature_names_in_) == plain
    expected = given.predict_interval(people[plain])
    for new in (people[plain], people):  # with the columns that are not features, or without them
        found = named.predict_interval(new)
        assert np.array_equal(found.lower, expected.lower)
        assert np.array_equal(found.upper, expected.upper)
        assert np.array_equal(named.predict(new), given.predict(people[plain]))
    save(named, tmp_path / "named.model")
    loaded = load(tmp_path / "named.model")
    assert np.array_equal(loaded.predict_interval(people).lower, expected.lower)
    with pytest.raises(ValueError, match="feature names"):
        named.predict_interval(make({"age": T[:, 0], "size": T[:, 1], "other": share}))


def test_a_fit_to_arrays_forgets_the_names_of_an_earlier_fit():
    frame = pd.DataFrame({"age": X[:, 0], "size": X[:, 1], "ill": (y > 0) * 1})
    made = ConformalClassifier(LogisticRegression(), weighter="gaussian-ratio", random_state=0)
    made.fit(frame, "ill", X_target=frame)
    assert made.predict_set(frame).member.shape == (200, 2)
    assert made.predict_proba(frame).shape == (200, 2)
    made.fit(frame, (y > 0) * 1, X_target=frame)
    assert list(made.feature_names_in_) == ["age", "size", "ill"]
    assert made.predict_set(frame).member.shape == (200, 2)


def test_an_outcome_that_names_no_column_is_refused():
    frame = pd.DataFrame({"age": X[:, 0], "income": y})
    with pytest.raises(InputError, match="y='incme' names a column, but X has no such column"):
        PLAIN.fit(frame, "incme", X_target=frame)
    with pytest.raises(InputError, match="pass a data frame"):
        PLAIN.fit(X, "income", X_target=T)


def test_names_of_several_types_are_refused():
    people = pd.DataFrame(X, columns=pd.Index(["age", 1], dtype=object))
    with pytest.raises(InputError, match=r"names of several types \(int, str\)"):
        PLAIN.fit(people, y, X_target=people)


@pytest.mark.parametrize(
    ("model", "outcome", "words"),
    [
        (ConformalClassifier(LogisticRegression()), [b"a", b"b"], "bytes"),
        (ConformalClassifier(LogisticRegression()), [1e150, 2.5], "continuous"),
        (ConformalRegressor(Ridge()), [(1, 2), (2, 1)], "not numbers"),
        (ConformalRegressor(Ridge()), [np.inf, -np.inf], "infinity"),
    ],
)
def test_outcomes_of_other_kinds_are_refused(model, outcome, words):
    cells = pd.Series([outcome[k % 2] for k in range(200)], dtype=object)
    with pytest.raises(InputError, match=words):
        model.fit(X, cells, X_target=T)


def test_a_label_of_a_null_character_is_one_class():
    """NumPy drops it at the end of a text: a comparison said that it differs from itself."""
    labels = np.array(["a", "\0"], dtype=object)
    with pytest.raises(InputError, match="only one class"):
        ConformalClassifier(LogisticRegression(), weighter=None).fit(X[:2], labels, X_target=T)


def test_infinite_numbers_of_a_frame_are_refused():
    people = pd.DataFrame(X, columns=["age", "size"])
    people.loc[0, "age"] = np.inf
    with pytest.raises(InputError, match="column 'age' \\(1 inf\\)"):
        ConformalRegressor(Ridge(), weighter=None, method="cv+").fit(people, y)


def test_gaps_that_the_model_never_saw_are_refused():
    """In rows to calibrate by, and in new ones; the model was fitted without an encoder."""
    people = pd.DataFrame(X, columns=["age", "size"])
    gap = people.assign(age=people["age"].where(people["age"] < people["age"].max()))
    fitted = ConformalRegressor(Ridge(), weighter=None, random_state=0).fit(people, y)
    with pytest.raises(InputError, match="column 'age' \\(1 NaN\\)"):
        fitted.predict_interval(gap)
    classes = ConformalClassifier(LogisticRegression(), weighter=None, random_state=0)
    classes.fit(people, y > 0)
    with pytest.raises(InputError, match="column 'age' \\(1 NaN\\)"):
        classes.predict_set(gap)
