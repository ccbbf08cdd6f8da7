"""Ways to split one data set into a biased training set and a target: Experiments 3, 4 and 5.

Each function takes the features of a whole data set and returns row numbers, so that labels and
differently scaled features can be cut the same way. Source: Mazaheri, Jain and Bruck (2020),
section 3.4. Cost: O(rows), plus one sort for a median.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from covshift.exceptions import InputError
from covshift.numerics.array import Real, Rows

Direction = Literal["up", "down"]


class BiasedSplit(NamedTuple):
    """Row numbers of a biased training set and of its target, and how they came about."""

    #: Rows of the training set, in random order.
    train: Rows
    #: Rows of the target; none of them is a training row.
    target: Rows
    #: The column that decided, or None where the norm did.
    feature: int | None
    #: Whether large values are more ("up") or less ("down") frequent in the training set.
    direction: Direction
    #: Relative chance of each training row to enter the training set.
    selection_weight: Real
    #: Target density over training density at each training row, up to a constant factor and
    #: to the depletion of a finite data set.
    density_ratio: Real


def bias_by_acceptance(
    X: ArrayLike,
    n_train: int = 100,
    n_target: int = 500,
    *,
    feature: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> BiasedSplit:
    """Accept rows into the target with probability min(1, 4 x_c^2): Experiment 3.

    Rows are drawn one by one without replacement until ``n_target`` are accepted; a row that is
    refused is dropped. The training set is drawn uniformly from the rows never looked at. So the
    training density is that of the data, and the target density is proportional to it times
    min(1, 4 x_c^2). With the paper's sizes the cancer data run out for every feature, diabetes
    for 5 of 8 and banknote for 1 of 4.

    Parameters
    ----------
    X : array-like of shape (rows, features)
        The data, each feature scaled to [0, 1].
    n_train, n_target : int
        Numbers of rows to draw; the defaults are the paper's.
    feature : int, optional
        The column c; by default drawn at random.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    BiasedSplit
    """
    X = np.asarray(X, dtype=np.float64)
    if X.min() < 0 or X.max() > 1:
        raise InputError(
            f"X lies in [{X.min():.4g}, {X.max():.4g}], but the acceptance rule needs features in "
            "[0, 1]. Scale X first, for example with sklearn.preprocessing.MinMaxScaler."
        )
    rng = check_random_state(random_state)
    c = rng.randint(X.shape[1]) if feature is None else feature
    acceptance = np.minimum(1.0, 4.0 * X[:, c] ** 2)
    order = rng.permutation(len(X))
    accepted = np.flatnonzero(rng.uniform(size=len(X)) < acceptance[order])
    if len(accepted) < n_target:
        raise InputError(
            f"The data ran out: only {len(accepted)} of {len(X)} rows were accepted by feature "
            f"{c}, but n_target={n_target}. Ask for fewer target rows or pass more data."
        )
    looked_at = accepted[n_target - 1] + 1
    if len(X) - looked_at < n_train:
        raise InputError(
            f"The data ran out: {len(X) - looked_at} of {len(X)} rows are left after the target "
            f"was drawn, but n_train={n_train}. Ask for fewer rows or pass more data."
        )
    train = order[looked_at : looked_at + n_train]
    return BiasedSplit(
        train=train,
        target=order[accepted[:n_target]],
        feature=int(c),
        direction="down",
        selection_weight=np.ones(n_train),
        density_ratio=acceptance[train],
    )


def bias_by_feature(
    X: ArrayLike,
    n_train: int = 100,
    *,
    feature: int | None = None,
    direction: Direction | None = None,
    factor: float = 4.0,
    random_state: int | np.random.RandomState | None = None,
) -> BiasedSplit:
    """Make rows above the median of one feature more or less likely to train: Experiment 4.

    The training set is drawn row by row without replacement, with probability proportional to
    ``factor`` (direction "up") or 1 / ``factor`` ("down") above the median and to 1 elsewhere.
    Above means strictly larger: rows equal to the median count as below. All other rows are the
    target.

    Parameters
    ----------
    X : array-like of shape (rows, features)
        The data; the scale does not matter.
    n_train : int, default=100
        Number of training rows.
    feature : int, optional
        The column; by default drawn at random among those with a row above the median.
    direction : {"up", "down"}, optional
        By default drawn at random.
    factor : float, default=4.0
        Strength of the bias, at least 1.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    BiasedSplit
    """
    X = np.asarray(X, dtype=np.float64)
    rng = check_random_state(random_state)
    if feature is None:
        usable = np.flatnonzero(X.max(axis=0) > np.median(X, axis=0))
        feature = int(rng.choice(usable)) if len(usable) else 0
    return _bias_at_median(X[:, feature], feature, n_train, direction, factor, rng)


def bias_by_norm(
    X: ArrayLike,
    n_train: int = 100,
    *,
    direction: Direction | None = None,
    factor: float = 4.0,
    random_state: int | np.random.RandomState | None = None,
) -> BiasedSplit:
    """Make rows of more than median L2 norm more or less likely to train: Experiment 5.

    As ``bias_by_feature``, with the norm in place of a feature. The norm depends on the scale of
    the features: the paper scales each to [0, 1] first.

    Parameters
    ----------
    X : array-like of shape (rows, features)
        The data, scaled as the norm should see them.
    n_train, direction, factor, random_state
        As in ``bias_by_feature``.

    Returns
    -------
    BiasedSplit
    """
    norm = np.linalg.norm(np.asarray(X, dtype=np.float64), axis=1)
    return _bias_at_median(norm, None, n_train, direction, factor, check_random_state(random_state))


def _bias_at_median(
    values: Real,
    feature: int | None,
    n_train: int,
    direction: Direction | None,
    factor: float,
    rng: np.random.RandomState,
) -> BiasedSplit:
    rows = len(values)
    if n_train >= rows:
        raise InputError(f"n_train={n_train} leaves no target row: X has {rows} rows.")
    if direction is None:
        direction = "up" if rng.randint(2) else "down"
    above = values > np.median(values)
    if not above.any():
        what = "the norm" if feature is None else f"feature {feature}"
        raise InputError(f"No row lies above the median of {what}, so it cannot bias the draw.")
    weight = np.where(above, factor if direction == "up" else 1.0 / factor, 1.0)
    train = rng.choice(rows, size=n_train, replace=False, p=weight / weight.sum())
    return BiasedSplit(
        train=train,
        target=np.setdiff1d(np.arange(rows), train),
        feature=feature,
        direction=direction,
        selection_weight=weight[train],
        density_ratio=1.0 / weight[train],
    )
