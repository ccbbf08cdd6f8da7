"""Locales, encodings, endless input, early signals, formulas, marks that turn a text around."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command import covshift, rows, write
from read_files import read_table

from covshift.exceptions import InputError
from covshift.files import memory as room
from covshift.files.writing import inert

ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
NAMES = {"age": "âge", "town": "stadt", "y": "жзы"}


def named(table, names):
    return [[names.get(name, name) for name in table[0]], *table[1:]]


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "train.csv", named(rows(60), NAMES))
    write(tmp_path / "target.csv", named(rows(50, 0.4, seed=1, label=False), NAMES))
    return tmp_path


# Locales


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "locale",
    [ASCII, pytest.param({"PYTHONIOENCODING": "ascii"}, marks=pytest.mark.thorough)],
    ids=["C", "ascii"],
)
def test_names_work_in_a_locale_without_their_letters(files, locale):
    model = files / "m.covshift"
    command = [sys.executable, "-m", "covshift"]
    options = {"env": {**ENVIRONMENT, **locale}, "capture_output": True, "cwd": os.getcwd()}
    fit = ["fit", files / "train.csv", files / "target.csv", "--label", "жзы", "-o", model]
    done = subprocess.run([*command, *fit, "--learner", "linear", "--json"], **options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["label"] == "жзы"
    assert b"'\\u0436\\u0437\\u044b' is taken as classes" in done.stderr
    done = subprocess.run([*command, "predict", model, files / "target.csv"], **options)
    assert done.returncode == 0
    assert done.stdout.decode().startswith("row,prediction,probability_0")


def test_an_output_that_no_file_can_be_called_is_refused_before_any_work(files, monkeypatch):
    result = covshift("diagnose", files / "train.csv", files / "target.csv", "-o", "a\0b")
    assert (result.code, "holds a NUL byte" in result.err) == (2, True)
    monkeypatch.setattr(os, "fsencode", lambda name: str(name).encode("ascii"))
    result = covshift("diagnose", files / "train.csv", files / "target.csv", "-o", files / "é")
    assert (result.code, "in this locale" in result.err) == (2, True)


@pytest.mark.parametrize(
    "name", ["rot13", "base64", "hex", "bz2", "zip", "uu", "quopri", "idna", "punycode",
             "undefined", "unicode_escape", "raw_unicode_escape"],
)  # fmt: skip
def test_what_is_no_encoding_of_text_is_refused(files, name):
    for command in (["diagnose", files / "train.csv"], ["schema", files / "train.csv"]):
        result = covshift(*command, files / "target.csv", "--encoding", name)
        assert result.code == 2
        assert (
            f"--encoding {name!r} is not an encoding of text files. Use for example" in result.err
        )


@pytest.mark.parametrize("name", ["", "no-such", "a b", "utf-8\0"])
def test_an_unknown_encoding_is_refused(files, name):
    result = covshift("diagnose", files / "train.csv", files / "target.csv", "--encoding", name)
    assert (result.code, "is unknown" in result.err) == (2, True)


# Input without an end


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_devices_that_never_end_are_refused(files, device):
    if not os.path.exists(device):
        pytest.skip(f"there is no {device}")
    result = covshift("diagnose", device, files / "target.csv")
    assert result.code == 2
    assert f"{device} is a device, which may never end." in result.err
    result = covshift("diagnose", os.devnull, files / "target.csv")
    assert "is empty" in result.err


class Endless(io.RawIOBase):
    """Gives the same bytes again and again."""

    def __init__(self, head, again):
        self.left, self.again, self.given = head, again * 10_000, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self.left = self.left or self.again
        count = min(len(buffer), len(self.left))
        buffer[:count], self.left = self.left[:count], self.left[count:]
        self.given += count
        assert self.given < 1e8, "read for ever"
        return count


@pytest.mark.parametrize(
    ("head", "again"),
    [(b"a,b\n", b"1,2\n"), (b"a,b\n", b"x,y\n"), (b"PK\x03\x04", b"1"), (b"PAR1", b"1")],
)
def test_a_pipe_that_never_ends_is_refused_before_memory_is_full(head, again, monkeypatch):
    endless = Endless(head, again)

    class Stdin:
        buffer = io.BufferedReader(endless)

    monkeypatch.setattr(sys, "stdin", Stdin)
    monkeypatch.setattr(room, "memory", lambda: 3_000_000)
    with pytest.raises(InputError, match="standard input is larger than memory, or never ends"):
        read_table("-")


def test_a_table_that_fits_is_read_and_the_limit_is_that_of_the_machine(files):
    assert 1e8 < room.memory() < 1e15
    assert len(read_table(str(files / "train.csv"))) == 60


# Ctrl-C


@pytest.mark.thorough
def test_ctrl_c_at_any_early_moment_is_one_line(tmp_path):
    """From the first line of ours on; where the command is then, the machine decides."""
    code = (
        "import covshift.__main__ as m, os, sys; real = m.signal.signal\n"
        "m.signal.signal = lambda *given: (real(*given), os.write(1, b'.'))[0]\n"
        "sys.exit(m.main())"
    )
    for delay in (0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.9):  # most of it is imports
        with subprocess.Popen(
            [sys.executable, "-c", code, "demo", "--rows", "100", "-o", str(tmp_path / "d")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT,
        ) as process:  # fmt: skip
            process.stdout.read(1)
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate()
        assert process.returncode == 130, said
        assert said.startswith(b"covshift: stopped. ")
        assert len(said.splitlines()) == 1


@pytest.mark.thorough
def test_ctrl_c_that_an_import_turns_into_another_error_is_one_line():
    code = """
import covshift.__main__ as m, covshift.cli.run as run, os, signal, sys
def work():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise ImportError("numpy._core.multiarray failed to import") from None
signal.signal(signal.SIGINT, m._stop_at_once)
sys.exit(run.guarded(work, debug=False))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (130, b"covshift: stopped. Nothing was written.\n")


def test_a_command_that_ignores_ctrl_c_as_with_nohup_goes_on():
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import covshift.__main__ as m; m.main()\n"
        "assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN"
    )
    done = subprocess.run([sys.executable, "-c", code, "--version"], env=ENVIRONMENT, timeout=60)
    assert done.returncode == 0


def test_a_file_that_has_its_name_counts_as_written_whatever_comes_after(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    real = os.replace

    def interrupted(draft, place):
        real(draft, place)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    result = covshift("demo", "-o", "d")
    assert result.code == 130
    assert "Before that it wrote" in result.err
    assert "survey.csv" in result.err
    assert (tmp_path / "d/survey.csv").exists()
    refused = covshift("demo", "--rows", "5", "-o", "e")
    assert (refused.code, (tmp_path / "e").exists()) == (2, False)


# Formulas


FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "\uff1d1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_written_with_an_apostrophe(text):
    assert inert(text) == f"'{text}"


@pytest.mark.parametrize(
    "cell", ["-1", "+1.5e3", "-.5", "-inf", "a=b", "", "'", "'tis", -1.5, None]
)
def test_numbers_and_other_texts_stay_as_they_are(cell):
    assert inert(cell) == cell


def cells_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def is_formula(cell):
    return re.match(r"[=+\-@\t\r]", cell) and not re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", cell)


def town(k, name):
    return "=u" if k % 2 else name


def test_no_table_that_is_written_starts_a_formula(tmp_path):
    table = [["=id", *row] if k == 0 else [f"=x{k}", *row] for k, row in enumerate(rows(60))]
    label = {"0": "-a", "1": "=b"}
    table = [[*row[:3], town(k, row[3]), label.get(row[4], row[4])] for k, row in enumerate(table)]
    train = write(tmp_path / "train.csv", table)
    others = enumerate(rows(50, 0.4, seed=1, label=False))
    others = [[f"@x{k}" if k else "=id", *row[:2], town(k, row[2])] for k, row in others]
    target = write(tmp_path / "target.csv", others)
    both = [train, target, "--label", "y", "--id", "=id"]
    made = {name: tmp_path / f"{name}.csv" for name in ("predict", "weigh", "flags")}
    model = tmp_path / "m.covshift"
    assert covshift("fit", *both, "--learner", "linear", "-o", model).code == 0
    said = covshift("predict", model, target, "-o", made["predict"])
    assert "as formulas do: written with an apostrophe before it" in said.err
    assert covshift("weigh", *both, "-o", made["weigh"]).code == 0
    assert covshift("diagnose", *both, "-o", made["flags"]).code == 0
    for path in made.values():
        found = cells_of(path)
        assert len(found) > 1
        assert not [cell for row in found for cell in row if is_formula(cell)]
    assert {row[0] for row in cells_of(made["predict"])[1:]} == {f"'@x{k}" for k in range(1, 51)}
    assert cells_of(made["predict"])[0] == [
        "'=id",
        "prediction",
        "probability_-a",
        "probability_=b",
    ]


# Marks that turn the text around


TURNED = "a\u202egpj.exe\u2066\u200f\x1b[31m\x85\u2028b\ufeff"


def assert_inert(page):
    """No character of the page is one of those that nobody sees."""
    assert not {c for c in page if not c.isprintable() and c not in "\n\t\xa0"}
    assert "\\u202egpj.exe" in page


@pytest.mark.thorough
def test_no_control_character_or_mark_of_direction_reaches_a_page():
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    pandas = pytest.importorskip("pandas")
    from covshift import compare, diagnose, report

    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 1)), rng.normal(0.4, 1.0, size=(50, 1))
    y = np.where(X[:, 0] > 0, TURNED, "b")
    compared = compare(X, y, T, learner="linear", methods=[])
    page = report.build(
        diagnose(*(pandas.DataFrame({TURNED: rows[:, 0]}) for rows in (X, T))),
        compared,
        names=dict.fromkeys(("train", "target", "outcome"), TURNED),
        command=TURNED,
        title=TURNED,
    )
    assert_inert(page)


@pytest.mark.thorough
def test_no_control_character_or_mark_of_direction_reaches_the_report_of_a_file(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    names = {"age": TURNED, "y": f"label {TURNED}"}
    train = write(tmp_path / "train.csv", named(rows(60), names))
    target = write(tmp_path / "t\u202egpj.csv", named(rows(50, 0.4, seed=1, label=False), names))
    report = tmp_path / "r.html"
    options = ["--label", f"label {TURNED}", "--learner", "linear", "-o", report]
    result = covshift("report", train, target, *options)
    assert result.code == 0, result.err
    assert_inert(report.read_text(encoding="utf-8"))
    assert not {c for c in result.err + result.out if not c.isprintable() and c != "\n"}
