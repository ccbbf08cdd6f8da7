"""A report on several targets: one table of all, a section for each, in the order people expect."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from command import covshift, rows, write
from report.test_report import HOSTILE, Page, comparison, diagnosed
from sklearn.linear_model import LogisticRegression

from covshift import Margins, Predictions, diagnose, estimate, evaluate, report
from covshift.exceptions import InputError, NoOverlapError
from covshift.numerics import crossfit
from covshift.show.words import in_order


@pytest.mark.parametrize(
    "names",
    [
        ["batch 1", "batch 2", "batch 10", "Batch 11"],
        ["-1.5", "2", "10"],
        ["2024-12-31", "2025-01-01", "2025-10-01"],
        ["Jan", "February", "Mar", "dec"],
        ["Dec 2024", "Jan 2025", "Feb 2025"],
        ["31.12.2024", "01.01.2025", "01.02.2025"],
        ["Q4 2024", "Q1 2025"],
        ["2024q2", "2024Q4"],
        ["a", "b", "nan"],
    ],
)
def test_names_come_in_natural_order_and_dates_in_that_of_time(names):
    assert in_order(reversed(names)) == names


def numbers_of(page):
    return json.loads(re.search(r'id="numbers">(.*?)</script>', page, re.DOTALL)[1])


@pytest.fixture(scope="module")
def months():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(80, 3)), rng.normal(0.4, 1.0, size=(60, 3))
    y = X[:, 0] + rng.normal(size=80)
    found = diagnosed(X, T, HOSTILE[:3], np.ones(80))
    judged = evaluate(Predictions({"mine": X[:, 0]}, {"mine": T[:, 0]}), X, y, T)
    answer = estimate(X, y, T, random_state=0)
    return X, T, found, answer, judged


@pytest.fixture(scope="module")
def page(months):
    _, _, found, answer, judged = months
    refused = NoOverlapError("No overlap <here>.")
    answers = {
        "May": (found, answer, judged),
        HOSTILE[1]: (refused, judged, found),
        "July": (found, judged),
    }
    return report.build_batches(answers, title="Months", names={"outcome": "score"})


@pytest.mark.thorough
def test_every_target_has_a_line_and_a_section(page, months):
    found, answer, judged = months[2:]
    parsed = Page(page)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert {"target-1", "target-2", "target-3"} <= set(parsed.ids)
    assert all(f'<a href="#target-{k}">' in page for k in (1, 2, 3))
    assert HOSTILE[1] in parsed.words
    assert "img" not in parsed.tags
    words = " ".join(parsed.words)
    assert answer.sentence in words
    assert judged.sentence in words
    assert f"3 targets: 3 {found.verdict}" in words
    assert "No number for 2 of 3 targets." in words
    assert "No overlap <here>." in words
    assert parsed.tags.count("svg") == 2 + 3 * 3  # two of all; love and two columns of each
    assert parsed.tags.count("desc") == parsed.tags.count("svg")


@pytest.mark.thorough
def test_the_numbers_of_every_target_stand_in_the_page(page, months):
    _, T, found, answer, judged = months
    data = numbers_of(page)
    assert list(data["targets"]) == ["May", HOSTILE[1], "July"]
    part = data["targets"]["May"]
    assert part["diagnosis"]["verdict"] == found.verdict
    assert part["estimates"]["table"][0]["value"] == answer.table[0].value
    assert part["evaluations"]["table"][0]["value"] == judged.table[0].value
    assert data["targets"][HOSTILE[1]]["estimates"] == {"refused": "No overlap <here>."}
    assert data["targets"]["July"]["estimates"] is None
    assert part["means"][0]["target"] == pytest.approx(T.mean(axis=0).max())


@pytest.mark.thorough
def test_many_targets_of_many_columns_stay_below_a_megabyte():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(40, 200)), rng.normal(0.2, 1.0, size=(40, 200))
    columns = [f"a column with a long name {k}" for k in range(200)]
    found = diagnosed(X, T, columns, np.ones(40))
    page = report.build_batches({f"batch {k}": found for k in range(1, 13)})
    assert len(page.encode()) < 800_000
    assert "The 20 columns of 200 that differ most." in page
    part = numbers_of(page)["targets"]["batch 12"]
    shown = {feature["name"] for feature in part["diagnosis"]["features"]}
    assert shown == {line["mean or share"] for line in part["means"]}
    assert len(part["corrected"]) == 20


def test_long_reports_have_a_list_of_their_sections():
    X, T = np.random.default_rng(0).normal(size=(2, 40, 1))
    found = diagnose(X, T, methods=())
    short, long = (
        report.build_batches({f"<batch> {k}": found for k in range(count)}) for count in (4, 5)
    )
    assert 'class="contents"' not in short
    assert 'class="contents"' not in report.build(found)
    (contents,) = re.findall(r'<nav class="contents".*?</nav>', long, re.DOTALL)
    listed = re.findall(r'<a href="#([^"]+)">(.*?)</a>', contents)
    assert listed == re.findall(r'<h2 class="section" id="([^"]+)">(.*?)</h2>', long)
    assert [name for _, name in listed][1] == "&lt;batch&gt; 0"
    assert len(listed) == 8
    assert {anchor for anchor, _ in listed} <= set(Page(long).ids)
    assert long.index(contents) < long.index('id="targets"')


@pytest.mark.thorough
def test_targets_without_any_number_have_no_picture_of_them(months):
    far = months[2], NoOverlapError("far")
    page = report.build_batches({"May": far, "June": far})
    assert "There is no number for any target." in page
    assert Page(page).tags.count("svg") == 2 * 3


def test_bad_input_is_named(months):
    X, _, found, answer, _ = months
    of_margins = diagnose(X, Margins({0: {"mean": 0.1}}), methods=())
    for answers, message in (
        ({}, "not a dict of answers"),
        (found, "not a dict of answers"),
        ({"a": X}, "takes answers, not ndarray"),
        ({"a": (found, answer, answer)}, "Two answers are estimates"),
        ({"a": (found, comparison())}, "answers for 'a' have a comparison"),
        ({"a": of_margins}, "The target 'a' is margins"),
    ):
        with pytest.raises(InputError, match=message):
            report.build_batches(answers)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("targets")
    write(folder / "train.csv", rows(60))
    parts = {k: rows(30, 0.05 * k, seed=k, label=False) for k in (1, 2, 10)}
    for k, table in parts.items():
        write(folder / f"batch {k}.csv", table)
    together = [["part", *parts[1][0]]]
    together += [[f"batch {k}", *row] for k in parts for row in parts[k][1:]]
    write(folder / "all.csv", together)
    return folder


@pytest.mark.thorough
def test_the_command_takes_several_files_in_natural_order(files):
    paths = sorted(files.glob("batch*.csv"))
    given = [
        files / "train.csv",
        *paths,
        "--label",
        "y",
        "--learner",
        "linear",
        "--title",
        "<Mine>",
    ]
    done = covshift("report", *given, "-o", files / "report.html")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("Verdict: ")
    head = next(k for k, line in enumerate(lines) if line.split()[:1] == ["target"])
    assert lines[head].split()[-4:] == ["interval", "accuracy", "interval", "verdict"]
    assert [line.strip()[:8].strip(".") for line in lines[head + 1 : head + 4]] == [
        "batch 1",
        "batch 2",
        "batch 10",
    ]
    assert done.err.count("taken as classes") == 1  # said once, not for every target
    page = (files / "report.html").read_text(encoding="utf-8")
    assert "<title>&lt;Mine&gt;</title>" in page
    data = numbers_of(page)
    assert list(data["targets"]) == ["batch 1.csv", "batch 2.csv", "batch 10.csv"]
    assert data["samples"]["outcome"] == "y"


@pytest.mark.thorough
def test_the_command_splits_a_target_by_a_column(files):
    given = ["report", files / "train.csv", files / "all.csv", "--batch", "part", "--label", "y"]
    given += ["--learner", "linear", "-o", files / "batches.html", "--force"]
    done = covshift(*given, "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert list(said["targets"]) == ["batch 1", "batch 2", "batch 10"]
    page = (files / "batches.html").read_text(encoding="utf-8")
    shown = numbers_of(page)["targets"]["batch 2"]
    assert shown["diagnosis"]["n_target"] == 30
    assert said["targets"]["batch 2"]["estimate"]["table"] == shown["estimates"]["table"]
    assert "part" not in [feature["name"] for feature in shown["diagnosis"]["features"]]
    assert covshift(*given, files / "batch 1.csv").code == 2


def test_the_order_that_a_user_names_is_kept(files):
    paths = [files / "batch 2.csv", files / "batch 1.csv"]
    done = covshift("diagnose", files / "train.csv", *paths, "--label", "y")
    assert [line.split(".csv")[0].strip() for line in done.out.splitlines()[3:5]] == [
        "batch 2",
        "batch 1",
    ]


def test_dates_are_shown_as_dates(files):
    days = [["day", "x"], *([f"2025-01-{k % 28 + 1:02d}", f"{k % 7}"] for k in range(40))]
    later = [["day", "x"], *([f"2025-02-{k % 28 + 1:02d}", f"{k % 5}"] for k in range(40))]
    a, b = write(files / "a.csv", days), write(files / "b.csv", later)
    done = covshift("report", a, b, "-o", files / "dates.html")
    assert done.code == 0, done.err
    page = (files / "dates.html").read_text(encoding="utf-8")
    assert re.search(r">2025-01-1\d</td>", page)
    assert ">20,1" not in page  # days since 1970, which nobody reads


def test_the_overview_shows_the_category_that_it_names():
    """The share of yes stands under yes, not that of no."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(80, 2)), rng.normal(0.3, 1, size=(60, 2))
    deny = np.where(X[:, 0] + rng.normal(size=80) > 1, "yes", "no")
    answer = estimate(X, deny, T, outcome_model=LogisticRegression())
    yes = answer.headline
    assert yes.what == "yes"
    text = report.build_batches({"May": (answer.diagnosis, answer), "June": (answer.diagnosis,)})
    words = " ".join(Page(text).words)
    assert "y = yes" in words
    assert f"{100 * yes.value:.1f}%" in words
    assert f"{100 * (1 - yes.value):.1f}%" not in words


@pytest.mark.thorough
def test_batches_share_the_models_of_the_same_training_rows(tmp_path, monkeypatch):
    fitted = []
    fit = crossfit._fit_folds
    monkeypatch.setattr(
        crossfit, "_fit_folds", lambda model, *given: fitted.append(model) or fit(model, *given)
    )
    monkeypatch.setattr("covshift.report.build_batches", lambda *given, **named: "page")
    write(tmp_path / "train.csv", [[*row[:2], row[3]] for row in rows(60)])
    head, *others = rows(80, 0.3, seed=1, label=False)
    parts = [[*row[:2], "ab"[k % 2]] for k, row in enumerate(others)]
    write(tmp_path / "all.csv", [[*head[:2], "part"], *parts])
    given = [tmp_path / "train.csv", tmp_path / "all.csv", "--batch", "part", "--label", "y"]
    found = covshift("report", *given, "--learner", "linear", "-o", tmp_path / "both.html")
    assert found.code == 0, found.err
    trees = [model for model in fitted if "GradientBoosting" in str(type(model).__mro__)]
    assert len(trees) == 3  # of the estimate (in the first deal, and in the others) and of the
    # evaluation, once for both batches
