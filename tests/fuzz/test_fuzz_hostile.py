"""Hostile tables: a sane answer, or a refusal in our words; no raw error, no foreign warning."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pandas as pd
from fuzz.cases import fuzz, unless_refused
from fuzz.hostile import COLUMNS, Hostile, hostile
from hypothesis import assume
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge

from covshift import (
    ConformalClassifier,
    ConformalRegressor,
    Margins,
    Predictions,
    diagnose,
    estimate,
    evaluate,
)


class _Quiet:
    """A user's model, whose warnings are the user's."""

    def fit(self, X, y, sample_weight=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super().fit(X, y, sample_weight)

    def predict(self, X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super().predict(X)


class Model(_Quiet, Ridge):
    pass


class Classifier(_Quiet, LogisticRegression):
    pass


CASES = hostile()
KINDS = st.sampled_from(list(COLUMNS))
WEIGHTERS = st.sampled_from(["entropy", "entropy", "raking", "cdf", None])
OF_ROWS = ["by", "sample_weight", "target_weight", "strata", "cluster", "y_target"]


def check_answer(found):
    """An answer can be shown in every way, its numbers are finite, intervals hold them."""
    assert found.sentence
    for shown in (str(found), repr(found), found._repr_html_()):
        assert shown.encode(errors="surrogatepass")
    assert len(found.to_frame())
    json.dumps(found.to_dict())


def check_numbers(found):
    """Numbers are finite, and intervals hold them; or a note says that one is not defined."""
    told = any("ot defined" in note.text for note in found.notes)
    for row in found.table:
        if math.isnan(row.value) and row.interval == (-math.inf, math.inf):
            assert told or row.method != found.method, row
            continue
        assert math.isfinite(row.value), row
        assert row.standard_error >= 0, row
        low, high = row.interval
        slack = 1e-9 * max(abs(row.value), 1e-300)
        assert low - slack <= row.value <= high + slack, row


@st.composite
def options(draw: st.DrawFn) -> tuple[str, str]:
    """One further argument, and what it holds."""
    name = draw(st.sampled_from(["", "", "what", "restrict", "shift", "method", *OF_ROWS]))
    if name in OF_ROWS:
        return name, draw(KINDS | st.just("integer"))
    value = {
        "what": ["mean", "median", "proportion", "coefficients", "cdf", "total", "difference"],
        "restrict": ["overlap"],
        "shift": ["label"],
        "method": ["dr", "weights", "model", "none"],
    }.get(name, [""])
    return name, draw(st.sampled_from(value))


def arguments(case: Hostile, option: tuple[str, str]) -> dict:
    name, value = option
    if name in ("target_weight", "y_target"):
        return {name: case.cells(value, 1)}
    if name == "by":
        return {name: (case.cells(value), case.cells(value, 1))}
    if name in OF_ROWS:
        return {name: case.cells(value)}
    return {name: value} if name else {}


@fuzz(CASES, WEIGHTERS, options(), st.booleans(), of_100_000=14_000, few=8)
def test_an_estimate(case, weighter, option, by_name):
    given = arguments(case, option)
    if option != ("shift", "label"):
        given |= {"weighter": weighter, "outcome_model": Model()}
    X, T = case.named if by_name else case.samples
    found = unless_refused(estimate, X, "y_" if by_name else case.y, T, **given)
    if found is None:
        return False
    unless_refused(check_answer, found)
    check_numbers(found)
    assert (found.weights >= 0).all()


SCORES = st.sampled_from(["share", "share", "normal"]) | KINDS
TASKS = st.sampled_from(["classes", "numbers"])


@fuzz(CASES, WEIGHTERS, SCORES, TASKS, options(), of_100_000=9_200, few=4)
def test_an_evaluation(case, weighter, scores, task, option):
    assume(option[0] not in ("what", "shift"))
    given = {"weighter": weighter, "outcome_model": Model(), **arguments(case, option)}
    model = Predictions(case.cells(scores), case.cells(scores, 1), task=task)
    X, T = case.samples
    found = unless_refused(evaluate, model, X, case.y, T, **given)
    if found is None:
        return False
    unless_refused(check_answer, found)
    check_numbers(found)


@fuzz(hostile(rows=(2, 30)), WEIGHTERS, st.booleans(), of_100_000=9_700, few=4)
def test_conformal_predictions(case, weighter, of_classes):
    if of_classes:
        model = ConformalClassifier(Classifier(), weighter=weighter)
    else:
        model = ConformalRegressor(Model(), weighter=weighter)
    X, T = case.samples
    fitted = unless_refused(model.fit, X, case.y, X_target=(T,))
    if fitted is None:
        return False
    predict = fitted.predict_set if of_classes else fitted.predict_interval
    found = unless_refused(predict, T, 0.5)
    if found is None:
        return False
    unless_refused(check_answer, found)
    if not of_classes:
        assert not np.isnan(found.lower).any()
        assert not np.isnan(found.upper).any()
        assert (found.lower <= found.upper).all()
    assert len(found) == case.rows[1]


@fuzz(CASES, st.integers(1, 3), st.booleans(), of_100_000=5_000, few=4)
def test_margins_and_an_estimate_by_them(tmp_path_factory, case, least, by_name):
    X, T = case.named if by_name else case.samples
    margins = unless_refused(Margins.from_rows, T, min_count=least)
    if margins is None:
        return False
    assert str(margins)
    assert margins._repr_html_()
    path = tmp_path_factory.getbasetemp() / "hostile margins"
    margins.to_json(path)
    again = Margins.from_json(path)
    assert again.columns == margins.columns
    written = path.read_bytes()
    again.to_json(path)
    assert path.read_bytes() == written
    found = unless_refused(estimate, X, "y_" if by_name else case.y, margins)
    if found is None:
        return False
    unless_refused(check_answer, found)
    check_numbers(found)


@fuzz(CASES, of_100_000=3_000, few=1)
def test_a_diagnosis(case):
    found = unless_refused(diagnose, *case.samples)
    if found is None:
        return False
    unless_refused(check_answer, found)
    for feature in found.features:
        assert 0 <= feature.ks <= 1
        assert 0 <= feature.p_value <= 1


@fuzz(st.integers(0, 2**16), st.integers(20, 100), of_100_000=200, few=1)
def test_a_wide_table(seed, width):
    rng = np.random.default_rng(seed)
    X, T = (pd.DataFrame(rng.integers(0, 3, size=(size, width))) for size in (10, 12))
    found = unless_refused(estimate, X, rng.normal(size=10), T, outcome_model=Model())
    if found is None:
        return False
    unless_refused(check_answer, found)
    check_numbers(found)
