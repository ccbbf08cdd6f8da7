"""How ``covshift weigh`` reads its files and fits the weights, for target rows and for margins."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from sklearn.preprocessing import StandardScaler

from ..comparison import imbalance
from ..comparison.methods import fit_weights
from ..data import Samples
from ..data.row_weights import row_weights, target_weights
from ..encoding import encoded, scaled
from ..engine.weights import DEFAULT
from ..estimates.margins import default_weighter
from ..exceptions import InputError, OverlapWarning
from ..numerics.quiet import quiet
from ..registry import listed, weighters
from ..show.notes import Note
from ..weights import WEIGHTERS, as_weighter
from ..weights.base import Weighter
from ..weights.limits import LIMITS
from . import console
from .frames import read_files
from .margin_samples import TrainingRows, margins_of, training_rows
from .targets import covered_part, diagnosis_of
from .weigh import LABELS, SIZE, Arguments
from .weigh_output import Weighed


def by_rows(options: Arguments) -> Weighed:
    """Read both files, diagnose the shift, and weigh the training rows."""
    if options.by is not None:
        raise InputError("--by is for margins: with target rows all columns are used.")
    if options.sum_to == SIZE:
        raise InputError(
            "--sum-to size is for margins: with target rows, name the population's size."
        )
    method = DEFAULT if options.as_estimate else str(options.method)
    files = read_files(options, feature="strata")
    strata = options.strata if "strata" in files.roles else None
    files, both = files.samples(strata=strata, cluster=options.cluster)
    notes = [*files.notes]
    diagnosis = diagnosis_of(both, options)
    if options.restrict is not None and diagnosis.rows.count:
        both, note = covered_part(both, diagnosis.rows, "Weights for")
        notes.append(note)
        diagnosis = diagnosis_of(both, options)
    rows = row_weights(len(both.X), both.d)
    target = target_weights(len(both.T), both.share)
    scaler = StandardScaler().fit(both.X, sample_weight=rows.w)
    X, T = (scaled(scaler, encoded(part, both.one_feature)) for part in (both.X, both.T))
    with quiet(OverlapWarning):  # the diagnosis has said it, in the units of the table
        fitted = fit_weights(
            _weighter_of(options, method),
            X,
            None,
            T,
            None,
            options.seed,
            rows=rows,
            target=target,
            names=both.names,
        )
    w = rows.final(fitted.weights_)
    assert both.encoder is not None
    named = {option: value for option in LABELS if (value := vars(options)[option]) is not None}
    return Weighed(
        X,
        T,
        rows,
        files.rows("sample"),
        len(files.sample),
        fitted,
        files.id,
        files.ids("sample"),
        {option: files.sample[name].to_pylist() for option, name in named.items()},
        [rule.name for rule in both.encoder.features_],
        {"kind": "rows", "file": Path(options.target).name, "rows": target.rows},
        {
            "smd_before": imbalance(X, T, None, target.share, rows.share),
            "smd_after": imbalance(X, T, w, target.share, rows.share),
            **_cost_of(fitted),
        },
        method,
        target_rows=target,
        population=None if options.sum_to is None else float(options.sum_to),
        verdict=diagnosis.verdict,
        notes=notes,
    )


def by_margins(options: Arguments) -> Weighed:
    """Read the training rows and the margins, and weigh the rows."""
    margins = margins_of(options, options.method)
    notes = [*margins.notes]
    console.tell(*notes)
    population = margins.size if options.sum_to == SIZE else options.sum_to
    if options.sum_to == SIZE and population is None:
        raise InputError(
            f"--sum-to size: {options.target} has no size. Name the population's size."
        )
    named = {option: getattr(options, option) for option in LABELS if getattr(options, option)}
    others = [name for name in named.values() if name not in margins.columns]
    read = training_rows(options, margins, dict.fromkeys(others, "text"))
    method = str(options.method)
    if options.as_estimate:
        weighter, method = _of_estimate(read, margins, notes)
    else:
        weighter = _asked(options, method)
    rows, X = read.weights, read.frame
    fitted = weighter.fit(X, X_target=margins, sample_weight=rows.w)
    before, after = (
        max(margins.balance(X, weight), key=lambda row: abs(row.gap))
        for weight in (rows.w, rows.final(fitted.weights_))
    )
    return Weighed(
        X,
        margins,
        rows,
        read.again,
        len(read.file),
        fitted,
        options.id,
        None if options.id is None else read.ids(options.id),
        {option: read.file[name].to_pylist() for option, name in named.items()},
        margins.columns,
        {
            "kind": "margins",
            "file": Path(options.target).name,
            "columns": margins.columns,
            "size": margins.size,
            "source": margins.source,
        },
        {
            "gap_before": abs(before.gap),
            "gap_after": abs(after.gap),
            "worst_after": after.what,
            **_cost_of(fitted),
        },
        method,
        population=None if population is None else float(population),
        notes=notes,
    )


def _of_estimate(read: TrainingRows, margins: Any, notes: list[Note]) -> tuple[Weighter, str]:
    """Take the weighter that `estimate` would, and its name."""
    samples = Samples.of(read.frame, None, margins, sample_weight=read.weights.w)
    weighter, more = default_weighter(samples)
    method = next(entry.name for entry in weighters() if entry.load() is type(weighter))
    console.tell(*more)
    notes += more
    return weighter, method


def _asked(options: Arguments, method: str) -> Weighter:
    weighter: Weighter = _weighter_of(options, method)
    if "allow_no_overlap" in weighter.get_params(deep=False):
        weighter.set_params(allow_no_overlap=True)
    if options.by is not None:
        if "by" not in weighter.get_params(deep=False):
            raise InputError(f"--by is for poststratification, not {method}.")
        weighter.set_params(by=[name.strip() for name in options.by.split(",")])
    return weighter


def _weighter_of(options: Arguments, method: str) -> Any:
    """Make the weighter that --method names, with --limits."""
    weighter = as_weighter(method)
    if options.limits is None:
        return weighter
    if "limits" not in weighter.get_params(deep=False):
        able = [name for name in WEIGHTERS if "limits" in WEIGHTERS[name]().get_params(deep=False)]
        raise InputError(f"--limits is for {listed(able)}, not {method}.")
    if not LIMITS.allows(options.limits):
        raise InputError(
            f"--limits {options.limits[0]:g} {options.limits[1]:g} must be a low and a high bound, "
            "with 0 <= low <= 1 <= high and low < high: the mean of the factors is one."
        )
    return weighter.set_params(limits=tuple(options.limits))


def _cost_of(fitted: Any) -> dict[str, Any]:
    """What the limits cost, for --json."""
    cost = getattr(fitted, "balance_cost_", None)
    return {} if cost is None else {"limits": asdict(cost)}
