"""Folds: single rows, by content; and what tuned estimators make of repeated values."""

from __future__ import annotations

import numpy as np
import pytest
from machines import VSVC, VSVR

from covshift import VBoostClassifier
from covshift.numerics.folds import Fold, hashed_folds, ranked_folds
from covshift.numerics.hashing import RowUnits

DEALERS = {
    "ranked": lambda X, Y, w=None, repeats=None: ranked_folds(X, Y, 5, w, repeats),
    "hashed": lambda X, Y, w=None, repeats=None: list(
        hashed_folds(X, Y, 5, w, repeats, units=as_they_are(X.shape[1])).values()
    ),
}


def as_they_are(n):
    """Units of n columns that leave their numbers alone."""
    return RowUnits(np.zeros(n), np.ones(n), np.arange(float(n)))


def cells(N=500, seed=0, jitter=0.0):
    """Four binary features, an outcome that depends on them, a target elsewhere among the cells."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(N, 4)).astype(float)
    T = (rng.uniform(size=(400, 4)) < [0.8, 0.7, 0.5, 0.3]).astype(float)
    y = (rng.uniform(size=N) < truth(X)).astype(int)
    return X + jitter * rng.normal(size=X.shape), y, T


def truth(X):
    return 1 / (1 + np.exp(-(X @ [1.5, -1, 0.8, 0] + X[:, 0] * X[:, 1] - 0.8)))


def fold_numbers(folds: list[Fold], N: int) -> np.ndarray:
    number = np.full(N, -1)
    for k, fold in enumerate(folds):
        assert (number[fold.rows] == -1).all()
        number[fold.rows] = k
    return number


def held_out_counts(folds: list[Fold], content: np.ndarray) -> list[dict]:
    """Weight held out of every distinct row, fold by fold."""
    found = []
    for fold in folds:
        counts: dict = {}
        for row, weight in zip(fold.rows, fold.weight, strict=True):
            key = tuple(content[row])
            counts[key] = counts.get(key, 0.0) + weight
        found.append(counts)
    return found


@pytest.mark.parametrize("deal", DEALERS.values(), ids=DEALERS)
def test_equal_rows_are_held_out_one_by_one_as_chance_would(deal):
    X, y, _ = cells(2000)
    folds = deal(X, y[:, None].astype(float))
    number = fold_numbers(folds, 2000)
    code = X @ [8, 4, 2, 1]
    ones = np.array(
        [((code == c) & (y == 1) & (number == f)).sum() for c in range(16) for f in range(5)]
    )
    total = np.array([((code == c) & (y == 1)).sum() for c in range(16)])
    assert (ones.reshape(16, 5) < total[:, None]).all()  # no cell's ones go together
    # Nor are they dealt evenly, which would tell every fold the cell's share.
    spread = (ones.reshape(16, 5) - total[:, None] / 5) ** 2
    assert 0.6 < spread.sum() / (total * 0.8).sum() < 1.5


@pytest.mark.parametrize("deal", DEALERS.values(), ids=DEALERS)
def test_the_order_of_the_file_does_not_matter(deal):
    X, y, _ = cells(200)
    Y = y[:, None].astype(float)
    order = np.random.default_rng(1).permutation(200)
    content = np.column_stack([Y, X])
    assert held_out_counts(deal(X, Y), content) == held_out_counts(
        deal(X[order], Y[order]), content[order]
    )


@pytest.mark.parametrize("deal", DEALERS.values(), ids=DEALERS)
@pytest.mark.parametrize("distinct", [True, False])
def test_a_row_that_was_seen_twice_is_dealt_as_two_rows(deal, distinct):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) if distinct else rng.integers(0, 3, size=(60, 2)).astype(float)
    Y, times = rng.integers(0, 2, size=(60, 1)).astype(float), rng.integers(1, 5, size=60)
    repeated = np.repeat(np.arange(60), times)
    content = np.column_stack([Y, X])
    assert held_out_counts(deal(X, Y, times, times), content) == held_out_counts(
        deal(X[repeated], Y[repeated]), content[repeated]
    )


@pytest.mark.parametrize("deal", DEALERS.values(), ids=DEALERS)
def test_repeats_part_the_weight_of_a_row_and_leave_nothing_behind(deal):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 1))
    times, w = rng.integers(1, 7, size=40), rng.uniform(0.1, 9, size=40)
    folds = deal(X, Y, w, times)
    held = sum(np.bincount(fold.rows, fold.weight, 40) for fold in folds)
    np.testing.assert_allclose(held, w)
    for fold in folds:
        kept, share = fold.rest(w)
        assert (share > 0.1).all()
        np.testing.assert_allclose(w[kept] @ share + fold.weight.sum(), w.sum())


@pytest.mark.parametrize("deal", DEALERS.values(), ids=DEALERS)
@pytest.mark.parametrize("factor", [1.0, 0.37, 1000.0])
def test_weights_hold_out_whole_rows(deal, factor):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 1))
    expanding = factor * np.round(rng.uniform(300, 900, size=60))
    for w in (np.full(60, factor), factor * np.arange(1.0, 61.0), expanding):
        folds = deal(X, Y, w)
        number = fold_numbers(folds, 60)
        assert (number >= 0).all()
        for fold in folds:
            np.testing.assert_array_equal(fold.weight, w[fold.rows])
    np.testing.assert_array_equal(number, fold_numbers(deal(X, Y), 60))


def test_what_stays_keeps_the_rest_of_its_weight():
    kept, share = Fold(np.array([0, 2]), np.array([1.0, 3.0])).rest(np.array([4.0, 1.0, 3.0]))
    np.testing.assert_array_equal(kept, [0, 1])
    np.testing.assert_array_equal(share, [0.75, 1.0])


def test_folds_hold_out_classes_as_unevenly_as_chance_would():
    """Even shares of a class in every fold and place make rough fits look right."""
    rng = np.random.default_rng(0)
    X, y = np.sort(rng.uniform(size=500))[:, None], (rng.uniform(size=500) < 0.4).astype(float)
    folds = fold_numbers(ranked_folds(X, y[:, None], 5), 500)
    ones = np.array(
        [
            (folds[w : w + 50] == f) & (y[w : w + 50] == 1)
            for f in range(5)
            for w in range(0, 500, 50)
        ]
    ).sum(axis=1)
    chance = y.mean() * 50 * 0.2 * 0.8  # variance of a fifth of the ones of a window
    assert 0.6 * chance < ones.var() < 1.6 * chance
    assert np.ptp(np.bincount(folds[y == 1])) <= 1  # over all rows the shares are even


def test_ranks_and_not_values_deal_the_rows():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 2)), rng.normal(size=(50, 1))
    folds = fold_numbers(ranked_folds(X, Y, 5), 50)
    np.testing.assert_array_equal(fold_numbers(ranked_folds(3 * X + 1e-3, Y, 5), 50), folds)
    assert sorted(np.bincount(folds)) == [10] * 5


def test_hashed_folds_are_the_same_in_every_block():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5000, 2)), rng.normal(size=(5000, 1))
    whole = fold_numbers(DEALERS["hashed"](X, Y), 5000)
    assert np.bincount(whole).min() > 900
    part = fold_numbers(DEALERS["hashed"](X[1000:3000], Y[1000:3000]), 2000)
    np.testing.assert_array_equal(part, whole[1000:3000])


def test_minus_zero_is_in_the_fold_of_zero():
    X, Y = np.zeros((3, 2)), np.zeros((3, 1))
    numbers = [fold_numbers(DEALERS["hashed"](sign * X, Y), 3) for sign in (1, -1)]
    np.testing.assert_array_equal(*numbers)


# What a user sees: repeated values must not change what is chosen


TUNED = {
    "none": VSVC("none"),
    "blended": VSVC("blended"),
    "additive": VSVC("additive"),
    "landmarks": VSVC("none", solver="primal", n_components=16, random_state=0),
    "width": VSVC("none", width="cv"),
    "auto": VSVC("auto"),
    "trees": VBoostClassifier("none", early_stopping=True, max_leaf_nodes=8, learning_rate=0.3),
}


@pytest.mark.part(20)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TUNED)
def test_on_cells_a_tuned_classifier_is_near_the_truth(name):
    """Folds of values ran the penalty to the end of its grid, with an excess error of .04."""
    excess = []
    for seed in range(3):
        X, y, T = cells(seed=seed)
        fitted = TUNED[name].fit(X, y, X_target=T)
        excess.append(np.mean((fitted.predict_proba(T)[:, 1] - truth(T)) ** 2))
    assert np.mean(excess) < 0.010


@pytest.mark.thorough
def test_the_penalty_on_cells_is_that_of_the_same_data_moved_by_a_hair():
    logs = []
    for jitter in (0.0, 1e-9):
        penalties = [
            VSVC("none").fit(*cells(seed=seed, jitter=jitter)[:2]).reg_ for seed in range(5)
        ]
        logs.append(np.log10(penalties).mean())
    assert abs(logs[0] - logs[1]) < 0.5


def test_regression_on_cells_finds_their_means():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(600, 1)).astype(float)
    mean = np.array([0.0, 3.0, -1.0, 2.0, 0.5])
    y = mean[X[:, 0].astype(int)] + rng.normal(size=600)
    model = VSVR("none", width=0.5).fit(X, y)
    expected = [y[X[:, 0] == k].mean() for k in range(5)]
    np.testing.assert_allclose(model.predict(np.arange(5.0)[:, None]), expected, atol=0.1)
