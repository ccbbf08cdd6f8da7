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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..exceptions import InputError, NoOverlapError
from .array import Real, Rows, Whole
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


# Replicate weights: a weighter fitted again to samples that were drawn again.
#
# Whoever has the weights w and the replicates w_1, ..., w_B computes a number theta from w and the
# same number theta_b from each replicate, and knows its variance,
#
#     Var = scale sum_b (theta_b - theta)^2 ,
#
# with scale 1 / B for the bootstrap and (B - 1) / B for the jackknife (`_resampling`). It counts
# what the fit of the weights adds or takes, which errors from the final weights alone do not.
#
# Cost: B fits of the weighter.


Kind = Literal["bootstrap", "jackknife"]
Fit = Callable[[Real, Real | None], Real]
"""Factors (N,) of a fit to design weights (N,) and to multipliers of the target rows, if any."""


@dataclass(frozen=True)
class Replicates:
    """Replicate weights, and how a variance follows from them."""

    weights: Real  # (lines, B): mean one over the rows, as the final weights
    kind: Kind
    redrawn: int = 0  # draws of the bootstrap without weights, in place of which others are here
    unconverged: int = 0  # fits that stopped early

    @property
    def count(self) -> int:
        """Number of replicates, B."""
        return int(self.weights.shape[1])

    @property
    def scale(self) -> float:
        """Factor of the sum of squares."""
        return 1 / self.count if self.kind == "bootstrap" else (self.count - 1) / self.count


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

    ``of_lines`` turns the weights of the rows into what is kept. A draw of the bootstrap in which
    no weights are found is drawn again, a jackknife has no other draw: it is an error.
    """
    rng = np.random.default_rng(random_state)
    if design.units < 2:
        raise InputError(
            "All training rows are in one cluster, so that nothing can be learned about the spread "
            "between clusters. Leave out --cluster, or use a sample of more clusters."
        )
    if kind == "jackknife":
        if count > design.units:
            raise InputError(
                f"{count} groups of a jackknife need as many units, and there are {design.units}. "
                f"Ask for at most {design.units} replicates, or use the bootstrap."
            )
        draws = jackknife_draws(design, target, count, rng)
    else:
        draws = bootstrap_draws(design, target, rng)
    columns: list[Real] = []
    lost, early, reason = 0, 0, ""
    with Progress(count, "replicates", verbose=verbose) as progress:
        for draw in islice(draws, 2 * count):  # beyond it, more than half had no weights
            try:
                final, stopped = _final(fit, d, draw)
            except (InputError, np.linalg.LinAlgError) as failure:  # such as no overlap
                lost, reason = lost + 1, str(failure).partition("\n")[0]
                if kind == "jackknife":
                    raise NoOverlapError(
                        f"Without group {len(columns) + 1} of {count} no weights were found: "
                        f"{reason} Use the bootstrap, more replicates or another seed."
                    ) from failure
                continue
            columns.append(of_lines(final))
            early += stopped
            progress.step()
            if len(columns) == count:
                break
    if len(columns) < count:
        raise NoOverlapError(
            f"In {lost} of {2 * count} draws no weights were found, so that the others say nothing "
            f"about the error. The last reason: {reason}"
        )
    return Replicates(np.column_stack(columns), kind, lost, early)


def _final(fit: Fit, d: Real, draw: Draw) -> tuple[Real, bool]:
    """Final weights of one draw, mean one; and whether their fit stopped early."""
    own, others = draw
    with heard() as caught:
        final = d * own * fit(d * own, others)
    stopped = any(issubclass(found.category, ConvergenceWarning) for found in caught)
    return final / final.mean(), stopped
