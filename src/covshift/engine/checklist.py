"""What a referee asks of an answer: item, finding and where to look, in the order of a reading."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..show.notes import Note
from ..show.words import counted, percent, printable, shown
from .procedure import WEIGHTED, Procedure

_SPOILED = frozenset(
    {
        *("identifiers", "free text", "rare levels", "constant columns", "copies", "decisions"),
        *("columns of one sample", "columns of one file", "columns without margins", "infinite"),
        *("joined levels", "text", "ordered", "dates", "unseen levels", "rounded shares"),
    }
)
"""Kinds of notes about columns that were left out or changed."""

_EVEN = 0.001  # of a balance, below which no column is the worst
_NOT = "not checked"
_Line = tuple[str, str, str]


def checks(answer: Any, notes: Sequence[Note]) -> Iterator[_Line]:
    how = answer._procedure
    yield "Shift of the covariates", answer.verdict, "diagnosis"
    yield from _overlap_checks(answer, how)
    yield from _weight_checks(answer, how)
    row = answer.headline
    others = [
        f"{answer._method_words[other.method]} {_written(other.value, row)}"
        for other in answer.table
        if other.method != answer.method and answer.name_of(other) == answer.name_of(row)
    ]
    here = f"{_written(row.value, row)} here; {', '.join(others)}"
    yield "Other methods", here if others else _NOT, "table"
    yield from _doubt_checks(answer, notes)
    yield from _row_checks(answer, how, notes)


def _written(value: float, row: Any) -> str:
    return "not defined" if math.isnan(value) else shown(value, row)


def _overlap_checks(answer: Any, how: Procedure) -> Iterator[_Line]:
    if how.margins:
        worst = max((shift.uncovered for shift in answer.diagnosis.margins), default=0.0)
        text = "every published cell has rows of the sample"
        if worst > 0:
            text = f"{percent(worst)} of the target is in cells without rows of the sample"
        yield "Overlap", text, "diagnosis.margins"
    else:
        support = answer.diagnosis.support
        for item, share, expected, where in (
            (
                "range",
                support.outside_range,
                support.expected_range,
                "beyond the sample's range of a column",
            ),
            ("neighbours", support.outside, support.expected, "without similar rows in the sample"),
        ):
            text = _NOT
            if share is not None:
                text = (
                    f"{percent(share)} of the target {where} ({percent(expected)} without a shift)"
                )
            yield f"Overlap: {item}", text, "diagnosis.support"
    yield "Part of the target answered for", f"{answer.covered_share:.1%}", "covered_share"


def _weight_checks(answer: Any, how: Procedure) -> Iterator[_Line]:
    unit = "gap to a published number" if how.margins else "standardised difference"
    weighted = answer.method in WEIGHTED and how.trusted
    if how.balance is not None:
        before, after = (_worst(unit, *end) for end in how.balance)
        own = "diagnose(X, X_target, weights=found)" if weighted else 'method="dr"'
        where = "diagnosis.numbers" if how.margins else "diagnosis.table"
        yield "Balance before weighting", before, where
        if answer.method == "label":
            after, own = "the weights follow class shares, not the covariates", "label_shift"
        elif not weighted:
            after = "no weights in this estimate"
        yield "Balance after weighting", after, own
    if not weighted and answer.method != "label":
        return
    share = answer.effective_sample_size / answer.n_train
    yield (
        "Effective sample size",
        f"{answer.effective_sample_size:,.0f} of {answer.n_train:,} rows ({percent(share)}), "
        f"design effect {answer.design_effect:.2f}",
        "effective_sample_size",
    )
    cut = "not limited"
    if how.max_weight is not None:
        cut = f"limited to {how.max_weight:g}, {percent(answer.trimmed_share)} cut off"
    largest = f"{answer.largest_weight:.1f} times the mean; {cut}"
    yield "Largest weight", largest, "largest_weight, weights"


def _worst(unit: str, name: str, size: float) -> str:
    if size < _EVEN:
        return f"largest {unit} below {_EVEN}"
    return f"largest {unit} {size:.3f} ({printable(name)})"


def _doubt_checks(answer: Any, notes: Sequence[Note]) -> Iterator[_Line]:
    """What if the assumption is wrong."""
    if answer.method in ("dr", "weights", "model", "cbpe", "pape"):
        text, row = _NOT, answer.headline
        if answer.sensitivity is not None and row.sensitivity_interval is not None:
            ends = " to ".join(shown(end, row) for end in row.sensitivity_interval)
            text = f"{ends} for odds up to {answer.sensitivity:g}-fold"
        elif answer.sensitivity is not None:
            text = "has no bounds for this number"
        yield "Interval if odds of being in the target differ", text, "with_sensitivity(1.5)"
        value, line = answer.robustness_value, answer._robust_line()
        line = line.partition(" (robustness")[0] or "the correction is within its error"
        yield "Robustness value", _NOT if value is None else f"{value:.2f}: {line}", "robustness()"
    tests = [note.text for note in notes if note.kind == "assumption"]
    if answer._evaluates and answer.changes:
        tests = [f"{counted(one.rows, 'label')}, p = {one.p_value:.2g}" for one in answer.changes]
    tests += [
        f"label shift: p = {test.p_value:.2g}, {'rejected' if test.rejected else 'not rejected'}"
        for test in answer.label_shift
    ]
    if answer.method != "none":
        where = "notes" if tests else "y_target="
        yield "Assumption tested by data", " ".join(tests) or _NOT, where


def _row_checks(answer: Any, how: Procedure, notes: Sequence[Note]) -> Iterator[_Line]:
    """Rows, columns and what was decided about them."""
    lost = how.rows - answer.n_train - getattr(answer, "n_learned", 0)
    text = f"{lost:,} of {how.rows:,} (no outcome, or no weight)" if lost else "none"
    yield "Rows of the sample left out", text, "notes" if lost else "n_train"
    gaps = "; ".join(f"{printable(n)}: {a:,} and {b:,}" for n, a, b in how.gaps)
    text = f"{gaps}; filled and marked, or a category" if gaps else "none"
    yield "Missing values, sample and target", text, "notes" if gaps else "X, X_target"
    changed = " ".join(note.text for note in notes if note.kind in _SPOILED)
    nothing = "none noted" if how.encoded else "none"
    yield "Columns left out or changed", changed or nothing, "notes"
    design = how.design or "rows count as drawn one by one"
    yield "Design of the sample", design, "sample_weight=, strata=, cluster="
    if how.shared:
        yield "Target rows in the sample", how.shared, "X_target"
    counted = "counted"
    if answer.method == "weights" and not how.weighter:
        counted = "no: the weights count as known"
    elif how.finite:
        counted = f"no: {'the margins count as exact' if how.margins else 'the whole population'}"
    if answer.method != "none":
        yield "Sampling error of the target", counted, "finite_population="
    if answer._of_groups and how.groups:
        rows = (row for row in answer._numbers if row.group is not None)
        small = min(rows, key=lambda row: row.rows)
        yield "Smallest group", f"{small.rows:,} rows ({printable(small.group)})", "table"
    yield "Interval", f"{100 * answer.confidence:g}%, {answer._errors_word}", "confidence="
    yield "Random seed", str(how.random_state), "random_state="
