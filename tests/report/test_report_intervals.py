"""The report shows what intervals and sets promise on the target, and what they cost."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from report.test_report import HOSTILE, Page
from sklearn.linear_model import LinearRegression, LogisticRegression

from covshift import ConformalClassifier, ConformalRegressor, diagnose, report
from covshift.conformal import ExpectedCoverage
from covshift.exceptions import InputTypeError
from covshift.show.notes import Note


def shifted():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(80, 2)), rng.normal(0.3, 1.0, size=(70, 2))
    X[:, 1], T[:, 1] = X[:, 1] > 0, T[:, 1] > 0
    return X, T, X[:, 0] + rng.normal(size=80)


@pytest.fixture(scope="module")
def samples():
    return shifted()


@pytest.fixture(scope="module")
def intervals(samples):
    X, T, y = samples
    model = ConformalRegressor(LinearRegression(), random_state=0).fit(X, y, X_target=T)
    return model.predict_interval(T)


@cache
def diagnosis():
    X, T, _ = shifted()
    return diagnose(X, T, methods=())


def built(found):
    page = Page(report.build(diagnosis(), found))
    assert len(set(page.ids)) == len(page.ids)
    return page, " ".join(" ".join(page.words).split())


@pytest.mark.thorough
def test_the_report_shows_coverage_width_and_picture(intervals):
    page, words = built(intervals)
    expected = intervals.expected_coverage
    low, high = expected.interval
    value = f"expected {expected.value:.1%} on the target (95% interval {low:.1%} to {high:.1%})."
    assert f"Prediction intervals of coverage 90%: {value}" in words
    assert words.index(value) < words.index("Verdict:")
    for fact in (
        f"Effective calibration rows {intervals.effective_sample_size:,.0f} of 40",
        f"Infinite intervals {intervals.share_infinite:.1%}",
        f"Mean width {intervals.mean_width:.4g}",
    ):
        assert fact in words
    assert "intervals-text" in page.ids
    widths = (intervals.upper - intervals.lower)[~intervals.infinite]
    assert f"finite widths {np.quantile(widths, 0.25):.4g}," in words


@pytest.mark.thorough
def test_the_report_says_that_target_rows_have_calibrated(samples, intervals):
    X, T, y = samples
    known = np.where(np.arange(70) < 20, T[:, 0] + 1, np.nan)
    model = ConformalRegressor(LinearRegression(), weighter=None, random_state=0)
    words = built(model.fit(X, y, X_target=T, y_target=known).predict_interval(T))[1]
    assert "Effective calibration rows 20 of 20 target rows with an outcome" in words
    assert "carried to the target" not in words
    assert "carried to the target" in built(intervals)[1]


@pytest.mark.thorough
def test_groups_have_a_line_each_and_their_names_stay_text(intervals):
    groups = {HOSTILE[0]: (0.87, (0.8, 0.9)), "b": (0.912, (0.85, 0.95))}
    asked = ExpectedCoverage(0.9, 0.01, (0.88, 0.92), groups)
    page, words = built(replace(intervals, _expected=lambda: asked))
    assert page.tags.count("script") == 2  # one of them is data
    assert f"{HOSTILE[0]} 87.0% 80.0% to 90.0%" in words
    assert "b 91.2% 85.0% to 95.0%" in words


def test_a_coverage_that_is_not_known_says_why(intervals):
    unknown = ExpectedCoverage(np.nan, np.nan, (0.0, 1.0), note="too few <rows>.")
    _, words = built(replace(intervals, _expected=lambda: unknown))
    assert "expected coverage on the target not known." in words
    assert "not known too few <rows>." in words
    assert "nan" not in words.lower().split()


@pytest.mark.thorough
def test_intervals_that_are_all_infinite_still_make_a_page(intervals):
    nothing = np.full(len(intervals), np.inf)
    _, words = built(replace(intervals, lower=-nothing, upper=nothing))
    assert "Infinite intervals 100.0%" in words
    assert "none finite; 100.0% are infinite." in words


@pytest.mark.thorough
def test_sets_show_their_sizes(samples):
    X, T, y = samples
    classes = np.digitize(y, [-0.5, 0.5])
    model = ConformalClassifier(LogisticRegression(), random_state=0).fit(X, classes, X_target=T)
    found = model.predict_set(T)
    _, words = built(found)
    assert "Prediction sets of coverage 90%" in words
    assert f"Mean size {found.mean_size:.2f} of 3 classes" in words
    table = words[words.index("Sizes of the sets") :]
    for size in range(4):
        count = int((found.member.sum(axis=1) == size).sum())
        line = f"{size} {count:,} {count / 70:.1%}"
        assert (line in table) == (count > 0)


@pytest.mark.thorough
def test_the_outlook_of_the_diagnosis_is_there_where_intervals_would_be_infinite():
    found = diagnosis()
    for share in (0.0, 0.125):
        outlook = replace(found, intervals=replace(found.intervals, infinite_share=share))
        words = " ".join(" ".join(Page(report.build(outlook)).words).split())
        assert ("Predictions without an interval 12.5%" in words) == (share > 0)
        assert "Mean width" not in words


def test_notes_of_the_intervals_are_shown(intervals):
    noted = replace(intervals, notes=(Note("few rows", f"Rough: {HOSTILE[1]}", "warning"),))
    page, words = built(noted)
    assert f"Rough: {HOSTILE[1]}" in words
    assert "img" not in page.tags


def test_anything_else_is_refused():
    with pytest.raises(InputTypeError, match="predict_interval and predict_set"):
        built(np.zeros((70, 2)))
