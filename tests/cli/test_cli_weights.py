"""--weight has no scale and --frequency counts rows, in every command that takes them."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from command import covshift

from covshift.comparison import Method
from covshift.comparison import learners as comparison

rng = np.random.default_rng(0)
N, M = 50, 40
ROWS = np.round(rng.normal(size=(N, 2)), 3)
Y = (ROWS[:, 0] + 0.5 * rng.normal(size=N) > 0).astype(int)
SCORE = np.round(1 / (1 + np.exp(-ROWS[:, 0])), 4)
TARGET = np.round(rng.normal(0.4, 1, size=(M, 2)), 3)
TARGET_SCORE = np.round(1 / (1 + np.exp(-TARGET[:, 0])), 4)
UNEVEN, V = np.round(rng.uniform(0.5, 3, N), 2), np.round(rng.uniform(0.5, 3, M), 2)
TIMES, SEEN = rng.integers(1, 3, N), rng.integers(1, 3, M)

COMMANDS = {
    "diagnose": ["--label", "y", "--drop", "p"],
    "weigh": ["--label", "y", "--drop", "p"],
    "compare": ["--label", "y", "--drop", "p", "--learner", "linear"],
    "fit": ["--label", "y", "--drop", "p", "--learner", "linear", "--method", "entropy"],
    "estimate": ["--outcome", "y", "--drop", "p"],
    "evaluate": ["--label", "y", "--score", "p"],
    "report": ["--label", "y", "--drop", "p", "--learner", "linear"],
}
WRITES = ("weigh", "fit", "report")
PASSING = {"seconds", "file", "n_train", "n_written", "rows"}  # times, paths and other counts


def write(path, rows, y, p, **more):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", *(["y"] if y is not None else []), "p", *more])
        columns = [*rows.T, *([y] if y is not None else []), p, *more.values()]
        writer.writerows(zip(*columns, strict=True))
    return path


def run(command, folder, train, target, *options):
    out = folder / f"{command}.out"
    write(folder / "new.csv", TARGET, None, TARGET_SCORE)
    given = ["-o", out, "--force"] if command in WRITES else []
    result = covshift(command, train, target, *COMMANDS[command], "--json", *given, *options)
    assert result.code == 0, result.err
    found = numbers(json.loads(result.out))
    if command == "fit":
        said = csv.DictReader(io.StringIO(covshift("predict", out, folder / "new.csv").out))
        found |= {("p", k): float(row["probability_1"]) for k, row in enumerate(said)}
        assert len(found) >= M
    if command == "weigh":
        with out.open() as file:
            found |= {("w", k): float(row["weight"]) for k, row in enumerate(csv.DictReader(file))}
    return found


def numbers(data, at=()):
    """All numbers of the output, by where they stand."""
    if isinstance(data, dict):
        parts = [
            (k, part) for k, part in data.items() if isinstance(part, list) or k not in PASSING
        ]
    elif isinstance(data, list):
        parts = list(enumerate(data))
    else:
        is_number = isinstance(data, int | float) and not isinstance(data, bool)
        return {at: float(data)} if is_number else {}
    return {key: value for name, part in parts for key, value in numbers(part, (*at, name)).items()}


def agree(one, other, tolerance):
    assert one.keys() == other.keys()
    for key, value in one.items():
        assert value == pytest.approx(other[key], rel=tolerance, abs=tolerance), key


@pytest.fixture(autouse=True)
def few_methods(monkeypatch):
    """One method of each kind: the facts are the same for all, and a comparison takes seconds."""
    kinds = {"none": "baseline", "entropy": "weights", "vsvm:blended": "correction"}
    methods = [Method(name, kind) for name, kind in kinds.items()]
    monkeypatch.setattr(comparison, "methods_for", lambda learner, n: methods)


@pytest.mark.part(20)
@pytest.mark.parametrize("command", COMMANDS)
def test_weights_have_no_scale_and_frequencies_are_repeated_rows(command, tmp_path):
    """Half as many runs as facts: one run has weights and frequencies, the other the same rows."""
    options = ("--weight", "d", "--target-weight", "v")
    counted = (*options, "--frequency", "n", "--target-frequency", "m")
    found = run(command, tmp_path, *tables(tmp_path), *counted)
    same = run(command, tmp_path, *tables(tmp_path, scale=1000, repeat=True), *options)
    agree(one_per_row(found), same, 1e-6)
    if command == "report":  # which shows what the other commands find
        return
    equal = run(command, tmp_path, *tables(tmp_path, scale=None), *counted)
    plain = run(command, tmp_path, *tables(tmp_path, scale=None, repeat=True))
    agree(one_per_row(equal), plain, 1e-9)
    assert (
        max(abs(found[key] - equal[key]) for key in found.keys() & equal.keys()) > 1e-3
    )  # unequal weights are seen


def tables(folder, *, scale=1.0, repeat=False):
    """Both files; weights times ``scale``, or all ten, and rows repeated or counted."""
    d, v = (np.full(N, 10), np.full(M, 10)) if scale is None else (scale * UNEVEN, V / scale)
    rows, there = np.arange(N), np.arange(M)
    counts = {"n": TIMES}, {"m": SEEN}
    if repeat:
        rows, there, counts = np.repeat(rows, TIMES), np.repeat(there, SEEN), ({}, {})
    own = {"d": d[rows], **counts[0]}
    of_target = {"v": v[there], **counts[1]}
    if scale is None and repeat:
        own, of_target = {}, {}
    return (
        write(folder / "train.csv", ROWS[rows], Y[rows], SCORE[rows], **own),
        write(folder / "target.csv", TARGET[there], None, TARGET_SCORE[there], **of_target),
    )


def one_per_row(found):
    """Weights as they stand with each of the repeated rows."""
    written = [found[key] for key in found if key[0] == "w"]
    others = {key: value for key, value in found.items() if key[0] != "w"}
    again = np.repeat(written, TIMES) if written else []
    return others | {("w", k): value for k, value in enumerate(again)}


def test_fractions_are_weights_and_no_frequencies(tmp_path):
    train = write(tmp_path / "a.csv", ROWS, Y, SCORE, d=UNEVEN)
    target = write(tmp_path / "t.csv", TARGET, None, TARGET_SCORE)
    for command in ("diagnose", "weigh", "compare"):
        options = COMMANDS[command]
        result = covshift(command, train, target, *options, "--frequency", "d")
        assert result.code == 2
        assert "not whole numbers" in result.err
        assert "are --weight" in result.err
