"""The weights that carry the sample to the target, and how large they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from .._types import Real
from .._validation import check_weight
from ..weights import CDFWeights, as_weighter, effective_sample_size
from ..weights.base import Weighter
from .data import Sample

_DEFAULT = CDFWeights()
_STEADY = CDFWeights(purpose="training", allow_no_overlap=True)


@dataclass(frozen=True)
class Weights:
    """Final weights, design weight times factor, mean one; and the weighter that made them."""

    final: Real  # (N,)
    weighter: Weighter | None  # None: the weights were given
    Z: Real  # (N, p): rows as the weighter saw them
    T: Real  # (M, p)
    trimmed: float  # share of the weight that a limit cut off
    steady: Real | None = None  # (N,): flatter weights, for what an outcome model leaves

    @property
    def effective_sample_size(self) -> float:
        """Kish's number of equally weighted rows."""
        return effective_sample_size(self.final)

    @property
    def design_effect(self) -> float:
        """Kish's: rows over effective rows."""
        return float((self.final > 0).sum() / self.effective_sample_size)

    @property
    def largest(self) -> float:
        """Largest weight, in units of the mean."""
        return float(self.final.max())


def weigh(sample: Sample, weighter: Any, *, max_weight: float | None, random_state: int) -> Weights:
    """Fit the weighter to standardised rows, or take the weights that were given.

    Without a weighter: `CDFWeights`, and flatter ones besides, which the doubly robust estimate may
    lean to (`methods`).

    ``max_weight`` limits the final weights, in units of their mean.
    """
    scaler = StandardScaler().fit(sample.Z, sample_weight=sample.d)
    Z, T = scaler.transform(sample.Z), scaler.transform(sample.T)
    if _are_weights(weighter):
        given = check_weight(weighter, len(Z), "weighter", of="X")
        final, fitted = given * sample.d, None
    else:
        fitted = fitted_weighter(sample, weighter, Z, T, random_state)
        final = fitted.weights_ * sample.d
    final = final / final.mean()
    final, lost = trimmed(final, max_weight)
    steady = None
    if weighter is None:
        flat = fitted_weighter(sample, _STEADY, Z, T, random_state).weights_ * sample.d
        steady = trimmed(flat / flat.mean(), max_weight)[0]
    return Weights(final, fitted, Z, T, lost, steady)


def fitted_weighter(
    sample: Sample,
    weighter: Any,
    Z: Real,
    T: Real,
    random_state: int,
    *,
    d: Real | None = None,
    share: Real | None = None,
) -> Weighter:
    """Fit a clone of the weighter; ``d`` and ``share`` stand for the sample's own weights."""
    made = clone(_DEFAULT if weighter is None else as_weighter(weighter))
    if made.get_params(deep=False).get("random_state", 0) is None:
        made.set_params(random_state=random_state)
    if d is None and sample.weighted:
        d = sample.d
    weight = sample.share if share is None else share
    even = np.ptp(weight) <= 1e-12 * weight.max()
    # Shares, not counts: what weights of the target mean does not depend on their scale.
    target_weight = None if even else weight / weight.max() * (1 - 1e-9)
    given = {} if d is None else {"sample_weight": d}
    fitted: Weighter = made.fit(Z, X_target=(T,), target_weight=target_weight, **given)
    return fitted


def _are_weights(weighter: Any) -> bool:
    return not isinstance(weighter, str | type) and (
        hasattr(weighter, "__len__") and not hasattr(weighter, "fit")
    )


def trimmed(w: Real, most: float | None) -> tuple[Real, float]:
    """Cut weights off at ``most`` times their mean, and share what is cut among the others."""
    if most is None or w.max() <= most:
        return w, 0.0
    cut = np.minimum(w, most)
    lost = 1 - float(cut.sum() / w.sum())
    for _ in range(100):  # scaling up the others may lift them over the limit
        below = cut < most
        room = len(w) - most * float((~below).sum())
        if not below.any() or room <= 0 or not cut[below].sum():
            break
        again = cut.copy()
        again[below] = np.minimum(cut[below] * room / cut[below].sum(), most)
        if np.allclose(again, cut, rtol=1e-12, atol=0):
            break
        cut = again
    return cut / cut.mean(), lost
