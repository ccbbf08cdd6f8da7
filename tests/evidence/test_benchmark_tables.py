"""What benchmarks/tables.py relies on: its splits, its halves, its peers."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

pytest.importorskip("pandas")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module
    for name in [name for name in sys.modules if name.split("_")[0] == "tables"]:
        del sys.modules[name]


def test_the_quick_gradient_is_scikit_learns(module):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    kernel = ConstantKernel() * RBF(np.ones(3)) + WhiteKernel()
    theta = np.array([0.3, -0.2, 0.5, 1.0, -1.0])
    made = module("tables").RelevanceGP
    for normalize_y in (False, True):
        settings = {"kernel": kernel, "optimizer": None, "normalize_y": normalize_y}
        slow = GaussianProcessRegressor(**settings).fit(X, y)
        quick = made(**settings).fit(X, y)
        expected = slow.log_marginal_likelihood(theta, eval_gradient=True)
        found = quick.log_marginal_likelihood(theta, eval_gradient=True)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-8)


@pytest.mark.parametrize("shift", ["direction", "rank", "none"])
def test_no_row_is_in_training_and_target(module, shift):
    table = module("tables_data").generate("categories")
    numbered = dataclasses.replace(table, y=np.arange(len(table.y), dtype=float))
    drawn = module("tables_data").split(numbered, shift, 400, 0)
    assert not set(drawn.y) & set(drawn.y_T)
    assert len(drawn.X) == len(drawn.y) == 400
    assert len(drawn.T) == len(drawn.y_T) == len(drawn.truth_T) == 2000


def test_selection_shifts_the_target_and_a_coin_does_not(module):
    table = module("tables_data").generate("line")
    split = module("tables_data").split

    def moved(shift):
        drawn = split(table, shift, 1500, 0)
        return np.abs((drawn.T.mean() - drawn.X.mean()) / table.X.std()).max()

    assert moved("direction") > 0.3
    assert moved("rank") > 0.3
    assert moved("none") < 0.15


def test_a_natural_shift_goes_by_its_column_and_leaves_it_out(module):
    table = module("tables_data").load("diabetes")
    drawn = module("tables_data").split(table, "natural", 100, 0)
    assert table.column == "sex"
    assert "sex" not in drawn.X
    assert "sex" not in drawn.T
    women = table.y[table.in_target]
    assert np.isin(drawn.y_T, women).all()
    assert len(drawn.T) == table.in_target.sum()


def test_halves_are_of_one_size_and_share_nothing(module):
    data = module("tables_data")
    groups = data.REGRESSION, data.CLASSIFICATION, data.GENERATED_NUMBERS, data.GENERATED_CLASSES
    for group in groups:
        settled = sum(data.half(name) == "settle" for name in group)
        assert settled == len(group) - settled


def test_tables_of_packages_that_are_not_here_are_named(module, monkeypatch):
    data = module("tables_data")
    monkeypatch.setattr(data, "find_spec", lambda name: None if name != "sklearn" else name)
    here = {*data.available("report"), *data.available("settle")}
    assert here == {"diabetes", "breast cancer"}
    assert "abalone" in data.left_out("report") + data.left_out("settle")


def test_a_contender_that_fails_is_kept_as_a_result(module, monkeypatch):
    tables = module("tables")

    def broken(kind, seed):
        raise ValueError("no such machine")

    monkeypatch.setitem(tables.CONTENDERS, "broken", type(tables.CONTENDERS["linear"])(broken))
    (row,) = tables.fit_cell("diabetes", "none", 100, 0, "broken")
    assert row["failed"] == "ValueError: no such machine"
    assert "error" not in row
