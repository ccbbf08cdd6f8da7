"""What the weighters with an N x N matrix share: a limit on N, and means over the target."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._progress import track
from .._slow import warn_if_slow
from .._types import Real, Rows
from ..exceptions import InputError
from ._points import blocks


def distinct(X: Real, mass: Real) -> tuple[Real, Real, Rows]:
    """Return the different rows of X, what each counts for, and which of them every row is.

    Rows that are all different stay in their order.
    """
    points, place = np.unique(X, axis=0, return_inverse=True)
    if len(points) == len(X):
        return X, mass, np.arange(len(X))
    total: Real = np.bincount(place.ravel(), weights=mass).astype(np.float64)
    return points, total, place.ravel()


def check_fits(N: int, refuse_above: int, name: str, seconds: float = 0.0) -> None:
    """Refuse more training rows than ``refuse_above``, and say what their matrix would take.

    Of fewer, say how long they take: ``seconds`` of a million of N^3.
    """
    warn_if_slow(
        f"{name} of {N} different training rows",
        seconds * 1e-6 * float(N) ** 3 if N <= refuse_above else 0.0,
        "Its time grows with N^3: fit a subsample and predict the weights of the rest, or use "
        "CDFWeights, whose cost is linear in N.",
        stacklevel=5,
    )
    if N > refuse_above:
        raise InputError(
            f"{name} needs an N x N matrix, {8e-9 * N**2:.1f} GB for {N} training rows, and time "
            f"that grows with N^3, so it refuses more than refuse_above={refuse_above} rows. Raise "
            "refuse_above if the memory allows it, fit a subsample and predict the weights of the "
            "rest, or use CDFWeights, whose cost is linear in N."
        )


def target_mean(
    function: Callable[[Real, Real], Real],
    X: Real,
    T: Real,
    share: Real,
    *,
    label: str = "",
    verbose: int = 0,
) -> Real:
    """Mean over the target of function(x, t) for every row x, block by block: (N,)."""
    means = np.empty(len(X))
    parts = list(blocks(len(X), len(T)))
    for rows in track(parts, len(parts), label, verbose=bool(verbose)):
        means[rows] = function(X[rows], T) @ share
    return means
