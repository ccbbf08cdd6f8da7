"""Parts of benchmarks resume, and pages quote no figure that is not in a result."""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

MADE_UP = '''"""A made-up benchmark."""
import os
import time

from harness import Work, table

TITLE = "Squares"


def square(number, wait=0.0):
    if number == -1:
        os._exit(3)
    if number == -2:
        raise ValueError("no such square")
    time.sleep(wait)
    return number**2


def works(share, quick):
    return [
        Work("squares", square, [(k,) for k in range(round(6 * share))], 20.0),
        Work("times", square, [(k,) for k in range(2)], 20.0, alone=True),
        Work("peer", square, [(9,)], needs=("no_such_package",)),
    ]


def report(found):
    rows = [(f"of {job[0]}", value) for job, value in found["squares"]]
    return ["## All", table(["number", "square"], rows)]
'''


@pytest.fixture
def module(monkeypatch, tmp_path):
    """Import scripts of the benchmarks, and one that is made up."""
    (tmp_path / "made_up_squares.py").write_text(MADE_UP, encoding="utf-8")
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    harness = importlib.import_module("harness")
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(harness, "digest", lambda name: "code")
    yield importlib.import_module
    for name in set(sys.modules) - before:
        del sys.modules[name]


def planned(module, folder, share=1.0):
    works = module("made_up_squares").works(share, False)
    return module("harness").parts_of("made_up_squares", works, folder)


def test_a_run_goes_on_where_it_stopped_and_more_repetitions_add_to_it(module, tmp_path):
    harness = module("harness")
    parts = planned(module, tmp_path, share=0.5)
    assert len(parts) == 5
    assert harness.run_parts(parts[:2], 1) == {}
    assert harness.result("made_up_squares", parts, 0.5) is None
    assert harness.run_parts(parts[2:], 1) == {}
    text, about = harness.result("made_up_squares", parts, 0.5)
    assert "| of 2 | 4 |" in text
    assert about["share"] == 0.5
    assert about["left_out"] == ["peer (no_such_package)"]
    more = planned(module, tmp_path)
    assert sum(part.path.exists() for part in more) == len(parts)


def test_processes_share_the_parts_and_one_that_dies_costs_its_part_alone(module, tmp_path):
    harness = module("harness")
    square = module("made_up_squares").square
    works = [
        harness.Work("fine", square, [(k, 0.05) for k in range(6)], 20.0),
        harness.Work("times", square, [(7,)], 20.0, alone=True),
        harness.Work("dies", square, [(-1,)]),
        harness.Work("fails", square, [(-2,)]),
    ]
    parts = harness.parts_of("made_up_squares", works, tmp_path)
    told = []
    failed = harness.run_parts(parts, 2, say=told.append)
    assert len(told) == len(parts) == 9
    reasons = {path.name.partition("-")[0]: reason for path, reason in failed.items()}
    assert reasons["dies"] == "its process ended with 3"
    assert "ValueError: no such square" in reasons["fails"]
    assert sum(part.path.exists() for part in parts) == 7


def test_no_part_is_started_after_the_time_is_over(module, tmp_path):
    harness = module("harness")
    parts = planned(module, tmp_path)
    for jobs in (1, 2):
        assert harness.run_parts(parts, jobs, until=time.monotonic()) == {}
    assert not any(part.path.exists() for part in parts)


def test_a_part_that_was_cut_off_is_done_again(module, tmp_path):
    harness = module("harness")
    (part, *_) = planned(module, tmp_path)
    harness.do(part)
    part.path.write_bytes(part.path.read_bytes()[:20])
    assert harness.read(part) is None


def test_the_code_is_in_the_name_of_a_part(module, monkeypatch, tmp_path):
    before = planned(module, tmp_path)[0].path
    monkeypatch.setattr(module("harness"), "digest", lambda name: "other code")
    assert planned(module, tmp_path)[0].path != before


def test_the_commit_is_told_where_there_is_no_git(module, monkeypatch):
    harness = module("harness")
    monkeypatch.setattr(harness, "_git", lambda *arguments: "")
    monkeypatch.setitem(os.environ, "COMMIT", "abc")
    harness.commit.cache_clear()
    assert harness.commit() == "abc"
    harness.commit.cache_clear()


# Figures


TABLE = """# Result

## One

| way | N | error | held |
|---|---|---|---|
| plain | 10 | 1.00 | 34.1%, 2.5 |
| ours | 10 | 0.232 | 1,096.7 % |

| way | error |
|---|---|
| ours | 7 |

Of 54 draws.
"""


@pytest.fixture
def quotes(module, monkeypatch, tmp_path):
    found = module("quotes")
    for name in ("HERE", "RESULTS"):
        monkeypatch.setattr(found, name, tmp_path)
    (tmp_path / "named.toml").write_text(
        '[result]\nerror = "One | ours | error"\nheld = "max: One | * | held"\n'
        'second = "One | plain | held [2]"\nother = "One #2 | ours | error"\n'
        'smaller = "times: One | ours | error"\n'
        'draws = "text: Of (\\\\d+) draws"\ngone = "One | theirs | error"\n',
        encoding="utf-8",
    )
    figures, lacking = found.figures("result", TABLE)
    assert lacking == ["gone"]
    about = {"commit": "abc", "date": "2026-01-02", "machine": "here", "figures": figures}
    before = {**about, "commit": "old", "figures": {"gone": 3.5}}
    found.write("result", {**about, "earlier": found.earlier(before, lacking)})
    return found


def test_figures_are_found_in_tables_and_words(quotes):
    found = {
        name: quotes.figure("result", name)[0] for name in ("error", "held", "second", "draws")
    }
    assert found == {"error": 0.232, "held": 1096.7, "second": 2.5, "draws": 54}
    assert quotes.figure("result", "other")[0] == 7
    assert quotes.quoted("1<!-- result:smaller .1f --> times").startswith("4.3<!--")


def test_a_figure_that_was_not_measured_again_keeps_its_commit(quotes):
    value, block = quotes.figure("result", "gone")
    assert (value, block["commit"]) == (3.5, "old")


def test_a_page_is_quoted_anew_and_told_what_differs(quotes):
    page = "Errors of 0.5<!-- result:error .2f --> and 3 %<!-- result:held ,.0f % -->."
    assert quotes.differing(page) == [
        "result:error is 0.23; the page has 0.5",
        "result:held is 1,097 %; the page has 3 %",
    ]
    page = quotes.quoted(page)
    assert page.startswith("Errors of 0.23<!--")
    assert quotes.differing(page) == []
    assert quotes.quoted("On 1<!-- result:date s -->").startswith("On 2026-01-02<")
    assert quotes.differing("0.5<!-- result:nothing .2f -->")
    assert quotes.differing("0.5 <!-- result:error .2f -->") == ["result:error .2f is no quote"]


def test_numbers_without_a_name_are_found_where_a_result_is_named(quotes):
    page = "At 95 % (`benchmarks/results/a.md`) 0.3<!-- a:b .1f -->, .52, `0.7`, 2.5 and 40."
    assert quotes.unnamed(page) == ["95", ".52", "2.5"]
    assert quotes.unnamed("At 95 % and 0.5.") == []
    assert quotes.unnamed("95 %<!-- setting --> (`benchmarks/results/a.md`), section 9.10") == []


def real():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module("quotes")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.mark.parametrize("page", [path.name for path in real().pages()])
def test_figures_of_a_page_are_those_of_the_results(page):
    quotes = real()
    (path,) = (path for path in quotes.pages() if path.name == page)
    text = path.read_text(encoding="utf-8")
    told = quotes.differing(text)
    assert not told, "python benchmarks/evidence.py --quote renews figures: " + "; ".join(told)
    assert not quotes.unnamed(text), "name these: see benchmarks/quotes.py"


def test_the_page_of_evidence_lists_every_figure():
    quotes = real()
    page = quotes.EVIDENCE.read_text(encoding="utf-8")
    assert quotes.with_figures(page) == page, "python benchmarks/evidence.py --quote renews it"


@pytest.mark.parametrize("name", list(real().wanted()))
def test_figures_of_a_result_are_those_of_its_tables(name):
    quotes = real()
    about = quotes.known(name)
    figures, lacking = quotes.figures(name, (quotes.RESULTS / f"{name}.md").read_text("utf-8"))
    assert figures == about["figures"]
    earlier = {key for block in about["earlier"] for key in block["figures"]}
    assert set(lacking) == earlier
    assert {"commit", "date", "machine"} <= set(about)
