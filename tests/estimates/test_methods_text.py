"""The methods section and the checklist say what was done, with the answer's own numbers."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import covshift
from covshift import (
    Coefficients,
    DesignWeights,
    Labels,
    Margins,
    Predictions,
    Ratio,
    Target,
    Total,
    diagnose,
    estimate,
    evaluate,
)
from covshift.engine.citing import WORKS
from covshift.estimates import Trimmed
from covshift.exceptions import InputError
from covshift.registry import weighters

N, M = 120, 150
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
T = pd.DataFrame(RNG.normal(0.3, 1, size=(M, 3)), columns=["a", "b", "c"])
X["group"], T["group"] = np.arange(N) % 2, np.arange(M) % 2
Y = pd.Series((X["a"] + RNG.normal(size=N) > 0).astype(int), name="ill")
NUMBERS = pd.Series(X["a"] + RNG.normal(size=N), name="score")
THERE = np.where(np.arange(M) % 3 == 0, (T["a"] > 0) * 1.0, np.nan)
WEIGHT = 1.0 + X["group"].to_numpy()
MODEL = LogisticRegression().fit(X.to_numpy(), Y)
ROWS, TARGET = X.to_numpy(), T.to_numpy()
TABLE, TABLE_T = X.assign(id=[f"p{k:04d}q" for k in range(N)], one=1), T.assign(one=1)
TABLE_T["id"] = [f"r{k:04d}s" for k in range(M)]
TABLE.loc[::6, "b"] = np.nan
TABLE["town"] = RNG.choice(["x", "y", None], N)
TABLE_T["town"] = RNG.choice(["x", "y", None], M)
SOME = Y.astype(float).where(np.arange(N) >= 9)


def judged(**options):
    return evaluate(MODEL, ROWS, Y.to_numpy(), TARGET, metrics=["accuracy"], **options)


# name: the answer; what its text says; what it must not say
CASES = {
    "doubly robust": (lambda: estimate(X, Y, T), ["doubly robust", "exponential tilt"], []),
    "weights": (
        lambda: estimate(X, Y, T, method="weights"),
        ["weighted means", "imbalance left"],
        ["doubly robust", "consistent"],
    ),
    "entropy": (
        lambda: estimate(X, Y, T, method="weights", weighter="entropy"),
        ["entropy balancing of the covariates' means", "Stefanski and Boos 2002"],
        ["cross-fitted", "outcome model", "Mazaheri"],
    ),
    "model": (
        lambda: estimate(X, Y, T, method="model"),
        ["mean prediction of an outcome model", "jackknife over the folds"],
        ["weights", "Hampel", "doubly robust"],
    ),
    "none": (
        lambda: estimate(X, Y, T, method="none"),
        ["not adjusted", "No correction was made"],
        ["weights", "outcome model", "assumes"],
    ),
    "given weights": (
        lambda: estimate(X, Y, T, method="weights", weighter=WEIGHT),
        ["given in advance, and taken as known"],
        ["outcome model", "tilt", "both samples"],
    ),
    "trimmed": (
        lambda: estimate(X, Y, T, weighter=Trimmed(1.5, "entropy")),
        ["limited to 1.5 times their mean"],
        ["garrote", "compromise"],
    ),
    "margins": (
        lambda: estimate(X, Y, Margins.from_rows(T[["group"]])),
        ["published margins of 1 covariate", "meet exactly", "ridge regression on the published"],
        ["tilt", "rows of both samples"],
    ),
    "design": (
        lambda: estimate(
            X,
            Y,
            Target(T, finite_population=True),
            sample_weight=DesignWeights(WEIGHT, fpc=np.full(N, 0.5)),
            strata=X["group"],
            cluster=np.arange(N) // 4,
        ),
        [
            "design weights, 2 strata, 60 clusters and a finite population correction",
            "whole population of 150 rows",
            "without sampling error",
            "one cluster stayed",
        ],
        ["a sample of the target"],
    ),
    "bootstrap": (
        lambda: estimate(X, Y, T, weighter="entropy", replicates=10),
        ["10 bootstrap draws", "Rubin 1981"],
        ["influence values", "Kott"],
    ),
    "jackknife": (
        lambda: estimate(X, Y, T, method="weights", weighter="cdf", replicates=8),
        ["jackknife of both samples with 8 replicates", "Kott 2001"],
        ["influence values", "bootstrap draws", "outcome model", "Hainmueller"],
    ),
    "replicate weights": (
        lambda: estimate(
            X,
            Y,
            T,
            weighter="entropy",
            sample_weight=DesignWeights(
                WEIGHT,
                replicate_weights=WEIGHT[:, None] * RNG.exponential(size=(N, 12)),
                type="bootstrap",
            ),
        ),
        ["the 12 replicate weights of the sample (type bootstrap)", "fitted again"],
        ["influence values", "Rubin"],
    ),
    "groups": (
        lambda: estimate(X, NUMBERS, T, by="group"),
        ["the mean of score", "2 groups were ratios of means"],
        ["logit"],
    ),
    "median": (
        lambda: estimate(X, NUMBERS, T, what="median"),
        ["the median of score", "Woodruff 1952", "inverting"],
        ["logit"],
    ),
    "ratio": (lambda: estimate(X, NUMBERS, T, what=Ratio(WEIGHT)), ["The ratio is that of"], []),
    "total": (lambda: estimate(X, Y, T, what=Total(5e6)), ["times the known size"], ["logit"]),
    "coefficients": (
        lambda: estimate(X, Y, T, what=Coefficients(["a"], family="logistic")),
        ["logistic regression of ill", "sandwich"],
        ["logit scale"],
    ),
    "difference": (
        lambda: estimate(X, Y, T, what="difference", by="group"),
        ["differences between groups in the mean of ill"],
        ["logit scale"],
    ),
    "labels": (
        lambda: estimate(X, Y, T, y_target=THERE),
        ["known for 50 target rows", "Angelopoulos", "were chosen at random"],
        ["covariate shift", "cannot be checked"],
    ),
    "labels selected": (
        lambda: estimate(X, Y, T, y_target=Labels(THERE, selected=True)),
        ["selected by their covariates", "like the rest of the target"],
        ["at random"],
    ),
    "label shift": (
        lambda: estimate(X, Y, T, shift="label"),
        ["black-box shift estimation", "Hansen 1982", "within each class"],
        ["covariate shift", "tilt", "doubly robust"],
    ),
    "restricted": (
        lambda: estimate(X[X["a"] < 0.4], Y[X["a"] < 0.4], T, restrict="overlap", confidence=0.9),
        ["of the target: the rest", "Intervals (90%)"],
        [],
    ),
    "own model": (
        lambda: estimate(X, NUMBERS, T, outcome_model=make_pipeline(StandardScaler(), Ridge())),
        ["The outcome model was Ridge (scikit-learn)."],
        ["mixture", "Breiman 1996"],
    ),
    "missing": (
        lambda: estimate(TABLE, SOME, TABLE_T),
        ["111 rows with a known outcome (of 120 in all)", "Missing values of 'b' and 'town'"],
        [],
    ),
    "few rows": (lambda: estimate(X[:12], Y[:12], T), ["The sample had 12 rows"], []),
    "sensitivity": (
        lambda: estimate(X, Y, T).with_sensitivity(1.5),
        ["up to 1.5-fold", "Tan 2006"],
        [],
    ),
    "evaluate": (judged, ["accuracy of LogisticRegression", "jackknife over the folds"], ["tilt"]),
    "evaluate weights": (
        lambda: judged(method="weights", weighter="entropy"),
        ["metrics of the weighted labelled rows"],
        ["doubly robust", "compromise"],
    ),
    "evaluate cbpe": (
        lambda: judged(method="cbpe"),
        ["Białek et al. 2023", "given the scores of the model"],
        ["weights", "doubly robust"],
    ),
    "evaluate pape": (lambda: judged(method="pape"), ["Platt 1999", "tilt"], ["compromise"]),
    "evaluate label shift": (
        lambda: judged(shift="label"),
        ["share of their class", "label shift"],
        ["doubly robust", "covariate shift"],
    ),
    "evaluate labels": (
        lambda: judged(y_target=THERE),
        ["known for 50 target rows"],
        ["covariate shift"],
    ),
    "evaluate labels tested": (
        lambda: judged(y_target=THERE, method="dr"),
        ["Labels of 50 target rows tested this: p = "],
        ["cannot be checked"],
    ),
    "evaluate numbers": (
        lambda: evaluate(Ridge().fit(ROWS, NUMBERS), ROWS, NUMBERS.to_numpy() + 0.1, TARGET),
        ["logarithmic scale for positive metrics"],
        ["logit"],
    ),
    "evaluate trained": (
        lambda: evaluate(Predictions(MODEL, trained_on=np.arange(N) < 40), ROWS, Y, TARGET),
        ["The 40 rows that had trained the model", "80 rows with a label"],
        [],
    ),
}


@pytest.mark.part(18)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_text_and_checklist_say_what_was_done_and_nothing_else(name):
    make, said, unsaid = CASES[name]
    found = make()
    check_text(found, said, unsaid)
    check_list(found)
    check_kept(found)


def check_text(found, said, unsaid):
    text, _, references = found.methods_text().partition("\n\nReferences\n\n")
    for words in said:
        assert words in text
    for words in unsaid:
        assert words not in text
    assert not re.search(r"  | \.|None|nan|\(\)|;\)", text)
    assert f"({100 * found.confidence:g}%)" in text
    assert re.search(rf"had {found.n_train:,} rows", text)
    assert f"covshift {covshift.__version__}" in text
    if "effective sample size (Kish)" in text:
        sizes = re.search(
            r"was ([\d,]+) of ([\d,]+) rows, and the largest weight was ([\d.]+)", text
        )
        assert sizes.groups() == (
            f"{found.effective_sample_size:,.0f}",
            f"{found.n_train:,}",
            f"{found.largest_weight:.1f}",
        )
    cited = set(re.findall(r"([A-ZŁ]\w+)[^();]*? (\d{4})(?=[;)])", text))
    listed = set(re.findall(r"^- (?:van der )?([A-ZŁ]\w+).*?\((\d{4})\)\.", references, flags=re.M))
    listed.discard(("The", "2026"))
    assert {year for _, year in cited} == {year for _, year in listed}
    assert references.count("\n- ") + 1 == len(references.strip().split("\n"))


def check_list(found):
    lines = {line["item"]: line["finding"] for line in found.checklist()}
    assert all(lines.values())
    assert lines["Part of the target answered for"] == f"{found.covered_share:.1%}"
    if "Effective sample size" in lines:
        assert lines["Effective sample size"].startswith(f"{found.effective_sample_size:,.0f} of ")
        assert lines["Largest weight"].startswith(f"{found.largest_weight:.1f} times")
    if found.robustness_value is not None:
        assert lines["Robustness value"].startswith(f"{found.robustness_value:.2f}: ")
    odds = lines.get("Interval if odds of being in the target differ", "not checked")
    assert (odds == "not checked") == (found.sensitivity is None)
    if found.n_labels == 0 and not found.label_shift and found.method != "none":
        assert lines["Assumption tested by data"] == "not checked"
    assert all(len(line) <= 100 for line in str(found.checklist()).split("\n"))


def check_kept(found):
    stored = pickle.loads(pickle.dumps(found))
    assert stored.methods_text() == found.methods_text()
    data = json.loads(json.dumps(found.to_dict()))
    assert data["methods_text"] == found.methods_text()
    assert data["checklist"] == [dict(line) for line in stored.checklist()]


@pytest.mark.thorough
def test_balance_is_that_of_the_answers_own_weights():
    found = estimate(X, Y, T, weighter="cdf")
    after = diagnose(X, T, weights=found)
    for item, name in (("before", "smd"), ("after", "smd_corrected")):
        worst = max(abs(getattr(feature, name)) for feature in after.features)
        line = next(
            part for part in found.checklist() if part["item"] == f"Balance {item} weighting"
        )
        assert line["finding"].startswith(f"largest standardised difference {worst:.3f}")


def test_the_checklist_counts_target_rows_that_are_sample_rows():
    both = np.random.default_rng(0).normal(size=(60, 1))
    found = estimate(both[:40], both[:40, 0], both, method="weights")
    line = next(n for n in found.checklist() if n["item"] == "Target rows in the sample")
    assert line["finding"] == "40 of 60 target rows are sample rows"


@pytest.mark.thorough
def test_columns_and_gaps_are_listed():
    lines = {line["item"]: line["finding"] for line in estimate(TABLE, SOME, TABLE_T).checklist()}
    gaps = int(TABLE["b"].isna()[9:].sum()), int(TABLE["town"].isna()[9:].sum())
    assert f"b: {gaps[0]} and 0" in lines["Missing values, sample and target"]
    assert f"town: {gaps[1]} and " in lines["Missing values, sample and target"]
    alone = X.assign(a=X["a"].where(np.arange(N) >= 7))
    gap = next(n for n in estimate(alone, Y, T).checklist() if n["item"].startswith("Missing"))
    assert gap["finding"] == "a: 7 and 0; filled and marked, or a category"
    assert "'id'" in lines["Columns left out or changed"]
    assert "'one'" in lines["Columns left out or changed"]
    assert lines["Rows of the sample left out"].startswith("9 of 120")


@pytest.mark.parametrize("entry", weighters(), ids=lambda entry: entry.name)
def test_every_weighter_has_its_name_and_sources(entry):
    assert entry.words
    assert set(entry.works) <= set(WORKS)


def test_no_work_is_invented_and_none_is_superfluous():
    """Docstrings, comments and pages name the same authors, year and title."""
    root = Path(covshift.__file__).parent
    pages = Path(__file__).parents[2] / "docs"
    files = [
        path
        for path in root.rglob("*.py")
        if path.parent.name != "engine" or path.name != "citing.py"
    ]
    text = " ".join(p.read_text(encoding="utf-8") for p in (*files, *pages.glob("*.md")))
    text = re.sub(r"[#>*\s]+", " ", text).casefold()
    said = ("engine/methods_text.py", "registry.py", "estimates/result.py", "evaluations/result.py")
    source = " ".join((root / name).read_text(encoding="utf-8") for name in said)
    for key, work in WORKS.items():
        assert re.search(rf"""["']{key}["']""", source), key
        if key == "covshift":
            continue
        parts = re.fullmatch(r"(.+?) \((\d{4})\)\. (.+?)(?:\. .+|\. arXiv:.+)", work).groups()
        authors, year, title = parts
        assert title.casefold() in text, work
        first = re.split(r",| and | et al", authors)[0].casefold()
        assert re.search(rf"{first}\b.{{0,120}}?{year}", text), work


@pytest.mark.thorough
def test_answers_without_their_run_say_so():
    with pytest.raises(InputError, match="methods_text needs the rows"):
        replace(estimate(X, Y, T), _source=None).methods_text()
