"""The page on estimate: its examples run, and it names what can be asked."""

from __future__ import annotations

import re

import pytest
from pages import check_page, check_pictures, page

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")


@pytest.mark.thorough
def test_the_page_prints_what_it_says():
    check_page("estimate.md", atol=0.3)


def test_the_page_names_everything_that_can_be_asked():
    from covshift.registry import QUANTITIES

    text = page("estimate.md")
    asked = text[text.index("## What you can ask for") : text.index("## Groups")]
    named = re.findall(r'what="(\w+)"|what=(\w+)\(', asked)
    named = {(plain or made).lower() for plain, made in named}
    assert named == set(QUANTITIES) - {"mean"}  # the default


def test_pictures_of_the_page_exist():
    check_pictures("estimate.md")
