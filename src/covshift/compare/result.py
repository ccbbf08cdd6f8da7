"""What a comparison found: one table, one rule, one sentence."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from .._notes import Note
from .._plain import plain

Row = dict[str, Any]

_LOSS_WORDS = {
    "squared_error": "squared error (Brier score for classes)",
    "zero_one": "share of wrong classes",
    "log_loss": "log loss",
}
_COLUMNS = {  # key: heading, width, digits
    "risk": ("risk", 8, 4),
    "standard_error": ("s.e.", 7, 4),
    "gain": ("gain", 8, 4),
    "gain_standard_error": ("s.e.", 7, 4),
    "true_risk": ("truth", 8, 4),
    "effective_sample_size": ("ESS", 7, 0),
    "smd_after": ("balance", 8, 3),
    "gap_after": ("gap", 8, 3),
    "seconds": ("time s", 7, 2),
}
_ALWAYS = ("risk", "standard_error", "gain", "gain_standard_error")


def empty_row(method: str, kind: str, *, note: str = "", control: bool = False) -> Row:
    """Return a row of the table before anything is known of its method."""
    return {
        "method": method,
        "kind": kind,
        "control": control,
        "risk": math.nan,
        "standard_error": math.nan,
        "gain": math.nan,
        "gain_standard_error": math.nan,
        "true_risk": None,
        "effective_sample_size": None,
        "smd_before": None,
        "smd_after": None,
        "gap_before": None,
        "gap_after": None,
        "seconds": None,
        "note": note,
    }


@dataclass(frozen=True)
class Comparison:
    """Estimated target risk of every method, and what follows from it.

    Attributes
    ----------
    rows : list of dict
        One row per method, the unweighted model first: "method", its "kind", "risk" and "gain" over
        the unweighted model with their standard errors, "seconds", a "note", and whether it is a
        "control", another learner without a correction. Where they are known, else None:
        "true_risk" on the target's labels, "effective_sample_size", "smd_before" and "smd_after",
        the mean absolute standardised mean difference; with margins "gap_before" and "gap_after",
        the mean absolute difference from the published numbers, of means in standard deviations.
    needed : float
        Standard errors that a gain must exceed to be clear among so many methods.
    learner : str or None
        The learner that all methods share, where they share one.
    loss : str
    scored_on_target_labels : bool
        Whether there is a true risk. It has no part in the recommendation.
    notes : list of Note
        Each with a "kind", a "severity" and a "text".
    """

    rows: list[Row]
    needed: float
    learner: str | None = None
    loss: str = "squared_error"
    scored_on_target_labels: bool = False
    notes: list[Note] = field(default_factory=list)

    @property
    def best(self) -> str:
        """The method of the lowest estimated risk, whether its gain is clear or not."""
        return str(min(self._able() or self.rows[:1], key=_risk)["method"])

    @property
    def recommended(self) -> str:
        """The best of the methods whose gain is clear, else the unweighted model."""
        return str(min(self._clear() or self.rows[:1], key=_risk)["method"])

    @property
    def recommendation(self) -> str:
        """The recommendation, and the reason for it, in one sentence."""
        baseline, able, clear = self.rows[0], self._able()[1:], self._clear()
        learner = f" ({self.learner})" if self.learner else ""
        if not able:
            return "Keep the unweighted model: nothing could be compared with it."
        if clear:
            return self._use(min(clear, key=_risk), baseline, learner)
        best = min(able, key=_risk)
        if best["gain"] <= 0:
            reason = "no method has a lower estimated target risk"
        else:
            errors = best["gain"] / best["gain_standard_error"]
            compared = f" when {len(able)} methods are compared" if len(able) > 1 else ""
            reason = (
                f"{best['method']}, the best, improves the risk by {best['gain']:.4f} "
                f"({errors:.1f} standard errors), short of the {self.needed:.1f} needed{compared}"
            )
        return f"Keep the unweighted model{learner}: {reason}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a number that could not be found is None."""
        return {
            "learner": self.learner,
            "loss": self.loss,
            "recommended": self.recommended,
            "recommendation": self.recommendation,
            "scored_on_target_labels": self.scored_on_target_labels,
            "needed_standard_errors": plain(self.needed),
            "rows": [{key: plain(value) for key, value in row.items()} for row in self.rows],
            "notes": [asdict(note) for note in self.notes],
        }

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame, without columns that hold nothing."""
        from .._optional import import_extra

        pandas = import_extra("pandas", extra="pandas", needed_by="Comparison.to_frame")
        kept = [key for key in self.rows[0] if any(row[key] not in (None, "") for row in self.rows)]
        return pandas.DataFrame([{key: row[key] for key in kept} for row in self.rows])

    def __str__(self) -> str:
        keys = [
            key
            for key in _COLUMNS
            if key in _ALWAYS or any(row.get(key) is not None for row in self.rows)
        ]
        width = max(15, *(len(row["method"]) for row in self.rows))
        head = " ".join(f"{_COLUMNS[key][0]:>{_COLUMNS[key][1]}s}" for key in keys)
        lines = [self.recommendation, *self._checked(), "", f"{'method':{width}s}  {head}"]
        for row in self.rows:
            mark = "*" if row["method"] == self.recommended else " "
            cells = " ".join(_cell(row.get(key), *_COLUMNS[key][1:]) for key in keys)
            note = f"  {row['note']}" if row.get("note") else ""
            lines.append(f"{row['method']:{width}s}{mark} {cells}{note}")
        return "\n".join([*lines, "", *self._legend(keys)])

    def _legend(self, keys: list[str]) -> list[str]:
        lines = [
            f"risk: {_LOSS_WORDS.get(self.loss, self.loss)} on the target, estimated from held-out "
            "training rows",
            "weighted to look like it; gain: over the unweighted model, with the standard error of "
            "the difference;",
        ]
        if math.isfinite(self.needed) and len(self.rows) > 1:
            lines.append(f"gains of more than {self.needed:.1f} standard errors are clear;")
        if "smd_after" in keys:
            before = self.rows[0]["smd_before"]
            lines.append(
                f"balance: mean absolute standardised mean difference, {before:.3f} before "
                "weighting;"
            )
        if "gap_after" in keys:
            before = self.rows[0]["gap_before"]
            lines.append(
                f"gap: mean absolute difference from the published numbers, {before:.3f} before "
                "weighting;"
            )
        lines.append("* recommended.")
        if self.scored_on_target_labels:
            lines.append("truth: measured on the target's labels, which had no part in the choice.")
        return lines

    def _able(self) -> list[Row]:
        """Rows that can be compared, the baseline first; none where it failed itself."""
        if not math.isfinite(self.rows[0]["risk"]):
            return []
        others = self.rows[1:]
        able = [row for row in others if math.isfinite(row["risk"]) and math.isfinite(row["gain"])]
        return [self.rows[0], *able]

    def _clear(self) -> list[Row]:
        return [
            row
            for row in self._able()[1:]
            if row["gain"] > max(0.0, self.needed * row["gain_standard_error"])
        ]

    def _use(self, best: Row, baseline: Row, learner: str) -> str:
        gain, error = best["gain"], best["gain_standard_error"]
        share = f" ({gain / baseline['risk']:.0%})" if baseline["risk"] > 0 else ""
        control = (
            "; this is a control without correction: the gain comes from the learner, not from the "
            "target"
            if best.get("control")
            else ""
        )
        return (
            f"Use {best['method']}{learner}: its estimated target risk is {best['risk']:.4f} "
            f"against {baseline['risk']:.4f} for the unweighted model, a gain of {gain:.4f}{share} "
            f"with a standard error of {error:.4f}{control}."
        )

    def _checked(self) -> list[str]:
        """Set the recommendation against the truth, where it is known."""
        if not self.scored_on_target_labels:
            return []
        risks = {row["method"]: row["true_risk"] for row in self.rows}
        found, plain = risks[self.recommended], self.rows[0]["true_risk"]
        if found is None or plain is None:
            return []
        if self.recommended == self.rows[0]["method"]:
            return [f"On the target's labels its risk is {plain:.4f}."]
        return [
            f"On the target's labels the risk of {self.recommended} is {found:.4f}, that of the "
            f"unweighted model {plain:.4f}."
        ]


def _risk(row: Row) -> float:
    return float(row["risk"])


def _cell(value: float | None, width: int, digits: int) -> str:
    if value is None or not math.isfinite(value):
        return f"{'-':>{width}s}"
    return f"{value:{width}.{digits}f}"
