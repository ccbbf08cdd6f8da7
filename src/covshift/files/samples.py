"""Two tables become two samples: aligned by name, checked, encoded alike, all noted."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.columns import with_outcome
from ..encoding import TableEncoder
from ..encoding.cells import Cells
from ..encoding.decide import Decisions, decide
from ..encoding.decisions import Decision, undo_by_option
from ..encoding.left_out import LeftOut, missed
from ..encoding.roles import unread_outcome, weights_by_name
from ..encoding.samples import levels_of
from ..exceptions import InputError
from ..numerics.array import Flags, Real, Rows
from ..show.notes import Note
from ..show.words import named
from .declared import ColumnOptions, check_declared, check_levels
from .encoding import MISSING_LEVEL, Encoding
from .frame import notes_of
from .labels import (
    Labels,
    Outcomes,
    outcome_decisions,
    read_labels,
    settle_labels,
    without,
)
from .one_file import File, cells_of, ids_of, repeats_of, weights_of
from .questions import Asked, doubtful, found_id
from .reading import ReadOptions, book_and_sheet
from .table import Table


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
    columns: tuple[str, ...] = ()  # of the training file
    decisions: tuple[Decision, ...] = ()  # about columns that could be read in two ways

    @property
    def names(self) -> list[str]:
        """Names of the columns of X."""
        return self.encoding.columns

    @property
    def categories(self) -> bool:
        """Whether it was decided that outcomes are categories."""
        return any(("what", "proportion") in one.taken.steps for one in self.decisions)

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
    """Read two files and make samples of them; `Asked` where that needs a decision, on request.

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
    roles = declared.roles() | ({declared.by} if declared.by else set())
    a = File.read(train, kinds, reading, roles)
    same = train == target and reading.target_sheet is None  # such as a file beside margins
    there = reading if same else reading.of_target(target)
    b = a if same and kinds == of_target else File.read(target, of_target, there, roles)
    if not alone and of_b == (None, None):
        _refuse_one_sheet(train, target, a, b)
    check_declared(declared, a, b)
    notes = notes_of(a.roles, b.roles)
    settled = settle_labels(a.roles, b.roles, declared)
    a, b = replace(a, roles=settled.train), replace(b, roles=settled.target)
    decisions = [*settled.decisions]
    for one in outcome_decisions(a.roles, declared.beside, declared.categories):
        decisions.append(one)
        gaps = [value for kind, value in one.taken.steps if kind == "missing"]
        a = replace(a, roles=without(gaps, a.roles, one.column))
    rows, whole = np.arange(len(a)), a.roles
    kept = _with_outcome(a, declared)
    if declared.label is not None:
        rows = _labelled(whole, declared.label, notes)
        kept = np.isin(np.arange(len(a)), rows)
    own, there_own = whole.take(rows), b.roles
    shared = _shared_columns(a, b, declared, notes)
    notes += _schema_notes(a, b, shared, declared)
    for title, count in ((a.title, len(rows)), (b.title, len(b))):
        if count < 2:
            raise InputError(f"{title} has one row. A sample needs at least two.")
    labels = None
    if declared.label:
        task, other = settled.task or "classification", declared.target_label
        labels = read_labels(own, there_own, declared.label, task, notes, target_name=other)
        notes += settled.notes
    titles = a.title, b.title
    here, target_cells = a.cells(shared), b.cells(shared)
    check_levels(here, target_cells, titles, declared)
    made = decide(
        here,
        here if a.frame is b.frame else target_cells,
        declared.settled(),
        (None if kept is None or kept.all() else kept, None),
        titles=titles,
        mending=True,
    )
    id_name = declared.id or (found_id(made, here, target_cells) if declared.has_id else None)
    of_columns = doubtful(made, id_name if declared.id is None else None)
    decisions += of_columns
    if decisions and declared.ask:
        raise Asked(decisions, titles)
    of_rows = (("drop-unlabelled", ""),)  # of which a note says how many these are
    of_labels = [one for one in decisions[: -len(of_columns) or None] if one.taken.steps != of_rows]
    notes[:0] = [note.of_command() for note in (*map(Decision.note, of_labels), *made.notes)]
    if not made.train:
        raise InputError(
            f"No column is left to compare: {named(shared)} identify rows or are free text. "
            "--categorical COL takes one as categories nevertheless."
        )
    encoder = _learned(made, declared, kept)
    notes += [note.of_command() for note in encoder.notes_]
    some = rows if len(rows) < len(a) else None
    X = encoder.encode_cells(_of_rows(made.train, some), a.title)[0]
    T = encoder.encode_cells(made.target, b.title)[0]
    encoding = Encoding(encoder)
    return TwoFiles(
        encoding,
        X,
        T,
        labels,
        ids_of(a, id_name, rows, notes),
        ids_of(b, id_name, np.arange(len(b)), notes) if id_name in b.names else None,
        weights_of(own, declared.weight),
        weights_of(there_own, declared.target_weight),
        id_name,
        notes,
        rows,
        beside={name: own.columns[name].values for _, name in declared.beside},
        target_beside={
            name: there_own.columns[name].values
            for name in (*declared.beside_target, *(name for _, name in declared.of_target))
            if name in b.names
        },
        groups=_groups(own, declared),
        target_groups=_groups(there_own, declared),
        again=repeats_of(own, declared.frequency),
        target_again=repeats_of(there_own, declared.target_frequency, "--target-"),
        target_rows=np.arange(len(b)),
        left_out={**_left_out(a, b, encoding), **made.left_out},
        unused=_unused(a, b, missed(shared, notes), encoding, rows),
        columns=tuple(a.names),
        decisions=tuple(decisions),
    )


def _of_rows(cells: Mapping[str, Cells], rows: Rows | None) -> Mapping[str, Cells]:
    return cells if rows is None else {name: part.take(rows) for name, part in cells.items()}


def _learned(made: Decisions, declared: ColumnOptions, kept: Flags | None) -> TableEncoder:
    """Learn the rules that make numbers of the shared columns."""
    names = made.train
    text = [name for name in declared.keep if name in names and names[name].is_text]
    kinds: dict[str, Any] = dict(made.kinds)
    kinds |= {name: "category" for name in (*declared.categorical, *text) if name in names}
    kinds |= {name: "season" for name in declared.season if name in names}
    kinds |= {name: [*levels] for name, levels in declared.ordered.items() if name in names}
    more = {}
    if declared.by is not None and declared.by in names:  # a category, with all its levels
        kinds[declared.by] = "category"
        more[declared.by] = levels_of(declared.by, made.train, made.target)
    encoder = TableEncoder(kinds)
    if declared.every_level:
        encoder = TableEncoder(kinds, max_levels=10**6, min_rows=1)
    flags = None if kept is None or kept.all() else kept
    return encoder.fit_cells(made.train, made.target, more, (flags, None))


def _refuse_one_sheet(train: str, target: str, a: File, b: File) -> None:
    """Refuse a sheet of a workbook as a sample of two populations: one of them is another sheet."""
    if a.roles.sheet is None or a.roles.sheet != b.roles.sheet:
        return
    book, other = book_and_sheet(train)[0], book_and_sheet(target)[0]
    if book == other or (Path(book).exists() and Path(book).samefile(other)):
        raise InputError(
            f"{a.title} is both the sample and the target. Name the sheet of the target with "
            f"--target-sheet NAME, or as {shlex.quote(f'{other}:NAME')}."
        )


def _left_out(a: File, b: File, encoding: Encoding) -> dict[str, str]:
    """Say why columns of the training file are not features, besides their roles."""
    rest = [name for name in a.names if name not in encoding.names]
    same = "never varies, or says what another column says"
    return {name: same if name in b.names else f"not in {b.title}" for name in rest}


def _unused(a: File, b: File, names: list[str], encoding: Encoding, rows: Rows) -> LeftOut:
    """Return the cells of columns that were left out, and not by the user."""
    lost = [name for name in names if name not in encoding.names and name in b.names]
    return LeftOut(_of_rows(a.cells(lost), rows), b.cells(lost), undo_by_option)


def _schema_notes(a: File, b: File, shared: list[str], declared: ColumnOptions) -> list[Note]:
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


def _with_outcome(file: File, declared: ColumnOptions) -> Flags | None:
    """Rows that have an outcome, of several any: `covshift.estimate` learns from no others."""
    names = [name for option, name in declared.beside if option == "--outcome"]
    return with_outcome(Outcomes({name: file.roles.columns[name].values for name in names}))


def _shared_columns(a: File, b: File, declared: ColumnOptions, notes: list[Note]) -> list[str]:
    roles = declared.roles()
    if declared.by is not None and declared.by not in b.names:
        roles.add(declared.by)
    names = {name for _, name in declared.beside} - {*declared.beside_target}
    if declared.label is not None and declared.target_label not in (None, declared.label):
        names.add(declared.label)
    there = {name for _, name in declared.of_target} | {declared.target_label or ""}
    here = {declared.label, *(name for _, name in declared.beside)}
    outcomes = {name for option, name in declared.beside if option == "--outcome"} & names
    for name in sorted(outcomes & {*b.names}):
        known = len(b) - b.frame[name].null_count
        notes += [n.of_command() for n in unread_outcome(b.title, name, known, len(b))]
    unread = (b, names - outcomes, "target"), (a, there - here, "training rows")
    for table, others, whose in unread:
        unused = sorted(name for name in others if name in table.names)
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
            cells = cells_of(name, table.frame[name])
            weights = weights_by_name({role: cells}, name)
            notes += [] if weights is None else [weights[1].of_command()]
    if shared != [name for name in second if name in first]:
        text = f"{b.title} has its columns in another order; they were matched by name."
        notes.append(Note("order of columns", text))
    return shared


def _groups(table: Table, declared: ColumnOptions) -> NDArray[Any] | None:
    """Groups of the rows; those without one are a group."""
    if declared.by is None or declared.by not in table.columns:
        return None
    groups = table.columns[declared.by].values
    if groups.dtype == object:
        groups = groups.copy()
        groups[[cell is None for cell in groups]] = MISSING_LEVEL
    return groups
