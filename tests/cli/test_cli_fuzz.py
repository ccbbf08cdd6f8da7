"""Any bytes as a table, any values of options: an answer or words, never a traceback."""

from __future__ import annotations

import contextlib
import csv
import io
import re

import pytest
from command import covshift, rows, write
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from read_files import read_table

from covshift.cli.asking import Asked
from covshift.cli.commands import COMMANDS, command
from covshift.exceptions import InputError
from covshift.files.reading import ReadOptions as ReadOptions

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

CELLS = st.text(
    st.sampled_from(list("a1-.,;\t\"'=\n\r é東\u202e\0_eE+%/:")) | st.characters(codec="utf-8"),
    max_size=6,
)


@st.composite
def csv_bytes(draw):
    """A table in some dialect and encoding, whole or spoilt."""
    width = draw(st.integers(1, 4))
    table = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=6))
    out = io.StringIO()
    writer = csv.writer(
        out,
        delimiter=draw(st.sampled_from(",;\t|")),
        lineterminator=draw(st.sampled_from(["\n", "\r\n", "\r"])),
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
    )
    writer.writerows([[f"c{k}" for k in range(width)], *table])
    coding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252"]))
    data = bytearray(out.getvalue().encode(coding, "replace"))
    for _ in range(draw(st.integers(0, 2))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


@SHARED
@given(data=st.binary(max_size=400) | csv_bytes(), suffix=st.sampled_from(["csv", "tsv", "gz"]))
@example(data=b"\x1f\x8b\x08", suffix="csv")
@example(data=b"PK\x03\x04", suffix="csv")
@example(data=b"\xff\xfea\0", suffix="csv")
@example(data=b"PAR1", suffix="csv")
@example(data=b"ARROW1\0\0", suffix="csv")
@example(data=b"\xff\xff\xff\xff\x10\0\0\0", suffix="csv")
@example(data=b"$FL2", suffix="csv")
@example(data=b"<stata_dta>", suffix="csv")
@example(data=b"s\x01\x01\x00\x00", suffix="csv")
def test_any_bytes_are_a_table_or_refused_in_words(data, suffix, tmp_path):
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(data)
    with contextlib.suppress(InputError, Asked):
        table = read_table(str(path))
        assert len({len(column.values) for column in table.columns.values()}) == 1


def lines_before(text, place):
    return len(re.findall(r"\r\n|\r|\n", text[:place])) + 1


@SHARED
@given(
    cells=st.lists(
        st.sampled_from(["u", "v\nw", "x\r\ny", "z\rz", '"q"', ""]), min_size=2, max_size=9
    ),
    newline=st.sampled_from(["\n", "\r\n"]),
    fault=st.sampled_from(["number", "ragged", "nul", "quote"]),
)
def test_the_line_of_a_fault_is_right_after_cells_of_several_lines(cells, newline, fault, tmp_path):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=newline, quoting=csv.QUOTE_ALL)
    writer.writerows([["a", "b\nb"], *([str(k), cell] for k, cell in enumerate(cells))])
    bad = {"number": "BAD,1", "ragged": "BAD,1,2", "nul": "BAD\0,1", "quote": '"BAD"x,1'}[fault]
    text = out.getvalue() + bad + newline + "7,8" + newline
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    with pytest.raises(InputError, match=rf"line {lines_before(text, text.index('BAD'))}\b"):
        read_table(str(path), {"a": "number", "b\nb": "category"}, ReadOptions(separator=","))


# Options


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("fuzz")
    write(made / "train.csv", rows(24))
    write(made / "target.csv", rows(20, 0.4, seed=1))
    fit = ["fit", made / "train.csv", made / "target.csv", "--label", "y", "--learner", "linear"]
    assert covshift(*fit, "-o", made / "m.covshift", "-q").code == 0
    assert covshift("margins", made / "target.csv", "-o", made / "t.json", "-q").code == 0
    return made


def options_of(name):
    """The options of a command, as click knows them."""
    return [param for param in command(name).params if param.param_type_name == "option"]


VALUES = (
    st.sampled_from(
        ["y", "age", "town", "age=0", "=", "", "-1", "0", "1", "0.5", "2", "nan", "inf", "1e400",
         "99999999999", "é", "\u202e", "a=b<c", "age=u<v", "town=u<v<w", "%d.%m.%Y", "rot13",
         "utf-8", "none", "cdf", "kliep", "tab", ";", "x,y", "age,town", "\udcff", "a\x00b"]
    )
    | st.text(max_size=4)
    | st.floats().map(str)
    | st.integers().map(str)
)  # fmt: skip


@st.composite
def arguments(draw, commands):
    """A command with its files, and some of its options with any values."""
    name = draw(st.sampled_from(commands))
    files = {
        "predict": ["m.covshift", "target.csv"],
        "margins": ["target.csv"],
        "demo": ["--files-only"],
    }.get(name, ["train.csv", draw(st.sampled_from(["target.csv", "t.json"]))])
    found = [name, *files]
    for option in draw(st.lists(st.sampled_from(options_of(name)), max_size=3)):
        if option.name in ("output", "report", "codebook", "debug"):
            continue
        found.append(draw(st.sampled_from(option.opts)))
        for _ in range(0 if option.is_flag else option.nargs):
            choices = list(getattr(option.type, "choices", ()))
            given_values = st.sampled_from(choices).map(str) if choices else VALUES
            found.append(draw(given_values | VALUES))
    return found


def assert_ends_in_words(argv, folder):
    placed = [
        str(folder / part) if (folder / part).is_file() else part
        for part in argv
        if "\0" not in part
    ]
    if argv[0] == "demo":
        placed += ["-o", str(folder / "demo")]
    if argv[0] == "fit":
        placed += ["-o", str(folder / "new.covshift"), "--force"]
    if argv[0] == "plan":
        placed += ["-o", str(folder / "to_label.csv"), "--force"]
    result = covshift(*placed)
    assert result.code in (0, 2, 3), (placed, result.err)
    assert result.code != 2 or result.err.strip()


QUICK = ("schema", "margins", "predict")


@pytest.mark.thorough
@SHARED
@given(argv=arguments(QUICK))
def test_any_options_end_in_an_answer_or_in_words(argv, folder):
    assert_ends_in_words(argv, folder)


@pytest.mark.thorough
@SHARED
@given(argv=arguments([name for name in COMMANDS if name not in ("compare", "report")]))
def test_any_options_of_slower_commands_end_in_an_answer_or_in_words(argv, folder):
    assert_ends_in_words(argv, folder)


@SHARED
@given(
    argv=st.lists(st.sampled_from([*COMMANDS, "-h", "--version", "-q", "-o", "--", "-"]) | VALUES)
)
def test_any_words_at_all_are_parsed_or_refused(argv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "demo" in argv:
        return
    assert covshift(*argv).code in (0, 2)
