"""The comparison of methods that a report may hold: plain data, checked before it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..comparison.text import LOSS_WORDS, Scale
from ..exceptions import InputError
from ..show.table import Column, Table, number

_TEXTS = ("loss", "recommended", "recommendation")
_NUMBERS = (
    "risk",
    "standard_error",
    "gain",
    "gain_standard_error",
    "true_risk",
    "effective_sample_size",
    "smd_before",
    "smd_after",
    "gap_before",
    "gap_after",
    "seconds",
)


def checked(comparison: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows; a missing or wrong entry is an error that names it."""
    missing = [key for key in (*_TEXTS, "scored_on_target_labels", "rows") if key not in comparison]
    if missing:
        raise InputError(
            f"comparison lacks {', '.join(map(repr, missing))}. Pass what covshift compare found."
        )
    rows = [_row(row, at) for at, row in enumerate(comparison["rows"])]
    return {
        **{key: str(comparison[key]) for key in _TEXTS},
        "learner": str(comparison.get("learner") or ""),
        "table": _table(comparison, rows),
        "notes": _notes(rows),
    }


def _table(comparison: Mapping[str, Any], rows: list[dict[str, Any]]) -> Table:
    """Return one row per method; the recommended one stands out."""
    form, published = _form(rows), any(row["gap_before"] is not None for row in rows)
    gained, scored = (any(row[key] is not None for row in rows) for key in ("gain", "true_risk"))
    heads = [
        ("risk", "risk", form),
        ("standard_error", "std. error", form),
        *([("gain", "gain", form), ("gain_standard_error", "std. error", form)] if gained else []),
        *([("true_risk", "true risk", form)] if scored else []),
        ("effective_sample_size", "as precise as", "{:,.0f}"),
        ("gap_after", "gap left", "{:.3f}") if published else ("smd_after", "SMD left", "{:.3f}"),
        ("seconds", "seconds", "{:.1f}"),
    ]
    columns = (
        Column(head, lambda row, key=key, form=form: number(row[key], form))
        for key, head, form in heads
    )
    chosen = {k for k, row in enumerate(rows) if row["method"] == str(comparison["recommended"])}
    return Table(
        rows,
        (Column("method", lambda row: row["method"], words=True), *columns),
        "Methods",
        _about(comparison, rows),
        chosen,
    )


def _about(comparison: Mapping[str, Any], rows: list[dict[str, Any]]) -> str:
    """Say what the columns are, and what was used."""
    learner, loss = comparison.get("learner"), str(comparison["loss"])
    needed = _needed(comparison.get("needed_standard_errors"), len(rows))
    used = (
        "Labels of the target were used for the column of the true risk alone."
        if comparison["scored_on_target_labels"]
        else "No labels of the target were used."
    )
    return (
        (f"Learner: {learner}. " if learner else "")
        + f"Risk: {LOSS_WORDS.get(loss, loss)} on the target, estimated from held-out training "
        "rows that are weighted to look like it. Gain: over the unweighted model"
        + (f"; it is clear beyond {needed:.1f} standard errors" if needed else "")
        + ". Std. error: by how much the number before it may be off by chance. "
        + f"{used} {_balance(rows)} Recommended: {comparison['recommended']}."
    )


def _row(row: Mapping[str, Any], at: int) -> dict[str, Any]:
    if "method" not in row or "risk" not in row:
        raise InputError(f"comparison: row {at} lacks 'method' or 'risk'.")
    found: dict[str, Any] = {key: str(row.get(key, "")) for key in ("method", "kind", "note")}
    for key in _NUMBERS:
        value = row.get(key)
        if value is not None and (isinstance(value, str) or not isinstance(value + 0.0, float)):
            raise InputError(f"comparison: {key}={value!r} in row {at} is not a number.")
        found[key] = None if value is None else float(value)
    return found


def _needed(value: Any, rows: int) -> float | None:
    return float(value) if rows > 1 and isinstance(value, int | float) else None


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
