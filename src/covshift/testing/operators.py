"""What every V and every factor must satisfy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from ..numerics.array import Array, Real, like, namespace, to_numpy
from ..operators import Factor, VOperator


def check_operator(V: VOperator, *, tolerance: float | None = None, random_state: int = 0) -> None:
    """Check that ``V`` is a consistent, symmetric, positive semidefinite operator.

    The dense form, the products and the diagonal must tell the same V, and so must its R, to
    ``tolerance`` times its largest entry; by default 1e-10, or a hundred roundings where the
    precision is lower. Meant for small N: V is made dense.

    Raises
    ------
    AssertionError
        Naming the property that fails.

    Examples
    --------
    >>> from covshift.corrections import Additive
    >>> from covshift.testing import check_operator
    >>> check_operator(Additive().operator([[0.0], [1.0], [2.0]]))
    """
    _holds(
        isinstance(V, VOperator),
        "V has shape, matmat, diagonal, dense, subset and weighted",
    )
    dense_in_place = V.dense()
    dense = to_numpy(dense_in_place).astype(np.float64)
    N = V.shape[0]
    _holds(V.shape == (N, N) and dense.shape == (N, N), "V is square and shape tells its size")
    _holds(bool(np.isfinite(dense).all()), "V is finite")
    if tolerance is None:
        rounding = float(namespace(dense_in_place).finfo(dense_in_place.dtype).eps)
        tolerance = max(1e-10, 100 * rounding)
    scale = tolerance * float(np.abs(dense).max())
    _close(dense, dense.T, scale, "V is symmetric")
    smallest = float(np.linalg.eigvalsh(dense).min())
    _holds(smallest >= -N * scale, f"V is positive semidefinite (smallest eigenvalue {smallest})")
    _close(to_numpy(V.diagonal()), np.diag(dense), scale, "diagonal() is the diagonal of dense()")
    A = _matrix(N, dense_in_place, random_state)
    product = dense @ to_numpy(A).astype(np.float64)
    _close(to_numpy(V.matmat(A)), product, N * scale, "matmat(A) is dense() @ A")
    rows = np.arange(N)[::-2].copy()
    part = to_numpy(V.subset(rows).dense())
    _close(part, dense[np.ix_(rows, rows)], scale, "subset(rows) is V of those rows")
    w = np.random.default_rng(random_state).integers(0, 3, size=N).astype(np.float64)
    heavy = to_numpy(V.weighted(like(w, dense_in_place[:, 0])).dense())
    _check_weighted(heavy, dense, w, N * scale)
    R = getattr(V, "R", None)
    if isinstance(R, Factor):
        gram = to_numpy(R.gram()).astype(np.float64)
        largest = tolerance * float(np.abs(gram).max())
        _check_factor(R, gram, dense_in_place, N * largest, random_state)


def _check_weighted(heavy: Real, dense: Real, w: Real, scale: float) -> None:
    """Weighted V: w_i w_j V(i, j) off the diagonal; on it between w_i V(i, i) and its w_i-fold."""
    off = ~np.eye(len(w), dtype=bool)
    _close(heavy[off], (np.outer(w, w) * dense)[off], 9 * scale, "weighted(w) is V of repeats")
    least, most = np.sort([w * np.diag(dense), w**2 * np.diag(dense)], axis=0)
    diagonal = np.diag(heavy)
    inside = (diagonal >= least - 9 * scale) & (diagonal <= most + 9 * scale)
    _holds(bool(inside.all()), "the diagonal of weighted(w) is that of repeated rows")


def _check_factor(R: Factor, dense: Real, reference: Array, scale: float, seed: int) -> None:
    _holds(
        isinstance(R, Factor),
        "the factor has shape, matmat, rmatmat, normal, squares, gram and subset",
    )
    m, N = R.shape
    _holds(N == len(dense), "the factor has a column for every training point")
    A, Z = _matrix(N, reference, seed), _matrix(m, reference, seed + 1)
    RA, RtZ = to_numpy(R.matmat(A)), to_numpy(R.rmatmat(Z))
    _holds(RA.shape == (m, A.shape[1]) and RtZ.shape == (N, Z.shape[1]), "shapes of products fit")
    inner = to_numpy(Z).astype(np.float64).T @ RA
    adjoint = RtZ.T @ to_numpy(A).astype(np.float64)
    _close(inner, adjoint, max(m, 1) * scale, "rmatmat is the adjoint of matmat")
    _close(to_numpy(R.squares()), np.diag(dense), scale, "squares() is the diagonal of gram()")
    VA = dense @ to_numpy(A).astype(np.float64)
    _close(to_numpy(R.rmatmat(R.matmat(A))), VA, scale, "R'R A is V A")
    _close(to_numpy(R.normal(A)), VA, scale, "normal(A) is R'R A")


def _matrix(rows: int, reference: Array, seed: int) -> Array:
    return like(np.random.default_rng(seed).normal(size=(rows, 3)), reference)


def _close(got: Array, expected: Array, scale: float, fact: str) -> None:
    worst = float(np.abs(got - expected).max()) if np.size(expected) else 0.0
    _holds(worst <= scale, f"{fact} (off by {worst:.3g}, allowed {scale:.3g})")


def _holds(condition: bool, fact: str) -> None:
    if not condition:
        raise AssertionError(f"Not so: {fact}.")


# What every correction must satisfy.


def check_correction(
    correction: Any, *, n_train: int = 17, row_bound: bool = False, random_state: int = 0
) -> None:
    """Check that ``correction`` makes a sound V on random, tied and degenerate samples.

    Every operator passes `check_operator`; permuting the training rows permutes V; the order of
    the target does not matter; the scale of target weights does not either, and a row
    of weight zero is not there; the target may come
    as a one-tuple, or not at all; V has no negative entry where
    the correction says so; the correction can be cloned and leaves its input and its own parameters
    as they were.

    Parameters
    ----------
    correction : correction
        One with random parts needs a fixed ``random_state`` of its own.
    n_train : int
        Number of training rows in the samples, for a correction that expects so many.
    row_bound : bool
        Whether the correction holds something for each training row in order (an array of
        weights), so that permuted rows are another problem.
    random_state : int
        Seed of the samples.

    Raises
    ------
    AssertionError
        Naming the property that fails.

    Examples
    --------
    >>> from covshift.corrections import Additive
    >>> from covshift.testing import check_correction
    >>> check_correction(Additive(symmetric=True, blend=0.5))
    """
    rng = np.random.default_rng(random_state)
    for X, T in _samples(n_train, rng):
        V = _dense(correction, X, T)
        scale = 1e-9 * float(np.abs(V).max())
        check_operator(clone(correction).operator(X, T))
        if getattr(correction, "nonnegative", False):
            _holds(bool((V >= 0).all()), "V has no negative entry, as the correction says")
        _close(_dense(correction, X, (T,)), V, 0.0, "a one-tuple target gives the same V")
        if not row_bound:
            rows = rng.permutation(len(X))
            permuted = _dense(correction, X[rows], T)
            _close(permuted, V[np.ix_(rows, rows)], scale, "permuting the rows permutes V")
        order = rng.permutation(len(T))
        _close(_dense(correction, X, T[order]), V, scale, "the order of the target does not matter")
        weight = rng.integers(0, 4, size=len(T))
        weight[0] += 1
        weighted = _dense(correction, X, T, target_weight=weight)
        scaled = _dense(correction, X, T, target_weight=1000.0 * weight)
        scale = 1e-9 * float(np.abs(weighted).max())
        _close(scaled, weighted, scale, "the scale of target weights does not matter")
        kept = weight > 0
        without = _dense(correction, X, T[kept], target_weight=weight[kept])
        _close(without, weighted, scale, "a target row of weight zero is not there")
        check_operator(clone(correction).operator(X))
    _check_input_untouched(correction, X, T)


def _samples(n_train: int, rng: np.random.Generator) -> Iterator[tuple[Real, Real]]:
    """Yield random, tied, duplicated, constant and one-target samples of 1 to 4 features."""
    for n in (1, 2, 4):
        yield rng.normal(size=(n_train, n)), rng.normal(size=(23, n))
        yield (
            rng.integers(0, 3, size=(n_train, n)).astype(np.float64),
            rng.integers(0, 3, size=(11, n)).astype(np.float64),
        )
    yield np.ones((n_train, 2)), np.ones((5, 2))
    yield rng.normal(size=(n_train, 2)), np.zeros((1, 2))


def _dense(correction: Any, X: Real, X_target: Any, **options: Any) -> Real:
    V = clone(correction).operator(X, X_target, **options).dense()
    return to_numpy(V).astype(np.float64)


def _check_input_untouched(correction: Any, X: Real, T: Real) -> None:
    before, X_before, T_before = str(correction.get_params()), X.copy(), T.copy()
    X.flags.writeable = T.flags.writeable = False
    correction.operator(X, T)
    untouched = np.array_equal(X, X_before) and np.array_equal(T, T_before)
    _holds(untouched, "operator() leaves X and X_target as they were")
    _holds(str(correction.get_params()) == before, "operator() leaves the parameters as they were")
