"""Products, factors and their memory: what V does without ever being dense."""

from __future__ import annotations

import tracemalloc
from functools import partial

import array_api_strict
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from covshift.corrections import (
    Additive,
    Gaussian,
    Multiplicative,
    Pairwise,
    Precomputed,
    Sliced,
    Unweighted,
)
from covshift.operators import (
    Diagonal,
    Dominance,
    FactorOperator,
    dominance,
)
from covshift.operators import line_factor as factor
from covshift.testing import check_operator

FAMILY = [
    Multiplicative(),
    Multiplicative(symmetric=True),
    Additive(),
    Additive(symmetric=True),
    Pairwise(),
    Sliced(n_directions=5, random_state=0),
    Additive(normalize=True, blend=0.3),
    Gaussian(),
]


@pytest.mark.filterwarnings("ignore:V is zero")
@pytest.mark.parametrize("correction", FAMILY, ids=str)
def test_products_agree_with_the_dense_v(correction, sample):
    X, T = sample
    check_operator(correction.operator(X, T))


@pytest.mark.parametrize("correction", FAMILY, ids=str)
def test_a_product_of_the_wrong_shape_is_refused(correction):
    V = correction.operator(np.zeros((3, 2)))
    for wrong in (np.zeros((4, 1)), np.zeros(3)):
        with pytest.raises(ValueError, match="expects an array of shape"):
            V.matmat(wrong)


@pytest.mark.parametrize("correction", [*FAMILY, Unweighted(), Precomputed(np.eye(3))], ids=str)
def test_a_product_with_another_kind_of_array_is_refused(correction):
    V = correction.operator(np.zeros((3, 2)))
    for product in (V.matmat, V.weighted(np.ones(3)).matmat):
        with pytest.raises(TypeError, match="got a list"):
            product([[1.0], [1.0], [1.0]])
        with pytest.raises(TypeError, match="ndarray, as V was made from, got a Array"):
            product(array_api_strict.ones((3, 1)))
        with pytest.raises(ValueError, match="expects real numbers, got complex128"):
            product(np.ones((3, 1), dtype=complex))
    R = V.R
    if hasattr(R, "rmatmat"):
        with pytest.raises(TypeError, match="got a list"):
            R.rmatmat([[0.0]] * R.shape[0])


@pytest.mark.parametrize("correction", [*FAMILY, Unweighted(), Precomputed(np.eye(3))], ids=str)
def test_a_product_with_no_columns_has_none(correction):
    V = correction.operator(np.zeros((3, 2)))
    assert V.matmat(np.zeros((3, 0))).shape == (3, 0)
    R = V.R
    if hasattr(R, "rmatmat"):
        assert R.matmat(np.zeros((3, 0))).shape == (R.shape[0], 0)
        assert R.rmatmat(np.zeros((R.shape[0], 0))).shape == (3, 0)


@pytest.mark.parametrize("correction", [*FAMILY, Unweighted(), Precomputed(np.eye(3))], ids=str)
def test_row_weights_of_the_wrong_shape_are_refused(correction):
    V = correction.operator(np.zeros((3, 2)))
    for wrong in (np.ones(1), np.ones(4), np.ones((3, 1))):
        with pytest.raises(ValueError, match=r"weighted expects an array of shape \(3,\)"):
            V.weighted(wrong)
    with pytest.raises(TypeError, match="weighted expects"):
        V.weighted([1.0, 1.0, 1.0])


@pytest.mark.parametrize("correction", FAMILY, ids=str)
def test_float32_stays_float32_and_near_float64(correction):
    rng = np.random.default_rng(0)
    X, T = (rng.normal(size=(size, 3)).astype(np.float32) for size in (300, 200))
    A = rng.normal(size=(300, 4)).astype(np.float32)
    narrow = correction.operator(X, T)
    wide = correction.operator(X.astype(np.float64), T.astype(np.float64))
    assert narrow.dense().dtype == narrow.diagonal().dtype == narrow.matmat(A).dtype == np.float32
    np.testing.assert_allclose(narrow.dense(), wide.dense(), atol=2e-6)
    np.testing.assert_allclose(narrow.matmat(A), wide.matmat(A.astype(np.float64)), atol=2e-3)


@pytest.mark.parametrize("correction", FAMILY, ids=str)
def test_float32_operators_keep_the_contract(correction):
    rng = np.random.default_rng(0)
    X, T = (rng.normal(size=(size, 3)).astype(np.float32) for size in (30, 20))
    check_operator(correction.operator(X, T))


@pytest.mark.thorough
def test_float32_sums_over_many_rows_do_not_lose_the_result():
    """2,000,000 times 0.1 drifts by 2 % when summed one by one in float32.

    Single precision within a block of 1024 rows, double between blocks and in one dimension.
    """
    N = 2_000_000
    A = np.full((N, 1), 0.1, dtype=np.float32)
    for n, relative in ((1, 1e-7), (2, 3e-5)):
        X, T = np.zeros((N, n), dtype=np.float32), np.ones((1, n), dtype=np.float32)
        product = Multiplicative().operator(X, T).R.matmat(A)
        assert product.dtype == np.float32
        assert product[0, 0] == pytest.approx(float(A[0, 0]) * N, rel=relative)


def test_integer_columns_are_multiplied_as_floats():
    X = np.arange(4.0)[:, None]
    V = Additive().operator(X)
    np.testing.assert_allclose(V.matmat(np.ones((4, 1), dtype=int)), V.matmat(np.ones((4, 1))))


@given(
    seed=st.integers(0, 10_000),
    N=st.integers(1, 60),
    M=st.integers(1, 80),
    p=st.integers(2, 4),
    digits=st.sampled_from([0, 1, 8]),
)
@settings(max_examples=60, deadline=None)
def test_products_in_blocks_are_those_of_the_dense_matrix(seed, N, M, p, digits):
    """Ties, constant columns, points below and above every target; with bits and without."""
    draw = np.random.default_rng(seed)
    X, T = (np.round(draw.normal(size=(rows, p)), digits) for rows in (N, M))
    X[: N // 4] -= 5
    X[N // 4 : N // 3] += 5
    T[:, 0] = np.round(T[0, 0]) if seed % 3 == 0 else T[:, 0]
    A, z = draw.normal(size=(N, 3)), draw.normal(size=(M, 1)) if seed % 2 else np.full((M, 1), 0.2)
    B = (T[:, None, :] >= X[None, :, :]).all(axis=2) / np.sqrt(M)
    for convert in (np.asarray, array_api_strict.asarray):
        R = Multiplicative().operator(convert(X), convert(T)).R
        for _ in range(4):  # from the third product on B may be kept
            np.testing.assert_allclose(np.asarray(R.matmat(convert(A))), B @ A, atol=1e-12)
        np.testing.assert_allclose(np.asarray(R.rmatmat(convert(z))), B.T @ z, atol=1e-12)
        np.testing.assert_allclose(np.asarray(R.gram()), B.T @ B, atol=1e-12)
        some = np.arange(N)[::2]
        part = np.asarray(R.subset(some).matmat(convert(A[some])))
        np.testing.assert_allclose(part, B[:, some] @ A[some], atol=1e-12)


def test_products_over_several_blocks_of_targets_and_points():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(2500, 2)), rng.normal(size=(4500, 2))
    A, Z = rng.normal(size=(2500, 2)), rng.normal(size=(4500, 2))
    B = (T[:, None, :] >= X[None, :, :]).all(axis=2) / np.sqrt(4500)
    R = Multiplicative().operator(X, T).R
    np.testing.assert_allclose(R.matmat(A), B @ A, atol=1e-10)
    np.testing.assert_allclose(R.rmatmat(Z), B.T @ Z, atol=1e-10)


def test_equal_target_values_share_a_row_of_the_factor():
    X, T = np.arange(5.0)[:, None], np.array([[1.0], [1.0], [3.0]])
    assert Additive().operator(X, T).R.shape == (2, 5)


def test_row_weights_are_repeated_rows():
    """Composition (theory, eq. 2.5): r'V_w r with integer w is the loss of repeated rows."""
    rng = np.random.default_rng(0)
    X, T, r = rng.normal(size=(6, 2)), rng.normal(size=(8, 2)), rng.normal(size=6)
    w = np.array([1.0, 2.0, 0.0, 3.0, 1.0, 1.0])
    V = Additive().operator(X, T).weighted(w)
    check_operator(V)
    repeated = np.repeat(np.arange(6), w.astype(int))
    expected = r[repeated] @ reference.algorithm_2(X[repeated], T) @ r[repeated]
    assert r @ V.dense() @ r == pytest.approx(expected)


def test_row_weights_on_an_analytic_v_keep_the_contract():
    X = np.random.default_rng(0).normal(size=(5, 2))
    check_operator(Gaussian(mean=0, std=1).operator(X).weighted(np.arange(5.0)))


def test_one_dimensional_analytic_v_has_a_factor():
    X = np.random.default_rng(0).normal(size=(30, 1))
    V = Gaussian(mean=0, std=1).operator(X)
    assert V.R.shape == (30, 30)
    np.testing.assert_allclose(V.dense(), reference.example_2_1(X), atol=1e-12)


def test_diagonal_operator_keeps_the_contract():
    check_operator(Diagonal(np.array([0.0, 1.0, 2.5])))


def test_a_target_seen_by_nobody_gives_a_zero_operator():
    for n in (1, 2):
        V = Multiplicative().operator(np.ones((3, n)), np.zeros((2, n)))
        assert not V.matmat(np.ones((3, 2))).any()
        assert not V.diagonal().any()


def test_rows_come_from_the_target_alone_so_blocks_of_points_add_up():
    """The whole out-of-core algorithm: sums over blocks of rows combine by addition."""
    rng = np.random.default_rng(0)
    X, T, A = rng.normal(size=(50, 3)), rng.normal(size=(20, 3)), rng.normal(size=(50, 2))
    share = np.full(20, 1 / 20)
    for correction in (Additive(symmetric=True), Multiplicative(), Sliced(8, random_state=0)):
        views = correction.views(T, share)
        whole = views.factor(X).matmat(A)
        blocks = [slice(0, 13), slice(13, 40), slice(40, 50)]
        parts = sum(views.factor(X[rows]).matmat(A[rows]) for rows in blocks)
        np.testing.assert_allclose(parts, whole, atol=1e-12)


def _peak_above_result(make_product) -> float:
    """Peak megabytes allocated while a product runs, beyond what it returns."""
    tracemalloc.start()
    try:
        result = make_product()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return (peak - result.nbytes) / 2**20


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("correction", "N", "M", "n", "D"),
    [
        (Additive(symmetric=True), 200_000, 2_000, 10, 32),
        (Additive(symmetric=True), 100_000, 100_000, 10, 32),
        (Multiplicative(), 200_000, 2_000, 10, 32),
        (Multiplicative(), 50_000, 50_000, 10, 4),  # as bits, B would take 313 MB
        (Sliced(random_state=0), 50_000, 50_000, 3, 4),
        (Pairwise(symmetric=True), 200, 60_000, 4, 32),
    ],
    ids=str,
)
def test_memory_of_building_and_of_a_product_stays_under_300_mb(correction, N, M, n, D):
    rng = np.random.default_rng(0)
    X, T, A = rng.normal(size=(N, n)), rng.normal(size=(M, n)), rng.normal(size=(N, D))
    assert _peak_above_result(lambda: correction.operator(X, T).matmat(A)) < 300


@pytest.mark.parametrize("product", ["matmat", "rmatmat"])
def test_memory_of_products_with_the_factor_stays_under_300_mb(product):
    rng = np.random.default_rng(0)
    R = Additive().operator(rng.normal(size=(50_000, 10)), rng.normal(size=(100_000, 10))).R
    A = np.ones((R.shape[product == "matmat"], 8))
    assert _peak_above_result(lambda: getattr(R, product)(A)) < 300


@pytest.mark.thorough
def test_memory_stays_bounded_when_most_targets_dominate():
    rng = np.random.default_rng(0)
    X, T, A = rng.normal(size=(20_000, 3)) - 2, rng.normal(size=(20_000, 3)), np.ones((20_000, 1))
    operator = Multiplicative().operator(X, T)
    assert _peak_above_result(lambda: operator.matmat(A)) < 300


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "correction", [Additive(), Additive(symmetric=True), Multiplicative()], ids=str
)
def test_products_in_pieces_are_products_at_once(monkeypatch, correction, dtype):
    """Columns and views in several pieces, as memory asks where the target is large."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    R = correction.operator(X, T).R
    A, Z = rng.normal(size=(30, 5)).astype(dtype), rng.normal(size=(R.shape[0], 5)).astype(dtype)
    expected = R.matmat(A), R.rmatmat(Z), R.normal(A)
    for module in (factor, dominance):
        monkeypatch.setattr(module, "_BYTES", 8 * 2 * 45)
    for got, whole in zip((R.matmat(A), R.rmatmat(Z), R.normal(A)), expected, strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, whole, atol=1e-12 if dtype == np.float64 else 1e-5)


# What the contract check catches, each time in an operator that is otherwise sound and small

SMALL = 1e-12


def sound():
    rng = np.random.default_rng(0)
    V = Additive(phi=lambda T: np.full(len(T), SMALL)).operator(rng.normal(size=(9, 2)))
    check_operator(V)
    return V


@pytest.mark.parametrize(
    ("method", "wrong", "fact"),
    [
        ("dense", lambda V: np.triu(V.R.gram()), "V is symmetric"),
        ("dense", lambda V: V.R.gram() - SMALL * np.eye(9), "V is positive semidefinite"),
        ("dense", lambda V: np.full((9, 9), np.nan), "V is finite"),
        ("diagonal", lambda V: V.R.squares() + SMALL / 1000, "diagonal.. is the diagonal"),
        ("matmat", lambda V, A: V.R.normal(A) + SMALL / 1000, "matmat.A. is dense"),
        ("subset", lambda V, rows: FactorOperator(V.R.subset(rows[::-1])), "subset.rows. is V"),
        ("weighted", lambda V, w: FactorOperator(V.R, w**2), "weighted.w."),
        ("weighted", lambda V, w: V, "weighted.w."),
    ],
)
def test_the_contract_catches_a_broken_operator(method, wrong, fact):
    V = sound()
    setattr(V, method, partial(wrong, V))
    with pytest.raises(AssertionError, match=fact):
        check_operator(V)


@pytest.mark.parametrize(
    ("method", "wrong", "fact"),
    [
        ("rmatmat", lambda R, Z: type(R).rmatmat(R, Z[::-1]), "adjoint"),
        ("matmat", lambda R, A: 1.001 * type(R).matmat(R, A), "adjoint"),
        ("gram", lambda R: 1.001 * type(R).gram(R), "weighted.w. is V"),
        ("squares", lambda R: 1.001 * type(R).squares(R), "squares.. is the diagonal"),
        ("normal", lambda R, A: 1.001 * type(R).normal(R, A), "normal.A. is"),
    ],
)
def test_the_contract_catches_a_broken_factor(method, wrong, fact):
    V, R, other = sound(), sound().R, sound()
    setattr(R, method, partial(wrong, R))
    V.R = R
    for name in ("matmat", "diagonal", "dense"):
        setattr(V, name, getattr(other, name))
    with pytest.raises(AssertionError, match=fact):
        check_operator(V)


def test_the_diagonal_that_is_handed_out_is_a_copy():
    V = Diagonal(np.ones(3))
    V.diagonal()[0] = 5
    np.testing.assert_array_equal(V.diagonal(), np.ones(3))


def test_dominance_keeps_only_targets_of_positive_weight():
    T = np.array([[1.0, 1.0], [2.0, 2.0]])
    R = Dominance(T, np.array([0.0, 1.0])).factor(np.zeros((3, 2)))
    assert R.shape == (1, 3)
