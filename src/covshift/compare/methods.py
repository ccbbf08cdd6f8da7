"""Learners and corrections by name: one place that fits "this learner, corrected in this way"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..boosting import VBoostClassifier, VBoostRegressor
from ..corrections import CORRECTIONS, Importance, as_correction
from ..machine import VSVC, VSVR
from ..weights import WEIGHTERS, as_weighter

Real = NDArray[np.float64]

LEARNERS = ("vsvm", "linear", "trees", "vboost")
"""V-SVM, logistic or ridge regression, gradient-boosted trees, V-boosted trees.

V-boosted trees take large steps (thirty trees at rate 0.3), as a comparison fits ninety models.
"""

UNWEIGHTED = "unweighted"
OTHER_LEARNER = "vsvm:"  # "vsvm:blended" among the methods of a learner that knows no V

_TAKES_V = ("vsvm", "vboost")
_CORRECTIONS = ("blended", "additive", "sliced")
_BESIDE = ("none", "blended")  # V-SVMs beside a learner that knows no V


@dataclass(frozen=True)
class Method:
    """A way to correct a learner."""

    name: str
    kind: str  # "baseline", "weights" or "correction"
    note: str = ""


def methods_for(learner: str, n_features: int) -> list[Method]:
    """List the methods to compare for a learner, the unweighted baseline first.

    Corrections of V belong to the learners that take V; beside the others stand two V-SVMs, one of
    them uncorrected, so that the learner's part and the correction's part can be told apart.
    """
    methods = [Method(UNWEIGHTED, "baseline")]
    methods += [Method(name, "weights") for name in WEIGHTERS]
    if learner not in _TAKES_V:
        notes = {"none": "control: another learner, no correction"}
        return methods + [
            Method(OTHER_LEARNER + name, "correction", notes.get(name, "")) for name in _BESIDE
        ]
    names = [*_CORRECTIONS] if learner == "vsvm" else ["blended"]
    if learner == "vsvm" and n_features <= 4:
        names.append("pairwise")
    if learner == "vsvm" and n_features <= 3:
        names.append("multiplicative")
    return methods + [Method(name, "correction") for name in names]


def check_method(learner: str, method: str) -> None:
    """Refuse a pair of names that stands for nothing."""
    if learner not in LEARNERS:
        raise ValueError(f"learner={learner!r} is unknown. Use one of {', '.join(LEARNERS)}.")
    if method == UNWEIGHTED or method in WEIGHTERS:
        return
    if method.startswith(OTHER_LEARNER) and method.removeprefix(OTHER_LEARNER) in CORRECTIONS:
        return
    if method in CORRECTIONS:
        if learner in _TAKES_V:
            return
        raise ValueError(
            f"The correction {method!r} needs a learner that takes V: vsvm or vboost. With "
            f"{learner}, use weights ({', '.join(WEIGHTERS)}) or {OTHER_LEARNER}{method}."
        )
    raise ValueError(
        f"The method {method!r} is unknown. Use {UNWEIGHTED}, weights ({', '.join(WEIGHTERS)}) or "
        f"a correction ({', '.join(CORRECTIONS)})."
    )


def fit_weights(
    method: str, X: Any, y: Any, X_target: Any, target_weight: Any = None, random_state: int = 0
) -> Any:
    """Fit the weighter of this name on standardised rows, and return it.

    Where samples do not overlap it goes on with the nearest weights and a warning, if it can.
    """
    weighter = _seeded(clone(as_weighter(method)), random_state)
    if "allow_no_overlap" in weighter.get_params(deep=False):
        weighter.set_params(allow_no_overlap=True)
    return weighter.fit(X, y, X_target=(X_target,), target_weight=target_weight)


def fit_method(
    learner: str,
    method: str,
    task: str,
    X: Real,
    y: Any,
    X_target: Real,
    *,
    weights: Real | None = None,
    sample_weight: Real | None = None,
    target_weight: Any = None,
    reg: Any = "cv",
    random_state: int = 0,
) -> Any:
    """Fit a learner on standardised rows, corrected for the target.

    Parameters
    ----------
    learner, method : str
        As in `LEARNERS` and `methods_for`.
    task : {"classification", "regression"}
    X, y, X_target : training rows, their outcomes, target rows
    weights : (N,) array, optional
        Weights of the training rows that ``method`` made; fitted here where they are not given.
    sample_weight, target_weight : (N,) and (M,) arrays, optional
        Weights that the rows had before. Integer weights equal repeated rows.
    reg : float or "cv"
        Penalty of the kernel machine.
    random_state : int

    Returns
    -------
    fitted scikit-learn estimator
    """
    check_method(learner, method)
    if method.startswith(OTHER_LEARNER):
        learner, method = "vsvm", method.removeprefix(OTHER_LEARNER)
    if method in WEIGHTERS and weights is None:
        weights = fit_weights(method, X, y, X_target, target_weight, random_state).weights_
    if learner in _TAKES_V:
        if method in WEIGHTERS:
            correction: Any = Importance(weights)
        else:
            correction = _seeded(
                as_correction("none" if method == UNWEIGHTED else method), random_state
            )
        model = _v_learner(learner, task, correction, reg, random_state)
        if target_weight is not None:
            return model.fit(
                X, y, X_target=(X_target,), sample_weight=sample_weight, target_weight=target_weight
            )
        return model.fit(X, y, X_target=(X_target,), sample_weight=sample_weight)
    model = _plain_learner(learner, task, random_state)
    total = sample_weight
    if weights is not None:
        total = weights if sample_weight is None else weights * sample_weight
    return model.fit(X, y) if total is None else model.fit(X, y, sample_weight=total)


def _seeded(part: Any, random_state: int) -> Any:
    """Give a weighter or correction the seed, where it draws anything."""
    draws = "random_state" in part.get_params(deep=False)
    return part.set_params(random_state=random_state) if draws else part


def _plain_learner(learner: str, task: str, random_state: int) -> Any:
    classify = task == "classification"
    if learner == "linear":
        from sklearn.linear_model import LogisticRegression, Ridge

        return LogisticRegression(max_iter=2000) if classify else Ridge()
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    return kind(random_state=random_state)


def _v_learner(learner: str, task: str, correction: Any, reg: Any, random_state: int) -> Any:
    classify = task == "classification"
    if learner == "vsvm":
        kind: Any = VSVC if classify else VSVR
        return kind(correction, reg=reg, random_state=random_state)
    kind = VBoostClassifier if classify else VBoostRegressor
    return kind(
        correction=correction, n_estimators=30, learning_rate=0.3, random_state=random_state
    )
