"""How good the model that ``covshift report`` recommends is on the target."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError, NoOverlapError
from . import console
from .estimate import as_options
from .evaluate import TASKS, spelled, target_labels
from .scores import Recorded

if TYPE_CHECKING:
    from .._tables import Samples
    from ..compare import Comparison

_FOLDS = 5


def evaluation_of(
    samples: Samples, compared: Comparison, diagnosis: Any, args: argparse.Namespace
) -> Any:
    """Evaluate the recommended model: `Evaluations`, the error without overlap, or None.

    Training rows are judged by models that did not see them. Of larger samples as many training
    rows are drawn at random as a comparison takes. Cost: six fits, and `covshift.evaluate`.
    """
    from ..evaluations import evaluate

    console.step("judging the model")
    rows = _some(len(samples.X), compared, args)
    whole = len(rows) == len(samples.X)
    samples = samples if whole else samples.take(rows)
    labels = samples.labels
    assert labels is not None
    method = "" if compared.recommended == "none" else f", {compared.recommended}"
    name = f"{compared.learner}{method}"
    try:
        judged, there = _said(samples, compared, args)
        found = evaluate(
            {name: judged},
            samples.X,
            labels.y,
            samples.X_target,
            target_scores=None if there is None else {name: there},
            metrics=["accuracy", "roc_auc", "brier"] if len(labels.classes) == 2 else None,
            task=TASKS[labels.task],  # type: ignore[arg-type]
            sample_weight=samples.weight,
            target_weight=samples.target_weight,
            feature_names=samples.names,
            diagnosis=diagnosis if whole else None,
            random_state=args.seed,
            **target_labels(samples, args, []),
        )
    except NoOverlapError as error:
        return as_options(error, "evaluate")
    except InputError as error:
        console.note(f"the model was not judged on the target: {error}")
        return None
    return replace(found, notes=spelled(found))


def _said(samples: Samples, compared: Comparison, args: argparse.Namespace) -> tuple[Any, Any]:
    """What the model says: of training rows out of fold, of target rows after seeing all others."""
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    labels = samples.labels
    assert labels is not None
    classes = labels.task == "classification"
    counts = np.unique(labels.y, return_counts=True)[1] if classes else [len(labels.y)]
    if min(counts) < 2:
        raise InputError("a class has a single row.")
    kind = StratifiedKFold if classes else KFold
    folds = kind(min(_FOLDS, int(min(counts))), shuffle=True, random_state=args.seed)
    whole = _fitted(samples, compared, np.arange(len(labels.y)), args)
    there = whole(samples.X_target)
    here = np.empty((len(labels.y), *there.shape[1:]))
    for rest, held in folds.split(samples.X, labels.y):
        here[held] = _fitted(samples, compared, rest, args)(samples.X[held])
    if not classes:
        return here, there
    names = np.unique(labels.y)
    said = tuple(names[part.argmax(axis=1)] for part in (here, there))
    scores = (here[:, 1], there[:, 1]) if len(names) == 2 else (here, there)
    return Recorded(samples.X, said, scores, names), None


def _fitted(samples: Samples, compared: Comparison, rows: Any, args: argparse.Namespace) -> Any:
    """Fit the recommended model to some training rows; return what predicts."""
    from sklearn.preprocessing import StandardScaler

    from ..compare.methods import fit_method
    from ..encoding import scaled

    labels = samples.labels
    assert labels is not None
    own = None if samples.weight is None else samples.weight[rows]
    seen = _some(len(samples.X_target), compared, args)
    share = None if samples.target_weight is None else samples.target_weight[seen]
    scaler = StandardScaler().fit(samples.X[rows], sample_weight=own)
    model = fit_method(
        str(compared.learner),
        compared.recommended,
        labels.task,
        scaled(scaler, samples.X[rows]),
        labels.y[rows],
        scaled(scaler, samples.X_target[seen]),
        sample_weight=own,
        target_weight=share,
        random_state=args.seed,
    )
    predict = model.predict_proba if labels.task == "classification" else model.predict
    return lambda X: predict(scaled(scaler, X))


def _some(count: int, compared: Comparison, args: argparse.Namespace) -> Any:
    """Numbers of as many rows as a comparison takes."""
    import numpy as np

    from ..compare.methods import learner_entry

    limit = args.max_rows or learner_entry(str(compared.learner)).max_rows
    if count <= limit:
        return np.arange(count)
    return np.sort(np.random.default_rng(args.seed).choice(count, limit, replace=False))
