"""The report and the picture of a target known by its margins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
pytest.importorskip("pandas")

import pandas as pd
from matplotlib.figure import Figure
from report.test_report import HOSTILE, Page, comparison

from covshift import Margins, Predictions, compare, diagnose, estimate, evaluate, report
from covshift.exceptions import InputError, NoOverlapError
from covshift.plot import MarginsDisplay
from covshift.weights import EntropyBalancing, Raking

rng = np.random.default_rng(0)
FRAME = pd.DataFrame({"age": rng.integers(18, 80, 120), "sex": rng.choice(["f", "m"], 120)})
Y = rng.integers(0, 2, 120)
SHARES = {"age": {(18, 39): 0.5, (40, None): 0.5}, "sex": {"f": 0.3, "m": 0.7}}
MARGINS = Margins(SHARES, size=5000, source="census")


def words(page):
    return " ".join(" ".join(Page(page).words).split())


@pytest.mark.thorough
def test_the_page_shows_every_published_number_before_and_after():
    page = report.build(diagnose(FRAME, MARGINS))
    text = words(page)
    assert "120 training rows, margins of 2 columns of a population of 5,000 (census)" in text
    w = EntropyBalancing().fit(FRAME, X_target=MARGINS).weights_
    numbers = zip(MARGINS.balance(FRAME), MARGINS.balance(FRAME, w), strict=True)
    for before, after in numbers:
        line = f"{before.what} {before.target:.1%} {before.sample:.1%} {before.gap:+.3f} "
        assert line + f"{after.sample:.1%}" in text
    order = ["Verdict: moderate", "The published numbers", "Weights of the training rows"]
    order += ["What this report cannot show", "need rows of the target", "Reproducibility"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    for absent in ("Which method helps", "Column by column", "AUC", "Reliability", "seed"):
        assert absent not in text
    assert Page(page).tags.count("svg") == Page(page).tags.count("desc") == 2
    assert report.build(diagnose(FRAME, MARGINS)) == page


@pytest.mark.thorough
def test_estimate_comparison_and_labels_have_their_sections():
    found = estimate(FRAME, pd.Series(Y, name="ill"), MARGINS)
    rows = compare(FRAME, Y, MARGINS, learner="linear", methods=[]).rows_compared
    compared = comparison(gap_before=0.2, gap_after=0.01, smd_before=None)
    compared = replace(compared, rows_compared=rows)
    page = report.build(found, compared, command="covshift report a b")
    text = words(page)
    assert f'<h2 id="answer">{found.sentence}</h2>' in page
    assert "Keep the unweighted model" in text
    assert "gap left" in text
    assert "SMD" not in text
    assert "covshift report a b" in text
    refused = report.build(diagnose(FRAME, MARGINS), NoOverlapError("<nothing>"))
    assert "There is no number for this population." in refused


def test_given_weights_make_the_corrected_numbers():
    w = Raking().fit(FRAME[["age"]], X_target=MARGINS.select(["age"])).weights_
    text = words(report.build(diagnose(FRAME, MARGINS, weights=w)))
    after = MARGINS.balance(FRAME, w)[2]
    assert f"{after.sample:.1%} {after.gap:+.3f}" in text
    assert "Corrected with the given weights." in text
    known = words(report.build(diagnose(FRAME, MARGINS)))
    assert "corrected: with weights by entropy balancing." in known


@pytest.mark.thorough
def test_hostile_names_stay_text():
    columns = [name for name in HOSTILE if name != "\ud800"]
    frame = pd.DataFrame(dict.fromkeys(columns, FRAME.sex))
    margins = Margins({name: {"f": 0.3, "m": 0.7} for name in columns}, source=HOSTILE[0])
    page = Page(report.build(diagnose(frame, margins)))
    assert page.tags.count("script") == 2  # one of them is data
    assert "img" not in page.tags
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.thorough
def test_an_evaluation_which_needs_rows_is_refused():
    X = FRAME[["age"]]
    judged = evaluate(Predictions(Y, Y), X, Y, X)
    with pytest.raises(InputError, match="An evaluation needs target rows"):
        report.build(judged, diagnose(FRAME, MARGINS))


# The picture


def lines_of(ax):
    return {line.get_label(): line.get_xdata() for line in ax.lines if line.get_label()[0] != "_"}


def test_shares_are_drawn_as_they_are_in_the_order_of_the_margins():
    found = diagnose(FRAME, MARGINS)
    ax = Figure().subplots()
    display = found.plot(ax)
    assert isinstance(display, MarginsDisplay)
    assert display.ax_ is ax
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[::-1] == [number.what for number in found.numbers]
    drawn = lines_of(ax)
    for label, key in (("target", "target"), ("as sampled", "sample"), ("corrected", "corrected")):
        expected = [100 * getattr(number, key) for number in found.numbers][::-1]
        np.testing.assert_allclose(drawn[label], expected)
    assert ax.get_xlabel() == "share of the population (%)"


def test_beside_means_differences_are_drawn():
    margins = Margins({"age": {"mean": 45.0, "sd": 17.0}, "sex": SHARES["sex"]})
    found = diagnose(FRAME, margins)
    drawn = lines_of(found.plot(Figure().subplots()).ax_)
    assert not np.any(drawn["target"])
    mean = (FRAME.age.mean() - 45.0) / 17.0
    assert drawn["as sampled"][-1] == pytest.approx(mean)
    assert np.abs(drawn["corrected"]).max() < 1e-6
    assert [number.is_share for number in found.numbers] == [False, False, True, True]
    assert found.numbers[0].gap_corrected == pytest.approx(0, abs=1e-6)


def test_the_largest_differences_of_many_are_drawn():
    target = np.full(60, 0.01)
    sample = target + np.linspace(0, 0.1, 60)
    names = [f"n{k}" for k in range(60)]
    display = MarginsDisplay(names, target, sample, most=5).plot(Figure().subplots())
    shown = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert shown == ["n59", "n58", "n57", "n56", "n55"]
    assert "corrected" not in lines_of(display.ax_)
