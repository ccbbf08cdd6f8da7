"""What every weighter must satisfy."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from .._quiet import quiet
from .._types import Real
from ..exceptions import InputError, WeightWarning
from ..persistence import load, save
from .design import check_sample_weight
from .operators import _close, _holds
from .tables import check_table


def check_weighter(
    weighter: Any,
    *,
    predicts_training_rows: bool = True,
    tolerance: float = 1e-6,
    calm: float = 0.7,
    random_state: int = 0,
) -> None:
    """Check that ``weighter`` gives sound weights on random, tied and degenerate samples.

    The weights are finite, non-negative and of mean one, and so is what the effective sample size
    says of them; those of new rows are finite too, however far away. They move the sample towards
    the target, repeated values too, and stay near one without a shift. Equal rows have equal
    weights. Neither the order of the training rows nor that of the target matters; nor does the
    scale of target weights; a target row of weight zero is not there; the target may come as a
    one-tuple, or not at all. The training rows may have weights of their own
    (`covshift.testing.design`), or unequal ones are refused. A clone finds the same weights;
    input and parameters are left as they were. If it can be saved, it gives the same weights
    when it is loaded. A data frame with text and gaps gives the weights of the numbers that the
    encoder makes of it (`covshift.testing.tables`).

    Parameters
    ----------
    weighter : weighter
        One with random parts needs a fixed ``random_state`` of its own.
    predicts_training_rows : bool
        Whether ``predict(X)`` of the training rows is ``weights_``; not so with cross-fitting.
    tolerance : float
        Largest difference between weights that should be equal.
    calm : float
        Smallest effective sample size without a shift, as a share of N (N = M = 200).
    random_state : int
        Seed of the samples.

    Raises
    ------
    AssertionError
        Naming the property that fails.

    Examples
    --------
    >>> from covshift.testing import check_weighter
    >>> from covshift.weights import GaussianRatio
    >>> check_weighter(GaussianRatio())
    """
    rng = np.random.default_rng(random_state)
    for X, T in _samples(rng):
        _check_sound(weighter, X, T, predicts_training_rows, tolerance)
        _check_as_sets(weighter, X, T, rng, tolerance)
    _check_degenerate(weighter, rng)
    _check_without_target(weighter, rng, tolerance)
    _check_shift(weighter, rng, calm)
    if has_fit_parameter(weighter, "sample_weight"):
        check_sample_weight(weighter, rng, tolerance, predicts=predicts_training_rows)
    _check_input_untouched(weighter, rng)
    _check_saved(weighter, rng)
    check_table(
        weighter,
        np.random.default_rng(random_state + 2),
        tolerance,
        predicts=predicts_training_rows,
    )


def _samples(rng: np.random.Generator) -> Iterator[tuple[Real, Real]]:
    """Yield shifted samples: of 1 to 4 features, tied, duplicated, with a constant column."""
    for n in (1, 2, 4):
        yield rng.normal(size=(60, n)), rng.normal(0.4, 1.0, size=(50, n))
    yield (
        rng.integers(0, 4, size=(60, 2)).astype(np.float64),
        rng.integers(1, 5, size=(40, 2)).astype(np.float64),
    )
    few = rng.normal(size=(20, 2))
    yield np.repeat(few, 3, axis=0), np.repeat(few[:15] + 0.3, 2, axis=0)
    constant = np.ones((60, 1))
    yield (
        np.hstack([rng.normal(size=(60, 1)), constant]),
        np.hstack([rng.normal(0.4, 1.0, size=(60, 1)), constant]),
    )


def _fitted(weighter: Any, X: Real, X_target: Any = None, **options: Any) -> Any:
    with quiet(WeightWarning):
        return clone(weighter).fit(X, X_target=X_target, **options)


def _check_weights(w: Real, N: int) -> None:
    _holds(w.shape == (N,), f"weights_ has one entry per row (its shape is {w.shape})")
    _holds(bool(np.isfinite(w).all()), "the weights are finite")
    _holds(bool((w >= 0).all()), "the weights are non-negative")
    _close(w.mean(), 1.0, 1e-9, "the weights have mean one")


def _check_sound(weighter: Any, X: Real, T: Real, predicts: bool, tolerance: float) -> None:
    fitted = _fitted(weighter, X, T)
    w = fitted.weights_
    _check_weights(w, len(X))
    expected = w.sum() ** 2 / (w**2).sum()
    _close(fitted.effective_sample_size_, expected, 1e-6, "effective_sample_size_ is Kish's")
    for points in (X, T, X + 1e3, X - 1e3, X * 1e150):
        new = fitted.predict_weights(points)
        _holds(new.shape == (len(points),), "predict returns one weight per row")
        _holds(bool(np.isfinite(new).all()), "the weights of new rows are finite")
        _holds(bool((new >= 0).all()), "the weights of new rows are non-negative")
    if predicts:
        _close(
            fitted.predict_weights(X),
            w,
            tolerance,
            "training rows keep their weights",
        )
    apart = np.concatenate([fitted.predict_weights(T[:7]), fitted.predict_weights(T[7:])])
    _close(
        fitted.predict_weights(T),
        apart,
        tolerance,
        "a new row's weight does not depend on the others",
    )
    _close(_fitted(weighter, X, T).weights_, w, 0.0, "a clone finds the same weights")
    _, value = np.unique(X, axis=0, return_inverse=True)
    sums, counts = np.bincount(value.reshape(-1), weights=w), np.bincount(value.reshape(-1))
    _close(w, (sums / counts)[value.reshape(-1)], tolerance, "equal rows have equal weights")


def _check_as_sets(
    weighter: Any, X: Real, T: Real, rng: np.random.Generator, tolerance: float
) -> None:
    w = _fitted(weighter, X, T).weights_
    _close(_fitted(weighter, X, (T,)).weights_, w, 0.0, "a one-tuple target gives the same weights")
    rows, order = rng.permutation(len(X)), rng.permutation(len(T))
    permuted = _fitted(weighter, X[rows], T).weights_
    _close(permuted, w[rows], tolerance, "permuting the rows permutes the weights")
    permuted = _fitted(weighter, X, T[order]).weights_
    _close(permuted, w, tolerance, "the order of the target does not matter")
    weight = rng.integers(0, 4, size=len(T))
    weighted = _fitted(weighter, X, T, target_weight=weight).weights_
    scaled = _fitted(weighter, X, T, target_weight=1000.0 * weight).weights_
    _close(scaled, weighted, tolerance, "the scale of target_weight does not matter")
    kept = weight > 0
    without = _fitted(weighter, X, T[kept], target_weight=weight[kept]).weights_
    _close(without, weighted, tolerance, "a target row of weight zero is not there")


def _check_degenerate(weighter: Any, rng: np.random.Generator) -> None:
    X, T = rng.normal(size=(30, 2)), rng.normal(size=(25, 2))
    for few_X, few_T in ((X[:1], T), (X, T[:1]), (X[:1], T[:1]), (X[:2], T[:2])):
        try:
            _check_weights(_fitted(weighter, few_X, few_T).weights_, len(few_X))
        except ValueError as error:  # one target point may be too few to overlap with
            _holds("overlap" in str(error), f"a small sample works, or lacks overlap ({error})")
    alike = _fitted(weighter, np.ones((10, 2)), np.ones((5, 2))).weights_
    _close(alike, np.ones(10), 1e-9, "equal rows have equal weights")


def _check_without_target(weighter: Any, rng: np.random.Generator, tolerance: float) -> None:
    X = rng.normal(size=(40, 2))
    w = _fitted(weighter, X).weights_
    _close(_fitted(weighter, X, X).weights_, w, tolerance, "without a target it is the sample")


def _check_shift(weighter: Any, rng: np.random.Generator, calm: float) -> None:
    X, T = rng.normal(size=(200, 2)), rng.normal(size=(200, 2))
    found = _fitted(weighter, X, T).effective_sample_size_
    _holds(
        found >= calm * len(X),
        f"without a shift the weights stay near one (effective sample size {found:.0f} of 200)",
    )
    for direction in (0.5, -0.5):
        _check_moves(weighter, X, T + direction, "the weighted mean moves towards the target's")
    shares = np.array([0.1, 0.15, 0.2, 0.25, 0.3])
    for p, q in ((shares, shares[::-1]), (shares[::-1], shares)):
        codes_X, codes_T = rng.choice(5, size=(200, 1), p=p), rng.choice(5, size=(200, 1), p=q)
        _check_moves(
            weighter,
            codes_X.astype(np.float64),
            codes_T.astype(np.float64),
            "the weighted mean of repeated values moves towards the target's",
        )


def _check_moves(weighter: Any, X: Real, T: Real, name: str) -> None:
    target = T.mean(axis=0)
    w = _fitted(weighter, X, T).weights_
    before = np.abs(X.mean(axis=0) - target)
    after = np.abs((w[:, None] * X).mean(axis=0) - target)
    _holds(bool((after < 0.8 * before).all()), name)


def _check_input_untouched(weighter: Any, rng: np.random.Generator) -> None:
    X, T = rng.normal(size=(30, 2)), rng.normal(0.2, 1.0, size=(25, 2))
    before, X_before, T_before = str(weighter.get_params()), X.copy(), T.copy()
    X.flags.writeable = T.flags.writeable = False
    _fitted(weighter, X, T).predict_weights(T)
    untouched = np.array_equal(X, X_before) and np.array_equal(T, T_before)
    _holds(untouched, "fit and predict leave X and X_target as they were")
    _holds(str(weighter.get_params()) == before, "fit leaves the parameters as they were")


def _check_saved(weighter: Any, rng: np.random.Generator) -> None:
    X, T = rng.normal(size=(40, 2)), rng.normal(0.4, 1.0, size=(30, 2))
    fitted = _fitted(weighter, X, T)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/weighter.covshift"
        try:
            save(fitted, path)
        except InputError:
            return  # as it may be: not in the table, or with a part that no file holds
        try:
            again = load(path)
            same = np.array_equal(again.predict_weights(T), fitted.predict_weights(T))
        except (InputError, AttributeError) as error:
            raise AssertionError(
                f"Not so: `_saved` declares all that it needs ({error})."
            ) from None
    _holds(same, "a loaded weighter gives the weights of the one that was saved")
