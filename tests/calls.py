"""Calls of `estimate` and `evaluate` with a diagnosis made before, which saves most of the time."""

from dataclasses import fields, replace

from covshift import Predictions, Target, estimate, evaluate
from covshift.data import Samples

OF_ROWS = ("by", "sample_weight", "target_weight", "strata", "cluster")
OF_MODEL = tuple(field.name for field in fields(Predictions))[2:]


def estimate_with(diagnosis, X, y, T, **options):
    """Estimate; the samples carry the diagnosis."""
    if diagnosis is None:
        return estimate(X, y, T, **options)
    given = {name: options.pop(name) for name in OF_ROWS if name in options}
    samples = Samples.of(X, y, T, outcome_model=options.get("outcome_model"), **given)
    return estimate(replace(samples, diagnosis=diagnosis), **options)


def evaluate_with(diagnosis, model, X, y, T, *, target_scores=None, batch=None, **options):
    """Evaluate; what belongs to the model and to the target may stand among the options."""
    of_model = {name: options.pop(name) for name in OF_MODEL if name in options}
    if target_scores is not None or of_model:
        model = Predictions(model, target_scores, **of_model)
    named = [options.get("y_target"), of_model.get("trained_on")]  # columns leave the features
    if diagnosis is None or batch is not None or any(isinstance(name, str) for name in named):
        return evaluate(model, X, y, T if batch is None else Target(T, batch=batch), **options)
    given = {name: options.pop(name) for name in OF_ROWS if name in options}
    samples = Samples.of(X, y, T, outcome_model=options.get("outcome_model"), **given)
    return evaluate(model, replace(samples, diagnosis=diagnosis), **options)
