"""Two files as frames, or one beside margins, and the samples that the library makes of them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..show.notes import Note
from . import console
from .options import Columns, Roles, spelled

if TYPE_CHECKING:
    from ..data import Samples
    from ..encoding.decisions import Decision
    from ..files.frame import About
    from ..files.spelling import Kind
    from ..margins import Margins

ROLES: dict[str, tuple[str, Kind]] = {  # options that name columns: in which file, read as what
    **dict.fromkeys(("outcome", "label", "prediction"), ("sample", "outcome")),
    **dict.fromkeys(("weight", "frequency", "denominator", "fpc"), ("sample", "number")),
    **dict.fromkeys(("replicate_weights", "trained_on", "score"), ("sample", "number")),
    **dict.fromkeys(("strata", "cluster", "by"), ("sample", "category")),
    "id": ("sample", "text"),
    **dict.fromkeys(("target_outcome", "target_label"), ("target", "outcome")),
    **dict.fromkeys(("target_weight", "target_frequency"), ("target", "number")),
    "target_probability": ("target", "number"),
    "batch": ("target", "category"),
}
_IN_BOTH = ("outcome", "label", "prediction", "score", "by", "id")  # where the target has them
_BY_VALUE = (  # whose columns no argument of `Samples.of` names
    *("label", "id", "trained_on", "score", "prediction", "batch"),
    *("target_outcome", "target_label", "target_probability"),
)
_NUMBERS = ("double", "float", "bool", *(f"int{bits}" for bits in (8, 16, 32, 64)))


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
        beside = {name for role, names in roles if role in _BY_VALUE for name in names}
        others = {name for role, names in roles if role not in _BY_VALUE for name in names}
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
    kinds = _kinds(roles, declared_kinds(options), categories)
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
    notes = [*notes_of(about(sample), about(target)), *_of_schema(options, roles, sample, target)]
    notes = [*dict.fromkeys([*notes, *_unread(roles, sample, target)])]
    for frame in (sample, target):
        if len(frame) < 2:
            raise InputError(f"{about(frame).title} has one row. A sample needs at least two.")
    return Files(sample, target, options, roles, alone, tuple(notes))


def _kinds(
    roles: Mapping[str, tuple[str, ...]], declared: Mapping[str, Kind], categories: bool | None
) -> dict[str, dict[str, Kind]]:
    """Return what the columns of each file are read as."""
    kinds: dict[str, dict[str, Kind]] = {"sample": {**declared}, "target": {**declared}}
    for role, names in roles.items():
        own, kind = ROLES[role]
        for file in kinds if role in _IN_BOTH else (own,):
            of_role = dict.fromkeys(names, "category" if categories and role == "outcome" else kind)
            kinds[file] |= {**of_role, **declared} if role == "by" else of_role
    return kinds


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

    for name in (name for name in _OF_ROWS if vars(options).get(name)):
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
    reading = replace(options.reading(), kinds=_kinds(roles, declared, categories)["sample"])
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


def kinds_of(options: Columns, sample: Any, target: Any) -> dict[str, Any]:
    """Return the kinds of a `covshift.Target` as options and a schema say them."""
    from ..files.reading import named_levels

    kinds: dict[str, Any] = {n: k for n, k in declared_kinds(options).items() if k != "boolean"}
    known = {} if options.known is None else options.known.columns
    kinds |= {n: list(part.levels) for n, part in known.items() if part.kind == "ordered"}
    kinds |= {name: list(levels) for name, levels in named_levels(options.ordered).items()}
    kinds |= dict.fromkeys(options.season, "season")
    both = [name for name in sample.column_names if name in target.column_names]
    for name in (name for name in options.keep if name in both):
        numbers = str(sample.schema.field(name).type) in _NUMBERS
        kinds.setdefault(name, "number" if numbers else "category")
    return {name: kind for name, kind in kinds.items() if name in both}


def declared_kinds(options: Columns) -> dict[str, Kind]:
    """Return what options and a schema say that columns are."""
    from ..files.reading import named_dates, named_levels
    from ..files.text import may_be_index

    said: list[tuple[str, Kind]] = [
        *((name, "number") for name in options.numeric),
        *((name, "category") for name in options.categorical),
        *((name, "date") for name in named_dates(options.date)),
        *((name, "ordered") for name in named_levels(options.ordered)),
    ]
    twice = sorted(name for name, times in Counter(n for n, _ in {*said}).items() if times > 1)
    if twice:
        names = ", ".join(map(repr, twice))
        raise InputError(f"{names}: declared in two ways. Keep one of them.")
    index = (n for n in options.keep if may_be_index(n) or n.startswith("__index_level_"))
    known = {} if options.known is None else options.known.columns
    kinds: dict[str, Any] = {name: part.kind for name, part in known.items() if part.kind}
    return {**dict.fromkeys(index, "number"), **kinds, **dict(said)}


def roles_of(options: Roles) -> dict[str, tuple[str, ...]]:
    """Return the columns with a role that options name; a file that is named is no column."""
    found = {}
    for role, value in vars(options).items():
        names = (value,) if isinstance(value, str) else value
        if (
            role in ROLES
            and names
            and not (role.startswith("target_") and is_file_of_labels(names))
        ):
            found[role] = tuple(names)
    return found


def is_file_of_labels(names: tuple[str, ...]) -> bool:
    """Whether --target-outcome names a file that covshift plan wrote, and no column."""
    return len(names) == 1 and Path(names[0]).suffix != "" and Path(names[0]).is_file()


def check_named(
    options: Columns,
    roles: Mapping[str, tuple[str, ...]],
    frames: Mapping[str, Any],
    there: Iterable[str],
) -> None:
    """Refuse options that name columns which are not there; others may be in the target alone."""
    from ..files.frame import about
    from ..files.reading import named_dates, named_levels
    from ..show.words import meant, named

    def check(frame: Any, option: str, names: Iterable[str], also: Container[str] = ()) -> None:
        known = frame.column_names
        for name in (name for name in names if name not in known and name not in also):
            several = "," in name and all(part in known for part in name.split(","))
            hint = f" Repeat {option} for each column." if several else meant(name, known)
            raise InputError(
                f"{about(frame).title} has no column {name!r}, which {option} names.{hint} "
                f"Its columns are: {named(known)}."
            )

    for role, names in roles.items():
        check(frames[ROLES[role][0]], spelled(role), names)
    known = () if options.known is None else options.known.columns
    left_out = (name for frame in frames.values() for name in about(frame).left_out)
    also = {*there, *left_out, *known}
    said = {name: getattr(options, name) for name in ("numeric", "categorical", "season", "drop")}
    said |= {"date": named_dates(options.date), "ordered": tuple(named_levels(options.ordered))}
    said |= {"keep": options.keep, "missing": tuple(options.reading().missing_in)}
    for option, names in said.items():
        check(frames["sample"], spelled(option), names, also)


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


def _of_schema(
    options: Columns, roles: Mapping[str, tuple[str, ...]], sample: Any, target: Any
) -> list[Note]:
    """Name columns that the schema file lacks, and those that only it has."""
    from ..show.words import named

    if options.known is None:
        return []
    known = {*options.known.columns, *declared_kinds(options), *options.keep, *options.drop}
    known |= {name for names in roles.values() for name in names}
    both = [name for name in sample.column_names if name in target.column_names]
    notes, lacking = [], [name for name in both if name not in known]
    if lacking:
        text = f"The schema does not list {named(lacking)}: read by default."
        notes.append(Note("schema", text))
    there = {*sample.column_names, *target.column_names}
    absent = [name for name in options.known.columns if name not in there]
    if absent:
        text = f"The schema lists {named(absent)}, which neither file has."
        notes.append(Note("schema", text, "warning"))
    return notes


def _unread(roles: Mapping[str, tuple[str, ...]], sample: Any, target: Any) -> list[Note]:
    """Say that a file has columns as well that have a role in the other one."""
    from ..files.frame import about
    from ..show.words import named

    notes = []
    weights = ("weight", "frequency", "target_weight", "target_frequency", "replicate_weights")
    for own, frame, whose in (("target", sample, "training rows"), ("sample", target, "target")):
        others, used = set[str](), set[str]()
        for role, names in roles.items():
            if ROLES[role][0] != own or role in _IN_BOTH:
                used |= {*names}
            elif role not in weights:
                others |= {*names}
            if role == "label" and "target_label" in roles and own == "sample":
                others |= {*names} - {*roles["target_label"]}
                used -= {*names}
        unused = sorted((others - used) & {*frame.column_names})
        if unused:
            text = f"{about(frame).title} has {named(unused)} as well: not used."
            notes.append(Note(f"columns of the {whose}", text))
    return notes
