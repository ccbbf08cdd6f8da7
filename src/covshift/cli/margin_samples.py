"""Training rows as learners see them, beside the margins that stand for the target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data import Samples
from ..data.row_weights import RowWeights, check_weight, repeated, row_weights
from ..diagnostics.margins import diagnose_margins, margins_corrected
from ..diagnostics.margins_result import MarginsDiagnosis
from ..encoding.cells import Cells, CellTable, read_cells
from ..encoding.decide import decide
from ..encoding.words import as_numbers
from ..exceptions import InputError
from ..files.frame import about, notes_of, open_frame, read_frame
from ..files.reading import named_dates
from ..files.spelling import Kind
from ..files.values import floats_of, holds_numbers
from ..margins import Margins
from ..margins.cells import OTHER, Categories, Margin, level_of
from ..margins.sample import KnownRows
from ..numerics.array import Real, Rows
from ..registry import MARGINS, listed, weighters
from ..show.notes import Note
from . import console
from .asking import Asked
from .frames import declared_kinds, read_files
from .labels import Labelled, labelled_samples, unlabelled
from .options import Roles, spelled
from .targets import NO_OVERLAP


def diagnosis_beside(both: Samples) -> MarginsDiagnosis:
    """Compare the rows with their margins; warn loudly where they do not overlap."""
    known, own, _ = _weighty(both)
    diagnosis = diagnose_margins(known, weight=own)
    if diagnosis.verdict == "no overlap":
        console.warn(NO_OVERLAP)
    return diagnosis


def diagnosis_weighted(
    both: Samples, diagnosis: MarginsDiagnosis, method: str, seed: int
) -> MarginsDiagnosis:
    """Show the published numbers under the weights of another weighter."""
    known, own, rows = _weighty(both)
    w = weights_beside(both, method, seed)[rows]
    return margins_corrected(diagnosis, known, own, w if own is None else w * own, method)


def weights_beside(both: Samples, method: str, seed: int) -> Any:
    """Weights (N,) by the weighter of this name, factors on those of the design."""
    from ..comparison.methods import fit_weights

    assert both.known is not None
    given = None, seed, both.d if both.weighted else None
    return fit_weights(method, both.known.table, None, both.margins, *given).weights_


def _weighty(both: Samples) -> tuple[KnownRows, Any, Rows]:
    """Rows of positive weight, their weights, and which they are; those in no cell are refused."""
    assert both.known is not None
    known = KnownRows.of(both.known.margins, both.known.table, "this command")
    rows = np.flatnonzero(both.d > 0)
    return known.rows(rows), both.d[rows] if both.weighted else None, rows


def samples_beside(options: Roles) -> Labelled:
    """Read the training rows, encoded by themselves, beside the margins that are their target."""
    if options.train == "-":
        raise InputError("With margins the training rows must be a file, not standard input (-).")
    label = getattr(options, "label", None)
    margins = margins_of(options, beside=() if label is None else (label,))
    console.tell(*margins.notes)
    with open_frame(options.train, options.reading()) as stream:
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
    files = read_files(own, alone=True)
    if label is None:
        samples = unlabelled(*files.samples(every_level=True))
    else:
        samples = labelled_samples(files, every_level=True)
    both = samples.both.as_given()
    rules = () if both.encoder is None else both.encoder.features_
    names = [rule.name for rule in rules]
    _refuse_absent(margins, names, options)
    for rule in rules:
        part = margins.margin(rule.name)
        if part is not None and isinstance(part.cells, Categories):
            _check_levels(part, rule.name, rule.levels)
    _tell_free([n for n in names if n not in margins.columns], "nothing corrects these")
    frame = files.sample.select(margins.columns).take(samples.lines("sample"))
    return replace(samples, both=replace(both, known=KnownRows.inside_or_not(margins, frame)))


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

    file: Any  # pyarrow.Table: all columns, each row once
    known: list[str]  # columns that the margins know
    again: Rows  # row of the file that each row is
    weights: RowWeights  # of these rows

    @property
    def frame(self) -> Any:
        """The columns that the margins know."""
        return self.file.select(self.known).take(self.again)

    def ids(self, name: str) -> Any:
        """Cells of a column of text, a row of the file each."""
        return np.array(self.file[name].to_pylist(), dtype=object)

    def column(self, name: str) -> Any:
        """Cells of a column: numbers, NaN where one is missing, or a list of text."""
        cells = self.file[name].take(self.again)
        return floats_of(cells) if holds_numbers(cells.type) else cells.to_pylist()


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
    file = read_frame(options.train, replace(options.reading(), kinds={**kinds, **roles}))
    said, names = about(file), file.column_names
    _check_there(said.title, names, roles)
    console.tell(*notes_of(said))
    label = getattr(options, "label", None)
    published = Margins.from_json(options.target).columns
    for option, name in (("--label", label), *(("--drop", name) for name in options.drop)):
        if name is not None and name not in (*names, *published):
            raise InputError(f"{options.train} has no column {name!r}, which {option} names.")
    beside = {*kinds, *roles, *options.drop, label}
    _tell_free([name for name in names if name not in beside], "the weights do not correct these")
    weight, again = weights_of(file, options)
    weights = row_weights(len(again), weight)
    rows = np.flatnonzero(weights.kept)
    known = [name for name in names if name in kinds]
    return TrainingRows(file, known, again[rows], weights.take(rows))


def weights_of(frame: Any, options: Any) -> tuple[Real | None, Rows]:
    """Return the rows, each as often as --frequency says, and their weights, if --weight is."""
    title, again = about(frame).title, np.arange(len(frame))
    weight, counts = (
        None if name is None else check_weight(floats_of(frame[name]), len(frame), flag, of=title)
        for name, flag in (
            (options.weight, f"{title}, column {options.weight!r}: --weight"),
            (options.frequency, f"{title}, column {options.frequency!r}: --frequency"),
        )
    )
    if counts is not None:
        name = f"{title}, column {options.frequency!r}: --frequency"
        again = repeated(counts, len(frame), name, of=title, weight="--weight")
    return None if weight is None else weight[again], again


def _tell_free(names: list[str], what: str) -> None:
    if names:
        shown = ", ".join(map(repr, names[:8])) + (" ..." if len(names) > 8 else "")
        console.note(f"no margin covers {shown}: {what} columns.")


def _refuse_target_weights(options: Roles) -> None:
    """Refuse weights and sheets of target rows where the target is a file of margins."""
    for name in ("target_weight", "target_frequency", "target_sheet"):
        if getattr(options, name) is not None:
            raise InputError(f"{spelled(name)} is for target rows, and margins have none.")


def _check_there(title: str, columns: Sequence[str], names: Iterable[str]) -> None:
    absent = [name for name in names if name not in columns]
    if absent:
        raise InputError(
            f"{title} has no column {absent[0]!r}. Its columns are: "
            f"{', '.join(map(repr, columns))}."
        )


# One table, of which margins are made.


def read_features(options: Any, roles: Mapping[str, Kind]) -> tuple[Any, CellTable, list[Note]]:
    """Read a file: its frame, its features as they were decided to be, and notes.

    ``roles`` are columns that are not features. `Asked` on request, where they need decisions.
    """
    declared, reading = declared_kinds(options), options.reading()
    frame = read_frame(options.table, replace(reading, kinds={**declared, **roles}))
    title = about(frame).title
    known = () if options.known is None else options.known.columns
    settled = {*declared, *options.keep, *options.season}
    named = [name for name in (*settled, *roles, *options.drop) if name not in known]
    _check_there(title, frame.column_names, named)
    beside = {*roles, *options.drop}
    names = [name for name in frame.column_names if name not in beside]
    if not names:
        raise InputError(f"{title} has no column left to summarise.")
    cells = read_cells(frame.select(names), title)
    made = decide(cells, cells, settled, titles=(title, title), mending=True)
    decisions = [one for one in made.made if not one.certain]
    if decisions and options.ask:
        raise Asked(decisions, (title, title))
    columns = {name: _taken_as(part, made.kinds.get(name)) for name, part in made.train.items()}
    notes = [*notes_of(about(frame)), *(note.of_command() for note in made.notes)]
    return frame, CellTable(columns), notes


def _taken_as(cells: Cells, kind: str | None) -> Cells:
    if kind == "number" and cells.is_text:
        return Cells(cells.name, "number", as_numbers(cells))
    return cells.as_text() if kind == "category" else cells
