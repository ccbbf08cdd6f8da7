"""What every weighter must do with a data frame: text, a flag and gaps."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from sklearn.base import clone

from .._quiet import quiet
from ..exceptions import InputError, WeightWarning
from ..persistence import load, save
from ..weights import Weighter
from .operators import _close, _holds


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
    found = _fitted(weighter, X, T)
    encoder = found.encoder_
    _holds(encoder is not None, "a table is encoded")
    points, points_T = encoder.encode(X, "X"), encoder.encode(T, "X_target")
    by_hand = _fitted(weighter.of_features(encoder.groups), points, points_T)
    fact = "a table gives the weights of its numbers and groups"
    _close(found.weights_, by_hand.weights_, tolerance, fact)
    new = found.predict_weights(T)
    _holds(bool(np.isfinite(new).all() and (new >= 0).all()), "weights of a new table are sound")
    if predicts:
        _close(found.predict_weights(X), found.weights_, tolerance, "a table keeps its weights")
    turned = frame(dict(reversed(cells_T.items())))
    again = _fitted(weighter, X, turned)
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


def _fitted(weighter: Any, X: Any, T: Any) -> Any:
    copy = weighter if getattr(weighter, "_given_groups", None) is not None else clone(weighter)
    with quiet(WeightWarning):
        return copy.fit(X, X_target=T)


def _check_saved(fitted: Any, T: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/weighter.covshift"
        try:
            save(fitted, path)
        except InputError:
            return  # as it may be: not in the table of classes, or with a part that no file holds
        try:
            same = np.array_equal(load(path).predict_weights(T), fitted.predict_weights(T))
        except (InputError, AttributeError) as error:
            raise AssertionError(
                f'Not so: `_saved` calls the number of columns "p", not "n" ({error}).'
            ) from None
    _holds(same, "a loaded weighter reads tables as the one that was saved")
