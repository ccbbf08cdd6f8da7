"""What every question returns: a sentence, a table, notes and facts, to print, store and draw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..exceptions import InputError
from .notes import Note, plain
from .table import Table, card, paragraph, wrapped
from .words import percent

_SAME = "that, given these columns, the outcome behaves the same in both groups."
_ASSUMED = f"{_SAME} This cannot be checked without outcomes from the target."
ASSUMPTION = f"Assumes {_ASSUMED}"
OF_CORRECTIONS = f"Any correction assumes {_ASSUMED}"
"""What stands under an answer that corrects nothing yet, such as a diagnosis or weights."""

LEVEL = 0.01  # of the test of it with outcomes of target rows


def as_tested(rows: int, p_values: Sequence[float]) -> str:
    """Say what outcomes of target rows say of the assumption: those that do not make the answer.

    >>> as_tested(60, [0.47])[-61:]
    'Outcomes of 60 target rows do not contradict this (p = 0.47).'
    """
    said = "contradict" if min(p_values) < LEVEL else "do not contradict"
    tests = ", ".join(f"p = {p:.2g}" for p in p_values)
    return f"Assumes {_SAME} Outcomes of {rows:,} target rows {said} this ({tests})."


OF_LABELS = (
    "The interval rests on the outcomes of target rows: these rows must have been chosen at "
    "random, or with the probabilities given."
)
"""What stands under an answer with outcomes of target rows."""

OF_CLASSES = (
    "Assumes that, within each class, the columns behave the same in both groups (label shift)."
)
"""What stands under an answer by class shares, before what the test says of it."""

_FEW, _LARGE = 0.1, 50.0  # effective rows, as a share of the rows; a weight, in units of the mean


def few_rows(effective: float | None, rows: int, largest: float | None = None) -> str:
    """Say that few of the rows carry their weights; nothing where many do.

    >>> few_rows(12.3, 500)
    'Few rows carry the weights: effective sample size 12 of 500 rows (2.5%).'
    >>> few_rows(250.0, 500, largest=4.0)
    ''
    """
    if effective is None or (effective >= _FEW * rows and (largest or 0.0) <= _LARGE):
        return ""
    heavy = "" if largest is None else f", largest weight {largest:,.0f} times the mean"
    return (
        f"Few rows carry the weights: effective sample size {effective:,.0f} of {rows:,} rows "
        f"({100 * effective / rows:.2g}%){heavy}."
    )


def extrapolates(unlike: float) -> str:
    """Say that an answer is extrapolated for a share of the target; nothing where it is zero.

    >>> extrapolates(0.12)[:51]
    '12% of the target rows are unlike all training rows'
    """
    if not unlike:
        return ""
    return (
        f"{percent(unlike)} of the target rows are unlike all training rows. Predictions for them "
        "are extrapolated, which the interval does not account for. Outcomes of a few of them "
        "would check this."
    )


def caution_of(answer: Any, *, weighted: bool) -> str:
    """Say first that few rows carry the weights, where these decide, or that it is extrapolated."""
    few = ""
    if weighted:
        few = few_rows(answer.effective_sample_size, answer.n_train, answer.largest_weight)
    return f"{few} {extrapolates(answer.unlike_share)}".strip()


class Answer:
    """Base of the results of `estimate`, `evaluate`, `diagnose`, comparisons and conformal models.

    A subclass says what it found: `sentence`, `table`, ``notes``, the names of its facts in
    ``_facts`` and of further data in ``_data``, and the ``_parts`` that follow the sentence. How
    that is printed, shown in a notebook and stored is the same for all.
    """

    _facts: ClassVar[tuple[str, ...]] = ()
    _data: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:

        @property
        def table(self) -> Table: ...

        @property
        def notes(self) -> Sequence[Note]: ...

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        raise NotImplementedError

    @property
    def caution(self) -> str:
        """What is to be read first: few rows carry the weights, or many are unlike the target's."""
        return ""

    @property
    def assumption(self) -> str:
        """What the answer rests on, and the data cannot show; empty where there is nothing."""
        return ""

    def _asked_of(self, what: str) -> Any:
        """What the answer was computed from, for a further question ``what`` about it."""
        source = getattr(self, "_source", None)
        if source is None:
            raise InputError(
                f"{what} needs the rows that the answer was made from, which are not kept in "
                "files. Ask again, before you store the answer."
            )
        return source

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what the answer was computed from."""
        return {name: value for name, value in vars(self).items() if name != "_source"}

    @property
    def facts(self) -> dict[str, Any]:
        """What else is known, by its name: numbers and words."""
        return {name: getattr(self, name) for name in self._facts}

    def _below(self) -> Iterable[str]:
        """Lines that belong to the sentence."""
        return ()

    def _parts(self) -> Iterator[Table | list[str]]:
        """Tables and lines of text, in the order in which they are read."""
        yield self.table

    def __str__(self) -> str:
        parts = [
            [self.sentence, *wrapped(_lines(self.caution)), *wrapped(self._below())],
            *([str(part)] if isinstance(part, Table) else wrapped(part) for part in self._parts()),
            wrapped(f"{note.severity.title()}: {note}" for note in self.notes),
            wrapped(_lines(self.assumption)),
        ]
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    def _repr_html_(self) -> str:
        parts = (part if isinstance(part, Table) else paragraph(part) for part in self._parts())
        first = paragraph([*_lines(self.caution), *self._below()])
        below = paragraph(_lines(self.assumption))
        return card(self.sentence, first, *parts, below, notes=self.notes)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.sentence}>"

    def to_dict(self) -> dict[str, Any]:
        """Return sentence, facts, tables and notes as plain data for JSON.

        Numbers that are not finite become None. Weights and flags of single rows are left out.
        """
        data = {name: getattr(self, name) for name in self._data}
        found: dict[str, Any] = plain(
            {
                "sentence": self.sentence,
                **({"caution": self.caution} if self.caution else {}),
                **({"assumption": self.assumption} if self.assumption else {}),
                **self.facts,
                **data,
                "notes": self.notes,
            }
        )
        return found

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame."""
        return self.table.to_frame()

    def plot(self) -> Any:
        """Draw the answer, where there is a picture of it; needs matplotlib."""
        raise NotImplementedError(f"There is no picture of {type(self).__name__}.")


def _lines(text: str) -> list[str]:
    return [text] if text else []
