"""From options to samples: both files read, decided about and encoded; told on stderr."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..exceptions import InputError
from . import console
from .options import Columns, Roles

if TYPE_CHECKING:
    from ..data import Samples
    from ..encoding.decisions import Decision
    from ..files.declared import ColumnOptions
    from ..files.samples import TwoFiles
    from ..show.notes import Note

C = TypeVar("C", bound=Columns)
R = TypeVar("R", bound=Roles)
_FIELDS = {"category": "categorical", "number": "numeric", "drop-unlabelled": "drop_unlabelled"}


def with_decisions(options: C, decisions: Sequence[Decision]) -> C:
    """Take what was decided about columns as if it were options."""
    more: dict[str, Any] = {"decided": (*options.decided, *decisions)}
    for one in decisions:
        for kind, value in one.taken.steps:
            name = _FIELDS.get(kind, kind)
            named = f"{one.column}={value}" if kind in ("missing", "date") else one.column
            before = more.get(name, getattr(options, name))
            if isinstance(before, bool):
                more[name] = True
            elif isinstance(before, tuple):
                more[name] = before if named in before else (*before, named)
            else:
                more[name] = value or named
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
    from ..files.declared import ColumnOptions
    from ..files.reading import named_dates, named_levels

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
        ask=options.ask,
        schema=() if known is None else tuple(known.columns),
        missing_in=tuple(options.reading().missing_in),
        **more,
    )


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

    declared = column_options(
        options,
        label=named if label else None,
        unread=() if label or named is None else (("--label", named),),
        task=getattr(options, "task", None),
        drop_unlabelled=getattr(options, "drop_unlabelled", False),
        **{name: getattr(options, name) for name in _ROLES},
        **more,
    )
    samples = read_samples(options.train, options.target, declared, options.reading(), alone=alone)
    options = with_decisions(options, samples.decisions)
    notes = samples.notes
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
