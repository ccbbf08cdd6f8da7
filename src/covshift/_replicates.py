"""Replicate weights: a weighter fitted again to samples that were drawn again.

Whoever has the weights w and the replicates w_1, ..., w_B computes a number theta from w and the
same number theta_b from each replicate, and knows its variance,

    Var = scale sum_b (theta_b - theta)^2 ,

with scale 1 / B for the bootstrap and (B - 1) / B for the jackknife (`_resampling`). It counts what
the fit of the weights adds or takes, which errors from the final weights alone do not.

Cost: B fits of the weighter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ._influence import Design
from ._progress import Progress
from ._quiet import heard
from ._resampling import Draw, bootstrap_draws, jackknife_draws
from ._types import Real
from .exceptions import InputError, NoOverlapError

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
