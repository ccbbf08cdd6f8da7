"""Conjugate gradients against the decompositions that they spare, and where they hand over."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import VSVR
from sklearn.metrics.pairwise import pairwise_kernels

from covshift.corrections import Additive, Gaussian, Multiplicative, Precomputed, Unweighted
from covshift.machine import dual
from covshift.machine import dual as gradients
from covshift.machine.dual import (
    Dual,
    is_worth_trying,
    largest_condition,
    small_factor,
    solve_by_gradients,
    solve_dual,
)
from covshift.operators import Diagonal

rng = np.random.default_rng(0)
X, T = rng.normal(size=(150, 3)), rng.normal(0.4, 1, size=(90, 3))
Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] > 0]).astype(float)
K = pairwise_kernels(X, metric="rbf", gamma=0.3)
BLENDED = Additive(symmetric=True, normalize=True, blend=0.5)
CORRECTIONS = [Additive(), BLENDED, Multiplicative(symmetric=True), Gaussian()]


@pytest.fixture(autouse=True)
def _few_random_vectors(monkeypatch):
    """As many as there are rows would approximate V without an error."""
    monkeypatch.setattr(gradients, "_SKETCH", 15)


def agree(V, K, Y, reg, atol=1e-8):
    found = solve_by_gradients(V, K, Y, reg)
    assert found is not None
    A, c = found
    exact = Dual(small_factor(V), K).solve(Y, reg)
    np.testing.assert_allclose(K @ A + c, K @ exact.A + exact.c, atol=atol)
    apart = A - exact.A
    assert np.abs(np.diag(apart.T @ K @ apart)).max() <= atol**2 / min(reg, 1)  # of f anywhere


@pytest.mark.parametrize("correction", CORRECTIONS, ids=str)
@pytest.mark.parametrize("reg", [0.1, 1.0, 1e3, 1e7])
def test_they_give_what_decompositions_give(correction, reg):
    agree(correction.operator(X, T), K, Y, reg)


def test_entries_at_hand_give_what_the_factor_gives(monkeypatch):
    monkeypatch.setattr(gradients, "_FEWEST_ROWS", 100)
    V = BLENDED.operator(X, T)
    one, other = (solve_dual(V, K, Y, reg=0.5, entries=known) for known in (None, V.dense()))
    np.testing.assert_allclose(K @ one.A + one.c, K @ other.A + other.c, atol=1e-8)
    assert one.rank == other.rank


def test_they_give_the_papers_closed_form():
    V = BLENDED.operator(X, T)
    A, c = reference.closed_form(V.dense(), K, Y[:, 0], 0.5)
    found, intercept = solve_by_gradients(V, K, Y[:, :1], 0.5)
    np.testing.assert_allclose(found[:, 0], A, atol=1e-8)
    assert intercept[0] == pytest.approx(c, abs=1e-9)


def test_they_agree_in_double_precision(monkeypatch):
    monkeypatch.setattr(gradients, "_SINGLE", 0.0)
    agree(BLENDED.operator(X, T), K, Y, 0.01)


@pytest.mark.parametrize(
    ("points", "kernel"),
    [
        (np.repeat(X[:50], 3, axis=0), "rbf"),  # V and K are singular
        (np.round(X), "rbf"),
        (X, "linear"),
        (np.column_stack([X[:, 0], np.ones(150)]), "rbf"),
        ((X > 0).astype(float), "rbf"),
    ],
)
@pytest.mark.parametrize("correction", [Additive(), BLENDED, Multiplicative()], ids=str)
def test_ties_repeats_and_few_features(points, kernel, correction):
    width = points.shape[1]
    V, kernel_values = (
        correction.operator(points, T[:, :width]),
        pairwise_kernels(points, metric=kernel),
    )
    if kernel == "linear" and solve_by_gradients(V, kernel_values, Y, 1.0) is None:
        return  # of rank five: where rounding stops them, decompositions serve
    agree(V, kernel_values, Y, 1.0)


def test_weights_of_rows_among_them_tiny_ones():
    w = np.where(np.arange(150) % 3 == 0, 1e-6, np.linspace(0.1, 5, 150))
    for correction in (Additive(), BLENDED, Multiplicative()):
        agree(correction.operator(X, T).weighted(w), K, Y, 1.0)


def test_rows_that_v_does_not_see():
    V = Multiplicative().operator(X, T[:2])
    assert (V.diagonal() == 0).any()
    agree(V, K, Y, 1.0)


@pytest.mark.parametrize("constant", [np.ones((150, 150)), np.zeros((150, 150))])
def test_a_constant_kernel_leaves_the_intercept(monkeypatch, constant):
    monkeypatch.setattr(gradients, "_FEWEST_ROWS", 100)
    V = BLENDED.operator(X, T)
    found = solve_dual(V, constant, Y, reg=1.0)
    f = np.ones(150) @ V.dense() @ Y / V.dense().sum()
    np.testing.assert_allclose(constant @ found.A + found.c, np.tile(f, (150, 1)), atol=1e-9)


def test_a_constant_outcome_is_the_intercept(monkeypatch):
    monkeypatch.setattr(gradients, "_FEWEST_ROWS", 100)
    found = solve_dual(BLENDED.operator(X, T), K, np.full((150, 1), 2.5), reg=1.0)
    np.testing.assert_allclose(found.A, 0, atol=1e-12)
    assert found.c[0] == pytest.approx(2.5)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([0.3, 30.0]), st.booleans())
def test_on_any_sample(seed, reg, tied):
    generator = np.random.default_rng(seed)
    points, target = generator.normal(size=(40, 2)), generator.normal(size=(25, 2))
    if tied:
        points, target = np.round(points), np.round(target)
    V = Additive().operator(points, target)
    kernel = pairwise_kernels(points, metric="laplacian", gamma=0.5)
    agree(V, kernel, generator.normal(size=(40, 1)), reg)


# Handing over


def test_nothing_is_found_where_v_sees_no_row():
    V = Precomputed(np.zeros((150, 150))).operator(X, T)
    assert solve_by_gradients(V, K, Y, 1.0) is None


def test_nothing_is_found_where_rounding_would_decide():
    assert solve_by_gradients(BLENDED.operator(X, T), K, Y, 1e-12) is None


@pytest.mark.parametrize("shift", [1.5, 0.5])
def test_nothing_wrong_is_found_for_what_is_no_kernel(shift):
    indefinite = K - shift * np.eye(150)
    V = BLENDED.operator(X, T)
    found = solve_by_gradients(V, indefinite, Y, 0.1)
    if found is not None:
        exact = Dual(small_factor(V), indefinite).solve(Y, 0.1)
        np.testing.assert_allclose(indefinite @ found[0], indefinite @ exact.A, atol=1e-7)


def test_slow_convergence_is_given_up(monkeypatch):
    monkeypatch.setattr(gradients, "_MOST_STEPS", 2)
    assert solve_by_gradients(Additive().operator(X, T), K, Y, 0.1) is None


def test_they_are_for_many_rows_and_large_factors(monkeypatch):
    monkeypatch.setattr(gradients, "_FEWEST_ROWS", 100)
    assert is_worth_trying(Additive().operator(X, T), 150)
    assert is_worth_trying(Gaussian().operator(X, T), 150)
    assert not is_worth_trying(Additive().operator(X[:99], T), 99)
    assert not is_worth_trying(Unweighted().operator(X, T), 150)
    assert not is_worth_trying(Diagonal(np.ones(150)), 150)
    assert not is_worth_trying(Multiplicative().operator(X, T[:5]), 150)


def test_the_condition_is_bounded():
    V = BLENDED.operator(X, T)
    trace = float((V.dense() * K).sum())
    assert 1 + trace / 0.1 <= largest_condition(V, K, 0.1)


@pytest.mark.parametrize("slow", [False, True])
def test_machines_do_not_show_which_was_used(monkeypatch, slow):
    setting = {"kernel": "rbf", "width": 1.3, "reg": 0.7, "solver": "dual"}
    expected = VSVR("blended", **setting).fit(X, Y[:, 0], X_target=T)
    monkeypatch.setattr(gradients, "_FEWEST_ROWS", 100)
    calls = []

    def counted(*args):
        calls.append(args)
        return None if slow else solve_by_gradients(*args)

    monkeypatch.setattr(dual, "solve_by_gradients", counted)
    model = VSVR("blended", **setting).fit(X, Y[:, 0], X_target=T)
    assert len(calls) == 1
    np.testing.assert_allclose(model.predict(T), expected.predict(T), atol=1e-9)
    assert model.rank_ == expected.rank_


def test_ranks_of_thin_factors(monkeypatch):
    monkeypatch.setattr(gradients, "_FEWEST_ROWS", 100)
    V = Multiplicative().operator(X, T)
    assert solve_dual(V, K, Y, reg=1.0).rank == 90
