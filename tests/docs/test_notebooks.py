"""What a notebook shows of a result: a table, with everything in it escaped."""

from __future__ import annotations

import dataclasses
import inspect
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import covshift
from covshift import Margins, diagnose, estimate, evaluate
from covshift.comparison import Comparison
from covshift.comparison.result import empty_row
from covshift.conformal import ConformalClassifier, ConformalRegressor
from covshift.diagnostics import RowFlags, diagnose_batches, restrict
from covshift.estimates import Quantity
from covshift.show.table import Record, Table, card

HOSTILE = '<script>alert("x")</script>&\x1b[31m'
TAGS = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "br"}
NO_RESULTS = {"Method", "Cost", "Predicted", "Predictions", "Trimmed"}  # asked for, not found


def public_results():
    """Every public class that holds what a question found."""
    for name in ("estimates", "evaluations", "comparison", "diagnostics", "conformal", "margins"):
        module = getattr(covshift, name)
        for public in module.__all__:
            found = getattr(module, public)
            if not inspect.isclass(found) or hasattr(found, "fit") or public in NO_RESULTS:
                continue
            if issubclass(found, Quantity):
                continue
            if dataclasses.is_dataclass(found) or issubclass(found, tuple) or found is Margins:
                yield pytest.param(found, id=f"{name}.{public}")


@pytest.mark.parametrize("result", list(public_results()))
def test_every_public_result_shows_itself_in_notebooks(result):
    assert callable(getattr(result, "_repr_html_", None))


class Tags(HTMLParser):
    """Tags that are opened, and whether all are closed in order."""

    def __init__(self, html):
        super().__init__()
        self.seen, self.open = set(), []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def shown(result):
    """The HTML of a result, checked: well formed, a table, nothing that runs, no control codes."""
    html = result._repr_html_()
    tags = Tags(html)
    assert not tags.open
    assert "table" in tags.seen
    assert tags.seen <= TAGS
    assert "\x1b" not in html
    return html


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    names = [HOSTILE, "b"]
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=names)
    T = pd.DataFrame(rng.normal(0.4, 1.0, size=(100, 2)), columns=names)
    group = [rng.choice([HOSTILE, "other"], size=n) for n in (120, 100)]
    return X, T, group, rng.normal(size=120) + X["b"].to_numpy()


def test_an_estimate(rows):
    X, T, group, y = rows
    found = estimate(X, pd.Series(y, name=HOSTILE), T, by=(group[0], group[1]))
    assert "Adjusted to the target population" in shown(found)
    for part in (found.table, found.table[0], found.changes[0]):
        assert "&lt;script&gt;" in shown(part)
    assert len(found.table) == shown(found.table).count('<th scope="row"')


@pytest.mark.thorough
def test_an_evaluation(rows):
    X, T, _, y = rows
    labels = np.where(y > 0, "yes", HOSTILE)
    model = LogisticRegression().fit(X, labels)
    other = LogisticRegression(C=0.01).fit(X, labels)
    found = evaluate(
        {HOSTILE: model, "b": other},
        X,
        labels,
        T,
        metrics=["accuracy", "roc_auc"],
        y_target=np.where(T["b"] > 0, "yes", HOSTILE),
    )
    for part in (
        found,
        found.table,
        found.table[0],
        found.differences[0],
        found.changes[0],
        found.curves[0],
    ):
        assert "&lt;script&gt;" in shown(part)
    assert "share of positives" in shown(found.curves[0])
    assert "interval" in shown(found.curves[0].reliability)
    assert "auc" in shown(found.curves[0].roc)


def test_a_diagnosis(rows):
    X, T, _, _ = rows
    found = diagnose(X, T)
    html = shown(found)
    assert f"Verdict: {found.verdict}" in html
    assert "&lt;script&gt;" in html
    for name in ("smd corrected", "p value"):
        assert name in shown(found.features[0])
    for part in (found.auc, found.methods[0], found.support, found.intervals):
        shown(part)
    batches = diagnose_batches(X, {HOSTILE: T, "same": X}, methods=())
    assert shown(batches).count('<th scope="row"') == 2


def test_target_rows_that_are_left_out(rows):
    X, T, _, _ = rows
    far = T.copy()
    far.iloc[:40, 0] += 50
    kept = restrict(X, far)
    assert f"{len(kept.rows)} of 100 target rows are kept" in shown(kept)
    assert "&lt;script&gt;" in shown(kept.flags)
    shown(diagnose(X, far, methods=()).support.uncovered[0])
    none = RowFlags(np.zeros(3, dtype=bool), np.full(3, -1), ())
    assert "0 of 3 target rows" in none._repr_html_()


def test_margins_and_their_diagnosis(rows):
    X, _, group, _ = rows
    frame = X[["b"]].assign(**{HOSTILE: group[0]})
    margins = Margins(
        {HOSTILE: {HOSTILE: 40, "other": 60}, "b": {"mean": 0.2, "sd": 1.0}}, source=HOSTILE
    )
    assert shown(margins).count("&lt;script&gt;") >= 2
    found = diagnose(frame, margins)
    assert "&lt;script&gt;" in shown(found)
    for part in (found.margins[0], found.numbers[0]):
        assert "&lt;script&gt;" in shown(part)


@pytest.mark.thorough
def test_intervals_and_sets(rows):
    X, T, _, y = rows
    X, T = X.to_numpy(), T.to_numpy()
    model = ConformalRegressor(LinearRegression(), random_state=0).fit(X, y, X_target=T)
    found = model.predict_interval(T)
    html = shown(found)
    assert html.count('<th scope="row"') == 5
    assert "and 95 more rows" in html
    assert str(found).splitlines()[0] in html
    shown(found.expected_coverage)
    labels = np.where(y > 0, "yes", HOSTILE)
    sets = ConformalClassifier(LogisticRegression(), random_state=0).fit(X, labels, X_target=T)
    assert "&lt;script&gt;" in shown(sets.predict_set(T))


def test_a_comparison():
    plain = {**empty_row("none", "baseline"), "risk": 0.2, "standard_error": 0.01, "gain": 0.0}
    better = {**empty_row(HOSTILE, "weights", note=HOSTILE), "risk": 0.1, "gain": 0.1}
    found = Comparison([plain, better | {"gain_standard_error": 0.01}], needed=2.0)
    html = shown(found)
    assert html.count('<th scope="row"') == 2
    assert "recommended" in html
    assert html.count("&lt;script&gt;") == 3  # in the sentence, as a name, in the note


def test_long_tables_are_cut_and_say_so():
    html = Table.of(("a", "b"), [("x", "1")] * 7, most=5)._repr_html_()
    assert html.count("<tr>") == 1 + 5 + 1
    assert "and 2 more" in html


def test_a_record_writes_every_kind_of_value():
    @dataclasses.dataclass
    class Found(Record):
        number: float
        none: float
        flag: bool
        interval: tuple[float, float]
        array: object
        parts: dict
        _hidden: str = "secret"

    html = Found(1234.5678, np.nan, True, (0.1, np.inf), np.arange(20.0), {"<b>": 1})._repr_html_()
    for text in ("1,235", "–", "yes", "0.1 to inf", "12 more", "&lt;b&gt;: 1"):
        assert text in html, text
    assert "secret" not in html


def test_nothing_to_show_leaves_no_empty_tags():
    assert card("first") == "<div><p><strong>first</strong></p></div>"
