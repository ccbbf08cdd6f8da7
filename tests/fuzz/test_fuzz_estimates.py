"""Answers about any samples: inside what was seen, around their estimate, in no order."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.cases import fuzz, unless_refused
from fuzz.samples import Samples, samples
from hypothesis import assume, example
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from covshift import bounds, diagnose, estimate
from covshift.margins import Margins

CASES = samples(rows=(8, 20), features=(1, 2), units=(1.0, 1e3))
WEIGHTER = st.sampled_from(["entropy", "gaussian-ratio", "raking", "cdf"])
WHAT = st.sampled_from(["mean", "median", "proportion"])
CHEAP = {"outcome_model": Ridge()}


def answer(*samples, **options):
    return unless_refused(estimate, *samples, **options)


def outcome(drawn: Samples, what: str) -> np.ndarray:
    rng = drawn.rng
    if what == "proportion":
        return rng.permutation(np.arange(len(drawn.X)) % 2)
    return np.round(rng.normal(3, 2, size=len(drawn.X)), 1)


@fuzz(CASES, WEIGHTER, WHAT, of_100_000=1_000, few=3)
def test_an_interval_holds_its_estimate(drawn, weighter, what):
    y = outcome(drawn, what)
    model = {} if what == "proportion" else CHEAP
    found = answer(drawn.X, y, drawn.T, what=what, weighter=weighter, **model)
    assume(found is not None)
    for row in found.table:
        assert np.isfinite(row.value)
        assert row.standard_error >= 0 or np.isnan(row.standard_error)
        low, high = row.interval
        assert low <= row.value + 1e-9
        assert row.value <= high + 1e-9
        if what == "proportion":
            assert 0 <= low <= high <= 1
        if row.method in ("none", "weights"):
            assert y.min() - 1e-9 <= row.value <= y.max() + 1e-9
    assert (found.weights >= 0).all()
    assert abs(found.weights.mean() - 1) < 1e-9


TWICE = [0.126, -0.132, 0.64, 0.105, -0.536, 0.362, 1.304, 0.947, -0.704, -1.265]


@fuzz(CASES, WEIGHTER, of_100_000=700, few=3)
# Sums in another order moved the marks of a column, and with them the folds.
@pytest.mark.thorough
@example(Samples(np.repeat(TWICE, 2)[:, None], np.repeat(TWICE[:4], 2)[:, None], 0), "cdf")
def test_plain_and_weighted_means_do_not_depend_on_the_order_of_rows(drawn, weighter):
    y, (rows, order) = outcome(drawn, "mean"), drawn.orders
    found = answer(drawn.X, y, drawn.T, weighter=weighter, method="weights", **CHEAP)
    assume(found is not None)
    again = answer(
        drawn.X[rows], y[rows], drawn.T[order], weighter=weighter, method="weights", **CHEAP
    )
    assert again is not None, "refused in another order"
    assert abs(again.value - found.value) < 1e-5
    assert abs(again.standard_error - found.standard_error) < 1e-5


@pytest.mark.thorough
@fuzz(
    CASES,
    st.sampled_from([1e-6, 1e6]),
    st.sampled_from([0.0, 100.0]),
    of_100_000=700,
    few=3,
)
def test_an_outcome_in_another_unit_gives_the_answer_in_that_unit(drawn, unit, zero):
    y = outcome(drawn, "mean")
    found = answer(drawn.X, y, drawn.T, weighter="entropy", **CHEAP)
    assume(found is not None)
    other = answer(drawn.X, unit * y + zero, drawn.T, weighter="entropy", **CHEAP)
    assert other is not None, "refused in another unit"
    scale = abs(unit) * (1 + np.abs(y).max())
    assert abs(other.value - (unit * found.value + zero)) < 1e-5 * scale + 1e-9 * zero
    assert abs(other.standard_error - abs(unit) * found.standard_error) < 1e-5 * scale


@fuzz(CASES, of_100_000=800, few=2)
def test_a_diagnosis_can_be_printed_and_its_shares_are_shares(drawn):
    found = unless_refused(diagnose, drawn.X, drawn.T)
    assume(found is not None)
    assert str(found)
    assert found.auc is None or 0 <= found.auc.value <= 1
    for feature in found.features:
        assert 0 <= feature.ks <= 1
        assert 0 <= feature.p_value <= 1


@fuzz(st.integers(1, 10**9), st.integers(1, 10**6), st.floats(0.01, 0.99), of_100_000=3_000)
def test_bounds_say_the_same_in_all_three_directions(rows, n_train, level):
    for width, chance, size in (
        (bounds.half_width_1d(rows, level), bounds.confidence_1d, bounds.target_size_1d),
        (
            bounds.half_width(rows, n_train, level),
            lambda M, h: bounds.confidence(M, n_train, h),
            lambda h, level: bounds.target_size(h, n_train, level),
        ),
    ):
        assert abs(chance(rows, width) - level) < 1e-6
        assert abs(size(width, level) - rows) <= 1 + 1e-9 * rows


@fuzz(
    samples(rows=(12, 25), features=(1, 2), units=(1.0, 1e3)),
    st.integers(1, 3),
    of_100_000=2_000,
)
@example(  # the first column is left out, and a note says so that no file keeps
    drawn=Samples(np.zeros((2, 2)), np.column_stack([np.zeros(12), np.arange(12.0)]), 0), least=2
)
def test_margins_are_what_they_were_after_a_file(tmp_path_factory, drawn, least):
    margins = unless_refused(Margins.from_rows, drawn.T, min_count=least)
    assume(margins is not None)
    path = tmp_path_factory.getbasetemp() / "margins"
    margins.to_json(path)
    written = path.read_bytes()
    Margins.from_json(path).to_json(path)
    assert path.read_bytes() == written
