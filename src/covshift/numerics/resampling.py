"""Samples drawn again: how much each row counts in a draw of a bootstrap or of a jackknife.

Both give the rows non-negative multipliers, equal within a primary unit, of which the mean is one
in every stratum, so that a weighted sum over the replicates has the variance of `_influence`:

    Var = scale sum_b (theta_b - theta)^2 .

- *Bootstrap*, scale 1 / B. The draws are fractional (Rubin's, smooth where the usual ones repeat
  and lose rows): in a stratum of n units these get the multipliers D, with D / n of Dirichlet's
  distribution with n parameters (n - 2) / n. Their covariance is n / (n - 1) (I - 11'/n). Of two
  units one counts twice and the other not at all.
- *Delete-a-group jackknife* (JK1), scale (G - 1) / G. The units are dealt to G groups at random,
  stratum by stratum, m_g of n to group g. In replicate g these are left out, and the others of the
  stratum count n / (n - m_g). Equal groups, as in the delete-one jackknife, have an unbiased
  variance. Else one unit of a stratum stays throughout, with the chance for which

      E (G - 1) / G sum_g m_g / (n - m_g) = 1 ,

  and the variance is unbiased over the deals. With n >= 5 G it is so but for a hundredth, and all
  units are dealt.
- *Delete-one jackknife of strata* (JKn), scale 1, and (n - 1) / n for a replicate without one of
  the n units of a stratum. It takes the place of JK1 where there are replicates for all units. The
  target, a sample of M rows, loses M / (1 + r R) of them in a replicate of scale r, of R.

Which of the two holds? A row's influence is what it changes by being there. Weights that solve an
estimating equation (entropy balancing, raking, logistic odds) follow a multiplier of the row in
proportion, and both are right. Other weights are chosen anew: CDF weights give a row with half of
its design weight a larger factor, so that the bootstrap sees about half of the error (Abadie and
Imbens 2008 on matching). A row that is left out stays out: the jackknife is right. It must leave
out whole units, which Kott's extension for strata of few units does not.

A single unit of a stratum stays in both. Two samples are drawn independently of each other.

Sources: Rubin (1981), *The Bayesian bootstrap*; Rao and Wu (1988), *Resampling inference with
complex survey data*, whose draws have the same covariance; Kott (2001), *The delete-a-group
jackknife*; Abadie and Imbens (2008), *On the failure of the bootstrap for matching estimators*.
Cost O(N) for each draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..exceptions import InputError, NoOverlapError
from .array import Flags, Real, Rows, Whole
from .influence import Design
from .progress import Progress
from .quiet import heard

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
    """Leave out the units of one group after the other, in both samples at once (JK1).

    >>> import numpy as np
    >>> rows = Design.simple(3)
    >>> [own.tolist() for own, _ in jackknife_draws(rows, None, 3, np.random.default_rng(0))]
    [[1.5, 1.5, 0.0], [1.5, 0.0, 1.5], [0.0, 1.5, 1.5]]
    """
    parts = [(part, _dealt(part, groups, rng)) for part in (design, target) if part is not None]
    for g in range(groups):
        found = [_without(part, dealt == g) for part, dealt in parts]
        yield found[0], found[1] if len(found) > 1 else None


def unit_draws(
    design: Design, target: Design | None, rng: np.random.Generator
) -> tuple[Real, Iterator[Draw]]:
    """Leave out one unit after the other, by strata (JKn); the scales of the replicates first."""
    n = np.bincount(design.stratum)
    order = np.argsort(design.stratum, kind="stable")
    order = order[n[design.stratum[order]] > 1]
    scales = 1 - 1 / n[design.stratum[order]]
    own = (_without(design, np.arange(design.units) == unit) for unit in order)
    return scales, zip(own, target_draws(target, scales, rng), strict=True)


def target_draws(
    target: Design | None, scales: Real, rng: np.random.Generator
) -> Iterator[Real | None]:
    """Leave out M / (1 + r R) of the M target rows in each of R replicates of the scales r.

    Var(mean without m rows - mean) is m / (M - m) times that of the mean, which so adds up to one.
    """
    if target is None or target.units < 2:
        yield from [None] * len(scales)
        return
    M = target.units
    ends = np.cumsum(np.append(0, M / (1 + scales * len(scales)))).round().astype(np.intp)
    rows = rng.permutation(M)
    for start, end in pairwise(ends):
        if end > len(rows):  # another round
            rows = np.append(rows, rng.permutation(M))
        gone = np.zeros(M, dtype=bool)
        gone[rows[start:end]] = True
        yield _without(target, gone)


def _dealt(design: Design, groups: int, rng: np.random.Generator) -> Rows:
    """Deal the units to the groups, stratum by stratum: each unit's group, -1 where it stays."""
    order = np.lexsort((rng.uniform(size=design.units), design.stratum))
    n = np.bincount(design.stratum)
    stays = rng.uniform(size=len(n)) >= _chance_of_all(n, groups)
    last = np.cumsum(n) - 1
    order = np.delete(order, last[stays])
    dealt = np.full(design.units, -1, dtype=np.intp)
    dealt[order] = np.arange(len(order)) % groups
    return dealt


def _chance_of_all(n: Whole, groups: int) -> Real:
    """How often all n units of a stratum are dealt, and not all but one: (strata,)."""
    one, all_ = (_variance_of_deal(n - short, n, groups) for short in (1, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.where(all_ > one, (1 - one) / (all_ - one), 1.0)
    return np.where(n >= _MANY * groups, 1.0, np.clip(chance, 0.0, 1.0))


def _variance_of_deal(dealt: Whole, n: Whole, groups: int) -> Real:
    """The variance that so many units in the groups find, where the right one is 1: (strata,)."""
    small, larger = dealt // groups, dealt % groups  # so many groups have one unit more
    total = (groups - larger) * small / np.maximum(n - small, 1)
    total = total + larger * (small + 1) / np.maximum(n - small - 1, 1)
    return np.asarray(total * (groups - 1) / groups)


def _without(design: Design, gone: Flags) -> Real:
    """Multipliers of the rows without some of the units: (N,)."""
    n = np.bincount(design.stratum)
    gone = gone & (n[design.stratum] > 1)
    m = np.bincount(design.stratum, weights=gone)
    found = np.where(gone, 0.0, (n / np.maximum(n - m, 1))[design.stratum])
    return np.asarray(found if design.unit is None else found[design.unit])


# Replicate weights: a weighter fitted again to samples that were drawn again.
#
# Whoever has the weights w and the replicates w_1, ..., w_B computes a number theta from w and the
# same number theta_b from each replicate, and knows its variance,
#
#     Var = scale sum_b rscale_b (theta_b - theta)^2 .
#
# It counts what the fit of the weights adds or takes, which errors from the final weights alone do
# not.
#
# Cost: B fits of the weighter.


Kind = Literal["bootstrap", "jackknife"]
Fit = Callable[[Real, Real | None], Real]
"""Factors (N,) of a fit to design weights (N,) and to multipliers of the target rows, if any."""


@dataclass(frozen=True)
class Plan:
    """How a variance follows from replicates; the names are those of survey software."""

    type: str  # "bootstrap", "JK1", "JKn"; others where the replicates were given
    scale: float
    rscales: Real  # (B,)
    freedom: int  # degrees of freedom
    given: bool = False  # whether these are replicate weights of the user's

    @property
    def kind(self) -> str:
        """What the replicates are: "bootstrap", "jackknife", or "replicate weights"."""
        if self.given:
            return "replicate weights"
        return "bootstrap" if self.type == "bootstrap" else "jackknife"

    @property
    def count(self) -> int:
        """Number of replicates, B."""
        return len(self.rscales)

    def first(self, count: int) -> Plan:
        """Return the same with fewer draws of a bootstrap."""
        freedom = min(count - 1, self.freedom)
        return replace(self, scale=1 / count, rscales=np.ones(count), freedom=freedom)

    def variance(self, thetas: Real, theta: Real | float) -> Real:
        """Variances (k,) of numbers from those of the replicates (B, k)."""
        return np.asarray(self.scale * (self.rscales @ (thetas - theta) ** 2))


def plan(
    design: Design, target: Design | None, kind: Kind, count: int, rng: np.random.Generator
) -> tuple[Plan, Iterator[Draw]]:
    """Return how the samples are drawn again, and the draws; those of the bootstrap do not end."""
    strata = len(np.unique(design.stratum))
    freedom = design.units - strata
    if kind == "bootstrap":
        made = Plan("bootstrap", 1 / count, np.ones(count), min(count - 1, freedom))
        return made, bootstrap_draws(design, target, rng)
    if strata > 1 and count >= design.units and freedom > 0:
        scales, draws = unit_draws(design, target, rng)
        return Plan("JKn", 1.0, scales, freedom), draws
    count = min(count, design.units)
    made = Plan("JK1", (count - 1) / count, np.ones(count), min(count - 1, freedom))
    return made, jackknife_draws(design, target, count, rng)


@dataclass(frozen=True)
class Replicates:
    """Replicate weights, and how a variance follows from them."""

    weights: Real  # (lines, B): mean one over the rows, as the final weights
    plan: Plan
    redrawn: int = 0  # draws of the bootstrap without weights, in place of which others are here
    unconverged: int = 0  # fits that stopped early


def replicate(
    fit: Fit,
    d: Real,
    design: Design,
    target: Design | None,
    *,
    kind: Kind,
    count: int,
    random_state: int,
    of_lines: Callable[[Real], Real] = np.asarray,
    verbose: bool = False,
) -> Replicates:
    """Fit the weights again to ``count`` samples, whose design weights ``d`` (N,) have mean one.

    A jackknife has at most as many replicates as there are units. ``of_lines`` turns the weights of
    the rows into what is kept. A draw of the bootstrap in which no weights are found is drawn
    again, a jackknife has no other draw: it is an error.
    """
    if design.units < 2:
        raise InputError(
            "All training rows are in one cluster, so that nothing can be learned about the spread "
            "between clusters. Leave out --cluster, or use a sample of more clusters."
        )
    made, draws = plan(design, target, kind, count, np.random.default_rng(random_state))
    columns: list[Real] = []
    lost, early, reason = 0, 0, ""
    with Progress(made.count, "replicates", verbose=verbose) as progress:
        for draw in islice(draws, 2 * made.count):  # beyond it, more than half had no weights
            try:
                final, stopped = _final(fit, d, draw)
            except (InputError, np.linalg.LinAlgError) as failure:  # such as no overlap
                lost, reason = lost + 1, str(failure).partition("\n")[0]
                if kind == "jackknife":
                    raise no_weights_without(len(columns) + 1, made.count, reason) from failure
                continue
            columns.append(of_lines(final))
            early += stopped
            progress.step()
            if len(columns) == made.count:
                break
    if len(columns) < made.count:
        raise NoOverlapError(
            f"In {lost} of {2 * count} draws no weights were found, so the error cannot be "
            f"estimated. The last reason: {reason}"
        )
    return Replicates(np.column_stack(columns), made, lost, early)


def no_weights_without(group: int, groups: int, reason: str) -> NoOverlapError:
    """Return the error of a jackknife whose group cannot be left out."""
    return NoOverlapError(
        f"Without group {group} of {groups} no weights were found: {reason} Use more replicates, "
        "another seed, or weights that solve an equation, such as entropy balancing."
    )


def _final(fit: Fit, d: Real, draw: Draw) -> tuple[Real, bool]:
    """Final weights of one draw, mean one; and whether their fit stopped early."""
    own, others = draw
    with heard() as caught:
        final = d * own * fit(d * own, others)
    stopped = any(issubclass(found.category, ConvergenceWarning) for found in caught)
    return final / final.mean(), stopped
