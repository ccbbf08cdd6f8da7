"""The README's code runs, and prints what the README says."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_example_prints_what_it_says():
    text = README.read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    shown = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    assert len(code) == len(shown) > 0
    session: dict[str, object] = {}  # one, from top to bottom
    for block, expected in zip(code, shown, strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "README.md", "exec"), session)
        assert printed.getvalue() == expected


def test_every_file_the_readme_links_to_exists():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert links
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
    assert (tmp_path / "out" / "corrected_answers.png").exists()
