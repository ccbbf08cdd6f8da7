"""The README's code runs, and prints what the README says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_example_prints_what_it_says():
    text = README.read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    shown = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    assert len(code) == len(shown) > 0
    for block, expected in zip(code, shown, strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "README.md", "exec"), {})
        assert printed.getvalue() == expected


def test_every_file_the_readme_links_to_exists():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert (README.parent / link).exists(), link
