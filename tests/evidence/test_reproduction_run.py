"""The reproduction as a whole, on generated data: end to end, in processes, killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the figures need matplotlib")

from reproduction import data, runner
from reproduction.cli import main
from reproduction.configuration import Key, read_settings
from reproduction.loaders import DatasetNotFoundError
from reproduction.store import Store

ROOT = Path(__file__).parents[2]
SETTINGS = read_settings("generated")
SLICE = ["--data", "generated", "--only", "4", "--dataset", "twonorm", "--quiet"]


def numbers(folder):
    """Finished trials without their times."""
    results = Store(folder / "trials.jsonl", SETTINGS.fingerprint).load()
    return {
        key: {name: (one["errors"], one["warned"]) for name, one in found.items()}
        for key, found in results.items()
    }


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A quick run of all experiments with a few methods."""
    folder = tmp_path_factory.mktemp("quick")
    methods = [
        word for name in ("additive", "empirical", "shimodaira") for word in ("--method", name)
    ]
    command = ["--quick", "--data", "generated", "--processes", "1", "--quiet", *methods]
    assert main([*command, "--output", str(folder)]) == 0
    return folder


@pytest.mark.thorough
def test_quick_mode_runs_every_experiment_that_has_data(quick):
    cells = {(key.experiment, key.cell) for key in numbers(quick)}
    assert {("1", "one run"), ("2", "N = 500"), ("3", "ringnorm"), ("4", "twonorm")} <= cells
    assert {("5", "twonorm raw norm"), ("robustness", "ringnorm")} <= cells
    assert not [cell for _, cell in cells if cell.startswith(("cancer", "banknote"))]


@pytest.mark.thorough
def test_the_reports_compare_with_the_paper_and_name_absent_data(quick):
    report = (quick / "report.md").read_text(encoding="utf-8")
    assert "| 4 twonorm | 1.187 (0.200) |" in report
    for name in ("cancer", "diabetes", "banknote"):
        assert f"Absent: the {name} data." in report
    assert "Claim by claim" in report
    page = (quick / "index.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 7
    assert "Absent: the cancer data." in page
    names = {"1b", "1c", "4a", "4b", "4c"}
    drawn = {path.name for path in (quick / "figures").iterdir()}
    assert {f"figure_{name}.{kind}" for name in names for kind in ("svg", "png")} <= drawn


@pytest.mark.thorough
def test_the_same_command_again_runs_nothing_and_writes_the_same_reports(quick):
    before = {name: (quick / name).read_bytes() for name in ("trials.jsonl", "report.md")}
    command = [
        "--quick",
        "--data",
        "generated",
        "--processes",
        "1",
        "--quiet",
        "--output",
        str(quick),
    ]
    assert main([*command, "--only", "3", "--method", "additive"]) == 0
    assert (quick / "trials.jsonl").read_bytes() == before["trials.jsonl"]


@pytest.mark.thorough
def test_the_number_of_processes_does_not_change_a_number(tmp_path):
    methods = [word for name in ("kliep", "sliced", "rulsif") for word in ("--method", name)]
    for processes in ("1", "2"):
        folder = tmp_path / processes
        command = [*SLICE, *methods, "--trials", "3", "--processes", processes]
        assert main([*command, "--output", str(folder)]) == 0
    assert numbers(tmp_path / "1") == numbers(tmp_path / "2")
    assert len(numbers(tmp_path / "1")) == 3


def test_a_method_alone_has_the_numbers_it_has_among_others(tmp_path):
    both = ["--method", "ulsif", "--method", "cdf"]
    for folder, methods in (("one", both[:2]), ("two", both)):
        command = [*SLICE, *methods, "--trials", "1", "--processes", "1"]
        assert main([*command, "--output", str(tmp_path / folder)]) == 0
    (one,), (two,) = (numbers(tmp_path / name).values() for name in ("one", "two"))
    assert one["ulsif"] == two["ulsif"]


@pytest.mark.thorough
def test_a_killed_run_goes_on_where_it_was_and_leaves_no_worker(tmp_path):
    options = [*SLICE, "--method", "additive", "--processes", "2", "--output", str(tmp_path)]
    command = [sys.executable, "-m", "reproduction", *options, "--trials", "500"]
    run = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    path = tmp_path / "trials.jsonl"
    _wait(lambda: path.exists() and path.read_bytes().count(b"\n") >= 3)
    workers = _children(run.pid)
    run.send_signal(signal.SIGKILL)
    run.wait()
    _wait(lambda: not any(_runs(worker) for worker in workers))
    with path.open("ab") as file:
        file.write(b'{"experiment":"4","cell":"twonorm","trial":9')  # as if cut off in a write
    kept = path.read_bytes().rpartition(b"\n")[0]
    done = numbers(tmp_path)
    assert 3 <= len(done) < 500

    count = str(max(key.trial for key in done) + 2)
    assert main([*options, "--trials", count, "--processes", "1"]) == 0
    assert path.read_bytes().startswith(kept)  # finished trials were not run again
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert sorted(line["trial"] for line in lines) == list(range(int(count)))

    fresh = tmp_path / "fresh"
    assert main([*options, "--trials", "1", "--processes", "1", "--output", str(fresh)]) == 0
    key = Key("4", "twonorm", 0)
    assert numbers(fresh)[key] == numbers(tmp_path)[key]


def test_a_missing_data_set_is_named_and_the_others_are_run(tmp_path, monkeypatch, capsys):
    def absent():
        raise DatasetNotFoundError("There is no banknote.csv.")

    monkeypatch.setitem(data.LOADERS, "banknote", absent)
    monkeypatch.setitem(data.LOADERS, "twonorm", lambda: _Bunch(*data.load("twonorm", "generated")))
    data._load.cache_clear()
    try:
        command = ["--only", "4", "--trials", "1", "--method", "additive", "--quiet"]
        command += ["--processes", "1", "--output", str(tmp_path)]
        assert main([*command, "--dataset", "banknote"]) == 1
        assert "banknote data are absent: There is no banknote.csv" in capsys.readouterr().err
        assert main([*command, "--dataset", "banknote", "--dataset", "twonorm"]) == 0
        assert "Absent: the banknote data." in (tmp_path / "report.md").read_text(encoding="utf-8")
    finally:
        data._load.cache_clear()


def test_a_trial_that_fails_is_named_and_the_others_are_kept(tmp_path, monkeypatch, capsys):
    def fail_at_one(job, settings):
        if job.key.trial == 1:
            raise ZeroDivisionError("by hand")
        return real(job, settings)

    real = runner.RUN["4"]
    monkeypatch.setitem(runner.RUN, "4", fail_at_one)
    command = [*SLICE, "--method", "additive", "--trials", "3", "--processes", "1"]
    assert main([*command, "--output", str(tmp_path)]) == 1
    error = "Experiment 4, twonorm, trial 1 failed: ZeroDivisionError: by hand"
    assert error in capsys.readouterr().err
    assert sorted(key.trial for key in numbers(tmp_path)) == [0, 2]


class _Bunch:
    def __init__(self, X, y):
        self.X, self.y = X, y


def _wait(condition, seconds=120):
    for _ in range(10 * seconds):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("It did not happen in time.")


def _children(pid):
    """Processes started by one, where the system tells."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"
