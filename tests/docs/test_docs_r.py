"""The page that compares with R: our numbers are R's, and R's are those that were recorded."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from pages import check_page, page

PAGE = "comparing_with_r.md"
RECORDED = Path(__file__).parents[1] / "recorded" / "comparing_with_r.txt"


def test_the_page_shows_what_r_printed():
    recorded = [line.rstrip() for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    blocks = re.findall(r"^```console\n(.*?)^```$", page(PAGE), flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) > 8
    for block in blocks:
        at = -1
        for line in block.splitlines():
            at = recorded.index(line, at + 1)  # in this order


@pytest.mark.thorough
def test_our_numbers_are_those_of_r(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    found = check_page(PAGE, atol=0.02)
    said: dict[str, list[list[float]]] = {}
    for line in RECORDED.read_text(encoding="utf-8").partition("all digits")[2].splitlines():
        if match := re.fullmatch(r"([a-z]+) (-?[\d.]+) ([\d.]+)", line):
            said.setdefault(match[1], []).append([float(match[2]), float(match[3])])
    names = {"visits": "visits", "ill": "ill", "ratio": "ratio", "limited": "limited"}
    names |= {"slopes": "slopes", "odds": "known", "smoker": "smokers"}
    for name, ours in names.items():
        rows = list(found[ours])[-len(said[name]) :]
        numbers = [[row.value, row.standard_error] for row in rows]
        np.testing.assert_allclose(numbers, said[name], rtol=1e-6, err_msg=name)
    for name, free in (("raked", 3), ("post", 2), ("met", 2)):  # calibrated weights
        (value, error), row = said[name][0], found[name]
        assert row.value == pytest.approx(value, rel=1e-6), name
        size = row.effective_sample_size
        small = np.sqrt(size / (size - free - 1) * 399 / 400)
        assert row.standard_error == pytest.approx(error * small, rel=2e-3), name
