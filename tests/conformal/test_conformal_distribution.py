"""Weighted conformal thresholds against their definition, and against crepes-weighted and MAPIE.

`tests/recorded/conformal_peers.json` holds what these found, with the script that made it. One
difference of convention is bridged here, where it can be seen: crepes-weighted wants

    sum_i w_i 1[s_i < q] >= (1 - alpha) (W + v)

of a weighted threshold q, where Tibshirani et al. (2019), MAPIE and its own unweighted rule ask for
s_i <= q. Its threshold is therefore the next larger score.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import reference
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from covshift.conformal.bands import Band
from covshift.conformal.classifier import ClassScore
from covshift.conformal.held_out import plus_interval, plus_sets
from covshift.conformal.scores import ScoreDistribution

RECORD = json.loads(
    (Path(__file__).parents[1] / "recorded" / "conformal_peers.json").read_text("utf-8")
)
COVERAGES = ("0.5", "0.75", "0.9", "0.95")

coverages = st.integers(1, 19).map(lambda k: Fraction(k, 20))
parts = st.integers(0, 8).map(lambda k: Fraction(k, 8))
owns = st.integers(0, 9)
calm = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def samples(draw):
    """Scores with ties, and whole weights, some zero."""
    pairs = st.tuples(st.integers(0, 5), st.integers(0, 4))
    rows = draw(st.lists(pairs, min_size=1, max_size=12))
    assume(any(w for _, w in rows))
    scores, weights = zip(*rows, strict=True)
    return list(scores), list(weights)


def of(scores, weights):
    return ScoreDistribution.of(np.array(scores, dtype=float), np.array(weights, dtype=float))


def limit(sample, own, coverage, u=None):
    given_u = None if u is None else np.array([float(u)])
    return of(*sample).thresholds(float(coverage), np.array([float(own)]), given_u)


def at(sample, own, coverage):
    return limit(sample, own, coverage).scores[0]


@calm
@given(samples(), owns, coverages)
def test_the_threshold_is_that_of_the_definition(sample, own, coverage):
    assert at(sample, own, coverage) == reference.conformal_threshold(*sample, own, coverage)


@calm
@given(samples(), owns, coverages, st.none() | parts)
def test_a_score_is_inside_where_its_p_value_exceeds_alpha(sample, own, coverage, u):
    found = limit(sample, own, coverage, u)
    for c in np.arange(-1, 7, 0.5):
        p = reference.conformal_p_value(*sample, own, c, 1 if u is None else u)
        assert found.admit(np.array([[c]]))[0, 0] == (p > 1 - coverage)


@calm
@given(samples(), owns, coverages)
def test_it_grows_with_coverage_and_with_the_rows_own_weight(sample, own, coverage):
    assert at(sample, own, coverage) <= at(sample, own, coverage + Fraction(1, 40))
    assert at(sample, own, coverage) <= at(sample, own + 1, coverage)


@calm
@given(samples(), owns, coverages, st.sampled_from([1e-9, 0.3, 7.0, 1e12]))
def test_the_scale_of_the_weights_says_nothing(sample, own, coverage, scale):
    scores, weights = sample
    scaled = scores, np.array(weights) * scale
    assert at(scaled, own * scale, coverage) == at(sample, own, coverage)
    for u in (0.0, 0.25, 0.8):
        left, right = limit(scaled, own * scale, coverage, u), limit(sample, own, coverage, u)
        np.testing.assert_array_equal(left.scores, right.scores)
        np.testing.assert_array_equal(left.open, right.open)


@calm
@given(samples(), owns, coverages)
def test_a_repeated_row_is_a_row_of_double_weight(sample, own, coverage):
    scores, weights = sample
    again = [*scores, scores[0]], [*weights, weights[0]]
    doubled = scores, [2 * weights[0], *weights[1:]]
    assert at(again, own, coverage) == at(doubled, own, coverage)


@calm
@given(samples(), owns, coverages)
def test_it_is_infinite_exactly_where_the_row_alone_exceeds_the_level(sample, own, coverage):
    alone = own > (1 - coverage) * (sum(sample[1]) + own)
    assert np.isinf(at(sample, own, coverage)) == alone


@calm
@given(samples(), owns, coverages, parts)
def test_randomised_is_never_above_conservative(sample, own, coverage, u):
    assert limit(sample, own, coverage, u).scores[0] <= at(sample, own, coverage)


def leave_one_out(sample, coverage, u=None):
    """Whether each row is inside of the threshold that all others make."""
    scores, weights = (np.array(part, dtype=float) for part in sample)
    inside = []
    for i, s in enumerate(scores):
        rest = np.arange(len(scores)) != i
        found = limit((scores[rest], weights[rest]), weights[i], coverage, u)
        inside.append(bool(found.admit(np.array([[s]]))[0, 0]))
    return np.array(inside)


@calm
@given(samples(), coverages)
def test_any_row_of_a_bag_may_be_the_new_one(sample, coverage):
    """If row i is the new one with probability w_i / W, the coverage is as promised, for any bag.

    This is what exchangeability gives: 1 - alpha at least, and exactly that if u is uniform.
    """
    w, found = np.array(sample[1]) / sum(sample[1]), of(*sample)
    scores = np.array(sample[0])
    assert w @ found.covers_own(float(coverage), scores) >= float(coverage) - 1e-12
    U = (np.arange(200) + 0.5) / 200
    shares = [w @ found.covers_own(float(coverage), scores, u) for u in U]
    assert np.mean(shares) == pytest.approx(float(coverage), abs=0.006)  # it is a grid


@calm
@given(samples(), coverages, st.none() | parts)
def test_a_row_covers_itself_as_the_threshold_of_the_others_does(sample, coverage, u):
    assume(sum(w > 0 for w in sample[1]) > 1)
    there = np.array(sample[1]) > 0
    asked = None if u is None else float(u)
    own = of(*sample).covers_own(float(coverage), np.array(sample[0]), asked)
    np.testing.assert_array_equal(own[there], leave_one_out(sample, coverage, u)[there])


@pytest.mark.thorough
def test_coverage_under_known_ratios_with_ties():
    """15 calibration rows, x is 0 or 1 with chances that differ, scores are 0, 1, 2 or 3."""
    rng, n, m = np.random.default_rng(0), 15, 4000
    ratio = np.array([0.3 / 0.6, 0.7 / 0.4])
    covered = dict.fromkeys(["conservative", "randomised", "unweighted"], 0)
    for _ in range(m):
        x = (rng.random(n + 1) < np.append(np.full(n, 0.4), 0.7)).astype(int)
        s = np.minimum(rng.integers(0, 3, n + 1) + x, 3).astype(float)
        w, u = ratio[x], rng.random(1)
        found = ScoreDistribution.of(s[:n], w[:n])
        plain = ScoreDistribution.of(s[:n], np.ones(n))
        for name, limits in {
            "conservative": found.thresholds(0.8, w[n:]),
            "randomised": found.thresholds(0.8, w[n:], u),
            "unweighted": plain.thresholds(0.8, np.ones(1), u),
        }.items():
            covered[name] += limits.admit(s[n:, None])[0, 0] / m
    error = np.sqrt(0.8 * 0.2 / m)
    assert covered["conservative"] > 0.8 + 4 * error  # ties
    assert covered["randomised"] == pytest.approx(0.8, abs=4 * error)
    assert covered["unweighted"] < 0.8 - 6 * error  # or nothing would have been shown


def test_nothing_is_known_without_rows_or_where_the_weight_is_infinite():
    found = of([], []).thresholds(0.9, np.array([0.0, 1.0, np.inf]))
    assert np.isposinf(found.scores).all()
    for u in (None, np.zeros(2)):
        found = of([1, 2], [1, 0]).thresholds(0.5, np.array([np.inf, 0.0]), u)
        assert found.scores.tolist() == [np.inf, 1.0]
    assert of([3.0] * 9, [1] * 9).thresholds(0.9, np.ones(1)).scores[0] == 3.0


# other packages


def numbers(rows):
    """Recorded ends; None is infinite, on the side where it stands."""
    ends = np.array([[np.nan if v is None else v for v in row] for row in rows])
    return np.where(np.isnan(ends), [-np.inf, np.inf], ends)


def of_ratios():
    given = {k: np.array(v) for k, v in RECORD["ratios"].items() if k != "intervals"}
    return given, RECORD["ratios"]["intervals"]


@pytest.mark.parametrize("coverage", COVERAGES)
@pytest.mark.parametrize("kind", ["weighted", "normalized"])
def test_given_ratios_make_the_intervals_of_crepes_weighted_by_its_rule(coverage, kind):
    given, intervals = of_ratios()
    by = given["difficulty"] if kind == "normalized" else np.ones(60)
    unit = given["new_difficulty"] if kind == "normalized" else np.ones(8)
    scores = np.abs(given["residuals"]) / by
    ours = ScoreDistribution.of(scores, given["ratio"])
    ours = ours.thresholds(float(coverage), given["new_ratio"]).scores
    ranked = np.append(np.unique(scores), np.inf)
    theirs = ranked[np.minimum(np.searchsorted(ranked, ours) + 1, len(ranked) - 1)]
    low, high = Band(given["center"], given["center"], unit).interval(theirs)
    expected = numbers(intervals[coverage][kind])
    np.testing.assert_allclose(np.column_stack([low, high]), expected, rtol=1e-12)
    assert np.isfinite(expected).any() or coverage == "0.95"


@pytest.mark.parametrize("coverage", COVERAGES)
def test_weights_of_one_make_the_plain_rule_of_crepes(coverage):
    given, intervals = of_ratios()
    scores = np.abs(given["residuals"])
    ours = ScoreDistribution.of(scores, np.ones(60)).thresholds(float(coverage), np.ones(8))
    rank = int(np.ceil(float(coverage) * 61 - 1e-9))
    np.testing.assert_array_equal(ours.scores, np.sort(scores)[rank - 1])
    low, high = Band(given["center"], given["center"], np.ones(8)).interval(*ours)
    expected = numbers(intervals[coverage]["plain"])
    np.testing.assert_allclose(np.column_stack([low, high]), expected, rtol=1e-12)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_cv_plus_is_that_of_mapie(coverage):
    record = RECORD["regression"]
    X, y, new, fold = (np.array(record[name]) for name in ("X", "y", "new", "fold"))
    models = [LinearRegression().fit(X[fold != k], y[fold != k]) for k in range(5)]
    scores = np.array([abs(y[i] - models[fold[i]].predict(X[[i]])[0]) for i in range(len(y))])
    bands = [Band(f, f, np.ones(6)) for f in (model.predict(new) for model in models)]
    ends = plus_interval(bands, fold, scores, np.ones(45), np.ones(6), float(coverage))
    np.testing.assert_allclose(np.column_stack(ends), numbers(record["cv+"][coverage]), rtol=1e-9)


# CV+ by loops


@calm
@given(samples(), owns, coverages, st.integers(0, 10_000))
def test_cv_plus_is_that_of_its_loops(sample, own, coverage, seed):
    rng = np.random.default_rng(seed)
    scores, weights = sample
    fold = np.arange(len(scores)) % 3
    bands = [np.sort(rng.integers(0, 8, size=(3, 2)), axis=1) for _ in range(3)]
    bands = [Band(*(b.T / 4), rng.integers(1, 3, 3) / 2) for b in bands]
    owns = np.array([float(own), 0.0, np.inf])
    given_rows = fold, np.array(scores) / 4, np.array(weights, dtype=float)
    low, high = plus_interval(bands, *given_rows, owns, float(coverage))
    for j, v in enumerate((own, 0)):
        ends = [(b.low[j], b.high[j], b.unit[j]) for b in bands]
        expected = reference.plus_interval(ends, fold, given_rows[1], weights, v, coverage)
        assert (low[j], high[j]) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert (low[2], high[2]) == (-np.inf, np.inf)


@calm
@given(samples(), owns, coverages, st.none() | parts, st.integers(0, 10_000))
def test_sets_by_cv_plus_are_those_of_their_loops(sample, own, coverage, u, seed):
    scores, weights = sample
    fold = np.arange(len(scores)) % 3
    matrices = np.random.default_rng(seed).integers(0, 6, size=(3, 2, 4)).astype(float)
    given_rows = fold, np.array(scores, dtype=float), np.array(weights, dtype=float)
    asked = None if u is None else np.full(2, float(u))
    owns = np.array([float(own), np.inf])
    found = plus_sets(list(matrices), *given_rows, owns, float(coverage), asked)
    expected = reference.plus_set(
        matrices[:, 0], fold, scores, weights, own, coverage, 1 if u is None else u
    )
    assert found[0].tolist() == expected
    assert found[1].all()


# bands and scores of classes


@pytest.mark.parametrize("unit", [1.0, 0.7, 1e-3])
def test_an_outcome_of_the_very_score_is_inside_or_outside_as_asked(unit):
    """The end is a rounded sum, which may miss the outcome whose score it was made from."""
    rng = np.random.default_rng(0)
    f, y = rng.normal(size=(2, 5000)).round(1) * [[1.0], [30.0]]
    band = Band(f, f + rng.choice([0, 0.1], 5000), np.full(5000, unit))
    score = band.scores(y)
    low, high = band.interval(score)
    assert ((low <= y) & (y <= high)).all()
    assert (high - low <= band.high - band.low + 2 * score * unit + 1e-12).all()
    apart = score > 1e-6
    low, high = band.interval(score, np.ones(5000, dtype=bool))
    assert not ((low <= y) & (y <= high))[apart].any()


def test_a_band_is_widened_and_narrowed_by_its_unit():
    band = Band(np.array([1.0, 1.0]), np.array([3.0, 3.0]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(band.scores(np.array([0.0, 2.0])), [1.0, -0.5])
    np.testing.assert_allclose(
        band.interval(np.array([0.5, 0.5])), [[0.5, 0.0], [3.5, 4.0]], atol=1e-14
    )
    np.testing.assert_allclose(band.interval(np.array([-0.5, -0.6])), [[1.5, 2], [2.5, 2]])
    np.testing.assert_array_equal(band.interval(np.full(2, -np.inf)), np.full((2, 2), 2.0))


@pytest.mark.parametrize("name", ["lac", "aps", "raps"])
@pytest.mark.parametrize("u", [None, 0.3])
def test_scores_of_classes_are_those_of_their_definition(name, u):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(5), size=20)
    p[:5] = [0.2, 0.4, 0.2, 0.2, 0.0]  # ties
    found = ClassScore(name, 0.1, 2).matrix(p, None if u is None else np.full(20, u))
    for row, scores in zip(p, found, strict=True):
        options = {"penalty": 0.1, "start": 2} if name == "raps" else {}
        adaptive = reference.adaptive_scores(row, 1 if u is None else u, **options)
        np.testing.assert_allclose(scores, 1 - row if name == "lac" else adaptive)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_sets_of_least_size_are_those_of_mapie(coverage):
    record = RECORD["classification"]
    p, y, n = np.array(record["p"]), np.array(record["y"]), record["calibrated"]
    matrix = ClassScore("lac").matrix(p)
    found = ScoreDistribution.of(matrix[np.arange(n), y[:n]], np.ones(n))
    sets = found.thresholds(float(coverage), np.ones(len(p) - n)).admit(matrix[n:])
    np.testing.assert_array_equal(sets.astype(int), record["sets"][coverage])
