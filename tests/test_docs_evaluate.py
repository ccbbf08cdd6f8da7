"""The page on evaluations runs from top to bottom and prints what it shows.

Words must agree exactly, numbers nearly: the last digits may depend on versions of other libraries,
and so may the mixture of outcome models, whose lines are left out.
"""

from __future__ import annotations

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

DOCS = Path(__file__).parents[1] / "docs"
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")


def words(text: str) -> str:
    return " ".join(NUMBER.sub("N", text).split())


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def without_models(text: str) -> str:
    return re.sub(r"^Outcome model: .*(?:\n  .*)*$", "", text, flags=re.MULTILINE)


def test_the_page_prints_what_it_says():
    text = (DOCS / "evaluate.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    # A fence of another kind would be an example that nobody runs.
    assert 2 * len(blocks) == len(re.findall(r"^```", text, flags=re.MULTILINE)) > 0
    namespace = {"__name__": "evaluate.md"}
    for (kind, block), (following, output) in pairwise([*blocks, ("end", "")]):
        if kind == "text":
            continue
        assert following == "text", "an example without what it prints"
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "evaluate.md", "exec"), namespace)
        shown, found = without_models(output), without_models(printed.getvalue())
        assert words(found) == words(shown)
        np.testing.assert_allclose(numbers(found), numbers(shown), rtol=0.05, atol=0.02)


def test_the_page_names_every_metric_and_method():
    from covshift.evaluations.methods import METHODS
    from covshift.evaluations.metrics import CLASS_METRICS, NUMBER_METRICS

    text = (DOCS / "evaluate.md").read_text(encoding="utf-8")
    table = text[text.index("## Metrics") : text.index("## Do its prob")]
    lines = [line for line in table.splitlines() if line.startswith(("| classes", "| numbers"))]
    named = set(re.findall(r"`(\w+)`", "".join(lines))) - {"cost_matrix"}
    assert named == {
        *CLASS_METRICS,
        *NUMBER_METRICS,
        "calibration_curve",
        "confusion_matrix",
        "cost",
    }
    sides = text[text.index("## The methods") : text.index("## Rows that trained")]
    assert set(re.findall(r"^\| `(\w+)`", sides, flags=re.MULTILINE)) == set(METHODS)


def test_pictures_of_the_page_exist():
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (DOCS / "evaluate.md").read_text())
    assert pictures
    for picture in pictures:
        assert (DOCS / picture).exists(), picture


def test_the_page_says_that_the_benchmark_is_still_to_be_run():
    assert "has not been run yet" in (DOCS / "evaluate.md").read_text(encoding="utf-8")


def test_the_commands_of_the_page_exist():
    from covshift.cli.parser import build_parser

    text = (DOCS / "evaluate.md").read_text(encoding="utf-8")
    commands = re.findall(r"^covshift (.*)$", text, flags=re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        assert build_parser().parse_args(command.split()).label == "y"
