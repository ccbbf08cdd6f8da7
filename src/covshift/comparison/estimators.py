"""Estimators of the user's: each is fitted in every fold, to rows as they came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..data.labels import outcomes_for
from ..data.row_weights import row_weights, target_weights
from ..data.validation import (
    column_names,
    is_margins,
    refuse_no_rows,
    refuse_target_weights,
    unwrap_target,
)
from ..encoding.samples import encode_samples
from ..exceptions import InputError, InputTypeError, UnseenLevelWarning, WeightWarning
from ..machine.reweighted import Reweighted, fit_for_target
from ..numerics.array import Real, row_count, take_rows
from ..numerics.quiet import quiet
from ..registry import LEARNERS, NONE, weighters
from ..weights import WEIGHTERS
from .methods import Method, refuse_what_needs_rows
from .result import Comparison, Row
from .selection import LOSSES, ImportanceWeightedScorer, Losses, fit_to_rows, folds_of
from .target import default_judge
from .trial import Field, Fit, Trial


def compare_estimators(
    X: Any,
    y: Any,
    X_target: Any,
    estimators: Mapping[str, Any],
    *,
    baseline: Any,
    weighter: Any,
    loss: Any,
    cv: Any,
    sample_weight: Any,
    target_weight: Any,
    failing: bool,
    verbose: bool,
) -> Comparison:
    """Compare estimators of the user's: `compare` with ``estimators``.

    Where they are one learner with several weights, those that cannot be had have a row that says
    why: they may be ``failing``.
    """
    contenders = _contenders(estimators, baseline)
    refuse_no_rows(X, "X")
    y = outcomes_for(contenders[NONE], y, row_count(X))
    rows = row_weights(row_count(X), sample_weight)
    target, target_weight = unwrap_target(X_target), unwrap_target(target_weight)
    margins = target if is_margins(target) else None
    if margins is not None:
        refuse_target_weights(target_weight=target_weight)
        refuse_what_needs_rows(weighter, judge=True)
    weighter = default_judge(margins) if weighter is None else weighter
    design = None if rows.equal else rows.w
    if not rows.kept.all():
        kept = np.flatnonzero(rows.kept)
        X, y = take_rows(X, kept), take_rows(y, kept)
        design = None if design is None else design[kept]
    if target is not None and target_weight is not None:
        refuse_no_rows(target, "X_target")
        there = target_weights(row_count(target), target_weight)
        kept = np.flatnonzero(there.kept)
        X_target = (take_rows(target, kept),)
        target_weight = None if there.equal else there.w[kept]
    Z, T, encoder = (X, X_target, None) if margins else encode_samples(X, X_target)
    judged = ImportanceWeightedScorer(weighter), Z, T
    given = unwrap_target(X_target), target_weight, design, judged, failing
    losses = LOSSES[loss] if isinstance(loss, str) else loss
    field = AsGiven(X, y, losses, contenders, *given)
    w = field.weights(None)
    trial = Trial(field, folds_of(cv, X, y), w if design is None else w * design)
    kind = "weights" if failing else "estimator"
    methods = [Method(name, "baseline" if name == NONE else kind) for name in contenders]
    return Comparison(
        trial.rows(methods, verbose=verbose),
        trial.needed(),
        loss=getattr(loss, "__name__", str(loss)),
        notes=[] if encoder is None else [*encoder.notes_],
        rows_compared=field,
    )


@dataclass(frozen=True, eq=False)
class AsGiven(Field):
    """Rows and contenders as the user gave them, without rows of weight zero."""

    X: Any
    y: NDArray[Any]
    loss: Losses
    contenders: Mapping[str, Any]
    target: Any
    target_weight: Any
    design: Real | None  # (N,)
    judged: tuple[ImportanceWeightedScorer, Any, Any]  # and both samples as weighters take them
    failing: bool

    def ready(self, method: Method, row: Row) -> Fit:
        """Return what fits the contender to a fold, with the whole target."""
        return partial(fit_to_rows, self.contenders[method.name], *self._given)

    @property
    def _given(self) -> tuple[Any, ...]:
        return self.X, self.y, self.target, self.target_weight, self.design

    @contextmanager
    def trying(self, method: Method, row: Row) -> Iterator[None]:
        """Say which contender fails; weights that cannot be had are a note."""
        try:  # levels that one fold alone has are no news
            with quiet(UnseenLevelWarning), quiet(WeightWarning, when=self.failing):
                yield
        except InputError as error:
            if self.failing and method.name != NONE and not isinstance(error, InputTypeError):
                row["note"] = f"failed: {error}".split(". ")[0]
                return
            if not is_margins(self.target):
                raise
            raise InputError(f"The contender {method.name!r}: {error}") from error

    def fit(self, name: str) -> Any:
        """Fit a contender to all rows."""
        return fit_for_target(clone(self.contenders[name]), *self._given)

    def weights(self, name: Any) -> Real:
        """Weights (N,) of the training rows: factors on those of the design."""
        scorer, Z, T = self.judged
        scorer = scorer if name is None else ImportanceWeightedScorer(name)
        of_rows = {"sample_weight": self.design, "target_weight": self.target_weight}
        return np.asarray(scorer.fit(Z, self.y, X_target=T, **of_rows).weighter_.weights_)


def of_learner(
    learner: Any, X: Any, margins: Any = None, names: Sequence[Any] | None = None
) -> dict[str, Reweighted]:
    """Return an estimator of the user's with every weighter that suits X, or with those named."""
    refuse_no_estimator(learner, "learner", f"a name ({', '.join(LEARNERS)}) or ")
    columns = column_names(X)
    width = np.shape(X)[1] if columns is None else len(columns)
    if names is None:
        fitting = (found for found in weighters() if width <= found.compared_up_to)
        names = [found.name for found in fitting if margins is None or found.takes_margins]
    names = [name.name if isinstance(name, Method) else name for name in names]
    if unknown := [name for name in names if name not in (NONE, *WEIGHTERS)]:
        raise InputError(
            f"The method {unknown[0]!r} is not for an estimator of your own. Use weights: "
            f"{', '.join(WEIGHTERS)}."
        )
    return {name: Reweighted(learner, weighter=name) for name in names if name != NONE}


def _contenders(estimators: Any, baseline: Any) -> dict[str, Any]:
    """Check the contenders; the unweighted model, whose name is "none", stands first."""
    if not isinstance(estimators, Mapping):
        raise InputTypeError(
            f"estimators must be a mapping of names to estimators, such as {{'ridge': Ridge()}}, "
            f"not {estimators!r:.60}."
        )
    for name, estimator in estimators.items():
        if not isinstance(name, str):
            raise InputTypeError(f"estimators must have names that are text, not {name!r:.60}.")
        refuse_no_estimator(estimator, f"estimators[{name!r}]")
    if baseline is not None:
        refuse_no_estimator(baseline, "baseline")
        if NONE in estimators:
            raise InputError(
                'The baseline is given twice: as baseline=... and as the contender "none".'
            )
        return {NONE: baseline, **estimators}
    return {NONE: _unweighted(estimators), **estimators}


def _unweighted(estimators: Mapping[str, Any]) -> Any:
    """Return the contender that is the baseline, or the first without its weights."""
    if NONE in estimators:
        return estimators[NONE]
    for estimator in estimators.values():
        parameters = estimator.get_params(deep=False)
        if "weighter" in parameters:
            return clone(estimator).set_params(weighter=None)
        if "correction" in parameters:
            return clone(estimator).set_params(correction=NONE)
    raise InputError(
        "No contender shows what the unweighted model is. Pass it: baseline=LogisticRegression()."
    )


def refuse_no_estimator(value: Any, name: str, also: str = "") -> None:
    """Refuse what cannot be cloned and fitted."""
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "get_params")):
        raise InputTypeError(
            f"{name} must be {also}an estimator such as LogisticRegression(), not {value!r:.60}."
        )
