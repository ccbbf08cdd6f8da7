"""Training rows as learners see them, beside the margins that stand for the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..comparison.target import MarginRows
from ..data.row_weights import RowWeights, row_weights
from ..diagnostics.margins import diagnose_margins, margins_corrected
from ..diagnostics.margins_result import MarginsDiagnosis
from ..encoding.decide import decide
from ..exceptions import InputError
from ..files.columns import Kind
from ..files.declared import ColumnOptions
from ..files.frame import read_frame as open_file
from ..files.one_file import cells_of, repeats_of, weights_of
from ..files.questions import Asked, doubtful
from ..files.reading import ReadOptions, named_dates
from ..files.samples import TwoFiles
from ..files.table import Table, column_of, notes_of, open_stream, read_table, table_of
from ..margins import Margins
from ..margins.cells import OTHER, Categories, Margin, level_of
from ..margins.sample import KnownRows
from ..margins.target_rows import Made
from ..numerics.array import Rows
from ..registry import MARGINS, listed, weighters
from ..show.notes import Note
from . import console
from .options import Roles, spelled
from .samples import samples_of
from .targets import NO_OVERLAP


@dataclass(frozen=True)
class MarginSamples:
    """Encoded training rows, and the margins beside what they know of these rows."""

    samples: TwoFiles  # its target rows are the training rows again, and mean nothing
    margins: Margins
    frame: Table  # the columns that the margins know, one row for each of the samples'

    @property
    def columns(self) -> list[Made]:
        """What each column of the encoded rows holds."""
        return self.samples.encoding.encoder.made

    def take(self, rows: Rows) -> MarginSamples:
        """Keep some of the training rows."""
        return replace(self, samples=self.samples.take(rows), frame=self.frame.take(rows))

    def read(self) -> MarginRows:
        """Return the rows as margins read them; rows in no cell are an error."""
        known = KnownRows.of(self.margins, self.frame, "this command")
        names = self.samples.encoding.names
        free = tuple(name for name in names if name not in self.margins.columns)
        return MarginRows(replace(known, free=free), self.columns)

    def diagnosis(self) -> MarginsDiagnosis:
        """Compare the rows with the margins; warn loudly where they do not overlap."""
        known, own, _ = self._there()
        diagnosis = diagnose_margins(known, weight=own)
        if diagnosis.verdict == "no overlap":
            console.warn(NO_OVERLAP)
        return diagnosis

    def diagnosis_weighted(
        self, diagnosis: MarginsDiagnosis, method: str, seed: int
    ) -> MarginsDiagnosis:
        """Show the published numbers under the weights of another weighter."""
        known, own, there = self._there()
        w = self.weighed(method, seed)[there]
        return margins_corrected(diagnosis, known, own, w if own is None else w * own, method)

    def _there(self) -> tuple[KnownRows, Any, Rows]:
        """Rows of positive weight, their weights, and which they are."""
        known, weight = self.read().known, self.samples.weight
        there = np.flatnonzero(np.ones(len(known)) if weight is None else weight)
        return known.rows(there), None if weight is None else weight[there], there

    def weighed(self, method: str, seed: int) -> Any:
        """Weights (N,) by the weighter of this name, factors on those of the design."""
        from ..comparison.methods import fit_weights

        given = None, seed, self.samples.weight
        return fit_weights(method, self.frame, None, self.margins, *given).weights_


def read_margin_samples(options: Roles) -> MarginSamples:
    """Read the training rows, encoded by themselves, and the margins."""
    if options.train == "-":
        raise InputError("With margins the training rows must be a file, not standard input (-).")
    label = getattr(options, "label", None)
    margins = margins_of(options, beside=() if label is None else (label,))
    console.tell(*margins.notes)
    reading = options.reading()
    with open_stream(options.train, {}, reading) as stream:
        _refuse_absent(margins, stream.names, options)
    kinds = kinds_of(margins, options)
    levels = [name for name, kind in kinds.items() if kind == "category"]
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    own = replace(
        options,
        categorical=tuple(dict.fromkeys([*options.categorical, *levels])),
        numeric=tuple(dict.fromkeys([*options.numeric, *numbers])),
        target=options.train,  # a sample that is its own target: encoded by its own levels
    )
    _, samples = samples_of(own, alone=True, every_level=True)
    _refuse_absent(margins, samples.encoding.names, options)
    for feature in samples.encoding.features:
        part = margins.margin(feature.name)
        if part is not None and isinstance(part.cells, Categories):
            _check_levels(part, feature.name, feature.levels)
    free = [name for name in samples.encoding.names if name not in margins.columns]
    if free:
        shown = ", ".join(map(repr, free[:8])) + (" ..." if len(free) > 8 else "")
        console.note(f"no margin covers {shown}: these columns are not corrected.")
    frame, _ = read_known(options.train, kinds, {}, reading)
    return MarginSamples(samples, margins, frame.take(samples.rows))


def _refuse_absent(margins: Margins, names: Sequence[str], options: Roles) -> None:
    absent = [name for name in margins.columns if name not in names]
    if absent:
        raise InputError(
            f"The margins have {', '.join(map(repr, absent))}, which are not features of "
            f"{options.train}. Leave them out of the margins, or rename them."
        )


def _check_levels(part: Margin, name: str, levels: tuple[str, ...]) -> None:
    cells, seen = part.cells, {level_of(level) for level in levels}
    assert isinstance(cells, Categories)
    for level, share in zip(cells.levels, part.share, strict=True):
        if level not in seen and level != OTHER and share > 0:
            console.warn(
                f"{share:.2%} of the target has {name} = {level!r}, but no training row does."
            )
    unknown = cells.unknown(seen)
    if unknown:
        raise InputError(
            f"The column {name!r} has {', '.join(map(repr, unknown[:5]))}, and the margins have "
            f"{', '.join(map(repr, cells.levels[:5]))}. Spell them the same way, or give the "
            "margins a category '(other)'."
        )


# Training rows beside a file of margins: the columns that these know, and some others.


def margins_of(
    options: Roles, weighter: str | None = None, *, beside: tuple[str, ...] = ()
) -> Margins:
    """Read the margins, without columns that --drop names or that stand ``beside`` the features.

    A ``weighter`` that needs target rows is refused.
    """
    able = [entry.name for entry in weighters() if MARGINS in entry.can]
    if weighter not in (None, *able):
        raise InputError(
            f"The weighter {weighter!r} needs rows of the target, and {options.target} holds "
            f"margins. Use {listed(able)}."
        )
    _refuse_target_weights(options)
    margins = Margins.from_json(options.target)
    outside = [name for name in margins.columns if name in (*options.drop, *beside)]
    if not outside:
        return margins
    named = ", ".join(map(repr, outside))
    console.note(f"the margins of {named} are not used: no features, or dropped.")
    kept = [name for name in margins.columns if name not in outside]
    if not kept:
        raise InputError(f"{options.target} has no margin besides those of {named}.")
    return margins.select(kept)


def kinds_of(margins: Margins, options: Roles) -> dict[str, Kind]:
    """Say what each column of the margins is read as."""
    kinds: dict[str, Kind] = {}
    dates = named_dates(options.date)
    for name in margins.columns:
        margin = margins.margin(name)
        category = margin is not None and isinstance(margin.cells, Categories)
        number: Kind = "date" if name in dates else "number"
        kinds[name] = "category" if category else number
    return kinds


@dataclass(frozen=True)
class TrainingRows:
    """Rows of a file, each as often as it was seen; rows of weight zero are not there."""

    frame: Table  # of the columns that the margins know
    table: Table  # the whole file
    weights: RowWeights  # of the frame's rows
    again: Rows  # row of the file that each row of the frame is


def training_rows(options: Roles, margins: Margins, roles: Mapping[str, Any]) -> TrainingRows:
    """Read the columns that the margins know, as what the margins say they are.

    ``roles`` are columns besides, with their kinds; --weight, --frequency and --id are read as
    well.
    """
    kinds = kinds_of(margins, options)
    roles = dict(roles)
    roles |= {name: "number" for name in (options.weight, options.frequency) if name is not None}
    if options.id is not None:
        roles[options.id] = "text"
    frame, table = read_known(options.train, kinds, roles, options.reading())
    console.tell(*notes_of(table))
    named = getattr(options, "label", None)
    for option, name in (("--label", named), *(("--drop", name) for name in options.drop)):
        if name is not None and name not in (
            *table.names,
            *Margins.from_json(options.target).columns,
        ):
            raise InputError(f"{options.train} has no column {name!r}, which {option} names.")
    beside = {*kinds, *roles, *options.drop, *([named] if named else [])}
    free = [name for name in table.names if name not in beside]
    if free:
        shown = ", ".join(map(repr, free[:8])) + (" ..." if len(free) > 8 else "")
        console.note(f"no margin covers {shown}: the weights do not correct these columns.")
    weight, again = weights_of(table, options.weight), repeats_of(table, options.frequency)
    again = np.arange(len(frame)) if again is None else again
    weights = row_weights(len(again), None if weight is None else weight[again])
    rows = np.flatnonzero(weights.kept)
    again, weights = again[rows], weights.take(rows)
    return TrainingRows(frame.take(again), table, weights, again)


def _refuse_target_weights(options: Roles) -> None:
    """Refuse weights and sheets of target rows where the target is a file of margins."""
    for name in ("target_weight", "target_frequency", "target_sheet"):
        if getattr(options, name) is not None:
            raise InputError(f"{spelled(name)} is for target rows, and margins have none.")


# One table: what margins are made of, or matched to.


def read_frame(
    path: str, declared: ColumnOptions, reading: ReadOptions
) -> tuple[Table, Table, list[Note]]:
    """Read the features of one file, with notes; `Asked` on request, where they need decisions."""
    kinds = declared.kinds(weights=(declared.weight, declared.frequency))
    read = open_file(path, replace(reading, kinds=kinds))
    table = table_of(read, kinds)
    named = [*declared.settled(), *declared.roles()]
    _check_there(table, [name for name in named if name not in declared.schema])
    names = [name for name in table.names if name not in declared.roles()]
    if not names:
        raise InputError(f"{table.title} has no column left to summarise.")
    cells = {name: cells_of(name, read[name]) for name in names}
    titles = table.title, table.title
    made = decide(cells, cells, declared.settled(), titles=titles, mending=True)
    decisions = doubtful(made, None)
    if decisions and declared.ask:
        raise Asked(decisions, titles)
    columns = {name: table.columns[name] for name in made.train}
    for name in {one.column for one in decisions} & columns.keys():
        columns[name] = column_of(made.train[name], made.kinds.get(name))
    notes = [*notes_of(table), *(note.of_command() for note in made.notes)]
    return replace(table, columns=columns), table, notes


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
