"""The page on validation prints the published numbers, from the published samples."""

from __future__ import annotations

import re

import pytest
from pages import check_text, page

pytest.importorskip("pandas")


def section(*titles):
    """Text of sections of the page."""
    parts = re.split(r"^## ", page("validation.md"), flags=re.MULTILINE)
    return "".join(part for part in parts if part.startswith(titles))


@pytest.fixture
def published(data_home):
    if not (data_home / "published" / "apipop.csv").exists():
        pytest.skip("COVSHIFT_DATA has no published samples")


@pytest.mark.thorough
def test_published_samples_have_their_published_errors(published):
    check_text("validation.md", section("Published samples"), atol=1e-4, rtol=2e-6)


@pytest.mark.thorough
def test_schools_of_fifteen_districts_tell_about_all_within_their_error(published):
    titles = "Published samples", "Schools from 15"
    found = check_text("validation.md", section(*titles), atol=0.02, rtol=0.02)
    low, high = found["found"].interval
    assert low < found["schools"].api00.mean() < high
    assert found["found"].standard_error < 0.7 * found["drawn"].standard_error


def test_the_page_says_what_r_prints():
    """Ours, with as many digits as R shows, is R's."""
    text = section("Published samples")
    ours = re.findall(r"^[a-z].*?  +([\d.]+) \(([\d.]+)\)$", text, flags=re.MULTILINE)
    sentence = text[text.index("R prints") :].partition(": all digits")[0]
    said = re.findall(r"(\d[\d.]*) \((\d[\d.]*)\)", sentence)
    assert len(said) == 7
    for pair, shown in zip(ours, said, strict=False):
        for one, other in zip(pair, shown, strict=True):
            digits = min(len(text.partition(".")[2]) for text in (one, other))
            assert round(float(one), digits) == round(float(other), digits), shown
