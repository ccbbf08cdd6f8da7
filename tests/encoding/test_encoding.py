"""`TableEncoder`: each kind of column, and what must not change a result."""

import pickle
import warnings
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import covshift
from covshift import TableEncoder
from covshift.encoding import groups_of
from covshift.exceptions import InputError, UnseenLevelWarning


def columns(train, target=None, **options):
    """Encoded columns of the training rows by name."""
    encoder = TableEncoder(**options).fit(train, X_target=target)
    values = encoder.transform(train)
    return dict(zip(encoder.columns, values.T.tolist(), strict=True)), encoder


def said(encoder):
    return " ".join(map(str, encoder.notes_))


def repeat(values, times=10):
    return list(values) * times


# Kinds of columns


def test_numbers_and_booleans_stay():
    frame = pd.DataFrame({"x": [1.5, -2.0, 3.0], "b": [True, False, True], "k": [3, 1, 2]})
    found, _ = columns(frame)
    assert found == {"x": [1.5, -2, 3], "b": [1, 0, 1], "k": [3, 1, 2]}


def test_two_levels_are_one_column_that_marks_the_rarer():
    found, _ = columns(pd.DataFrame({"s": ["m", "f", "m", "m"]}))
    assert found == {"s=f": [0, 1, 0, 0]}


def test_levels_are_columns_of_one_feature():
    frame = pd.DataFrame({"r": ["a", "b", "c", "a"], "x": [1.0, 2.0, 3.0, 4.0]})
    found, encoder = columns(frame)
    assert found == {
        "r=a": [1, 0, 0, 1],
        "r=b": [0, 1, 0, 0],
        "r=c": [0, 0, 1, 0],
        "x": [1, 2, 3, 4],
    }
    assert encoder.groups.tolist() == [0, 0, 0, 1]
    assert encoder.group_names == ("r", "x")
    assert "'r' (3)" in said(encoder)


def kind_of(one, other):
    """What a column is whose samples hold these cells."""
    x = np.arange(6.0)
    pair = [
        pd.DataFrame({"x": x, "k": pd.concat([pd.Series(part)] * 3, ignore_index=True)})
        for part in (one, other)
    ]
    encoder = TableEncoder().fit(pair[0], X_target=pair[1])
    return next(rule.kind for rule in encoder.features_ if rule.name == "k")


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (["no", None], ["SE", "DK"], "category"),
        ([True, False], [0, 1], "boolean"),
        ([True, False], [0, 2], "number"),
        ([0, 1], ["yes", "no"], "boolean"),
        (["2026-01-02", "2026-01-03"], [date(2026, 1, 2), date(2026, 1, 3)], "date"),
    ],
)
def test_a_sample_that_tells_less_of_a_column_is_read_as_the_other(one, other, kind):
    assert kind_of(one, other) == kind
    assert kind_of(other, one) == kind


def test_ordered_categories_share_one_order():
    def ordered(cells, levels):
        return pd.Categorical(cells, levels, ordered=True)

    few = ordered(["low", "high"], ["low", "high"])
    many = ordered(["mid", "low"], ["low", "mid", "high"])
    assert kind_of(few, many) == kind_of(many, ["high", "low"]) == "ordered"
    assert kind_of(many, ["none", "low"]) == "category"
    assert kind_of(few, ordered(["low", "high"], ["high", "low"])) == "category"


def test_a_level_or_a_gap_that_only_the_target_has_is_seen():
    frame = pd.DataFrame({"r": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})
    target = pd.DataFrame({"r": ["a", "c", "c"], "x": [1.0, np.nan, 2.0]})
    found, encoder = columns(frame, target)
    assert found["r=c"] == [0, 0, 0]
    assert found["x missing"] == [0, 0, 0]
    there = dict(zip(encoder.columns, encoder.transform(target).T.tolist(), strict=True))
    assert there["r=c"] == [0, 1, 1]
    assert there["x missing"] == [0, 1, 0]
    assert there["x"] == [1, 2, 2]


@pytest.mark.parametrize("given_as", ["type", "levels"])
def test_ordered_categories_are_ranks(given_as):
    cells, levels = ["mid", "low", "high", "low"], ["low", "mid", "high"]
    if given_as == "type":
        frame = pd.DataFrame({"e": pd.Categorical(cells, levels, ordered=True)})
        found, encoder = columns(frame)
    else:
        found, encoder = columns(pd.DataFrame({"e": cells}), kinds={"e": levels})
    assert found == {"e": [1, 0, 2, 0]}
    assert "low < mid < high" in said(encoder)


def test_gaps_of_ordered_categories_are_filled_and_marked():
    cells = pd.Categorical(["low", None, "high", "low"], ["low", "high"], ordered=True)
    found, _ = columns(pd.DataFrame({"e": cells}))
    assert found == {"e": [0, 0, 1, 0], "e missing": [0, 1, 0, 0]}


@pytest.mark.parametrize(
    "cells",
    [
        pd.to_datetime(["1970-01-02", "1970-01-05"]),
        ["1970-01-02", "1970-01-05"],
        [date(1970, 1, 2), date(1970, 1, 5)],
        pd.to_datetime(["1970-01-02", "1970-01-05"]).tz_localize("UTC"),
    ],
)
def test_dates_are_days(cells):
    assert columns(pd.DataFrame({"d": cells}))[0] == {"d": [1, 4]}


def test_dates_over_a_year_apart_have_a_season_and_times_have_an_hour():
    days = pd.to_datetime(["2020-01-31 06:00", "2021-04-01 12:00", "2021-12-31 00:00"])
    found, encoder = columns(pd.DataFrame({"d": days}))
    assert found["d season=Jan-Mar"] == [1, 0, 0]
    assert found["d season=Apr-Jun"] == [0, 1, 0]
    assert found["d season=Oct-Dec"] == [0, 0, 1]
    assert found["d hour"] == [6, 12, 0]
    assert encoder.group_names == ("d", "d season", "d hour")


def test_an_impossible_date_is_text():
    found, _ = columns(pd.DataFrame({"d": ["2021-02-30", "2021-02-01"]}))
    assert list(found) == ["d=2021-02-30"]


def test_gaps_of_numbers_become_the_training_median_and_are_marked():
    frame = pd.DataFrame({"x": [1.0, np.nan, 5.0, 2.0]})
    found, encoder = columns(frame, pd.DataFrame({"x": [100.0, 200.0]}))
    assert found == {"x": [1, 2, 5, 2], "x missing": [0, 1, 0, 0]}
    assert "'x' (1 and 0)" in said(encoder)


def test_gaps_of_categories_are_a_level():
    frame = pd.DataFrame({"r": ["a", None, "b", "a"]})
    assert columns(frame)[0]["r=(missing)"] == [0, 1, 0, 0]


def test_questions_skipped_together_are_marked_once():
    lost = [np.nan, 1.0, np.nan, 3.0]
    found, encoder = columns(pd.DataFrame({"a": lost, "b": [np.nan, 5.0, np.nan, 4.0]}))
    assert list(found) == ["a", "a missing", "b"]
    assert "'b' and 'a' are missing in the same rows" in said(encoder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform(pd.DataFrame({"a": lost, "b": lost}))


def test_identifiers_free_text_constants_and_copies_are_left_out():
    names = [f"{k % 70} people said {k % 70}" for k in range(100)]
    frame = pd.DataFrame(
        {
            "x": np.arange(100.0),
            "id": [f"p{k}" for k in range(100)],
            "text": names,
            "one": 1,
            "empty": [None] * 100,
            "again": np.arange(100.0),
        }
    )
    found, encoder = columns(frame)
    assert list(found) == ["x"]
    for part in (
        "'id'",
        "'text': looks like names or free text, 70",
        "'one', 'empty'",
        "copy of 'x': 'again'",
    ):
        assert part in said(encoder)
    kept, _ = columns(frame, kinds={"text": "category"}, min_rows=5)
    assert len(kept) == 1 + 30 + 1  # those with two rows in a hundred, and the rest


def test_rare_levels_are_joined_and_large_shares_are_not():
    cells = repeat("a", 150) + repeat("b", 45) + ["c", "d", "e", "f", "f"]
    found, encoder = columns(pd.DataFrame({"r": cells}), min_rows=5)
    assert list(found) == ["r=a", "r=b", "r=(other)"]
    assert sum(found["r=(other)"]) == 5
    assert "4 levels with few rows" in said(encoder)
    small, _ = columns(pd.DataFrame({"r": ["a", "a", "b", "c"]}), min_rows=5)
    assert list(small) == ["r=a", "r=b", "r=c"]


def test_rare_levels_stay_levels_unless_it_is_asked_for():
    cells = repeat("a", 150) + repeat("b", 45) + ["c", "d", "e", "f", "f"]
    found, encoder = columns(pd.DataFrame({"r": cells}))
    assert list(found) == ["r=a", "r=b", "r=f", "r=c", "r=d", "r=e"]
    assert "few rows" not in said(encoder)


def test_rare_levels_that_one_sample_lacks_are_joined_and_others_are_not():
    common = repeat("a", 150) + repeat("b", 45)
    X = pd.DataFrame({"r": [*common, "c", "c", "d", "d", "e"]})
    T = pd.DataFrame({"r": [*common, "c", "c", "d", "d", "f"]})
    assert len(columns(X, T)[0]) == 6  # four of five rows at levels that both have
    once = pd.DataFrame({"r": [*common, "c", "d", "e"]})
    assert list(columns(once, once)[0]) == ["r=a", "r=b", "r=(other)"]  # names of rows
    T = pd.DataFrame({"r": [*common, "c", "g", "g", "f"]})
    found, encoder = columns(X, T)
    assert list(found) == ["r=a", "r=b", "r=(other)"]
    assert "5 levels with few rows" in said(encoder)


def test_many_levels_keep_the_most_frequent():
    cells = [str(k) for k in range(30) for _ in range(30 - k)] * 3
    found, _ = columns(pd.DataFrame({"r": cells}), kinds={"r": "category"}, max_levels=4)
    assert list(found) == ["r=0", "r=1", "r=2", "r=3", "r=(other)"]


def test_levels_are_joined_by_their_rows_not_by_their_number():
    """120 places of ten rows each are 120 levels; only those of few rows are joined, and told."""
    many = pd.DataFrame({"r": [f"p{k}" for k in range(120) for _ in range(10)]})
    found, encoder = columns(many)
    assert len(found) == 120
    assert not any(note.severity == "warning" for note in encoder.notes_)
    few = pd.DataFrame({"r": repeat("a", 600) + [f"p{k}" for k in range(50) for _ in range(2)]})
    found, encoder = columns(few, min_rows=5)
    assert list(found) == ["r=(other)"]  # two levels, one column
    assert [note.kind for note in encoder.notes_ if note.severity == "warning"] == ["joined levels"]


def test_numbers_written_as_text():
    many = pd.DataFrame({"x": [f"{k}.5" for k in range(30)]})
    assert columns(many)[0]["x"][:2] == [0.5, 1.5]
    codes = pd.DataFrame({"x": repeat(["01", "02", "10"])})
    assert list(columns(codes)[0]) == ["x=01", "x=02", "x=10"]


def test_whole_numbers_with_a_gap_are_the_levels_of_whole_numbers():
    """A gap makes 1 the float 1.0, which is the same level."""
    frame = pd.DataFrame({"k": pd.Series([1, 2, 3, 1], dtype="category")})
    target = pd.DataFrame({"k": pd.Series([1.0, 2.0, np.nan], dtype="category")})
    _, encoder = columns(frame, target)
    assert encoder.columns == ("k=1", "k=2", "k=3", "k=(missing)")


# Libraries


def table(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=rows),
        "gap": np.where(rng.random(rows) < 0.3, np.nan, rng.normal(size=rows)),
        "r": rng.choice(["a", "b", "c"], rows),
        "s": rng.choice(["yes", "no"], rows),
        "b": rng.random(rows) < 0.4,
        "d": [f"2020-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in rng.integers(0, 300, rows)],
    }


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_every_library_gives_the_same_numbers(library):
    frame = pd.DataFrame(table())
    other = pl.from_pandas(frame)
    if library == "pyarrow":
        other = other.to_arrow()
    a, b = TableEncoder().fit(frame), TableEncoder().fit(other)
    assert a.columns == b.columns
    np.testing.assert_array_equal(a.transform(frame), b.transform(other))
    np.testing.assert_array_equal(a.transform(frame), a.transform(other))


def test_arrays_have_columns_too():
    encoder = TableEncoder().fit(np.array([["a", 1], ["b", None], ["c", 3]], dtype=object))
    assert encoder.columns == ("x0=a", "x0=b", "x0=c", "x1", "x1 missing")


def test_a_lazy_frame_is_refused_with_what_to_do():
    with pytest.raises(InputError, match="collect"):
        TableEncoder().fit(pl.DataFrame(table()).lazy())


# Alignment


def test_the_target_is_aligned_by_name():
    frame, target = pd.DataFrame(table()), pd.DataFrame(table(seed=1))
    a = TableEncoder().fit(frame, X_target=target)
    b = TableEncoder().fit(frame, X_target=target[target.columns[::-1]])
    assert a.features_ == b.features_
    np.testing.assert_array_equal(
        a.transform(target), b.transform(target[target.columns[::-1]].assign(more=1))
    )


def test_other_columns_and_kinds_are_refused_by_name():
    frame = pd.DataFrame(table())
    with pytest.raises(InputError, match=r"lacks 'r' and has 'q' besides"):
        TableEncoder().fit(frame, X_target=frame.rename(columns={"r": "q"}))
    with pytest.raises(InputError, match=r"'x' holds numbers in X, but text in X_target"):
        TableEncoder().fit(frame, X_target=frame.assign(x="a"))
    encoder = TableEncoder().fit(frame)
    with pytest.raises(InputError, match=r"X lacks the columns 'r'"):
        encoder.transform(frame.drop(columns="r"))
    with pytest.raises(InputError, match=r"'x' holds text, and fit was given numbers"):
        encoder.transform(frame.assign(x="a"))
    with pytest.raises(InputError, match=r"column 'x' \(1 inf\)"):
        TableEncoder().fit(frame.assign(x=[np.inf, *frame["x"][1:]]))
    with pytest.raises(InputError, match="several columns named 'x'"):
        TableEncoder().fit(pd.concat([frame, frame[["x"]]], axis=1))
    with pytest.raises(InputError, match="kinds names 'q'"):
        TableEncoder({"q": "date"}).fit(frame)
    with pytest.raises(InputError, match="No column is left that varies"):
        TableEncoder().fit(pd.DataFrame({"one": ["a", "a"]}))


def test_what_the_fit_never_saw_is_said():
    encoder = TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0, 4.0], "r": ["a", "b", "c"]}))
    with pytest.warns(UnseenLevelWarning, match=r"'r' has levels that fit was not given: 'z'"):
        values = encoder.transform(pd.DataFrame({"x": [1.0], "r": ["z"]}))
    assert values.tolist() == [[1, 0, 0, 0]]
    with pytest.warns(UnseenLevelWarning, match=r"'x' has 1 gap, and fit was given none"):
        values = encoder.transform(pd.DataFrame({"x": [np.nan], "r": ["a"]}))
    assert values.tolist() == [[2, 1, 0, 0]]


# scikit-learn and files


def test_it_is_a_transformer_of_scikit_learn():
    frame = pd.DataFrame(table(200))
    y = (frame["x"] + frame["b"] > 0.5).astype(int)
    model = make_pipeline(TableEncoder(), LogisticRegression(max_iter=1000)).fit(frame, y)
    assert model.score(frame, y) > 0.8
    out = clone(TableEncoder()).set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == list(TableEncoder().fit(frame).columns)


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(TableEncoder())),
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", ""),
)
def test_scikit_learns_own_checks(estimator, check):
    expected = {
        "check_estimators_dtypes": "constant and equal columns are left out",
        "check_n_features_in_after_fitting": "numbers of an array are columns by place",
    }
    name = check.func.__name__
    if name in expected:
        pytest.skip(expected[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_saved_and_loaded_it_does_the_same(tmp_path):
    frame = pd.DataFrame(table())
    encoder = TableEncoder({"r": ["c", "a", "b"]}).fit(frame)
    covshift.save(encoder, tmp_path / "e.covshift")
    again = covshift.load(tmp_path / "e.covshift")
    assert again.features_ == encoder.features_
    assert again.notes_ == encoder.notes_
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))


# What must not change a result

FRAMES = st.integers(0, 10_000)


def sorted_columns(train, target):
    """All columns, sorted, so that their order does not matter."""
    encoder = TableEncoder().fit(train, X_target=target)
    both = np.concatenate([encoder.transform(train), encoder.transform(target)])
    return both[:, np.lexsort(both)]


@pytest.mark.thorough
@settings(max_examples=25, deadline=None)
@given(FRAMES)
def test_copies_constants_order_and_names_change_nothing(seed):
    rng = np.random.default_rng(seed)
    a, b = pd.DataFrame(table(40, seed)), pd.DataFrame(table(50, seed + 1))
    plain = sorted_columns(a, b)
    np.testing.assert_array_equal(sorted_columns(a.assign(z=a["r"]), b.assign(z=b["r"])), plain)
    np.testing.assert_array_equal(sorted_columns(a.assign(z="same"), b.assign(z="same")), plain)
    shuffled = list(rng.permutation(a.columns))
    np.testing.assert_array_equal(sorted_columns(a[shuffled], b[shuffled]), plain)
    rows = rng.permutation(len(a))
    moved = sorted_columns(a.iloc[rows], b)
    np.testing.assert_array_equal(
        np.sort(moved[: len(a)], axis=0), np.sort(plain[: len(a)], axis=0)
    )
    words = {"a": "z", "b": "m", "c": "k"}
    np.testing.assert_array_equal(
        sorted_columns(a.assign(r=a["r"].map(words)), b.assign(r=b["r"].map(words))), plain
    )


# Groups travel with the rows


def test_rows_know_which_columns_belong_together():
    frame = pd.DataFrame({"r": ["a", "b", "c", "a"], "x": [1.0, 2.0, 3.0, 4.0]})
    rows = TableEncoder().fit_transform(frame)
    for some in (
        rows,
        rows[1:],
        rows[[2, 0]],
        rows[rows[:, 3] > 1],
        rows[[0, 1], :],
        rows[[0], ...],
        rows.copy(),
        pickle.loads(pickle.dumps(rows)),
    ):
        assert groups_of(some).tolist() == [0, 0, 0, 1]
    turned = rows @ np.eye(4), rows.T, np.transpose(rows), np.take(rows, [3, 2, 1, 0], axis=1)
    for plain in (
        rows[:, ::-1],
        rows[:, np.arange(4)],
        rows[:, :2],
        rows[0],
        rows.sum(axis=0),
        *turned,
    ):
        assert groups_of(plain) is None
    assert type(rows[:, 0]) is np.ndarray


def test_without_categories_rows_are_plain_arrays():
    rows = TableEncoder().fit_transform(pd.DataFrame({"x": [1.0, np.nan, 3.0]}))
    assert type(rows) is np.ndarray


# What a review found


def test_levels_of_numbers_are_spelled_as_their_cells():
    cells = pd.Categorical([1.0, 3.0, 2.0, 1.0], ordered=True)
    assert columns(pd.DataFrame({"q": cells}))[0] == {"q": [0, 2, 1, 0]}
    by_hand, _ = columns(pd.DataFrame({"q": [1.0, 3.0, 2.0]}), kinds={"q": [1.0, 2.0, 3.0]})
    assert by_hand == {"q": [0, 2, 1]}


def test_infinite_numbers_are_refused_at_transform_too():
    encoder = TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0], "r": ["a", "b"]}))
    with pytest.raises(InputError, match=r"column 'x' \(1 inf\)"):
        encoder.transform(pd.DataFrame({"x": [np.inf], "r": ["a"]}))


@pytest.mark.parametrize("word", ["NaT", "today", "2020", "20240101"])
def test_words_that_are_no_dates_are_refused(word):
    encoder = TableEncoder().fit(pd.DataFrame({"d": ["2020-01-01", "2020-01-05"]}))
    with pytest.raises(InputError, match="fit was given dates"):
        encoder.transform(pd.DataFrame({"d": [word]}))
    with pytest.raises(InputError, match="is not a date"):
        TableEncoder({"d": "date"}).fit(pd.DataFrame({"d": [word, "2020-01-01"]}))


def test_numbers_are_no_dates_and_dates_are_days():
    with pytest.raises(InputError, match="to_datetime"):
        TableEncoder({"d": "date"}).fit(pd.DataFrame({"d": [20240101, 20240102]}))
    frame = pd.DataFrame({"d": pd.to_datetime(["1970-01-02", "1970-01-05"])})
    assert columns(frame, kinds={"d": "number"})[0] == {"d": [1, 4]}


def test_one_time_of_day_is_no_feature():
    days = pd.Timestamp("2014-01-01 10:10") + pd.to_timedelta(np.arange(600), "D")
    assert "d hour" not in columns(pd.DataFrame({"d": days}))[0]


def test_quarters_before_1970():
    days = pd.to_datetime(["1965-03-31 13:00", "1969-12-31 12:00", "1960-06-30 23:00"])
    found, _ = columns(pd.DataFrame({"d": days}))
    assert found["d season=Jan-Mar"] == [1, 0, 0]
    assert found["d season=Oct-Dec"] == [0, 1, 0]
    assert found["d season=Apr-Jun"] == [0, 0, 1]


def test_a_copy_with_gaps_is_a_copy():
    cells = [1.0, np.nan, 3.0]
    found, encoder = columns(pd.DataFrame({"a": cells, "b": cells}))
    assert list(found) == ["a", "a missing"]
    assert "copy of 'a': 'b'" in said(encoder)


def test_a_column_with_the_name_of_a_mark_is_a_feature_by_itself():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "a missing": [5.0, 6.0, 8.0]})
    encoder = TableEncoder().fit(frame)
    assert encoder.groups.tolist() == [0, 1, 2]
    assert encoder.group_names == ("a", "a missing", "a missing")


def test_what_unseen_cells_count_as_is_said():
    encoder = TableEncoder().fit(pd.DataFrame({"r": ["a", "a", "b"], "x": [True, False, True]}))
    with pytest.warns(UnseenLevelWarning, match="count as 'a', the more frequent"):
        encoder.transform(pd.DataFrame({"r": ["z"], "x": [True]}))
    with pytest.raises(InputError, match="holds 7, and fit was given true and false"):
        encoder.transform(pd.DataFrame({"r": ["a"], "x": [7]}))


def test_levels_that_are_all_rare_are_left_out():
    users = [f"u{k}" for k in range(70) for _ in range(4)]
    frame = pd.DataFrame({"u": users, "x": np.arange(280.0)})
    assert list(columns(frame, min_rows=5)[0]) == ["x"]
    others = pd.DataFrame({"u": [f"v{k}" for k in range(70) for _ in range(4)], "x": frame.x})
    assert list(columns(frame, others)[0]) == ["x"]


def test_long_identifiers_with_a_gap_are_refused():
    cells = pd.array([2**60 + k for k in range(3)] + [None], dtype="Int64")
    with pytest.raises(InputError, match="float64 cannot hold"):
        TableEncoder().fit(pd.DataFrame({"id": cells, "r": list("abca")}))


def test_a_season_is_the_month_and_the_weekday_that_there_are():
    days = pd.to_datetime(["2024-01-01", "2024-01-02", "2025-02-03", None])
    encoder = TableEncoder({"day": "season"}).fit(pd.DataFrame({"day": days}))
    assert encoder.columns == (
        "day month=Jan",
        "day month=Feb",
        "day weekday=Mon",
        "day weekday=Tue",
        "day missing",
    )
    assert encoder.transform(pd.DataFrame({"day": days})).tolist() == [
        [1, 0, 1, 0, 0],
        [1, 0, 0, 1, 0],
        [0, 1, 1, 0, 0],
        [0, 0, 0, 0, 1],
    ]
    text = pd.DataFrame({"day": ["2031-02-04"]})  # another year, and text as files have it
    assert encoder.transform(text).tolist() == [[0, 1, 0, 1, 0]]
