"""The tutorial's commands run in order and print what the page shows, but for the numbers."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command import covshift
from pages import check_words

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"


@pytest.mark.thorough
def test_the_commands_of_the_tutorial_print_what_it_shows(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert len(steps) == 8
    for step in steps:
        command, _, shown = step.partition("\n")
        name, *argv = shlex.split(command)
        assert name == "covshift"
        result = covshift(*argv)
        assert result.code == 0, result.err
        check_words(result.out, shown)
