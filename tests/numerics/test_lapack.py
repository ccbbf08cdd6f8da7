"""LAPACK's routines called without the interpreter's lock, and the folds that share the threads."""

from __future__ import annotations

import numpy as np
import pytest
from machines import VSVC, VSVR
from scipy.linalg import LinAlgError

from covshift.machine import auto as tuning
from covshift.machine import dual as _lapack
from covshift.machine.auto import over_folds
from covshift.machine.dual import BandForm, cholesky, congruence
from covshift.numerics import parallel as _parallel

rng = np.random.default_rng(0)


@pytest.mark.parametrize("N", [1, 2, 40])
@pytest.mark.parametrize("order", ["C", "F"])
def test_cholesky_and_congruence_are_those_of_numpy(N, order):
    root, K = rng.normal(size=(N, N)), rng.normal(size=(N, N))
    V, K = np.array(root @ root.T + np.eye(N), order=order), np.array(K + K.T, order=order)
    before = V.copy(), K.copy()
    L = cholesky(V)
    np.testing.assert_allclose(L, np.linalg.cholesky(V), atol=1e-12)
    np.testing.assert_allclose(np.tril(congruence(K, L)), np.tril(L.T @ K @ L), atol=1e-10)
    np.testing.assert_array_equal(V, before[0])
    np.testing.assert_array_equal(K, before[1])


def test_only_lower_triangles_are_read():
    root = rng.normal(size=(20, 20))
    V = root @ root.T + np.eye(20)
    below = np.tril(V)
    np.testing.assert_array_equal(cholesky(below), cholesky(V))
    np.testing.assert_array_equal(np.tril(congruence(below, below)), np.tril(congruence(V, below)))
    large = rng.normal(size=(100, 100))
    large += large.T
    np.testing.assert_array_equal(BandForm.of(np.tril(large)).bands, BandForm.of(large).bands)


def test_no_factor_of_what_has_none():
    assert cholesky(-np.eye(3)) is None
    assert cholesky(np.zeros((3, 3))) is None


@pytest.mark.parametrize("N", [0, 1, 2, 3, 64, 65, 66, 130, 200])
def test_systems_in_band_form_are_those_of_the_matrix(N):
    S = rng.normal(size=(N, N))
    S = S @ S.T / max(1, N)
    form, b = BandForm.of(S), rng.normal(size=(N, 3))
    found = form.rotated(form.solve(form.rotated(b, back=False), 0.3), back=True)
    np.testing.assert_allclose(found, np.linalg.solve(S + 0.3 * np.eye(N), b), atol=1e-11)
    np.testing.assert_allclose(form.rotated(form.rotated(b, back=False), back=True), b, atol=1e-13)


def test_a_band_form_that_rounding_made_indefinite_is_solved_too():
    S = rng.normal(size=(150, 150))
    S = S + S.T
    form, b = BandForm.of(S), rng.normal(size=(150, 2))
    found = form.rotated(form.solve(form.rotated(b, back=False), 0.1), back=True)
    np.testing.assert_allclose((S + 0.1 * np.eye(150)) @ found, b, atol=1e-9)


def test_a_failure_is_an_error():
    with pytest.raises(LinAlgError, match="dsygst failed with info = -1"):
        _lapack._check("dsygst", -1)


# Folds in threads


@pytest.fixture(params=[1, 2, 3])
def threads(request, monkeypatch):
    monkeypatch.setattr(_parallel, "thread_count", lambda: request.param)
    return request.param


def test_results_come_in_the_order_of_the_folds(threads):
    assert over_folds(lambda i: i**2, 7, 500) == [i**2 for i in range(7)]
    assert over_folds(lambda i: i**2, 7, 5) == [i**2 for i in range(7)]


def test_errors_of_a_fold_are_raised(threads):
    def fail(i):
        if i == 4:
            raise InterruptedError("fold 4")

    with pytest.raises(InterruptedError, match="fold 4"):
        over_folds(fail, 5, 500)


def test_small_and_huge_problems_go_fold_by_fold(monkeypatch):
    asked = []
    monkeypatch.setattr(tuning, "over_rows", lambda work, n, at_least: asked.append(at_least))
    for N in (10, 1000, 10_000):
        over_folds(print, 5, N)
    assert asked == [5, 1, 5]


@pytest.mark.parametrize("correction", ["none", "blended", "auto"])
def test_threads_change_nothing(monkeypatch, correction):
    monkeypatch.setattr(tuning, "_THREADED", range(1 << 30))
    X, T = rng.normal(size=(60, 2)), rng.normal(0.5, 1, size=(40, 2))
    y = X[:, 0] ** 2 + rng.normal(size=60)
    found = []
    for count in (1, 2):
        monkeypatch.setattr(_parallel, "thread_count", lambda count=count: count)
        model = VSVR(correction, kernel="rbf", width=1.0).fit(X, y, X_target=T)
        chances = VSVC(correction, kernel="rbf", width=1.0).fit(X, y > 1, X_target=T)
        found.append((model.predict(T), chances.predict_proba(T)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
