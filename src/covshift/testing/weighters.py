"""What every weighter must satisfy."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from ..exceptions import InputError, WeightWarning
from ..numerics.array import Real, Whole
from ..numerics.quiet import quiet
from ..persistence import load, save
from ..weights import Weighter
from .operators import _close, _holds


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
    (`covshift.testing.weighters`), or unequal ones are refused. A clone finds the same weights;
    input and parameters are left as they were. If it can be saved, it gives the same weights
    when it is loaded. A data frame with text and gaps gives the weights of the numbers that the
    encoder makes of it (`covshift.testing.weighters`).

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
    X, T = rng.normal(size=(40, 2)), rng.normal(0.4, 1.0, size=(30, 2))
    _check_saved(_fitted(weighter, X, T), T)
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


def _check_saved(fitted: Any, T: Any) -> None:
    """Check that a file gives back the same weights, where skops is there to write one."""
    if find_spec("skops") is None:
        return
    kind = type(fitted)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/weighter.covshift"
        save(fitted, path)
        again = load(path, trusted=[f"{kind.__module__}.{kind.__qualname__}"])
    same = np.array_equal(again.predict_weights(T), fitted.predict_weights(T))
    _holds(same, "a loaded weighter gives the weights of the one that was saved")


# What every weighter must do with the training rows' own weights, `sample_weight`.


def check_sample_weight(
    weighter: Any, rng: np.random.Generator, tolerance: float, *, predicts: bool
) -> None:
    """Check the factors of a weighted training sample, or that unequal weights are refused.

    Equal weights are no weights, their scale does not matter, and a row of weight zero is not
    there: its factor is that of a new row, or zero. The weighted mean of the factors is one, the
    effective sample size that of the products. Where the weights alone make the sample look like
    the target, the factors stay near one.
    """
    X, T = rng.normal(size=(60, 2)), rng.normal(0.4, 1.0, size=(50, 2))
    d = rng.uniform(0.5, 3.0, size=60)
    plain = _fitted_with_design(weighter, X, T, None).weights_
    _close(
        _fitted_with_design(weighter, X, T, np.full(60, 7.0)).weights_,
        plain,
        1e-10,
        "equal is none",
    )
    _check_dropped(weighter, X, T, (rng.random(60) < 0.8).astype(float), tolerance)
    try:
        fitted = _fitted_with_design(weighter, X, T, d)
    except InputError as error:
        _holds("sample_weight" in str(error), f"a refusal names sample_weight ({error})")
        return
    _check_sums(fitted, d)
    if predicts:
        _close(fitted.predict_weights(X), fitted.weights_, tolerance, "training rows keep factors")
    same = plain * (d.sum() / (d @ plain))
    _holds(
        float(np.abs(fitted.weights_ - same).max()) > 10 * tolerance,
        "unequal sample weights change the factors",
    )
    scaled = _fitted_with_design(weighter, X, T, 1000 * d).weights_
    _close(scaled, fitted.weights_, tolerance, "the scale of sample_weight does not matter")
    order = rng.permutation(60)
    permuted = _fitted_with_design(weighter, X[order], T, d[order]).weights_
    _close(permuted, fitted.weights_[order], tolerance, "permuting weighted rows permutes factors")
    _check_dropped(weighter, X, T, d * (rng.random(60) < 0.8), tolerance)
    alone = _fitted_with_design(weighter, X, None, d).weights_
    weighted = _fitted_with_design(weighter, X, X, d, target_weight=d / d.max()).weights_
    _close(alone, weighted, tolerance, "without a target it is the weighted sample")
    _check_selection(weighter, rng)


def _fitted_with_design(weighter: Any, X: Real, T: Any, d: Any, **options: Any) -> Any:
    with quiet(WeightWarning):
        return clone(weighter).fit(X, X_target=T, sample_weight=d, **options)


def _check_sums(fitted: Any, d: Real) -> None:
    final = d * fitted.weights_
    _close(final.sum() / d.sum(), 1.0, 1e-9, "the weighted mean of the factors is one")
    expected = final.sum() ** 2 / (final**2).sum()
    found = fitted.effective_sample_size_
    _close(found, expected, 1e-6, "effective_sample_size_ is Kish's of the products")


def _check_dropped(weighter: Any, X: Real, T: Real, d: Real, tolerance: float) -> None:
    moved = np.where(d[:, None] > 0, X, X + 5.0)  # wherever the others are
    fitted, kept = _fitted_with_design(weighter, moved, T, d), d > 0
    without = _fitted_with_design(weighter, X[kept], T, d[kept]).weights_
    _close(fitted.weights_[kept], without, tolerance, "a row of weight zero is not there")
    _check_sums(fitted, d)
    unused = fitted.weights_[~kept]
    if unused.any():
        new = fitted.predict_weights(moved[~kept])
        _close(unused, new, tolerance, "the factor of a row of weight zero is that of a new row")


def _check_selection(weighter: Any, rng: np.random.Generator) -> None:
    """A sample of the target, drawn with known chances, needs no factors once it is weighted."""
    population, T = rng.normal(size=(600, 1)), rng.normal(size=(300, 1))
    chance = 0.1 + 0.8 / (1 + np.exp(2 * population[:, 0]))
    drawn = rng.random(600) < chance
    X, d = population[drawn], 1 / chance[drawn]
    rank = np.argsort(np.argsort(X[:, 0])).astype(np.int64)
    fifth = rank * 5 // len(X)  # means over many rows: some weighters weigh few of them
    spread = [
        _spread(fifth, given, _fitted_with_design(weighter, X, T, given).weights_)
        for given in (d, np.ones(len(X)))
    ]
    _holds(
        spread[0] < 0.5 * spread[1],
        "factors stay near one where sample_weight alone makes the sample look like the target "
        f"(their squared distance from one is {spread[0]:.3g}, without it {spread[1]:.3g})",
    )


def _spread(group: Whole, d: Real, factors: Real) -> float:
    """Mean squared distance of the groups' mean factors from one."""
    mass = np.bincount(group, weights=d / d.sum())
    means = np.bincount(group, weights=d / d.sum() * factors) / mass
    return float(mass @ (means - 1) ** 2)


# What every weighter must do with a data frame: text, a flag and gaps.


def check_table(
    weighter: Any, rng: np.random.Generator, tolerance: float, *, predicts: bool
) -> None:
    """Check that a table gives the weights of its numbers, with a category as one feature.

    The order of the target's columns does not matter, new rows may be a table too, and a saved
    weighter reads tables when it is loaded. For subclasses of `Weighter`, where a library of data
    frames is installed.
    """
    frame = _library()
    if frame is None or not isinstance(weighter, Weighter):
        return
    cells, cells_T = _columns(rng, 80, 0.3), _columns(rng, 70, 0.5)
    X, T = frame(cells), frame(cells_T)
    found = _fitted_to_table(weighter, X, T)
    encoder = found.encoder_
    _holds(encoder is not None, "a table is encoded")
    points, points_T = encoder.encode(X, "X"), encoder.encode(T, "X_target")
    by_hand = _fitted_to_table(weighter.of_features(encoder.groups), points, points_T)
    fact = "a table gives the weights of its numbers and groups"
    _close(found.weights_, by_hand.weights_, tolerance, fact)
    new = found.predict_weights(T)
    _holds(bool(np.isfinite(new).all() and (new >= 0).all()), "weights of a new table are sound")
    if predicts:
        _close(found.predict_weights(X), found.weights_, tolerance, "a table keeps its weights")
    turned = frame(dict(reversed(cells_T.items())))
    again = _fitted_to_table(weighter, X, turned)
    _close(again.weights_, found.weights_, tolerance, "the target is aligned by name")
    _check_saved(found, T)


def _columns(rng: np.random.Generator, rows: int, share: float) -> dict[str, list[Any]]:
    number = rng.normal(share, 1.0, size=rows)
    gap = rng.random(rows) < share / 2
    level = rng.choice(3, size=rows, p=[share, 0.3, 0.7 - share])
    return {
        "number": [None if g else float(v) for v, g in zip(number, gap, strict=True)],
        "level": [("low", "high", "middle")[k] for k in level],
        "flag": (rng.random(rows) < share / 2).tolist(),
    }


def _library() -> Any:
    """Return what makes a data frame of columns; None where nothing does."""
    try:
        from pandas import DataFrame
    except ImportError:
        try:
            from polars import DataFrame
        except ImportError:
            return None
    return DataFrame


def _fitted_to_table(weighter: Any, X: Any, T: Any) -> Any:
    copy = weighter if getattr(weighter, "_given_groups", None) is not None else clone(weighter)
    with quiet(WeightWarning):
        return copy.fit(X, X_target=T)


# What every estimator must do with the weights of its rows (`covshift.data.row_weights`).


SCALES = (10.0, 1000.0, 1e-3)
"""Factors on all weights that must change nothing."""


def check_weights(estimator: Any, *, tolerance: float = 1e-6, random_state: int = 0) -> None:
    """Check that an estimator takes the weights of its rows as probability weights.

    ``fit(X, y, X_target=..., sample_weight=..., target_weight=...)``: the scale of
    ``sample_weight`` and of ``target_weight`` does not matter, equal ones are none, unequal ones
    change the fit, and a row of weight zero is not there.

    Parameters
    ----------
    estimator : classifier or regressor
        One with random parts needs a fixed ``random_state`` of its own, and none of them may depend
        on the number of rows.
    tolerance : float
        Largest difference between predictions that should be equal.
    random_state : int
        Seed of the samples.

    Raises
    ------
    AssertionError
        Naming the property that fails.

    Examples
    --------
    >>> from covshift import VSVR, Kernel
    >>> from covshift.testing import check_weights
    >>> check_weights(VSVR("additive", kernel=Kernel("rbf", width=1.0), reg=0.1))
    """
    rng = np.random.default_rng(random_state)
    X, T = rng.normal(size=(60, 2)), rng.normal(0.4, 1.0, size=(50, 2))
    y: NDArray[Any] = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=60)
    if is_classifier(estimator):
        y = (y > 0).astype(np.int64)
    d, v = rng.uniform(0.5, 3.0, size=60), rng.uniform(0.5, 3.0, size=50)
    kept, seen = rng.integers(0, 4, size=60) > 0, rng.integers(0, 4, size=50) > 0

    def f(X: Real = X, y: Any = y, T: Real = T, **weights: Any) -> Real:
        return _predicted(estimator, X, y, T, weights)

    plain, weighted = f(), f(sample_weight=d, target_weight=v)
    _holds(_apart(f(sample_weight=d), plain) > 10 * tolerance, "unequal weights change the fit")
    for scale in SCALES:
        text = f"weights times {scale:g} change nothing"
        _close(f(sample_weight=scale * d, target_weight=scale * v), weighted, tolerance, text)
        equal = {"sample_weight": np.full(60, scale), "target_weight": np.full(50, scale)}
        _close(f(**equal), plain, tolerance, "equal weights are none")
    dropped = f(sample_weight=np.where(kept, d, 0), target_weight=np.where(seen, v, 0))
    without = f(X[kept], y[kept], T[seen], sample_weight=d[kept], target_weight=v[seen])
    _close(dropped, without, tolerance, "a row of weight zero is not there")


def _predicted(estimator: Any, X: Real, y: Any, T: Real, weights: dict[str, Any]) -> Real:
    """Fit a clone and return what it says of fixed points."""
    at = np.random.default_rng(1).normal(size=(20, 2))
    with quiet():
        fitted = clone(estimator).fit(X, y, X_target=T, **weights)
        for name in ("decision_function", "predict_proba", "predict"):
            if hasattr(fitted, name):
                return np.asarray(getattr(fitted, name)(at), dtype=np.float64)
    raise AssertionError("Not so: a fitted estimator predicts.")


def _apart(one: Real, other: Real) -> float:
    return float(np.abs(one - other).max())
