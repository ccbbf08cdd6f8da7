"""What a comparison found: one table, one rule, one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .._types import Real
from ..exceptions import InputError
from ..registry import NONE
from ..show.answer import Answer
from ..show.notes import Note
from ..show.table import Table
from . import text

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
        The same for a control alone. Whether another learner does better is a question of its own,
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
        """Fit a method, the recommended one unless told otherwise, to all rows that were given.

        Parameters
        ----------
        name : str, optional
            A method of the table.

        Returns
        -------
        fitted estimator
            It predicts rows like X, a data frame where X was one.
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
        return text.recommendation(self)

    @property
    def sentence(self) -> str:
        """The recommendation."""
        return self.recommendation

    @property
    def table(self) -> Table:
        """One row per method, the unweighted model first."""
        return text.table_of(self)

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
        return text.checked(self)

    def _parts(self) -> Iterator[Table | list[str]]:
        yield self.table
        yield text.legend(self)

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
