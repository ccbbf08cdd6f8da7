"""The pages on diagnosis run from top to bottom, and print what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import check_page

pytest.importorskip("matplotlib")

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.thorough
@pytest.mark.parametrize("page", ["diagnosis.md", "when_not.md"])
def test_the_page_prints_what_it_says(page):
    check_page(page, shows_all=False)


def test_the_thresholds_on_the_page_are_those_of_the_code():
    from covshift.diagnostics import sizes, verdict
    from covshift.numerics import support as _support

    page = (DOCS / "diagnosis.md").read_text(encoding="utf-8")
    rules = page[page.index("## The verdict") : page.index("## Large samples")]
    for threshold in (
        verdict.LEVEL,
        verdict.NEGLIGIBLE_AUC,
        verdict.NEGLIGIBLE_KS,
        verdict.NEGLIGIBLE_SMD,
        verdict.STRONG_AUC,
    ):
        assert f"{threshold:g}" in rules
    assert (verdict.STRONG_SIZE, verdict.STRONG_OUTSIDE, verdict.NO_OVERLAP_OUTSIDE) == (
        0.1,
        0.1,
        0.5,
    )
    assert (_support.NO_OVERLAP, _support.STRONG) == (0.1, 0.05)
    assert f"{_support.LEVEL:g} (uncovered parts)" in rules
    assert "a tenth of the target is uncovered" in rules
    assert "a twentieth of the target is uncovered" in rules
    assert "less than a tenth of the rows" in rules
    assert "a tenth of the target" in rules
    assert "half of the target" in rules
    assert f"| {sizes.row_limit('energy'):,} |" in page
