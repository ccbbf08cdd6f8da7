"""CV+ and jackknife+: every calibration row with the model that did not see it.

Row i has the score s_i by the model of its fold k(i), which was fitted without it, and a new row
has a band by every fold's model. With p_i the weights over their sum and the new row's own
weight,

upper = quantile at 1 - alpha of  sum_i p_i delta(high_k(i)(x) + s_i unit_k(i)(x))
+ p_x delta(inf) ,
lower = minus the same of minus the lower ends,

and a class y belongs to the set if sum_i p_i 1[s_i >= score_k(i)(x, y)] + p_x > alpha. All rows
train and calibrate. With known weights the guarantee of jackknife+ is 1 - 2 alpha whatever the
model, that of CV+ slightly less; in practice it is about 1 - alpha.

Sources: Foygel Barber, Candès, Ramdas and Tibshirani (2021), *Predictive inference with the
jackknife+*; with weights, their (2023) *Conformal prediction beyond exchangeability*. Cost: a
sort of one value per calibration row, for each new row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InputError
from ..numerics.array import Flags, Real, Rows

if TYPE_CHECKING:
    from .bands import Band
    from .data import LabelledRows

_ROUNDING = 1e-12


def plus_interval(
    bands: Sequence[Band], fold: Rows, scores: Real, weights: Real, own: Real, coverage: float
) -> tuple[Real, Real]:
    """Ends (m,), (m,) for new rows of weight ``own`` (m,).

    ``bands`` are those of the new rows by each fold's model; ``fold``, ``scores`` and ``weights``
    (N,) belong to the calibration rows.
    """
    low, high, unit = (
        np.stack([getattr(band, name) for band in bands], axis=1)[:, fold]
        for name in ("low", "high", "unit")
    )
    most = np.maximum(np.abs(low).max(axis=1), np.abs(high).max(axis=1))
    lower = -_quantile(scores * unit - low, weights, own, coverage)
    upper = _quantile(scores * unit + high, weights, own, coverage)
    lower, upper = lower - _slack(lower, most), upper + _slack(upper, most)
    crossed = lower > upper
    lower[crossed] = upper[crossed] = (lower[crossed] + upper[crossed]) / 2
    return lower, upper


def _slack(end: Real, most: Real) -> Real:
    """A few roundings, by which an end may miss the outcome that it is made of."""
    size = np.maximum(np.where(np.isfinite(end), np.abs(end), 0.0), most)
    return np.asarray(4 * np.finfo(np.float64).eps * size)


def _quantile(values: Real, weights: Real, own: Real, coverage: float) -> Real:
    """Smallest of each row's values (m, N) at which the weight reaches the level; or infinite."""
    order = np.argsort(values, axis=1)
    upto = np.cumsum(weights[order], axis=1)
    needed = coverage * (weights.sum() + own) * (1 - _ROUNDING)
    place = (upto < needed[:, None]).sum(axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    found = ranked[np.arange(len(own)), np.minimum(place, values.shape[1] - 1)]
    none = weights.sum() + own == 0  # nothing is known of such rows
    return np.where((place < values.shape[1]) & ~none, found, np.inf)


def plus_sets(
    matrices: Sequence[Real],
    fold: Rows,
    scores: Real,
    weights: Real,
    own: Real,
    coverage: float,
    u: Real | None = None,
) -> Flags:
    """Classes (m, K) of the sets; ``matrices`` are the new rows' scores by each fold's model."""
    at_least = np.zeros(matrices[0].shape)
    ties = np.zeros(matrices[0].shape)
    for k, matrix in enumerate(matrices):
        inside = fold == k
        order = np.argsort(scores[inside], kind="stable")
        ranked = scores[inside][order]
        upto = np.concatenate([[0.0], np.cumsum(weights[inside][order])])
        below = upto[np.searchsorted(ranked, matrix, side="left")]
        at_least += upto[-1] - below
        ties += upto[np.searchsorted(ranked, matrix, side="right")] - below
    known = np.isfinite(own)[:, None]
    own = np.where(known, own[:, None], 0.0)
    share = at_least + own
    if u is not None:
        share = share - (1 - u[:, None]) * (ties + own)
    inside = share > (1 - coverage) * (weights.sum() + own) * (1 + _ROUNDING)
    none = weights.sum() + own == 0
    return np.asarray(inside | ~known | none)


def closed_form(estimator: Any, rows: LabelledRows) -> Any:
    """Return what predicts rows without each training row, or None where it takes refits."""
    if not hasattr(estimator, "leave_one_out"):
        return None
    given: dict[str, Any] = {} if rows.design is None else {"sample_weight": rows.design}
    if rows.target is not None:
        given |= {"X_target": (rows.target,), **rows.of_target}
    try:
        return estimator.leave_one_out(rows.X, rows.y, **given)
    except InputError:  # it says which of its forms have none
        return None
