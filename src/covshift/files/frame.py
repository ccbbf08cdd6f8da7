"""One table as a data frame, categories as they are: what margins are made of or matched to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..exceptions import InputError
from ..show.notes import Note
from .columns import Kind
from .doubtful import find_doubts
from .encoding import count_missing
from .missing import ReadOptions as ReadOptions
from .questions import Asked, Question, answer
from .samples import ColumnOptions
from .table import Table, notes_of, read_table


def read_frame(
    path: str, declared: ColumnOptions, reading: ReadOptions, notes: list[Note]
) -> tuple[Table, Table]:
    """Read the features of one file; `Asked` where that would need a guess."""
    table = read_table(path, declared.kinds(weights=(declared.weight, declared.frequency)), reading)
    named = [*declared.settled(), *declared.roles()]
    _check_there(table, [name for name in named if name not in declared.schema])
    names = [name for name in table.names if name not in declared.roles()]
    if not names:
        raise InputError(f"{table.title} has no column left to summarise.")
    doubts = find_doubts(
        table, table, names, declared=declared.settled(), id=None, has_id=declared.has_id
    )
    notes += [note for note in notes_of(table) if note.kind != "identifiers"]
    notes += doubts.notes
    names = [name for name in names if name not in doubts.left_out]
    asked = {question.column: question for question in doubts.questions}
    found = [_complete(table, name, asked.get(name)) for name in names]
    questions = [question for question in found if question is not None]
    if questions:
        raise Asked(questions)
    return table[names], table


def _complete(table: Table, name: str, asked: Question | None) -> Question | None:
    """Ask about missing values, of which margins know nothing, besides what is asked anyway."""
    drop = answer("drop", name)
    if asked is not None and "--missing" in asked.safest.options[0]:
        return replace(asked, answers=(drop, *asked.answers[1:]))
    lost = count_missing(table.columns[name])[0]
    if not lost or (asked is not None and asked.safest == drop):
        return asked
    values = "value" if lost == 1 else "values"
    doubt = f"has {lost} missing {values}, which margins cannot tell"
    if asked is not None:
        doubt = f"{asked.doubt}, and {doubt}"
    return Question(name, table.title, doubt, (drop,))


def read_known(
    path: str, kinds: Mapping[str, Kind], roles: Mapping[str, Kind], reading: ReadOptions
) -> tuple[Table, Table]:
    """Read the columns of which it is known what they are; others do not belong to the frame.

    ``roles`` are columns besides, such as weights.
    """
    table = read_table(path, {**kinds, **roles}, reading)
    _check_there(table, roles)
    return table[[name for name in table.names if name in kinds]], table


def _check_there(table: Table, names: Any) -> None:
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise InputError(
            f"{table.title} has no column {absent[0]!r}. Its columns are: "
            f"{', '.join(map(repr, table.names))}."
        )
