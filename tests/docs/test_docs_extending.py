"""The page on extending covshift does what it says: its files, its entries, its output."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from pages import check_agrees

from covshift.cli.commands import COMMANDS
from covshift.corrections import CORRECTIONS
from covshift.registry import LEARNERS, METRICS, QUANTITIES, TABLE
from covshift.weights import WEIGHTERS

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
FILE = re.compile(r"# (\w+\.py)\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for the page's files; table, commands and modules are as before afterwards."""
    tables, modules = (TABLE, METRICS, QUANTITIES, COMMANDS), set(sys.modules)
    before = [dict(table) for table in tables]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) == str(tmp_path / f"{name}.py"):
            del sys.modules[name]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::covshift.exceptions.WeightWarning")
def test_the_page_does_what_it_says(folder):
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert 2 * len(blocks) == len(re.findall(r"^```", text, flags=re.MULTILINE)) > 0
    namespace = {"__name__": "extending"}
    for (kind, block), (following, output) in pairwise([*blocks, ("end", "")]):
        if kind == "text":
            continue
        named = FILE.match(block)
        if named:
            (folder / named[1]).write_text(block, encoding="utf-8")
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "extending.md", "exec"), namespace)
        check_agrees(printed.getvalue(), output if following == "text" else "")
    assert {"sum", "mean-shift", "forest"} <= TABLE.keys()
    assert ("shortfall" in METRICS, "zeros" in QUANTITIES) == (True, True)
    assert ("sum" in CORRECTIONS, "mean-shift" in WEIGHTERS, "forest" in LEARNERS) == (True,) * 3
    assert {path.name for path in folder.iterdir()} >= {"weights.csv", "model.covshift"}
