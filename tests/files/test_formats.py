"""The same table in every format gives the same columns, and damaged files one clear sentence."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import threading
import zipfile
from datetime import date, timedelta
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from command import covshift
from hypothesis import given, settings
from hypothesis import strategies as st
from read_files import read_table

from covshift.encoding.cells import read_cells
from covshift.exceptions import InputError
from covshift.files import encodings
from covshift.files.frame import open_frame
from covshift.files.reading import ReadOptions
from covshift.files.separators import found_separator

ROWS = 40
DAYS = [date(2026, 1, 1) + timedelta(days=5 * k) for k in range(ROWS)]
COLUMNS = {  # a kind of column: its cells, None where one is missing
    "number": [None if k == 3 else k * 0.25 - 3 for k in range(ROWS)],
    "boolean": [None if k == 4 else k % 3 == 0 for k in range(ROWS)],
    "category": [None if k == 5 else ["Zürich", "Bern", "Genève, GE"][k % 3] for k in range(ROWS)],
    "date": [None if k == 6 else DAYS[k] for k in range(ROWS)],
    "text": [f"id {k}" for k in range(ROWS)],
}


def spelled(cell):
    if cell is None:
        return ""
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def as_csv(separator=",", **options):
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, lineterminator="\n", **options)
    writer.writerow(COLUMNS)
    for row in zip(*COLUMNS.values(), strict=True):
        writer.writerow(map(spelled, row))
    return file.getvalue()


def german():
    file = io.StringIO()
    writer = csv.writer(file, delimiter=";", lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in zip(*COLUMNS.values(), strict=True):
        writer.writerow(
            spelled(cell).replace(".", ",") if isinstance(cell, float) else spelled(cell)
            for cell in row
        )
    return file.getvalue().encode("cp1252")


def arrow():
    return pa.table(COLUMNS)


def written(write):
    sink = io.BytesIO()
    write(sink)
    return sink.getvalue()


def as_stream(sink):
    with ipc.new_stream(sink, arrow().schema) as writer:
        for batch in arrow().to_batches(max_chunksize=7):
            writer.write_batch(batch)


def zipped(*names):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, as_csv())
    return sink.getvalue()


FORMATS = {
    "t.csv": lambda: as_csv().encode(),
    "mark.csv": lambda: as_csv().encode("utf-8-sig"),
    "wide.csv": lambda: as_csv().encode("utf-16"),
    "wide-le.csv": lambda: as_csv().encode("utf-16-le"),
    "western.csv": lambda: as_csv().encode("cp1252"),
    "german.csv": german,
    "semicolons.csv": lambda: as_csv(";").encode(),
    "bars.txt": lambda: as_csv("|").encode(),
    "t.tsv": lambda: as_csv("\t").encode(),
    "quoted.csv": lambda: as_csv(quoting=csv.QUOTE_ALL).encode(),
    "t.csv.gz": lambda: gzip.compress(as_csv().encode()),
    "two.csv.gz": lambda: (
        gzip.compress(as_csv()[:99].encode()) + gzip.compress(as_csv()[99:].encode())
    ),
    "t.tsv.bz2": lambda: bz2.compress(as_csv("\t").encode()),
    "t.csv.xz": lambda: lzma.compress(as_csv().encode()),
    "t.zip": lambda: zipped("inner.csv"),
    "t.parquet": lambda: written(lambda sink: pq.write_table(arrow(), sink, row_group_size=9)),
    "t.feather": lambda: written(lambda sink: feather.write_feather(arrow(), sink)),
    "t.arrows": lambda: written(as_stream),
    "views.parquet": lambda: written(pl.DataFrame(COLUMNS).write_parquet),
    "views.arrow": lambda: written(pl.DataFrame(COLUMNS).write_ipc),
    "levels.arrow": lambda: written(
        pl.DataFrame(COLUMNS).cast({"category": pl.Categorical}).write_ipc
    ),
}


def expected():
    epoch = date(1970, 1, 1)
    return {
        "number": [np.nan if cell is None else cell for cell in COLUMNS["number"]],
        "boolean": [np.nan if cell is None else float(cell) for cell in COLUMNS["boolean"]],
        "category": COLUMNS["category"],
        "date": [np.nan if c is None else (c - epoch).days for c in COLUMNS["date"]],
        "text": COLUMNS["text"],
    }


def check_column(column, kind, declared=False):
    found = "category" if kind == "text" and not declared else kind  # identifiers are text as well
    assert (column.name, column.kind) == (kind, found)
    values = np.array(expected()[kind], dtype=column.values.dtype)
    np.testing.assert_array_equal(column.values, values)


def check(table):
    assert table.names == list(COLUMNS)
    for name in COLUMNS:
        check_column(table.columns[name], name)


@pytest.fixture(params=list(FORMATS))
def file(request, tmp_path):
    path = tmp_path / request.param
    path.write_bytes(FORMATS[request.param]())
    return path


@pytest.mark.parametrize("kind", list(COLUMNS))
def test_every_format_gives_every_kind_of_column(file, kind):
    table = read_table(str(file))
    assert table.names == list(COLUMNS)
    check_column(table.columns[kind], kind)


@pytest.mark.parametrize("kind", list(COLUMNS))
def test_every_format_gives_the_levels_and_days_that_are_declared(file, kind):
    column = read_table(str(file), {kind: kind}).columns[kind]
    check_column(column, kind, declared=True)


@pytest.mark.parametrize("kind", ["number", "boolean", "category"])
def test_every_format_gives_categories_of_anything(file, kind):
    column = read_table(str(file), {kind: "category"}).columns[kind]
    cells = [None if cell is None else spelled(cell) for cell in COLUMNS[kind]]
    assert column.values.tolist() == cells


def test_every_format_can_come_from_standard_input(file, monkeypatch):
    raw = io.BufferedReader(io.BytesIO(file.read_bytes()))
    monkeypatch.setattr("sys.stdin", type("Piped", (), {"buffer": raw}))
    separator = "\t" if ".tsv" in file.name else None
    check(read_table("-", reading=ReadOptions(separator)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.zip", "t.parquet", "t.feather"])
def test_a_named_pipe_is_read_as_a_file_is(tmp_path, name):
    os.mkfifo(tmp_path / name)
    data = FORMATS[name]()
    writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(data,))
    writer.start()
    check(read_table(str(tmp_path / name)))
    writer.join()


def test_every_format_can_be_read_in_blocks(file):
    kinds = {name: name for name in COLUMNS}
    with open_frame(str(file), ReadOptions(kinds=kinds)) as stream:
        parts = list(stream.parts(7, only={"number", "date"}))
    assert max(map(len, parts)) == 7
    for name in ("number", "date"):
        values = np.concatenate([read_cells(part, "")[name].values for part in parts])
        np.testing.assert_array_equal(values, np.array(expected()[name], dtype=float))
    assert {tuple(part.column_names) for part in parts} == {("number", "date")}


@pytest.mark.parametrize("names", [["a.csv", "b.csv"], ["a.csv.gz", "b.csv"]])
def test_a_folder_of_text_is_one_table(tmp_path, names):
    lines = as_csv().splitlines(keepends=True)
    parts = ["".join(lines[:20]), "".join([lines[0], *lines[20:]])]
    for name, part in zip(names, parts, strict=True):
        data = part.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    (tmp_path / "_SUCCESS").write_bytes(b"")
    table = read_table(str(tmp_path))
    check(table)
    assert "2 files were read as one table" in table.notes[0].text


def test_the_parts_of_a_folder_need_equal_headers(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,z\n1,2\n")
    with pytest.raises(InputError, match=r"b\.csv: its header differs in 'z', 'y' from .* a\.csv"):
        read_table(str(tmp_path))


def test_an_error_in_a_part_names_the_part_and_its_line(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,y\n1,2\n3,4\n5,six\n")
    with pytest.raises(InputError, match=r"b\.csv, line 4: 'six' in column 'y' is not a number"):
        read_table(str(tmp_path), {"y": "number"})


def test_a_folder_of_parquet_is_one_table_with_its_keys(tmp_path):
    for year, rows in ((2025, slice(0, 15)), (2026, slice(15, None))):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        pq.write_table(arrow()[rows], folder / "part.parquet")
    table = read_table(str(tmp_path))
    assert table.columns["year"].values.tolist() == [2025.0] * 15 + [2026.0] * (ROWS - 15)
    np.testing.assert_array_equal(table.columns["number"].values, expected()["number"])


def test_a_folder_of_several_formats_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    pq.write_table(arrow(), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"a folder of several formats: a\.csv \(text\)"):
        read_table(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("semicolons.csv", "separator", "Separated by semicolons: "),
        ("wide.csv", "encoding", "Read as UTF-16: "),
        ("western.csv", "encoding", "Not UTF-8, and read as Windows-1252"),
        ("german.csv", "decimal mark", "Numbers with a decimal comma: "),
    ],
)
def test_what_was_found_out_is_said(tmp_path, name, kind, text):
    path = tmp_path / name
    path.write_bytes(FORMATS[name]())
    notes = {note.kind: note.text for note in read_table(str(path)).notes}
    assert text in notes[kind]


def test_the_separator_may_be_said_in_the_first_line(tmp_path):
    for mark in ";|,:":
        path = tmp_path / "t.csv"
        path.write_bytes(f"sep={mark}\r\na{mark}b\r\n1{mark}2\r\n3{mark}x\r\n".encode())
        table = read_table(str(path))
        assert table.columns["a"].values.tolist() == [1, 3]
        with pytest.raises(InputError, match="line 4: 'x' in column 'b'"):
            read_table(str(path), {"b": "number"})


def test_nothing_is_said_of_a_plain_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,5\n")
    assert read_table(str(path)).notes == []


def test_a_name_that_is_wrong_is_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(FORMATS["t.parquet"]())
    table = read_table(str(path))
    check(table)
    assert table.notes[0].text == f"Read as Parquet, despite its name: {path}."


# Damage

BAD = {
    "cut gzip": (FORMATS["t.csv.gz"]()[:200], "ends in the middle of its gzip data: it was cut"),
    "cut bzip2": (FORMATS["t.tsv.bz2"]()[:200], "ends in the middle of its bzip2 data"),
    "cut xz": (FORMATS["t.csv.xz"]()[:200], "ends in the middle of its xz data"),
    "changed gzip": (
        FORMATS["t.csv.gz"]()[:300] + b"\0\1\2\3" + FORMATS["t.csv.gz"]()[304:],
        "cannot be unpacked",
    ),
    "two members": (zipped("a.csv", "b.csv"), "a zip archive of 2 files: 'a.csv', 'b.csv'"),
    "no member": (zipped(), "a zip archive of 0 files. One table is needed"),
    "gzip in gzip": (gzip.compress(gzip.compress(b"a,b\n")), "holds gzip data packed with gzip"),
    "cut Parquet": (FORMATS["t.parquet"]()[:-50], "not a readable Parquet file"),
    "cut Arrow": (FORMATS["t.feather"]()[:-50], "not a readable Arrow file"),
    "cut stream": (FORMATS["t.arrows"]()[:700], "not a readable Arrow file"),
    "binary": (bytes(range(256)) * 20, "holds a NUL byte: it is not text, or it is damaged"),
    "old Excel": (b"\xd0\xcf\x11\xe0" + bytes(99), "is an old Excel workbook"),
    "web page": (b"<!DOCTYPE html><html>", "is a web page. Download the table itself"),
    "blank first": (b"\n\na,b\n1,2\n", "line 1 is empty"),
    "tar": (b"a.csv".ljust(257, b"\0") + b"ustar" + bytes(300), "is a tar archive"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_a_bad_file_gets_one_clear_sentence(tmp_path, case):
    content, message = BAD[case]
    path = tmp_path / "t.bin"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_table(str(path))
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(encodings, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(b"a" * (1 << 20))
    import tracemalloc

    tracemalloc.start()
    with pytest.raises(InputError, match="line 1 is longer than 1 MB: this is not a table"):
        read_table(str(path))
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_missing_packages_are_named_with_the_line_to_install_them(tmp_path, monkeypatch):
    import sys

    for module in ("python_calamine", "pyreadstat", "pyarrow"):
        monkeypatch.setitem(sys.modules, module, None)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("xl/workbook.xml", "")
    for content, extra in (
        (sink.getvalue(), "cli"),
        (b"$FL2" + bytes(200), "survey"),
        (b"<stata_dta>" + bytes(200), "survey"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "cli"),
    ):
        path = tmp_path / "t"
        path.write_bytes(content)
        with pytest.raises(InputError, match=f'install covshift with its extra "{extra}"'):
            read_table(str(path))


# Zstandard


def test_zstandard_is_unpacked_while_it_is_read(tmp_path):
    data = ("a,b\n" + "1,2\n" * 5000).encode()
    packed = partial(pa.Codec("zstd").compress, asbytes=True)
    path = tmp_path / "t.csv.zst"
    path.write_bytes(packed(data[:10_000]) + packed(data[10_000:]))  # two frames
    table = read_table(str(path))
    assert len(table) == 5000
    path.write_bytes(packed(data)[:-8])
    with pytest.raises(InputError, match="ends in the middle of its zstd data"):
        read_table(str(path))
    path.write_bytes(packed(data)[:12] + b"\xff" * 30)
    with pytest.raises(InputError, match=r"cannot be unpacked|ends in the middle"):
        read_table(str(path))


# Quotes and separators

CELL = st.text(alphabet=st.sampled_from("ab1,;|\t\"'\n\r x"), max_size=6)


@pytest.mark.thorough
@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=8),
    separator=st.sampled_from(",;|\t"),
    newline=st.sampled_from(["\n", "\r\n"]),
    told=st.booleans(),
)
def test_cells_are_those_of_the_csv_module(tmp_path_factory, rows, separator, newline, told):
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=separator, lineterminator=newline)
    writer.writerows([["one", "two", "three"], *rows])
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes(sink.getvalue().encode())
    if not told and found_separator(sink.getvalue(), ",")[0] != separator:
        return  # one that also splits every row alike
    kinds = dict.fromkeys(("one", "two", "three"), "text")
    reading = ReadOptions(separator if told else None)
    text = io.StringIO(sink.getvalue(), newline="")
    _, *rows = csv.reader(text, delimiter=separator, strict=True)
    if any(len(row) != 3 for row in rows):  # the writer leaves a carriage return without quotes
        with pytest.raises(InputError, match=r"values?, but the header has 3 columns|is empty"):
            read_table(str(path), kinds, reading)
        return
    table = read_table(str(path), kinds, reading)
    found = list(zip(*(table.columns[name].values.tolist() for name in kinds), strict=True))
    assert found == [tuple(row) for row in rows]


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(
        st.lists(st.text("ab1. x'", max_size=5), min_size=3, max_size=3), min_size=2, max_size=8
    ),
    separator=st.sampled_from(",;|\t"),
)
def test_the_separator_is_found_where_cells_hold_no_other(rows, separator):
    text = "\n".join(separator.join(row) for row in [["p", "q", "r"], *rows])
    assert found_separator(text, ",")[0] == separator


@pytest.mark.parametrize("line", range(3, 6))
def test_lines_are_counted_after_cells_of_several_lines(tmp_path, line):
    rows = ['1,"one\r\ntwo"', "2,b", "3,c", "4,d"]
    rows[line - 2] = f"x,{rows[line - 2][2:]}"
    path = tmp_path / "t.csv"
    path.write_text("n,s\n" + "\n".join(rows) + "\n", newline="")
    with pytest.raises(InputError, match=rf"line {line + 1}: 'x' in column 'n' is not a number"):
        read_table(str(path), {"n": "number"})


def test_a_short_row_after_a_cell_of_several_lines_has_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('n,s\n1,"a\nb\nc"\n2\n')
    with pytest.raises(InputError, match="line 5: 1 value, but the header has 2"):
        read_table(str(path))


def test_bytes_that_fit_no_encoding_name_their_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\nü,1\n".encode() + b"\xfc,2\n")
    with pytest.raises(InputError, match="is not text in utf-8"):
        read_table(str(path))


def test_western_letters_far_down_a_file_are_found(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"x,1\n" * 70_000 + b"\xfc,2\n")
    assert read_table(str(path)).columns["a"].values[-1] == "ü"


# What pandas leaves in files


def test_the_index_that_pandas_keeps_is_left_out_with_a_note(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.0], "b": ["u", "v", "u"]}, index=[4, 7, 9])
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv")
    frame.rename_axis("Unnamed: 0").to_csv(tmp_path / "again.csv")
    for name in ("t.parquet", "t.csv", "again.csv"):
        table = read_table(str(tmp_path / name))
        assert table.names == ["a", "b"]
        assert [note.kind for note in table.notes] == ["row numbers"]
        assert len(table.left_out) == 1
    kept = read_table(str(tmp_path / "t.parquet"), {"__index_level_0__": "text"})
    assert kept.columns["__index_level_0__"].values.tolist() == ["4", "7", "9"]
    for name, index in (("t.parquet", "__index_level_0__"), ("t.csv", "Unnamed: 0")):
        found = covshift("weigh", tmp_path / name, tmp_path / name, "--drop", index)
        assert found.code == 0
        assert f"Left out {index!r} of " in found.err
        assert found.err.count("looks like a row identifier") == 1
        kept = covshift("weigh", tmp_path / name, tmp_path / name, "--keep", index)
        assert kept.code == 0
        assert "looks like a row identifier" not in kept.err


def test_a_column_without_a_name_that_numbers_nothing_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",a\nx,1\ny,2\n")
    with pytest.raises(InputError, match="column 1 has no name in the header"):
        read_table(str(path))


def test_an_ordered_category_keeps_its_order(tmp_path):
    cells = pd.Categorical(["low", None, "high", "low"], ["low", "mid", "high"], ordered=True)
    pd.DataFrame({"x": cells}).to_parquet(tmp_path / "t.parquet")
    pd.DataFrame({"x": cells}).to_feather(tmp_path / "t.feather")
    for name in ("t.parquet", "t.feather"):
        column = read_table(str(tmp_path / name)).columns["x"]
        assert (column.kind, column.levels) == ("ordered", ("low", "mid", "high"))
        assert column.values.tolist() == ["low", None, "high", "low"]
