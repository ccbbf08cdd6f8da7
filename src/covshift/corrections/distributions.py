"""Corrections for a target distribution that is known, or assumed: Lemma 2.1 of the paper.

All three compute the target's survival u(i, k) = P(t^k >= x_i^k) and hand it to
`covshift.operators.min_product`: V(i, j) = prod_k min(u(i, k), u(j, k)). Time and memory O(N n)
to build; a product costs O(N^2 (n + D)) in blocks, and O(N D) after a sort when n = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from ..exceptions import InputError, InputTypeError
from ..numerics.array import Array, Real, like, to_numpy
from ..numerics.statistics import moments
from ..operators import VOperator, min_product
from .base import VMatrixCorrection

_ROUNDING = 1e-12  # how far a survival may lie outside [0, 1]


class _KnownTarget(VMatrixCorrection):
    nonnegative = True
    unseen = "lie above the assumed target in some feature"
    advice = "Check the parameters of that target, or use blend > 0."

    def _build(self, X: Array, T: Array, share: Array) -> VOperator:
        x, t = to_numpy(X).astype(np.float64), to_numpy(T).astype(np.float64)
        return min_product(like(self._survival(x, t, to_numpy(share)), X))

    def _survival(self, X: Real, T: Real, share: Real) -> Real:
        """P(t^k >= x^k) for every training point and feature: (N, n)."""
        raise NotImplementedError


class Uniform(_KnownTarget):
    """Vapnik's V: the target is taken as uniform on a box (Example 2.2).

        V(i, j) = prod_k (high_k - max(x_i^k, x_j^k)) / (high_k - low_k) .

    Parameters
    ----------
    low, high : float or (n,) array, optional
        Corners of the box; by default the smallest and largest training values. Outside the box
        the survival is one below and zero above. X_target is not used.
    normalize : bool
        Scale V to a mean diagonal of one.
    blend : float between 0 and 1, or "auto"
        Mix with the identity: (1 - blend) V + blend I; "auto": 1 - blend = min(1/2, 75 / N).

    Examples
    --------
    >>> from covshift.corrections import Uniform
    >>> Uniform(low=-1, high=1).operator([[-1.0], [0.0], [1.0]]).dense()
    array([[1. , 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """

    uses_target = False

    def __init__(
        self,
        low: Any = None,
        high: Any = None,
        *,
        normalize: bool = False,
        blend: float | str = 0.0,
    ) -> None:
        self.low = low
        self.high = high
        self.normalize = normalize
        self.blend = blend

    def _survival(self, X: Real, T: Real, share: Real) -> Real:
        low = _per_feature(X.min(axis=0) if self.low is None else self.low, X, "low")
        high = _per_feature(X.max(axis=0) if self.high is None else self.high, X, "high")
        if (low > high).any():
            raise InputError(f"low exceeds high in feature {int(np.argmax(low > high))}.")
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            # Halved, so that a box as wide as the floats does not overflow.
            u = (high / 2 - X / 2) / (high / 2 - low / 2)
        u = np.where(X <= low, 1.0, np.where(X > high, 0.0, u))
        return np.clip(u, 0.0, 1.0)


class Gaussian(_KnownTarget):
    """The target is taken as Gaussian with independent coordinates (Example 2.1).

        V(i, j) = prod_k [1 - erf((max(x_i^k, x_j^k) - mean_k) / (std_k sqrt(2)))] / 2 .

    Parameters
    ----------
    mean, std : float or (n,) array, optional
        Moments of the target; by default those of X_target.
    normalize : bool
        Scale V to a mean diagonal of one.
    blend : float between 0 and 1, or "auto"
        Mix with the identity: (1 - blend) V + blend I; "auto": 1 - blend = min(1/2, 75 / N).

    Examples
    --------
    >>> from covshift.corrections import Gaussian
    >>> Gaussian(mean=0, std=1).operator([[0.0], [1.0]]).dense().round(3)
    array([[0.5  , 0.159],
           [0.159, 0.159]])
    """

    def __init__(
        self,
        mean: Any = None,
        std: Any = None,
        *,
        normalize: bool = False,
        blend: float | str = 0.0,
    ) -> None:
        self.mean = mean
        self.std = std
        self.normalize = normalize
        self.blend = blend

    @property
    def uses_target(self) -> bool:  # type: ignore[override]
        return self.mean is None or self.std is None

    def _survival(self, X: Real, T: Real, share: Real) -> Real:
        target_mean, target_std = moments(T, share)
        mean = _per_feature(target_mean if self.mean is None else self.mean, X, "mean")
        std = _per_feature(target_std if self.std is None else self.std, X, "std")
        if (std < 0).any():
            raise InputError(f"std is negative in feature {int(np.argmax(std < 0))}.")
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            standard = (mean - X) / std
        # A target without spread is a single point.
        point = np.where(mean >= X, np.inf, -np.inf)
        return np.asarray(ndtr(np.where(std > 0, standard, point)))


class Product(_KnownTarget):
    """Known marginal distributions of a target with independent coordinates (Lemma 2.1).

        V(i, j) = prod_k [1 - mu_k(max(x_i^k, x_j^k)^-)] ,

    with left limits: a point mass at the value itself counts.

    Parameters
    ----------
    cdfs : distribution or list of n distributions
        Frozen scipy.stats distributions, continuous or discrete, or vectorised callables that
        return mu_k. For the left limit a callable is asked at the next smaller float, so it must
        jump at the very values in X. One alone serves every feature.
    normalize : bool
        Scale V to a mean diagonal of one.
    blend : float between 0 and 1, or "auto"
        Mix with the identity: (1 - blend) V + blend I; "auto": 1 - blend = min(1/2, 75 / N).

    Examples
    --------
    >>> from scipy import stats
    >>> from covshift.corrections import Product
    >>> Product([stats.bernoulli(0.3)]).operator([[0.0], [1.0]]).dense()
    array([[1. , 0.3],
           [0.3, 0.3]])
    """

    uses_target = False

    def __init__(self, cdfs: Any, *, normalize: bool = False, blend: float | str = 0.0) -> None:
        self.cdfs = cdfs
        self.normalize = normalize
        self.blend = blend

    def _survival(self, X: Real, T: Real, share: Real) -> Real:
        one_for_all = not isinstance(self.cdfs, Sequence)
        cdfs = [self.cdfs] * X.shape[1] if one_for_all else self.cdfs
        if len(cdfs) != X.shape[1]:
            raise InputError(
                f"cdfs has {len(cdfs)} distributions, but X has {X.shape[1]} features."
            )
        u = np.stack([_at_or_above(cdf, x) for cdf, x in zip(cdfs, X.T, strict=True)], axis=1)
        if not ((u >= -_ROUNDING) & (u <= 1 + _ROUNDING)).all():
            raise InputError("A distribution in cdfs gave values outside [0, 1].")
        return np.clip(u, 0.0, 1.0)


def _at_or_above(cdf: Any, x: Real) -> Real:
    """P(t >= x): with the point mass at x, if the distribution has any."""
    if hasattr(cdf, "pmf"):
        k = _next_value(cdf, x)
        u = cdf.sf(k) + cdf.pmf(k)
    elif hasattr(cdf, "sf"):
        u = cdf.sf(x)
    elif callable(cdf):
        u = 1 - np.asarray(cdf(np.nextafter(x, -np.inf)), dtype=np.float64)
    else:
        raise InputTypeError(f"{cdf!r} is neither a distribution with .sf nor a callable.")
    if np.shape(u) != x.shape:
        raise InputError(
            f"A distribution in cdfs gave shape {np.shape(u)} for {len(x)} values. Pass "
            "distributions of one variable, and vectorised callables."
        )
    return np.asarray(u, dtype=np.float64)


def _next_value(discrete: Any, x: Real) -> Real:
    """Round x up to the values of a discrete distribution; between them scipy's sf is not sound."""
    if hasattr(getattr(discrete, "dist", discrete), "xk"):  # made from a list of values
        return x
    offset = next((end % 1 for end in discrete.support() if np.isfinite(end)), 0.0)
    return np.asarray(np.ceil(x - offset) + offset)


def _per_feature(value: Any, X: Real, name: str) -> Real:
    values = np.asarray(value, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and values.shape[0] != X.shape[1]):
        raise InputError(f"{name} has shape {values.shape}, but X has {X.shape[1]} features.")
    if not np.isfinite(values).all():
        raise InputError(f"{name} contains NaN or inf.")
    return np.broadcast_to(values, (X.shape[1],))
