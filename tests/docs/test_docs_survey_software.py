"""The page on survey software: its examples run, and its two ways to an error agree."""

from __future__ import annotations

import re

import numpy as np
import pytest
from command import covshift
from pages import check_page, page

pytest.importorskip("pandas")
PAGE = "weights_in_survey_software.md"


@pytest.mark.thorough
def test_the_page_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = check_page(PAGE, atol=0.002, rtol=0.01)
    found, error = namespace["found"], namespace["error"]
    assert namespace["code"] == 0
    assert namespace["theta"] == pytest.approx(found.value, rel=1e-6)
    assert error == pytest.approx(found.standard_error, rel=0.02)  # spread around another centre
    drawn = namespace["replicates"].to_numpy()
    same = found.replicate_weights * (drawn.sum() / found.replicate_weights.sum())
    np.testing.assert_allclose(drawn, same, rtol=1e-6)


def test_the_page_names_options_that_the_command_has():
    said = covshift("weigh", "--help").out
    for option in set(re.findall(r"(?<!-)--[a-z][a-z-]+", page(PAGE))):
        assert option in said, option
