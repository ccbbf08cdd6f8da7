"""The pages on diagnosis run from top to bottom, and print what they say."""

from __future__ import annotations

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["diagnosis.md", "when_not.md"])
def test_the_page_prints_what_it_says(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert 2 * len(blocks) == len(re.findall(r"^```", text, flags=re.MULTILINE)) > 0
    namespace = {"__name__": page}
    for (kind, block), (following, output) in pairwise([*blocks, ("end", "")]):
        if kind == "text":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, page, "exec"), namespace)
        if following == "text":
            assert printed.getvalue() == output


def test_the_thresholds_on_the_page_are_those_of_the_code():
    from covshift import _support
    from covshift.diagnostics import measure, sizes, verdict

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
    for rows in (
        sizes.row_limit("cdf"),
        sizes.row_limit("entropy"),
        sizes.row_limit("energy"),
        measure._CLASSIFIER_ROWS,
        measure._NEIGHBOR_ROWS,
    ):
        assert f"| {rows:,} |" in page
