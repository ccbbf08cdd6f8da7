"""The diagnosis of a sample and margins: tests in closed form, rules of the verdict, words."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from covshift import Margins, diagnose
from covshift.diagnostics import MarginsDiagnosis
from covshift.diagnostics.margins import diagnose_margins
from covshift.exceptions import InputError
from covshift.margins.sample import KnownRows

rng = np.random.default_rng(0)
N = 500
X = pd.DataFrame(
    {
        "age": rng.integers(18, 90, N),
        "sex": rng.choice(["f", "m"], N),
        "bmi": rng.normal(26, 5, N),
    }
)
AGES = {(18, 29): 0.3, (30, 64): 0.5, (65, None): 0.2}


def shift(found, name):
    return next(part for part in found.margins if part.name == name)


def test_a_column_is_tested_by_chi_squared():
    found = diagnose(X[["age"]], Margins({"age": AGES}))
    counts = [(X.age < 30).sum(), X.age.between(30, 64).sum(), (X.age >= 65).sum()]
    expected = stats.chisquare(counts, np.array([0.3, 0.5, 0.2]) * N).pvalue
    assert shift(found, "age").p_value == pytest.approx(expected, rel=1e-9)
    gaps = np.cumsum(np.array(counts) / N - [0.3, 0.5, 0.2])
    assert shift(found, "age").distance == pytest.approx(np.abs(gaps).max())


def test_a_size_is_that_of_a_second_sample():
    """Of two samples, the statistic of the pooled table is nearly the same."""
    T = pd.DataFrame({"sex": rng.choice(["f", "m"], 400, p=[0.55, 0.45])})
    found = diagnose(X[["sex"]], Margins.from_rows(T))
    table = [[(part.sex == k).sum() for k in "fm"] for part in (X, T)]
    expected = stats.chi2_contingency(table, correction=False).pvalue
    assert shift(found, "sex").p_value == pytest.approx(expected, rel=0.05)


def test_means_and_standard_deviations_are_tested_by_their_errors():
    found = diagnose(X[["bmi"]], Margins({"bmi": {"mean": 26.5}}))
    z = (X.bmi.mean() - 26.5) / (X.bmi.std(ddof=0) / np.sqrt(N))
    assert shift(found, "bmi").p_value == pytest.approx(2 * stats.norm.sf(abs(z)))
    wide = diagnose(X[["bmi"]], Margins({"bmi": {"mean": 26.0, "sd": 8.0}}))
    assert shift(wide, "bmi").kind == "mean and sd"
    assert shift(wide, "bmi").p_value < 1e-6


@pytest.mark.thorough
def test_equal_samples_rarely_raise_an_alarm():
    alarms = 0
    draw = np.random.default_rng(1)
    margins = Margins({"0": AGES, "1": {0: 0.6, 1: 0.4}, "2": {"mean": 0.0, "sd": 1.0}})
    for _ in range(100):
        ages = draw.choice([20, 40, 70], 200, p=[0.3, 0.5, 0.2])
        rows = np.column_stack([ages, draw.random(200) < 0.4, draw.normal(size=200)])
        rows_read = KnownRows.of(margins, rows, "test")
        found = diagnose_margins(rows_read, methods=())
        alarms += min(part.p_value for part in found.margins) <= 0.05
    assert alarms <= 11


def test_rare_cells_are_tested_together():
    few = {(18, 30): 0.492, (30, 60): 0.5, (60, 70): 0.004, (70, None): 0.004}
    sample = pd.DataFrame({"age": np.repeat([20, 40, 65], [247, 250, 3])})
    found = diagnose(sample, Margins({"age": few}))
    expected = stats.chi2.sf(
        sum((a - b) ** 2 / b for a, b in zip((247, 250, 3), (246, 250, 4), strict=True)), 2
    )
    assert shift(found, "age").p_value == pytest.approx(expected)


def test_every_published_number_stands_beside_the_sample_s():
    table = {(s, a): 0.5 * p for s in "fm" for a, p in AGES.items()}
    margins = Margins({("sex", "age"): table, "bmi": {"mean": 26.0, "sd": 5.0}})
    found = diagnose(X, margins)
    assert isinstance(found, MarginsDiagnosis)
    assert [part.kind for part in found.margins] == ["table", "mean and sd"]
    assert len(found.numbers) == 6 + 2
    first = found.numbers[2]  # the numbers of a table follow the means
    inside = (X.sex == "f") & (X.age < 30)
    assert first.what == "sex x age in f, 18 to 29"
    assert first.sample == pytest.approx(inside.mean())
    assert first.corrected == pytest.approx(first.target, abs=1e-7)
    assert first.gap == pytest.approx(first.sample - first.target)
    counts = [((X.sex == s) & X.age.between(a, b or 99)).mean() for s, (a, b) in table]
    biggest = np.abs(np.array(counts) - list(table.values())).max()
    assert shift(found, "sex x age").distance == pytest.approx(biggest)


@pytest.mark.parametrize(
    ("old", "verdict"), [(0.0, "moderate"), (0.09, "strong"), (0.3, "no overlap")]
)
def test_empty_cells_decide_the_verdict(old, verdict):
    ages = {(18, 29): 0.5 - old, (30, 89): 0.5, (90, None): old}
    margins = Margins({"age": ages, "sex": {"f": 0.6, "m": 0.4}})
    found = diagnose(X[["age", "sex"]], margins)
    assert found.verdict == verdict
    assert found.overlap == (verdict != "no overlap")
    assert shift(found, "age").uncovered == pytest.approx(old)
    assert shift(found, "age").empty == (("90 and over",) if old else ())
    assert ("90 and over" in found.reason) == bool(old)


def test_margins_that_no_weights_give_together_are_no_overlap():
    frame = pd.DataFrame({"a": list("xxyy") * 50, "b": list("uuvv") * 50})
    margins = Margins({"a": {"x": 0.1, "y": 0.9}, "b": {"u": 0.9, "v": 0.1}})
    found = diagnose(frame, margins)
    assert found.verdict == "no overlap"
    assert "no weights give the sample all margins together" in found.reason
    assert found.numbers[0].corrected is not None  # of the CDF weights


def test_nothing_and_too_little_to_matter_are_no_shift():
    share = float((X.sex == "f").mean())
    same = diagnose(X[["sex"]], Margins({"sex": {"f": share, "m": 1 - share}}))
    assert same.verdict == "no shift"
    assert shift(same, "sex").p_value == pytest.approx(1)
    many = pd.concat([X[["sex"]]] * 100)
    tiny = diagnose(many, Margins({"sex": {"f": share + 0.02, "m": 0.98 - share}}))
    assert tiny.verdict == "no shift"
    assert "too little to matter" in tiny.reason


def test_few_effective_rows_are_strong():
    margins = Margins({"age": {(18, 87): 0.1, (88, None): 0.9}})
    assert diagnose(X[["age"]], margins).verdict == "strong"


def test_design_weights_weigh_the_sample():
    margins = Margins({"age": AGES})
    rows = KnownRows.of(margins, X[["age"]], "test")
    target = np.select([X.age < 30, X.age < 65], [0.3, 0.5], 0.2)
    there = np.select([X.age < 30, X.age < 65], [np.mean(X.age < 30), 0], np.mean(X.age >= 65))
    there = np.where(there == 0, X.age.between(30, 64).mean(), there)
    found = diagnose_margins(rows, weight=7 * target / there)
    assert found.verdict == "no shift"
    assert shift(found, "age").distance < 1e-12


def test_weights_have_no_scale_and_rows_of_weight_zero_are_not_there():
    margins = Margins({"age": AGES, "bmi": {"mean": 26.5}})
    some, rows = X[["age", "bmi"]], np.random.default_rng(1)
    d = rows.uniform(0.5, 2, N) * rows.integers(0, 2, N)
    kept = np.flatnonzero(d)
    weighted = diagnose(some, margins, sample_weight=d)
    without = diagnose(some.iloc[kept], margins, sample_weight=1000 * d[kept])
    assert weighted.n_train == without.n_train == len(kept)
    for one, other in zip(weighted.margins, without.margins, strict=True):
        assert one.p_value == pytest.approx(other.p_value)
        assert one.distance == pytest.approx(other.distance)
    for one, other in zip(weighted.methods, without.methods, strict=True):
        assert one.effective_sample_size == pytest.approx(other.effective_sample_size, rel=1e-6)
    assert weighted.verdict == without.verdict


def test_what_it_holds_prints_and_is_plain_data():
    margins = Margins({"age": AGES}, size=1000)
    found = diagnose(X, margins)
    text = str(found)
    assert "500 training rows, margins of 1,000" in text
    assert "'age' in 65 and over" in text
    assert "No margin covers 'sex', 'bmi'." in text
    assert "these need target rows" in text
    assert max(map(len, text.splitlines())) <= 100
    assert json.loads(json.dumps(found.to_dict()))["verdict"] == found.verdict
    assert found.to_frame().index[0] == "'age' in 18 to 29"
    assert found.worst[0].name == "age"


def test_options_of_rows_are_refused():
    margins = Margins({"age": AGES})
    with pytest.raises(InputError, match="target_weight is for target rows"):
        diagnose(X, margins, target_weight=np.ones(3))
    with pytest.raises(InputError, match="groups is for target rows"):
        diagnose(X, margins, groups=[0])
    asked = diagnose(X[["age"]], margins, methods=["kmm", "raking"]).methods
    assert asked[0].share is None
    assert "needs target rows" in asked[0].note
    assert asked[1].share > 0.3


def test_an_empty_cell_of_a_table_counts_for_itself():
    cells = {("f", (18, 89)): 0.5, ("m", (18, 89)): 0.42, ("f", (90, None)): 0.0}
    table = {**cells, ("m", (90, None)): 0.08}
    found = diagnose(X[["sex", "age"]], Margins({("sex", "age"): table}), methods=())
    assert found.verdict == "strong"
    assert shift(found, "sex x age").empty == ("m, 90 and over",)
    assert found.methods == ()
