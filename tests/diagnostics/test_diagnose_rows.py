"""Which target rows have no training rows near, why, and how to leave them out."""

from __future__ import annotations

import numpy as np
import pytest

from covshift import diagnose, estimate
from covshift.data import Samples
from covshift.data.row_weights import kish
from covshift.diagnostics import FeatureShift, Support, restrict
from covshift.diagnostics.coverage import flag_rows, set_aside
from covshift.diagnostics.measure import _support
from covshift.diagnostics.verdict import judge
from covshift.exceptions import NoOverlapError

pandas = pytest.importorskip("pandas")


def normal(N, M, n=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, n)), rng.normal(size=(M, n))


def flags(X, T, verdict="no overlap", **given):
    """Flags without the rest of the diagnosis."""
    samples = Samples.of_rows(X, T, ordered=False, **given)
    return flag_rows(samples, _support(samples, 0)[1], verdict, 0)


@pytest.mark.parametrize(("rows", "n"), [(200, 5), (200, 20), (2000, 5)])
def test_between_equal_samples_single_columns_flag_next_to_nothing(rows, n):
    found = []
    for seed in range(12):
        samples = Samples.of_rows(*normal(rows, rows, n, seed))
        found.append((set_aside(samples)[0] >= 0).mean())
    assert np.mean(found) < 0.001


def test_rows_far_from_all_need_a_verdict():
    X, T = normal(150, 150, 3)
    assert flags(X, T, "no shift").count == 0
    assert flags(X, T, "moderate").count == 0


def test_rows_beyond_a_column_are_flagged_with_its_name():
    X, T = normal(300, 200)
    T[:50, 1] += 10
    frames = (pandas.DataFrame(rows, columns=["age", "income"]) for rows in (X, T))
    found = diagnose(*frames, methods=())
    assert found.verdict == "no overlap"
    assert found.uncovered_rows.tolist() == (T[:, 1] > X[:, 1].max()).tolist()
    assert found.rows.why[0].startswith("lies above ")
    assert found.rows.why[0].endswith("the largest training value of 'income'")
    assert found.rows.why[199] == ""
    assert "50 of 200 target rows (25%) have no training rows near" in " ".join(str(found).split())
    assert found.to_dict()["rows"] == {"uncovered": 50, "why": found.rows.counts}
    assert found.rows.to_frame()["overlap"].sum() == 150


def test_a_level_without_training_rows_is_flagged_by_its_name():
    rng = np.random.default_rng(0)
    X, T = (pandas.DataFrame({"town": rng.choice(list("abc"), 200)}) for _ in range(2))
    T.loc[:29, "town"] = "z"
    found = diagnose(X, T, methods=())
    assert np.flatnonzero(found.uncovered_rows).tolist() == list(range(30))
    assert found.rows.why[0] == "has 'town' = 'z', which no training row has"


def test_a_date_after_all_training_rows_is_told_as_a_date():
    days = np.datetime64("2025-01-01") + np.arange(200)
    X = pandas.DataFrame({"day": days, "x": np.arange(200.0)})
    T = pandas.DataFrame({"day": days + np.repeat([0, 200], 100), "x": np.arange(200.0)})
    found = diagnose(X, T, methods=())
    assert "2025-07-19, the largest training value of 'day'" in found.reason


def test_one_part_may_hide_another():
    # Behind the rows beyond the first column, a tenth of the rest lies beyond the second.
    X, T = normal(400, 400)
    T[:200, 0] += 10
    T[200:220, 1] += 10
    samples = Samples.of_rows(X, T)
    place, parts = set_aside(samples)
    assert {part.column for part in parts} == {0, 1}
    assert (place[:220] >= 0).all()


def test_a_hole_that_no_single_column_shows_is_found_by_its_neighbours():
    # Training rows on a ring, target rows in its middle.
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.05, (400, 2))
    T = X[rng.integers(0, 400, 300)].copy()
    T[:100] = rng.normal(0, 0.1, (100, 2))
    found = flags(X, T)
    assert found.uncovered[:100].mean() > 0.95
    assert found.uncovered[100:].mean() < 0.05
    assert all("is far from all training rows, most of all in 'x" in why for why in found.why[:90])


def test_flags_stand_for_the_rows_given_whatever_their_weights():
    X, T = normal(200, 100)
    T[:30, 0] += 10
    found = flags(X, T)
    weight = np.ones(100)
    weight[0] = 0  # no part of the target
    weighted = flags(X, T, target_weight=weight)
    assert weighted.uncovered.tolist() == [False, *found.uncovered[1:]]
    assert len(weighted.why) == 100


def test_restrict_keeps_the_covered_rows_as_they_came():
    X, T = normal(200, 100)
    T[:30, 0] += 10
    T[30:, 0] = np.clip(T[30:, 0], X[:, 0].min(), X[:, 0].max())
    names = ["age", "income"]
    frame = pandas.DataFrame(T, columns=names)
    found = restrict(pandas.DataFrame(X, columns=names), (frame,))
    assert found.X_target.equals(frame.iloc[30:])
    assert found.rows.tolist() == list(range(30, 100))
    assert found.note.severity == "warning"
    assert "70% of the target is kept. 30 of 100 target rows (30%)" in str(found.note)
    again = restrict(X, T[30:])
    assert again.X_target is not None
    assert len(again.X_target) == 70
    assert again.note.severity == "note"


def test_a_target_without_any_overlap_cannot_be_restricted():
    X, T = normal(100, 80)
    with pytest.raises(NoOverlapError, match="No target row is covered"):
        restrict(X, T + 50)


@pytest.mark.thorough
def test_estimates_leave_out_the_rows_that_restrict_leaves_out():
    X, T = normal(300, 200)
    T[:40, 0] += 10
    y = X.sum(axis=1)
    found = estimate(X, y, T, restrict="overlap")
    kept = restrict(X, T)
    assert found.covered_share == pytest.approx(len(kept.rows) / 200)


def test_restricting_what_overlaps_changes_nothing():
    X, T = normal(150, 120)
    found = restrict(X, T)
    assert found.X_target is T
    assert not found.flags.count
    assert str(found.flags) == "All 120 target rows have training rows near."


# Words


def judged(smd_corrected, *, methods=()):
    features = [
        FeatureShift("age", 0.8, smd_corrected, 0.4, 0.0, 0.6, 0.0, False),
        FeatureShift("income", 0.3, 0.05, 0.2, 0.5, 0.2, 0.0, False),
    ]
    support = Support(0.01, 0.01, 0.0, 0.1, 100, 100)
    return judge(features, None, methods, support, True, "")


@pytest.mark.parametrize("left", [0.22, -0.22])
def test_what_weights_leave_is_said_beside_the_verdict(left):
    found = judged(left)
    assert found.verdict == "moderate"
    assert "'age' stays off by 0.22 standard deviations (from 0.80)" in found.reason
    assert "income" not in found.reason


@pytest.mark.parametrize("left", [0.1, 0.0, None])
def test_a_negligible_rest_is_not_worth_a_word(left):
    assert "stays off" not in judged(left).reason


def test_the_precision_that_weights_leave_is_data_and_a_line_of_its_own():
    X, T = normal(400, 400)
    found = diagnose(X, T + 0.5, methods=())
    effective = found.effective_sample_size
    assert effective == pytest.approx(kish(found.weights))
    assert not found.caution
    assert found.to_dict()["effective_sample_size"] == effective
    assert found.to_dict()["largest_weight"] == found.weights.max() / found.weights.mean()
    line = f"after weighting: {effective:,.0f} of 400 rows ({effective / 400:.0%})."
    assert line in str(found)
    assert "effective sample size" not in found.reason


@pytest.mark.thorough
def test_a_verdict_on_weights_of_few_rows_says_so_first():
    X, T = normal(400, 400)
    T += 0.5
    few = np.r_[np.full(20, 1.0), np.full(380, 1e-4)]  # 5% of the rows
    found = diagnose(X, T, weights=few, methods=())
    first, second = str(found).splitlines()[:2]
    assert first == f"Verdict: {found.verdict}"
    assert second.startswith("Few rows carry the weights: effective sample size 20 of 400 rows")
    assert "Effective sample size after weighting" not in str(found)
    page = found._repr_html_()
    assert page.index("Few rows carry") < page.index(found.reason[:15])
    one = np.r_[60.0, np.full(399, 1.0)]  # many rows, and one weight above 50 times the mean
    assert "largest weight 52 times the mean" in diagnose(X, T, weights=one, methods=()).caution
    assert diagnose(X, T, weights=np.ones(400), methods=()).caution == ""


def test_large_numbers_have_four_digits_and_separators():
    X, T = normal(200, 100)
    T[:40, 0] += 10
    found = diagnose(1e5 * X, 1e5 * T, methods=())
    assert f"{float(f'{1e5 * X[:, 0].max():.4g}'):,.0f}, the largest training value" in found.reason
