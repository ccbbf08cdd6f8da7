"""The README's code runs, and prints what the README says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from pages import check_text

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.thorough
def test_the_readme_example_prints_what_it_says():
    check_text("README.md", README.read_text(encoding="utf-8"), atol=0.02, rtol=0.02)


def test_every_file_the_readme_links_to_exists():
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    assert links
    links += re.findall(r'\bsrc(?:set)?="([^"]+)"', text)
    for link in links:
        assert (README.parent / link).exists(), link


@pytest.mark.thorough
def test_the_example_of_the_picture_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    example = runpy.run_path(str(README.parent / "examples" / "corrected_answers.py"))
    monkeypatch.setitem(example["main"].__globals__, "N_SURVEYS", 2)
    example["main"]()
    held = dict(re.findall(r"^(.+): mean .*, (\d+)% of", capsys.readouterr().out, re.MULTILINE))
    assert held == {"answers as they are": "0", "corrected": "100"}
    for file in ("corrected_answers.png", "corrected_answers_dark.png"):
        assert (tmp_path / "out" / file).exists()
