"""The comparison of methods that a report may hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..comparison.result import LOSS_WORDS, Comparison, Scale, empty_row
from ..show.notes import plain
from ..show.table import Column, Table, number


def comparison_of(comparison: Comparison) -> dict[str, Any]:
    """Return what the page shows."""
    nothing = plain(empty_row("", ""))
    rows = [nothing | row for row in comparison.to_dict()["rows"]]
    return {
        "recommendation": comparison.recommendation,
        "table": _comparison_table(comparison, rows),
        "notes": _notes(rows),
    }


def _comparison_table(comparison: Comparison, rows: list[dict[str, Any]]) -> Table:
    """Return one row per method; the recommended one stands out."""
    form, published = _form(rows), any(row["gap_before"] is not None for row in rows)
    gained, scored = (any(row[key] is not None for row in rows) for key in ("gain", "true_risk"))
    heads = [
        ("risk", "risk", form),
        ("standard_error", "std. error", form),
        *([("gain", "gain", form), ("gain_standard_error", "std. error", form)] if gained else []),
        *([("true_risk", "true risk", form)] if scored else []),
        ("effective_sample_size", "eff. rows", "{:,.0f}"),
        ("gap_after", "gap left", "{:.3f}") if published else ("smd_after", "SMD left", "{:.3f}"),
        ("seconds", "seconds", "{:.1f}"),
    ]
    columns = (
        Column(head, lambda row, key=key, form=form: number(row[key], form))
        for key, head, form in heads
    )
    chosen = {k for k, row in enumerate(rows) if row["method"] == comparison.recommended}
    return Table(
        rows,
        (Column("method", lambda row: row["method"], words=True), *columns),
        "Methods",
        _about(comparison, rows),
        chosen,
    )


def _about(comparison: Comparison, rows: list[dict[str, Any]]) -> str:
    """Say what the columns are, and what was used."""
    learner, loss, needed = comparison.learner, comparison.loss, comparison.needed
    used = (
        "Labels of the target were used for the column of the true risk alone."
        if comparison.scored_on_target_labels
        else "No labels of the target were used."
    )
    clear = len(rows) > 1 and np.isfinite(needed)
    return (
        (f"Learner: {learner}. " if learner else "")
        + f"Risk: {LOSS_WORDS.get(loss, loss)} on the target, estimated from held-out training "
        "rows that are weighted to look like it. Gain: over the unweighted model"
        + (f"; it is clear beyond {needed:.1f} standard errors" if clear else "")
        + ". Std. error: by how much the number before it may be off by chance. "
        + f"{used} {_balance(rows)} Recommended: {comparison.recommended}."
    )


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    """Every note once, after the methods that it is about."""
    about: dict[str, list[str]] = {}
    for row in rows:
        if row["note"]:
            about.setdefault(row["note"], []).append(row["method"])
    return [f"{', '.join(methods)}: {note}" for note, methods in about.items()]


def _balance(rows: list[dict[str, Any]]) -> str:
    """What the column on balance holds, and what it was before weighting."""
    for key, what in (
        ("gap", "Gap left: mean absolute difference from the published numbers"),
        ("smd", "SMD left: mean absolute standardised mean difference of the columns"),
    ):
        before = next(
            (row[f"{key}_before"] for row in rows if row[f"{key}_before"] is not None), None
        )
        if before is not None:
            return f"{what}, {before:.3f} before weighting."
    return ""


def _form(rows: list[dict[str, Any]]) -> str:
    """How risks and gains are written: as many decimals as the first risk needs for four digits."""
    scale = Scale.of(rows[0]["risk"] if rows else None)
    return "{:,.0f}" if scale.unit > 1 else scale.form
