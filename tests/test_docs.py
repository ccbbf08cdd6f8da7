"""The code on the pages of the documentation runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def test_the_example_of_experiment_1_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    example = runpy.run_path(str(DOCS.parent / "examples" / "sigmoid_demo.py"))
    monkeypatch.setitem(example["main"].__globals__, "N_TRIALS", 2)
    example["main"]()
    errors = dict(re.findall(r"^  (.+?) +(\d\.\d+) ", capsys.readouterr().out, re.MULTILINE))
    assert float(errors["empirical V (the paper)"]) < float(errors["unweighted, V = I"])
    assert (tmp_path / "out" / "experiment_1.png").exists()


@pytest.mark.parametrize("page", ["index.md"])
def test_the_code_of_a_page_runs_from_top_to_bottom(page):
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert blocks
    namespace = {"__name__": page}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)
