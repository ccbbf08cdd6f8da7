"""Two files as frames, or one beside margins, and the samples that the library makes of them."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..show.notes import Note
from . import console
from .columns import (
    BY_VALUE,
    check_named,
    declared_kinds,
    kinds_of,
    kinds_of_files,
    roles_of,
    schema_notes,
    unread_notes,
)
from .options import Roles, spelled

if TYPE_CHECKING:
    from ..data import Samples
    from ..encoding.decisions import Decision
    from ..files.frame import About
    from ..margins import Margins


@dataclass(frozen=True)
class Files:
    """Two files as frames, with all their columns, or one frame and margins."""

    sample: Any  # pyarrow.Table
    target: Any  # the same, or Margins
    options: Roles
    roles: Mapping[str, tuple[str, ...]]  # columns by the option's field
    alone: bool = False  # whether there is a sample alone, which stands for the target too
    notes: tuple[Note, ...] = ()  # which `samples` tells
    decisions: tuple[Decision, ...] = ()
    id: str | None = None  # column that identifies rows, named or found
    kept: Any = None  # lines of the sample's file that are here; None: all

    @property
    def margins(self) -> Margins | None:
        """The target, where it is margins."""
        from ..data.validation import is_margins

        return self.target if is_margins(self.target) else None

    @property
    def titles(self) -> tuple[str, str]:
        """Names of the files, for messages."""
        from ..files.frame import about

        there = self.options.target if self.margins is not None else about(self.target).title
        return about(self.sample).title, there

    def rows(self, whose: str) -> Any:
        """Numbers of the rows of a file, each as often as it was seen."""
        import numpy as np

        from ..data.row_weights import repeated
        from ..files.frame import about
        from ..files.values import floats_of

        frame, there = getattr(self, whose), "" if whose == "sample" else "target_"
        counts = self.roles.get(f"{there}frequency")
        if counts is None:
            return self._lines(whose)
        cells, names = floats_of(frame[counts[0]]), (f"{there}frequency", f"{there}weight")
        again = repeated(cells, len(frame), names[0], of=about(frame).title, weight=names[1])
        return again[np.isin(again, self._lines(whose))]

    def _lines(self, whose: str) -> Any:
        """Lines of a file that are there; beside margins those of weight zero are not."""
        import numpy as np

        from ..files.values import floats_of

        frame, weight = getattr(self, whose), self.options.weight
        if self.margins is None or weight is None:
            return np.arange(len(frame))
        return np.flatnonzero(floats_of(frame[weight]) != 0)

    def cells(self, whose: str, name: str) -> Any:
        """Cells of a column, each as often as its row was seen: NumPy's numbers, or objects."""
        import numpy as np

        from ..files.values import floats_of, holds_numbers

        column = getattr(self, whose)[name]
        if holds_numbers(column.type):
            return floats_of(column)[self.rows(whose)]
        return np.array(column.to_pylist(), dtype=object)[self.rows(whose)]

    def ids(self, whose: str) -> Any:
        """What identifies the lines of a file as text, or None; tell where some are repeated."""
        import numpy as np

        from ..encoding.cells import spelled
        from ..files.frame import about

        frame = getattr(self, whose)
        if self.id is None or self.id not in frame.column_names:
            return None
        found = np.array([spelled(cell) for cell in frame[self.id].to_pylist()], dtype=object)
        repeated = len(found) - len({*found})
        if repeated:
            where = f"{about(frame).title}: {repeated} values of the id column {self.id!r}"
            console.tell(Note("repeated ids", f"{where} are repeated."))
        return found

    def decided(self, names: Iterable[str], categories: bool | None) -> Files:
        """Decide about outcomes of numbers and words: words become gaps, or all are categories."""
        from ..encoding.cells import read_cells
        from ..encoding.decide import taken
        from ..encoding.outcomes import outcome_decision
        from ..files.arrays import numbers

        sample, found = self.sample, []
        for name in names:
            cells = read_cells(sample.select([name]), name)[name]
            decision = outcome_decision(cells, categories) if cells.is_text else None
            if decision is None:
                continue
            found.append(decision)
            if decision.taken.steps[0][0] == "missing":
                values = taken(decision, (cells, cells))[0].values
                place = sample.column_names.index(name)
                sample = sample.set_column(place, name, numbers(values))
        return replace(self, sample=sample, decisions=(*self.decisions, *found))

    def samples(
        self,
        y: Any = None,
        *,
        hidden: Iterable[str] = (),
        quiet: Container[Note] = (),
        finite_population: bool = False,
        learners: bool = False,
        outside: bool = False,
        **given: Any,
    ) -> tuple[Files, Samples]:
        """Return what the library makes of the frames, and print what is worth knowing of it.

        ``y`` names outcomes, ``hidden`` are columns of the target that are not looked at, and
        ``given`` are further arguments of `Samples.of`. Beside margins the samples have the columns
        that these know, or all of them for ``learners``; then rows may lie ``outside`` of brackets.
        """
        from ..data import Samples
        from ..data.validation import Target
        from .asking import Asked, doubtful, found_id

        options, margins = self.options, self.margins
        given = {"sample_weight": options.weight, **given}
        named = {*given.get("beside", {}).values(), *given.get("beside_target", {}).values()}
        sample, target = self._features({*([y] if isinstance(y, str) else y or ()), *named}, hidden)
        if margins is not None:
            sample = sample.take(self._lines("sample"))
        if margins is not None and learners:
            from ..comparison.target import beside_margins

            kinds = kinds_of(options, sample, sample)
            more = {"frequency": options.frequency, "outside": outside, **given}
            made = beside_margins(margins, sample, y, kinds, **more)
        elif margins is not None:
            counts = options.frequency, None
            made = Samples.of(sample, y, Target(margins, finite_population), counts=counts, **given)
        else:
            made = Samples.of(
                sample,
                y,
                Target(target, finite_population, kinds=kinds_of(options, sample, target)),
                target_weight=options.target_weight,
                counts=(options.frequency, options.target_frequency),
                **given,
            )
        target, titles = (self.target, self.titles) if margins is None else (self.sample, None)
        id = options.id or found_id(made.decisions, self.sample, target)
        of_columns = doubtful(made.decisions, None if options.id else id)
        decisions = (*self.decisions, *of_columns)
        if decisions and options.ask:
            raise Asked(decisions, titles or self.titles[:1] * 2)
        of_rows = (("drop-unlabelled", ""),)  # of which a note says how many these are
        told = [one.note() for one in self.decisions if one.taken.steps != of_rows]
        left_out = tuple(note for note in made.notes if note.kind == "left out")
        told += [note for note in made.notes if note not in left_out]
        notes = (*self.notes, *(note.of_command() for note in told))
        console.tell(*(note for note in notes if note not in quiet))
        files = replace(self, notes=notes, decisions=decisions, id=id)
        return files, replace(made, notes=left_out)

    def _features(self, named: Collection[str], hidden: Iterable[str]) -> tuple[Any, Any]:
        """Return both frames without the columns that have a role, besides those that are named."""
        roles = self.roles.items()
        beside = {name for role, names in roles if role in BY_VALUE for name in names}
        others = {name for role, names in roles if role not in BY_VALUE for name in names}
        beside = (beside | ({*self.options.drop} - others)) - {*named}
        frames = {"sample": beside, "target": beside | {*hidden}}
        sample, target = (
            frame
            if frame is self.margins
            else frame.drop_columns([name for name in frame.column_names if name in unused])
            for frame, unused in ((getattr(self, whose), part) for whose, part in frames.items())
        )
        return sample, target


def read_files(
    options: Roles,
    *,
    alone: bool = False,
    categories: bool | None = None,
    feature: str | None = None,
    margins: bool = False,
) -> Files:
    """Read the two files of a command, and check the columns that its options name.

    One sheet of a workbook is not both, unless it has weights of its own as a target, or is there
    ``alone``. Outcomes that are ``categories`` keep their spelling. The column of the role
    ``feature`` is a category as any other, where both files have it. The target may hold
    ``margins``, where the command takes them.
    """
    from ..files.frame import about, notes_of, read_frame
    from ..margins.files import is_margins_file

    roles = roles_of(options)
    if is_margins_file(options.target):
        if not margins:
            raise InputError(
                f"{options.target} holds margins, and this command needs rows of the target. "
                "Margins are enough for `covshift compare`, which estimates the loss of models on "
                "the target, and for `weigh`, whose weights any scorer takes."
            )
        return _read_beside_margins(options, roles, categories, feature)
    if options.train == "-" and options.target == "-":
        raise InputError("Only one of the two files can be standard input (-).")
    kinds = kinds_of_files(roles, declared_kinds(options), categories)
    reading = options.reading()
    same = options.train == options.target and reading.target_sheet is None
    there = reading if same else reading.of_target(options.target)
    sample = target = read_frame(options.train, replace(reading, kinds=kinds["sample"]))
    if not same or kinds["sample"] != kinds["target"]:
        target = read_frame(options.target, replace(there, kinds=kinds["target"]))
    if not alone and not roles.keys() & {"target_weight", "target_frequency"}:
        _refuse_one_sheet(options, about(sample), about(target))
    check_named(options, roles, {"sample": sample, "target": target}, target.column_names)
    if feature is not None and {*roles.get(feature, ())} & {*target.column_names}:
        options = replace(options, categorical=(*options.categorical, *roles.pop(feature)))
    notes = [*notes_of(about(sample), about(target)), *schema_notes(options, roles, sample, target)]
    notes = [*dict.fromkeys([*notes, *unread_notes(roles, sample, target)])]
    for frame in (sample, target):
        if len(frame) < 2:
            raise InputError(f"{about(frame).title} has one row. A sample needs at least two.")
    return Files(sample, target, options, roles, alone, tuple(notes))


_OF_ROWS = (  # options that margins cannot follow
    *("target_weight", "target_frequency", "target_sheet", "target_outcome"),
    *("target_probability", "restrict"),
)


def _read_beside_margins(
    options: Roles,
    roles: dict[str, tuple[str, ...]],
    categories: bool | None,
    feature: str | None,
) -> Files:
    """Read the training rows, and the margins of those columns that are features."""
    from ..files.frame import about, notes_of, read_frame
    from ..margins import Margins
    from ..margins.reading import levels_of

    for name in (name for name in _OF_ROWS if vars(options).get(name) not in (None, ())):
        raise InputError(
            f"{spelled(name)} needs target rows, and {options.target} holds margins: leave it out, "
            "or use a file of rows."
        )
    margins = Margins.from_json(options.target)
    published = margins.columns
    if {*roles.get(str(feature), ())} & {*published}:
        roles.pop(str(feature))
    beside = {n for role, names in roles.items() if role != "by" for n in names} | {*options.drop}
    outside, notes = [name for name in published if name in beside], [*margins.notes]
    if outside:
        named = ", ".join(map(repr, outside))
        if len(outside) == len(published):
            raise InputError(f"{options.target} has no margin besides those of {named}.")
        margins = margins.select([name for name in published if name not in outside])
        text = f"The margins of {named} are not used: no features, or dropped."
        notes.append(Note("margins", text))
    declared = declared_kinds(options)
    for name in margins.columns:
        declared[name] = "category" if levels_of(margins, name) else declared.get(name, "number")
    reading = replace(
        options.reading(), kinds=kinds_of_files(roles, declared, categories)["sample"]
    )
    sample = read_frame(options.train, reading)
    check_named(options, roles, {"sample": sample}, published)
    absent = [name for name in margins.columns if name not in sample.column_names]
    if absent:
        raise InputError(
            f"{about(sample).title} lacks {', '.join(map(repr, absent))}, which the margins have. "
            "Leave them out with --drop, or rename them."
        )
    notes = [*notes_of(about(sample)), *notes]
    return Files(sample, margins, options, roles, notes=tuple(notes))


def _refuse_one_sheet(options: Roles, one: About, other: About) -> None:
    """Refuse a sheet of a workbook as a sample of two populations: one of them is another sheet."""
    from ..files.reading import book_and_sheet

    if one.sheet is None or one.sheet != other.sheet:
        return
    book, there = book_and_sheet(options.train)[0], book_and_sheet(options.target)[0]
    if book == there or (Path(book).exists() and Path(book).samefile(there)):
        raise InputError(
            f"{one.title} is both the sample and the target. Name the sheet of the target with "
            f"--target-sheet NAME, or as {shlex.quote(f'{there}:NAME')}."
        )
