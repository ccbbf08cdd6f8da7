"""Every answer is shown in the same way, and a table is laid out once."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from covshift import Margins, Predictions, diagnose, estimate, evaluate, report
from covshift.comparison import Comparison
from covshift.comparison.result import empty_row
from covshift.conformal import ConformalClassifier, ConformalRegressor
from covshift.diagnostics import diagnose_batches
from covshift.show import Answer, Note, Table
from covshift.show.answer import ASSUMPTION
from covshift.show.notes import plain
from covshift.show.table import Cell, Column, Record


def test_half_a_surrogate_pair_is_spelled_out_in_a_frame():
    assert Table.of(["a"], [["x\ud800"]]).to_frame()["a"].tolist() == ["x\\ud800"]


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(2, 120, 2))
    T[:, 0] += 0.3
    y = X[:, 0] + rng.normal(size=120)
    labels = (y > 0).astype(int)
    baseline = {**empty_row("none", "baseline"), "risk": 0.2, "standard_error": 0.01, "gain": 0.0}
    regressor = ConformalRegressor(LinearRegression(), random_state=0).fit(X, y, X_target=T)
    classifier = ConformalClassifier(LogisticRegression(), random_state=0)
    return [
        estimate(X, y, T),
        evaluate(LogisticRegression().fit(X, labels), X, labels, T, metrics=["accuracy"]),
        diagnose(X, T, methods=("cdf",)),
        diagnose(X, Margins({0: {"mean": 0.3, "sd": 1.0}})),
        diagnose_batches(X, {"May": T}, methods=()),
        Comparison([baseline], needed=2.0, notes=[Note("kind", "a note")]),
        regressor.predict_interval(T),
        classifier.fit(X, labels, X_target=T).predict_set(T),
    ]


def test_every_answer_has_a_sentence_a_table_notes_and_facts(answers):
    for answer in answers:
        assert isinstance(answer, Answer)
        text = str(answer)
        assert text.startswith(answer.sentence)
        assert all(len(line) <= 100 for line in text.split("\n")[1:])
        assert len(answer.table) >= 1
        data = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
        assert data["sentence"] == answer.sentence
        assert set(answer.facts) <= set(data)
        assert data["notes"] == [plain(note) for note in answer.notes]
        assert len(answer.to_frame()) >= 1


def test_the_assumption_stands_under_every_answer(answers):
    said = "given these columns, the outcome behaves the same in both groups"
    for answer in answers:
        assert said in answer.assumption
        assert " ".join(str(answer).split()).endswith(answer.assumption)
        assert answer.assumption in answer._repr_html_()
        assert answer.to_dict()["assumption"] == answer.assumption
        assert answer.caution == ""


@pytest.mark.thorough
def test_the_assumption_stands_in_every_report(answers):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    estimated, judged, found, of_margins, batches, compared, intervals, _ = answers
    for given in ((found,), (estimated,), (judged,), (found, intervals), (of_margins,)):
        assert f'<p class="assumption">{given[-1].assumption}</p>' in report.build(*given)
    assert compared.assumption in report.build(found, compared)
    for given in (batches.batches, {"May": (found, estimated, judged)}):
        first = next(iter(given.values()))
        said = ASSUMPTION if isinstance(first, tuple) else first.assumption
        assert f'<p class="assumption">{said}</p>' in report.build_batches(given)


@pytest.mark.thorough
def test_an_answer_of_few_effective_rows_says_so_first(answers):
    estimated, judged, found, *_, intervals, _ = answers
    by_weights = estimated, replace(judged, method="dr")
    pairs = [(replace(answer, effective_sample_size=9.0), 120) for answer in by_weights]
    pairs.append((replace(intervals, effective_sample_size=5.0), intervals.n_calibration))
    for few, rows in pairs:
        lines = str(few).splitlines()
        assert lines[0] == few.sentence
        assert lines[1].startswith("Few rows carry the weights: effective sample size ")
        assert f"of {rows} rows" in few.caution
        assert few.to_dict()["caution"] == few.caution
    page = report.build(found, pairs[0][0])
    assert page.index(pairs[0][0].caution) < page.index("<strong>Verdict:")
    page = report.build_batches({"May": (found, pairs[0][0])})
    assert page.index("Few rows carry the weights for May") < page.index('id="targets"')
    assert page.count(pairs[0][0].caution) >= 1
    assert replace(estimated, method="none", effective_sample_size=9.0).caution == ""


def test_the_repr_of_an_answer_is_its_sentence_and_no_array(answers):
    for answer in answers:
        assert repr(answer) == f"<{type(answer).__name__}: {answer.sentence}>"


def test_an_answer_survives_pickling(answers):
    for answer in answers[:6]:
        assert str(pickle.loads(pickle.dumps(answer))) == str(answer)


@dataclass(frozen=True)
class Found(Record):
    name: str
    value: float
    interval: tuple[float, float]

    _columns = (
        Column("name", lambda row: row.name, words=True, most=6),
        Column("value", lambda row: Cell(f"{row.value:.1f}", row.value)),
    )


ROWS = (Found("long enough", 10.0, (9.0, 11.0)), Found("b", 2.5, (2.0, 3.0)))


def decimals(cells):
    return {len(number.partition(".")[2]) for cell in cells for number in cell.split(" to ")}


def test_a_column_of_numbers_has_one_number_of_decimals():
    """Of the smallest error's two digits; what has few rows has them as well."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(300, 1)), rng.normal(0.2, 1, size=(200, 1))
    by = np.repeat(["few", "many"], [12, 288]), np.repeat(["few", "many"], [20, 180])
    y = 100 + X[:, 0] + np.where(by[0] == "few", 20, 0.1) * rng.normal(size=300)
    options = {"by": by, "outcome_model": LinearRegression(), "weighter": "entropy"}
    found = estimate(X, y, T, **options)
    errors = [row.standard_error for row in found.estimates]
    assert max(errors) > 10 * min(errors)  # each by itself would have fewer
    said = Predictions(X[:, 0] + 100, T[:, 0] + 100, task="numbers")
    judged = evaluate(said, X, y, T, metrics="mae", **options)
    for table in (*islice(found._parts(), 2), next(iter(judged._parts()))):
        for k in range(1, table.head.index("interval") + 1):
            cells = [row[k].text for row in table.rows]
            assert len(decimals(cells)) == 1, (table.head[k], cells)


def test_one_table_as_text_as_html_and_as_lines():
    table = Table(ROWS, title="title", about="about", chosen={1})
    assert str(table) == "title\n  name    value\n  long …   10.0\n  b *       2.5\n  about"
    html = table._repr_html_()
    assert "long enough" in html
    assert "<p>title</p><table>" in html
    assert table.data()[1] == {"name": "b", "value": 2.5, "low": 2.0, "high": 3.0}
    assert list(table.to_frame().columns) == ["name", "value", "low", "high"]
    assert repr(table) == "<Table of 2 rows: name, value>"


def test_a_table_is_a_sequence_of_its_records():
    table = Table(ROWS)
    assert table[0] is ROWS[0]
    assert list(table[1:]) == [ROWS[1]]
    assert table.where(name="b") == Table(ROWS[1:])
    assert table != Table(ROWS[1:])
    assert str(table.where(name="none")) == ""


def test_a_table_that_is_cut_counts_the_rest():
    table = Table.of(("a", "b"), [("x", Cell("1", 1.0))] * 7, most=5, unit="columns")
    assert str(table).split("\n")[-1] == "  and 2 more columns"
    assert "and 2 more columns" in table._repr_html_()
    assert table.data()[6] == {"a": "x", "b": 1.0}
