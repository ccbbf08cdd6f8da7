"""`diagnose`: every measure once, on as many rows as it can afford, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, overload

import numpy as np

from ..data import Samples
from ..data.columns import NamedColumns
from ..data.parameters import number, whole
from ..data.row_weights import check_weight, row_weights
from ..data.validation import Target, is_margins, refuse_target_weights, unwrap_target
from ..exceptions import InputError
from ..margins import Margins
from ..margins.sample import KnownRows
from ..numerics.array import Real, row_count, take_rows
from ..numerics.copies import shared
from ..numerics.parallel import one_blas_thread
from ..numerics.quiet import quiet
from ..numerics.support import NO_OVERLAP, STRONG
from ..show.notes import Note
from .classifier import FEWEST, two_sample_auc
from .coverage import (
    Support,
    expected_outside,
    expected_outside_range,
    flag_rows,
    in_words,
    outside_of_neighborhood,
    outside_of_range,
    significant_parts,
)
from .distances import feature_differences
from .features import feature_shifts
from .margins import diagnose_margins, margins_corrected
from .margins_result import MarginsDiagnosis
from .result import Diagnosis
from .sizes import METHODS, MethodSize, method_size, row_limit, weigh, with_names
from .summary import summarised
from .usefulness import interval_outlook
from .verdict import NO_OVERLAP_OUTSIDE, judge, unlike_share

_ROWS = 4_000  # of each sample, beyond which all but single features is a draw: an AUC to 0.01


@overload
def diagnose(
    X: Any,
    X_target: Margins,
    *,
    sample_weight: Any = None,
    target_weight: Any = None,
    groups: Any = None,
    weights: Any = None,
    methods: Sequence[str] = METHODS,
    confidence: float = 0.95,
    random_state: int = 0,
) -> MarginsDiagnosis: ...


@overload
def diagnose(
    X: Any,
    X_target: Any,
    *,
    sample_weight: Any = None,
    target_weight: Any = None,
    groups: Any = None,
    weights: Any = None,
    methods: Sequence[str] = METHODS,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Diagnosis: ...


def diagnose(
    X: Any,
    X_target: Any,
    *,
    sample_weight: Any = None,
    target_weight: Any = None,
    groups: Any = None,
    weights: Any = None,
    methods: Sequence[str] = METHODS,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Diagnosis | MarginsDiagnosis:
    """Say whether two samples differ, where, and whether weights can correct it.

    No labels are used, so a change of the outcome given the features cannot be detected.

    Parameters
    ----------
    X : (N, n) array or data frame
        Training rows. A data frame may have text, categories, dates, booleans and gaps: a category
        is one feature, and so is the share of rows in which a number is missing. The columns of an
        array are called x0, x1, ...
    X_target : (M, n) array or data frame, or a one-tuple of it
        Target rows; or `covshift.Margins`, of which every number is compared with the sample's.
    sample_weight, target_weight : names of columns, or (N,) and (M,) arrays, optional
        Probability weights of the rows, such as those of a survey, on any scale. The training
        sample is then the weighted sample: weights that correct it are factors on these. Tests,
        intervals and effective sizes count rows by Kish's number.
    groups : (n,) array of int, optional
        For arrays that were encoded elsewhere: the number of the feature that each column belongs
        to. Columns of zeros and ones that are named "region=north" are levels of a category, and
        "income missing" marks where "income" was filled. A data frame needs none.
    weights : (N,) array, name of a column, or answer of `estimate` or `evaluate`, optional
        Final weights of the training rows, for the corrected differences and for the pictures of a
        report; they have no part in the verdict. Default: those of `CDFWeights`, times
        ``sample_weight``; with margins, those that come nearest to them.
    methods : sequence of str
        Weighters whose effective sample size is wanted; names of `covshift.weights`.
    confidence : float between 0 and 1
        Of the interval of the AUC, which the verdict reads.
    random_state : int
        Seed of the folds, and of the rows that are drawn from large samples.

    Returns
    -------
    Diagnosis
        Plain data; ``print`` it, or use ``to_dict()``, ``to_frame()`` and ``plot()``. With margins
        a `MarginsDiagnosis`, with what margins can show.

    Notes
    -----
    What each number means, and the rules of the verdict: docs/diagnosis.md. Rows are taken as
    independent draws; copies of rows make every test overconfident.

    Distances of single features use all rows. Beyond 4,000 rows of a sample the classifier, the
    weights and the nearest neighbours, and beyond 1,000 energy balancing, see rows drawn at random,
    and ``train_rows`` and ``target_rows`` say so. Whatever ``methods`` are shown, the verdict rests
    on the four of the default, and is that of `estimate` and `evaluate` for the same rows. Cost:
    about 10 s for 100,000 rows of 50 features in each sample on one core; memory a few times the
    samples.

    Examples
    --------
    >>> from covshift import diagnose
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(500, 1000, random_state=0)
    >>> found = diagnose(survey.X, survey.X_target)
    >>> found.verdict
    'moderate'
    >>> found.worst[0].name
    'x0'
    """
    target = unwrap_target(X_target)
    named = NamedColumns(X, None if is_margins(target) else target)
    sample_weight = named.of_rows(sample_weight, "sample_weight")
    weighter = str(getattr(weights, "weighter", "the given weights"))
    weights = named.of_rows(getattr(weights, "weights", weights), "weights")
    X, target_rows = named.features
    if weights is not None:
        weights = check_weight(weights, row_count(X), "weights", of="X")
    if is_margins(target):
        _check(methods, confidence, random_state)
        refuse_target_weights(target_weight=target_weight, groups=groups)
        rows = row_weights(row_count(X), sample_weight)
        kept = np.flatnonzero(rows.kept)
        known = KnownRows.of(target, take_rows(X, kept), "diagnose")
        of_margins = diagnose_margins(known, weight=rows.w[kept], methods=methods)
        if weights is None:
            return of_margins
        return margins_corrected(of_margins, known, rows.w[kept], weights[kept], weighter)
    samples = Samples.of_rows(
        X,
        target_rows,
        sample_weight=sample_weight,
        target_weight=named.of_target(unwrap_target(target_weight), "target_weight"),
        groups=groups,
        deciding=True,
        ordered=False,
        kinds=Target.of(X_target).kinds,
    )
    diagnosis = diagnose_samples(
        samples, methods=methods, confidence=confidence, random_state=random_state
    )
    if weights is None:
        return diagnosis
    return corrected(diagnosis, samples, samples.of_these(weights), weighter)


@one_blas_thread(0)
def diagnose_samples(
    samples: Samples,
    *,
    methods: Sequence[str] = METHODS,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Diagnosis:
    """`diagnose` of samples that were checked already."""
    _check(methods, confidence, random_state)
    found, cdf = _judged(samples, methods, confidence, random_state)
    intervals, support = None, found.support
    if cdf is not None:
        drawn = samples.cut(_rows_of("cdf"), random_state)
        intervals = interval_outlook(cdf, drawn, samples, support.uncovered)
    return replace(
        found,
        intervals=intervals,
        rows=flag_rows(samples, support, found.verdict, random_state),
    )


@one_blas_thread(0)
def judge_samples(samples: Samples, *, random_state: int = 0) -> Diagnosis:
    """Return the diagnosis without flags of rows and without intervals: the verdict is the same.

    Columns are looked at in the order in which they came, so that folds and trees are the same.
    """
    return _judged(samples.as_given(), METHODS, 0.95, random_state)[0]


class Overlap(NamedTuple):
    """What of a diagnosis tells whether the training rows show the whole target."""

    doubtful: bool  # whether the verdict may be "no overlap"
    unlike: float  # share of the target unlike all training rows, where it matters


@one_blas_thread(0)
def overlap_of(samples: Samples, *, random_state: int = 0) -> Overlap:
    """Return what `judge_samples` finds of the overlap, in a fraction of its time."""
    samples = samples.as_given()
    cdf, _ = _weigh("cdf", samples, random_state)
    _, support = _support(samples, random_state)
    far = (support.outside or 0.0) >= NO_OVERLAP_OUTSIDE
    return Overlap(far or not _overlap(support, cdf), unlike_share(support))


def _judged(
    samples: Samples, methods: Sequence[str], confidence: float, random_state: int
) -> tuple[Diagnosis, Any]:
    """Measure and judge: the one home of the verdict. Also return the fitted `CDFWeights`."""
    sizes, cdf = _sizes(samples, methods, random_state)
    weights = None if cdf is None else _all_weights(cdf, samples)
    beyond, support = _support(samples, random_state)
    features = feature_shifts(samples, weights, beyond)
    small = samples.cut(_ROWS, random_state)
    auc = two_sample_auc(
        small.X, small.T, small.share, small.own, confidence=confidence, random_state=random_state
    )
    overlap = _overlap(support, cdf)
    first = in_words(support.uncovered[:1], samples)
    judging = tuple(row for row in sizes if row.method in METHODS)
    shown = tuple(row for row in sizes if row.method in methods)
    found = Diagnosis(
        *judge(features, auc, judging, support, overlap, first),
        n_train=len(samples.X),
        n_target=len(samples.T),
        features=features,
        auc=auc,
        methods=shown,
        support=support,
        overlap=overlap,
        mismatch=None if cdf is None else float(cdf.mismatch_),
        noise=None if cdf is None else float(cdf.noise_),
        random_state=random_state,
        notes=_notes(samples, features, auc, support, shown),
        weights=weights,
        summary=summarised(samples, features, weights, support, random_state),
    )
    return found, cdf


def corrected(diagnosis: Diagnosis, samples: Samples, weights: Real, weighter: str) -> Diagnosis:
    """Show what other final weights (N,) of the samples' rows leave of the differences."""
    left = feature_differences(samples, weights)
    features = tuple(
        replace(feature, smd_corrected=float(value))
        for feature, value in zip(diagnosis.features, left, strict=True)
    )
    summary = summarised(samples, features, weights, diagnosis.support, diagnosis.random_state)
    return replace(
        diagnosis, features=features, weights=weights, weighter=weighter, summary=summary
    )


def _check(methods: Any, confidence: float, random_state: Any) -> None:
    if isinstance(methods, str):
        raise InputError(f"methods={methods!r} is one string. Pass a list of names.")
    number(above=0, below=1).check(confidence, "confidence")
    whole(0).check(random_state, "random_state")  # so that the diagnosis can be repeated


def _sizes(
    samples: Samples, methods: Sequence[str], random_state: int
) -> tuple[tuple[MethodSize, ...], Any]:
    """Effective sample sizes of ``methods`` and of those that judge, and the `CDFWeights`."""
    fitted, rows = None, []
    for method in dict.fromkeys([*METHODS, *methods]):
        weighter, note = _weigh(method, samples, random_state)
        if method == "cdf":
            fitted = weighter
        cut = samples.cut(_rows_of(method), random_state)
        used = len(cut.X), len(cut.T)
        before = cut.size, cut.size * len(samples.X) / len(cut.X)
        note = with_names(note, samples.names)
        rows.append(method_size(method, weighter, note, used, before))
    order = {method: k for k, method in enumerate([*methods, *METHODS])}
    return tuple(sorted(rows, key=lambda row: order[row.method])), fitted


def _weigh(method: str, samples: Samples, random_state: int) -> tuple[Any, str]:
    cut = samples.cut(_rows_of(method), random_state)
    given = cut.target_weight, cut.sample_weight
    return weigh(method, cut.X, cut.T, *given, random_state=random_state, groups=cut.one_feature)


def _rows_of(method: str) -> int:
    return min(_ROWS, row_limit(method))


def _all_weights(cdf: Any, samples: Samples) -> Real | None:
    X, weights = samples.X, cdf.weights_
    if len(weights) != len(X):
        with quiet():
            weights = cdf.predict_weights(X)
    if samples.sample_weight is not None:
        weights = weights * samples.sample_weight
    total = weights.sum()
    return np.asarray(weights * len(X) / total) if total > 0 else None


def _support(samples: Samples, random_state: int) -> tuple[Real, Support]:
    X, T = samples.X, samples.T
    beyond, anywhere = outside_of_range(X, T, samples.share, samples.features)
    cut = samples.cut(_ROWS, random_state)
    numbers = sum(len(f.columns) for f in samples.features if f.kind == "number")
    expected = expected_outside_range(len(X), numbers)
    outside = outside_of_neighborhood(cut.X, cut.T, cut.share, cut.own, cut.one_feature)
    gaps = significant_parts(samples)
    sizes = len(cut.X), len(cut.T)
    return beyond, Support(outside, expected_outside(sizes[0]), anywhere, expected, *sizes, gaps)


def _overlap(support: Support, cdf: Any) -> bool:
    """The alarm of the weights, and what all rows show where the weights saw some of them."""
    missing = any(part.excess >= NO_OVERLAP for part in support.uncovered)
    return (cdf is None or bool(cdf.overlap_)) and not missing


def _notes(
    samples: Samples, features: Any, auc: Any, support: Support, sizes: tuple[MethodSize, ...]
) -> tuple[Note, ...]:
    notes = [*samples.notes]
    constant = [feature.name for feature in features if feature.constant]
    if constant:
        text = "One column is constant over both samples and carries no information."
        if len(constant) > 1:
            text = (
                f"{len(constant)} columns are constant over both samples and carry no information."
            )
        notes.append(Note("constant columns", text))
    if count := int(shared(samples.X, samples.T).sum()):
        text = f"{count:,} of the {len(samples.T):,} target rows are sample rows: equal in every"
        notes.append(Note("shared rows", f"{text} column."))
    if auc is None:
        notes.append(Note("few rows", f"No AUC: one of the samples has fewer than {FEWEST} rows."))
    if support.outside is None:
        text = "Nearest neighbours are not compared: there are too few training rows."
        notes.append(Note("few rows", text))
    first = support.uncovered[:1]
    told = 1 if first and first[0].excess >= STRONG else 0  # the verdict's reason names it
    if len(support.uncovered) > told:
        said = in_words(support.uncovered[told:], samples)
        text = f"Parts of the target without training rows: {said}."
        notes.append(Note("uncovered target", text, "warning"))
    whole = len(samples.X), len(samples.T)
    used = {
        "two-sample AUC": (auc.train_rows, auc.target_rows) if auc else whole,
        "outside support": (support.train_rows, support.target_rows),
        **{row.method: (row.train_rows, row.target_rows) for row in sizes},
    }
    cut = [f"{name} {rows[0]:,} and {rows[1]:,}" for name, rows in used.items() if rows != whole]
    if cut:
        text = "To save time, rows were drawn at random (training and target rows): "
        notes.append(Note("drawn rows", f"{text}{'; '.join(cut)}."))
    return tuple(notes)
