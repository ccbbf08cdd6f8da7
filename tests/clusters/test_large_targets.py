"""Sums of landmarks under a large target: bounded arrays, and a target that barely moves."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from covshift import VSVR, Kernel
from covshift.corrections import Additive, Sliced
from covshift.operators import target_sums as module

rng = np.random.default_rng(0)
N, M, n = 4000, 30_000, 4
X = rng.normal(size=(N, n))
T = rng.normal(0.4, 1.0, size=(M, n))
T[:, 3] = np.round(T[:, 3])  # few values: they stay as they are
y = np.sin(X[:, 0]) + X[:, 1] + rng.normal(size=N)
share = np.full(M, 1 / M)


def fitted(correction="blended", target=T):
    machine = VSVR(
        correction,
        kernel=Kernel("rbf", width="scale", coordinates="none"),
        n_components=30,
        solver="primal",
        random_state=0,
    )
    return machine.fit(X, y, X_target=target)


@pytest.mark.parametrize("correction", [Additive(symmetric=True), Sliced(30, random_state=0)])
def test_the_sums_do_not_grow_with_the_target(correction):
    sums = correction.target_sums(T, share).sums(X[:50], np.ones((50, 2)), np.ones(50), None)
    views = 30 if isinstance(correction, Sliced) else n
    sides = 2 if correction.symmetric else 1
    allowed = max(module._THRESHOLDS, views * module._FEWEST)
    assert allowed / 2 < len(sums.totals) <= sides * allowed + views


def test_memory_of_a_fit_does_not_grow_with_the_target():
    fitted(target=T[:2000])  # what is kept between calls
    peaks = []
    for target in (T[:2000], T):
        tracemalloc.start()
        fitted(target=target)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 40e6  # one fold's sums over all values would be 46 MB


def test_distribution_functions_move_by_half_a_threshold_at_most():
    exact = Additive().views(T, share).lines.lines
    merged = Additive().views(T, share).merged(400, 16).lines.lines
    for k, (one, two) in enumerate(zip(exact, merged, strict=True)):
        at = np.sort(T[:, k])
        functions = [
            np.concatenate([[0], np.cumsum(line.weights)])[
                np.searchsorted(line.values, at, "right")
            ]
            for line in (one, two)
        ]
        assert two.weights.sum() == pytest.approx(one.weights.sum())
        if k == 3:
            np.testing.assert_array_equal(one.values, two.values)
        else:
            assert two.size <= 100
            assert abs(functions[0] - functions[1]).max() <= (0.5 / 100 + 2 / M) / n


@pytest.mark.thorough
def test_merging_moves_a_fit_far_less_than_another_target_would(monkeypatch):
    target = T[:6000]
    monkeypatch.setattr(module, "_THRESHOLDS", 1 << 12)
    found, half = (fitted(target=rows).predict(T[:500]) for rows in (target, target[::2]))
    monkeypatch.setattr(module, "_THRESHOLDS", 1 << 40)
    exact = fitted(target=target).predict(T[:500])
    moved = np.sqrt(np.mean((found - exact) ** 2))
    assert 0 < moved < 0.1 * np.sqrt(np.mean((half - exact) ** 2))


def test_a_target_of_few_values_is_not_merged(monkeypatch):
    few = T[: module._THRESHOLDS // n]
    found = fitted("additive", few).predict(T[:100])
    monkeypatch.setattr(module, "_THRESHOLDS", 1 << 40)
    np.testing.assert_array_equal(found, fitted("additive", few).predict(T[:100]))
