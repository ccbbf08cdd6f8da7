"""Stata and SPSS: the same columns as from plain text."""

from __future__ import annotations

import csv
import io
from datetime import date, datetime, time, timedelta

import numpy as np
import pytest
from read_files import read_table

from covshift.exceptions import InputError
from covshift.files.frame import open_frame
from covshift.files.reading import ReadOptions, missing_words

from .conftest import require

ROWS = 30
DAYS = [date(2026, 1, 1) + timedelta(days=5 * k) for k in range(ROWS)]
COLUMNS = {
    "number": [None if k == 3 else k * 0.25 - 3 for k in range(ROWS)],
    "category": [None if k == 5 else ["Zürich", "Bern", "Genève"][k % 3] for k in range(ROWS)],
    "date": [None if k == 6 else DAYS[k] for k in range(ROWS)],
    "moment": [datetime(2026, 3, 1, k % 24, 30) for k in range(ROWS)],
    "text": [f"id {k}" for k in range(ROWS)],
}
KINDS = {**{name: name for name in COLUMNS}, "moment": "date"}


def spelled(cell):
    return "" if cell is None else str(cell)


def from_csv(folder, columns):
    sink = io.StringIO()
    writer = csv.writer(sink)
    writer.writerow(columns)
    writer.writerows(map(spelled, row) for row in zip(*columns.values(), strict=True))
    path = folder / "same.csv"
    path.write_bytes(sink.getvalue().encode())
    return read_table(str(path))


def check(table, same):
    assert table.names == same.names
    for name, column in same.columns.items():
        found = table.columns[name]
        kind = "category" if name == "text" else KINDS.get(name, name)  # which is found later
        assert found.kind == kind
        assert found.kind == column.kind
        if found.values.dtype == object:
            np.testing.assert_array_equal(found.values, column.values)
        else:
            np.testing.assert_allclose(found.values, column.values, rtol=0, atol=1e-9)


def piped(monkeypatch, path):
    raw = io.BufferedReader(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr("sys.stdin", type("Piped", (), {"buffer": raw}))
    return "-"


# Stata and SPSS


def written(folder, form, frame, **more):
    library = require("pyreadstat")
    path = folder / f"t.{form}"
    pandas = require("pandas")
    write = library.write_dta if form == "dta" else library.write_sav
    write(pandas.DataFrame(frame), str(path), **more)
    return path


@pytest.mark.parametrize("form", ["dta", "sav"])
def test_a_survey_file_gives_the_columns_of_the_text(tmp_path, form, monkeypatch):
    frame = {**COLUMNS, "category": ["" if c is None else c for c in COLUMNS["category"]]}
    path = written(tmp_path, form, frame)
    same = from_csv(tmp_path, COLUMNS)
    check(read_table(str(path)), same)
    check(read_table(piped(monkeypatch, path)), same)
    with open_frame(str(path), ReadOptions(kinds=KINDS)) as stream:
        parts = list(stream.parts(7))
    assert [len(part) for part in parts] == [7, 7, 7, 7, 2]


LABELS = {1: "low", 2: "mid", 3: "high"}


@pytest.mark.parametrize("form", ["dta", "sav"])
def test_labelled_values_are_categories(tmp_path, form):
    frame = {"q": [1.0, 3.0, None, 1.0], "x": [1.5, 2.5, 3.5, 4.5]}
    path = written(tmp_path, form, frame, variable_value_labels={"q": LABELS})
    column = read_table(str(path)).columns["q"]
    assert column.kind == "category"
    assert column.values.tolist() == ["low", "high", None, "low"]
    assert read_table(str(path), {"q": "number"}).columns["q"].values.tolist()[:2] == [1, 3]


def test_ordinal_variables_are_ordered_and_user_missing_values_missing(tmp_path):
    path = written(
        tmp_path,
        "sav",
        {"q": [3.0, -9.0, 1.0], "age": [40.0, 50.0, 999.0]},
        variable_value_labels={"q": {**LABELS, -9: "refused"}},
        variable_measure={"q": "ordinal"},
        missing_ranges={"q": [-9], "age": [{"lo": 900, "hi": 999}]},
    )
    table = read_table(str(path))
    column = table.columns["q"]
    assert (column.kind, column.levels) == ("ordered", ("low", "mid", "high"))
    assert column.values.tolist() == ["high", None, "low"]
    np.testing.assert_array_equal(table.columns["age"].values, [40, 50, np.nan])


@pytest.mark.parametrize("form", ["dta", "sav"])
def test_a_scale_with_named_ends_stays_a_number_with_a_note(tmp_path, form):
    labels = {"scale": {0: "never", 10: "always"}}
    frame = {"scale": [0.0, 5.0, 10.0], "q": [1.0, 2.0, -9.0]}
    path = written(tmp_path, form, frame, variable_value_labels=labels)
    everywhere, by_column = missing_words(["q=-9"])
    table = read_table(str(path), reading=ReadOptions(missing=everywhere, missing_in=by_column))
    assert table.columns["scale"].values.tolist() == [0, 5, 10]
    np.testing.assert_array_equal(table.columns["q"].values, [1, 2, np.nan])
    (note,) = table.notes
    assert "only some values have labels in 'scale' (0 'never', 10 'always')" in note.text


def test_truths_of_labels_are_booleans(tmp_path):
    labels = {"smoker": {0: "No", 1: "Yes"}}
    path = written(tmp_path, "dta", {"smoker": [1.0, 0.0, None]}, variable_value_labels=labels)
    column = read_table(str(path)).columns["smoker"]
    assert column.kind == "boolean"
    np.testing.assert_array_equal(column.values, [1, 0, np.nan])


@pytest.mark.parametrize("form", ["dta", "sav"])
def test_labels_that_grow_with_their_values_are_ordered(tmp_path, form):
    labels = {
        "age": {1: "Under 18", 2: "18-29", 3: "30 to 64", 4: "65+"},
        "income": {1: "< 1,000", 2: "1,000 - 1,999", 3: "2,000 or more"},
        "rooms": {1: "1", 2: "2", 3: "3+"},
        "region": {1: "north", 2: "south", 3: "west"},
        "numbered": {1: "1. north", 2: "2. south", 3: "3. west"},
        "falling": {1: "30+", 2: "20-29", 3: "10-19"},
    }
    frame = {name: [3.0, 1.0, 2.0, 1.0] for name in labels}
    path = written(tmp_path, form, frame, variable_value_labels=labels)
    columns = read_table(str(path)).columns
    for name in ("age", "income", "rooms"):
        assert columns[name].kind == "ordered"
        assert columns[name].levels == (*labels[name].values(),)
    assert [columns[name].kind for name in list(labels)[3:]] == ["category"] * 3


def test_a_nominal_variable_of_spss_is_never_ordered(tmp_path):
    path = written(
        tmp_path,
        "sav",
        {"district": [3.0, 1.0, 2.0]},
        variable_value_labels={"district": {1: "10", 2: "20+", 3: "30"}},
        variable_measure={"district": "nominal"},
    )
    assert read_table(str(path)).columns["district"].kind == "category"


def test_times_of_the_day_are_text(tmp_path):
    path = written(tmp_path, "sav", {"t": [time(12, 30), time(8, 0)], "x": [1.0, 2.0]})
    assert read_table(str(path)).columns["t"].kind == "category"


@pytest.mark.parametrize("form", ["dta", "sav"])
def test_a_damaged_survey_file_is_an_input_error(tmp_path, form):
    path = written(tmp_path, form, {"x": [1.0, 2.0] * 100})
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(InputError, match=r"is not a readable (Stata|SPSS) file"):
        read_table(str(path))
