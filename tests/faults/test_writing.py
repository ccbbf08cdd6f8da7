"""Killed, full, forbidden, contested: an output is the old file whole or the new one whole.

`points.at_every_write` stops a command at each place where it touches the disk. What a SIGKILL
leaves is what is on the disk at that moment, so that one run shows them all; the thorough tests
kill real processes as well.
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from command import covshift, rows, write
from faults.points import at_every_write

from covshift.persistence import load

DRAFT = re.compile(r"\.(?P<name>.+)-[A-Za-z0-9_]{8}\.part")  # as docs/cli.md says
OLD = b"the old file"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Tables, a model and margins to work with, in a folder that no command writes to."""
    folder = tmp_path_factory.mktemp("inputs")
    for name, table in (("train", rows(60)), ("target", rows(50, 0.4, seed=1))):
        scored = [[*row, f"{k % 5 / 5}" if k else "p"] for k, row in enumerate(table)]
        write(folder / f"{name}.csv", scored)
    assert covshift("fit", *both(folder), "--learner", "linear", "-o", folder / "m", "-q").code == 0
    assert covshift("margins", folder / "target.csv", "-o", folder / "t.json", "-q").code == 0
    return folder


def both(folder):
    return [folder / "train.csv", folder / "target.csv", "--label", "y", "--drop", "p"]


COMMANDS = {
    "schema": lambda f: ["schema", *both(f), "-o", "out"],
    "margins": lambda f: ["margins", f / "target.csv", "-o", "out"],
    "margins as CSV": lambda f: ["margins", f / "target.csv", "-o", "out.csv"],
    "predict": lambda f: ["predict", f / "m", f / "target.csv", "-o", "out"],
    "diagnose": lambda f: ["diagnose", *both(f), "-o", "out"],
    "row flags": lambda f: ["diagnose", *both(f), "-o", "out.csv"],
    "fit": lambda f: ["fit", *both(f), "--learner", "linear", "--method", "none", "-o", "out"],
    "weigh": lambda f: ["weigh", *both(f), "-o", "out", "--codebook", "book"],
    "weigh to margins": lambda f: ["weigh", f / "train.csv", f / "t.json", "-o", "out"],
    "demo": lambda f: ["demo", "--files-only", "--rows", "100", "-o", "."],
}
SLOW = {
    "estimate": lambda f: ["estimate", f / "train.csv", f / "target.csv", "--outcome", "y",
                           "--drop", "p", "-o", "out"],
    "evaluate": lambda f: ["evaluate", *both(f)[:4], "--score", "p", "-o", "out",
                           "--report", "report"],
    "compare": lambda f: ["compare", *both(f), "--learner", "linear", "-o", "out"],
    "report": lambda f: ["report", *both(f), "--learner", "linear", "-o", "out"],
    "calibrated fit": lambda f: ["fit", *both(f), "--learner", "linear", "--calibrate", "0.5",
                                 "-o", "out"],
}  # fmt: skip


def run(name, folder, *more):
    return covshift(*({**COMMANDS, **SLOW}[name](folder)), "-q", *more)


def on_disk(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def assert_whole_at_every_write(name, inputs, *more):
    """Run a command; whatever a kill at any of its writes leaves is whole, old or new."""
    here, seen = Path.cwd(), []
    old = on_disk(here)
    with at_every_write(lambda number, what: seen.append((what, on_disk(here)))):
        result = run(name, inputs, *more)
    assert result.code == 0, result.err
    new = on_disk(here)
    assert len(seen) >= 5
    for what, left in seen:
        drafts = {n for n in left if n not in old and n not in new}
        assert all(DRAFT.fullmatch(n)["name"] in new for n in drafts), (what, drafts)
        for other in left.keys() - drafts:
            assert left[other] in (old.get(other), new.get(other)), (what, other)
    assert not any(DRAFT.fullmatch(n) for n in new)
    return len(seen)


@pytest.mark.part(20)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_kill_at_any_write_leaves_no_half_file(name, inputs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_whole_at_every_write(name, inputs)
    for path in tmp_path.iterdir():
        if name != "demo":
            path.write_bytes(OLD)
    assert_whole_at_every_write(name, inputs, *["--force"])


@pytest.mark.thorough
@pytest.mark.parametrize("name", SLOW)
def test_a_kill_at_any_write_of_a_slow_command_leaves_no_half_file(
    name, inputs, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert_whole_at_every_write(name, inputs)
    for path in tmp_path.iterdir():
        path.write_bytes(OLD)
    assert_whole_at_every_write(name, inputs, "--force")


def failing(at, number):
    """An action that raises an error of the system at the n-th write."""

    def action(count, what):
        if count == at and what not in ("unlink",):  # what cleans up is not asked to fail
            raise OSError(number, os.strerror(number))

    return action


def assert_survives(name, inputs, number, at):
    """An error at a write ends the command in words; the old file stays, and nothing else."""
    here = Path.cwd()
    for path in here.iterdir():
        path.unlink()
    with at_every_write(failing(at, number)):
        result = run(name, inputs)
    fresh = on_disk(here)
    assert not any(DRAFT.fullmatch(n) for n in fresh), fresh.keys()
    if result.code == 0:  # there is no write of that number, or a disk without links was met
        return False
    assert result.code == 1
    assert os.strerror(number) in result.err
    assert "bug" not in result.err
    return True


FAULTS = [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO, errno.EDQUOT]


@pytest.mark.part(4)
@pytest.mark.parametrize("number", FAULTS, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", ["predict", "margins", "weigh to margins"])
def test_a_full_or_forbidden_disk_is_said_and_nothing_is_left(
    name, number, inputs, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    survived = [assert_survives(name, inputs, number, at) for at in range(1, 6)]
    assert sum(survived) >= 4


@pytest.mark.thorough
@pytest.mark.parametrize("number", FAULTS, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", [*COMMANDS, *SLOW])
def test_any_command_survives_a_fault_at_any_write(name, number, inputs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    most = 20 if name in ("demo", "weigh", "evaluate") else 9
    places = range(1, most) if name in COMMANDS else (1, 3, 4)
    survived = [assert_survives(name, inputs, number, at) for at in places]
    assert sum(survived) >= 3


def test_a_full_disk_keeps_the_old_file(inputs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "out", OLD)
    for at in range(1, 7):
        with at_every_write(failing(at, errno.ENOSPC)):
            result = run("predict", inputs, "--force")
        assert result.code == 1, at
        assert f"out: {os.strerror(errno.ENOSPC)}." in result.err
        assert on_disk(tmp_path) == {"out": OLD}


# Two writers


def test_of_two_writers_one_succeeds_and_the_other_says_so(inputs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = b"of the other one"

    def somebody_else(count, what):
        if count == 2:
            write(tmp_path / "out", other)

    with at_every_write(somebody_else):
        result = run("predict", inputs)
    assert result.code == 2
    assert "out was written by somebody else in the meantime" in result.err
    assert on_disk(tmp_path) == {"out": other}
    with at_every_write(somebody_else):
        assert run("predict", inputs, "--force").code == 0
    assert on_disk(tmp_path)["out"] != other


def test_a_disk_without_links_has_outputs_too(inputs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def no_links(count, what):
        if what == "link":
            raise OSError(errno.EOPNOTSUPP, "no links")

    with at_every_write(no_links):
        assert run("predict", inputs).code == 0
    assert list(on_disk(tmp_path)) == ["out"]


REAL = [sys.executable, "-m", "covshift"]
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@pytest.mark.thorough
def test_real_writers_at_once_leave_one_whole_file(inputs, tmp_path):
    command = [*REAL, "predict", inputs / "m", inputs / "target.csv", "-o", tmp_path / "out", "-q"]
    started = [subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE) for _ in range(6)]
    ends = [(process.communicate()[1], process.returncode) for process in started]
    assert sorted(code for _, code in ends) == [0, 2, 2, 2, 2, 2]
    assert all(b"meantime" in said or b"exists" in said for said, code in ends if code)
    assert list(on_disk(tmp_path)) == ["out"]


def is_model(path):
    """Whether a file is a whole model; two of the same fit differ in the names of their arrays."""
    return zipfile.is_zipfile(path) and bool(load(path))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["predict", "fit", "margins", "weigh"])
def test_real_processes_killed_at_every_write(name, inputs, tmp_path):
    clean = tmp_path / "clean"
    clean.mkdir()
    program = Path(__file__).with_name("killed.py")
    whole = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}

    def killed(at, folder):
        given = [str(part) for part in COMMANDS[name](inputs)]
        command = [sys.executable, str(program), str(at), *given, "-q", "--force"]
        return subprocess.run(command, env=whole, cwd=folder, capture_output=True).returncode

    assert killed(0, clean) == 0
    new, at, kills = on_disk(clean), 0, 0
    while True:
        at += 1
        folder = tmp_path / str(at)
        folder.mkdir()
        for path in new:
            write(folder / path, OLD)
        code = killed(at, folder)
        left = on_disk(folder)
        assert all(left[n] in (OLD, new[n]) or is_model(folder / n) for n in new), at
        assert all(n in new or DRAFT.fullmatch(n)["name"] in new for n in left), at
        if code == 0:
            break
        assert code == -9
        kills += 1
    assert kills >= 6


# Standard output


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["--help", "margins"])
def test_a_reader_that_is_gone_is_no_error(command, inputs):
    read, written = os.pipe()
    os.close(read)
    table = [inputs / "target.csv", "-q"] if command == "margins" else []
    done = subprocess.run(
        [*REAL, command, *table], env=ENVIRONMENT, stdout=written, stderr=subprocess.PIPE
    )
    os.close(written)
    assert (done.returncode, done.stderr) in ((141, b""), (0, b""))


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_standard_output_is_said(inputs):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*REAL, "margins", inputs / "target.csv", "-q"],
            env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines() == [b"covshift: standard output: No space left on device."]
