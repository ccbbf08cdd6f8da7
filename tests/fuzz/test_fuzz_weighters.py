"""Weights of any samples: sound, or refused in words; no order, unit or repeat changes them."""

from __future__ import annotations

import warnings

import numpy as np
from fuzz.cases import fuzz, unless_refused
from fuzz.samples import Samples, samples
from hypothesis import assume, example
from hypothesis import strategies as st
from sklearn.base import clone

from covshift.exceptions import InputError
from covshift.weights import WEIGHTERS, CDFWeights, EntropyBalancing, PostStratification, Raking

SEEDED = {"discriminative", "kliep", "ulsif", "rulsif"}
CASES = samples(rows=(1, 14), features=(1, 3))
NAMES = st.sampled_from(sorted(WEIGHTERS))
TOLERANCE = 1e-5


def made(name):
    return WEIGHTERS[name](**({"random_state": 0} if name in SEEDED else {}))


def fitted(weighter, X, T, **options):
    return unless_refused(clone(weighter).fit, X, X_target=T, **options)


def fit_or_skip(weighter, X, T, **options):
    found = fitted(weighter, X, T, **options)
    assume(found is not None)
    return found


def heard(weighter, X, T):
    """The fitted weighter, and whether it warned; None where it refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return clone(weighter).fit(X, X_target=T), bool(caught)
        except InputError:
            return None, True


@fuzz(CASES, NAMES, of_100_000=4_400)
@example(Samples(np.array([[0.0], [0.0], [1.0]]), np.zeros((3, 1)), 0), "raking")
@example(Samples(np.zeros((1, 1)), np.array([[0.5]]), 0), "cdf")
def test_weights_are_finite_never_negative_and_of_mean_one(drawn, name):
    found = fit_or_skip(made(name), drawn.X, drawn.T)
    w = found.weights_
    assert w.shape == (len(drawn.X),)
    assert np.isfinite(w).all()
    assert (w >= 0).all()
    assert abs(w.mean() - 1) < 1e-9
    size = found.effective_sample_size_
    assert 1 - 1e-9 <= size <= len(w) * (1 + 1e-9)
    _, row = np.unique(drawn.X, axis=0, return_inverse=True)
    means = np.bincount(row.reshape(-1), weights=w) / np.bincount(row.reshape(-1))
    np.testing.assert_allclose(w, means[row.reshape(-1)], atol=TOLERANCE)


@fuzz(CASES, NAMES, st.sampled_from([0.0, 1e3, -1e3, 1e9]), of_100_000=2_200)
def test_weights_of_new_rows_are_finite_and_never_negative(drawn, name, away):
    found = fit_or_skip(made(name), drawn.X, drawn.T)
    for points in (drawn.T, drawn.X + away, drawn.X * away):
        new = found.predict_weights(points)
        assert new.shape == (len(points),)
        assert np.isfinite(new).all()
        assert (new >= 0).all()


@fuzz(CASES, NAMES, of_100_000=2_200)
def test_weights_follow_the_order_of_the_rows_and_no_other(drawn, name):
    rows, order = drawn.orders
    w = fit_or_skip(made(name), drawn.X, drawn.T).weights_
    moved = fitted(made(name), drawn.X[rows], drawn.T[order])
    assert moved is not None, "refused in another order"
    # Without overlap the likelihood is flat, and KLIEP's steps end somewhere on it.
    close = 0.02 if name == "kliep" else TOLERANCE
    np.testing.assert_allclose(moved.weights_, w[rows], atol=close)


@fuzz(samples(rows=(2, 12), features=(1, 2), units=(1.0,)), of_100_000=1_100)
def test_which_of_two_levels_is_called_one_does_not_change_cdf_weights(drawn):
    X, T = (rows.copy() for rows in (drawn.X, drawn.T))
    X[:, 0], T[:, 0] = X[:, 0] > 0, T[:, 0] > 0
    assume(T[:, 0].mean() != 0.5)  # then the sides are equal, and zero is the one that counts
    other_X, other_T = (np.column_stack([1 - Z[:, 0], Z[:, 1:]]) for Z in (X, T))
    given = CDFWeights(reg=0.1, tol=1e-9)
    w = fit_or_skip(given, X, T).weights_
    again = fitted(given, other_X, other_T)
    assert again is not None, "refused where the levels are called otherwise"
    np.testing.assert_allclose(again.weights_, w, atol=TOLERANCE)


@fuzz(samples(rows=(3, 25), units=(1.0, 1e6)), st.sampled_from([1, 2]), of_100_000=1_100)
def test_entropy_balancing_meets_the_moments_or_says_so(drawn, moments):
    found, warned = heard(EntropyBalancing(moments), drawn.X, drawn.T)
    assume(not warned)
    for power in range(1, moments + 1):
        X, T = drawn.X**power, drawn.T**power
        spread = np.concatenate([X, T]).std(axis=0)
        gap = np.average(X, axis=0, weights=found.weights_) - T.mean(axis=0)
        assert (np.abs(gap) <= 1e-5 * spread + 1e-9 * np.abs(T).max(axis=0)).all()


@fuzz(
    samples(rows=(3, 25), features=(1, 2), units=(1.0,), shift=0.0),
    st.sampled_from([Raking, PostStratification]),
    of_100_000=1_100,
)
def test_shares_of_values_are_the_targets_or_it_says_so(drawn, make):
    X, T = np.round(drawn.X), np.round(drawn.T)
    found, warned = heard(make(), X, T)
    assume(not warned)
    few = (len(np.unique(t)) <= 4 and set(t) == set(x) for x, t in zip(X.T, T.T, strict=True))
    assume(all(few))  # each value is a cell of its own
    for x, t in zip(X.T, T.T, strict=True):
        for value in np.unique(np.concatenate([x, t])):
            share = np.average(x <= value, weights=found.weights_)
            assert abs(share - (t <= value).mean()) < 1e-5
