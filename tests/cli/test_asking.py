"""Doubts about columns are decided and told; --ask asks once, with a command that answers all."""

from __future__ import annotations

import io
import json
import os
import shlex
from contextlib import redirect_stderr

import numpy as np
import pytest
from command import covshift, write

from covshift.cli.commands import parse
from covshift.cli.frames import read_files
from covshift.cli.labels import labelled_samples
from covshift.encoding.codes import row_identifier, sentinels

N = 24
VISITS = ("5+", "<1", "2-4", "1")


def everyday(count, shift, seed, *, label=True):
    """Seven columns as tables have them: an id, gaps, text, ISO dates, booleans; and a label."""
    rng = np.random.default_rng(seed)
    names = ["person", "age", "income", "town", "day", "smoker", "visits"]
    lines = [[*names, "ill"][: 8 if label else 7]]
    for k in range(count):
        age = rng.normal(50 + 8 * shift, 10)
        income = "" if rng.uniform() < 0.1 else f"{rng.lognormal(3, 0.4):.2f}"
        town = "" if rng.uniform() < 0.05 else rng.choice(["Bern", "Basel", "Chur"])
        day = np.datetime64("2024-01-05") + np.timedelta64(rng.integers(0, 900), "D")
        ill = int(rng.uniform() < 1 / (1 + np.exp((55 - age) / 6)))
        row = [f"p{seed}-{k}", f"{age:.1f}", income, town, str(day)]
        row += [str(rng.choice([True, False])), str(rng.poisson(3)), str(ill)]
        lines.append(row[: 8 if label else 7])
    return lines


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("everyday")
    write(folder / "train.csv", everyday(600, 0.0, 0))
    write(folder / "target.csv", everyday(600, 0.5, 1, label=False))
    return folder


@pytest.mark.part(5)
@pytest.mark.parametrize(
    "command",
    [
        ["diagnose", "--label", "ill"],
        ["weigh", "--label", "ill"],
        ["estimate", "--outcome", "ill"],
        ["fit", "--label", "ill", "--learner", "linear", "-o", "{}/m.covshift", "--force"],
        ["compare", "--label", "ill", "--learner", "linear", "--max-rows", "60"],
    ],
)
def test_an_everyday_table_gets_an_answer_from_the_first_command(table, command):
    options = [part.format(table) for part in command[1:]]
    result = covshift(command[0], table / "train.csv", table / "target.csv", *options)
    assert result.code == 0, result.err
    assert "Left out 'person': looks like a row identifier" in result.err
    if command[0] == "weigh":
        assert result.out.startswith("person,weight,")


def test_gaps_dates_and_ids_are_taken_without_a_word(table):
    paths = str(table / "train.csv"), str(table / "target.csv")
    with redirect_stderr(io.StringIO()):
        files, both = read_files(parse(["diagnose", *paths, "--label", "ill"])).samples()
    assert files.id == "person"
    assert files.ids("sample")[0] == "p0-0"
    assert files.ids("target")[0] == "p1-0"
    kinds = {rule.name: rule.kind for rule in both.encoder.features_}
    assert kinds["day"] == "date"
    assert "income missing" in both.names
    assert "town=(missing)" in both.names
    assert "person" not in kinds


# One message, whose command answers it


def numbers(rng, count):
    return [f"{x:.3f}" for x in rng.normal(size=count)]


def few(values):
    return lambda rng, count: [str(values[k % len(values)]) for k in range(count)]


def sprinkled(word, base, first=1):
    def made(rng, count):
        cells = base(rng, count)
        cells[first], cells[first + count // 2] = word, word
        return cells

    return made


def serial(rng, count):
    start = int(rng.integers(0, 1000))
    return [str(start + k) for k in range(count)]


DOUBTFUL = {  # name, cells of the training and of the target rows
    "region": (few([1, 2, 5]), few([1, 2, 5])),
    "zip": (few(["00123", "10001", "20001"]), few(["00123", "10001", "20001"])),
    "answer": (few([1, 2, 3, 99]), few([1, 2, 3])),
    "group": (few([1, 2, 3, 98, 99]), few([1, 2, 3])),
    "debt": (few([0, 3, 40, -9]), few([0, 3, 40])),
    "n": (serial, serial),
    "row": (serial, serial),
    "key": (few([12345678901234567, 22345678901234567]), few([12345678901234567])),
    "when": (few(["1/2/26", "13/4/26"]), few(["1/2/26"])),
    "price": (few(["$1", "€2", "$4"]), few(["$1", "€2"])),
    "size": (sprinkled("?", numbers), numbers),
    "race code": (sprinkled("?", few([1, 2, 3, 4])), few([1, 2, 3, 4])),
    "odd's": (sprinkled("x", sprinkled("y z", few([1, 2, 3]))), few([1, 2, 3])),
    "-tail": (sprinkled("--", numbers), numbers),
    "much": (few(["a", "b"]), few([1, 2])),
    "both": (few([1, 2]), few(["a", "1"])),
    "a=b": (sprinkled("?", numbers), numbers),
    "empty": (few([""]), numbers),
    "void": (numbers, few([""])),
    "endless": (sprinkled("inf", numbers), numbers),
    "huge": (numbers, sprinkled("1e300", numbers)),
}
LABELS = {
    "plain": few([0, 1]),
    "gaps": sprinkled("", few([0, 1]), 3),  # other rows than those that make columns doubtful
    "grades": few([1, 2, 3]),
    "scores": few([1, 2, 3, 4, 5, 6]),
    "worded": sprinkled("unknown", few([0, 1]), 3),
    "grades with gaps": sprinkled("", few([1, 2, 3]), 3),
}


def nasty(folder, seed, names, label=None):
    """Write two files with the columns ``names`` beside two of plain numbers."""
    rng = np.random.default_rng(seed)
    for file, side, count in (("train.csv", 0, N), ("target.csv", 1, N + 7)):
        columns = {"u": numbers(rng, count), "v v": numbers(rng, count)}
        columns |= {name: DOUBTFUL[name][side](rng, count) for name in names}
        if label is not None and not side:
            columns["y"] = LABELS[label](rng, count)
        cells = [[f'"{cell}"' for cell in column] for column in columns.values()]
        rows = [[f'"{name}"' for name in columns], *map(list, zip(*cells, strict=True))]
        write(folder / file, rows)
    return str(folder / "train.csv"), str(folder / "target.csv")


def answered(result):
    """The options that give the first answer to each question of the message."""
    assert result.code == 2
    assert result.err.startswith("covshift: ")
    assert "Without --ask covshift takes the first answer" in result.err
    lines = [line for line in result.err.splitlines() if line.startswith("  ")]
    found = ["--" + line.split(": --", 1)[1].split(" (", 1)[0] for line in lines]
    return [word for options in dict.fromkeys(found) for word in shlex.split(options)]


def drawn(seed):
    """Some doubtful columns, in any order."""
    rng = np.random.default_rng(seed)
    return [str(name) for name in rng.permutation(list(DOUBTFUL))[: 1 + seed % 6]]


@pytest.mark.parametrize("seed", range(25))
def test_one_message_asks_all_and_its_command_is_not_asked_again(tmp_path, seed):
    names, label = drawn(seed), list(LABELS)[seed % len(LABELS)]
    files = nasty(tmp_path, seed, names, label)
    asked = covshift("compare", *files, "--label", "y", "--ask")
    lines = asked.err.splitlines()
    assert len(lines) == len(names) + asked.err.count("'y' is the label") + 2
    for name in names:
        assert sum(f": {name!r} " in line for line in lines) == 1
    typed = parse(["compare", *files, "--label", "y", "--ask", *answered(asked)])
    with redirect_stderr(io.StringIO()):
        both = labelled_samples(read_files(typed)).both
    assert np.isfinite(both.X).all()
    assert np.isfinite(both.T).all()
    assert {"u", "v v"} <= {*both.names}


@pytest.mark.part(4)
@pytest.mark.parametrize("seed", range(4))
def test_the_command_of_the_message_succeeds_and_the_default_does_the_same(tmp_path, seed):
    names = drawn(100 + seed)
    files = nasty(tmp_path, seed, names)
    command = ("diagnose", "weigh")[seed % 2]
    again = covshift(command, *files, "--ask", *answered(covshift(command, *files, "--ask")))
    assert again.code == 0, again.err
    decided = covshift(command, *files)
    assert decided.out == again.out
    assert decided.err.count("note: ") - again.err.count("note: ") == len(names)


@pytest.mark.part(4)
@pytest.mark.parametrize("label", list(LABELS)[1:])
def test_labels_are_asked_about_in_the_same_message(tmp_path, label):
    files = nasty(tmp_path, 3, ["region", "size"], label)
    command = ["fit", *files, "--label", "y", "--learner", "linear", "--json"]
    command += ["-o", tmp_path / "m", "--force"]
    asked = covshift(*command, "--ask")
    assert "'region'" in asked.err
    assert "'size'" in asked.err
    assert "'y' is the label" in asked.err
    assert not (tmp_path / "m").exists()
    again = covshift(*command, "--ask", *answered(asked))
    assert again.code == 0, again.err
    decided = json.loads(covshift(*command).out)
    kinds = [note["kind"] for note in decided["notes"]]
    told = kinds.count("decisions") + label.endswith("gaps")  # of which "missing labels" tells
    assert told == asked.err.count(".csv: ")
    found = json.loads(again.out)
    found.pop("notes"), decided.pop("notes")
    assert found == decided


@pytest.mark.parametrize(
    ("label", "task"), [("grades", "classification"), ("scores", "regression")]
)
def test_up_to_five_whole_numbers_are_rather_classes(tmp_path, label, task):
    files = nasty(tmp_path, 3, [], label)
    asked = covshift("fit", *files, "--label", "y", "-o", tmp_path / "m", "--ask")
    assert answered(asked)[-2:] == ["--task", task]


def test_rows_without_a_label_are_left_out_with_a_note(tmp_path):
    files = nasty(tmp_path, 3, [], "gaps")
    command = ["fit", *files, "--label", "y", "--learner", "linear", "-o", tmp_path / "m"]
    asked = covshift(*command, "--ask")
    assert "'y' is the label and is missing in 2 of 24 rows" in asked.err
    assert answered(asked)[-1] == "--drop-unlabelled"
    done = covshift(*command)
    assert done.code == 0
    assert done.err.count("missing in 2 of 24 rows") == 1
    assert "on 22 rows" in done.out


def test_the_label_of_an_estimate_is_asked_about_too(tmp_path):
    files = nasty(tmp_path, 3, ["region"], "worded")
    asked = covshift("estimate", *files, "--outcome", "y", "--ask")
    assert "'y' is an outcome and holds numbers and text" in asked.err
    assert "'region'" in asked.err
    command = ["estimate", *files, "--outcome", "y", "--ask"]
    assert covshift(*command, *answered(asked)).code == 0


def test_an_outcome_of_numbers_and_words_is_one_of_categories(tmp_path):
    files = nasty(tmp_path, 3, ["region", "size"])
    lines = (tmp_path / "train.csv").read_text().splitlines()
    cells = ["y", *(("1", "2", "b", "c")[k % 4] for k in range(N))]
    rows = "".join(f"{line},{cell}\n" for line, cell in zip(lines, cells, strict=True))
    write(tmp_path / "train.csv", rows)
    command = ["estimate", *files, "--outcome", "y", "--json"]
    decided = covshift(*command)
    assert decided.code == 0, decided.err
    assert "Read 'y' as categories: is an outcome and holds numbers and text" in decided.err
    told = covshift(*command, "--what", "proportion")
    answers = [json.loads(found.out)["estimates"] for found in (decided, told)]
    assert answers[0] == answers[1]


def test_a_file_is_read_once_whatever_is_decided_about_it(tmp_path):
    train, target = nasty(tmp_path, 3, ["region", "size", "answer"])
    with open(train, "rb") as file, open(target, "rb") as other:
        pipes = {name: os.pipe() for name in ("train", "target")}
        for (_, end), part in zip(pipes.values(), (file, other), strict=True):
            os.write(end, part.read())
            os.close(end)
    piped = covshift("weigh", *(f"/dev/fd/{start}" for start, _ in pipes.values()))
    assert piped.code == 0, piped.err
    assert piped.out == covshift("weigh", train, target).out


def test_margins_ask_once_as_well(tmp_path):
    train, _ = nasty(tmp_path, 3, ["region", "size", "n", "empty"])
    command = ["margins", train, "-o", tmp_path / "m.json", "--ask"]
    answers = answered(covshift(*command))
    assert "--id" not in answers
    assert covshift(*command, *answers).code == 0
    assert covshift("margins", train, "-o", tmp_path / "a.json").code == 0
    assert (tmp_path / "a.json").read_text() == (tmp_path / "m.json").read_text()


def test_standard_input_is_decided_about_as_a_file_is(tmp_path):
    train, target = nasty(tmp_path, 3, ["region", "size"])
    data = (tmp_path / "train.csv").read_bytes()
    piped, named = covshift("weigh", "-", target, stdin=data), covshift("weigh", train, target)
    assert piped.code == 0, piped.err
    assert piped.out == named.out
    asked = covshift("weigh", "-", target, "--ask", stdin=data)
    assert covshift("weigh", "-", target, *answered(asked), stdin=data).out == named.out


def test_the_first_of_two_row_numbers_is_the_id(tmp_path):
    files = nasty(tmp_path, 3, ["n", "row"])
    assert answered(covshift("weigh", *files, "--ask")) == ["--id", "n", "--drop", "row"]
    asked = covshift("weigh", *files, "--id", "row", "--ask")
    assert answered(asked) == ["--drop", "n"]


@pytest.mark.parametrize(
    ("levels", "found"),
    [
        ([1, 2, 3, 99], [99]),
        ([1, 2, 3, 98, 99], [98, 99]),
        ([1, 2, 3, 9], [9]),
        ([1, 2, 4, 9], []),
        ([0, 1, 2, -9], [-9]),
        ([-20, -9, 0, 3], []),
        ([50, 98, 99], []),
        ([20, 45, 80, 999], [999]),
        ([1, 2, 7, 9], [7, 9]),
        ([1, 2, 6, 12, 777], [777]),
        ([1, 2, 3, 97], [97]),
        ([1, 2, 3, 7], []),
    ],
)
def test_numbers_that_stand_for_missing_values(levels, found):
    assert sentinels(np.array(levels, dtype=float)) == found


def test_numbers_that_chance_would_repeat_identify_rows():
    rng = np.random.default_rng(0)
    first, second = (rng.choice(12000, n, replace=False) + 130000.0 for n in (900, 2500))
    assert row_identifier("SEQN", (first, second)) is not None
    assert row_identifier("SEQN", (first, np.append(second, second[0]))) is None
    assert row_identifier("pay", (first[:100], second[:100])) is None


def test_a_label_that_is_misspelt_is_named_with_its_option(table):
    for command in ("weigh", "diagnose"):
        result = covshift(command, table / "train.csv", table / "target.csv", "--label", "il")
        assert result.code == 2
        assert "no column 'il', which --label names" in result.err


@pytest.mark.parametrize("option", ["--missing", "--ordered", "--date"])
def test_options_of_columns_that_are_not_there(table, option):
    value = {"--missing": "typo=9", "--ordered": "typo=a<b", "--date": "typo"}[option]
    result = covshift("weigh", table / "train.csv", table / "target.csv", option, value)
    assert result.code == 2
    assert f"no column 'typo', which {option} names" in result.err


def test_a_command_without_its_label_says_so(table):
    result = covshift("compare", table / "train.csv", table / "target.csv")
    assert result.code == 2
    assert "needs --label COL" in result.err


def test_errors_of_weighters_name_the_column(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["u,v"] + [f"{x:.3f},{x % 1:.3f}" for x in rng.normal(size=30)]
    far = ["u,v"] + [f"{x:.3f},{x % 1 + 50:.3f}" for x in rng.normal(size=30)]
    train = write(tmp_path / "a.csv", "\n".join(lines) + "\n")
    target = write(tmp_path / "b.csv", "\n".join(far) + "\n")
    result = covshift("weigh", train, target, "--method", "entropy")
    assert "column 1" not in result.err
    assert "'v'" in result.err


def test_each_decision_is_one_note_that_names_what_undoes_it(tmp_path):
    rng = np.random.default_rng(0)
    header = ["rownames", "x", "visits", "region", "remark", "one", "twin"]
    for name in ("a.csv", "b.csv"):
        lines = [header]
        for k in rng.choice(9000, 60, replace=False):
            x = f"{rng.normal():.3f}"
            words = f"{rng.integers(9**9)} and {rng.integers(9**9)}"
            lines.append([str(k), x, VISITS[k % 4], str(k % 3), words])
            lines[-1] += ["7", x]
        write(tmp_path / name, lines)
    command = ["diagnose", tmp_path / "a.csv", tmp_path / "b.csv"]
    result = covshift(*command)
    assert result.code == 0
    assert [line.removeprefix("note: ") for line in result.err.splitlines()] == [
        "Left out 'rownames': looks like a row identifier; --keep rownames uses it.",
        "Read 'region' as categories: looks like a code, 3 different whole numbers; --numeric "
        "region reads it as numbers.",
        "Left out 'remark': looks like a row identifier, different in every row.",
        "Categories, with the number of levels: 'region' (3).",
        "Read 'visits' as categories in order: <1, 1, 2-4, 5+; --categorical visits leaves out "
        "the order.",
        "Left out because they never vary: 'one'.",
        "Left out as a copy of 'x': 'twin'.",
    ]
    undone = covshift(*command, "--keep", "rownames", "--numeric", "region", "--json")
    names = {feature["name"] for feature in json.loads(undone.out)["features"]}
    assert {"rownames", "x", "visits", "region"} == names
    kept = covshift(*command, "--categorical", "visits")
    assert "'visits' (4)" in kept.err


def test_what_would_change_the_meaning_of_the_answer_still_stops(tmp_path):
    write(tmp_path / "a.csv", [["x", "x", "y"], *[["1", "2", "0"]] * 30])
    write(tmp_path / "b.csv", [["x", "u"], *[["1", "2"]] * 30])
    write(tmp_path / "c.csv", [["z", "y"], *[["1", "2"], ["2", "1"]] * 30])
    for files, message in ((("a.csv", "b.csv"), "'x'"), (("c.csv", "b.csv"), "share no column")):
        result = covshift("estimate", *(tmp_path / name for name in files), "--outcome", "y")
        assert result.code == 2
        assert message in result.err
    result = covshift("estimate", tmp_path / "b.csv", tmp_path / "b.csv")
    assert result.code == 2
    assert "needs --outcome" in result.err
