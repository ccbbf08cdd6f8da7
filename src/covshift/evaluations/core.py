"""`evaluate`: how good a model is on the target, from labelled rows of a biased sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from ..data import Samples
from ..data.columns import Outcome, check_outcomes
from ..data.features import column_of, select
from ..data.parameters import number, one_of, whole
from ..data.validation import Target, column_names, is_margins, unwrap_target
from ..engine.label_shift import SHIFTS, refuse_with_label_shift
from ..engine.labels import Labels, chances
from ..engine.overlap import Covered, check_overlap
from ..engine.weights import Trimmed, are_weights
from ..exceptions import InputError, InputTypeError, NoOverlapError
from ..numerics.array import Flags, Real, Rows
from ..numerics.crossfit import Features, fold_count, sharing_fits
from ..numerics.progress import doing
from ..show.notes import Note
from ..show.words import in_order, shown
from .methods import METHODS, CovariateMethod
from .predictions import Predictions, Reader, are_scores
from .result import Evaluations
from .run import Run
from .scored import Scored
from .settings import Settings

_SCORES = "scores"  # what scores without a name are called


@contextmanager
def _asked() -> Iterator[None]:
    """Let an error without overlap tell what has no answer."""
    try:
        yield
    except NoOverlapError as error:
        error.question = "evaluate"
        raise


@_asked()
def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    X_target: Any = None,
    *,
    metrics: Any = None,
    y_target: Any = None,
    by: Any = None,
    method: CovariateMethod | None = None,
    weighter: Any = None,
    outcome_model: Any = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    strata: Any = None,
    cluster: Any = None,
    restrict: str | None = None,
    confidence: float = 0.95,
    shift: str = "covariate",
    random_state: int = 0,
) -> Evaluations:
    """Estimate how good a model is on a target without labels, from labels of another sample.

    Every metric of a classifier is a function of masses on the score axis (`evaluations.masses`).
    With one cross-fitted q(x, s) = P(y = 1 | x, score s), the outcome model, and the target's
    shares t, which sum to one, the default counts every target row with its expected outcome:
    t q of class 1, and t (1 - q) of class 0. Beside it stands a check, the doubly robust number,
    for which labelled rows with the weights w that carry them to the target count what the model
    leaves: w (y - q) of class 1, and -w (y - q) of class 0. It is right if either the weights or
    the outcome model are, and less precise; where the two disagree, a note says so.

    A metric with the derivatives g by the masses has the influence values of the mean of
    L = y g_1 + (1 - y) g_0, whose prediction is q g_1 + (1 - q) g_0 (the delta method). The error
    of the outcome model is a jackknife over its folds, and the target's own sampling. Metrics of
    numbers are means of losses, or follow from these. Both samples must have the same p(y | x)
    (covariate shift).

    Parameters
    ----------
    model : fitted classifier or regressor, name, dict of these by name, or Predictions
        Any pipeline; or the name of a column of both frames that holds scores or predictions.
        Several models are compared with the first. `Predictions` holds arrays of scores, and says
        more of models: a threshold, the positive class, the rows that trained them.
    X, X_target : (N, n) and (M, n) arrays or data frames
        Features of the labelled rows and of the target, as the model takes them: it gets them as
        they came. For weights and outcome models text, categories, dates and gaps of frames become
        numbers (`covshift.TableEncoder`). A `covshift.Target` says more of the target: that it is
        the whole population, or its batches, such as months (``batches``).
        What belongs to rows (y, scores, by, trained_on, sample_weight, strata, cluster; y_target,
        batch, target_weight) may be the name of a column, which then is not a feature; the model
        gets the columns that it was fitted to.
    y : name or (N,) array
        Labels or numbers. Rows without one (NaN, None) are left out.
    metrics : str, function, Cost or list of these, optional
        Of classes: "accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1",
        "roc_auc", "average_precision", "brier", "log_loss", "calibration_intercept" (at a slope of
        one), "calibration_slope", "calibration_error" (ten bins), "calibration_curve" (two classes:
        share of the positive one in at most ten bins of its score, of equal mass on the target),
        "confusion_matrix" (shares); `Cost` with a table of costs. Those of one class are the
        positive one's, or the mean over three and more classes; with "_weighted" at the end the
        mean by the classes' shares, with "_per_class" each one. Default: accuracy, ROC AUC and
        Brier score. Of numbers: "mse", "rmse", "mae", "median_absolute_error", "r2", "bias"
        (prediction less outcome); default RMSE, MAE, R².
        A function loss(y, score) returns one number per row; of two classes y is one for the
        positive class and zero for the other, of more the number of the class.
    y_target : name, (M,) array or Labels, optional
        Labels of some target rows, chosen at random; NaN or None where there is none. They make
        the intervals, which then hold whatever p(y | x) does (prediction-powered inference), and
        the numbers combine them with the correction as far as the two agree
        (`covshift.engine.labels`). ``changes`` tests whether p(y | x) is another one there.
        `covshift.Labels` have the probabilities with which rows were chosen.
    method : {"dr", "weights", "model", "cbpe", "pape", "none"}, optional
        The outcome model's expectation on the target, "model", is the default (with ``y_target``
        the default is "both"). The others: doubly robust; weighted labelled rows; the expectation
        of calibrated scores; the same with a weighted calibration; the labelled rows as they are.
        All are in ``table``.
    by : str or pair of arrays, optional
        Groups: a column that both frames have, or labels of both samples.
    outcome_model : scikit-learn estimator, optional
        Default for classes: a mixture of logistic models, boosted trees and calibrated scores, by
        likelihood (`evaluations.chances`); for numbers that of `covshift.estimate`. One of your own
        for classes is a classifier, or a regressor of zeros and ones, and sees the scores as
        further columns.
    weighter, sample_weight, target_weight, strata, cluster
        As for `covshift.estimate`.
    restrict, confidence, random_state
        As for `covshift.estimate`.
    shift : {"covariate", "label"}
        What is the same in both groups: the class given the columns (the default), or the columns
        given the class. With "label" labelled rows weigh as much as the shares of their classes in
        the target ask for (`covshift.engine.label_shift`), and ``label_shift`` tests it. For
        classifiers; ``by``, ``method``, ``weighter``, ``restrict`` and ``y_target`` are not for it.

    Returns
    -------
    Evaluations
        ``print`` it; ``found["roc_auc"].value``, ``.interval``; ``table``, ``differences``,
        ``curves``, ``to_frame()``, ``to_dict()``, ``plot()``.

    Notes
    -----
    Theory: section 10 of the theory page, and the modules `evaluations.masses`, `methods`,
    `chances` and `judged`. Intervals of what lies between 0 and 1 are made on the logit scale, of
    what is positive on the logarithmic one.
    Sources: Robins, Rotnitzky and Zhao (1994); Białek, Perrakis et al. (2023), *Estimating model
    performance under covariate shift without labels*; Steingrimsson, Gatsonis, Li and Dahabreh
    (2023), *Transporting a prediction model for use in a new target population*. Cost: one fit of
    the weighter and five fits of the outcome models per model (three beyond 20,000 rows; 25 up to
    1,000, over several deals of the folds); metrics O(n K), with a sort
    O(n log n), n = N + M.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from covshift import evaluate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(800, 600, random_state=0)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> model = model.fit(survey.X[:400], survey.y[:400])
    >>> found = evaluate(model, survey.X[400:], survey.y[400:], survey.X_target)
    >>> print(found.sentence)
    Accuracy: 0.760 on your data, 0.78... expected on the target (95% CI 0.7... to 0.82...).
    """
    asked = model if isinstance(model, Predictions) else Predictions(model)
    asked.check()
    one_of(*METHODS, None).check(method, "method")
    one_of(*SHIFTS).check(shift, "shift")
    if shift == "label":
        given = {"by": X.groups if isinstance(X, Samples) else by, "method": method}
        given |= {"weighter": weighter, "restrict": restrict, "y_target": y_target}
        refuse_with_label_shift(is_margins(unwrap_target(X_target)), **given)
    labels = Labels.of(unwrap_target(y_target))
    one_of("overlap", None).check(restrict, "restrict")
    number(above=0, below=1).check(confidence, "confidence")
    whole(0).check(random_state, "random_state")
    if is_margins(unwrap_target(X_target)):
        raise InputError(
            "X_target is a covshift.Margins, and evaluate needs target rows. Margins are enough "
            "for covshift.compare, which estimates the loss of models on the target, and "
            "for metrics of scikit-learn on held-out rows with sample_weight=weights_ of "
            "CDFWeights, EntropyBalancing, Raking or PostStratification."
        )
    target = Target.of(X_target)
    batch, rows = labels_of_batches(target.batch, X, target.rows)
    X_target = None if rows is None else replace(target, rows=rows)
    weighter, max_weight = Trimmed.parts(weighter)
    known_weights = are_weights(weighter)
    models = _models(asked.model, asked.target)
    sample = Samples.of(
        X,
        y,
        X_target,
        by=by,
        sample_weight=sample_weight,
        target_weight=target_weight,
        strata=strata,
        cluster=cluster,
        outcome_model=outcome_model,
        beside={"trained_on": asked.trained_on, "weighter": weighter if known_weights else None}
        | {_title("model", name): one for one, name, _ in models if are_scores(one)},
        beside_target={
            "y_target": None if labels is None else unwrap_target(labels.y),
            "probability": None if labels is None else labels.probability,
            "batch": batch,
        }
        | {_title("target scores", name): there for _, name, there in models},
    )
    if sample.replicates is not None:
        raise InputError("replicate_weights are for estimate: pass evaluate the weights alone.")
    if sample.groups is not None and sample.groups.target is None:
        raise InputError(
            "by holds groups of the labelled rows alone. Pass those of both samples as a pair "
            "(groups, groups_of_the_target)."
        )
    weighter = sample.beside["weighter"] if known_weights else weighter
    trained_on, y_target, batch = map(sample.beside.get, ("trained_on", "y_target", "batch"))
    reader = Reader(sample, asked)
    judged = [
        reader.read(
            sample.beside.get(_title("model", name), one),
            name,
            sample.beside.get(_title("target scores", name)),
        )
        for one, name, _ in models
    ]
    known = [reader.target_labels(y_target, scored) for scored, _ in judged]
    chance, said = None, sample.beside.get("probability")
    if known[0] is not None and said is not None:
        chance = chances(said, known[0].present)
    if shift == "label" and not judged[0][0].classes:
        raise InputError(
            "Label shift is about classes, and the model predicts numbers: covariate shift is the "
            "default."
        )
    given = sample.inputs
    numbered = Features(np.arange(len(sample.X)), np.arange(len(sample.T)))
    trained = _trained(trained_on, len(sample.X))
    _check_alike([scored for scored, _ in judged])
    used = _judging(*judged[0], sample.d, trained)
    covered = check_overlap(
        replace(sample, inputs=numbered),
        used,
        restrict=restrict,
        random_state=random_state,
        labelled=shift == "label" or (labels is not None and method is None),
    )
    settings = Settings(
        metrics=list(metrics) if isinstance(metrics, Iterator) else metrics,
        method=method or "model",
        shown=method or ("model" if labels is None else "both"),
        selected=labels is not None and labels.selected,
        weighter=weighter if covered.trusted else np.ones(len(sample.X)),
        outcome_model=outcome_model,
        finite_population=sample.finite_population,
        max_weight=max_weight,
        confidence=confidence,
        n_folds=fold_count(len(used)),
        cv=asked.cv,
        random_state=random_state,
    )
    other = None
    with sharing_fits() if shift == "label" and outcome_model is None else nullcontext():
        if shift == "label":
            other, covered = covered, _without_refusal(covered)
            by_weights, settings = settings, _by_shares(settings, len(sample.X))
        found = Run(covered, given, used, trained, settings).found(judged, known, chance)
        if other is not None and other.trusted:
            with doing("under covariate shift"):
                also = Run(other, given, used, trained, by_weights).found(judged, known)
            found = replace(found, notes=(*found.notes, _under_covariate_shift(also)))
    if batch is None:
        return found
    batches, notes = {}, list(found.notes)
    parts = list(rows_of_batches(batch, len(sample.T)))
    for k, (label, rows) in enumerate(parts, start=1):
        if not sample.share[rows].any():
            notes.append(Note("batch", f"The batch {label!r} has no weight, so no numbers."))
            continue
        part = replace(sample, inputs=numbered, diagnosis=None).take_target(rows)
        with doing(f"batch {k} of {len(parts)}"):
            try:
                covered = check_overlap(
                    part,
                    used,
                    restrict=restrict,
                    random_state=random_state,
                    labelled=shift == "label",
                )
                covered = _without_refusal(covered) if shift == "label" else covered
            except NoOverlapError as error:
                notes.append(
                    Note("batch", f"No numbers for the batch {label!r}: {error.found}", "warning")
                )
                continue
            nothing: list[Outcome | None] = [None] * len(judged)
            without = replace(settings, shown=settings.method)
            batches[label] = Run(covered, given, used, trained, without).found(judged, nothing)
    notes += single_rows(batches)
    return replace(found, batches=batches, notes=tuple(notes))


def _without_refusal(covered: Covered) -> Covered:
    """Leave out what is said where weights find no overlap: label shift tests it otherwise."""
    notes = tuple(note for note in covered.notes if note.kind != "uncovered target")
    return replace(covered, notes=notes)


def _by_shares(settings: Settings, rows: int) -> Settings:
    """Return the settings under label shift."""
    weights = np.ones(rows)
    return replace(settings, method="label", shown="label", weighter=weights, shift="label")


def _under_covariate_shift(found: Evaluations) -> Note:
    """Say what the other assumption would."""
    row = found.headline
    text = (
        "If instead the class behaved the same given the columns (covariate shift), "
        f"{found.headline_name} would be {shown(row.value, row)}."
    )
    return Note("covariate shift", text)


def _title(argument: str, name: str) -> str:
    """Say which of several models' scores are meant."""
    return argument if name == _SCORES else f"{argument}[{name!r}]"


def _check_alike(models: list[Scored]) -> None:
    """Refuse to compare classifiers with regressions, or classifiers of other classes."""
    first = models[0]
    for other in models[1:]:
        if set(other.classes) != set(first.classes):
            told = [
                f"{one.name!r} knows the classes {list(one.classes)}"
                if one.classes
                else f"{one.name!r} predicts numbers"
                for one in (first, other)
            ]
            raise InputError(
                f"{told[0]}, but {told[1]}. Models are compared by the same metrics: evaluate "
                "these one by one."
            )


def _judging(scored: Scored, outcome: Outcome, d: Real, trained: Flags) -> Rows:
    """Number the labelled rows that may judge the model."""
    used = np.flatnonzero(outcome.present & (d > 0) & ~trained)
    if len(used) < 2:
        raise InputError(
            f"Only {len(used)} of {len(outcome.y)} labelled rows can judge the model: with a "
            "label, a positive weight, and not in trained_on. At least two are needed; "
            "Predictions(model, cv=5) lets the rows judge that trained the model."
        )
    if scored.classes and (outcome.y[used] == outcome.y[used[0]]).all():
        raise InputError(
            f"All {len(used)} labelled test rows are of the class {str(outcome.y[used[0]])!r}. "
            "Evaluating a classifier needs rows from at least two classes."
        )
    return used


def _models(model: Any, target_scores: Any) -> list[tuple[Any, str, Any]]:
    """Name every model: (model, name, scores of the target)."""
    if isinstance(model, list | tuple) and any(hasattr(one, "predict") for one in model):
        raise InputTypeError(
            f"model is a {type(model).__name__} of models. Pass a dict of them by name, such as "
            '{"linear": a, "trees": b}.'
        )
    if not isinstance(model, Mapping):
        name = type(model).__name__ if hasattr(model, "predict") else _SCORES
        return [_with_same_column(model, name, target_scores)]
    if not model:
        raise InputError("model is an empty dict. Pass at least one model.")
    if target_scores is not None and not isinstance(target_scores, Mapping):
        raise InputTypeError(
            "model is a dict of several models, so the scores of the target must be a dict "
            "with their names."
        )
    if len(set(map(str, model))) < len(model):
        raise InputError(f"model has names that are spelled the same: {list(model)}. Rename them.")
    scores = target_scores or {}
    unknown = sorted(set(map(str, scores)) - set(map(str, model)))
    if unknown:
        raise InputError(f"The scores of the target name {unknown}, which the model does not.")
    return [_with_same_column(one, str(name), scores.get(name)) for name, one in model.items()]


def _with_same_column(model: Any, name: str, target_scores: Any) -> tuple[Any, str, Any]:
    """A column of X that holds scores has the same name in X_target, by default."""
    if isinstance(model, str) and target_scores is None:
        target_scores = model
    return model, name, target_scores


def _trained(trained_on: Any, size: int) -> Flags:
    found = np.zeros(size, dtype=bool)
    if trained_on is None:
        return found
    rows = np.asarray(trained_on)
    if rows.shape == (size,) and all(isinstance(one, bool | np.bool_) for one in rows.tolist()):
        return rows.astype(bool)
    if rows.shape == (0,):
        return found
    whole_numbers = rows.ndim == 1 and rows.dtype.kind in "iu"
    if not whole_numbers or not (rows.min() >= 0 and rows.max() < size):
        raise InputError(
            f"trained_on must be {size} booleans, one per labelled row, or row numbers from 0 to "
            f"{size - 1}."
        )
    found[rows] = True
    if found.sum() < len(rows):  # zeros and ones would name the rows 0 and 1
        raise InputError(
            "trained_on names some row numbers several times. If it holds a zero or one for every "
            "labelled row, pass booleans: trained_on == 1."
        )
    return found


# Batches of the target, such as months: their labels, their rows, and what to know of them.


_NAMED = 5  # batches that a note names


def labels_of_batches(batch: Any, X: Any, X_target: Any) -> tuple[Any, Any]:
    """Return one label per target row, and the target without the column that only held them."""
    if not isinstance(batch, str):
        return batch, X_target
    target = unwrap_target(X_target)
    names = column_names(target) or []
    if batch not in names:
        raise InputError(
            f"batch={batch!r} names a column, but X_target has no such column. Pass one "
            "label per target row."
        )
    labels = column_of(target, batch)
    if batch in (column_names(X) or []):  # a feature as well
        return labels, X_target
    return labels, select(target, [name for name in names if name != batch])


def rows_of_batches(labels: Any, size: int) -> list[tuple[str, Rows]]:
    """Return the labels in their order (`in_order`), each with its target rows."""
    outcomes = check_outcomes(labels, size, numbers=False, title="batch", of="X_target")
    if len(outcomes) > 1 or outcomes[0].missing:
        raise InputError("batch needs one label for every target row; some are missing.")
    y = outcomes[0].y
    return [(label, np.flatnonzero(y == label)) for label in in_order(set(y.tolist()))]


def single_rows(batches: dict[str, Evaluations]) -> Iterator[Note]:
    """Warn of batches of which nobody knows how their rows differ."""
    single = [label for label, part in batches.items() if part.n_target == 1]
    if single:
        more = f" and {len(single) - _NAMED} more" if len(single) > _NAMED else ""
        text = (
            f"Batches of a single target row: {', '.join(single[:_NAMED])}{more}. Their intervals "
            "do not include how rows of the batch differ."
        )
        yield Note("batch", text, "warning")
