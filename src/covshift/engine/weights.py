"""The weights that carry the sample to the target, and how large they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from ..data import Samples
from ..data.parameters import number
from ..data.row_weights import check_weight
from ..data.validation import checked
from ..encoding.feature import with_groups
from ..exceptions import NoOverlapError, OverlapWarning, WeightWarning
from ..numerics.array import Real
from ..numerics.progress import doing
from ..numerics.quiet import alone, quiet
from ..show.notes import Note
from ..weights import CDFWeights, as_weighter, effective_sample_size
from ..weights.base import Weighter
from ..weights.limits import strictly_inside
from ..weights.m_estimation import calibrated, clipped_tilt, tilted

DEFAULT = "tilted-cdf"
_NOISY = 20_000  # rows beyond which flatter weights have no noise to save
_FLAT = CDFWeights(purpose="training", allow_no_overlap=True)


@dataclass(frozen=True, eq=False)
class Trimmed:
    """Weights of a ``weighter`` of at most ``max_weight`` times their mean, design included.

    For `covshift.estimate` and `covshift.evaluate`, wherever these take a weighter. What is cut off
    is shared among the other rows. None stands for the default weights.

    >>> from covshift import estimate
    >>> from covshift.datasets import make_survey
    >>> from covshift.estimates import Trimmed
    >>> survey = make_survey(300, 400, random_state=0)
    >>> found = estimate(survey.X, survey.y, survey.X_target, weighter=Trimmed(3, "entropy"))
    >>> bool(found.weights.max() <= 3)
    True
    """

    max_weight: float
    weighter: Any = None

    @classmethod
    def parts(cls, weighter: Any) -> tuple[Any, float | None]:
        """Return the weighter itself, and its limit or None."""
        if not isinstance(weighter, cls):
            return weighter, None
        number(above=1).check(weighter.max_weight, "max_weight")
        return weighter.weighter, weighter.max_weight


@dataclass(frozen=True)
class Weights:
    """Final weights, design weight times factor, mean one; and the weighter that made them."""

    final: Real  # (N,)
    weighter: Weighter | None  # None: the weights were given
    Z: Real  # (N, p): rows as the weighter saw them
    T: Real  # (M, p)
    trimmed: float  # share of the weight that a limit cut off
    flat: Real | None = None  # (N,): the default's flatter weights, for what h leaves
    met: bool = False  # whether they give Z the means T, the target being margins
    by_design: bool = False  # whether the design weights were given that they are calibrated from
    numbers: int | None = None  # independent columns of Z, where that is known
    notes: tuple[Note, ...] = ()

    @property
    def few_rows(self) -> float:
        """Factor on influence values, for what estimating h and weights costs small samples (HC1).

        Variances times n / (n - p - 1), at most two, of n effective rows and p columns: at 50 rows
        it mends the coverage (benchmarks/results/estimator.md).
        """
        if self.weighter is None and not self.met:
            return 1.0
        rows = self.effective_sample_size
        fitted = 1 + (self.Z.shape[1] if self.numbers is None else self.numbers)
        return float(np.sqrt(rows / (rows - min(fitted, rows / 2))))

    def mean_influence(self, values: Real, d: Real, share: Real) -> tuple[Real, Real] | None:
        """Influence of both samples' rows on weighted means, where the weights solve an equation.

        ``values`` (N, k), design weights ``d`` (N,), target's shares (M,).
        """
        if self.met:
            given = values, self.Z, self.T, self.final, share
            free = None if self.weighter is None else strictly_inside(self.weighter)
            if free is not None:
                return clipped_tilt(*given, d, free)[1:]
            return (calibrated(*given, d) if self.by_design else tilted(*given, 0.0))[1:]
        if self.trimmed or self.weighter is None or not self.weighter._has_mean_influence():
            return None
        influence = self.weighter._mean_influence(values, self.Z, self.T, d, share)
        return None if influence is None else influence[1:]

    @property
    def solve_equation(self) -> bool:
        """Whether the weights solve an estimating equation, or were given: a bootstrap is valid."""
        if self.trimmed:
            return False
        return self.met or self.weighter is None or self.weighter._has_mean_influence()

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


@doing("weights", "step 2 of 4, ")
def weigh(
    sample: Samples, weighter: Any, *, max_weight: float | None, random_state: int
) -> Weights:
    """Fit the weighter to standardised rows, or take the weights that were given.

    Without a weighter: `DEFAULT`, and flatter ones besides for residuals. ``max_weight`` limits the
    final weights, in units of their mean.
    """
    with alone():
        scaler = StandardScaler().fit(sample.X, sample_weight=sample.d)
        Z, T = scaler.transform(sample.X), scaler.transform(sample.T)
    if are_weights(weighter):
        given = check_weight(weighter, len(Z), "weighter", of="X")
        final, fitted = given * sample.d, None
    else:
        with quiet(OverlapWarning):  # said before, with the names of columns
            factor, fitted = factors(sample, weighter, Z, T, random_state)
        final = factor * sample.d
    final = final / final.mean()
    final, lost = trimmed(final, max_weight)
    flat = None
    if weighter is None and len(Z) <= _NOISY:
        with quiet(WeightWarning):  # flat on purpose
            flat = factors(sample, _FLAT, Z, T, random_state)[0] * sample.d
        flat = trimmed(flat / flat.mean(), max_weight)[0]
    return Weights(final, fitted, Z, T, lost, flat)


def factors(
    sample: Samples,
    weighter: Any,
    Z: Real,
    T: Real,
    random_state: int,
    *,
    d: Real | None = None,
    share: Real | None = None,
) -> tuple[Real, Weighter]:
    """Fit a clone of the weighter; return the factor of each row (N,), and the weighter.

    ``d`` and ``share`` stand for the sample's own weights.
    """
    made = clone(as_weighter(DEFAULT if weighter is None else weighter))
    if made.get_params(deep=False).get("random_state", 0) is None:
        made.set_params(random_state=random_state)
    if d is None and sample.weighted:
        d = sample.d
    weight = sample.share if share is None else share
    even = np.ptp(weight) <= 1e-12 * weight.max()
    # Shares, not counts: what weights of the target mean does not depend on their scale.
    target_weight = None if even else weight / weight.max() * (1 - 1e-9)
    given = {} if d is None else {"sample_weight": d}
    made, X_seen, T_seen = with_groups(made, sample.one_feature, Z, T)
    try:
        with checked():
            fitted: Weighter = made.fit(
                X_seen, X_target=(T_seen,), target_weight=target_weight, **given
            )
    except NoOverlapError as error:
        raise NoOverlapError(with_names(str(error), sample.names)) from error
    return np.asarray(fitted.weights_), fitted


def with_names(message: str, names: tuple[str, ...]) -> str:
    """Name the columns that a weighter, which saw an array, calls by their number."""

    def named(match: re.Match[str]) -> str:
        numbers = [int(k) for k in match.group(1).split(", ")]
        return ", ".join(repr(names[k]) if k < len(names) else str(k) for k in numbers)

    return re.sub(r"columns? (\d+(?:, \d+)*)", named, message)


def are_weights(weighter: Any) -> bool:
    """Whether weights were given; forests and pipelines have a length too."""
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
