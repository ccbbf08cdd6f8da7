"""What a paper says of an answer: a methods section, and what a referee asks.

Both are made from the answer and a `Procedure`, the plain facts of the run that made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from ..show.notes import Note, distinct, plain
from ..show.table import Column, Table
from .checklist import checks
from .methods_text import MethodsText
from .procedure import Procedure


class Reportable:
    """What estimates and evaluations say for a paper.

    Examples
    --------
    >>> from covshift import estimate
    >>> found = estimate([[0.0], [1.0]] * 30, [0.0, 1.0] * 30, [[0.0], [1.0], [1.0]] * 20)
    >>> print(found.methods_text().partition(".")[0])
    We estimated the share of rows with y = 1 in the target population
    >>> print(next(line["finding"] for line in found.checklist() if "odds" in line["item"]))
    not checked
    """

    _source: Any
    _evaluates: ClassVar[bool]
    _method_words: ClassVar[dict[str, str]]

    @property
    def _numbers(self) -> Table:
        answer: Any = self
        table: Table = answer.table.where(method=answer.method)
        return table

    @property
    def _of_groups(self) -> bool:
        return any(row.group is not None for row in self._numbers)

    @cached_property
    def _procedure(self) -> Procedure:
        asked: Any = self
        made: Procedure = asked._asked_of("methods_text").procedure()
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Keep the facts of the run in place of its rows."""
        found: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**found, "_procedure": self._procedure} if self._knows_procedure else found

    @property
    def _knows_procedure(self) -> bool:
        return self._source is not None or "_procedure" in vars(self)

    def methods_text(self) -> str:
        """Write the methods section of a paper: what was done here, with references.

        Returns
        -------
        str
            Paragraphs, and the list of works that they cite. It is plain text, and Markdown too.
        """
        return MethodsText(self).text()

    def checklist(self) -> Table:
        """Return what a referee asks: the item, what was found, and where to look.

        What was not checked is a line too, with the call that would check it.
        """
        return self._checklist()

    def _checklist(self, before: Sequence[Note] = ()) -> Table:
        """The same, with notes on the columns from ``before`` the answer, as on files."""
        answer: Any = self
        notes = distinct([*before, *answer.notes])
        columns = (
            Column("item", lambda line: line["item"], words=True, wrap=25),
            Column("finding", lambda line: line["finding"], words=True, wrap=40),
            Column("where to look", lambda line: line["where"], words=True, wrap=22),
        )
        keys = ("item", "finding", "where")
        return Table([dict(zip(keys, line, strict=True)) for line in checks(self, notes)], columns)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON, without weights and flags of single rows."""
        found: dict[str, Any] = super().to_dict()  # type: ignore[misc]
        if self._knows_procedure:
            found |= {"methods_text": self.methods_text(), "checklist": plain(self.checklist())}
        return found
