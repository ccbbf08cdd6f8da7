"""The target side of V, for sums over blocks of training rows: no row meets another (theory, 4.1).

All that a linear fit needs from the data is A'VA, with A its columns [Psi, 1, Y]. With V = R'R and
rows of R that come from the target alone, R A is a sum over training rows; a diagonal part of V
adds A' diag(w) A. Both are plain sums: blocks, files, workers and devices combine by addition.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

from ..numerics.array import Array, namespace
from .views import Views

_THRESHOLDS = 1 << 13  # of all views together: with 300 landmarks 40 MB of sums, for every fold
_FEWEST = 256  # of every view, however many there are
_BLENDED_ROWS = 75.0  # that V speaks for in a blend; benchmarks/corrections.py


@dataclass(frozen=True)
class Sums:
    """What some training rows add to A'VA, for q columns A."""

    totals: Array | None  # what the views make R A of
    own: Array | None  # (q, q): A' diag(w) A
    trace: float  # sum_i w_i V(i, i), before normalising
    weight: float  # sum_i w_i
    covered: float  # sum of w_i over the rows that the target sees

    def combine(self, other: Sums, *, here: bool = False) -> Sums:
        """Add the sums over other rows; ``here`` in the totals of this value, which is used up."""
        totals = self.totals
        if here and totals is not None:
            totals += other.totals
        elif totals is not None:
            totals = totals + other.totals
        return Sums(
            totals,
            None if self.own is None else self.own + other.own,
            self.trace + other.trace,
            self.weight + other.weight,
            self.covered + other.covered,
        )


def unit_scale(trace: float, weight: float, largest: float = inf) -> float | None:
    """Return weight / trace, which gives V a mean diagonal of one; None where V is too small."""
    return weight / trace if trace > 0 and weight / trace < largest else None


def identity_share(blend: float | str, weight: float) -> float:
    """Return the identity's share of a blend, for rows of this weight in all.

    "auto" leaves V half of it, and no more than 75 / N: smooth directions of V grow with N where
    those of the identity do not, so that a fixed share would count for more and more
    (theory, eq. 2.10).
    """
    return 1 - min(0.5, _BLENDED_ROWS / weight) if isinstance(blend, str) else float(blend)


def weighted_gram(A: Array, w: Array) -> Array:
    """A' diag(w) A, as the product of one matrix with itself: BLAS then computes only half."""
    xp = namespace(A)
    root = A if bool(xp.all(w == 1)) else xp.sqrt(w)[:, None] * A
    return root.T @ root


class TargetSums(Protocol):
    """A target, ready to sum over blocks of training rows."""

    def sums(self, X: Array, A: Array, w: Array, rows: Any, plain: Array | None = None) -> Sums:
        """Sum over the rows ``X`` (b, n) with columns ``A`` (b, q) and row weights ``w`` (b,).

        ``rows`` numbers the block's rows in the training sample; ``plain`` is A' diag(w) A, where
        it is known.
        """
        ...

    def gram(self, sums: Sums) -> Array:
        """A'VA (q, q) from the sums over all rows."""
        ...


class ViewsTargetSums:
    """V from views of the target, normalised and blended with the identity when asked.

    The sums have a row for each bin between the target's values: a large target, of more than
    8192 distinct values in all one-dimensional views together, is merged to so many quantiles (at
    least 256 in a view). With 10 features that moves no distribution function by more than 0.0006,
    the standard error of those of 700,000 target rows.
    """

    def __init__(self, views: Views, *, normalize: bool, blend: float | str) -> None:
        self._views = views.merged(_THRESHOLDS, _FEWEST)
        self._normalize, self._blend = normalize, blend

    def sums(self, X: Array, A: Array, w: Array, rows: Any, plain: Array | None = None) -> Sums:
        xp = namespace(A)
        R = self._views.factor(X)
        diagonal = R.squares()
        return Sums(
            totals=self._views.totals(R, A if bool(xp.all(w == 1)) else w[:, None] * A),
            own=_known(plain, A, w) if self._blend else None,
            trace=_total(w * diagonal),
            weight=_total(w),
            covered=_total(xp.where(diagonal > 0, w, xp.zeros_like(w))),
        )

    def gram(self, sums: Sums) -> Array:
        scale = unit_scale(sums.trace, sums.weight) if self._normalize else None
        RA = self._views.rows_of(sums.totals)
        seen = (scale or 1.0) * (RA.T @ RA)
        if sums.own is None:
            return seen
        share = identity_share(self._blend, sums.weight)
        return (1 - share) * seen + share * sums.own


def _total(w: Array) -> float:
    xp = namespace(w)
    return float(xp.sum(w, dtype=xp.float64))  # of rows that may be in single precision


def _known(plain: Array | None, A: Array, w: Array) -> Array:
    return weighted_gram(A, w) if plain is None else plain


class DiagonalTargetSums:
    """V = diag(v); without ``v`` the identity."""

    def __init__(self, v: Array | None = None) -> None:
        self._v = v

    def sums(self, X: Array, A: Array, w: Array, rows: Any, plain: Array | None = None) -> Sums:
        v = w if self._v is None else w * self._v[rows]
        weight, trace = _total(w), _total(v)
        own = _known(plain if self._v is None else None, A, v)
        return Sums(None, own, trace, weight, weight)

    def gram(self, sums: Sums) -> Array:
        return sums.own


class WeightedTargetSums:
    """Other sums, with weights v of the training rows: V_w = diag(v) V diag(v)."""

    def __init__(self, target_sums: TargetSums, v: Array) -> None:
        self._target_sums, self._v = target_sums, v

    def sums(self, X: Array, A: Array, w: Array, rows: Any, plain: Array | None = None) -> Sums:
        return self._target_sums.sums(X, A, w * self._v[rows], rows)

    def gram(self, sums: Sums) -> Array:
        return self._target_sums.gram(sums)
