"""How ``covshift weigh`` reads its files and fits the weights, for target rows and for margins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.preprocessing import StandardScaler

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
from ..weights.limits import LIMITS
from . import console
from .frames import read_files
from .targets import covered_part, diagnosis_of, refuse_unable
from .weigh import SIZE, Arguments
from .weigh_output import Weighed


def weighed(options: Arguments) -> Weighed:
    """Read both files, diagnose the shift from target rows, and weigh the training rows."""
    files = read_files(replace(options, by=None), feature="strata", margins=True)
    margins = files.margins
    _check(options, margins)
    strata = options.strata if "strata" in files.roles else None
    files, both = files.samples(strata=strata, cluster=options.cluster)
    notes, verdict = [*files.notes], ""
    if margins is None:
        diagnosis = diagnosis_of(both, options)
        if options.restrict is not None and diagnosis.rows.count:
            both, note = covered_part(both, diagnosis.rows, "Weights for")
            notes.append(note)
            diagnosis = diagnosis_of(both, options)
        verdict = diagnosis.verdict
    weighter, method, more = _weighter_of(both, options)
    console.tell(*more)
    rows, target = row_weights(len(both.X), both.d), target_weights(len(both.T), both.share)
    X: Any
    T: Any
    if both.known is not None:
        X, T = both.known.table, both.known.margins
    else:
        scaler = StandardScaler().fit(both.X, sample_weight=rows.w)
        X, T = (scaled(scaler, encoded(part, both.one_feature)) for part in (both.X, both.T))
    given: dict[str, Any] = {"rows": rows}
    given |= {"target": target, "names": both.names} if margins is None else {}
    with quiet(OverlapWarning, when=margins is None):  # the diagnosis has said it, in its units
        fitted = fit_weights(weighter, X, None, T, None, options.seed, **given)
    population = options.sum_to
    if population == SIZE and margins is not None:
        population = margins.size
    return Weighed(
        X,
        T,
        rows,
        target if margins is None else None,
        files,
        both,
        fitted,
        method,
        population=None if population is None else float(population),
        verdict=verdict,
        notes=[*notes, *more],
    )


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


def _weighter_of(both: Samples, options: Arguments) -> tuple[Any, str, list[Note]]:
    """Make the weighter that the options ask for; its name, and what is worth knowing of it."""
    notes: list[Note] = []
    if both.known is not None and both.known.free:
        free = both.known.free
        text = f"No margin covers {', '.join(map(repr, free[:8]))}{' ...' * (len(free) > 8)}: the "
        notes.append(
            Note("columns without margins", f"{text}weights do not correct these columns.")
        )
    if options.as_estimate and both.known is not None:
        weighter, more = default_weighter(both)
        name = next(entry.name for entry in weighters() if entry.load() is type(weighter))
        return weighter, name, [*notes, *more]
    method = DEFAULT if options.as_estimate else str(options.method)
    weighter = as_weighter(method)
    parameters = weighter.get_params(deep=False)
    if options.by is not None:
        if "by" not in parameters:
            raise InputError(f"--by is for poststratification, not {method}.")
        weighter.set_params(by=[name.strip() for name in options.by.split(",")])
    if options.limits is None:
        return weighter, method, notes
    if "limits" not in parameters:
        able = [name for name in WEIGHTERS if "limits" in WEIGHTERS[name]().get_params(deep=False)]
        raise InputError(f"--limits is for {listed(able)}, not {method}.")
    if not LIMITS.allows(options.limits):
        raise InputError(
            f"--limits {options.limits[0]:g} {options.limits[1]:g} must be a low and a high bound, "
            "with 0 <= low <= 1 <= high and low < high: the mean of the factors is one."
        )
    return weighter.set_params(limits=tuple(options.limits)), method, notes
