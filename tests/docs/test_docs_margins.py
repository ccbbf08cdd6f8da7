"""The page on margins: its examples run, and their answer is near the truth."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from pages import check_page

pytest.importorskip("pandas")


@pytest.mark.thorough
def test_the_page_prints_what_it_says():
    with warnings.catch_warnings():
        namespace = check_page("margins.md", atol=0.002, rtol=0.01)
    truth = namespace["population"].visits.mean()
    corrected = np.average(namespace["y"], weights=namespace["weighter"].weights_)
    assert abs(corrected - truth) < 0.15 * abs(namespace["y"].mean() - truth)
