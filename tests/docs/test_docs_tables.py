"""The page on tables: its examples run, and it names every kind of column."""

from __future__ import annotations

import pytest
from pages import check_page, page

pytest.importorskip("pandas")


@pytest.mark.thorough
def test_the_page_prints_what_it_says():
    check_page("tables.md", atol=0.05)


def test_the_page_has_the_levels_and_limits_of_the_encoder():
    from covshift import TableEncoder
    from covshift.encoding import MISSING, OTHER

    text = page("tables.md")
    assert f"`{MISSING}`" in text
    assert f"`{OTHER}`" in text
    assert "`TableEncoder(min_rows=5)`" in text
    assert TableEncoder().min_rows == 1
    assert f"beyond the {TableEncoder().max_levels} most frequent" in text
