"""Progress bars of long fits: on stderr, on a terminal, when asked for, and nothing else."""

from __future__ import annotations

import io
import re
import sys
import time

import numpy as np
import pytest
from command import rows, write
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from covshift import Predictions, Target, estimate, evaluate
from covshift.cli import main
from covshift.comparison import Method, compare
from covshift.datasets import make_survey
from covshift.numerics.progress import Progress, reporting, track
from covshift.weights import (
    KLIEP,
    KMM,
    RULSIF,
    ULSIF,
    Discriminative,
    EnergyWeights,
)

LONG = [  # weighter, label, how many steps the bar ends at
    (KLIEP(random_state=0), "KLIEP: widths", None),
    (KLIEP(width=[1.0, 2.0, 3.0], random_state=0), "KLIEP: widths", "3/3"),
    (ULSIF(random_state=0), "ULSIF: widths", "9/9"),
    (RULSIF(width=[1.0, 2.0], random_state=0), "RULSIF: widths", "2/2"),
    (Discriminative(cv=4, random_state=0), "Discriminative: folds", "4/4"),
    (KMM(), "KMM: kernel means", "1/1"),
    (EnergyWeights(), "EnergyWeights: distances", "1/1"),
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(120, 2)), rng.normal(0.5, 1.0, size=(100, 2))


def shown(monkeypatch, stream, weighter, samples):
    """What a fit writes to stderr, and its weights."""
    monkeypatch.setattr(sys, "stderr", stream)
    X, T = samples
    weights = clone(weighter).fit(X, X_target=T).weights_
    return stream.getvalue(), weights


@pytest.mark.parametrize(("weighter", "label", "end"), LONG, ids=lambda value: str(value))
def test_a_bar_is_shown_on_a_terminal_when_asked_for(
    monkeypatch, capfd, samples, weighter, label, end
):
    loud = clone(weighter).set_params(verbose=True)
    text, weights = shown(monkeypatch, Terminal(), loud, samples)
    last = text.split("\r")[-1]
    assert last.startswith(f"{label} [")
    assert last.endswith("\n")
    assert end is None or last.endswith(f"] {end}\n")
    done, total = map(int, re.search(r"(\d+)/(\d+)\n$", last).groups())
    assert 1 <= done <= total
    # The bar changes nothing, and without it there is nothing to see.
    quiet, same = shown(monkeypatch, Terminal(), weighter, samples)
    np.testing.assert_array_equal(weights, same)
    assert quiet == ""
    assert shown(monkeypatch, io.StringIO(), loud, samples)[0] == ""  # a file or a pipe
    assert capfd.readouterr() == ("", "")


def test_a_loop_that_ends_early_leaves_the_bar_where_it_got_to(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    for item in track(range(8), 8, "search", verbose=True):
        if item == 2:
            break
    assert sys.stderr.getvalue().endswith("search [###########                   ] 3/8\n")


def test_a_loop_that_fails_leaves_the_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ZeroDivisionError):
        [1 // item for item in track([1, 0, 1], 3, "work", verbose=True)]
    assert sys.stderr.getvalue().endswith("2/3\n")


def test_a_log_gets_ten_lines_and_a_pipe_without_one_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    for log in (True, False):
        with Progress(40, "trials", log=log) as progress:
            for _ in range(40):
                progress.step("a note")
        lines = sys.stderr.getvalue().splitlines()
        assert len(lines) == 10
        assert lines[0] == "trials 4/40, 0:00 left"
        assert lines[-1] == "trials 40/40"


def test_the_rest_is_guessed_from_what_is_done_and_wiped_at_the_end(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    now = iter([0.0] + [30.0] * 3)
    monkeypatch.setattr("covshift.numerics.progress.time.monotonic", lambda: next(now))
    with Progress(4, "trials") as progress:
        progress.step("first cell")
        progress.done = 4
    *_, drawn, blank, last = sys.stderr.getvalue().split("\r")
    assert drawn.endswith("] 1/4, 1:30 left  first cell")
    assert blank == " " * len(drawn)
    assert last == f"trials [{'#' * 30}] 4/4\n"


def test_a_comparison_says_which_method_it_tries(monkeypatch, samples):
    monkeypatch.setattr("covshift.numerics.progress._EVERY", 0.0)
    X, T = samples
    methods = [Method("none", "baseline"), Method("entropy", "weights")]
    for stream, verbose in ((Terminal(), True), (io.StringIO(), True), (Terminal(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        given = {"learner": "linear", "task": "regression", "methods": methods}
        compare(X, X[:, 0], T, **given, verbose=verbose)
        if verbose and stream.isatty():
            first, second, last = stream.getvalue().split("\r")[2::2]
            assert re.fullmatch(r"comparing \[ +\] 0/2  none", first)
            assert re.fullmatch(r"comparing \[#+ +\] 1/2, 0:00 left  entropy", second)
            assert last == f"comparing [{'#' * 30}] 2/2\n"
        else:
            assert stream.getvalue() == ""


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["compare", "report"])
def test_commands_say_what_they_do_to_a_person_and_not_to_a_pipe(monkeypatch, tmp_path, command):
    found = compare(
        *(np.eye(20)[:, :1], np.arange(20.0), np.eye(20)[:, 1:2]),
        learner="linear",
        task="regression",
        methods=[Method("none", "baseline")],
    )
    monkeypatch.setattr("covshift.comparison.core.compare", lambda *a, **k: found)
    monkeypatch.setattr("covshift.report.build", lambda *a, **k: "page")
    files = [str(write(tmp_path / f"{k}.csv", rows(40, seed=k))) for k in (0, 1)]
    argv = [command, *files, "--label", "y", "-o", str(tmp_path / "out.html"), "--force"]
    steps = ["reading ...", "diagnosing the shift ..."]
    if command == "report":
        steps += ["estimating the outcome ...", "judging the model ...", "drawing the report ..."]
    for stream, more in ((Terminal(), []), (io.StringIO(), []), (Terminal(), ["--quiet"])):
        monkeypatch.setattr(sys, "stderr", stream)
        assert main([*argv, *more]) == 0
        said = [line for line in stream.getvalue().splitlines() if line.endswith("...")]
        assert said == (steps if stream.isatty() and not more else [])
        assert not Progress.hidden  # what the process does next is shown


def test_silence_is_silence(monkeypatch):
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress(2, "trials", verbose=False, log=True) as progress:
            progress.step()
        assert stream.getvalue() == ""


def test_a_pipe_gets_a_line_at_times(monkeypatch):
    monkeypatch.setattr("covshift.numerics.progress._SECONDS", 0.02)
    monkeypatch.setattr(Progress, "doing", "fitting the model")
    for hidden in (False, True):
        monkeypatch.setattr(Progress, "hidden", hidden)
        for stream in (io.StringIO(), Terminal()):
            monkeypatch.setattr(sys, "stderr", stream)
            with reporting():
                time.sleep(0.1)
                for _ in track("ab", 2, "comparing", verbose=not stream.isatty()):
                    time.sleep(0.1)
            lines = stream.getvalue().splitlines()
            assert bool(lines) == (not hidden and not stream.isatty())
            assert all(line.endswith(" ... 0 s") for line in lines)
            if lines:
                assert {line.partition(" ...")[0] for line in lines} == {
                    "fitting the model",
                    "comparing 0/2",
                    "comparing 1/2, 0:00 left",
                }


@pytest.mark.parametrize("word", ["reading", "judging the model"])
def test_an_interrupted_command_says_one_line_and_writes_nothing(
    monkeypatch, capfd, tmp_path, word
):
    def step(text):
        if text == word:
            raise KeyboardInterrupt

    monkeypatch.setattr("covshift.cli.console.step", step)
    files = [str(write(tmp_path / f"{k}.csv", rows(40, seed=k))) for k in (0, 1)]
    argv = ["report", *files, "--label", "y", "--learner", "linear", "--quiet"]
    assert main([*argv, "-o", str(tmp_path / "out.html")]) == 130
    assert capfd.readouterr() == ("", "covshift: stopped. Nothing was written.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.csv", "1.csv"]


def test_an_estimate_says_which_of_its_steps_it_is_at(monkeypatch):
    seen = []

    class Model(LinearRegression):
        def fit(self, X, y):
            seen.append(Progress.doing)
            return super().fit(X, y)

    monkeypatch.setattr(Progress, "doing", "estimate")
    survey = make_survey(60, 60, random_state=0)
    estimate(survey.X, survey.y, survey.X_target, outcome_model=Model())
    assert set(seen) == {"step 3 of 4, outcome models"}
    assert Progress.doing == "estimate"
    seen.clear()
    monkeypatch.setattr(Progress, "doing", "judging the model")
    estimate(survey.X, survey.y, survey.X_target, outcome_model=Model())
    assert set(seen) == {"judging the model: outcome models"}


def test_only_the_whole_target_counts_steps_and_its_batches_do_not(monkeypatch):
    seen = []

    class Model(LinearRegression):
        def fit(self, X, y):
            seen.append(Progress.doing)
            return super().fit(X, y)

    monkeypatch.setattr(Progress, "doing", "evaluate")
    survey = make_survey(60, 60, random_state=0)
    target = Target(survey.X_target, batch=np.repeat(["a", "b"], 30))
    said = Predictions(survey.X[:, 0], survey.X_target[:, 0], task="numbers")
    evaluate(said, survey.X, survey.y, target, metrics="rmse", outcome_model=Model())
    order = ["step 3 of 4, outcome models"]
    order += [f"batch {k} of 2: outcome models" for k in (1, 2)]
    assert list(dict.fromkeys(seen)) == order
