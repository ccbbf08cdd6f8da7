"""The page on margins runs from top to bottom and prints what it shows."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")

PAGE = Path(__file__).parents[1] / "docs" / "margins.md"
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")


def words(text: str) -> str:
    return " ".join(NUMBER.sub("N", text).split())


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def test_the_page_prints_what_it_says():
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    # A fence of another kind would be an example that nobody runs.
    assert 2 * len(blocks) == len(re.findall(r"^```", text, flags=re.MULTILINE)) > 0
    namespace = {"__name__": PAGE.name}
    with warnings.catch_warnings():
        for (kind, block), (following, output) in pairwise([*blocks, ("end", "")]):
            if kind == "text":
                continue
            assert following == "text", "an example without what it prints"
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block, PAGE.name, "exec"), namespace)
            assert words(printed.getvalue()) == words(output)
            found, shown = numbers(printed.getvalue()), numbers(output)
            np.testing.assert_allclose(found, shown, rtol=0.01, atol=0.002)
    truth = namespace["population"].visits.mean()
    corrected = np.average(namespace["y"], weights=namespace["weighter"].weights_)
    assert abs(corrected - truth) < 0.15 * abs(namespace["y"].mean() - truth)
