"""Loops compiled by numba, against the NumPy forms they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from covshift import VBoostClassifier, VBoostRegressor
from covshift.boosting import approximate as cuts
from covshift.boosting import base as waiting
from covshift.boosting import candidates
from covshift.boosting import tree as sketch
from covshift.corrections import Additive
from covshift.exceptions import CoverageWarning
from covshift.numerics import parallel as _compiled
from covshift.numerics import parallel as _parallel
from covshift.operators import tree_bins as binned
from covshift.operators import tree_leaves as leaf_gram
from covshift.operators import tree_leaves as leaf_products

from .conftest import require

require("numba")

CORRECTIONS = {
    "none": "none",
    "additive": "additive",
    "blended": "blended",
    "sliced": "sliced",
    "multiplicative": "multiplicative",
    "doubly": Additive(symmetric=True, weights="cdf"),
}


def sample(N=400, n=4, M=150):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(N, n)), rng.normal(0.3, 1, size=(M, n))
    return np.round(X, 2), np.sin(3 * X[:, 0]) + X[:, 1] + rng.normal(size=N), np.round(T, 2)


@pytest.mark.filterwarnings(f"ignore::{CoverageWarning.__module__}.{CoverageWarning.__name__}")
@pytest.mark.parametrize("correction", CORRECTIONS.values(), ids=CORRECTIONS)
@pytest.mark.parametrize("reg_lambda", [0.0, 1.0])
@pytest.mark.parametrize("leaf_solve", ["exact", "approximate"])
def test_compiled_trees_are_those_of_numpy(correction, reg_lambda, leaf_solve, monkeypatch):
    if correction == "sliced":
        from covshift.corrections import Sliced

        correction = Sliced(7, random_state=0)
    X, y, T = sample()
    model = VBoostRegressor(
        correction,
        n_estimators=4,
        min_samples_leaf=10,
        reg_lambda=reg_lambda,
        leaf_solve=leaf_solve,
        early_stopping=True,
    )
    compiled = model.fit(X, y, X_target=T).predict(T)
    ensemble = model.ensemble_
    monkeypatch.setattr(_compiled, "ALLOWED", False)
    plain = model.fit(X, y, X_target=T).predict(T)
    np.testing.assert_array_equal(ensemble.feature, model.ensemble_.feature)
    np.testing.assert_allclose(compiled, plain, atol=1e-9)
    np.testing.assert_allclose(ensemble(T), model.ensemble_(T), atol=1e-9)


def test_compiled_products_are_those_of_numpy(monkeypatch):
    X, y, T = sample()
    for symmetric in (False, True):
        V = Additive(symmetric=symmetric).operator(X, T)
        A = np.column_stack([y, X[:, 0]])
        compiled = V.matmat(A)
        with monkeypatch.context() as without:
            without.setattr(_compiled, "ALLOWED", False)
            np.testing.assert_allclose(compiled, V.matmat(A), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("correction", ["none", "additive", "blended"])
def test_threads_change_nothing(correction, monkeypatch):
    X, y, T = sample()
    model = VBoostClassifier(correction, n_estimators=3, reg_lambda=0.1, leaf_solve="exact")
    one = model.fit(X, y > 0, X_target=T).predict_proba(T)
    for module, limit in (
        (candidates, "_CELLS"),
        *((m, "_ROWS") for m in (sketch, leaf_products, binned)),
    ):
        monkeypatch.setattr(module, limit, 1)
    parts: set[tuple[str, int]] = set()

    def over_rows(work, n_rows, *, at_least=1):
        def noted(rows):
            parts.add((work.__qualname__.split(".")[0], rows.start))
            work(rows)

        _parallel.over_rows(noted, n_rows, at_least=at_least)

    for module in (candidates, sketch, leaf_products):
        monkeypatch.setattr(module, "over_rows", over_rows)
    for module in (_parallel, candidates):
        monkeypatch.setattr(module, "thread_count", lambda: 3)
    many = model.fit(X, y > 0, X_target=T).predict_proba(T)
    np.testing.assert_allclose(many, one, atol=1e-10)
    shared = {name for name, start in parts if start > 0}
    assert shared == (
        {"Candidates", "Sketch", "LineLeafProducts"} if correction != "none" else shared
    )


def test_threads_change_nothing_in_approximate_trees(monkeypatch):
    X, y, T = sample()
    model = VBoostRegressor(n_estimators=3)
    one = model.fit(X, y, X_target=T).predict(T)
    for module in (cuts, leaf_gram):
        monkeypatch.setattr(module, "_CELLS", 1)
    monkeypatch.setattr(_parallel, "thread_count", lambda: 3)
    np.testing.assert_allclose(model.fit(X, y, X_target=T).predict(T), one, atol=1e-10)


def test_a_bar_says_that_loops_are_compiled_the_first_time(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    loop = _compiled.Loop(_twice)
    monkeypatch.setattr(waiting, "add_moments", loop)
    assert waiting.label("trees", exact=False) == "trees (compiling first, once)"
    assert loop(2.0) == 4.0
    assert waiting.label("trees", exact=False) == "trees"
    monkeypatch.setattr(waiting, "add_moments", _compiled.Loop(_twice))  # of the next process
    assert waiting.label("trees", exact=False) == "trees"


def _twice(x):
    return 2 * x
