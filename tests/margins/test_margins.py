"""Margins: what they hold, where they come from, what they refuse, and that they hide rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from covshift import Margins, estimate
from covshift.exceptions import InputError, InputTypeError
from covshift.margins.cells import Brackets, Categories, Margin, Moments
from covshift.margins.files import is_margins_file
from covshift.margins.rows import roundest
from covshift.weights import CDFWeights, EntropyBalancing, Raking

AGE = {(18, 30): 0.2, (30, 65): 0.55, (65, None): 0.25}
SEX = {"f": 0.52, "m": 0.48}
CELLS = {(s, a): SEX[s] * share for s in SEX for a, share in AGE.items()}


def everything():
    return Margins(
        {
            "age": AGE,
            "sex": SEX,
            "income": {"quantiles": {0.1: 9.5, 0.5: 24.0, 0.9: 61.0}},
            "bmi": {"mean": 27.1, "sd": 4.8},
            "height": {"mean": 171.0},
            ("sex", "age"): CELLS,
        },
        size=1_000_000,
        source="census 2021, table 3",
    )


# What they hold


def test_every_form_is_understood():
    found = everything()
    age, income = found.single["age"], found.single["income"]
    np.testing.assert_array_equal(age.cells.lower, [18, 30, 65])
    np.testing.assert_array_equal(age.cells.upper, [30, 65, np.inf])
    np.testing.assert_allclose(age.share, [0.2, 0.55, 0.25])
    np.testing.assert_array_equal(income.cells.upper, [9.5, 24, 61, np.inf])
    np.testing.assert_allclose(income.share, [0.1, 0.4, 0.4, 0.1])
    assert income.cells.right
    assert found.single["sex"].cells == Categories(("f", "m"))
    assert found.single["bmi"] == Moments(27.1, 4.8)
    assert found.single["height"] == Moments(171.0)
    assert found.columns == ["age", "sex", "income", "bmi", "height"]
    np.testing.assert_allclose(found.tables[0].share.sum(axis=1), [0.52, 0.48])


def test_a_print_shows_what_they_hold():
    text = str(everything())
    for words in (
        "5 columns and 1 table, size 1000000 (census 2021, table 3)",
        "18 to under 30 20.0%, 30 to under 65 55.0%, 65 and over 25.0%",
        "f 52.0%, m 48.0%",
        "up to 9.5 10.0%",
        "above 61 10.0%",
        "mean 27.1, standard deviation 4.8",
        "table of 2 x 3 cells",
    ):
        assert words in text
    assert repr(everything()) == "<Margins of age, sex, income, bmi, height>"


def test_brackets_hold_their_ends_as_people_write_them():
    meeting = Margins({"a": {(18, 30): 0.5, (30, 45): 0.5}}).single["a"].cells
    whole = Margins({"a": {(18, 29): 0.5, (30, 45): 0.5}}).single["a"].cells
    assert meeting.labels == ["18 to under 30", "30 to 45"]
    assert whole.labels == ["18 to 29", "30 to 45"]
    for cells in (meeting, whole):
        found = np.searchsorted(cells.ends, [18, 29, 30, 45])
        np.testing.assert_array_equal(found, [0, 0, 1, 1])
    x = np.array([17.0, 29.5, 46.0])
    np.testing.assert_array_equal(meeting.outside(x), [True, False, True])
    np.testing.assert_array_equal(whole.outside(x), [True, True, True])


def test_the_order_of_brackets_does_not_matter():
    turned = dict(reversed(AGE.items()))
    assert Margins({"age": turned}) == Margins({"age": AGE})


def test_percentages_are_recognised_by_their_sum():
    plain = Margins({"sex": SEX}).single["sex"].share
    np.testing.assert_allclose(Margins({"sex": {"f": 52, "m": 48}}).single["sex"].share, plain)


def test_counts_are_divided_by_their_total_and_noted():
    shares = Margins({"sex": SEX, ("sex", "age"): CELLS})
    tables = {key: 250_000 * share for key, share in CELLS.items()}
    found = Margins({"sex": {"f": 5200, "m": 4800}, ("sex", "age"): tables})
    np.testing.assert_allclose(found.single["sex"].share, shares.single["sex"].share)
    np.testing.assert_allclose(found.tables[0].share, shares.tables[0].share)
    assert [note.text for note in found.notes] == [
        "The counts of 'sex' were divided by their total of 10000.",
        "The counts of the table sex x age were divided by their total of 250000.",
    ]


def test_rounded_shares_are_scaled_and_noted():
    found = Margins({"region": {"n": 33.3, "s": 33.3, "e": 33.3}})
    assert found.single["region"].share.sum() == pytest.approx(1, abs=1e-15)
    assert "'region' add up to 99.9" in found.notes[0].text


def test_equal_quantiles_leave_the_largest_share_below():
    cells = Margins({"x": {"quantiles": {0.1: 0, 0.4: 0, 0.9: 5}}}).single["x"]
    np.testing.assert_array_equal(cells.cells.upper, [0, 5, np.inf])
    np.testing.assert_allclose(cells.share, [0.4, 0.5, 0.1])


def test_quantiles_of_zero_and_one_are_the_ends():
    cells = Margins({"x": {"quantiles": {0: 1.0, 0.5: 2.0, 1: 4.0}}}).single["x"].cells
    np.testing.assert_array_equal(cells.outside(np.array([0.9, 1.0, 4.0, 4.1])), [1, 0, 0, 1])


def test_a_column_of_a_table_has_a_margin():
    found = Margins({("sex", "age"): CELLS})
    np.testing.assert_allclose(found.margin("age").share, [0.2, 0.55, 0.25])
    assert found.margin("bmi") is None
    assert found.columns == ["sex", "age"]


def test_a_rounded_table_is_scaled_to_the_margins_of_its_columns():
    rounded = {**CELLS, ("f", (18, 30)): 0.11}
    found = Margins({"age": AGE, "sex": SEX, ("sex", "age"): rounded})
    share = found.tables[0].share
    np.testing.assert_allclose(share.sum(axis=0), [0.2, 0.55, 0.25], atol=1e-12)
    np.testing.assert_allclose(share.sum(axis=1), [0.52, 0.48], atol=1e-12)
    np.testing.assert_allclose(share.ravel(), list(CELLS.values()), atol=0.006)
    assert any("was scaled to the margins" in note.text for note in found.notes)


def test_a_selection_keeps_the_tables_of_its_columns():
    found = everything()
    assert found.select(["sex", "age"]).tables == found.tables
    assert found.select(["age", "bmi"]).columns == ["age", "bmi"]
    with pytest.raises(InputError, match=r"no column 'weight'.*They have 'age'"):
        found.select(["weight"])


# What they refuse


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "dictionary from columns"),
        ({"age": 0.5}, "margin of 'age' is 0.5"),
        ({"age": {(18, 30): 0.2, (30, 65): 0.55}}, r"shares of 'age' add up to 0.75"),
        ({"sex": {"f": 90, "m": 60}}, "add up to 150.*Divide counts by their total"),
        ({"sex": {"f": 520, "m": 480, "all": 1000}}, "sum of the others, 1000. Leave out"),
        ({"sex": {"f": 1.2, "m": -0.2}}, "'sex' has shares that are negative"),
        ({"sex": {"f": "half", "m": 0.5}}, "'half' where a number is expected"),
        ({"age": {(18, 35): 0.5, (30, 65): 0.5}}, "'18 to 35' and '30 to 65' overlap"),
        ({"age": {(30, 18): 1.0}}, "from 30 to 18 is empty"),
        ({"age": {(18, 30): 0.5, "older": 0.5}}, "mixes brackets and categories"),
        ({"age": {(18, 30, 40): 1.0}}, "odd brackets"),
        ({"sex": {"1": 0.5, 1: 0.5}}, "category '1' more than once"),
        ({"x": {"mean": 1.0, "sd": 0.0}}, "standard deviation is 0.0"),
        ({"x": {"quantiles": {0.5: 2.0, 0.9: 1.0}}}, "quantiles fall"),
        ({"x": {"quantiles": {50: 2.0}}}, "shares from 0 to 1"),
        ({("a",): {("f",): 1.0}}, "not a pair of columns"),
        ({("sex", "age"): {("f", (18, 30)): 0.5, ("m", (30, 40)): 0.5}}, "is missing. Write 0"),
        ({("sex", "age"): {"f": 1.0}}, "every cell is a pair"),
        ({"sex": {"f": 0.6, "m": 0.4}, ("sex", "age"): CELLS}, "'sex' and the table.*disagree"),
        ({"0": SEX, 0: SEX}, "'0' has two margins"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(given, words):
    with pytest.raises(InputError, match=words):
        Margins(given)


def test_a_gap_between_brackets_is_noted():
    found = Margins({"age": {(18, 30): 0.5, (40, 65): 0.5}})
    assert "between 30 and 40" in found.notes[0].text
    assert found.notes[0].severity == "warning"
    assert not Margins({"age": {(18, 39): 0.5, (40, 65): 0.5}}).notes


@pytest.mark.parametrize("size", [0, -5, float("inf"), "many"])
def test_a_size_that_counts_nothing_is_refused(size):
    with pytest.raises(InputError, match="size="):
        Margins({"sex": SEX}, size=size)


# Files


def test_json_holds_everything(tmp_path):
    path = tmp_path / "margins.json"
    everything().to_json(path)
    again = Margins.from_json(path)
    assert again == everything()
    assert (again.size, again.source) == (1_000_000, "census 2021, table 3")
    assert again != everything().select(["age"])


def test_other_json_is_refused(tmp_path):
    path = tmp_path / "other.json"
    for text, words in (
        ("{", "not a JSON file"),
        ('{"a": 1}', "holds no margins"),
        ('{"format": "covshift margins", "version": 9}', "of version 9"),
        ('{"format": "covshift margins", "version": 1}', '"columns" must have an entry'),
        ('{"format": "covshift margins", "columns": {"a": 1}}', "another structure"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            Margins.from_json(path)
    with pytest.raises(InputError, match="cannot be read"):
        Margins.from_json(tmp_path / "absent.json")


# From rows


def rows_of(margins, frame):
    """Rows in each cell, counted by what the cells say of themselves."""
    found = {}
    for name, part in margins.single.items():
        x = frame[name].to_numpy()
        if isinstance(part.cells, Brackets):
            code = np.searchsorted(part.cells.ends, x.astype(float))
        else:
            code = part.cells.codes(map(str, x))
        found[name] = np.bincount(code, minlength=len(part.cells))
    for table in margins.tables:
        codes = [
            np.searchsorted(cells.ends, frame[name].astype(float))
            if isinstance(cells, Brackets)
            else cells.codes(map(str, frame[name]))
            for name, cells in zip(table.columns, table.cells, strict=True)
        ]
        counts = np.zeros(table.share.shape)
        np.add.at(counts, tuple(codes), 1)
        found[table.title] = counts
    return found


@pytest.mark.parametrize("seed", range(12))
def test_no_cell_holds_fewer_rows_than_allowed(seed):
    rng = np.random.default_rng(seed)
    M = int(rng.integers(40, 400))
    levels = list("abcdefghij")
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=M) ** 3,
            "whole": rng.poisson(2, M),
            "rare": np.where(rng.random(M) < 0.97, 0.0, rng.integers(1, 9, M)),
            "level": rng.choice(levels, M, p=rng.dirichlet(np.full(10, 0.4))),
        }
    )
    min_count, bins = int(rng.integers(2, 20)), int(rng.integers(2, 60))
    tables = [("number", "whole")]
    try:
        found = Margins.from_rows(frame, bins=bins, min_count=min_count, tables=tables)
    except InputError as error:  # a column of the table may be left out
        assert "needs two columns" in str(error)  # noqa: PT017
        found = Margins.from_rows(frame, bins=bins, min_count=min_count)
    counts = rows_of(found, frame)
    for name, held in counts.items():
        assert held.min() >= min_count, name
        assert held.sum() == M
        part = {table.title: table for table in found.tables}.get(name) or found.single[name]
        np.testing.assert_allclose(part.share, held / M, atol=1e-12)
        if isinstance(part, Margin) and isinstance(part.cells, Brackets):
            assert len(part.cells) <= bins
            assert np.isinf([part.cells.lower[0], part.cells.upper[-1]]).all()
    assert found.size == M


def test_a_table_s_cuts_are_cuts_of_its_columns():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(300, 2))
    found = Margins.from_rows(T, bins=30, min_count=5, tables=[(0, 1)])
    for side, name in enumerate(("0", "1")):
        own = found.single[name].cells.cuts
        assert 1 <= len(found.tables[0].cells[side].cuts) < len(own)
        assert set(found.tables[0].cells[side].cuts) <= set(own)


def test_rare_levels_go_into_one_cell_that_does_not_name_them():
    frame = pd.DataFrame({"town": ["a"] * 30 + ["b"] * 12 + ["c"] * 6 + ["d"] * 2})
    found = Margins.from_rows(frame, min_count=10).single["town"]
    assert found.cells.levels == ("a", "(other)")
    np.testing.assert_allclose(found.share, [0.6, 0.4])
    np.testing.assert_array_equal(found.cells.codes(["a", "b", "zz"]), [0, 1, 1])


def test_a_level_called_other_holds_the_rare_ones_too():
    frame = pd.DataFrame({"town": ["a"] * 30 + ["(other)"] * 12 + ["c"] * 6})
    found = Margins.from_rows(frame, min_count=10).single["town"]
    assert found.cells.levels == ("a", "(other)")
    np.testing.assert_allclose(found.share, [30 / 48, 18 / 48])


def test_too_few_rows_are_refused():
    with pytest.raises(InputError, match="9 rows, fewer than min_count=10"):
        Margins.from_rows(np.arange(9.0)[:, None])
    with pytest.raises(InputError, match="No column has two cells"):
        Margins.from_rows(np.ones((50, 1)))


def test_a_column_of_one_cell_is_left_out_and_noted():
    T = np.column_stack([np.arange(50.0), np.ones(50)])
    found = Margins.from_rows(T)
    assert found.columns == ["0"]
    assert "'1' was left out" in found.notes[0].text


def test_all_values_have_a_cell_where_nothing_is_hidden():
    T = np.random.default_rng(1).normal(size=(40, 1)).round(1)
    found = Margins.from_rows(T, bins=None, min_count=1).single["0"]
    values, counts = np.unique(T, return_counts=True)
    np.testing.assert_array_equal(found.cells.ends, values)
    np.testing.assert_allclose(found.share, counts / 40)


@pytest.mark.parametrize("scale", [1, 1000])
def test_weighted_rows_have_weighted_shares_and_the_size_that_kish_says(scale):
    T, weight = np.repeat([0.0, 1.0], [10, 30])[:, None], np.repeat([3.0, 1.0], [10, 30])
    found = Margins.from_rows(T, weight=scale * weight)
    np.testing.assert_allclose(found.single["0"].share, [0.5, 0.5])
    assert found.size == pytest.approx(60**2 / (10 * 9 + 30))
    assert Margins.from_rows(T, weight=np.full(40, scale)) == Margins.from_rows(T)


def test_rows_of_weight_zero_fill_no_cell():
    T = np.repeat([0.0, 1.0, 2.0, 3.0], 10)[:, None]
    weight = np.where(np.arange(40) % 10 < 9, 1.0, 0.0)
    found = Margins.from_rows(T, weight=weight)
    assert found == Margins.from_rows(T[weight > 0])
    assert len(Margins.from_rows(T).single["0"].cells) == 4
    assert len(found.single["0"].cells) == 2


def test_rows_survive_a_file(tmp_path):
    frame = pd.DataFrame({"x": np.arange(60.0), "k": list("abc") * 20})
    for min_count in (1, 10):
        found = Margins.from_rows(
            frame, min_count=min_count, tables=[("k", "x")][: min_count // 10]
        )
        found.to_json(tmp_path / "m.json")
        assert Margins.from_json(tmp_path / "m.json") == found
        assert "NaN" not in json.dumps(json.loads((tmp_path / "m.json").read_text()))


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (29, 30, 29),
        (0.43712, 0.43891, 0.438),
        (-0.2, 0.1, 0),
        (99.7, 130, 100),
        (-130, -99.7, -100),
    ],
)
def test_ends_are_round_numbers_between_neighbours(low, high, found):
    assert roundest(low, high) == found
    tight = np.nextafter(low, np.inf)
    assert low <= roundest(low, tight) < tight


def test_margins_written_by_hand_need_their_columns_alone(tmp_path):
    path = tmp_path / "by_hand.json"
    ages = {"brackets": [[18, 29, 0.17], [30, 64, 0.59], [65, None, 0.24]]}
    expected = Margins(
        {"age": {(18, 29): 0.17, (30, 64): 0.59, (65, None): 0.24}, "sex": {"f": 0.51, "m": 0.49}}
    )
    for sexes in ({"categories": [["f", 0.51], ["m", 0.49]]}, {"f": 51, "m": 49}):
        path.write_text(json.dumps({"columns": {"age": ages, "sex": sexes}}))
        assert is_margins_file(path)
        assert str(Margins.from_json(path)) == str(expected)
    path.write_text(json.dumps({"format": "covshift margins", "age": ages}))
    with pytest.raises(InputError, match='"columns" must have an entry'):
        Margins.from_json(path)


@pytest.mark.parametrize(
    "text", ['[{"age": 41}]', '{"age": [41, 42]}', '{"age": 41}\n{"age": 42}\n', "age,sex\n41,f\n"]
)
def test_rows_are_no_margins(text, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(text)
    assert not is_margins_file(path)


def test_rows_of_a_dict_are_refused_in_words():
    margins = Margins({"age": {"mean": 30.0}})
    for rows in ({"age": [20.0, 30.0, 40.0]}, "age", None):
        with pytest.raises(InputTypeError, match="holds no values of rows"):
            EntropyBalancing().fit(rows, margins)
        with pytest.raises(InputTypeError, match="holds no values of rows"):
            estimate(rows, [1.0, 2.0, 3.0], margins)


# Names and levels that are easily lost


def test_names_keep_their_blanks_in_a_json_file(tmp_path):
    """Else the margin loses its column, and brackets the side on which they are closed."""
    rows = pd.DataFrame({" a ": [1.0, 1.0, 2.0, 2.0], "b\n": ["x ", "x", " y", "y"]})
    margins = Margins.from_rows(rows, min_count=2)
    margins.to_json(tmp_path / "m.json")
    again = Margins.from_json(tmp_path / "m.json")
    assert again == margins
    assert again.columns == [" a ", "b\n"]
    assert again.single[" a "].cells.right
    assert again.single["b\n"].cells.levels == ("x", "y")


def test_a_level_without_a_name_is_not_lost_in_a_file(tmp_path):
    margins = Margins.from_rows(pd.DataFrame({"a": ["", "", "x", "x"]}), min_count=2)
    margins.to_json(tmp_path / "m.json")
    assert Margins.from_json(tmp_path / "m.json") == margins


def test_half_a_surrogate_pair_survives_a_json_file(tmp_path):
    margins = Margins.from_rows(pd.DataFrame({"a": ["\ud800", "b"] * 2}, dtype=object), min_count=2)
    margins.to_json(tmp_path / "m.json")
    assert Margins.from_json(tmp_path / "m.json") == margins


def test_subnormal_numbers_have_round_ends():
    assert roundest(np.float64(5e-324), np.float64(1e-323)) == 5e-324
    assert roundest(np.float64(5e-324), np.float64(1e-310)) == 5e-324


def test_levels_of_rows_are_those_of_a_sample():
    """Blanks, True and 1.0 are spelled in one way, so that a sample meets margins of itself."""
    cells = pd.Series([" a", "a", True, "True", 1.0, 1, "1", 2.5], dtype=object)
    rows = pd.DataFrame({"a": cells, "b": range(8)})
    margins = Margins.from_rows(rows[["a"]], min_count=1)
    assert margins.single["a"].cells.levels == ("1", "2.5", "True", "a")
    assert max(abs(found.gap) for found in margins.balance(rows)) < 1e-12


def test_labels_that_python_takes_for_equal_are_columns_of_their_own():
    """And [True] is a name, not a mask of rows."""
    rows = pd.DataFrame(np.arange(12.0).reshape(4, 3))
    for labels in ([1, "x", 1.0], [True, "x", "y"]):
        named = rows.set_axis(pd.Index(labels, dtype=object), axis=1)
        margins = Margins.from_rows(named, min_count=1)
        ends = [margins.single[str(label)].cells.upper.tolist() for label in labels]
        assert ends == rows.T.to_numpy().tolist()
        assert max(abs(found.gap) for found in margins.balance(named)) < 1e-12


def test_repeated_names_and_ragged_rows_are_refused():
    rows = pd.DataFrame(np.ones((4, 2)), columns=["a", "a"])
    with pytest.raises(InputError, match="T has several columns named 'a'"):
        Margins.from_rows(rows)
    margins = Margins({0: {"mean": 1.0}})
    with pytest.raises(InputError, match="cells of different lengths"):
        estimate([[1, (1, 2)], [2, "a"], [3, None]], [0, 1, 0], margins)


def test_a_number_of_400_digits_is_refused_as_a_share_and_kept_as_a_level():
    with pytest.raises(InputError, match="where a number is expected"):
        Margins({"a": {"x": 10**400, "y": 1}})
    assert Margins({"a": {10**400: 0.5, 1: 0.5}}).single["a"].cells.levels[1] == "1"


def with_gaps(size: int, shift: float, share: float, seed: int):
    """Numbers and words of which some are missing, and missing ones say something of y."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(50 + shift, 10, size).round()})
    frame["town"] = rng.choice(["a", "b", "c"], size)
    gap = rng.uniform(size=size) < share
    y = frame["age"] / 10 + 2 * gap + rng.normal(size=size)
    frame["income"] = rng.lognormal(3, 0.5, size).round(1)
    frame.loc[gap, "income"] = np.nan
    frame.loc[rng.uniform(size=size) < share / 2, "town"] = None
    return frame, y


@pytest.mark.parametrize("weighter", [CDFWeights, EntropyBalancing, Raking])
def test_a_gap_is_a_cell_that_weights_meet(weighter):
    X, y = with_gaps(600, 0, 0.1, 0)
    T, y_target = with_gaps(900, 3, 0.3, 1)
    margins = Margins.from_rows(T, bins=6)
    w = weighter().fit(X, X_target=margins).weights_
    for name in ("income", "town"):
        there = T[name].isna().mean()
        assert np.average(X[name].isna(), weights=w) == pytest.approx(there, abs=0.02)
    assert np.average(y, weights=w) == pytest.approx(y_target.mean(), abs=0.2)
    assert abs(y.mean() - y_target.mean()) > 0.5


def test_cells_of_gaps_are_kept_in_files_and_written_by_hand(tmp_path):
    T, _ = with_gaps(900, 3, 0.3, 1)
    path = tmp_path / "m.json"
    margins = Margins.from_rows(T, bins=6, tables=[("income", "town")])
    margins.to_json(path)
    assert Margins.from_json(path) == margins
    written = Margins({"x": {(0, 10): 0.2, (10, None): 0.5, "(missing)": 0.3}})
    assert written.margin("x").cells.labels == ["0 to under 10", "10 and over", "(missing)"]


def test_few_gaps_are_no_cell_and_no_reason_to_drop_a_column():
    T, _ = with_gaps(300, 0, 0.0, 0)
    T.loc[7, "income"], T.loc[8, "town"] = np.nan, None
    margins = Margins.from_rows(T, bins=4)
    assert margins.columns == ["age", "town", "income"]
    assert "(missing)" not in margins.margin("income").cells.labels
    assert margins.margin("income").share.sum() == pytest.approx(1)
    assert sum("is missing in 1 row" in note.text for note in margins.notes) == 2


def test_a_gap_without_a_cell_is_refused_by_name():
    X, _ = with_gaps(300, 0, 0.1, 0)
    margins = Margins({"income": {(0, 20): 0.5, (20, None): 0.5}})
    with pytest.raises(InputError, match="income"):
        EntropyBalancing().fit(X[["income"]], X_target=margins)
    levels = Margins({"town": {"a": 0.3, "(other)": 0.7}})
    with pytest.raises(InputError, match="missing values"):
        EntropyBalancing().fit(X[["town"]], X_target=levels)
