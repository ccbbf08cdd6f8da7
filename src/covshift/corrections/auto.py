"""``correction="auto"``: which correction, and how much of it (theory, section 3.4).

A model too simple for the truth needs the target; a flexible one is hurt by weights of any kind.
No single correction serves both. So all candidates predict the same held-out rows, and are judged
by their squared errors there, weighted to look like the target. The best is mixed with the
uncorrected model in a share that falls to zero with the evidence for it:

    f = (1 - a) f_0 + a f_c ,    a = a* (1 - (k / t)^2)_+ ,    t = gain / its standard error ,

a* in [0, 1] the share of least weighted error. benchmarks/auto.py measures what it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Correction
from .empirical import blended
from .given import Importance, Unweighted

Real = NDArray[np.float64]

BASELINE = "none"
_CAUTION = 1.2  # k: standard errors that a gain has to exceed before anything is corrected


def is_auto(correction: Any) -> bool:
    """Whether the data are to choose the correction."""
    return isinstance(correction, str) and correction == "auto"


@dataclass(frozen=True)
class Evidence:
    """What held-out rows say of one candidate, beside the uncorrected model."""

    correction: str
    setting: int  # place on the candidate's path of penalties
    error: float  # weighted squared error of the candidate alone
    best_share: float  # a*, the share of least weighted error
    gain: float  # weighted squared error that the mixture saves
    standard_error: float  # of the gain

    @property
    def confidence(self) -> float:
        """The factor 1 - (k / t)^2 that shrinks the share, zero where the gain is not clear."""
        if self.gain <= _CAUTION * self.standard_error or self.gain <= 0:
            return 0.0
        return 1 - (_CAUTION * self.standard_error / self.gain) ** 2

    @property
    def share(self) -> float:
        return self.best_share * self.confidence


@dataclass(frozen=True)
class Choice:
    """The correction that is mixed with the uncorrected model, and the evidence for it."""

    baseline: Evidence
    chosen: Evidence  # the baseline itself where no gain is clear
    compared: tuple[Evidence, ...]  # the other candidates

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
                "reg": float(used.get(found.correction, settings[found.setting])),
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

    def _share_of(self, found: Evidence) -> float:
        return self.share if found is self.chosen else 0.0

    def _reason(self) -> str:
        if self.chosen is self.baseline:
            return (
                "No correction lowers the estimated target error by more than "
                f"{_CAUTION} standard errors: the model is left as it is."
            )
        return (
            f"{self.chosen.correction!r} lowers the estimated target error by "
            f"{self.chosen.gain / self.baseline.error:.1%} "
            f"({self.chosen.gain / self.chosen.standard_error:.1f} standard errors)."
            if self.chosen.standard_error > 0
            else f"{self.chosen.correction!r} lowers the estimated target error on every row."
        )


def candidates(weights: Any) -> dict[str, Correction]:
    """Return what "auto" compares, the uncorrected model first.

    ``weights`` are those of the training rows (N,), or a weighter that finds them.
    """
    return {
        BASELINE: Unweighted(),
        "blended": blended(),
        "weights": Importance(weights),
        "doubly corrected": blended(weights),
    }


def choose(predictions: Mapping[str, Real], Y: Real, w: Real, *, setting: int) -> Choice:
    """Choose by predictions of held-out rows: (settings, N, k) for every candidate.

    Y (N, k) are the outcomes and w (N,) the weights under which the rows look like the target.
    ``setting`` is the baseline's, which it found for itself; the others take that of least weighted
    error. O(settings N k) a candidate.
    """
    f_0 = predictions[BASELINE][setting]
    loss_0 = _losses(f_0, Y)
    baseline = Evidence(BASELINE, setting, float(w @ loss_0 / w.sum()), 1.0, 0.0, 0.0)
    compared = tuple(
        _evidence(name, f, f_0, loss_0, Y, w) for name, f in predictions.items() if name != BASELINE
    )
    best = max(compared, key=lambda found: found.gain * found.confidence, default=baseline)
    return Choice(baseline, best if best.share > 0 else baseline, compared)


def no_choice() -> Choice:
    """Return the uncorrected model, for a sample from which no rows can be held out."""
    baseline = Evidence(BASELINE, 0, float("nan"), 1.0, 0.0, 0.0)
    return Choice(baseline, baseline, ())


def _evidence(name: str, path: Real, f_0: Real, loss_0: Real, Y: Real, w: Real) -> Evidence:
    errors = _losses(path, Y) @ w / w.sum()
    setting = int(np.argmin(errors))
    move = path[setting] - f_0
    square = float(w @ (move**2).sum(axis=1))
    share = float(w @ (move * (Y - f_0)).sum(axis=1)) / square if square > 0 else 0.0
    share = min(1.0, max(0.0, share))
    gains = loss_0 - _losses(f_0 + share * move, Y)
    gain = float(w @ gains / w.sum())
    standard_error = float(np.sqrt(((w * (gains - gain)) ** 2).sum()) / w.sum())
    return Evidence(name, setting, float(errors[setting]), share, gain, standard_error)


def _losses(f: Real, Y: Real) -> Real:
    return np.asarray(((f - Y) ** 2).sum(axis=-1))
