"""What each bad input gets: every row of the list, through the real command."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from command import covshift, rows, text, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TRAIN, TARGET = rows(30), rows(40, 0.3, seed=1, label=False)


@pytest.fixture
def train(tmp_path):
    return write(tmp_path / "train.csv", TRAIN)


@pytest.fixture
def target(tmp_path):
    return write(tmp_path / "target.csv", TARGET)


def with_cell(table, row, column, value):
    table = [list(line) for line in table]
    table[row][table[0].index(column)] = value
    return table


def with_column(table, name, values):
    return [
        [*table[0], name],
        *([*line, str(v)] for line, v in zip(table[1:], values, strict=True)),
    ]


def weigh(*argv, **options):
    return covshift("weigh", *argv, "--label", "y", **options)


def weights(result):
    assert result.code == 0, result.err
    return np.array([float(line["weight"]) for line in csv.DictReader(io.StringIO(result.out))])


# NaN, inf and missing values


def test_infinite_values_are_counted_by_file_and_column(tmp_path):
    a = write(tmp_path / "a.csv", with_cell(TRAIN, 5, "income", "-inf"))
    b = write(tmp_path / "b.csv", with_cell(with_cell(TARGET, 3, "age", "inf"), 4, "age", "inf"))
    result = weigh(a, b, "--ask")
    assert result.code == 2
    assert "a.csv: 'income' has 1 infinite value: --drop income" in result.err
    assert "b.csv: 'age' has 2 infinite values: --drop age" in result.err
    assert "Left out 'age': has 2 infinite values." in weigh(a, b).err


def test_missing_values_need_no_option(tmp_path):
    a = write(tmp_path / "a.csv", with_cell(TRAIN, 3, "age", ""))
    b = write(tmp_path / "b.csv", with_cell(TARGET, 3, "town", "NA"))
    result = weigh(a, b)
    assert "were filled and marked: 'age' (1 and 0)" in result.err
    assert "'town' (4)" in result.err  # one of them for the gap


def test_imputing_fills_the_median_and_adds_an_indicator(tmp_path, target):
    from read_files import read_samples

    path = write(tmp_path / "t.csv", with_cell(with_cell(TRAIN, 3, "age", ""), 5, "town", ""))
    samples = read_samples(path, target, "y")
    ages = sorted(float(row[0]) for k, row in enumerate(TRAIN[1:], 1) if k != 3)
    expected = ["age", "age missing", "income", "town=u", "town=v", "town=w", "town=(missing)"]
    assert sorted(samples.names) == sorted(expected)
    assert list(samples.names[:3]) == expected[:3]
    assert samples.X[2, 0] == np.median(ages)
    assert samples.X[:, 1].tolist() == [float(k == 2) for k in range(30)]
    assert samples.X[4, 3:].tolist() == [0, 0, 0, 1]
    result = weigh(path, target)
    assert result.code == 0
    assert "were filled and marked: 'age' (1 and 0)" in result.err


@pytest.mark.thorough
def test_a_word_for_missing_values_can_be_named(tmp_path, target):
    path = write(tmp_path / "t.csv", with_cell(TRAIN, 3, "age", "?"))
    refused = weigh(path, target, "--ask")
    assert refused.code == 2
    assert "numbers and text (such as '?')" in refused.err
    assert "--missing 'age=?'" in refused.err
    named = weights(weigh(path, target, "--missing", "?"))
    assert (weights(weigh(path, target, "--missing", "age=?")) == named).all()
    assert (weights(weigh(path, target)) == named).all()


def test_a_column_without_values_is_left_out(tmp_path, target):
    empty = [TRAIN[0], *([row[0], "", *row[2:]] for row in TRAIN[1:])]
    result = weigh(write(tmp_path / "t.csv", empty), target)
    assert "Left out 'income': has no values at all." in result.err
    assert result.out == weigh(tmp_path / "t.csv", target, "--drop", "income").out


# Text, dates, codes


def test_levels_that_only_the_target_has_are_columns(tmp_path, train):
    from read_files import read_samples

    table = [TARGET[0], *([*row[:2], "z" if row[2] == "w" else row[2]] for row in TARGET[1:])]
    result = weigh(train, write(tmp_path / "g.csv", table))
    assert result.code == 0
    assert "'town' (4)" in result.err
    samples = read_samples(train, tmp_path / "g.csv", "y")
    assert "town=z" in samples.names


def test_text_becomes_one_column_a_level(train, target):
    from read_files import read_samples

    samples = read_samples(train, target, "y")
    assert list(samples.names) == ["age", "income", "town=u", "town=v", "town=w"]
    assert (samples.X[:, 2:].sum(axis=1) == 1).all()
    assert samples.X[1, 2:].tolist() == [0, 1, 0]


@pytest.mark.part(8)
@pytest.mark.parametrize(
    ("name", "values", "reason", "remedy"),
    [
        ("day", ["1/2/26", "3/4/26"], "dates", "--date day=%d/%m/%y ("),
        ("zip", ["00123", "10001"], "leading zeros", "--numeric"),
        ("price", ["1,5", "2,5"], "numbers written as text", "--decimal ,"),
        ("price", ["$5", "12", "7 €"], "numbers written in two ways", "--drop"),
        ("price", ["$1", "€2"], "numbers written as text", "--drop"),
        ("region", ["1", "2", "5"], "looks like a code", "--categorical"),
        ("answer", ["1", "2", "99"], "99 far above the rest", "--missing answer=99"),
        ("key", ["12345678901234567", "22345678901234567"], "looks like an identifier", "--drop"),
    ],
)
def test_what_can_be_read_in_two_ways_is_asked_about_or_decided(
    tmp_path, name, values, reason, remedy
):
    def table(base):
        column = [f'"{values[k % len(values)]}"' for k in range(len(base) - 1)]
        return write(tmp_path / f"{len(base)}.csv", with_column(base, name, column))

    a, b = table(TRAIN), table(TARGET)
    result = weigh(a, b, "--ask")
    assert result.code == 2
    assert reason in result.err
    assert remedy in result.err
    decided = weigh(a, b)
    assert decided.code == 0
    assert f"{name!r}" in decided.err
    assert reason in decided.err
    assert weigh(a, b, "--drop", name).code == 0
    assert weigh(a, b, "--categorical", name).code == 0


def test_declared_dates_become_days(tmp_path):
    from read_files import read_table

    path = write(tmp_path / "t.csv", "d,x\n1970-01-02,1\n1970-01-03T12:00,2\n")
    assert read_table(str(path), {"d": "date"}).columns["d"].values.tolist() == [1.0, 2.5]


def test_a_declared_date_that_is_none_names_its_line(tmp_path, train):
    path = write(tmp_path / "t.csv", with_column(TRAIN, "d", ["2026-01-01"] * 29 + ["soon"]))
    result = weigh(path, path, "--date", "d")
    assert result.code == 2
    assert "line 31: 'soon' in column 'd' is not a date" in result.err


def test_iso_dates_are_dates_without_a_word(tmp_path):
    from read_files import read_samples

    days = ["2026-01-02", "2026-03-04"]
    a = write(tmp_path / "a.csv", with_column(TRAIN, "day", days * 15))
    b = write(tmp_path / "b.csv", with_column(TARGET, "day", days * 20))
    samples = read_samples(a, b, "y")
    assert {rule.name: rule.kind for rule in samples.encoder.features_}["day"] == "date"
    told = read_samples(a, b, "y", kinds={"day": "date"})
    np.testing.assert_array_equal(samples.X, told.X)


def test_text_that_is_different_in_every_row_is_an_id(tmp_path):
    long, other = rows(60), rows(60, 0.2, seed=2, label=False)
    a = write(tmp_path / "a.csv", with_column(long, "name", [f"n{k}" for k in range(60)]))
    b = write(tmp_path / "b.csv", with_column(other, "name", [f"n{k}" for k in range(60)]))
    result = weigh(a, b)
    assert "Left out 'name': looks like a row identifier, different in every row" in result.err
    assert result.out.startswith("name,weight,")
    assert result.out == weigh(a, b, "--id", "name").out


def test_names_that_are_hardly_ever_repeated_are_left_out(tmp_path):
    long, other = rows(60), rows(60, 0.2, seed=2, label=False)
    names = [f"n{k}" for k in range(58)] + ["n0", "n0"]
    a = write(tmp_path / "a.csv", with_column(long, "name", names))
    b = write(tmp_path / "b.csv", with_column(other, "name", names))
    result = weigh(a, b)
    assert "'name': looks like names or free text, 58 different values" in result.err
    assert result.out == weigh(a, b, "--drop", "name").out


def test_a_column_of_two_kinds_is_left_out(tmp_path, train):
    table = [TARGET[0], *([*row[:1], "much", row[2]] for row in TARGET[1:])]
    result = weigh(train, write(tmp_path / "g.csv", table))
    assert result.code == 0
    assert "Left out 'income': holds numbers in" in result.err


# Columns


def test_reordered_columns_give_the_same_weights(tmp_path, train, target):
    moved = write(tmp_path / "moved.csv", [[row[2], row[0], row[1]] for row in TARGET])
    result = weigh(train, moved)
    assert "matched by name" in result.err
    np.testing.assert_array_equal(weights(result), weights(weigh(train, target)))


def test_missing_and_extra_columns_are_listed_and_left_out(tmp_path, train):
    table = with_column([row[:2] for row in TARGET], "size", range(40))
    result = weigh(train, write(tmp_path / "g.csv", table))
    assert result.code == 0
    assert "train.csv, and left out: 'town'" in result.err
    assert "g.csv, and left out: 'size'" in result.err


def test_files_without_a_common_column_are_refused(tmp_path, train):
    result = weigh(train, write(tmp_path / "g.csv", "q,r\n1,2\n3,4\n"))
    assert result.code == 2
    assert "share no column" in result.err
    assert '"columns": {"sex": {"f": 0.51' in result.err


def test_a_constant_column_is_dropped_with_a_warning(tmp_path, train, target):
    a = write(tmp_path / "a.csv", with_column(TRAIN, "planet", ["earth"] * 30))
    b = write(tmp_path / "b.csv", with_column(TARGET, "planet", ["earth"] * 40))
    result = weigh(a, b)
    assert "note: Left out because they never vary: 'planet'." in result.err
    np.testing.assert_array_equal(weights(result), weights(weigh(train, target)))


# The form of the file

BROKEN = {
    "duplicate header": (text([["age", "town", "age", "y"], *TRAIN[1:]]), "'age' more than once"),
    "short row": (text([*TRAIN[:7], TRAIN[7][:2], *TRAIN[8:]]), "line 8: 2 values"),
    "long row": (text([*TRAIN[:7], [*TRAIN[7], "1"], *TRAIN[8:]]), "line 8: 5 values"),
    "NUL byte": (text(with_cell(TRAIN, 4, "town", "u\0")), "line 5 holds a NUL byte"),
    "empty": ("", "is empty"),
    "blank lines only": ("\n\n\n", "is empty"),
    "header only": ("age,income,town,y\n", "no rows"),
    "open quote": (text(with_cell(TRAIN, 4, "town", '"u')), "inside a quoted cell"),
    "no header": (text([[r[0], r[1], "1", r[3]] for r in TRAIN[1:]]), "header seems to be missing"),
    "nameless column": (text([["", *TRAIN[0]], *(["1", *r] for r in TRAIN[1:])]), "has no name"),
    "blank line": (text([*TRAIN[:4], [], *TRAIN[4:]]), "line 5 is empty"),
    "two encodings": (text(TRAIN).encode() + "Zürich,1,u,0\n".encode() + b"\xfc,", "latin-1"),
    "gzip": (b"\x1f\x8b\x08\x00stuff", "ends in the middle of its gzip data"),
    "zip": (b"PK\x03\x04stuff", "cannot be unpacked"),
    "false Parquet": (b"PAR1 and nothing else", "Parquet"),
    "one row": (text(TRAIN[:2]), "has one row"),
    "1e308": (text(with_cell(TRAIN, 4, "age", "1e308")), "beyond 1e+100"),
}


@pytest.mark.part(20)
@pytest.mark.parametrize("case", list(BROKEN))
def test_a_broken_file_is_named_with_what_to_do(tmp_path, target, case):
    content, message = BROKEN[case]
    path = write(tmp_path / "broken.csv", content)
    for order in ([path, target], [target, path]):
        result = covshift("weigh", *order, "--drop", "y", "--ask")
        assert result.code == 2
        assert message in result.err
        assert "broken.csv" in result.err or case == "1e308"
        assert result.out == ""


@pytest.mark.part(6)
@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + text(TRAIN).encode(),
        text(TRAIN, newline="\r\n").encode(),
        text(TRAIN, newline="\r").encode(),
        text(TRAIN).rstrip("\n").encode(),
        (text(TRAIN) + "\n\n").encode(),
        text([[f'"{cell}"' for cell in row] for row in TRAIN]).encode(),
        text([[f" {cell} " for cell in row] for row in TRAIN]).encode(),
    ],
    ids=["byte order mark", "CRLF", "CR", "no last newline", "blank end", "quotes", "spaces"],
)
def test_the_same_table_in_another_form_gives_the_same_weights(tmp_path, train, target, content):
    path = write(tmp_path / "form.csv", content)
    np.testing.assert_array_equal(weights(weigh(path, target)), weights(weigh(train, target)))


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("t.tsv", text(TRAIN, "\t").encode(), []),
        ("t.csv", text(TRAIN, ";").encode(), ["--sep", ";"]),
        ("t.csv", text(TRAIN).encode("utf-16"), ["--encoding", "utf-16"]),
    ],
)
def test_separators_and_encodings_can_be_told(tmp_path, train, name, content, options):
    path = write(tmp_path / name, content)
    assert covshift("weigh", path, path, "--drop", "y", *options).code == 0


def test_parquet_gives_the_weights_of_the_csv(tmp_path, train, target):
    polars = pytest.importorskip("polars")
    for path in (train, target):
        polars.read_csv(path).write_parquet(path.with_suffix(".parquet"))
    result = weigh(train.with_suffix(".parquet"), target.with_suffix(".parquet"))
    np.testing.assert_array_equal(weights(result), weights(weigh(train, target)))
    piped = weigh("-", target, stdin=train.with_suffix(".parquet").read_bytes())
    np.testing.assert_array_equal(weights(piped), weights(result))


def test_few_numbers_stored_as_text_are_categories_as_they_are_in_a_frame(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "t.parquet"
    frame = polars.DataFrame({"a": [1.5, 2.0, 3.0], "b": ["1", "2", "3"]})
    frame.write_parquet(path)
    result = covshift("weigh", path, path)
    assert "Read 'b' as categories: holds numbers written as text" in result.err
    assert result.out == covshift("weigh", path, path, "--categorical", "b", "--ask").out
    told = covshift("weigh", path, path, "--numeric", "b")
    assert "'b'" not in told.err


def test_dates_of_parquet_are_dates_and_lists_are_refused(tmp_path):
    polars = pytest.importorskip("polars")
    from datetime import date

    path = tmp_path / "t.parquet"
    days = [date(2026, 1, k) for k in (1, 2, 3)]
    polars.DataFrame({"a": [1.5, 2.0, 3.0], "d": days}).write_parquet(path)
    assert covshift("weigh", path, path).out == covshift("weigh", path, path, "--date", "d").out
    polars.DataFrame({"a": [1.5, 2.0, 3.0], "d": [[1], [2], [3]]}).write_parquet(path)
    assert "neither a number, text nor a date" in covshift("weigh", path, path).err


def test_one_file_can_come_from_standard_input(train, target):
    piped = weigh("-", target, stdin=train.read_bytes())
    np.testing.assert_array_equal(weights(piped), weights(weigh(train, target)))
    assert weigh("-", "-").code == 2


def test_files_that_cannot_be_opened(tmp_path, target):
    assert "does not exist" in weigh(tmp_path / "none.csv", target).err
    (tmp_path / "empty").mkdir()
    assert "is a folder without files" in weigh(tmp_path / "empty", target).err
    assert weigh(tmp_path / "x\0y", target).code == 2


# Weights, labels


def test_a_row_that_stands_twice_is_a_row_of_frequency_two(tmp_path, target):
    doubled = write(tmp_path / "doubled.csv", [*TRAIN, *TRAIN[1:6]])
    weighted = with_column(TRAIN, "times", [2] * 5 + [1] * 25)
    single = write(tmp_path / "single.csv", weighted)
    w = weights(weigh(doubled, target))
    found = weights(weigh(single, target, "--frequency", "times"))
    np.testing.assert_allclose(found, w[:30], rtol=1e-6, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("learner", ["vsvm", "linear"])
def test_models_of_doubled_rows_and_of_frequencies_agree(tmp_path, target, learner):
    doubled = write(tmp_path / "doubled.csv", [*TRAIN, *TRAIN[1:6]])
    weighted = with_column(TRAIN, "times", [2] * 5 + [1] * 25)
    single = write(tmp_path / "single.csv", weighted)
    found = []
    for path, options in ((doubled, []), (single, ["--frequency", "times"])):
        model = tmp_path / f"{path.stem}.covshift"
        fit = ["fit", path, target, "--label", "y", "--learner", learner, "-o", model]
        assert covshift(*fit, *options).code == 0
        lines = csv.DictReader(io.StringIO(covshift("predict", model, target).out))
        found.append([float(line["probability_1"]) for line in lines])
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def test_target_frequencies_are_repeated_target_rows(tmp_path, train):
    repeated = write(tmp_path / "r.csv", [*TARGET, *TARGET[1:11]])
    once = write(tmp_path / "o.csv", with_column(TARGET, "n", [2] * 10 + [1] * 30))
    a = weights(weigh(train, repeated))
    b = weights(weigh(train, once, "--target-frequency", "n"))
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "message"),
    [(["-1"] * 30, "negative"), ([""] * 30, "30 NaN or inf"), (["0"] * 30, "zero for every row")],
)
def test_weights_that_are_none_are_refused(tmp_path, target, values, message):
    path = write(tmp_path / "t.csv", with_column(TRAIN, "w", values))
    result = weigh(path, target, "--weight", "w")
    assert result.code == 2
    assert message in result.err


def test_a_single_class_is_refused(tmp_path, target):
    same = write(tmp_path / "t.csv", [TRAIN[0], *([*row[:3], "1"] for row in TRAIN[1:])])
    for command in ("fit", "compare", "report"):
        result = covshift(command, same, target, "--label", "y", "-o", tmp_path / "out")
        assert result.code == 2
        assert "one class only, '1', in all 30 rows" in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([""] + ["0", "1"] * 14 + ["0"], [], "missing in 1 of 30 rows"),
        (["1", "2", "3"] * 10, [], "--task classification (read as classes) or --task regression"),
        (["a", "b"] * 15, ["--task", "regression"], "holds text"),
        (["3.5"] * 30, [], "is 3.5 in every row"),
        (["a", "b"] * 14 + ["a", "c"], [], "class 'c' of the label 'y' occurs in only one row"),
        ([f"name {k}" for k in range(30)] * 1, ["--task", "classification"], "in only one row"),
        (["1e200"] + ["1.5", "2.5"] * 14 + ["3"], [], "beyond 1e+100"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(tmp_path, target, labels, options, message):
    table = [TRAIN[0], *([*row[:3], y] for row, y in zip(TRAIN[1:], labels, strict=True))]
    path = write(tmp_path / "t.csv", table)
    result = covshift("fit", path, target, "--label", "y", "-o", tmp_path / "m", "--ask", *options)
    assert result.code == 2
    assert message in result.err


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.binary(max_size=300), header=st.booleans())
def test_no_bytes_whatever_give_a_traceback_or_an_internal_error(target, content, header):
    data = (b"age,income,town,y\n" if header else b"") + content
    assert weigh("-", target, stdin=data).code in (0, 2)


@pytest.mark.parametrize("seed", ["-1", "5000000000", "one"])
def test_a_seed_is_a_whole_number_of_32_bits(train, target, seed):
    result = covshift("diagnose", train, target, "--seed", seed)
    assert result.code == 2
    assert "is not a whole number from 0" in result.err


def test_row_numbers_are_no_feature_unless_declared(tmp_path):
    lines = [f"{k},{(7 * k) % 11},{(5 * k) % 13}" for k in range(1, 41)]
    train = write(tmp_path / "train.csv", "n,a,b\n" + "\n".join(lines) + "\n")
    other = [f"{k + 40},{(3 * k) % 11},{(9 * k) % 13}" for k in range(1, 41)]
    target = write(tmp_path / "target.csv", "n,a,b\n" + "\n".join(other) + "\n")
    decided = covshift("diagnose", train, target)
    assert "Left out 'n': looks like a row identifier, counting from 1 to 40" in decided.err
    assert covshift("diagnose", train, target, "--id", "n").out == decided.out
    assert covshift("diagnose", train, target, "--numeric", "n").out != decided.out


def test_outputs_never_replace_what_is_read(train, target):
    before = train.read_bytes()
    result = weigh(train, target, "-o", train, "--force")
    assert result.code == 2
    assert "name another file" in result.err
    assert train.read_bytes() == before
