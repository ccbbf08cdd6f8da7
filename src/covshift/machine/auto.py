"""How a kernel machine finds its correction (theory, section 3.4).

The uncorrected machine is fitted first, as ``correction="none"`` fits it. Then the candidates
predict the same held-out rows in a few hundred features of its kernel: what they differ by from
the uncorrected machine there decides whether, and in which share, one of them is mixed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..corrections.auto import BASELINE, Choice, candidates, choose, no_choice
from ..exceptions import NoOverlapError
from ..numerics.array import Real
from ..numerics.folds import Fold
from ..numerics.quiet import quiet
from ..weights import CDFWeights
from .fit import FitProblem
from .ridge import STEP, Features, entries, held_out_paths

_STRONGER = 3  # penalties that a candidate tries: the uncorrected machine's, and stronger ones
_APART = "Parts of the target have no training rows, so that no held-out row can speak for them"


@dataclass(frozen=True)
class Mixture:
    """What is mixed with the uncorrected machine, and what held-out rows say of it."""

    choice: Choice
    weights: Any = None  # under which the rows look like the target (N,), or what finds them
    regs: Sequence[float] = ()  # that the candidates tried
    move: Real | None = None  # (N, k): what the mixture adds to f at held-out rows

    @property
    def share(self) -> float:
        return self.choice.share

    @property
    def reg(self) -> float:
        """Penalty of what is mixed in."""
        return float(self.regs[self.choice.chosen.setting])

    def correction(self, weights: Any) -> Any:
        """Return what is mixed in, made from weights of the rows or from what finds them."""
        return candidates(weights)[self.choice.chosen.correction]

    def of(self, plain: tuple[Real, Real], other: tuple[Real, Real]) -> tuple[Real, Real]:
        """Mix coefficients and intercepts of the uncorrected machine and of the other."""
        (coef_0, c_0), (coef, c) = plain, other
        return coef_0 + self.share * (coef - coef_0), c_0 + self.share * (c - c_0)

    def moves(self, folds: Sequence[Fold]) -> Real | float:
        """Return what is added at the rows of each fold in turn: (h, k)."""
        return 0.0 if self.move is None else np.concatenate([self.move[f.rows] for f in folds])

    def report(self, reg: float) -> dict[str, Any]:
        """Return the choice as plain data; ``reg`` is the penalty of the uncorrected machine."""
        used = {BASELINE: reg}
        if self.share:
            used[self.choice.chosen.correction] = self.reg
        return self.choice.report(self.regs, used)


def mixture_of(
    problem: FitProblem,
    features: Features,
    reg: float,
    folds: Sequence[Fold],
    f_0: Real | None = None,
    *,
    stronger: bool,
) -> Mixture:
    """Compare the candidates on held-out rows, in features of the uncorrected machine's kernel.

    ``reg`` is its penalty, ``stronger`` asks for stronger ones too. ``f_0`` is what it predicts
    for the rows of each fold in turn (h, k): candidates then differ from that as they do in the
    features. O(candidates x (N^2 r + folds x penalties x r^3)).
    """
    if len(folds) < 2:
        return Mixture(no_choice())
    regs = [reg * 10.0 ** (STEP * step) for step in range(_STRONGER if stronger else 1)]
    try:
        with quiet(UserWarning):  # nobody has asked for these weights
            weights = problem.weigh(CDFWeights(random_state=0))
    except NoOverlapError:
        return Mixture(no_choice(_APART), None, regs)
    predictions: dict[str, Real] = {}
    for name, correction in candidates(weights).items():
        V = entries(problem.operator(correction))
        tried = np.array(regs[:1] if name == BASELINE else regs)
        found = predictions[name] = np.empty((len(tried), *problem.Y.shape))
        penalties = tried + features.left_out
        paths = held_out_paths(V, features.Psi, problem.Y, problem.w, folds, penalties)
        for fold, path in zip(folds, paths, strict=True):
            found[:, fold.rows] = path
    if f_0 is not None:
        shift = -predictions[BASELINE][0]
        shift[np.concatenate([fold.rows for fold in folds])] += f_0
        predictions = {name: f + shift for name, f in predictions.items()}
    choice = choose(predictions, problem.Y, weights * problem.w, problem.w)
    best = choice.chosen
    move = predictions[best.correction][best.setting] - predictions[BASELINE][0]
    return Mixture(choice, weights, regs, choice.share * move)


def target_weights(problem: FitProblem) -> Real:
    """Weights under which the training rows look like the target: (N,)."""
    return problem.weigh(target_weighter())


def target_weighter() -> CDFWeights:
    """What finds them, whether or not there is overlap."""
    return CDFWeights(allow_no_overlap=True, random_state=0)
