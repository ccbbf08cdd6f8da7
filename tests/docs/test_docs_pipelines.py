"""The pages with examples run from top to bottom, and print what they say."""

from __future__ import annotations

import pytest
import sklearn
from pages import check_page


@pytest.mark.thorough
@pytest.mark.parametrize(
    "page",
    [
        "weights.md",  # of all pages the one that make test runs
        pytest.param("pipelines.md", marks=pytest.mark.thorough),
        pytest.param("scaling.md", marks=pytest.mark.thorough),
    ],
)
def test_the_page_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where it may write files
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    check_page(page)
    # The pages switch routing on in `with` blocks only.
    assert sklearn.get_config()["enable_metadata_routing"] is False
