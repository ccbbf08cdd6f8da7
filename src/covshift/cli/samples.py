"""From options to samples: both files read, decided about and encoded; told on stderr."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Container
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..exceptions import InputError
from . import console
from .options import Columns, Roles

if TYPE_CHECKING:
    from ..data import Samples
    from ..files.samples import ColumnOptions, TwoFiles
    from ..show.notes import Note

C = TypeVar("C", bound=Columns)
R = TypeVar("R", bound=Roles)
_ROUNDS = 4  # a decision may lead to another one, but not for ever


def decided(options: C, read: Callable[[C], Any]) -> tuple[C, Any]:
    """Return what ``read`` makes of the options, with the safest decision on each doubtful column.

    With --ask they are listed instead, each with the options that change it.
    """
    from ..files.questions import Asked

    piped = "-" in (getattr(options, "train", ""), getattr(options, "target", ""))
    data = sys.stdin.buffer.read() if piped and not options.ask else b""
    for _ in range(_ROUNDS):
        if data:  # each round reads it again
            sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
        try:
            return options, read(options)
        except Asked as asked:
            if options.ask:
                raise InputError(str(asked)) from None
            options = with_decisions(options, asked.questions)
    raise InputError("Too many columns could be read in two ways. Add --ask to see them.")


def with_decisions(options: C, questions: Any) -> C:
    """Take the safest answers as if they were options."""
    more: dict[str, Any] = {"decided": (*options.decided, *questions)}
    for answer in dict.fromkeys(question.safest.options for question in questions):
        words = iter(answer)
        for word in words:
            flag, _, value = word.partition("=")
            name = flag.removeprefix("--").replace("-", "_")
            before = more.get(name, getattr(options, name))
            if isinstance(before, bool):
                more[name] = True
            else:
                value = value or next(words)
                more[name] = (*before, value) if isinstance(before, tuple) else value
    return replace(options, **more)


_ROLES = ("id", "weight", "target_weight", "frequency", "target_frequency")
_OF_TARGET = ("target_label", "trained_on")
_OTHERS = ("label", "by", "strata", "cluster", "denominator", "score", "prediction", "batch")


def with_schema(options: C) -> C:
    """Take what the options do not say from the schema file."""
    if options.schema is not None:
        options = _completed(options, options.schema)
    return options


def _completed(options: C, path: str) -> C:
    from ..files.reading import named_dates, named_levels
    from ..files.schema import read_schema

    schema = read_schema(path)
    roles = (getattr(options, role, None) for role in (*_ROLES, *_OTHERS, *_OF_TARGET))
    told = {
        *named_dates(options.date),
        *named_levels(options.ordered),
        *getattr(options, "outcome", ()),
    }
    told |= {*options.numeric, *options.categorical, *options.drop, *options.keep, *roles}
    more: dict[str, Any] = {"known_reading": schema.reading}
    dropped = []
    for name, part in schema.columns.items():
        taken = _taken(options, part.role, name)
        more |= taken or {}
        dropped += [name] if taken is None and name not in told else []
    columns = {name: part for name, part in schema.columns.items() if name not in told}
    more |= {"known": replace(schema, columns=columns), "drop": (*options.drop, *dropped)}
    if getattr(options, "task", "") is None:
        more["task"] = schema.task
    if hasattr(options, "drop_unlabelled"):
        more["drop_unlabelled"] = options.drop_unlabelled or schema.drop_unlabelled
    return replace(options, **more)


def _taken(options: Columns, role: str, name: str) -> dict[str, Any] | None:
    """Give a column the role of the schema; None where the command lacks or has another."""
    if role == "feature":
        return {}
    role = "outcome" if role == "label" and hasattr(options, "outcome") else role
    now = getattr(options, role, "")
    if isinstance(now, tuple):
        return {role: now or (name,)} if name in (now or (name,)) else None
    return {role: name} if now in (None, name) else None


def column_options(options: Columns, **more: Any) -> ColumnOptions:
    """Return what the user says about columns; ``more`` are further fields."""
    from ..files.reading import named_dates, named_levels
    from ..files.samples import ColumnOptions

    known = options.known

    def of_schema(kind: str) -> list[str]:
        return [] if known is None else known.of_kind(kind)

    levels = {} if known is None else {n: known.columns[n].levels for n in of_schema("ordered")}
    return ColumnOptions(
        numeric=(*options.numeric, *of_schema("number")),
        categorical=(*options.categorical, *of_schema("category")),
        date=(*named_dates(options.date), *of_schema("date")),
        ordered={**levels, **named_levels(options.ordered)},
        boolean=tuple(of_schema("boolean")),
        drop=options.drop,
        season=options.season,
        keep=options.keep,
        decided=tuple(part.column for part in options.decided if part.safest.leaves_out),
        schema=() if known is None else tuple(known.columns),
        missing_in=tuple(options.reading().missing_in),
        **more,
    )


def decisions_of(options: Columns) -> list[Note]:
    """Say what was decided about columns that could be read in two ways."""
    of_rows = ("--drop-unlabelled",)  # of which the rows' own note tells how many these are
    return [part.note() for part in options.decided if part.safest.options != of_rows]


def samples_of(
    options: R,
    *,
    label: bool | str = True,
    repeated: bool = True,
    alone: bool = False,
    quiet: Container[Note] = (),
    **more: Any,
) -> tuple[R, TwoFiles]:
    """Read the two files, and print what is worth knowing about them, but for ``quiet`` notes.

    Return the options with what was decided as well. ``label`` may be its name; without it the
    column of that name is left out unread. Rows are ``repeated`` by their frequencies. Where the
    training file is there ``alone``, named twice, nothing is said of it as a target. ``more`` are
    further fields of `ColumnOptions`.
    """
    from ..files.samples import read_samples

    refuse_margins_file(options.target)
    named = label if isinstance(label, str) else getattr(options, "label", None)

    def read(known: R) -> TwoFiles:
        given = {name: getattr(known, name) for name in _ROLES}
        declared = column_options(
            known,
            label=named if label else None,
            unread=() if label or named is None else (("--label", named),),
            task=getattr(known, "task", None),
            drop_unlabelled=getattr(known, "drop_unlabelled", False),
            **given,
            **more,
        )
        return read_samples(known.train, known.target, declared, known.reading(), alone=alone)

    options, samples = decided(options, read)
    notes = [*decisions_of(options), *samples.notes]
    if alone:
        notes = list(dict.fromkeys(note for note in notes if note.kind != "target labels"))
    samples = replace(samples, notes=notes)
    console.tell(*(note for note in notes if note not in quiet))
    options = replace(options, id=samples.id_name)  # which may have been found
    return options, samples.repeated() if repeated else samples


def encoded(samples: TwoFiles, y: Any, options: Roles) -> Samples:
    """Return the samples as the library takes them, with what the options name.

    The groups are a feature where both files have them, as they are for two data frames.
    """
    from ..data import Samples

    strata, cluster = (getattr(options, name, None) for name in ("strata", "cluster"))
    both = samples.target_groups is not None
    return Samples.of(
        samples.X,
        y,
        samples.X_target,
        by=(samples.groups, samples.target_groups) if both else samples.groups,
        by_name=getattr(options, "by", None) if both else None,
        sample_weight=samples.weight,
        target_weight=samples.target_weight,
        encoder=samples.encoding.encoder,
        left_out=samples.unused,
        strata=None if strata is None else samples.beside[strata],
        cluster=None if cluster is None else samples.beside[cluster],
    )


def numbers_of(samples: TwoFiles) -> Samples:
    """Return both samples as the diagnosis takes them: without rows of weight zero."""
    weights = {"sample_weight": samples.weight, "target_weight": samples.target_weight}
    return all_rows(samples, left_out=samples.unused, **weights)


def all_rows(samples: TwoFiles, **more: Any) -> Samples:
    """Return both samples as numbers with their names."""
    from ..data import Samples

    encoder = samples.encoding.encoder
    return Samples.of_rows(samples.X, samples.X_target, encoder=encoder, ordered=False, **more)


def refuse_margins_file(path: str) -> None:
    """Refuse a file of margins where a command needs target rows."""
    from ..margins.files import is_margins_file

    if is_margins_file(path):
        raise InputError(
            f"{path} holds margins, and this command needs rows of the target. Margins are enough "
            "for `covshift compare`, which estimates the loss of models on the target, and for "
            "`weigh`, whose weights any scorer takes."
        )


# Outcomes of target rows: a column of the target, or a file that ``covshift plan`` wrote.


def is_file_of_labels(name: str | None) -> bool:
    """Whether --target-outcome names a file, and no column."""
    return name is not None and Path(name).suffix != "" and Path(name).is_file()


def labels_of_target(
    samples: TwoFiles, options: Roles, name: str, outcome: str, probability: str | None
) -> tuple[Any, Any]:
    """Outcomes of target rows (M,) as text, None where unknown, and their chances or None."""
    if is_file_of_labels(name):
        if probability is not None:
            raise InputError(f"{name} has probabilities: leave out --target-probability.")
        return _filled_in(samples, options, name, outcome)
    return samples.target_beside[name], chances_of_target(samples, probability)


def chances_of_target(samples: TwoFiles, name: str | None) -> list[float | None] | None:
    """Chances with which target rows were chosen, where a column of them is named."""
    from ..files.labels import read_numbers

    if name is None:
        return None
    return read_numbers(samples.target_beside[name], name, "--target-probability")


def _filled_in(samples: TwoFiles, options: Roles, path: str, outcome: str) -> tuple[Any, Any]:
    """Read the rows of a plan, of which outcomes were filled in."""
    import numpy as np

    from ..files.labels import read_numbers
    from ..files.table import read_table

    needed = ("row", outcome, "probability")
    table = read_table(path, dict.fromkeys(needed, "category"), options.reading())
    absent = [name for name in needed if name not in table.columns]
    if absent:
        raise InputError(
            f"{path} has no column {absent[0]!r}. A file for --target-outcome is one that covshift "
            "plan wrote, with outcomes filled in; for a column of the target, name the column."
        )
    rows, chances = (
        read_numbers(table[name], name, "--target-outcome") for name in ("row", "probability")
    )
    places: dict[float, list[int]] = {}
    for k, place in enumerate(samples.target_rows.tolist()):
        places.setdefault(place + 1, []).append(k)
    cells = np.full(len(samples.X_target), None, dtype=object)
    found, seen = np.ones(len(cells)), set()
    for row, cell, chance in zip(rows, table[outcome], chances, strict=True):
        if row not in places:
            what = "a row has no number" if row is None else f"{options.target} has no row {row:g}"
            raise InputError(f"{path}: {what}. Leave the column row as covshift plan wrote it.")
        if chance is None:
            raise InputError(f"{path}: the row {row:g} has no probability.")
        if row in seen:
            raise InputError(f"{path}: the row {row:g} stands there twice. Keep one.")
        seen.add(row)
        cells[places[row]], found[places[row]] = cell, chance
    return cells, found.tolist()
