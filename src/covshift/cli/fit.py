"""``covshift fit``: a model for the target, in a file that is safe to load."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..exceptions import InputError, MarginsWarning
from ..numerics.quiet import quiet
from ..registry import AUTO, FILES, NONE, learners, listed
from . import console
from .compare import LEAST_ROWS, comparison_of
from .completed import with_decisions
from .frames import read_files
from .held_out import calibrated, calibration_facts, parts_of, summary
from .options import ComparisonOptions, Learner, NeededLabel, Verdict
from .targets import covered_part, diagnosis_of, overlapping

if TYPE_CHECKING:
    from ..persistence import Model
    from .labels import Labelled


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = float("nan")
    if not 0 < share < 1:
        raise ValueError(f"{text!r} is not a share between 0 and 1, such as 0.5.")
    return share


@dataclass(frozen=True, kw_only=True)
class Arguments(ComparisonOptions, Learner, NeededLabel, Verdict):
    """Fit a learner on the training sample, corrected for the target, and write a model file.

    Method:
      --method NAME  weights ({weights}) or a correction ({corrections}, for learners that take V);
        auto uses what compare recommends (default: {methods})
      --calibrate SHARE  hold out this share of the training rows, such as 0.5, and calibrate the
        model with them: covshift predict then has --interval and --set
      --by-class  sets with the coverage in every class, even rare ones; each class is calibrated by
        its own rows of --calibrate
      --unit UNIT  unit of the label, kept in the model file
      --restrict overlap|  fit for the part of the target that the training rows cover; elsewhere
        intervals are infinite

    Output:
      -o, --output FILE  write the model to FILE (needed)
    """

    needs: ClassVar = {**NeededLabel.needs, "output": "-o FILE: name the file for the model"}

    kinds: ClassVar = {"calibrate": _share}

    method: str | None = None
    calibrate: float | None = None
    by_class: bool = False
    unit: str = ""
    restrict: str | None = None
    output: str = ""


def run(options: Arguments) -> int:
    """Fit, save and say what was done."""
    from ..comparison.methods import resolve
    from ..persistence import save
    from .labels import labelled_samples

    given = options.method if options.method not in (None, AUTO) else NONE
    learner = resolve(options.learner, given)[0]
    if FILES not in learner.can:
        raise InputError(
            f"{learner.name} ({learner.about}) cannot be saved in a model file. Use --learner "
            f"{listed(entry.name for entry in learners() if FILES in entry.can)}; or get "
            "weights with covshift weigh, and train it elsewhere with them."
        )
    if options.output == "-":
        raise InputError("A model cannot be printed as text: name a file for it with -o.")
    options.check_output(options.output)
    console.step("reading")
    samples = whole = labelled_samples(read_files(options, margins=True), outside=True)
    notes = [*samples.notes]
    console.step("diagnosing the shift")
    diagnosis = overlapping(samples.both, options)
    if options.restrict is not None and diagnosis.rows.count:
        both, note = covered_part(samples.both, diagnosis.rows, "The model is for")
        samples, notes = replace(samples, both=both), [*notes, note]
        diagnosis = diagnosis_of(both, options)
    if diagnosis.caution:
        console.warn(diagnosis.caution)
    verdict = str(diagnosis.verdict)
    options = with_decisions(options, samples.files.decisions)
    held = None
    parts = parts_of(samples, options)
    if parts is not None:
        trains, calibrates = parts
        held, samples = whole.take(calibrates), samples.take(trains)
    method, reason = options.method or learner.default, ""
    if method == AUTO or (method is None and "V" not in learner.can):
        method, reason = _compared(samples, options)
    console.step("fitting the model")
    model = fit_model(samples, options, method, verdict, held, reason)
    save(model, options.output)
    verdict = model.about["verdict"]
    facts = facts_of(model)
    if options.json:
        console.print_json({**facts, "file": options.output, "notes": notes})
    else:
        console.emit(_summary(facts, options.output, summary(model.estimator)), None)
    if options.method is None:
        more = "tries more corrections" if learner.default is None else "shows whether this helps"
        console.note(f"covshift compare {more}; --method auto uses what it recommends.")
    return options.exit_code(verdict)


def _compared(samples: Labelled, options: Arguments) -> tuple[str, str]:
    """Return the method that held-out rows recommend, and why.

    Without --method the one alternative is the weights that a comparison judges by: a learner
    seldom gains from any, and a dozen would take a dozen times as long.
    """
    from ..comparison.target import default_judge

    if options.method is None and len(samples.X) < LEAST_ROWS:
        return NONE, f"{len(samples.X)} rows are too few to see whether a correction helps."
    only = [default_judge(samples.both.margins)] if options.method is None else None
    found = comparison_of(samples, options, methods=only)
    if options.method is None:
        return found.recommended, found.recommendation
    console.note(found.recommendation)
    return found.recommended, ""  # a reason in the model file says that no method was named


def fit_model(
    samples: Labelled,
    options: Arguments,
    method: str | None,
    verdict: str,
    held: Labelled | None = None,
    reason: str = "",
) -> Model:
    """Fit a method on the samples, standardised by the training rows.

    Without a method the learner chooses, and the model has the name and the ``reason`` of its
    choice.
    Where margins are the target, the target rows of the samples are not looked at.
    Rows that were ``held`` out calibrate the model.
    """
    import platform

    import numpy as np
    import sklearn
    from sklearn.preprocessing import StandardScaler

    import covshift

    from ..comparison.methods import fit_method, fit_weights, learner_entry, resolve
    from ..encoding import scaled
    from ..files.reading import reading_of
    from ..persistence import Model
    from ..persistence.new_rows import TrainingRange
    from ..weights import WEIGHTERS

    learner = learner_entry(options.learner)
    if method is not None:
        learner, method = resolve(options.learner, method)
    both, labels = samples.both.as_given(), samples.labels
    encoder, margins = both.encoder, both.margins
    assert encoder is not None
    scaler = StandardScaler().fit(samples.X, sample_weight=samples.weight)
    X = scaled(scaler, samples.X)
    target: Any
    n_target: int | None = None
    weights = None
    if margins is None:
        n_target = len(samples.T)
        target = scaled(scaler, samples.T)
    else:
        from ..margins.target_rows import encoded

        target = encoded(margins, both.made, scaler.mean_, scaler.scale_)
        if method is not None and method in WEIGHTERS:
            assert both.known is not None
            given = None, options.seed, samples.weight
            weights = fit_weights(method, both.known.table, None, margins, *given).weights_
    # Notes have told, in the file's own words.
    with quiet(MarginsWarning, when=margins is not None):
        estimator = fit_method(
            learner.name,
            method,
            labels.task,
            X,
            labels.y,
            target,
            weights=weights,
            sample_weight=samples.weight,
            target_weight=samples.target_weight if margins is None else None,
            random_state=options.seed,
        )
        if method is None:
            method, reason = estimator.selection_report_["chosen"], estimator.correction_reason_
        if held is not None:
            rows = scaled(scaler, held.X)
            if margins is None:  # where training rows do not cover it, intervals are infinite
                target = scaled(scaler, held.T)
            estimator = calibrated(estimator, X, rows, samples, held, target, options)
    about = {
        "covshift": covshift.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "n_train": len(samples.X),
        "n_target": n_target,
        "id": samples.files.id,
        "seed": options.seed,
        "verdict": verdict,
        **({"correction_reason": reason} if reason else {}),
    }
    if labels.task == "regression":
        about["positive"] = bool((labels.y.astype(float) > 0).all())
    return Model(
        estimator,
        encoder,
        np.asarray(scaler.mean_, dtype=np.float64),
        np.asarray(scaler.scale_, dtype=np.float64),
        TrainingRange.of(samples.X, samples.weight),
        labels.task,
        labels.name,
        learner.name,
        method,
        options.unit,
        about,
        reading_of(options.reading()),
    )


def facts_of(model: Model) -> dict[str, Any]:
    """Return what there is to know about a model, as plain data."""
    return {
        "learner": model.learner,
        "method": model.method,
        "task": model.task,
        "label": model.label,
        "unit": model.unit,
        "classes": model.classes,
        "columns": model.names,
        **model.about,
        **calibration_facts(model.estimator),
    }


def _summary(facts: dict[str, Any], path: str, calibration: str) -> str:
    from ..show.words import printable

    columns = [printable(name) for name in facts["columns"]]
    shown = ", ".join(columns[:8]) + (f" and {len(columns) - 8} more" if len(columns) > 8 else "")
    classes = ", ".join(map(printable, facts["classes"]))
    what = f"classes {classes}" if classes else "a number"
    unit = f" in {printable(facts['unit'])}" if facts["unit"] else ""
    reason = facts.get("correction_reason")
    ask = "" if not calibration else " --set 90" if classes else " --interval 90"
    return (
        f"Fitted {facts['learner']} (method: {facts['method']}) on {facts['n_train']} rows for "
        f"{'margins' if facts['n_target'] is None else str(facts['n_target']) + ' target rows'}.\n"
        + (f"Why:    {reason}\n" if reason else "")
        + f"Shift:  {facts['verdict']}\n"
        f"Label:  {printable(facts['label'])} ({what}{unit})\n"
        f"Needs:  {shown}\n"
        f"{calibration}"
        f"Saved:  {path}\n"
        f"Next:   covshift predict {path} NEW.csv{ask} -o predictions.csv"
    )
