"""The pages with examples run from top to bottom, and print what they say."""

from __future__ import annotations

import pytest
import sklearn
from pages import check_page


@pytest.mark.part(3)
@pytest.mark.parametrize("page", ["weights.md", "pipelines.md", "scaling.md"])
def test_the_page_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where it may write files
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    check_page(page)
    # The pages switch routing on in `with` blocks only.
    assert sklearn.get_config()["enable_metadata_routing"] is False
