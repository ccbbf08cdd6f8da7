"""Columns that options name: their roles, what they are read as, and whether they are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..show.notes import Note
from .options import Columns, spelled

if TYPE_CHECKING:
    from ..files.spelling import Kind

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
BY_VALUE = (  # whose columns no argument of `Samples.of` names
    *("label", "id", "trained_on", "score", "prediction", "batch"),
    *("target_outcome", "target_label", "target_probability"),
)
_NUMBERS = ("double", "float", "bool", *(f"int{bits}" for bits in (8, 16, 32, 64)))


def kinds_of_files(
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


def roles_of(options: Columns) -> dict[str, tuple[str, ...]]:
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
    said = {name: vars(options)[name] for name in ("numeric", "categorical", "season", "drop")}
    said |= {"date": named_dates(options.date), "ordered": tuple(named_levels(options.ordered))}
    said |= {"keep": options.keep, "missing": tuple(options.reading().missing_in)}
    for option, names in said.items():
        check(frames["sample"], spelled(option), names, also)


def schema_notes(
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


def unread_notes(roles: Mapping[str, tuple[str, ...]], sample: Any, target: Any) -> list[Note]:
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
