"""How ``covshift weigh`` reads its files and fits the weights, for target rows and for margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
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
from .frames import Files, read_files
from .targets import covered_part, diagnosis_of, refuse_unable
from .weigh import LABELS, SIZE, Arguments
from .weigh_output import Weighed


def weighed(options: Arguments) -> Weighed:
    """Read both files, diagnose the shift from target rows, and weigh the training rows."""
    files = read_files(replace(options, by=None), feature="strata", margins=True)
    margins = files.margins
    _check(options, margins)
    named = {name: value for name in LABELS if (value := vars(options)[name]) is not None}
    labels = {name: files.sample[column].to_pylist() for name, column in named.items()}
    strata = options.strata if "strata" in files.roles else None
    files, both = files.samples(strata=strata, cluster=options.cluster)
    fit = _by_rows if margins is None else _by_margins
    return fit(files, both, options, labels)


def _check(options: Arguments, margins: Any) -> None:
    """Refuse what cannot be asked of this target."""
    if margins is None and options.by is not None:
        raise InputError("--by is for margins: with target rows all columns are used.")
    if options.sum_to == SIZE and margins is None:
        raise InputError(
            "--sum-to size is for margins: with target rows, name the population's size."
        )
    if options.sum_to == SIZE and margins.size is None:
        raise InputError(
            f"--sum-to size: {options.target} has no size. Name the population's size."
        )
    if margins is not None:
        refuse_unable(options.method, options.target)


def _by_rows(files: Files, both: Samples, options: Arguments, labels: dict[str, Any]) -> Weighed:
    method = DEFAULT if options.as_estimate else str(options.method)
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
    return Weighed(
        X,
        T,
        rows,
        files,
        fitted,
        labels,
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


def _by_margins(files: Files, both: Samples, options: Arguments, labels: dict[str, Any]) -> Weighed:
    assert both.known is not None
    margins, X, notes = both.known.margins, both.known.table, [*files.notes]
    if both.known.free:
        notes += _free(both.known.free)
        console.tell(notes[-1])
    method = str(options.method)
    if options.as_estimate:
        weighter, more = default_weighter(both)
        method = next(entry.name for entry in weighters() if entry.load() is type(weighter))
        console.tell(*more)
        notes += more
    else:
        weighter = _asked(options, method)
    rows = row_weights(len(X), both.d if both.weighted else None)
    fitted = weighter.fit(X, X_target=margins, sample_weight=rows.w)
    before, after = (
        max(margins.balance(X, weight), key=lambda row: abs(row.gap))
        for weight in (rows.w, rows.final(fitted.weights_))
    )
    population = margins.size if options.sum_to == SIZE else options.sum_to
    return Weighed(
        X,
        margins,
        rows,
        files,
        fitted,
        labels,
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


def _free(names: Sequence[str]) -> list[Note]:
    shown = ", ".join(map(repr, names[:8])) + (" ..." if len(names) > 8 else "")
    text = f"No margin covers {shown}: the weights do not correct these columns."
    return [Note("columns without margins", text)]


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
