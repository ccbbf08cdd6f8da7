"""The page on intervals and sets: its examples run, and it names what can be asked."""

from __future__ import annotations

import re
import runpy

import pytest
from pages import DOCS, check_page, check_pictures, page

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")


@pytest.mark.thorough
def test_the_page_prints_what_it_says():
    check_page("predict.md", atol=0.5)


def test_the_page_names_every_score_and_method():
    from covshift.conformal.bands import SCORES
    from covshift.conformal.base import METHODS
    from covshift.conformal.classifier import SCORES as CLASS_SCORES

    text = page("predict.md")
    named = re.findall(r'^\| `"(\w+)"` \|', text, flags=re.MULTILINE)
    assert named == [*SCORES, *CLASS_SCORES]
    few = text[text.index("## What if there are few rows?") : text.index("## Groups")]
    assert all(f'"{method}"' in few for method in METHODS)


def test_the_fields_on_the_page_are_those_of_intervals():
    from covshift.conformal import Intervals

    text = page("predict.md")
    table = text[text.index("| field |") : text.index("Look at the expected")]
    rows = [line.split("|")[1] for line in table.splitlines()[2:] if line]
    names = re.findall(r"`(\w+)`", " ".join(rows))
    assert len(names) == 9
    known = {*Intervals.__dataclass_fields__, *dir(Intervals)}
    assert set(names) <= known


def test_pictures_of_the_page_exist():
    check_pictures("predict.md")


def test_the_sections_that_the_page_cites_are_there():
    theory = page("theory.md")
    assert "### 11.5 The doubly robust threshold" in theory
    assert "## 11. Intervals and sets" in theory


@pytest.mark.thorough
def test_the_example_of_the_picture_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    example = runpy.run_path(str(DOCS.parent / "examples" / "intervals_demo.py"))
    example["main"]()
    found = re.findall(r"^(.+): (\d+\.\d)% of the target", capsys.readouterr().out, re.MULTILINE)
    shares = {name: float(share) for name, share in found}
    assert shares["plain"] < 80
    assert shares["weighted, normalized"] == pytest.approx(90, abs=3)
    assert (tmp_path / "out" / "intervals.png").exists()
