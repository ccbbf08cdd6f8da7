"""Two tables become two samples: aligned by name, checked, encoded alike, all noted."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.columns import with_outcome
from ..data.row_weights import repeated
from ..encoding import TableEncoder
from ..encoding.left_out import LeftOut, missed
from ..encoding.roles import unread_outcome, weights_by_name
from ..encoding.samples import levels_of
from ..exceptions import InputError
from ..numerics.array import Real, Rows
from ..show.notes import Note
from ..show.words import meant
from .columns import Column, Kind, as_category
from .doubtful import empty_questions, find_doubts
from .encoding import MISSING_LEVEL, Encoding, check_finite, count_missing
from .labels import Labels, Outcomes, outcome_questions, read_labels, settle_labels
from .questions import Asked, answer
from .reading import ReadOptions, book_and_sheet
from .table import Table, merged_levels, named, notes_of, read_table
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
    decided: tuple[str, ...] = ()  # of ``drop``, those that no option of the user's names
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


@dataclass(frozen=True)
class TwoFiles:
    """What two files hold, checked and encoded alike, ready for the library."""

    encoding: Encoding
    X: Real
    X_target: Real
    labels: Labels | None
    ids: NDArray[Any] | None
    target_ids: NDArray[Any] | None
    weight: Real | None  # probability weights, as given
    target_weight: Real | None
    id_name: str | None
    notes: list[Note] = field(default_factory=list)
    rows: NDArray[np.intp] = field(default_factory=lambda: np.arange(0))  # of the training file
    beside: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # text, None where missing
    target_beside: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    groups: NDArray[Any] | None = None
    target_groups: NDArray[Any] | None = None  # where the target file has them too
    again: Rows | None = None  # rows, each as often as it was seen; None: each once
    target_again: Rows | None = None
    target_rows: NDArray[np.intp] = field(default_factory=lambda: np.arange(0))
    left_out: Mapping[str, str] = field(default_factory=dict)  # columns, and why
    unused: LeftOut = field(default_factory=LeftOut)  # shared columns that were decided about
    columns: Mapping[str, Column] = field(default_factory=dict)  # of the training file, no values

    @property
    def names(self) -> list[str]:
        """Names of the columns of X."""
        return self.encoding.columns

    def take(self, rows: NDArray[np.intp]) -> TwoFiles:
        """Return some of the training rows, with the whole target."""
        labels = None if self.labels is None else replace(self.labels, y=self.labels.y[rows])
        beside = {name: cells[rows] for name, cells in self.beside.items()}
        own = self._taken(rows, "X", "ids", "weight", "rows", "groups")
        unused = self.unused.take(rows)
        return replace(self, labels=labels, beside=beside, unused=unused, **own)

    def _taken(self, rows: NDArray[np.intp], *names: str) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in names}
        return {name: None if values is None else values[rows] for name, values in given.items()}

    def repeated(self) -> TwoFiles:
        """Return the samples with every row as often as it was seen."""
        found = self if self.again is None else self.take(self.again)
        found = found if self.target_again is None else found.take_target(self.target_again)
        return replace(found, again=None, target_again=None)

    def take_target(self, rows: NDArray[np.intp]) -> TwoFiles:
        """Return some of the target rows, with all training rows."""
        labels = self.labels
        if labels is not None and labels.y_target is not None:
            known = np.full(len(self.X_target), -1)
            known[labels.scored] = np.arange(len(labels.scored))
            place = known[rows]
            scored = np.flatnonzero(place >= 0)
            y_target = labels.y_target[place[scored]]
            labels = replace(labels, scored=scored, y_target=y_target if len(scored) else None)
        beside = {name: cells[rows] for name, cells in self.target_beside.items()}
        names = ("target_ids", "target_weight", "target_rows", "target_groups")
        own = self._taken(rows, "X_target", *names)
        unused = self.unused.take_target(rows)
        return replace(self, labels=labels, target_beside=beside, unused=unused, **own)


def read_samples(
    train: str,
    target: str,
    declared: ColumnOptions,
    reading: ReadOptions | None = None,
    *,
    alone: bool = False,
) -> TwoFiles:
    """Read two files and make samples of them; `Asked` where that would need a guess.

    One sheet of a workbook is not both, unless it has weights of its own as a target, or is there
    ``alone``.
    """
    reading = ReadOptions() if reading is None else reading
    if train == "-" and target == "-":
        raise InputError("Only one of the two files can be standard input (-).")
    of_a, of_b = (
        (declared.weight, declared.frequency),
        (declared.target_weight, declared.target_frequency),
    )
    kinds, of_target = declared.kinds(weights=of_a), declared.kinds(weights=of_b)
    a = read_table(train, kinds, reading)
    same = train == target and reading.target_sheet is None  # such as a file beside margins
    there = reading if same else reading.of_target(target)
    b = a if same and kinds == of_target else read_table(target, of_target, there)
    if not alone and of_b == (None, None):
        _refuse_one_sheet(train, target, a, b)
    _check_declared(declared, a, b)
    notes = [note for note in notes_of(a, b) if note.kind != "identifiers"]  # told below
    a, b = made_alike(_with_levels(a, declared), _with_levels(b, declared))
    settled = settle_labels(a, b, declared)
    a, b, questions = settled.train, settled.target, [*settled.questions]
    rows, whole = np.arange(len(a)), a
    if declared.label is not None:
        rows = _labelled(a, declared.label, notes)
        a = a.take(rows)
    learned = _with_outcome(a, declared)
    shared = _shared_columns(a, b, declared, notes)
    notes += _schema_notes(a, b, shared, declared)
    for table in (a, b):
        if len(table) < 2:
            raise InputError(f"{table.title} has one row. A sample needs at least two.")
    labels = None
    if declared.label:
        task = settled.task or "classification"
        labels = read_labels(a, b, declared.label, task, notes, target_name=declared.target_label)
        notes += settled.notes
    doubts = find_doubts(
        whole,
        b,
        shared,
        declared=declared.settled(),
        id=declared.id,
        has_id=declared.has_id,
        undo=undo_by_option,
    )
    questions += [*doubts.questions, *outcome_questions(a, declared.beside, declared.categories)]
    if len(learned) < len(whole):
        questions += empty_questions(learned, shared, {question.column for question in questions})
    if questions:
        raise Asked(questions)
    notes += doubts.notes
    names = [name for name in shared if name not in {doubts.id, *doubts.left_out}]
    if not names:
        raise InputError(
            f"No column is left to compare: {named(shared)} identify rows or are free text. "
            "--categorical COL takes one as categories nevertheless."
        )
    encoding = learn_encoding(learned, b, names, declared, notes)
    X, T = encoding.encode(a), encoding.encode(b)
    id_name = declared.id or doubts.id
    return TwoFiles(
        encoding,
        X,
        T,
        labels,
        _ids(a, id_name, notes),
        _ids(b, id_name, notes) if id_name in b.columns else None,
        weights_of(a, declared.weight),
        weights_of(b, declared.target_weight),
        id_name,
        notes,
        rows,
        beside={name: a.columns[name].values for _, name in declared.beside},
        target_beside={
            name: b.columns[name].values
            for name in (*declared.beside_target, *(name for _, name in declared.of_target))
            if name in b.columns
        },
        groups=_groups(a, declared),
        target_groups=_groups(b, declared),
        again=repeats_of(a, declared.frequency),
        target_again=repeats_of(b, declared.target_frequency, "--target-"),
        target_rows=np.arange(len(b)),
        left_out={**_left_out(a, b, encoding), **doubts.left_out},
        unused=_unused(a, b, missed([*shared, *declared.decided], notes), encoding),
        columns={
            name: replace(part, values=part.values[:0].copy()) for name, part in a.columns.items()
        },
    )


def _refuse_one_sheet(train: str, target: str, a: Table, b: Table) -> None:
    """Refuse a sheet of a workbook as a sample of two populations: one of them is another sheet."""
    if a.sheet is None or a.sheet != b.sheet:
        return
    book, other = book_and_sheet(train)[0], book_and_sheet(target)[0]
    if book == other or (Path(book).exists() and Path(book).samefile(other)):
        raise InputError(
            f"{a.title} is both the sample and the target. Name the sheet of the target with "
            f"--target-sheet NAME, or as {shlex.quote(f'{other}:NAME')}."
        )


def _left_out(a: Table, b: Table, encoding: Encoding) -> dict[str, str]:
    """Say why columns of the training file are not features, besides their roles."""
    rest = [name for name in a.names if name not in encoding.names]
    same = "never varies, or says what another column says"
    return {name: same if name in b.columns else f"not in {b.title}" for name in rest}


def _unused(a: Table, b: Table, names: list[str], encoding: Encoding) -> LeftOut:
    """Return the cells of columns that were left out, and not by the user."""
    lost = [name for name in names if name not in encoding.names and name in b.columns]
    here, there = ({name: table.columns[name].cells for name in lost} for table in (a, b))
    return LeftOut(here, there, undo_by_option)


def _with_levels(table: Table, declared: ColumnOptions) -> Table:
    """Give ordered categories the levels that were declared; others are refused."""
    columns = dict(table.columns)
    for name, levels in declared.ordered.items():
        if name not in columns:
            continue
        strange = sorted({value for value in columns[name].values if value} - {*levels})
        if strange:
            raise InputError(
                f"{table.title}: column {name!r} holds {named(strange)}, none of the levels "
                f"{' < '.join(levels)}. Add them where they belong, or say that they stand for "
                f"missing values: --missing {f'{name}={strange[0]}'!r}."
            )
        columns[name] = replace(columns[name], levels=levels)
    return replace(table, columns=columns)


def _schema_notes(a: Table, b: Table, shared: list[str], declared: ColumnOptions) -> list[Note]:
    """Name columns that the schema file lacks, and those that only it has."""
    if not declared.schema:
        return []
    notes = []
    known = {*declared.schema, *declared.settled()}
    lacking = [name for name in shared if name not in known]
    if lacking:
        text = f"The schema does not list {named(lacking)}: read by default."
        notes.append(Note("schema", text))
    absent = [name for name in declared.schema if name not in {*a.names, *b.names}]
    if absent:
        text = f"The schema lists {named(absent)}, which neither file has."
        notes.append(Note("schema", text, "warning"))
    return notes


def _labelled(table: Table, label: str, notes: list[Note]) -> NDArray[np.intp]:
    """Number the rows that have a label."""
    rows = np.flatnonzero([cell is not None for cell in table.columns[label].values])
    if not len(rows):
        raise InputError(f"{table.title}: the label {label!r} is missing in every row.")
    if len(rows) < len(table):
        text = (
            f"{table.title}: the label {label!r} is missing in {len(table) - len(rows)} of "
            f"{len(table)} rows, which were left out."
        )
        notes.append(Note("missing labels", text))
    return rows


def _with_outcome(table: Table, declared: ColumnOptions) -> Table:
    """Rows that have an outcome, of several any: `covshift.estimate` learns from no others."""
    names = [name for option, name in declared.beside if option == "--outcome"]
    present = with_outcome(Outcomes({name: table.columns[name].values for name in names}))
    return table if present is None else table.take(np.flatnonzero(present))


def learn_encoding(
    train: Table, target: Table, names: list[str], declared: ColumnOptions, notes: list[Note]
) -> Encoding:
    """Learn the rules that make numbers of the shared columns."""
    pair = train[names], target[names]
    for table in pair:
        check_finite(table)
    text = [name for name in declared.keep if name in names and _is_text(train.columns[name])]
    kinds = {name: "category" for name in (*declared.categorical, *text) if name in names}
    kinds |= {name: "season" for name in declared.season if name in names}
    cells = pair[0].read_cells(), pair[1].read_cells()
    more = {}
    if declared.by is not None and declared.by in names:  # a category, with all its levels
        kinds[declared.by] = "category"
        more[declared.by] = levels_of(declared.by, *cells)
    encoder = TableEncoder(kinds)
    if declared.every_level:
        encoder = TableEncoder(kinds, max_levels=10**6, min_rows=1)
    encoder.fit_cells(*cells, more, undo=undo_by_option)
    notes += encoder.notes_
    return Encoding(encoder)


def undo_by_option(name: str, kind: str) -> str:
    return str(answer(_OPTIONS[kind], name, ""))


_OPTIONS = {
    **{"category": "categorical", "number": "numeric"},
    **{"weight": "weight", "target weight": "target-weight", "target outcome": "target-outcome"},
}


def _is_text(column: Column) -> bool:
    return column.kind in ("category", "text")


def _check_declared(declared: ColumnOptions, train: Table, target: Table) -> None:
    def where(name: str, table: Table, option: str) -> None:
        if name not in table.columns:
            several = "," in name and all(part in table.columns for part in name.split(","))
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
    unnamed = train.left_out | target.left_out
    for option in (*_KINDS, "season", "drop", "keep", "missing_in"):
        for name in getattr(declared, option):
            if name not in {*target.columns, *unnamed, *declared.schema}:
                where(name, train, f"--{option.removesuffix('_in')}")
    kinds = Counter(name for option in _KINDS for name in set(getattr(declared, option)))
    twice = sorted(name for name, times in kinds.items() if times > 1)
    if twice:
        raise InputError(f"{named(twice)}: declared in two ways. Keep one of them.")
    taken = (declared.id, declared.weight, declared.frequency)
    if declared.label is not None and declared.label in taken:
        raise InputError(f"{declared.label!r} cannot be the label and something else as well.")


def _shared_columns(a: Table, b: Table, declared: ColumnOptions, notes: list[Note]) -> list[str]:
    roles = declared.roles()
    if declared.by is not None and declared.by not in b.columns:
        roles.add(declared.by)
    names = {name for _, name in declared.beside} - {*declared.beside_target}
    if declared.label is not None and declared.target_label not in (None, declared.label):
        names.add(declared.label)
    there = {name for _, name in declared.of_target} | {declared.target_label or ""}
    here = {declared.label, *(name for _, name in declared.beside)}
    outcomes = {name for option, name in declared.beside if option == "--outcome"} & names
    for name in sorted(outcomes & {*b.columns}):
        known = len(b) - count_missing(b.columns[name])[0]
        notes += unread_outcome(b.title, name, known, len(b), undo_by_option)
    unread = (b, names - outcomes, "target"), (a, there - here, "training rows")
    for table, others, whose in unread:
        unused = sorted(name for name in others if name in table.columns)
        if unused:
            text = f"{table.title} has {named(unused)} as well: not used."
            notes.append(Note(f"columns of the {whose}", text))
    first = [name for name in a.names if name not in roles]
    second = [name for name in b.names if name not in roles]
    shared = [name for name in first if name in second]
    only_a = [name for name in first if name not in second]
    only_b = [name for name in second if name not in first]
    if not shared:
        raise InputError(
            f"{a.title} and {b.title} share no column. {a.title} has {named(first)}; {b.title} "
            f"has {named(second)}. The names in the two headers must be the same. Published totals "
            'instead of rows are margins, such as {"columns": {"sex": {"f": 0.51, "m": 0.49}}}.'
        )
    for table, role, only in ((a, "weight", only_a), (b, "target weight", only_b)):
        if only:
            text = f"Only in {table.title}, and left out: {named(only)}."
            notes.append(Note("columns of one file", text))
        for name in only:
            weights = weights_by_name({role: table.columns[name].cells}, name, undo_by_option)
            notes += [] if weights is None else [weights[1]]
    if shared != [name for name in second if name in first]:
        text = f"{b.title} has its columns in another order; they were matched by name."
        notes.append(Note("order of columns", text))
    return shared


def _ids(table: Table, name: str | None, notes: list[Note]) -> NDArray[Any] | None:
    if name is None:
        return None
    ids = table.columns[name].values
    repeated = len(ids) - len(set(ids))
    if repeated:
        text = f"{table.title}: {repeated} values of the id column {name!r} are repeated."
        notes.append(Note("repeated ids", text))
    return ids


def _groups(table: Table, declared: ColumnOptions) -> NDArray[Any] | None:
    """Groups of the rows; those without one are a group."""
    if declared.by is None or declared.by not in table.columns:
        return None
    groups = table.columns[declared.by].values
    if groups.dtype == object:
        groups = groups.copy()
        groups[[cell is None for cell in groups]] = MISSING_LEVEL
    return groups


def weights_of(table: Table, name: str | None) -> Real | None:
    """Return the column of weights, if one is named; refuse what is no weight."""
    if name is None:
        return None
    values = np.asarray(table.columns[name].values, dtype=np.float64)
    for bad, what in ((~np.isfinite(values), "missing or infinite"), (values < 0, "negative")):
        if bad.any():
            raise InputError(
                f"{table.title}: the weight column {name!r} has {int(bad.sum())} {what} values. "
                "Weights are numbers from zero up."
            )
    if not values.any():
        raise InputError(f"{table.title}: the weight column {name!r} is zero in every row.")
    return values


def repeats_of(table: Table, name: str | None, options: str = "--") -> Rows | None:
    """Return the rows, each as often as the column says; None where no column is named.

    ``options`` is how the options begin that tell about this table.
    """
    values = weights_of(table, name)
    if values is None:
        return None
    option, weight = f"{options}frequency", f"{options}weight"
    try:
        return repeated(values, len(values), option, of=table.title, weight=weight)
    except InputError as error:
        raise InputError(f"{table.title}, column {name!r}: {error}") from None


# Two tables with the same columns: where one knows less about a column, both are read alike.
#
# A column of "no" alone is boolean in one file and the same column a country in the other; numbers
# 0 and 1 are what the other file calls yes and no; ids of a small file are names that repeat in a
# large one. The values stay as they are.


_TEXT = ("category", "ordered", "text")


def made_alike(one: Table, other: Table) -> tuple[Table, Table]:
    """Return the tables with columns of the same name as the same kind, where that is certain."""
    first, second = dict(one.columns), dict(other.columns)
    for name in first.keys() & second.keys():
        first[name], second[name] = _alike(first[name], second[name])
    return replace(one, columns=first), replace(other, columns=second)


def _alike(one: Column, other: Column) -> tuple[Column, Column]:
    kinds = {one.kind, other.kind}
    if one.kind == other.kind == "ordered":
        levels = merged_levels(one.levels, other.levels)
        if levels is None:
            return as_category(one), as_category(other)
        return replace(one, levels=levels), replace(other, levels=levels)
    if kinds == {"ordered", "category"}:
        levels = one.levels or other.levels
        known = all({v for v in part.values if v is not None} <= {*levels} for part in (one, other))
        if known:
            given: Any = {"kind": "ordered", "levels": levels}
            return replace(one, **given), replace(other, **given)
        return as_category(one), as_category(other)
    if kinds == {"text", "category"} and one.kind == "category":
        return one, as_category(other)
    if kinds == {"boolean", "number"}:
        return _boolean(one), _boolean(other)
    if "boolean" in kinds and kinds & {*_TEXT}:
        return as_category(one), as_category(other)
    return one, other


def _boolean(column: Column) -> Column:
    values = column.values[~np.isnan(column.values)]
    if column.kind == "boolean" or not np.isin(values, (0.0, 1.0)).all():
        return column
    return replace(column, kind="boolean", doubt=None)
