"""Cells of files: what stands for a missing value, and what a column is."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from command import covshift, write
from read_files import read_table

from covshift.exceptions import InputError
from covshift.files import memory
from covshift.files.frame import about, notes_of, read_frame
from covshift.files.reading import ReadOptions, missing_words
from covshift.files.spelling import plain_number

NAN = float("nan")


def saying(*missing, **more):
    everywhere, by_column = missing_words(list(missing))
    return ReadOptions(missing=everywhere, missing_in=by_column, **more)


def read(path, cells, kind=None, reading=None, name="x"):
    """One column, beside another one, from a text file."""
    lines = [f'{name};"other"', *(f'"{cell}";{k}.5' for k, cell in enumerate(cells))]
    write(path / "t.csv", "\n".join(lines) + "\n")
    return read_table(str(path / "t.csv"), {name: kind} if kind else {}, reading).columns[name]


# Missing values


@pytest.mark.parametrize("word", ["-9", "-9.0", "-9e0", " -9.00"])
@pytest.mark.parametrize("cell", ["-9", "-9.0", "-9.00", "-9e0", "-0.9E1"])
@pytest.mark.parametrize("kind", [None, "number", "category"])
def test_a_number_stands_for_a_missing_value_in_every_spelling(tmp_path, word, cell, kind):
    column = read(tmp_path, ["1", cell, "2.5"], kind, saying(word))
    lost = [v is None or v != v for v in column.values]
    assert lost == [False, True, False]


@pytest.mark.parametrize("form", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("dtype", ["int64", "float32", "Int16", "str"])
def test_missing_values_count_by_value_in_every_format(tmp_path, form, dtype):
    cells = pd.Series([1, -9, 2, 999]).astype(dtype)
    frame = pd.DataFrame({"a": cells, "b": [1.5, -9, 999, 2.5]})
    path = str(tmp_path / f"t.{form}")
    getattr(frame, f"to_{form}")(path, **({"index": False} if form == "csv" else {}))
    table = read_table(path, {"a": "number"}, saying("-9.0", "a=999"))
    np.testing.assert_array_equal(table.columns["a"].values, [1, NAN, 2, NAN])
    np.testing.assert_array_equal(table.columns["b"].values, [1.5, NAN, 999, 2.5])
    assert table.unmet == frozenset()


def test_one_column_may_have_missing_values_of_its_own(tmp_path):
    path = write(tmp_path / "t.csv", "a,b\n-9,-9\n2,NA\n0,4\n")
    table = read_table(str(path), reading=saying("a=-9", "b=4"))
    np.testing.assert_array_equal(table.columns["a"].values, [NAN, 2, 0])
    np.testing.assert_array_equal(table.columns["b"].values, [-9, NAN, NAN])


def test_words_replace_the_usual_ones_and_numbers_are_added(tmp_path):
    path = write(tmp_path / "t.csv", "a,b\nNA,NA\nx,1\n?,2\n")
    assert read_table(str(path), reading=saying("-9")).columns["a"].values[0] is None
    column = read_table(str(path), reading=saying("?")).columns["a"]
    assert column.values.tolist() == ["NA", "x", None]


def test_a_missing_word_that_occurs_nowhere_is_noted(tmp_path):
    a = write(tmp_path / "a.csv", "x,y\n1,2\n-9,4\n")
    b = write(tmp_path / "b.csv", "x,y\n1,2\n3,4\n")
    reading = saying("-9", "-8", "y=7")
    (note,) = notes_of(*(about(read_frame(str(path), reading)) for path in (a, b)))
    assert note.text.startswith("--missing '-8', --missing 'y=7': no cell of ")
    assert "'-9'" not in note.text


def test_what_holds_for_both_files_is_said_once(tmp_path):
    paths = [write(tmp_path / name, "x;y\n1;2\n3;5\n") for name in ("a.csv", "b.csv")]
    notes = notes_of(*(about(read_frame(str(path))) for path in paths))
    text = f"Separated by semicolons: {paths[0]} and {paths[1]} (--sep overrides this)."
    assert [note.text for note in notes] == [text]


def test_the_advice_to_call_a_sentinel_missing_is_enough(tmp_path):
    lines = [f"{k % 4},{(k * 7) % 11}.5" for k in range(30)]
    text = "answer,x\n" + "\n".join([*lines, "999,1.5"]) + "\n"
    path = write(tmp_path / "t.csv", text)
    refused = covshift("weigh", path, path, "--ask")
    assert refused.code == 2
    assert "--missing answer=999" in refused.err
    assert covshift("weigh", path, path, "--missing", "answer=999", "--ask").code == 0
    assert covshift("weigh", path, path, "--missing", "999", "--ask").code == 0


def test_missing_dates_count_by_value(tmp_path):
    days = pd.to_datetime(pd.Series(["2026-01-01", "1900-01-01"]))
    pd.DataFrame({"d": days}).to_parquet(tmp_path / "t.parquet")
    column = read_table(str(tmp_path / "t.parquet"), reading=saying("1900-01-01")).columns["d"]
    assert column.kind == "date"
    assert np.isnan(column.values).tolist() == [False, True]


# Kinds


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["true", "false", ""], [1, 0, NAN]),
        (["TRUE", "FALSE", "TRUE"], [1, 0, 1]),
        (["yes", "no", "NA"], [1, 0, NAN]),
        (["No", "No"], [0, 0]),
    ],
)
def test_truths_are_one_column_of_zero_and_one(tmp_path, cells, values):
    column = read(tmp_path, cells)
    assert column.kind == "boolean"
    np.testing.assert_array_equal(column.values, values)


@pytest.mark.parametrize("cells", [["yes", "no", "maybe"], ["true", "no"], ["t", "f"]])
def test_other_words_are_categories(tmp_path, cells):
    assert read(tmp_path, cells).kind == "category"


def test_a_boolean_becomes_one_feature(tmp_path):
    from read_files import read_samples

    lines = [f"{k % 7}.5,{'yes' if k % 3 else 'no'}" for k in range(30)]
    path = str(write(tmp_path / "t.csv", "x,smoker\n" + "\n".join(lines) + "\n"))
    samples = read_samples(path, path)
    assert samples.names == ("x", "smoker")
    assert samples.X[:3, 1].tolist() == [0, 1, 1]


def test_iso_dates_are_dates_without_being_declared(tmp_path):
    column = read(tmp_path, ["1970-01-02", "1970-01-03T12:00", "", "1970-01-01 18:00:00Z"])
    assert column.kind == "date"
    np.testing.assert_array_equal(column.values, [1, 2.5, NAN, 0.75])


@pytest.mark.parametrize("cells", [["2026-13-01", "2026-01-01"], ["2026-01-01", "soon"]])
def test_what_is_no_date_is_none(tmp_path, cells):
    assert read(tmp_path, cells).kind == "category"


def test_other_dates_are_read_by_their_format(tmp_path):
    cells = ["02.01.1970", "03.01.1970", ""]
    column = read(tmp_path, cells, "date", ReadOptions(dates={"x": "%d.%m.%Y"}))
    np.testing.assert_array_equal(column.values, [1, 2, NAN])


@pytest.mark.parametrize(("given", "code"), [("day=%d.%m.%Y", 0), ("day=%m.%d.%Y", 2)])
def test_the_format_of_dates_can_be_said(tmp_path, given, code):
    lines = [f"{1 + k % 28}.{1 + k % 12}.2026,{k % 7}.5" for k in range(30)]
    path = write(tmp_path / "t.csv", "day,x\n" + "\n".join(lines) + "\n")
    refused = covshift("weigh", path, path, "--ask")
    assert refused.code == 2
    assert "--date day=%d.%m.%Y" in refused.err
    assert "Read 'day' as dates like %d.%m.%Y" in covshift("weigh", path, path).err
    assert covshift("weigh", path, path, "--date", given).code == code


def test_a_format_without_a_year_is_refused(tmp_path):
    path = write(tmp_path / "t.csv", "day,x\n1.1.2026,1\n2.1.2026,2\n")
    refused = covshift("weigh", path, path, "--date", "day=%d.%m")
    assert refused.code == 2
    assert "a format such as %d.%m.%Y" in refused.err


def test_a_text_id_is_left_out_of_the_features_with_a_note(tmp_path):
    lines = [f"p{k},{k % 7}.5" for k in range(30)]
    path = write(tmp_path / "t.csv", "name,x\n" + "\n".join(lines) + "\n")
    found = covshift("weigh", path, path)
    assert found.code == 0
    assert "Left out 'name': looks like a row identifier, different in every row" in found.err


# Spelling of numbers


@pytest.mark.parametrize(
    ("cells", "reading", "values"),
    [
        (["1,5", "2"], {"decimal": ","}, [1.5, 2]),
        (["1,282,697", "12.5"], {"thousands": ","}, [1282697, 12.5]),
        (["1.282.697,5", "12"], {"decimal": ",", "thousands": "."}, [1282697.5, 12]),
        (["1.234", "12"], {"thousands": "."}, [1234, 12]),
        (["1'234.5", "-12"], {"thousands": "'"}, [1234.5, -12]),
        (["1 234", "1\u00a0234\u00a0567"], {"thousands": " "}, [1234, 1234567]),
        (["-9,0", "1,5", ""], {"decimal": ",", "missing": frozenset({"", "-9"})}, [NAN, 1.5, NAN]),
    ],
)
@pytest.mark.parametrize("kind", [None, "number"])
def test_numbers_are_read_as_the_user_spells_them(tmp_path, cells, reading, values, kind):
    column = read(tmp_path, cells, kind, ReadOptions(**{"decimal": None, **reading}))
    assert column.kind == "number"
    np.testing.assert_array_equal(column.values, values)


def test_other_spellings_are_not_guessed(tmp_path):
    assert plain_number("1,5", ".", ",") is None
    assert plain_number("12,34,567", ".", ",") is None
    assert plain_number("1.5", ",", None) is None
    assert plain_number("", ",", None) is None
    assert plain_number("-", ",", ".") is None
    assert plain_number("e5", ",", ".") is None
    assert plain_number(",5e-3", ",", ".") == ".5e-3"


def test_a_decimal_comma_is_found_in_semicolon_files_only_where_it_is_safe(tmp_path):
    found = {}
    for name, text in {
        "comma": "a;b\n1,5;x\n2,25;y\n",
        "thousands": "a;b\n1.234,5;x\n2,25;y\n",
        "groups": "a;b\n1,234;x\n2,345;y\n",
        "both": "a;b\n1,5;2.5\n2,25;3.5\n",
    }.items():
        table = read_table(str(write(tmp_path / f"{name}.csv", text)))
        found[name] = (table.columns["a"].kind, "decimal mark" in {n.kind for n in table.notes})
    assert found == {
        "comma": ("number", True),
        "thousands": ("number", True),
        "groups": ("category", False),
        "both": ("category", False),
    }


@pytest.mark.parametrize(
    ("cell", "advice"),
    [("1,282,697", "--thousands ,"), ("1,5", "--decimal ,"), ("much", "--missing 'much'")],
)
def test_advice_on_a_number_that_is_none_makes_sense(tmp_path, cell, advice):
    path = write(tmp_path / "t.csv", f'x,y\n1,2\n"{cell}",3\n')
    with pytest.raises(InputError, match="line 3") as error:
        read_table(str(path), {"x": "number"})
    assert advice in str(error.value)
    assert ("--missing" in str(error.value)) == (cell == "much")


def test_points_between_thousands_are_advised_beside_a_decimal_comma(tmp_path):
    path = write(tmp_path / "t.csv", "x;y\n1,5;a\n2.000;b\n")
    with pytest.raises(InputError, match=r"are spelled: --decimal , --thousands \."):
        read_table(str(path), {"x": "number"})


def test_a_decimal_comma_reaches_labels_and_weights(tmp_path):
    lines = [f"{k % 7},5;{k},25;1,5" for k in range(30)]
    path = write(tmp_path / "t.csv", "x;y;w\n" + "\n".join(lines) + "\n")
    argv = ("fit", path, path, "--label", "y", "--weight", "w", "-o", tmp_path / "m")
    done = covshift(*argv, "--learner", "linear")
    assert done.code == 0, done.err
    assert "taken as a number" in done.err


# Time


def test_empty_and_blank_cells_take_no_time(tmp_path):
    blank = "1" + " " * 3000 + "x"
    text = "a,b,c\n" + ",,\n" * 100_000 + f"{blank},,1\n" * 20
    path = write(tmp_path / "t.csv", text)
    started = time.process_time()
    read_table(str(path))
    assert time.process_time() - started < 3


_BODIES = {
    "numbers": lambda k: f"{k / 8},{k},x{k % 3}",
    "leading zeros": lambda k: f"{k / 8},{k:04d},-0{k}",
    "a sign": lambda k: f"{k / 8},{f'+{k}' if k == 150 else k},x",
    "gaps": lambda k: f"{k / 8},{'' if k % 7 else k},{'NA' if k == 150 else k}",
    "one gap": lambda k: f"{k / 8},{k},{' 7 ' if k == 150 else k}",
    "an underscore": lambda k: f"{k / 8},{k},{'1_000' if k == 150 else f'w{k}'}",
    "quotes": lambda k: f'{k / 8},{k},"a\nb"' if k in (100, 150) else f"{k},{k}.5e-3,é",
    "a short row": lambda k: f"{k},2" if k == 150 else f"{k / 8},{k},zz",
    "a blank line": lambda k: "" if k == 150 else f"{k / 8},{k},zz",
    "no end": lambda k: f"inf,nan,{k}e400",
    "long numbers": lambda k: f"{12345678901234567 + k},{k}e300,0x{k}",
    "other digits": lambda k: f"{k},١٢,.5",
    "marks of an order": lambda k: f"{k},\ufeff{'nan(1)' if k == 150 else k},\ufeff",
    "dates": lambda k: f"true,2020-01-{k % 28 + 1:02d},{k}.",
}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("body", _BODIES)
def test_arrow_reads_text_as_python_does(body, end, tmp_path):
    """A quote inside a cell leaves the whole file to Python's reader, which is strict."""
    found = {}
    for mark in ("plain", '5" wide'):
        lines = [f"{_BODIES[body](k)},{mark}" if _BODIES[body](k) else "" for k in range(200)]
        path = tmp_path / "rows.csv"
        path.write_bytes(end.join(["a,b,c,d", *lines, ""]).encode())
        try:
            columns = read_table(str(path)).columns.values()
        except InputError as error:
            found[mark] = str(error)
            continue
        found[mark] = [
            (c.kind, c.levels, [str(v) for v in c.values]) for c in columns if c.name != "d"
        ]
    first, second = found.values()
    assert first == second


@pytest.mark.parametrize(
    ("last", "kind"),
    [("x", "category"), ("007", "category"), ("1_000", "category"), ("", "number")],
)
def test_the_last_row_of_a_long_file_can_make_text_of_a_column(last, kind, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "1,a long cell of words\n" * 250_000 + f"{last},y\n")  # some blocks
    column = read_table(str(path)).columns["a"]
    assert column.kind == kind
    assert len(column.values) == 250_001


def test_an_outcome_of_numbers_is_float64_and_one_with_words_text(tmp_path):
    path = tmp_path / "rows.csv"
    rows = [f"{k},{'NA' if k == 3 else k},{'word' if k == 9000 else k}" for k in range(10_000)]
    path.write_text("\n".join(["a,b,c", *rows]))
    found = read_table(str(path), {"b": "outcome", "c": "outcome"}).columns
    assert found["b"].values.dtype == np.float64
    assert np.isnan(found["b"].values[3])
    assert found["c"].values[9000] == "word"
    assert {type(cell) for cell in found["c"].values} == {str}


def test_a_table_of_too_many_columns_is_refused_at_its_header(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{k}" for k in range(20_001)) + "\nno,rows,that,fit\n")
    with pytest.raises(InputError, match=r"20,001 columns, and at most 20,000 .*PCA"):
        read_table(str(path))


def test_a_file_beyond_memory_is_refused_at_its_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "memory", lambda: 3 * 5_000_000)
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "1,2\n" * 2_000_000)  # 32 million bytes of numbers
    with pytest.raises(InputError, match=r"is larger than memory.* rows .* shuf"):
        read_table(str(path))
    monkeypatch.setattr(memory, "memory", lambda: 3 * 40_000_000)
    assert len(read_table(str(path))) == 2_000_000
