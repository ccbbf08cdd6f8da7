"""``covshift fit --calibrate``: rows that are held out say how far the model is off."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

from .._quiet import quiet
from ..exceptions import InputError, WeightWarning

if TYPE_CHECKING:
    from .._tables import Samples
    from .._types import Rows

LEVELS = (0.8, 0.9, 0.95)
"""Coverages whose expectation on the target a model file keeps."""

SHOWN = 0.9


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the share of rows to hold out."""
    parser.add_argument(
        "--calibrate",
        metavar="SHARE",
        type=_share,
        help="hold out this share of the training rows, such as 0.5, and calibrate the model with "
        "them: covshift predict then has --interval and --set",
    )


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = float("nan")
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share between 0 and 1, such as 0.5")
    return share


class Parts(NamedTuple):
    """Numbers of the rows that train, and of those that calibrate."""

    trains: Rows
    calibrates: Rows


def parts_of(samples: Samples, args: argparse.Namespace) -> Parts | None:
    """Draw the rows that calibrate, if this was asked for."""
    from sklearn.utils import check_random_state

    from ..conformal.data import split_rows

    labels = samples.labels
    if args.calibrate is None or labels is None:
        return None
    classes = labels.task == "classification"
    seed = int(check_random_state(args.seed).randint(2**31 - 1))  # as the split form draws it
    trains, calibrates = split_rows(labels.y, args.calibrate, seed, classes=classes)
    if classes:
        kept = set(labels.y[trains].tolist())
        lost = [name for name in labels.classes if name not in kept]
        if lost:
            raise InputError(
                f"--calibrate {args.calibrate:g} leaves no row of the class {lost[0]!r} to train "
                "the model. Hold out a smaller share, or merge rare classes."
            )
    return Parts(trains, calibrates)


def calibrated(
    estimator: Any, X: Any, held: Any, samples: Samples, held_out: Samples, target: Any, seed: int
) -> Any:
    """Return what gives intervals or sets around the fitted estimator.

    ``X`` and ``held`` are the rows that trained and that calibrate, as the estimator takes them,
    and ``samples`` and ``held_out`` the rest of them; ``target`` are rows or margins.
    """
    from .._validation import is_margins
    from ..conformal import ConformalClassifier, ConformalRegressor
    from ..conformal.held_out import calibrate

    labels = held_out.labels
    assert labels is not None
    kind: Any = ConformalRegressor if labels.task == "regression" else ConformalClassifier
    with quiet(WeightWarning):  # the verdict and the summary tell
        model = calibrate(
            kind(estimator, prefit=True, random_state=seed),
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


def facts_of(estimator: Any) -> dict[str, Any]:
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
