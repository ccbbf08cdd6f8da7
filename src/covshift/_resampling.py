"""Samples drawn again: how much each row counts in a draw of a bootstrap or of a jackknife.

Both give the rows non-negative multipliers, equal within a primary unit, of which the mean is one
in every stratum, so that a weighted sum over the replicates has the variance of `_influence`:

    Var = scale sum_b (theta_b - theta)^2 .

- *Bootstrap*, scale 1 / B. The draws are fractional (Rubin's, smooth where the usual ones repeat
  and lose rows): in a stratum of n units these get the multipliers D, with D / n of Dirichlet's
  distribution with n parameters (n - 2) / n. Their covariance is n / (n - 1) (I - 11'/n). Of two
  units one counts twice and the other not at all.
- *Delete-a-group jackknife*, scale (G - 1) / G. The units are dealt to G groups at random, stratum
  by stratum, m_g of n to group g. In replicate g these count 1 - a, and the others of the stratum
  1 + a m_g / (n - m_g), with

      a^2 = G / ((G - 1) sum_g m_g / (n - m_g)) ,

  the only one for which the variance is unbiased over the deals. Equal groups, as in the
  delete-one jackknife, have a = 1: the units are left out. With n >= 5 G all but a hundredth of
  the variance is the same, and a = 1 as well. Few units, n < G, have Kott's extension.

A single unit of a stratum stays in both. Two samples are drawn independently of each other.

Sources: Rubin (1981), *The Bayesian bootstrap*; Rao and Wu (1988), *Resampling inference with
complex survey data*, whose draws have the same covariance; Kott (2001), *The delete-a-group
jackknife*. Cost O(N) for each draw.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._influence import Design
from ._types import Real, Rows, Whole

_MANY = 5  # units for each group, beyond which unequal groups are as good as equal ones

Draw = tuple[Real, Real | None]
"""Multipliers of the training rows (N,), and of the target rows (M,) where these are drawn too."""


def multipliers(design: Design, rng: np.random.Generator) -> Real:
    """Draw a non-negative multiplier for each row, mean one in every stratum: (N,)."""
    counts = np.bincount(design.stratum)
    n = counts[design.stratum]
    drawn = rng.standard_gamma(np.where(n > 2, (n - 2) / n, 1.0))
    twos = np.flatnonzero(n == 2)
    one, other = twos[np.argsort(design.stratum[twos], kind="stable")].reshape(-1, 2).T
    drawn[one] = rng.uniform(size=len(one)) < 0.5
    drawn[other] = 1 - drawn[one]
    found = drawn * (counts / np.bincount(design.stratum, weights=drawn))[design.stratum]
    return found if design.unit is None else found[design.unit]


def bootstrap_draws(
    design: Design, target: Design | None, rng: np.random.Generator
) -> Iterator[Draw]:
    """Draw both samples again and again, without end; ``target`` None: the target stays."""
    while True:
        own = multipliers(design, rng)
        yield own, None if target is None or target.units < 2 else multipliers(target, rng)


def jackknife_draws(
    design: Design, target: Design | None, groups: int, rng: np.random.Generator
) -> Iterator[Draw]:
    """Leave out the units of one group after the other, in both samples at once.

    >>> import numpy as np
    >>> rows = Design.simple(3)
    >>> [own.tolist() for own, _ in jackknife_draws(rows, None, 3, np.random.default_rng(0))]
    [[1.5, 1.5, 0.0], [1.5, 0.0, 1.5], [0.0, 1.5, 1.5]]
    """
    parts = [(part, _dealt(part, groups, rng)) for part in (design, target) if part is not None]
    for g in range(groups):
        found = [_without(part, dealt, g, groups) for part, dealt in parts]
        yield found[0], found[1] if len(found) > 1 else None


def _dealt(design: Design, groups: int, rng: np.random.Generator) -> Rows:
    """Deal the units to the groups, stratum by stratum: the number of each unit's group."""
    order = np.lexsort((rng.uniform(size=design.units), design.stratum))
    dealt = np.empty(design.units, dtype=np.intp)
    dealt[order] = np.arange(design.units) % groups
    return dealt


def _without(design: Design, dealt: Rows, g: int, groups: int) -> Real:
    """Multipliers of the rows without the units of group g: (N,)."""
    n = np.bincount(design.stratum)
    m = np.bincount(design.stratum, weights=dealt == g)
    others = np.maximum(n - m, 1)
    a = _part_left_out(n, groups)
    touched = (n > 1) & (m > 0)
    own = np.where(touched, 1 - a, 1.0)[design.stratum]
    rest = np.where(touched, 1 + a * m / others, 1.0)[design.stratum]
    found = np.where(dealt == g, own, rest)
    return np.asarray(found if design.unit is None else found[design.unit])


def _part_left_out(n: Whole, groups: int) -> Real:
    """How much of its units a group of strata of n units loses, at most one: (strata,)."""
    small, larger = n // groups, n % groups  # so many groups have one unit more
    total = (groups - larger) * small / np.maximum(n - small, 1)
    total = total + larger * (small + 1) / np.maximum(n - small - 1, 1)
    a = np.sqrt(groups / ((groups - 1) * np.maximum(total, 1e-9)))
    return np.where((larger == 0) | (n >= _MANY * groups), 1.0, np.minimum(a, 1.0))
