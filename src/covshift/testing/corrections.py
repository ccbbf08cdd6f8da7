"""What every correction must satisfy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from .._array import to_numpy
from .._types import Real
from .operators import _close, _holds, check_operator


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
