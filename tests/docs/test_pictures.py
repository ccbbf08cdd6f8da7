"""Pictures show the numbers that the code beside them prints, for light pages and dark ones."""

from __future__ import annotations

import re
import runpy

import pytest
from pages import DOCS, check_agrees, page

ROOT = DOCS.parent
PERCENT = re.compile(r"\d+\.\d%")


def words_and_numbers(svg: str) -> str:
    """What is drawn, without colours, whose digits are no numbers."""
    return re.sub(r"#[0-9a-f]{6}", "#", svg)


def test_the_picture_of_the_home_page_is_drawn_by_the_code_below_it(capsys):
    picture = runpy.run_path(str(DOCS / "_ext" / "home_picture.py"))
    answer = picture["run_page"]()
    printed = PERCENT.findall(capsys.readouterr().out.replace("95% CI", ""))
    assert len(printed) == 5  # the sample, the adjusted number, its interval, the truth
    for look, file in picture["FILES"].items():
        made = picture["draw"](*answer, look)
        committed = (DOCS / "_static" / file).read_text(encoding="utf-8")
        check_agrees(words_and_numbers(made), words_and_numbers(committed), atol=1.5, rtol=0.01)
        assert set(printed) <= set(PERCENT.findall(made))
        alternative = re.search(rf"{file}\n:class: only-{look}\n:alt: (.*)", page("index.md"))[1]
        assert set(PERCENT.findall(alternative)) == set(printed)


@pytest.mark.parametrize("name", ["answer", "corrected_answers"])
def test_a_picture_has_a_version_for_dark_pages(name):
    text = page("index.md") + (ROOT / "README.md").read_text(encoding="utf-8")
    files = [path for path in (DOCS / "_static").iterdir() if path.stem in (name, f"{name}_dark")]
    assert len(files) == 2
    for path in files:
        assert f"_static/{path.name}" in text
