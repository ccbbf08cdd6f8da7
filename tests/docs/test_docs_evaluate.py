"""The page on evaluate: its examples run, and it names what can be asked."""

from __future__ import annotations

import re

import pytest
from pages import check_page, check_pictures, page

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")


@pytest.mark.thorough
def test_the_page_prints_what_it_says():
    check_page("evaluate.md", atol=0.02)


def test_the_page_names_every_metric_and_method():
    from covshift.evaluations.methods import METHODS
    from covshift.registry import METRICS

    text = page("evaluate.md")
    table = text[text.index("## Metrics") : text.index("## Do its prob")]
    lines = [line for line in table.splitlines() if line.startswith(("| classes", "| numbers"))]
    named = set(re.findall(r"`(\w+)[`(]", "".join(lines)))
    assert {name.lower() for name in named} == set(METRICS)
    sides = text[text.index("## The methods") : text.index("## Rows that trained")]
    assert set(re.findall(r"^\| `(\w+)`", sides, flags=re.MULTILINE)) == set(METHODS)


def test_pictures_of_the_page_exist():
    check_pictures("evaluate.md")


def test_the_commands_of_the_page_exist():
    from covshift.cli.commands import parse

    text = page("evaluate.md")
    commands = re.findall(r"^covshift (.*)$", text, flags=re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        assert parse(command.split()).label == "y"
