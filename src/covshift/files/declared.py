"""What the user says about columns, checked against the two files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..encoding.cells import Cells
from ..exceptions import InputError
from ..show.words import meant, named
from .columns import Kind
from .one_file import File
from .text import may_be_index

_KINDS: dict[str, Kind] = {
    **{"numeric": "number", "categorical": "category"},
    **{"date": "date", "ordered": "ordered", "boolean": "boolean"},
}


@dataclass(frozen=True)
class ColumnOptions:
    """What the user says about columns."""

    label: str | None = None
    id: str | None = None
    weight: str | None = None
    target_weight: str | None = None
    frequency: str | None = None
    target_frequency: str | None = None
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    ordered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # levels, lowest first
    boolean: tuple[str, ...] = ()
    season: tuple[str, ...] = ()  # of these dates the month and the weekday
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()  # used, although they look like row identifiers or free text
    task: str | None = None  # "classification" or "regression"; None: find out
    beside: tuple[tuple[str, str], ...] = ()  # (option, column) of the training rows, no features
    beside_target: tuple[str, ...] = ()  # those of ``beside`` that the target rows keep as well
    of_target: tuple[tuple[str, str], ...] = ()  # (option, column) of the target rows, no features
    target_label: str | None = None  # the target's own label, where it has another name
    label_gaps: bool = False  # training rows without a label are left out; else they are an error
    by: str | None = None  # groups: a feature where both files have the column
    by_option: str = "--by"  # that names it
    every_level: bool = False  # levels with few rows are kept as well
    unread: tuple[tuple[str, str], ...] = ()  # (option, column) that the command does not look at
    drop_unlabelled: bool = False  # training rows without a label are left out, by request
    categories: bool | None = None  # whether outcomes are categories; None: find out
    ask: bool = False  # stop where a column could be read in two ways
    has_id: bool = True  # whether the command can keep an id
    schema: tuple[str, ...] = ()  # columns that a schema file knows: they may be absent
    missing_in: tuple[str, ...] = ()  # columns that --missing names

    def kinds(self, *, weights: tuple[str | None, ...]) -> dict[str, Kind]:
        """What to read each declared column as; ``weights`` are those of the table's weights."""
        kinds = {name: kind for option, kind in _KINDS.items() for name in getattr(self, option)}
        if self.by is not None:
            kinds.setdefault(self.by, "category")
        index = (n for n in self.keep if may_be_index(n) or n.startswith("__index_level_"))
        kinds |= dict.fromkeys(index, "number")
        beside = (name for _, name in (*self.beside, *self.of_target))
        texts = (name for name in (*beside, self.label, self.target_label) if name is not None)
        kinds |= dict.fromkeys(texts, "category")
        if not self.categories:  # which are told by their spelling
            kinds |= {name: "outcome" for option, name in self.beside if option == "--outcome"}
        kinds |= dict.fromkeys((name for name in weights if name is not None), "number")
        return kinds if self.id is None else {**kinds, self.id: "text"}

    def roles(self) -> set[str]:
        """Columns that are not features."""
        beside = (name for _, name in (*self.beside, *self.of_target, *self.unread))
        weights = (self.weight, self.target_weight, self.frequency, self.target_frequency)
        named = (self.label, self.target_label, self.id, *weights, *beside)
        return {name for name in named if name is not None} | set(self.drop)

    def settled(self) -> set[str]:
        """Columns of which it has been said what they are."""
        by = () if self.by is None else (self.by,)
        return {name for option in _KINDS for name in getattr(self, option)} | {*by, *self.keep}


def check_declared(declared: ColumnOptions, train: File, target: File) -> None:
    def where(name: str, table: File, option: str) -> None:
        if name not in table.names:
            several = "," in name and all(part in table.names for part in name.split(","))
            hint = f" Repeat {option} for each column." if several else meant(name, table.names)
            raise InputError(
                f"{table.title} has no column {name!r}, which {option} names."
                f"{hint} Its columns are: {named(table.names)}."
            )

    def options(*roles: str) -> list[tuple[str, str | None]]:
        return [(f"--{role.replace('_', '-')}", getattr(declared, role)) for role in roles]

    here = [*options("label", "weight", "frequency", "id"), *declared.beside, *declared.unread]
    here.append((declared.by_option, declared.by))
    there = [*options("target_weight", "target_frequency", "target_label"), *declared.of_target]
    for table, columns in ((train, here), (target, there)):
        for option, role in columns:
            if role is not None:
                where(role, table, option)
    unnamed = train.roles.left_out | target.roles.left_out
    for option in (*_KINDS, "season", "drop", "keep", "missing_in"):
        for name in getattr(declared, option):
            if name not in {*target.names, *unnamed, *declared.schema}:
                where(name, train, f"--{option.removesuffix('_in')}")
    kinds = Counter(name for option in _KINDS for name in set(getattr(declared, option)))
    twice = sorted(name for name, times in kinds.items() if times > 1)
    if twice:
        raise InputError(f"{named(twice)}: declared in two ways. Keep one of them.")
    taken = (declared.id, declared.weight, declared.frequency)
    if declared.label is not None and declared.label in taken:
        raise InputError(f"{declared.label!r} cannot be the label and something else as well.")


def check_levels(
    here: Mapping[str, Cells],
    there: Mapping[str, Cells],
    titles: tuple[str, str],
    declared: ColumnOptions,
) -> None:
    """Refuse cells that are none of the levels that were declared."""
    for name, levels in declared.ordered.items():
        for cells, title in zip((here, there), titles, strict=True):
            strange = sorted({*cells[name].as_text().words} - {*levels}) if name in cells else []
            if strange:
                raise InputError(
                    f"{title}: column {name!r} holds {named(strange)}, none of the levels "
                    f"{' < '.join(levels)}. Add them where they belong, or say that they stand for "
                    f"missing values: --missing {f'{name}={strange[0]}'!r}."
                )
