"""The pages with examples run from top to bottom, and print what they say."""

from __future__ import annotations

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest
import sklearn

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(
    "page", [pytest.param("pipelines.md", marks=pytest.mark.thorough), "weights.md", "scaling.md"]
)
def test_the_page_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where it may write files
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    # A fence of another kind would be an example that nobody runs.
    assert 2 * len(blocks) == len(re.findall(r"^```", text, flags=re.MULTILINE)) > 0

    namespace = {"__name__": page}  # shared: the page is read in order
    for (kind, block), (following, output) in pairwise([*blocks, ("end", "")]):
        if kind == "text":
            assert following != "text", "an output without its code"
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, page, "exec"), namespace)
        assert printed.getvalue() == (output if following == "text" else ""), block
    # The pages switch routing on in `with` blocks only.
    assert sklearn.get_config()["enable_metadata_routing"] is False
