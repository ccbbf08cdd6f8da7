"""Tables as they come in answers: equal to their numbers, whatever names and order they have."""

from __future__ import annotations

import warnings
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import covshift
from covshift import Margins, Reweighted, TableEncoder, estimate, evaluate
from covshift.comparison import Method, compare
from covshift.conformal import ConformalClassifier, ConformalRegressor
from covshift.encoding.cells import read_cells
from covshift.exceptions import InputError, UnseenLevelWarning

pd = pytest.importorskip("pandas")

N, M = 100, 90
RNG = np.random.default_rng(0)


def two_valued(count, smokers, center):
    return pd.DataFrame(
        {
            "smoker": np.where(RNG.random(count) < smokers, "yes", "no"),
            "age": RNG.normal(center, 1, count),
            "urban": RNG.random(count) < 0.5,
        }
    )


def numbers_of(frame):
    return np.column_stack([frame.smoker == "yes", frame.age, frame.urban]).astype(float)


X, T = two_valued(N, 0.3, 0.0), two_valued(M, 0.45, 0.3)
X_NUMBERS, T_NUMBERS = numbers_of(X), numbers_of(T)
Y = X.age.to_numpy() + 2 * (X.smoker == "yes").to_numpy() + RNG.normal(size=N)
CLASSES = np.where(Y > 0.7, "ill", "well")


def table(frame, seed):
    """Add a category, an ordered one, dates and gaps."""
    rng = np.random.default_rng(seed)
    count = len(frame)
    grades = pd.Categorical(rng.choice(["low", "mid", "high"], count), ["low", "mid", "high"], True)
    more = {
        "region": rng.choice(["north", "east", "south", "west"], count, p=[0.4, 0.3, 0.2, 0.1]),
        "grade": grades,
        "day": np.datetime64("2024-01-01") + rng.integers(0, 200, count).astype("timedelta64[D]"),
        "income": np.where(rng.random(count) < 0.2, np.nan, rng.normal(size=count)),
    }
    return frame.assign(**more)


X_TABLE, T_TABLE = table(X, 1), table(T, 2)
EXACT = {"solver": "newton-cholesky", "tol": 1e-12}  # as days are large numbers
QUICK = {"metrics": "accuracy"}


def answers_of(rows, target):
    """Every answer, by name."""
    regressor, classifier = Ridge(), LogisticRegression(**EXACT)
    weighted = Reweighted(classifier).fit(rows, CLASSES, X_target=target)
    interval = ConformalRegressor(regressor, random_state=0).fit(rows, Y, X_target=target)
    sets = ConformalClassifier(classifier, random_state=0).fit(rows, CLASSES, X_target=target)
    methods = [Method("none", "baseline"), Method("cdf", "weights")]
    contenders = {"weighted": Reweighted(classifier, weighter="entropy")}
    return {
        "estimate": estimate(rows, Y, target),
        "model": estimate(rows, Y, target, outcome_model=regressor),
        "weights": weighted.weights_,
        "reweighted": weighted.predict_proba(target),
        "evaluate": evaluate(weighted, rows, CLASSES, target, **QUICK),
        "intervals": interval.predict_interval(target),
        "sets": sets.predict_set(target),
        "methods": compare(rows, CLASSES, target, learner="linear", methods=methods),
        "contenders": compare(rows, CLASSES, target, estimators=contenders, weighter="entropy"),
    }


NUMBERS = {
    "estimate": lambda found: found.value,
    "model": lambda found: found.value,
    "weights": lambda found: found,
    "reweighted": lambda found: found,
    "evaluate": lambda found: [row.value for row in found.table],
    "intervals": lambda found: found.lower,
    "sets": lambda found: found.member,
    "methods": lambda found: [row["risk"] for row in found.rows],
    "contenders": lambda found: [row["risk"] for row in found.rows],
}


def assert_same(found, expected):
    for name, numbers in NUMBERS.items():
        one, other = (np.asarray(numbers(part[name]), dtype=float) for part in (found, expected))
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.fixture
def of_the_table():
    return answers_of_the_table()


@cache  # in the place of a fixture of the module, which would not see those of every test
def answers_of_the_table():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return answers_of(X_TABLE, T_TABLE)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_a_table_of_two_values_and_numbers_is_its_array_of_zeros_and_ones():
    assert_same(answers_of(X, T), answers_of(X_NUMBERS, T_NUMBERS))


def with_other_names(frame):
    names = {"north": "zz", "east": "a b", "south": "north", "west": "0"}
    return frame.assign(region=frame.region.map(names))


def with_more_columns(frame):
    """A constant column and copies of two."""
    return frame.assign(one="x", again=frame.age, too=frame.region)


CHANGES = {
    "levels have other names and columns another order": lambda frame: with_other_names(
        frame[list(frame.columns[::-1])]
    ),
    "there are a constant column and copies": with_more_columns,
}


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("change", list(CHANGES))
def test_answers_stay_where(change, of_the_table):
    changed = CHANGES[change]
    assert_same(answers_of(changed(X_TABLE), changed(T_TABLE)), of_the_table)


@pytest.mark.thorough
def test_a_target_is_aligned_by_name(of_the_table):
    found = estimate(X_TABLE, Y, T_TABLE[list(T_TABLE.columns[::-1])])
    assert found.value == pytest.approx(of_the_table["estimate"].value)
    without = estimate(X_TABLE, Y, T_TABLE.drop(columns="age"))
    assert "Only in X, and left out: 'age'." in [note.text for note in without.notes]
    both = estimate(X_TABLE.drop(columns="age"), Y, T_TABLE.drop(columns="age"))
    assert without.value == pytest.approx(both.value)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["estimate", "model", "evaluate", "intervals", "sets", "methods", "contenders"]
)
def test_every_result_says_what_was_made_of_the_table(name, of_the_table):
    texts = [str(note) for note in of_the_table[name].notes]
    assert any("'region' (4)" in text for text in texts)
    assert any("Gaps" in text and "'income'" in text for text in texts)
    assert len(texts) == len(set(texts))


def with_gaps(rng, count, share, center):
    income, age = rng.binomial(6, 0.5 + center / 6, count) - 3.0, rng.normal(size=count)
    lost = rng.random(count) < share
    y = np.where(lost, 2.0, income) + age + rng.normal(0, 0.5, count)
    return pd.DataFrame({"age": age, "income": np.where(lost, np.nan, income)}), y


@pytest.mark.thorough
def test_more_gaps_in_the_target_are_part_of_the_shift():
    """People who do not tell their income: 15 % of the sample, 40 % of the target."""
    rng = np.random.default_rng(0)
    rows, y = with_gaps(rng, 300, 0.15, 0.0)
    target, _ = with_gaps(rng, 400, 0.40, 0.3)
    truth = 0.6 * 0.3 + 0.4 * 2.0
    found = estimate(rows, y, target)
    told, told_target = rows.income.notna(), target.income.notna()
    dropped = estimate(rows[told], y[told], target[told_target])
    median = rows.income.median()
    imputed = estimate(rows.fillna(median), y, target.fillna(median))
    low, high = found.interval
    assert low < truth < high
    assert abs(found.value - truth) < 0.15
    assert abs(dropped.value - truth) > 0.45
    assert abs(imputed.value - truth) > 0.25


@pytest.mark.filterwarnings("ignore")
def test_groups_strata_and_clusters_are_columns_of_the_table():
    found = estimate(X_TABLE, Y, T_TABLE, by="region", strata="grade")
    assert {row.group for row in found.table if row.group} == {"north", "east", "south", "west"}
    lost = X_TABLE.assign(region=X_TABLE.region.where(X_TABLE.region != "west"))
    there = T_TABLE.assign(region=T_TABLE.region.where(T_TABLE.region != "west"))
    found = estimate(lost, Y, there, by="region", cluster="day")
    assert "(missing)" in {row.group for row in found.table}


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_a_group_is_a_feature_also_where_it_has_two_rows():
    """Too few for a level of its own, where levels of few rows are joined."""
    place = np.concatenate([np.arange(600) % 6, np.repeat([6, 7], 2)])
    names = np.array([f"g{k}" for k in range(8)])
    rows = pd.DataFrame({"g": names[place], "x": np.random.default_rng(3).normal(size=604)})
    assert "g=g7" not in TableEncoder(min_rows=5).fit(rows).columns  # it is joined with g6
    found = estimate(rows, np.where(place == 7, 5.0, 0.0), rows, by="g")
    model = {row.group: row.value for row in found.table if row.method == "model"}
    assert model["g7"] > model["g6"] + 0.5
    assert abs(model["g5"]) < 0.5


def test_reweighted_keeps_the_encoder_also_in_a_file(tmp_path):
    model = Reweighted(LogisticRegression(**EXACT)).fit(X_TABLE, CLASSES, X_target=T_TABLE)
    assert model.n_features_in_ == X_TABLE.shape[1]
    covshift.save(model, tmp_path / "m.covshift")
    again = covshift.load(tmp_path / "m.covshift")
    np.testing.assert_array_equal(again.predict(T_TABLE), model.predict(T_TABLE))
    assert again.encoder_.columns == model.encoder_.columns
    with pytest.warns(UnseenLevelWarning, match="'abroad'"):
        model.predict(T_TABLE.assign(region="abroad"))
    plain = Reweighted(LogisticRegression(**EXACT)).fit(X_NUMBERS, CLASSES, X_target=T_NUMBERS)
    assert plain.encoder_ is None


class Seeing(StandardScaler):
    """A step that looks at the target."""

    def fit(self, X, y=None, *, X_target=None):
        self.target_ = None if X_target is None else X_target[0]
        return super().fit(X, y)


def test_steps_whose_fit_takes_the_target_get_it():
    pipeline = make_pipeline(TableEncoder(), Seeing(), LogisticRegression(**EXACT))
    model = Reweighted(pipeline, weighter="entropy").fit(X_TABLE, CLASSES, X_target=T_TABLE)
    encoder, step, _ = (part for _, part in model.estimator_.steps)
    expected = TableEncoder().fit(X_TABLE, X_target=T_TABLE)
    assert encoder.columns == expected.columns
    np.testing.assert_array_equal(step.target_, expected.transform(T_TABLE))
    before = Reweighted(LogisticRegression(**EXACT), preprocess=TableEncoder()).fit(
        X_TABLE, CLASSES, X_target=T_TABLE
    )
    direct = Reweighted(LogisticRegression(**EXACT)).fit(X_TABLE, CLASSES, X_target=T_TABLE)
    np.testing.assert_allclose(before.predict_proba(T_TABLE), direct.predict_proba(T_TABLE))


@pytest.mark.filterwarnings("ignore:X has columns without a margin")
def test_margins_weigh_a_table_that_the_estimator_gets_as_numbers():
    margins = Margins({"smoker": {"yes": 0.5, "no": 0.5}})
    model = Reweighted(LogisticRegression(**EXACT), weighter="raking")
    model.fit(X, CLASSES, X_target=margins)
    share = model.weights_ @ (X.smoker == "yes") / model.weights_.sum()
    assert share == pytest.approx(0.5)
    assert model.predict(X).shape == (N,)


def _survey_of_regions(rows=60):
    frame = pd.DataFrame({"region": ["n", "s", "w"] * (rows // 3), "y": [0.0, 1.0] * (rows // 2)})
    return frame, Margins({"region": {"n": 0.3, "s": 0.4, "w": 0.3}})


@pytest.mark.parametrize("dtype", ["string", object])
def test_a_gap_of_pandas_beside_margins_is_named(dtype):
    sample, margins = _survey_of_regions()
    sample["region"] = sample["region"].astype(dtype)
    sample.loc[3, "region"] = pd.NA
    with pytest.raises(InputError, match="column 'region' has 1 missing values"):
        estimate(sample, "y", margins)


def test_a_name_that_is_there_twice_beside_margins_is_named():
    sample, margins = _survey_of_regions()
    twice = pd.concat([sample[["region"]], sample], axis=1)
    with pytest.raises(InputError, match="several columns named 'region'"):
        estimate(twice, "y", margins)


def test_whole_numbers_of_hundreds_of_digits_are_refused_by_name():
    sample, _ = _survey_of_regions()
    target = sample[["region"]].assign(long=-(10**400))
    with pytest.raises(InputError, match="inf: column 'long'"):
        estimate(sample.assign(long=10**400), "y", target)


def test_outcomes_of_rows_without_weight_are_no_sample():
    sample, _ = _survey_of_regions()
    sample.loc[:29, "y"] = np.nan
    weight = np.repeat([1.0, 0.0], 30)
    with pytest.raises(InputError, match="None of the 30 training rows"):
        estimate(sample, "y", sample[["region"]], sample_weight=weight)


def test_true_is_another_word_than_one_in_any_order_of_rows():
    cells = [True, 1, "a"] * 20
    orders = [
        read_cells(pd.DataFrame({"c": part}, dtype=object), "X") for part in (cells, cells[::-1])
    ]
    for found in orders:
        assert found["c"].counts() == {"True": 20, "1": 20, "a": 20}


def test_a_message_does_not_quote_a_whole_book():
    sample, margins = _survey_of_regions()
    sample.loc[0, "region"] = "x" * 100_000
    with pytest.raises(InputError, match="x…") as error:
        estimate(sample, "y", margins)
    assert len(str(error.value)) < 1000


def test_a_message_about_complex_numbers_does_not_quote_them():
    with pytest.raises(InputError) as error:
        estimate(np.full((60, 2), 1j), np.tile([0.0, 1.0], 30), np.ones((50, 2)))
    assert "\n" not in str(error.value)


def test_decimals_of_arrow_reach_a_model_as_numbers():
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    rng = np.random.default_rng(0)
    x, t = (rng.normal(size=n).round(2) for n in (60, 80))
    y = (x > 0) * 1.0
    decimals = [pa.table({"x": [Decimal(str(v)) for v in part]}) for part in (x, t)]
    plain = [pa.table({"x": part}) for part in (x, t)]
    found, same = (
        estimate(a, y, b, outcome_model=LinearRegression()).value for a, b in (decimals, plain)
    )
    assert_allclose(found, same, rtol=1e-12)


def test_a_table_of_gaps_alone_says_what_was_left_out():
    rows = pd.DataFrame({"a": [np.nan] * 6, "b": pd.array([None] * 6, dtype="Int64")})
    with pytest.raises(InputError, match=r"No column is left that varies\. Left out 'a': has no v"):
        estimate(rows, [0, 1] * 3, rows)


def test_sparse_columns_beside_others_are_read_without_a_word():
    rows = pd.DataFrame({"a": RNG.normal(size=40), "b": RNG.integers(0, 2, 40)})
    sparse = rows.assign(b=pd.arrays.SparseArray(rows["b"]))
    weights = [
        covshift.weights.EntropyBalancing().fit(part[:20], X_target=part[10:]).weights_
        for part in (rows, sparse)
    ]
    assert_allclose(weights[1], weights[0])


@pytest.mark.parametrize("kind", ["date32", "date64"])
def test_a_days_column_of_arrow_with_gaps_is_an_outcome_of_categories(kind):
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    days = pandas.Series(pandas.to_datetime(["2020-01-01", "2020-01-02", None] * 20))
    X = np.random.default_rng(0).normal(size=(60, 1))
    y = days.astype(pandas.ArrowDtype(getattr(arrow, kind)()))
    found = estimate(X, y, X, what="proportion")
    assert {row.what for row in found.table} == {"2020-01-01", "2020-01-02"}
