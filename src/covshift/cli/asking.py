"""Columns that could be read in two ways, in one message, each with the options that say how."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..encoding.decisions import Answer, Decision, options_of
from ..exceptions import InputError
from ..files.spelling import advice


class Asked(InputError):
    """Columns could be read in two ways: one message with all of them.

    >>> answers = Answer.of("category"), Answer.of("number")
    >>> region = Decision("region", "looks like a code", answers[0], answers[1:], where=(0,))
    >>> print(Asked([region], ("a.csv", "b.csv")))
    One column could be read in two ways:
      a.csv: 'region' looks like a code: --categorical region (read as categories) or --numeric region (read as numbers).
    Without --ask covshift takes the first answer.
    """  # noqa: E501

    def __init__(self, decisions: Sequence[Decision], titles: Sequence[str]) -> None:
        self.decisions = tuple(decisions)
        columns = len({decision.column for decision in self.decisions})
        first = "One column" if columns == 1 else f"{columns} columns"
        lines = [f"{first} could be read in two ways:"]
        lines += [f"  {_listed(decision, titles)}" for decision in self.decisions]
        each = "" if len(self.decisions) == 1 else " of each"
        lines.append(f"Without --ask covshift takes the first answer{each}.")
        super().__init__("\n".join(lines))


def _listed(decision: Decision, titles: Sequence[str]) -> str:
    where = " and ".join(dict.fromkeys(titles[k] for k in decision.where))
    answers = [
        f"{shlex.join(options_of(decision.column, answer))} ({answer.means})"
        for answer in (decision.taken, *decision.others)
    ]
    if decision.numbers and (hint := advice(decision.numbers)):
        answers.append(f"{hint} (read as numbers)")
    return f"{where}: {decision.column!r} {decision.why}: {' or '.join(answers)}."


def doubtful(made: Iterable[Decision], id: str | None) -> list[Decision]:
    """Return what could be decided otherwise; the column ``id`` is copied to the output."""
    found = [one for one in made if not one.certain]
    copied = Answer.of("id")
    return [
        replace(one, taken=copied, others=(Answer.of("drop"), *one.others))
        if one.column == id
        else one
        for one in found
    ]


def found_id(made: Sequence[Decision], *frames: Any) -> str | None:
    """Return the column that identifies rows: text that is whole in both files, or numbers."""
    for name in (one.column for one in made if one.identifies and one.certain):
        if all(len(frame[name].drop_null().unique()) == len(frame) for frame in frames):
            return name
    return next((one.column for one in made if one.identifies and not one.certain), None)
