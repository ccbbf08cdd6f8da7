"""What every weighter must do with the training rows' own weights, `sample_weight`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._quiet import quiet
from .._types import Real, Whole
from ..exceptions import InputError, WeightWarning
from .operators import _close, _holds


def check_sample_weight(
    weighter: Any, rng: np.random.Generator, tolerance: float, *, predicts: bool
) -> None:
    """Check the factors of a weighted training sample, or that unequal weights are refused.

    Equal weights are no weights, their scale says nothing, and a row of weight zero is not there:
    its factor is that of a new row, or zero. The weighted mean of the factors is one, the effective
    sample size that of the products. Where the weights alone make the sample look like the target,
    the factors stay near one.
    """
    X, T = rng.normal(size=(60, 2)), rng.normal(0.4, 1.0, size=(50, 2))
    d = rng.uniform(0.5, 3.0, size=60)
    plain = _fitted(weighter, X, T, None).weights_
    _close(_fitted(weighter, X, T, np.full(60, 7.0)).weights_, plain, 1e-10, "equal is none")
    _check_dropped(weighter, X, T, (rng.random(60) < 0.8).astype(float), tolerance)
    try:
        fitted = _fitted(weighter, X, T, d)
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
    scaled = _fitted(weighter, X, T, 1000 * d).weights_
    _close(scaled, fitted.weights_, tolerance, "the scale of sample_weight does not matter")
    order = rng.permutation(60)
    permuted = _fitted(weighter, X[order], T, d[order]).weights_
    _close(permuted, fitted.weights_[order], tolerance, "permuting weighted rows permutes factors")
    _check_dropped(weighter, X, T, d * (rng.random(60) < 0.8), tolerance)
    alone = _fitted(weighter, X, None, d).weights_
    weighted = _fitted(weighter, X, X, d, target_weight=d / d.max()).weights_
    _close(alone, weighted, tolerance, "without a target it is the weighted sample")
    _check_selection(weighter, rng)


def _fitted(weighter: Any, X: Real, T: Any, d: Any, **options: Any) -> Any:
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
    fitted, kept = _fitted(weighter, moved, T, d), d > 0
    without = _fitted(weighter, X[kept], T, d[kept]).weights_
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
        _spread(fifth, given, _fitted(weighter, X, T, given).weights_)
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
