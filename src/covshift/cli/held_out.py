"""``covshift fit --calibrate``: rows that are held out say how far the model is off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..exceptions import InputError, WeightWarning
from ..numerics.quiet import quiet

if TYPE_CHECKING:
    from ..numerics.array import Rows
    from .fit import Arguments
    from .labels import Labelled

LEVELS = (0.8, 0.9, 0.95)
"""Coverages whose expectation on the target a model file keeps."""

SHOWN = 0.9


def parts_of(samples: Labelled, options: Arguments) -> tuple[Rows, Rows] | None:
    """Draw the rows that train, and those that calibrate, if this was asked for."""
    from sklearn.utils import check_random_state

    from ..conformal.data import split_rows

    labels = samples.labels
    if options.by_class and options.calibrate is None:
        raise InputError("--by-class is for the rows of --calibrate: add --calibrate 0.5.")
    if options.calibrate is None:
        return None
    classes = labels.task == "classification"
    if options.by_class and not classes:
        raise InputError("--by-class is for classes, and the label is a number.")
    seed = int(check_random_state(options.seed).randint(2**31 - 1))  # as the split form draws it
    trains, calibrates = split_rows(labels.y, options.calibrate, seed, classes=classes)
    if classes:
        kept = set(labels.y[trains].tolist())
        lost = [name for name in labels.classes if name not in kept]
        if lost:
            raise InputError(
                f"--calibrate {options.calibrate:g} leaves no row of the class {lost[0]!r} to "
                "train the model. Hold out a smaller share, or merge rare classes."
            )
    return trains, calibrates


def calibrated(
    estimator: Any,
    X: Any,
    held: Any,
    samples: Labelled,
    held_out: Labelled,
    target: Any,
    options: Arguments,
) -> Any:
    """Return what gives intervals or sets around the fitted estimator.

    ``X`` and ``held`` are the rows that trained and that calibrate, as the estimator takes them,
    and ``samples`` and ``held_out`` the rest of them; ``target`` are rows or margins.
    """
    from ..conformal import ConformalClassifier, ConformalRegressor
    from ..conformal.base import calibrate
    from ..data.validation import is_margins

    labels = held_out.labels
    kind: Any = ConformalRegressor if labels.task == "regression" else ConformalClassifier
    by = "class" if options.by_class else None
    with quiet(WeightWarning):  # the verdict and the summary tell
        model = calibrate(
            kind(estimator, by=by, prefit=True, random_state=options.seed),
            held,
            labels.y,
            X,
            target,
            sample_weight=held_out.weight,
            trained_weight=samples.weight,
            target_weight=None if is_margins(target) else held_out.target_weight,
        )
    for level in LEVELS:
        model.expected_coverage(level)  # which the file keeps
    return model


def calibration_facts(estimator: Any) -> dict[str, Any]:
    """Return what the calibration says, as plain data; nothing without one."""
    if not hasattr(estimator, "expected_coverage"):
        return {}
    found = {level: estimator.expected_coverage(level) for level in LEVELS}
    return {
        "n_calibration": len(estimator.scores_),
        "effective_calibration": estimator.effective_sample_size_,
        "expected_coverage": {
            f"{100 * level:g}": {
                "value": expected.value,
                "interval": list(expected.interval),
                "note": expected.note,
            }
            for level, expected in found.items()
        },
    }


def summary(estimator: Any) -> str:
    """Say in one line what the calibration found; nothing without one."""
    if not hasattr(estimator, "expected_coverage"):
        return ""
    return (
        f"Calibrated: by {len(estimator.scores_)} rows, {estimator.effective_sample_size_:.0f} "
        f"effective for the target; expected coverage at {SHOWN:.0%}: "
        f"{estimator.expected_coverage(SHOWN)}\n"
    )
