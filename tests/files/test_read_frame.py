"""Files to frames: what Arrow would get wrong in silence is refused with its line, or read."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pytest

from covshift.exceptions import InputError
from covshift.files.frame import about, read_frame
from covshift.files.reading import ReadOptions


def frame_of(folder, content, name="t.csv", **reading):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_frame(str(path), ReadOptions(**reading))


REFUSED = {
    "a long row": ("a,b\n1,2\n3,4,5\n6,7\n", "line 3: 3 values, but the header has 2 columns"),
    "a short row": ("a,b\n1,2\n3\n6,7\n", "line 3: 1 value, but the header has 2 columns"),
    "a blank line": ("a,b\n1,2\n\n6,7\n", "line 3 is empty"),
    "a blank line after quotes": ('a,b\n1,"x\ny"\n\n6,7\n', "line 4 is empty"),
    "a NUL byte": (b"a,b\n1,2\n3\x00,4\n", "line 3 holds a NUL byte"),
    "an open quote": ('a,b\n1,"x\n3,4\n5,6\n', "line 4: the file ends inside a quoted cell"),
    "text after a quote": ('a,b\n1,2\n3,"x"y\n', "line 3: "),
    "numbers as a header": ("1,2\n3,4\n5,6\n", "the first line holds numbers only"),
    "a name twice": ("a,a\n1,2\n3,4\n", "the header names 'a' more than once"),
    "two columns without a name": (",,b\n1,2,3\n4,5,6\n", "column 1, 2 has no name"),
    "a web page": ("<!DOCTYPE html><html><body>404</body></html>", "is a web page"),
    "a PDF": ("%PDF-1.4 ...\n", "is a PDF"),
    "nothing": ("", "is empty"),
    "a header": ("a,b\n", "has a header but no rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_arrow_would_repair_is_refused_with_its_line(case, tmp_path):
    content, message = REFUSED[case]
    with pytest.raises(InputError) as error:
        frame_of(tmp_path, content)
    assert message in str(error.value)


READ = {
    "another encoding": ("a,b\n1,Zürich\n2,Genève\n".encode("latin-1"), "b", ["Zürich", "Genève"]),
    "another encoding, late": (
        b"a,b\n" + b"1,abc\n" * 90_000 + "1,Zürich\n".encode("latin-1"),
        "b",
        [*["abc"] * 90_000, "Zürich"],
    ),
    "two bytes a letter": ("a,b\n1,Zürich\n".encode("utf-16"), "b", ["Zürich"]),
    "a mark of order": (b"\xef\xbb\xbfa,b\n1,2\n", "a", [1.0]),
    "a separator that is said": ("sep=;\na;b\n1;2\n3;4\n", "b", [2.0, 4.0]),
    "a decimal comma": ("a;b\n1,5;x\n2,5;y\n", "a", [1.5, 2.5]),
    "codes": ("zip,b\n00123,1\n10001,2\n", "zip", ["00123", "10001"]),
    "numbers and a word": ("a,b\n1.50,1\nx,2\n", "a", ["1.50", "x"]),
    "a number of Python's": ("a,b\n1_000,1\n2,3\n", "a", ["1_000", "2"]),
    "a comma between thousands": ('a,b\n"1,234",1\n"2,345",3\n', "a", ["1,234", "2,345"]),
    "nan with a payload": ("a,b\nnan(1),1\n2,3\n", "a", ["nan(1)", "2"]),
    "no end": ("a,b\ninf,1\n2,3\n", "a", [float("inf"), 2.0]),
    "carriage returns": ("a,b\r1,2\r3,4\r", "b", [2.0, 4.0]),
    "two ends of lines": ("a,b\r\n1,2\n3,4\r\n", "b", [2.0, 4.0]),
    "long numbers": ("a,b\n12345678901234567,1\n2,1\n", "a", ["12345678901234567", "2"]),
    "blanks around cells": ("a, b\n 1 , x\n2,y\n", "a", [1.0, 2.0]),
    "a cell of two lines": ('a,b\n1,"x\ny"\n2,z\n', "b", ["x\ny", "z"]),
    "an empty line in a cell": ('a,b\n1,"x\n\ny"\n2,z\n', "b", ["x\n\ny", "z"]),
    "quotes in quotes": ('a,b\n1,"say ""no"""\n2,z\n', "b", ['say "no"', "z"]),
    "a quote inside a cell": ('a,b\n1,5" wide\n2,z\n', "b", ['5" wide', "z"]),
    "one column with a gap": ("a\n1\n\n3\n", "a", [1.0, None, 3.0]),
    "blank lines at the end": ("a,b\n1,2\n\n\n", "a", [1.0]),
    "gaps": ("a,b\n1,\nNA,x\n ,y\n", "a", [1.0, None, None]),
}


@pytest.mark.parametrize("case", READ)
def test_cells_are_what_they_were(case, tmp_path):
    content, name, cells = READ[case]
    assert frame_of(tmp_path, content)[name].to_pylist() == cells


def test_the_index_of_pandas_is_left_out_with_a_note(tmp_path):
    frame = frame_of(tmp_path, ",a\n0,5\n1,6\n")
    assert frame.column_names == ["a"]
    assert [note.kind for note in about(frame).notes] == ["row numbers"]


def test_a_frame_keeps_the_types_of_its_file(tmp_path):
    day = pa.array(["2026-01-01", None]).cast(pa.timestamp("s"))
    table = pa.table({"n": [1, None], "t": [True, None], "w": ["a", None], "d": day})
    path = tmp_path / "t.feather"
    from pyarrow import feather

    feather.write_feather(table, path)
    found = read_frame(str(path))
    assert found["n"].to_pylist() == [1, None]
    assert found["t"].type == pa.bool_()
    assert found["d"].to_pylist() == table["d"].to_pylist()
    assert found["w"].to_pylist() == ["a", None]


# JSON

ROWS = [{"age": 41, "sex": "m", "ill": True}, {"age": None, "sex": "f", "ill": False}]
COLUMNS = {"age": [41.0, None], "sex": ["m", "f"], "ill": [True, False]}
FORMS = {
    "records": json.dumps(ROWS),
    "indented records": "\n" + json.dumps(ROWS, indent=2),
    "lines": "\n".join(map(json.dumps, ROWS)) + "\n",
    "lines with a blank line": "\n\n".join(map(json.dumps, ROWS)),
    "columns": json.dumps(COLUMNS),
    "columns of pandas": pd.DataFrame(COLUMNS).to_json(),
    "records of pandas": pd.DataFrame(COLUMNS).to_json(orient="records"),
    "lines of pandas": pd.DataFrame(COLUMNS).to_json(orient="records", lines=True),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_json_is_read(form, packed, tmp_path):
    data = FORMS[form].encode()
    frame = frame_of(tmp_path, gzip.compress(data) if packed else data, "t.json")
    assert {name: frame[name].to_pylist() for name in frame.column_names} == COLUMNS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "FeatureCollection", "features": [1]}', "is JSON, but not a table"),
        ("[[1, 2], [3, 4]]", "is JSON, but not a table"),
        ('{"a": [1, 2], "b": [1]}', "different lengths ('a' 2, 'b' 1)"),
        ('{"a": 1}\n{"a": 2}\n{"a": }\n', "line 3 is not JSON"),
        ('[{"a": 1},\n {"a" 2}]', "line 2 is not JSON"),
        ('[{"a": 1, "a": 2}]', "names 'a' more than once"),
        ('[{"a": [1, 2]}]', "column 'a' holds lists"),
        ('[{"a": {"b": 1}}]', "column 'a' holds records"),
        ("[]", "is JSON, but not a table"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_json_that_is_no_table_is_refused_in_words(text, message, tmp_path):
    with pytest.raises(InputError) as error:
        frame_of(tmp_path, text, "t.json")
    assert message in str(error.value)


def test_keys_that_a_record_lacks_are_gaps_and_mixed_cells_are_text(tmp_path):
    frame = frame_of(tmp_path, '{"a": 1, "b": "x"}\n{"a": "none", "c": 2}\n', "t.jsonl")
    assert frame["a"].to_pylist() == ["1", "none"]
    assert frame["b"].to_pylist() == ["x", None]
    assert frame["c"].to_pylist() == [None, 2.0]


OPENS = """
import sys
opened = []
sys.addaudithook(lambda event, given: event == "open" and opened.append(str(given[0])))
from covshift.cli import main
sys.stdout = sys.stderr
main(["estimate", *sys.argv[1:], "--outcome", "y", "--weighter", "entropy", "--method", "weights"])
print(*(opened.count(path) for path in sys.argv[1:]), file=sys.__stdout__)
"""


def test_an_estimate_opens_each_file_once(tmp_path):
    paths = [tmp_path / "survey.csv", tmp_path / "population.csv"]
    for path, shift in zip(paths, (0, 1), strict=True):
        lines = [f"{(k * 37) % 50 + shift},{k % 5}" for k in range(120)]
        path.write_text("\n".join(["x,y" if shift == 0 else "x,z", *lines]) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", OPENS, *map(str, paths)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1 1\n", done.stderr
