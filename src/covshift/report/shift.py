"""What a page shows of a diagnosis: verdict in plain words, tables, and the same as data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..diagnostics import Diagnosis, MarginsDiagnosis
from ..diagnostics.summary import Mean
from ..diagnostics.verdict import Verdict
from ..registry import weighters
from ..show.table import Cell, Column, Table, number
from ..show.words import as_date, printable, readable

PLAIN: dict[Verdict, str] = {
    "no shift": "The sample looks like the target: there is nothing to correct.",
    "moderate": "The sample differs from the target, and has rows of every kind that the target "
    "has. Weights can make the columns agree: rows of a kind that is too rare in the sample count "
    "more, the others less.",
    "strong": "The sample differs so much from the target that corrected numbers rest on few rows. "
    "Use them with care.",
    "no overlap": "Part of the target is unlike anything in the sample. No number computed from "
    "this sample describes that part.",
}
"""Verdicts for a reader who knows no statistics."""


def weights_words(name: str) -> str:
    """Name weights for a reader who knows no classes, by the name of a method or of its class.

    >>> weights_words("EntropyBalancing"), weights_words("the given weights")
    ('weights by entropy balancing', 'the given weights')
    """
    entry = next((e for e in weighters() if name in (e.name, e.path.rpartition(":")[2])), None)
    words = "" if entry is None else entry.words.replace("covariate", "column")
    return words if words.startswith("weights") else f"weights by {words}" if words else name


def with_printable_names(diagnosis: Diagnosis) -> Diagnosis:
    """Write control characters out, which neither HTML nor SVG can hold."""
    features = tuple(
        replace(
            feature,
            name=printable(feature.name, width=1000),
            level=None if feature.level is None else printable(feature.level, width=1000),
        )
        for feature in diagnosis.features
    )
    return replace(diagnosis, features=features)


def shift_facts(diagnosis: Diagnosis, most: int | None = None) -> dict[str, Any]:
    """What the templates ask for; of the ``most`` columns that differ most, or of all."""
    assert diagnosis.summary is not None
    weights = diagnosis.weights
    return {
        "d": diagnosis,
        "verdict_words": PLAIN[diagnosis.verdict],
        "weights_name": None if weights is None else weights_words(diagnosis.weighter),
        "worst_gap": diagnosis.summary.uncovered,
        "means": means_table(diagnosis, most),
        "features": _features(diagnosis),
        "sizes": sizes_table(diagnosis),
    }


def shift_numbers(diagnosis: Diagnosis, most: int | None = None) -> dict[str, Any]:
    """The same as plain data."""
    shown = diagnosis.worst[:most]
    features = tuple(feature for feature in diagnosis.features if feature in shown)
    weights = diagnosis.weights
    return {
        "diagnosis": replace(diagnosis, features=features).to_dict(),
        "means": means_table(diagnosis, most).data(),
        "corrected": None if weights is None else [part.smd_corrected for part in features],
        "weights": weights_numbers(diagnosis),
    }


def weights_numbers(diagnosis: Diagnosis | MarginsDiagnosis) -> dict[str, Any] | None:
    """How unequal the weights are; the largest in units of their mean."""
    if diagnosis.weights is None:
        return None
    return {
        "by": diagnosis.weighter,
        "effective_sample_size": diagnosis.effective_sample_size,
        "largest_weight": diagnosis.largest_weight,
    }


def means_table(diagnosis: Diagnosis, most: int | None = None) -> Table:
    """Mean of every number and share of every level, the columns that differ most first."""
    assert diagnosis.summary is not None
    count = len(diagnosis.features)
    place = {id(feature): k for k, feature in enumerate(diagnosis.features)}
    shown = {place[id(feature)] for feature in diagnosis.worst[:most]}
    means = tuple(mean for mean in diagnosis.summary.means if mean.feature in shown)
    weighted = Column("weighted", lambda mean: _cell(mean, mean.weighted))
    corrected = diagnosis.weights is not None
    about = ""
    if corrected:
        about = (
            f"Weighted: with {weights_words(diagnosis.weighter)}. A correction works where it "
            "comes close to the target."
        )
        if most is not None and most < count:
            about += f" The {most} columns of {count} that differ most."
    return Table(
        means,
        (
            Column("mean or share", lambda mean: mean.what, words=True),
            Column("sample", lambda mean: _cell(mean, mean.sample)),
            *((weighted,) if corrected else ()),
            Column("target", lambda mean: _cell(mean, mean.target)),
        ),
        "Means and shares",
        about,
    )


def _cell(mean: Mean, value: float | None) -> Cell:
    if value is None:
        return Cell("")
    form = {"share": "{:.1%}".format, "date": as_date}.get(mean.kind, readable)
    return Cell(form(value), value)


def _features(diagnosis: Diagnosis) -> Table:
    """The distances of all columns, and what the weights leave of them."""
    category = any(feature.kind == "category" for feature in diagnosis.features)
    corrected = diagnosis.weights is not None
    return replace(
        diagnosis.table,
        title="Distances",
        about="All columns, the largest Kolmogorov–Smirnov (KS) distance first. p-values are "
        "corrected for the number of columns (Holm). SMD: standardised mean difference, target "
        "minus training"
        + (f"; corrected: with {weights_words(diagnosis.weighter)}" if corrected else "")
        + ". Beyond range: share of the target outside the training values."
        + " Of a category the distance is the total variation of the shares of its levels; "
        "below its name stands the level that differs most, training → target." * category,
        most=None,
    )


def _method(row: Any) -> Cell:
    """A method's name, and what it does below it."""
    words = weights_words(row.method)
    return Cell(row.method, None, "" if words == row.method else words)


def sizes_table(diagnosis: Diagnosis | MarginsDiagnosis) -> Table:
    """Return what the weights of every method cost."""
    return Table(
        diagnosis.methods,
        (
            Column("method", _method, words=True),
            Column("eff. rows", lambda row: number(row.effective_sample_size, "{:,.0f}")),
            Column("share of the rows", lambda row: number(row.share, "{:.0%}")),
            Column("rows used", lambda row: number(row.train_rows, "{:,}")),
        ),
        "Effective sample sizes",
        "Rows of unequal weight carry less information than as many equal ones: with each method, "
        f"the {diagnosis.n_train:,} training rows are as precise as this many equally weighted "
        "ones (Kish's effective sample size).",
    )
