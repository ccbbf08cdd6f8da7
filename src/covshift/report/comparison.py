"""The comparison of methods that a report may hold: plain data, checked before it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..comparison.text import LOSS_WORDS, Scale
from ..exceptions import InputError

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
        "scored_on_target_labels": bool(comparison["scored_on_target_labels"]),
        "rows": rows,
        "loss_words": LOSS_WORDS.get(str(comparison["loss"]), str(comparison["loss"])),
        "needed": _needed(comparison.get("needed_standard_errors"), len(rows)),
        "form": _form(rows),
        "notes": _notes(rows),
        "balance": _balance(rows),
        "gained": any(row["gain"] is not None for row in rows),
        "published": any(row["gap_before"] is not None for row in rows),
        "scored": any(row["true_risk"] is not None for row in rows),
    }


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
