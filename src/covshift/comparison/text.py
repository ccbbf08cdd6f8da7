"""A comparison in words: what to use and why, then the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..show.table import Cell, Column, Table

if TYPE_CHECKING:
    from .result import Comparison

LOSS_WORDS = {
    "squared_error": "squared error (Brier score for classes)",
    "zero_one": "share of wrong classes",
    "log_loss": "log loss",
}
_HEADINGS = {
    "risk": "risk",
    "standard_error": "s.e.",
    "gain": "gain",
    "gain_standard_error": "s.e.",
    "true_risk": "truth",
    "effective_sample_size": "ESS",
    "smd_after": "balance",
    "gap_after": "gap",
    "seconds": "time s",
}
_FORMATS = {
    "effective_sample_size": "{:,.0f}",
    "smd_after": "{:.3f}",
    "gap_after": "{:.3f}",
    "seconds": "{:,.2f}",
}  # of the others: as the risks are written
_ALWAYS = ("risk", "standard_error", "gain", "gain_standard_error")
_DIGITS = 4  # of the unweighted model's risk
_MOST_DECIMALS = 8
_UNITS = {1e6: "million", 1e9: "billion", 1e12: "trillion"}
_LEVEL = 0.05  # standard errors that are written as 0.0
_LARGEST = 1e15  # from which a unit helps no more


@dataclass(frozen=True)
class Scale:
    """How all risks and gains of a table are written: four digits of the first, and no more.

    >>> [Scale.of(risk).words(risk) for risk in (129071.6878, 23.14104, 0.13754, 489798608.2)]
    ['129,072', '23.14', '0.1375', '489.8 million']
    """

    unit: float
    word: str  # of the unit, or none
    form: str

    @classmethod
    def of(cls, risk: float | None) -> Scale:
        """Return the scale for numbers like this one."""
        if risk is None or not math.isfinite(risk) or risk == 0:
            return cls(1.0, "", "{:,.4f}")
        size = abs(risk)
        unit = max((unit for unit in _UNITS if size >= unit), default=1.0)
        decimals = _DIGITS - 1 - math.floor(math.log10(size / unit))
        if size >= _LARGEST or decimals > _MOST_DECIMALS:
            return cls(1.0, "", "{:.3e}")
        return cls(unit, _UNITS.get(unit, ""), f"{{:,.{max(decimals, 0)}f}}")

    def number(self, value: float) -> str:
        """Write a number without its unit."""
        return self.form.format(value / self.unit)

    def words(self, value: float) -> str:
        """Write a number for a sentence."""
        return f"{self.number(value)} {self.word}".strip()


def recommendation(found: Comparison) -> str:
    """Say what to use, and why, in one sentence."""
    baseline, able, clear = found.rows[0], found.able()[1:], found.clear()
    learner = f" ({found.learner})" if found.learner else ""
    if not able:
        return "Keep the unweighted model: nothing could be compared with it."
    if clear:
        return _use(min(clear, key=_risk), found)
    best = min(able, key=_risk)
    if best["gain"] <= 0:
        reason = "no method has a lower estimated target risk"
    elif best["gain"] < _LEVEL * best["gain_standard_error"]:
        reason = f"no method improves on it; {best['method']}, the best, is level with it"
    else:
        needed = found.needed_for(best)
        errors, limit = _apart(best["gain"] / best["gain_standard_error"], needed)
        several = len(able) > 1 and needed == found.needed
        compared = f" when {len(able)} methods are compared" if several else ""
        reason = (
            f"{best['method']}, the best, improves the risk by {_written(best['gain'], baseline)} "
            f"({errors} s.e.), short of the {limit} needed{compared}"
        )
    return f"Keep the unweighted model{learner}: {reason}."


def _use(best: dict[str, Any], found: Comparison) -> str:
    control = best if best.get("control") else found.level_control(best)
    used = control or best
    baseline, learner = found.rows[0], found.learner
    risk, before, gain = (
        _written(value, baseline) for value in (used["risk"], baseline["risk"], used["gain"])
    )
    sizes = [f"{used['gain'] / baseline['risk']:.0%}"] if baseline["risk"] > 0 else []
    sizes += _errors(used["gain"], used["gain_standard_error"])
    written = f" ({', '.join(sizes)})" if sizes else ""
    told = (
        f"the estimated risk on the target is {risk}, that of the unweighted model {before}: "
        f"better by {gain}{written}"
    )
    if control is None:
        return f"Use {used['method']}{f' ({learner})' if learner else ''}: {told}."
    return (
        f"Use {used['method'].partition(':')[0]} without a correction ({used['method']}) in place "
        f"of {learner or 'this learner'}: {told}. The learner helps, not the "
        f"correction{_level(best)}."
    )


def _level(best: dict[str, Any]) -> str:
    """Say why a correction that looks best is not recommended; nothing for a control."""
    if best.get("control"):
        return ""
    errors = _errors(best["gain_over_control"], best["gain_over_control_standard_error"])
    told = f" ({errors[0]})" if errors else ""
    return f": {best['method']} is not clearly better than that{told}"


def _errors(gain: float, error: float) -> list[str]:
    """Write a gain in standard errors; nothing where it has none."""
    return [f"{gain / error:.1f} s.e."] if error > 0 else []


def _apart(errors: float, needed: float) -> tuple[str, str]:
    """Write a number below another one so that a reader sees that it is below."""
    for decimals in (1, 2, 3):
        rounded = f"{errors:.{decimals}f}", f"{needed:.{decimals}f}"
        if rounded[0] != rounded[1]:
            break
    return rounded


def table_of(found: Comparison) -> Table:
    """Return one row per method; the recommended one stands out."""
    scale = Scale.of(found.rows[0]["risk"])
    columns = [
        Column(heading, lambda row, key=key: _cell(row.get(key), key, scale))
        for key, heading in _HEADINGS.items()
        if key in _ALWAYS or any(row.get(key) is not None for row in found.rows)
    ]
    if any(row.get("note") for row in found.rows):
        columns.append(Column("note", lambda row: row["note"], words=True))
    names = [row["method"] for row in found.rows]
    return Table(
        tuple(found.rows),
        (Column("method", lambda row: row["method"], words=True), *columns),
        chosen={names.index(found.recommended)},
    )


def legend(found: Comparison) -> list[str]:
    """Say what every column is, one per line."""
    headings = table_of(found).head
    word = Scale.of(found.rows[0]["risk"]).word
    lines = [
        f"risk{f' in {word}s' if word else ''}: {LOSS_WORDS.get(found.loss, found.loss)} on the "
        "target, estimated from held-out training rows that are weighted to look like it",
        f"gain: over the unweighted model{_clear(found)}",
        "s.e.: standard error, by which the number before it may be off by chance",
    ]
    if found.scored_on_target_labels:
        lines.append("truth: risk on the target's labels, which had no part in the choice")
    if "ESS" in headings:
        lines.append("ESS: after weighting, as precise as this many equally weighted rows")
    for key, heading, what in (
        ("smd", "balance", "mean absolute standardised difference of the columns' means"),
        ("gap", "gap", "mean absolute difference from the published numbers"),
    ):
        if heading in headings:
            before = found.rows[0][f"{key}_before"]
            lines.append(f"{heading}: {what}, {before:.3f} before weighting")
    return [*lines, "*: recommended"]


def _clear(found: Comparison) -> str:
    """Say from where on a gain is clear, where several methods were compared."""
    if not math.isfinite(found.needed) or len(found.rows) < 2:
        return ""
    alone = found.needed_by_control
    control = alone is not None and any(row.get("control") for row in found.rows)
    other = f" (of another learner without a correction, beyond {alone:.1f})" if control else ""
    return f"; clear beyond {found.needed:.1f} s.e.{other}"


def checked(found: Comparison) -> list[str]:
    """Set the recommendation against the truth, where it is known."""
    if not found.scored_on_target_labels:
        return []
    baseline = found.rows[0]
    risks = {row["method"]: row["true_risk"] for row in found.rows}
    chosen, plain = risks[found.recommended], baseline["true_risk"]
    if chosen is None or plain is None:
        return []
    if found.recommended == baseline["method"]:
        return [f"On the target's labels its risk is {_written(plain, baseline)}."]
    return [
        f"On the target's labels the risk of {found.recommended} is {_written(chosen, baseline)}, "
        f"that of the unweighted model {_written(plain, baseline)}."
    ]


def _written(value: float, baseline: dict[str, Any]) -> str:
    return Scale.of(baseline["risk"]).words(value)


def _risk(row: dict[str, Any]) -> float:
    return float(row["risk"])


def _cell(value: float | None, key: str, scale: Scale) -> Cell:
    if value is None or not math.isfinite(value):
        return Cell("-")
    return Cell(_FORMATS[key].format(value) if key in _FORMATS else scale.number(value), value)
