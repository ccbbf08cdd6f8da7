"""The code on the pages of the documentation runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from pages import check_page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.thorough
def test_the_example_of_experiment_1_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    example = runpy.run_path(str(DOCS.parent / "examples" / "sigmoid_demo.py"))
    monkeypatch.setitem(example["main"].__globals__, "N_TRIALS", 2)
    example["main"]()
    errors = dict(re.findall(r"^  (.+?) +(\d\.\d+) ", capsys.readouterr().out, re.MULTILINE))
    assert float(errors["empirical V (the paper)"]) < float(errors["unweighted, V = I"])
    assert (tmp_path / "out" / "experiment_1.png").exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "page",
    [
        "index.md",
        "start.md",
        "assistants.md",
        "correct.md",
        "coming_from.md",
        "errors.md",
        "plan.md",
        "explain.md",
    ],
)
def test_the_page_prints_what_it_says(page):
    pytest.importorskip("pandas")
    check_page(page, atol=0.02)
