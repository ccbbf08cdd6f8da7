"""How wrong an answer could be, where rows with the same columns differ between the samples.

**Bounds.** Unobserved factors may change the odds of being in the target, among rows with the same
columns, at most L-fold (the marginal sensitivity model): q(y | x) = lambda(x, y) p(y | x) with
1 / L <= lambda <= L. The largest mean of y in the target is then that of

    rho(x) = E[phi | x] ,   phi = y / L + (1 - 1 / L) [Q + (1 + L) (y - Q)_+] ,

Q the quantile of y given x at L / (1 + L): rows above it count L-fold, those below 1 / L-fold. The
smallest mean is minus the largest of -y. With any other Q the mean of phi is too large, never too
small; and phi is estimated like any outcome, by the weights, by rho, or by both (doubly robust).

- y of classes with the chances q, and a gain g_c of each: Q is the quantile of the g_c, and
  rho = sum_c q_c phi(g_c), the solution of a fractional knapsack. For zeros and ones rho is
  min(L h, 1 - (1 - h) / L).
- y of numbers: Q = h(x) + k s(x), s the prediction of |y - h| by a model of its own, and k the
  weighted quantile of e = (y - h) / s. So rho = h / L + (1 - 1 / L) (h + c s) with
  c = k + (1 + L) mean (e - k)_+.

Sources: Tan (2006), *A distributional approach for causal inference using propensity scores*; Dorn
and Guo (2023), *Sharp sensitivity analysis for inverse propensity weighting via quantile
balancing*; Dorn, Guo and Kallus (2024), *Doubly-valid/doubly-sharp sensitivity analysis for causal
inference with unmeasured confounding*. Cost: one more cross-fit for numbers, O(N + M) besides.

**Robustness value.** With the weights w of the training rows (mean one), the values y whose
weighted mean is the number theta, and another value b of it,

    a = (theta - b)^2 / (var(y) var(w)) ,   RV = ((a^2 + 4 a)^(1/2) - a) / 2 :

an unobserved factor that explains the share RV of the variance of the ideal weights, and as much of
that of y, moves the number to b. A column is a benchmark: with the weights v without it, e = v - w,

    R^2 = var(e) / var(w) ,   rho = cor(e, y) ,   bias = rho (var(w) var(y) R^2)^(1/2) ,

of which the share R^2 / (1 + R^2) of the ideal weights is what an unobserved factor of its strength
would explain. The bias is that of leaving the column out, and |theta - b| / |bias| how many times
as strong as the column a reason must be. Weights with and without columns are those of
`engine.columns`, which need no further fit.

Source: Hartman and Huang (2024), *Sensitivity analysis for survey weights*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..exceptions import InputError
from ..numerics.array import Real
from ..numerics.crossfit import CrossFit
from .measures import Signal

_LEAST_SPREAD = 0.1  # of the mean of |y - h|: models of it may predict less than nothing
ROUNDING = 1e-12
FAR = 1e100  # standard deviations, beyond which squares overflow
REACHED = 0.9  # of a distance, which counts as all of it
NAMED = 4  # columns, at most


def check_odds(odds: float) -> None:
    """Refuse what is no factor of odds."""
    good = isinstance(odds, int | float | np.number) and not isinstance(odds, bool)
    if not good or not 1 <= odds < np.inf:
        raise InputError(
            "{odds} must be a number of at least 1: 2.0 asks what is left of the answer if "
            "unobserved factors change the odds of being in the target up to 2-fold, among rows "
            "with the same columns. The former meaning, a change of the mean outcome, is gone.",
            odds=repr(odds),
        )


def check_null(null: float) -> None:
    """Refuse what is no value that an answer may be moved to."""
    good = isinstance(null, int | float | np.number) and not isinstance(null, bool)
    if not good or not np.isfinite(null):
        raise InputError("{null} must be a finite number.", null=repr(null))


@dataclass(frozen=True)
class Bound:
    """The largest (side 1) or smallest (side -1) mean that odds up to so many-fold allow."""

    odds: float
    side: int

    @property
    def opposite(self) -> Bound:
        """The other end."""
        return replace(self, side=-self.side)

    @property
    def level(self) -> float:
        """Level of the quantile Q."""
        return (self.odds if self.side > 0 else 1.0) / (1 + self.odds)

    def start(self, p: float) -> float:
        """Share of the sample whose largest or smallest share in the target is p, of equal rows."""
        L = self.odds if self.side > 0 else 1 / self.odds
        return p / L if p * (1 + L) <= L else 1 - L * (1 - p)

    def tilted(self, y: Real, Q: Real) -> Real:
        """Return phi, of values y and their quantiles Q."""
        beyond = np.maximum(self.side * (y - Q), 0.0)
        return np.asarray(
            y / self.odds + (1 - 1 / self.odds) * (Q + self.side * (1 + self.odds) * beyond)
        )

    def of_classes(self, gains: Real, chances: Real) -> tuple[Real, Real]:
        """Quantiles Q (...,) and rho (...,) of gains (..., K) that come with chances (..., K)."""
        gains = np.broadcast_to(gains, chances.shape)
        order = np.argsort(gains, axis=-1, kind="stable")
        ranked = np.take_along_axis(gains, order, axis=-1)
        upto = np.cumsum(np.take_along_axis(chances, order, axis=-1), axis=-1)
        place = (upto[..., :-1] < (self.level - ROUNDING) * upto[..., -1:]).sum(axis=-1)
        Q = np.take_along_axis(ranked, place[..., None], axis=-1)
        return Q[..., 0], np.asarray((chances * self.tilted(gains, Q)).sum(axis=-1))

    def of_chances(self, signal: Signal) -> Signal:
        """Bound the means of zeros and ones (N, k), each column for itself."""
        zero_one = np.array([0.0, 1.0])
        parts = []
        for h in (signal.h.train, signal.h.folds):
            h = np.clip(h, 0.0, 1.0)
            parts.append(self.of_classes(zero_one, np.stack([1 - h, h], axis=-1)))
        (Q, train), (_, folds) = parts
        return Signal(self.tilted(signal.values, Q), CrossFit(train, folds))

    def of_numbers(self, signal: Signal, spread: Signal, w: Real) -> Signal:
        """Bound the mean of numbers (N, 1), whose ``spread`` is that of |y - h|; w are weights."""
        h, share = signal.h, w / w.sum()
        least = max(_LEAST_SPREAD * float(share @ spread.values[:, 0]), np.finfo(float).tiny)
        s = CrossFit(np.maximum(spread.h.train, least), np.maximum(spread.h.folds, least))
        e = ((signal.values - h.train) / s.train)[:, 0]
        k = weighted_quantile(e, share, self.level)
        c = k + self.side * (1 + self.odds) * float(share @ np.maximum(self.side * (e - k), 0.0))
        rest = 1 - 1 / self.odds
        rho = CrossFit(h.train + rest * c * s.train, h.folds + rest * c * s.folds)
        return Signal(self.tilted(signal.values, h.train + k * s.train), rho)


def weighted_quantile(values: Real, share: Real, level: float) -> float:
    """Smallest value (N,) at which the shares (N,), which sum to one, reach the level."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(share[order])
    place = int(np.searchsorted(upto, (level - ROUNDING) * upto[-1]))
    return float(values[order[min(place, len(values) - 1)]])
