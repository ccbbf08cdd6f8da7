"""The code on the pages of the documentation runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["index.md"])
def test_the_code_of_a_page_runs_from_top_to_bottom(page):
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert blocks
    namespace = {"__name__": page}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)
