"""Pictures of an evaluation: metrics, reliability, ROC curves, batches.

Of one model, the labelled rows are blue and the target is green, as in all pictures of covshift.
Of several, every model has its own colour, and the labelled rows are the dashed lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ..data.parameters import one_of
from ..exceptions import InputError
from ..plot import BatchesDisplay, ForestPlotDisplay, ReliabilityDisplay, ROCDisplay, style
from .curves import ROC, Curves, Reliability
from .metrics import words

if TYPE_CHECKING:
    from .result import Evaluations

Kind = Literal["metrics", "reliability", "roc", "batches"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def draw(
    answer: Evaluations,
    kind: Kind,
    ax: Any,
    *,
    model: str | None,
    metric: str | None,
    observed: Mapping[str, float] | None,
) -> Any:
    """Draw one kind of picture."""
    one_of(*KINDS).check(kind, "kind")
    models = list(dict.fromkeys(row.model for row in answer.table))
    if model is not None and model not in models:
        raise InputError(f"model={model!r} was not evaluated. Those are {models}.")
    if kind != "batches" and (metric is not None or observed is not None):
        raise InputError(f'metric and observed are for kind="batches", but kind={kind!r}.')
    if kind == "metrics":
        return _metrics(answer, models if model is None else [model], ax)
    if kind == "batches":
        return _batches(answer, models[0] if model is None else model, metric, observed, ax)
    curves = [one for one in answer.curves if model in (None, one.model)]
    return (_reliability if kind == "reliability" else _roc)(answer, curves, ax)


def _metrics(answer: Evaluations, models: Sequence[str], ax: Any) -> Any:
    labels, before, after = [], [], []
    plain = {(row.model, row.metric, row.group): row for row in answer.table.where(method="none")}
    for row in answer.performances:
        if row.model not in models:
            continue
        other = plain[row.model, row.metric, row.group]
        parts = [row.model] * (len(models) > 1) + [words(row.metric)]
        labels.append(": ".join([*parts, *([] if row.group is None else [row.group])]))
        before.append((other.value, *other.interval))
        after.append((row.value, *row.interval))
    return ForestPlotDisplay(
        labels,
        np.array(before),
        np.array(after),
        xlabel="metric",
        names=("labelled rows", "target"),
    ).plot(ax)


def _reliability(answer: Evaluations, models: Sequence[Curves], ax: Any) -> Any:
    curves, intervals, looks = {}, {}, {}
    for k, one in enumerate(models):
        for curve, there in ((one.reliability_labelled, False), (one.reliability, True)):
            if curve is None or np.isnan(curve.share).all():
                continue
            name = _name(one.model, there, several=len(models) > 1)
            curves[name], ends = _drawn(curve)
            if there:
                intervals[name] = ends
            looks[name] = _look(k, there, several=len(models) > 1)
            looks[name]["marker"] = "s" if there else "o"
    if not curves:
        raise InputError(
            'kind="reliability" needs a classifier of two classes with probabilities. Pass a model '
            "with predict_proba, or scores between 0 and 1 of both samples."
        )
    return ReliabilityDisplay(
        curves, intervals=intervals, looks=looks, confidence=answer.confidence
    ).plot(ax)


def _drawn(curve: Reliability) -> tuple[tuple[Any, Any, Any], Any]:
    """Points of the bins that have rows: (score, share, error), and their intervals."""
    some = np.isfinite(curve.share) & np.isfinite(curve.score)
    return (curve.score[some], curve.share[some], curve.standard_error[some]), curve.interval[some]


def _roc(answer: Evaluations, models: Sequence[Curves], ax: Any) -> Any:
    curves, looks = {}, {}
    for k, one in enumerate(models):
        for curve, there in ((one.roc_labelled, False), (one.roc, True)):
            if curve is None:
                continue
            name = _name(one.model, there, several=len(models) > 1)
            name += f": AUC {_area(answer, one.model, curve, there)}"
            curves[name] = (curve.false_positive_rate, curve.true_positive_rate)
            looks[name] = _look(k, there, several=len(models) > 1)
    if not curves:
        raise InputError(
            'kind="roc" needs a classifier of two classes with scores, and rows of both classes. '
            "Pass a model with predict_proba or decision_function, or scores of both samples."
        )
    return ROCDisplay(curves, looks=looks).plot(ax)


def _area(answer: Evaluations, model: str, curve: ROC, there: bool) -> str:
    """Write the area, with its interval where the metric was asked for."""
    method = answer.method if there else "none"
    for row in answer.table.where(model=model, metric="roc_auc", group=None, method=method):
        return f"{row.value:.3f} ({row.interval[0]:.3f} to {row.interval[1]:.3f})"
    return f"{curve.auc:.3f}"


def _batches(
    answer: Evaluations,
    model: str,
    metric: str | None,
    observed: Mapping[str, float] | None,
    ax: Any,
) -> Any:
    if not answer.batches:
        raise InputError(
            'kind="batches" draws one point per batch, but there are none. Call evaluate with '
            "batch=, a column of X_target or one label per target row."
        )
    known = list(dict.fromkeys(row.metric for row in answer.overall.where(model=model)))
    name = known[0] if metric is None else metric
    if name not in known:
        raise InputError(f"metric={name!r} was not computed. Those of {model!r} are {known}.")
    strange = sorted(set(map(str, observed or {})) - set(answer.batches))
    if strange:
        raise InputError(f"observed names {strange[:5]}, none of the batches {[*answer.batches]}.")
    values = []
    for part in answer.batches.values():
        there = part.overall.where(model=model, metric=name)
        if not there:
            raise InputError(
                f"metric={name!r} is about a bin of the scores, and every batch has bins of its "
                "own. Choose another one."
            )
        values += [(row.value, *row.interval) for row in there]
    here = answer.table.where(model=model, metric=name, group=None, method="none")
    return BatchesDisplay(
        [*answer.batches], values, reference=here[0].value, observed=observed, ylabel=words(name)
    ).plot(ax)


def _name(model: str, there: bool, *, several: bool) -> str:
    sample = "target" if there else "labelled rows"
    return f"{model}, {sample}" if several else sample


def _look(k: int, there: bool, *, several: bool) -> dict[str, Any]:
    """Style of a line: the labelled rows are lighter than the target."""
    colour = style.SERIES[k % len(style.SERIES)]
    if not several:
        colour = style.CORRECTED if there else style.TRAIN
    return {
        "color": colour,
        "linestyle": "-" if there else "--",
        "linewidth": 1.8 if there else 1.2,
        "alpha": 1.0 if there else 0.55,
    }
