"""``correction="auto"``: which correction, and how much of it (theory, section 3.4).

A model too simple for the truth needs the target; a flexible one is hurt by weights of any kind.
No single correction serves both. So all candidates predict the same held-out rows, and are judged
by their squared errors there, weighted to look like the target. The best is mixed with the
uncorrected model in a share that falls to zero with the evidence for it:

    f = (1 - a) f_0 + a f_c ,    a = a* (1 - (k / t)^2)_+ ,    t = gain / its standard error ,

a* in [0, 1] the share of least weighted error, and k the standard errors that the luckiest of the
candidates would reach in a tenth of the cases if none gained anything:
`covshift.numerics.statistics`, the rule of every recommendation, at a weaker level. A
recommendation switches from one model to another, and is wrong altogether if it is wrong. A mixture
begins at a share of zero where t reaches k, and a false gain costs about the square of its small
share. benchmarks/auto.py measures what it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.array import Real
from ..numerics.statistics import least, paired_gains, rounding_of
from ..registry import AUTO, NONE, corrections, weighters
from .base import Correction
from .elementary import Importance

BASELINE = NONE
LEVEL = 0.1  # of k; about 1.5 standard errors for two candidates


def is_auto(correction: Any) -> bool:
    """Whether the data are to choose the correction."""
    return isinstance(correction, str) and correction == AUTO


@dataclass(frozen=True)
class Evidence:
    """What held-out rows say of one candidate, beside the uncorrected model."""

    correction: str
    setting: int  # place on the candidate's path of penalties
    error: float  # weighted squared error of the candidate alone
    best_share: float  # a*, the share of least weighted error
    gain: float  # weighted squared error that the mixture saves
    standard_error: float  # of the gain
    needed: float = np.inf  # k, standard errors that a gain has to exceed

    @property
    def confidence(self) -> float:
        """The factor 1 - (k / t)^2 that shrinks the share, zero where the gain is not clear."""
        if self.gain <= 0 or self.gain <= self.needed * self.standard_error:
            return 0.0
        return 1 - (self.needed * self.standard_error / self.gain) ** 2

    @property
    def share(self) -> float:
        return self.best_share * self.confidence


@dataclass(frozen=True)
class Choice:
    """The correction that is mixed with the uncorrected model, and the evidence for it."""

    baseline: Evidence
    chosen: Evidence  # the baseline itself where no gain is clear
    compared: tuple[Evidence, ...]  # the other candidates
    why_none: str = "No rows can be held out"  # where nothing was compared

    @property
    def share(self) -> float:
        return 0.0 if self.chosen is self.baseline else self.chosen.share

    def parts(self) -> list[tuple[Evidence, float]]:
        """Return what is mixed, and in which shares: the baseline first."""
        if self.chosen is self.baseline:
            return [(self.baseline, 1.0)]
        return [(self.baseline, 1 - self.share), (self.chosen, self.share)]

    def report(self, settings: Sequence[float] | Real, used: Mapping[str, float]) -> dict[str, Any]:
        """Return the choice as plain data: what was chosen, in which share, and why.

        ``settings`` are the penalties along the candidates' paths, ``used`` those of the final fits
        by the candidates' names.
        """
        rows = [
            {
                "correction": found.correction,
                "reg": float(
                    used[found.correction] if found.correction in used else settings[found.setting]
                ),
                "error": found.error,
                "gain": found.gain,
                "standard_error": found.standard_error,
                "share": 1 - self.share if found is self.baseline else self._share_of(found),
            }
            for found in (self.baseline, *self.compared)
        ]
        return {
            "chosen": self.chosen.correction,
            "share": self.share,
            "reason": self._reason(),
            "candidates": rows,
        }

    def _share_of(self, evidence: Evidence) -> float:
        return self.share if evidence is self.chosen else 0.0

    def _reason(self) -> str:
        if not self.compared:
            return f"{self.why_none}: the model is left as it is."
        if self.chosen is self.baseline:
            needed = min(found.needed for found in self.compared)
            return (
                "No correction lowers the estimated target error by more than "
                f"{needed:.1f} standard errors: the model is left as it is."
            )
        return (
            f"{self.chosen.correction!r} lowers the estimated target error by "
            f"{self.chosen.gain / self.baseline.error:.1%} "
            f"({self.chosen.gain / self.chosen.standard_error:.1f} standard errors); it was mixed "
            f"in with a share of {self.share:.0%}."
            if self.chosen.standard_error > 0
            else f"{self.chosen.correction!r} lowers the estimated target error on every row."
        )


def candidates(weights: Any) -> dict[str, Correction]:
    """Return what "auto" compares, the uncorrected model first.

    ``weights`` are those of the training rows (N,), or a weighter that finds them.
    """
    found: dict[str, Correction] = {}
    for entry in corrections():
        if entry.in_auto:
            make = entry.load()
            found[entry.name] = make(weights) if "weights" in entry.needs else make()
    return found | {entry.name: Importance(weights) for entry in weighters() if entry.in_auto}


def choose(predictions: Mapping[str, Real], Y: Real, w: Real, plain: Real) -> Choice:
    """Choose by predictions of held-out rows: (settings, N, k) for every candidate.

    Y (N, k) are the outcomes, w (N,) the weights under which the rows look like the target, and
    ``plain`` (N,) those that the rows came with: by these every candidate, the uncorrected model
    too, takes the setting of least squared error, as it does when it is fitted alone.
    O(settings N k) per candidate.
    """
    settings = {name: _best_setting(path, Y, plain) for name, path in predictions.items()}
    f_0 = predictions[BASELINE][settings[BASELINE]]
    loss_0 = _losses(f_0, Y)
    baseline = Evidence(
        BASELINE, settings[BASELINE], float(w @ loss_0 / w.sum()), 1.0, 0.0, 0.0, 0.0
    )
    others = [name for name in predictions if name != BASELINE]
    if not others:
        return Choice(baseline, baseline, ())
    found = {name: predictions[name][settings[name]] for name in others}
    shares = {name: _best_share(f, f_0, Y, w) for name, f in found.items()}
    mixed = [_losses(f_0 + shares[name] * (f - f_0), Y) for name, f in found.items()]
    gains = paired_gains(loss_0, np.array(mixed), w)
    needed = gains.needed(LEVEL)
    compared = tuple(
        Evidence(
            name,
            settings[name],
            float(w @ _losses(f, Y) / w.sum()),
            shares[name],
            float(gains.values[j]),
            float(gains.errors[j]),
            needed,
        )
        for j, (name, f) in enumerate(found.items())
    )
    best = max(compared, key=lambda found: found.gain * found.confidence)
    return Choice(baseline, best if best.share > 0 else baseline, compared)


def no_choice(why: str = Choice.why_none) -> Choice:
    """Return the uncorrected model, where nothing can be compared."""
    baseline = Evidence(BASELINE, 0, float("nan"), 1.0, 0.0, 0.0)
    return Choice(baseline, baseline, (), why)


def _best_setting(path: Real, Y: Real, w: Real) -> int:
    """Return the place of the least error; among equals the last, the strongest penalty."""
    errors = _losses(path, Y) @ w
    return least(errors[None], rounding_of(Y, w) * float(w.sum()))[1]


def _best_share(f: Real, f_0: Real, Y: Real, w: Real) -> float:
    """Return a*, the share in [0, 1] of f beside f_0 that has the least weighted error."""
    move = f - f_0
    square = float(w @ (move**2).sum(axis=1))
    share = float(w @ (move * (Y - f_0)).sum(axis=1)) / square if square > 0 else 0.0
    return min(1.0, max(0.0, share))


def _losses(f: Real, Y: Real) -> Real:
    return np.asarray(((f - Y) ** 2).sum(axis=-1))
