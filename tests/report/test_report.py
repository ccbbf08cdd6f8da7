"""The report is one page that needs nothing else, shows names as text, and can be repeated."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from covshift import Predictions, Target, compare, diagnose, estimate, evaluate, report
from covshift.cli.labels import Outcomes
from covshift.comparison import Comparison
from covshift.comparison.result import empty_row
from covshift.data import Samples
from covshift.data.features import made_of
from covshift.datasets import make_survey
from covshift.diagnostics import standardized_mean_differences
from covshift.diagnostics.measure import corrected, diagnose_samples
from covshift.exceptions import InputError, InputTypeError, NoOverlapError
from covshift.files import writing as _files
from covshift.registry import weighters
from covshift.report.pictures import metrics
from covshift.report.shift import weights_words
from covshift.show.table import Table

HOSTILE = [
    "<script>alert(1)</script>",
    "</script></style><img src=x onerror=alert(2)>",
    "$x_{",
    "\"double\" 'single' & amp; {{ 7 * 7 }}",
    "名前\x00\x1b[31m " + "long_" * 60,
    'id="axes_1" url(#p1) href="#p2"',
    "\ud800",
    "plain",
]
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Opens and closes elements, and keeps what the tests ask about."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.tags, self.attributes, self.words = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(80, 8)), rng.normal(0.3, 1.0, size=(70, 8))
    return X, T, (X[:, 0] + rng.normal(size=80) > 0).astype(int)


@pytest.fixture(scope="module")
def one(samples):
    """The diagnosis of the first column of both samples, for tests of everything else."""
    return diagnose(samples[0][:, :1], samples[1][:, :1], methods=())


@pytest.fixture(scope="module")
def two(samples):
    X, T = samples[0][:, :2], samples[1][:, :2]
    return diagnose(X, T, weights=np.ones(80), methods=())


def diagnosed(X, T, names, weights=None):
    """A diagnosis of columns of these names, also of those that no data frame takes."""
    both = replace(Samples.of_rows(X, T), names=tuple(names), made=made_of(names))
    found = diagnose_samples(both, methods=())
    return found if weights is None else corrected(found, both, weights, "the given weights")


@pytest.fixture(scope="module")
def hostile(samples):
    X, T, _ = samples
    return report.build(
        diagnosed(X, T, HOSTILE),
        compared(samples, note=HOSTILE[1]),
        title=HOSTILE[1],
        command=HOSTILE[0],
        date="<today>",
    )


def comparison(**changes):
    """A comparison of which nothing but the table is known."""
    row = {
        "risk": 0.25,
        "standard_error": 0.01,
        "true_risk": 0.125,
        "smd_before": 0.3,
        "seconds": 0.5,
        **changes,
    }
    rows = [empty_row("none", "baseline") | row]
    return Comparison(rows, 2.0, learner="linear", scored_on_target_labels=True)


def compared(samples, **changes):
    """The same beside rows that a model was fitted to."""
    X, T, y = samples
    found = compare(X, y, T, learner="linear", methods=[])
    return replace(comparison(**changes), rows_compared=found.rows_compared)


def test_the_page_is_well_formed_and_its_ids_are_unique(hostile):
    page = Page(hostile)
    assert len(page.ids) == len(set(page.ids)) > 20
    pictures = page.tags.count("svg")
    assert pictures == 1 + 6 + 1 + 1  # love, six features, weights, overlap
    assert page.tags.count("desc") == pictures
    assert page.attributes.count(("role", "img")) == pictures


def test_hostile_names_stay_text(hostile):
    page = Page(hostile)
    assert page.tags.count("script") == 2  # one of them is data
    assert "img" not in page.tags
    names = {name for name, _ in page.attributes}
    assert not [name for name in names if name.startswith("on")]
    assert page.words.count(HOSTILE[0]) >= 2  # in the table and in the command
    assert any("{{ 7 * 7 }}" in word for word in page.words)
    assert HOSTILE[5] in page.words
    assert "\x00" not in hostile
    hostile.encode("utf-8")


def test_nothing_is_fetched(hostile):
    text = hostile.replace('http-equiv="Content', "")
    assert "http" not in text
    page = Page(hostile)
    for name, value in page.attributes:
        if name in ("src", "href", "xlink:href"):
            assert name == "href"
            assert value.startswith("#")
            assert value[1:] in page.ids
        for link in re.findall(r"url\((.*?)\)", value or "") if name != "aria-label" else ():
            assert link[1:] in page.ids
    policy = dict(page.attributes)["content"]
    assert "default-src 'none'" in hostile
    assert policy
    assert re.search(r"script-src &#39;sha256-|script-src 'sha256-", hostile)


@pytest.mark.thorough
def test_the_same_input_gives_the_same_bytes(samples):
    X, T, _ = samples
    pages = [report.build(diagnose(X[:, :2], T[:, :2])) for _ in range(2)]
    assert pages[0] == pages[1]


def test_the_verdict_comes_first_and_the_numbers_are_there():
    survey = make_survey(300, 400, random_state=0)
    given = survey.X, survey.X_target, survey.y
    found = diagnosed(*given[:2], survey.feature_names)
    text = report.build(compared(given), found, command="covshift report a b", date="2026-11-15")
    words = " ".join(Page(text).words)
    order = [
        "Verdict: moderate",
        "Keep the unweighted model",
        "How far the means are apart",
        "Column by column",
        "Weights of the training rows",
        "Where the two samples lie",
        "Reproducibility",
        "covshift report a b",
        "versions",
    ]
    places = [words.index(part) for part in order]
    assert places == sorted(places)
    assert "0.125" in words
    assert "2026-11-15" in words


@pytest.mark.thorough
def test_given_weights_are_used(samples, estimates):
    X, T = samples[0][:, :1], samples[1][:, :1]
    w = np.linspace(1, 3, 80)
    found = diagnose(X, T, weights=w, methods=())
    text = report.build(found)
    assert "Corrected with the given weights." in " ".join(Page(text).words)
    assert numbers_of(text)["means"][0]["weighted"] == pytest.approx(w @ X[:, 0] / w.sum())
    assert numbers_of(text)["weights"]["effective_sample_size"] == pytest.approx(
        w.sum() ** 2 / (w @ w)
    )
    assert found.features[0].smd_corrected == pytest.approx(
        standardized_mean_differences(X, T, np.full(70, 1 / 70), w)[0]
    )
    of_answer = diagnose(X, T, weights=estimates, methods=())
    np.testing.assert_array_equal(of_answer.weights, estimates.weights)
    assert f"Corrected with {weights_words(estimates.weighter)}." in " ".join(
        Page(report.build(of_answer)).words
    )
    with pytest.raises(ValueError, match="weights has shape"):
        diagnose(X, T, weights=[1.0], methods=())


@pytest.mark.thorough
def test_awkward_samples_still_make_a_page():
    wide = np.zeros((12, 1)), np.ones((11, 1))
    huge = np.array([[1.7e308, 1.0], [0.0, 1.0], [1.0, 1.0]]), np.array([[-1.7e308, 1.0]])
    for X, T in (huge, (np.ones((1, 1)), np.ones((1, 1)))):
        Page(report.build(diagnose(X, T)))
    text = report.build(diagnose(*wide))
    assert "Verdict: no overlap" in text
    assert "do not use them as a correction" in text


@pytest.fixture(scope="module")
def estimates(samples):
    X, T, y = samples
    names = Outcomes({HOSTILE[0]: y.tolist()})
    groups = np.where(np.arange(80) % 2, HOSTILE[1], "even")
    return estimate(X[:, :2], names, T[:, :2], by=groups)


@pytest.mark.thorough
def test_the_report_opens_with_the_number_of_the_population(two, estimates):
    text = report.build(estimates, two)
    page = Page(text)
    words = " ".join(page.words)
    assert 0 < words.index(estimates.sentence) < words.index("Verdict:")
    assert page.tags.count("script") == 2  # one of them is data
    assert "img" not in page.tags
    assert HOSTILE[0] in page.words
    for row in estimates.table:
        assert f'<td data-value="{row.value!r}">' in text
    assert "Estimates with their intervals." in words  # for those who do not see the picture
    assert len(page.ids) == len(set(page.ids))
    assert "The groups are known of the sample alone" in words


@pytest.mark.thorough
def test_without_overlap_the_report_says_so_instead_of_a_number(one):
    error = NoOverlapError("The training rows do not cover <b>this</b>.")
    text = report.build(one, error)
    words = " ".join(Page(text).words)
    assert words.index("There is no number") < words.index("The training rows do not cover <b>")
    assert "Estimates with their intervals." not in words


@pytest.fixture(scope="module")
def evaluations(samples):
    """Two models with hostile names, groups, batches, and a few labels of the target."""
    X, T, y = samples
    rng = np.random.default_rng(1)
    said = {HOSTILE[0]: (X[:, 0], T[:, 0]), "noise": (rng.normal(size=80), rng.normal(size=70))}
    parity = np.where(np.arange(80) % 2, HOSTILE[1], "even")
    return evaluate(
        Predictions(*({name: part[k] for name, part in said.items()} for k in (0, 1))),
        X[:, :2],
        y,
        Target(T[:, :2], batch=np.where(np.arange(70) < 35, HOSTILE[3], "late")),
        metrics=["accuracy", "roc_auc"],
        by=(parity, parity[:70]),
        y_target=[int(T[k, 0] > 0) if k % 3 == 0 else None for k in range(70)],
    )


@pytest.mark.thorough
def test_the_report_shows_an_evaluation(two, evaluations):
    text = report.build(two, evaluations)
    page = Page(text)
    words = " ".join(page.words)
    assert 0 < words.index(evaluations.sentence) < words.index("Verdict:")
    assert page.tags.count("script") == 2  # one of them is data
    assert "img" not in page.tags
    assert len(page.ids) == len(set(page.ids))
    assert "AUC with intervals." in words  # for those who do not see the pictures
    assert "expected in every batch of the target." in words
    labels = evaluations.table.where(method="labels")
    assert labels
    assert evaluations.differences
    rows = [*evaluations.performances, *evaluations.table.where(group=None)]
    rows += [*evaluations.differences, *labels]
    first = evaluations.table[0].model
    rows += [r for b in evaluations.batches.values() for r in b.overall.where(model=first)]
    for row in rows:
        assert f'<td data-value="{row.value!r}">' in text
    for batch in evaluations.batches:
        assert batch in page.words
    for change in evaluations.changes:
        assert f"p = {change.p_value:.2g}" in words
    for note in evaluations.notes:
        assert str(note) in words


@pytest.mark.thorough
def test_a_number_and_an_evaluation_stand_in_one_report(two, estimates, evaluations):
    table = Table(tuple(row for row in evaluations.table if row.method in ("dr", "none")))
    found = replace(evaluations, table=table, method="dr", batches={}, changes=(), differences=())
    text = report.build(found, estimates, two)
    words = " ".join(Page(text).words)
    assert words.index(estimates.sentence) < words.index(found.sentence) < words.index("Verdict:")
    for title in ("Batches of the target", "Differences between models", "Labels of the target"):
        assert title not in words


def test_only_metrics_of_one_unit_share_a_panel(samples):
    X, T, labels = samples
    y, f = 1000 * X[:, 0] + 300 * X[:, 1], (1000 * X[:, 0], 1000 * T[:, 0])
    errors = evaluate(Predictions(*f), X[:, :2], y, T[:, :2])
    assert [row.metric for row in errors.overall] == ["rmse", "mae", "r2"]
    both, alone = metrics(errors)
    assert ">RMSE<" in both.svg
    assert ">MAE<" in both.svg
    assert ">R²<" not in both.svg
    assert alone.title == "R²"
    scores = Predictions(*(1 / (1 + np.exp(-part[:, 0])) for part in (X, T)))
    asked = ["roc_auc", "brier"]
    judged = evaluate(scores, X[:, :2], labels, T[:, :2], metrics=asked)
    assert [panel.title for panel in metrics(judged)] == ["AUC", "Brier score"]


def test_without_overlap_there_is_no_number_for_the_model(one):
    X, T = np.zeros((20, 1)), np.ones((20, 1))
    with pytest.raises(NoOverlapError) as refused:
        evaluate(Predictions(np.arange(20.0), np.arange(20.0)), X, np.arange(20.0), T)
    text = report.build(one, refused.value)
    words = " ".join(Page(text).words)
    start = words.index("There is no number for the model")
    assert start < words.index("The training rows do not cover the target.")
    assert "with intervals." not in words
    assert numbers_of(text)["evaluations"] == {"refused": str(refused.value)}


@pytest.mark.thorough
def test_without_a_diagnosis_that_of_the_answer_is_shown(estimates):
    text = report.build(estimates)
    assert f"Verdict: {estimates.diagnosis.verdict}" in text
    assert numbers_of(text)["diagnosis"] == estimates.diagnosis.to_dict()


def test_bad_answers_are_named(samples, one):
    with pytest.raises(InputTypeError, match=r"takes answers, not ndarray: results of covshift\."):
        report.build(samples[0], samples[1])
    with pytest.raises(InputError, match="Two answers are diagnosis"):
        report.build(one, one)
    with pytest.raises(InputError, match=r"no diagnosis\. Pass the result of covshift\.diagnose"):
        report.build(NoOverlapError("far"), comparison())


def test_writing_replaces_the_whole_file_or_nothing(one, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_files.os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            report.write(path, one)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text(encoding="utf-8") == "old"
    report.write(str(path), one)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert len(list(Path(tmp_path).iterdir())) == 1


def numbers_of(text):
    start = text.index('<script type="application/json" id="numbers">')
    return json.loads(text[text.index(">", start) + 1 : text.index("</script>", start)])


@pytest.mark.thorough
def test_the_page_has_the_methods_sections_and_checklists(two, estimates, evaluations):
    text = unescape(report.build(two, estimates, evaluations))
    for answer in (estimates, evaluations):
        assert answer.methods_text() in text
        for line in answer.checklist():
            assert line["item"] in text
    assert 'id="paper"' not in report.build(two)


@pytest.mark.thorough
def test_the_page_holds_its_numbers_as_json(samples, one, two, estimates, evaluations, hostile):
    X, T, _ = samples
    text = report.build(two, estimates, evaluations)
    found = numbers_of(text)
    assert found["estimates"] == estimates.to_dict()
    assert found["evaluations"] == evaluations.to_dict()
    assert found["weights"]["effective_sample_size"] == 80
    for k, line in enumerate(sorted(found["means"], key=lambda line: line["mean or share"])):
        assert line["sample"] == line["weighted"] == pytest.approx(X[:, k].mean())
        assert line["target"] == pytest.approx(T[:, k].mean())
    assert numbers_of(hostile)["title"] == HOSTILE[1]
    assert numbers_of(hostile)["comparison"]["rows"][0]["risk"] == 0.25
    refused = report.build(one, NoOverlapError("<far>"))
    assert numbers_of(refused)["estimates"] == {"refused": "<far>"}


@pytest.mark.thorough
def test_files_and_outcome_stand_on_top(one, estimates):
    names = {"train": "<a>.csv", "target": "b.csv", "outcome": "<score>"}
    words = " ".join(Page(report.build(one, names=names)).words)
    places = [words.index(name) for name in (*names.values(), "Verdict:")]
    assert places == sorted(places)
    assert numbers_of(report.build(estimates))["samples"]["outcome"] == HOSTILE[0]


def test_weights_are_named_in_words(samples):
    for entry in weighters():
        words = weights_words(entry.name)
        assert words == weights_words(entry.path.rpartition(":")[2])
        assert words.startswith("weights ")
        assert "covariate" not in words
    X, T = (part[:, :2] for part in samples[:2])
    page = said(report.build(diagnose(X, T, methods=["entropy"])))
    shown = page[: page.index("Reproducibility")]
    assert "Corrected with weights under which the distribution function of every column" in shown
    assert "weights by entropy balancing" in shown
    for entry in weighters():
        assert entry.path.rpartition(":")[2] not in shown


def test_the_advice_to_compare_is_not_given_above_the_comparison(samples):
    X, T = (part[:, :2] for part in samples[:2])
    found = diagnose(X, T + 0.4, methods=())
    assert found.verdict == "moderate"
    advice = f"Next: {found.advice}"
    assert advice in said(report.build(found))
    beside = said(report.build(found, comparison()))
    assert "Does a correction help the model?" in beside
    assert "Next:" not in beside
    strong = replace(found, verdict="strong")  # whose advice is another
    assert advice in said(report.build(strong, comparison()))


def said(page):
    return " ".join(" ".join(Page(page).words).split())


def test_names_of_columns_are_shown_as_they_are(samples):
    pandas = pytest.importorskip("pandas")
    names = ["age_at_visit", "iPhone"]
    X, T = (pandas.DataFrame(part[:, :2], columns=names) for part in samples[:2])
    page = said(report.build(estimate(X, pandas.Series(samples[2], name="hba1c"), T)))
    for name in (*names, "hba1c"):
        assert name in page
        assert name[0].upper() + name[1:] not in page


@pytest.mark.thorough
def test_columns_of_two_values_have_shares_and_bars():
    rng = np.random.default_rng(0)
    X, T = np.repeat([0.0, 1.0], [60, 20])[:, None], np.repeat([0.0, 1.0], [20, 60])[:, None]
    X, T = (np.hstack([rows, rng.normal(size=(80, 1))]) for rows in (X, T))
    w = np.repeat([1.0, 9.0], [60, 20])
    text = report.build(diagnosed(X, T, ["urban", "age"], w))
    words = " ".join(" ".join(Page(text).words).split())
    assert "urban = 1 25.0% 75.0% 75.0%" in words
    assert ">share of rows<" in text
    assert ">share of rows up to x<" in text


def test_pictures_take_their_colours_from_the_page(hostile):
    drawn = re.findall(r"<svg.*?</svg>", hostile, re.DOTALL)
    styles = " ".join(re.findall(r'style="([^"]*)"', " ".join(drawn)))
    assert "var(--ink, #000000)" in styles
    assert re.findall(r"(?:fill|stroke): #[0-9a-f]{6}", styles) == []
    defined = re.findall(r"(--\w+):", hostile[: hostile.index("</style>")])
    assert set(re.findall(r"var\((--\w+)", styles)) <= set(defined)


@pytest.mark.thorough
def test_two_hundred_columns_stay_below_a_megabyte():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(40, 200)), rng.normal(0.2, 1.0, size=(40, 200))
    names = [f"a column with a long name {k}" for k in range(200)]
    text = report.build(diagnosed(X, T, names))
    assert text.count("a column with a long name 199") >= 3  # in both tables and as data
    assert text.count('<p class="soft long">200 rows') == 2
    assert "The 30 largest of 200." in text
    few = report.build(diagnosed(X[:, :40], T[:, :40], names[:40]))
    assert '<p class="soft long">' not in few
    assert len(text.encode()) < 700_000  # more rows add dots, at most 300 kB of them
