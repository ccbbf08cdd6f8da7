"""What a comparison found: one table, one rule, one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..exceptions import InputError
from ..numerics.array import Real
from ..registry import NONE
from ..show.answer import ASSUMPTION, Answer
from ..show.notes import Note
from ..show.table import Cell, Column, Table

Row = dict[str, Any]


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
        "gain_over_control": None,
        "gain_over_control_standard_error": None,
        "true_risk": None,
        "effective_sample_size": None,
        "smd_before": None,
        "smd_after": None,
        "gap_before": None,
        "gap_after": None,
        "seconds": None,
        "note": note,
    }


@dataclass(frozen=True, repr=False)
class Comparison(Answer):
    """Estimated target risk of every method, and what follows from it.

    Attributes
    ----------
    rows : list of dict
        One row per method, the unweighted model first: "method", its "kind", "risk" and "gain" over
        the unweighted model with their standard errors, "seconds", a "note", and whether it is a
        "control", another learner without a correction. Where they are known, else None:
        "gain_over_control", of a correction of another learner over that learner's control, with
        its standard error; "true_risk" on the target's labels, "effective_sample_size",
        "smd_before" and "smd_after", the mean absolute standardised mean difference; with margins
        "gap_before" and "gap_after", the mean absolute difference from the published numbers, of
        means in standard deviations.
    needed : float
        Standard errors that a gain must exceed to be clear among so many methods.
    learner : str or None
        The learner that all methods share, where they share one.
    loss : str
    scored_on_target_labels : bool
        Whether there is a true risk. It has no part in the recommendation.
    notes : list of Note
        Each with a "kind", a "severity" and a "text".
    needed_by_control : float, optional
        The same for a control alone. Whether another learner does better is a separate question,
        asked once: the number of corrections has no part in it. Default: as ``needed``.
    rows_compared : object
        The rows, for `fit` and `weights`.
    """

    rows: list[Row]
    needed: float
    learner: str | None = None
    loss: str = "squared_error"
    scored_on_target_labels: bool = False
    notes: list[Note] = field(default_factory=list)
    needed_by_control: float | None = None
    rows_compared: Any = field(default=None, repr=False, compare=False)

    def fit(self, name: str | None = None) -> Any:
        """Fit a method, the recommended one by default, to all rows that were given.

        Parameters
        ----------
        name : str, optional
            A method of the table.

        Returns
        -------
        fitted estimator
            It predicts rows like X, a data frame where X was one. That of a learner leaves out
            columns that are not features.
        """
        name = self.recommended if name is None else name
        names = [row["method"] for row in self.rows]
        if name not in names:
            raise InputError(f"{name!r} was not compared. Use one of {', '.join(names)}.")
        return self._compared().fit(name)

    def weights(self, name: Any = None) -> Real:
        """Weights (N,) of the training rows by a weighter: factors on ``sample_weight``, mean one.

        Parameters
        ----------
        name : str or weighter, optional
            A name or an object of `covshift.weights`; default: the weighter of the held-out rows.
        """
        found: Real = self._compared().weights(name)
        return found

    def _compared(self) -> Any:
        if self.rows_compared is None:
            raise InputError("This comparison holds no rows: call covshift.compare again.")
        return self.rows_compared

    _data: ClassVar[tuple[str, ...]] = ("rows",)

    @property
    def best(self) -> str:
        """The method of the lowest estimated risk, whether its gain is clear or not."""
        return str(min(self.able() or self.rows[:1], key=_risk)["method"])

    @property
    def recommended(self) -> str:
        """The best of the methods whose gain is clear, else the unweighted model.

        A correction of another learner has to be clearly better than that learner's control: else
        the gain is the learner's, and the control is recommended.
        """
        best = min(self.clear() or self.rows[:1], key=_risk)
        return str((self.level_control(best) or best)["method"])

    @property
    def recommendation(self) -> str:
        """The recommendation, and the reason for it, in one sentence."""
        able, clear = self.able()[1:], self.clear()
        if not able:
            return "Keep the unweighted model: nothing could be compared with it."
        if clear:
            return _use(min(clear, key=_risk), self)
        learner = f" ({self.learner})" if self.learner else ""
        best = min(able, key=_risk)
        return f"Keep the unweighted model{learner}: {self._short_of(best, len(able))}."

    def _short_of(self, best: Row, able: int) -> str:
        """Say why the best of the methods is not good enough."""
        gain, error, needed = best["gain"], best["gain_standard_error"], self.needed_for(best)
        if gain <= 0:
            which = "no method has a" if able > 1 else f"{best['method']} has no"
            return f"{which} lower estimated target risk"
        if gain < _LEVEL * error:
            return f"no method improves on it; {best['method']}, the best, is about as good"
        errors, limit = _apart(gain / error, needed)
        several = able > 1 and needed == self.needed
        compared = f" when {able} methods are compared" if several else ""
        return (
            f"{best['method']}, the best, improves the risk by {self.scale.words(gain)} "
            f"({errors} s.e.), short of the {limit} needed{compared}"
        )

    @property
    def sentence(self) -> str:
        """The recommendation."""
        return self.recommendation

    @property
    def scale(self) -> Scale:
        """How risks and gains are written."""
        return Scale.of(self.rows[0]["risk"])

    @property
    def assumption(self) -> str:
        """What all risks on the target rest on; true risks have no part in the recommendation."""
        return ASSUMPTION

    @property
    def table(self) -> Table:
        """One row per method, the unweighted model first; the recommended one stands out."""
        columns = [
            Column(heading, lambda row, key=key: _cell(row.get(key), key, self.scale))
            for key, heading in _HEADINGS.items()
            if key in _ALWAYS or any(row.get(key) is not None for row in self.rows)
        ]
        if any(row.get("note") for row in self.rows):
            columns.append(Column("note", lambda row: row["note"], words=True))
        chosen = {k for k, row in enumerate(self.rows) if row["method"] == self.recommended}
        method = Column("method", lambda row: row["method"], words=True)
        return Table(tuple(self.rows), (method, *columns), chosen=chosen)

    @property
    def facts(self) -> dict[str, Any]:
        """What was compared, and what to use."""
        return {
            "learner": self.learner,
            "loss": self.loss,
            "recommended": self.recommended,
            "recommendation": self.recommendation,
            "scored_on_target_labels": self.scored_on_target_labels,
            "needed_standard_errors": self.needed,
        }

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame, without columns that hold nothing."""
        kept = [key for key in self.rows[0] if any(row[key] not in (None, "") for row in self.rows)]
        return self.table.to_frame()[kept]

    def _below(self) -> list[str]:
        """Set the recommendation against the truth, where it is known."""
        risks = {row["method"]: row.get("true_risk") for row in self.rows}
        name, first = self.recommended, self.rows[0]["method"]
        chosen, plain = risks[name], risks[first]
        if not self.scored_on_target_labels or chosen is None or plain is None:
            return []
        if name == first:
            return [f"On the target's labels its risk is {self.scale.words(plain)}."]
        return [
            f"On the target's labels the risk of {name} is {self.scale.words(chosen)}, that of the "
            f"unweighted model {self.scale.words(plain)}."
        ]

    def _parts(self) -> Iterator[Table | list[str]]:
        yield self.table
        yield legend(self)

    def able(self) -> list[Row]:
        """Rows that can be compared, the baseline first; none where it failed itself."""
        if not math.isfinite(self.rows[0]["risk"]):
            return []
        others = self.rows[1:]
        able = [row for row in others if math.isfinite(row["risk"]) and math.isfinite(row["gain"])]
        return [self.rows[0], *able]

    def clear(self) -> list[Row]:
        """Rows of the methods whose gain is clear."""
        return [
            row
            for row in self.able()[1:]
            if row["gain"] > max(0.0, self.needed_for(row) * row["gain_standard_error"])
        ]

    def level_control(self, row: Row) -> Row | None:
        """Return the control that a correction of its learner is not clearly better than.

        None for all other rows, and where the control's own gain is not clear.
        """
        name = control_of(row["method"])
        gain, error = row.get("gain_over_control"), row.get("gain_over_control_standard_error")
        if name == row["method"] or gain is None or error is None:
            return None
        if gain > max(0.0, self.needed * error):
            return None
        return next((other for other in self.clear() if other["method"] == name), None)

    def needed_for(self, row: Row) -> float:
        """Standard errors that the gain of a row must exceed to be clear."""
        control = row.get("control") and self.needed_by_control is not None
        return float(self.needed_by_control if control else self.needed)  # type: ignore[arg-type]


def control_of(method: str) -> str:
    """Name of the control of a method's learner: another learner without a correction.

    >>> control_of("vsvm:blended"), control_of("cdf")
    ('vsvm:none', ':none')
    """
    learner, colon, _ = method.partition(":")
    return f"{learner if colon else ''}:{NONE}"


def _risk(row: Row) -> float:
    return float(row["risk"])


# A comparison in words: what to use and why, then the table.


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


def _use(best: dict[str, Any], comparison: Comparison) -> str:
    control = best if best.get("control") else comparison.level_control(best)
    used = control or best
    before, learner, words = comparison.rows[0]["risk"], comparison.learner, comparison.scale.words
    sizes = [f"{used['gain'] / before:.0%}"] if before > 0 else []
    sizes += _errors(used["gain"], used["gain_standard_error"])
    written = f" ({', '.join(sizes)})" if sizes else ""
    told = (
        f"the estimated risk on the target is {words(used['risk'])}, that of the unweighted model "
        f"{words(before)}: better by {words(used['gain'])}{written}"
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


def legend(comparison: Comparison) -> list[str]:
    """Say what every column is, one per line."""
    headings, word = comparison.table.head, comparison.scale.word
    loss = LOSS_WORDS.get(comparison.loss, comparison.loss)
    lines = [
        f"risk{f' in {word}s' if word else ''}: {loss} on the target, estimated from held-out "
        "training rows that are weighted to look like it",
        f"gain: over the unweighted model{_clear(comparison)}",
        "s.e.: standard error, by which the number before it may be off by chance",
    ]
    if comparison.scored_on_target_labels:
        lines.append("truth: risk on the target's labels, which had no part in the choice")
    if "ESS" in headings:
        lines.append("ESS: after weighting, as precise as this many equally weighted rows")
    for key, heading, what in (
        ("smd", "balance", "mean absolute standardised difference of the columns' means"),
        ("gap", "gap", "mean absolute difference from the published numbers"),
    ):
        if heading in headings:
            before = comparison.rows[0][f"{key}_before"]
            lines.append(f"{heading}: {what}, {before:.3f} before weighting")
    return [*lines, "*: recommended"]


def _clear(comparison: Comparison) -> str:
    """Say from where on a gain is clear, where several methods were compared."""
    if not math.isfinite(comparison.needed) or len(comparison.rows) < 2:
        return ""
    alone = comparison.needed_by_control
    control = alone is not None and any(row.get("control") for row in comparison.rows)
    other = f" (of another learner without a correction, beyond {alone:.1f})" if control else ""
    return f"; clear beyond {comparison.needed:.1f} s.e.{other}"


def _cell(value: float | None, key: str, scale: Scale) -> Cell:
    if value is None or not math.isfinite(value):
        return Cell("-")
    return Cell(_FORMATS[key].format(value) if key in _FORMATS else scale.number(value), value)
