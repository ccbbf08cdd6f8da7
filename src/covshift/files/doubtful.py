"""Columns that could be read in two ways: each becomes a question, with its safest answer.

Nothing here reads a file. What is certain, such as text that is different in every row, is
settled without a question and noted.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..encoding import codes
from ..encoding.cells import Cells
from ..encoding.learning import Undo, amounts_of, in_order
from ..encoding.roles import weights_by_name
from ..numerics.array import Real
from ..show.notes import Note
from .columns import ID_ROWS, Column, formats_of, spellings, too_long
from .encoding import LARGEST, count_missing
from .questions import OptionAnswer, Question, answer, joined, missing_answer
from .table import Table

_HOLDS = {"number": "numbers", "date": "dates"}


@dataclass
class Doubts:
    """What was asked about the columns of two files, and what was settled without a question."""

    questions: list[Question] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    id: str | None = None  # a column of text that is different in every row
    left_out: dict[str, str] = field(default_factory=dict)  # columns, and why


@dataclass(frozen=True)
class Pair:
    """One column in both files."""

    name: str
    columns: tuple[Column, Column]
    titles: tuple[str, str]

    @property
    def title(self) -> str:
        """The files in which the column is doubtful; both, where neither or each is."""
        doubtful = [
            title
            for title, column in zip(self.titles, self.columns, strict=True)
            if column.doubt is not None
        ]
        return " and ".join(dict.fromkeys(doubtful or self.titles))

    @property
    def cells(self) -> tuple[Cells, Cells]:
        """The columns as the encoder takes them."""
        return self.columns[0].cells, self.columns[1].cells

    @property
    def are_amounts(self) -> bool:
        """Whether all is text such as $1,012, which the encoder reads."""
        return amounts_of(self.cells) is not None

    @property
    def levels(self) -> set[str]:
        """Different values of both files, as text."""
        return texts_of(self.columns[0]) | texts_of(self.columns[1])


def find_doubts(
    train: Table,
    target: Table,
    names: Sequence[str],
    *,
    declared: set[str],
    id: str | None,
    has_id: bool = True,
    undo: Undo | None = None,
) -> Doubts:
    """Ask about the columns ``names`` of both files.

    Parameters
    ----------
    train, target : Table
        The same table twice where there is one.
    names : sequence of str
        Columns of both files.
    declared : set of str
        Columns of which the user has said what they are.
    id : str or None
        The column that identifies rows, if the user has named one.
    has_id : bool
        Whether the command can keep such a column.
    undo : callable, optional
        Spells the option of a role; None where the command has no weights of two samples.
    """
    found = Doubts()
    pairs = [
        Pair(name, (train.columns[name], target.columns[name]), (train.title, target.title))
        for name in names
    ]
    for pair in pairs:
        if pair.name not in declared and undo is not None:
            cells = dict(zip(("weight", "target weight"), pair.cells, strict=True))
            weights = weights_by_name(cells, pair.name, undo)
            if weights is not None:
                found.notes.append(weights[1])
            if weights is not None and weights[0]:
                found.left_out[pair.name] = "looks like survey weights"
        if pair.name not in declared and _is_text(pair) and not pair.are_amounts:
            _leave_out(pair, found, free=id is None and found.id is None and has_id)
    free = has_id and id is None and found.id is None
    for pair in pairs:
        if pair.name in found.left_out or pair.name == found.id:
            continue
        question = _question(pair, declared=pair.name in declared, free=free)
        if question is not None:
            found.questions.append(question)
            free = free and question.safest.options[0] not in ("--id", f"--id={pair.name}")
    return found


def empty_questions(labelled: Table, names: Sequence[str], asked: set[str]) -> list[Question]:
    """Ask about columns that are empty where there is a label."""
    doubt = "has no values in the rows with a label"
    return [
        Question(name, labelled.title, doubt, (answer("drop", name),))
        for name in names
        if name not in asked and count_missing(labelled.columns[name])[0] == len(labelled)
    ]


def _is_text(pair: Pair) -> bool:
    return all(
        column.kind == "text" or (column.kind == "category" and column.doubt is None)
        for column in pair.columns
    )


def _leave_out(pair: Pair, found: Doubts, *, free: bool) -> None:
    """Leave out text that identifies rows, or that is hardly ever the same twice."""
    name = pair.name
    cells = [[v for v in column.values if v is not None] for column in pair.columns]
    few = min(map(len, cells)) < ID_ROWS
    unique = not few and all(len(set(part)) == len(part) for part in cells)
    whole = all(len(part) == len(c) for part, c in zip(cells, pair.columns, strict=True))
    if unique:
        why = "looks like a row identifier, different in every row"
        found.id = name if whole and free else found.id
    elif pair.columns[0].kind == "text" or (
        len(set(cells[0])) > max(codes.MANY_LEVELS, len(cells[0]) / 2)
    ):
        why = f"looks like names or free text, {len(set(cells[0])):,} different values"
    else:
        return
    if found.id != name:
        found.left_out[name] = why
    answers = answer("drop", name), answer("keep", name)
    found.notes.append(Question(name, pair.title, why, answers).note())


def _question(pair: Pair, *, declared: bool, free: bool) -> Question | None:
    empty = [
        title
        for title, column in zip(pair.titles, pair.columns, strict=True)
        if count_missing(column)[0] == len(column)
    ]
    if empty:
        where = " and ".join(dict.fromkeys(empty))
        return Question(pair.name, where, "has no values at all", (answer("drop", pair.name),))
    endless = _endless(pair)
    if endless is not None:
        return endless
    if declared:
        return None
    doubts = {column.doubt.kind: column.doubt for column in pair.columns if column.doubt}
    text = any(column.values.dtype == object for column in pair.columns)
    if text and (pair.are_amounts or in_order(pair.levels) is not None):  # as the encoder reads it
        return None
    if "mixed" in doubts:
        return _mixed(pair, doubts["mixed"].text, free)
    if "dates" in doubts:
        doubt = f"{doubts['dates'].text}, not written as 2026-11-15"
        return Question(pair.name, pair.title, doubt, _dates(pair))
    if "numbers as text" in doubts:
        doubt = doubts["numbers as text"].text
        return Question(pair.name, pair.title, doubt, _numbers_as_text(pair))
    kinds = [_HOLDS.get(column.kind, "text") for column in pair.columns]
    if kinds[0] != kinds[1]:
        return _different(pair, kinds)
    if pair.columns[0].kind == "number":
        numbers = (numbers_of(pair.columns[0]), numbers_of(pair.columns[1]))
        return number_question(pair.name, pair.titles, numbers, free=free)
    return None


def _endless(pair: Pair) -> Question | None:
    """Infinite numbers, and those too large to be squared, are to be repaired."""
    found, where = [], []
    for title, column in zip(pair.titles, pair.columns, strict=True):
        if column.values.dtype == object:
            continue
        infinite = count_missing(column)[1]
        finite = column.values[np.isfinite(column.values)]
        large = int((np.abs(finite) > LARGEST).sum())
        values = "value" if infinite == 1 else "values"
        found += [f"{infinite} infinite {values}"] * bool(infinite)
        found += [f"{large} numbers beyond {LARGEST:g}"] * bool(large)
        where += [title] * bool(infinite or large)
    if not found:
        return None
    drop = answer("drop", pair.name)
    return Question(pair.name, " and ".join(where), f"has {' and '.join(found)}", (drop,))


def _mixed(pair: Pair, text: str, free: bool) -> Question:
    """Numbers with words among them: these are missing values, if there is one; or categories."""
    name = pair.name
    numbers = (numbers_of(pair.columns[0]), numbers_of(pair.columns[1]))
    words = sorted({word for part in numbers for word in part.words})
    drop, categories = answer("drop", name), answer("categorical", name)
    mostly = sum(part.count for part in numbers) >= sum(part.word_count for part in numbers)
    some = all(part.count for part in numbers)
    answers: tuple[OptionAnswer, ...]
    can_miss = mostly and some and len(words) <= codes.MOST_WORDS and "=" not in name
    if not can_miss:
        few = len(pair.levels) <= codes.MANY_LEVELS
        answers = (categories, drop) if few else (drop, categories)
    else:
        gaps = _with_rest(pair, missing_answer(name, words), numbers, free)
        few = len(words) > 1 and len(pair.levels) <= codes.MANY_LEVELS
        answers = (categories, gaps, drop) if few else (gaps, categories, drop)
    return Question(name, pair.title, text, answers)


def _with_rest(
    pair: Pair, gaps: OptionAnswer, numbers: tuple[Numbers, Numbers], free: bool
) -> OptionAnswer:
    """Once the words are missing values, the numbers alone may be doubtful again."""
    again = number_question(pair.name, pair.titles, numbers, free=free)
    if again is None:
        return gaps
    return again.safest if again.safest.leaves_out else joined(gaps, again.safest)


def _dates(pair: Pair) -> tuple[OptionAnswer, ...]:
    """One format that fits all is safe; of two nobody knows which is the right one."""
    name = pair.name
    drop, categories = answer("drop", name), answer("categorical", name)
    if "=" in name:
        return (drop, categories)
    found = formats_of(pair.levels)
    verbs = ("read", "Read {}", "reads it")
    dates = [
        answer("date", f"{name}={form}", *(f"{verb} as dates like {form}" for verb in verbs))
        for form in found
    ]
    if len(dates) == 1:
        return (dates[0], drop, categories)
    return (drop, *dates[:2], categories)


def _numbers_as_text(pair: Pair) -> tuple[OptionAnswer, ...]:
    """Numbers in text, or in a spelling that the rest of the file does not have."""
    drop, categories = answer("drop", pair.name), answer("categorical", pair.name)
    numbers = [numbers_of(column) for column in pair.columns]
    words = {word for part in numbers for word in part.words}
    if not words:
        return (answer("numeric", pair.name), categories, drop)
    spelled = [
        OptionAnswer(
            tuple(shlex.split(options)),
            "read as numbers, in all columns",
            f"Read {{}} as numbers ({options})",
            "reads such cells as numbers",
        )
        for options in spellings(words)
    ]
    return (drop, *spelled, categories)


def _different(pair: Pair, kinds: Sequence[str]) -> Question:
    name = pair.name
    drop, categories = answer("drop", name), answer("categorical", name)
    shared = texts_of(pair.columns[0]) & texts_of(pair.columns[1])
    few = len(pair.levels) <= codes.MANY_LEVELS and bool(shared)
    doubt = f"holds {kinds[0]} in {pair.titles[0]}, but {kinds[1]} in {pair.titles[1]}"
    where = " and ".join(pair.titles)
    return Question(name, where, doubt, (categories, drop) if few else (drop, categories))


# Numbers that may be codes, row numbers, or hold 999 for what is missing.


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column, NaN for all else, and the words among them."""

    values: Real
    words: frozenset[str] = frozenset()
    word_count: int = 0
    doubt: str = ""  # "codes" for leading zeros, "identifiers" for very long numbers

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return int((~np.isnan(self.values)).sum())


def numbers_of(column: Column) -> Numbers:
    """Read a column as numbers."""
    doubt = "" if column.doubt is None else column.doubt.kind
    if column.values.dtype != object:
        return Numbers(np.asarray(column.values, dtype=np.float64), doubt=doubt)
    different = set(column.values)
    read: dict[object, float | None] = {value: _number(value) for value in different}
    found = [read[value] for value in column.values]
    values = np.array([np.nan if number is None else number for number in found])
    words = frozenset(str(value) for value, number in read.items() if number is None)
    zeros = any(isinstance(v, str) and re.match(r"[-+]?0[0-9]", v) for v in read)
    doubt = "codes" if zeros else "identifiers" if too_long(values) else ""
    return Numbers(values, words, sum(n is None for n in found), doubt)


def _number(value: object) -> float | None:
    """Return a number, NaN for a missing cell, None for a word."""
    if value is None:
        return float("nan")
    text = str(value).strip()
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def texts_of(column: Column) -> set[str]:
    """Different values of a column, as text."""
    if column.values.dtype == object:
        return {str(value) for value in column.values if value is not None}
    numbers = np.unique(column.values[~np.isnan(column.values)]).tolist()
    if column.kind == "boolean" and column.levels:
        return {column.levels[int(number)] for number in numbers}
    return {f"{number:g}" for number in numbers}


def number_question(
    name: str, titles: Sequence[str], numbers: tuple[Numbers, Numbers], *, free: bool
) -> Question | None:
    """Ask about a column of numbers, if there is something to ask.

    ``free`` says that no column identifies the rows yet.
    """
    where = " and ".join(dict.fromkeys(titles))
    doubts = {part.doubt for part in numbers}
    counted = codes.row_identifier(name, [part.values for part in numbers])
    if counted is not None:
        return Question(name, where, counted, identifiers(name, free))
    if "identifiers" in doubts:
        doubt = "looks like an identifier, with numbers of more than 15 digits"
        return Question(name, where, doubt, identifiers(name, free))
    if "codes" in doubts:
        doubt = "looks like a code, with leading zeros"
        different = [len(np.unique(part.values[np.isfinite(part.values)])) for part in numbers]
        if different[0] == numbers[0].count and different[0] >= codes.COUNTED:
            return Question(name, where, doubt, identifiers(name, free))
        return Question(name, where, doubt, _codes(name))
    levels = codes.code_levels([part.values for part in numbers])
    if levels is None:
        return None
    many = codes.too_many_codes(numbers[0].values)
    gaps = codes.frequent_sentinels(levels, [part.values for part in numbers])
    return _whole(name, where, levels, gaps, many=many)


def _whole(
    name: str, where: str, levels: Real, gaps: list[float], *, many: bool
) -> Question | None:
    """Few different whole numbers: codes by name, or with ``gaps`` like 999 among them."""
    is_code = codes.named_as_code(name)
    if len(gaps) and "=" not in name:
        words = [f"{number:g}" for number in gaps]
        missing = missing_answer(name, words)
        doubt = codes.doubt_of_sentinels(gaps, len(levels))
        rest = len(levels) - len(gaps)
        numeric, categories = answer("numeric", name), answer("categorical", name)
        if is_code and rest > 2:
            return Question(
                name, where, doubt, (joined(missing, categories), joined(missing, numeric))
            )
        return Question(name, where, doubt, (missing, numeric, categories))
    if not is_code:
        return None
    answers = _codes(name)
    if many:
        answers = (answer("drop", name), *answers[1::-1])
    return Question(name, where, codes.doubt_of_code(len(levels)), answers)


def identifiers(name: str, free: bool) -> tuple[OptionAnswer, ...]:
    """Return the answers about a column that seems to identify rows."""
    drop, keep = answer("drop", name), answer("keep", name)
    return (answer("id", name), drop, keep) if free else (drop, keep)


def _codes(name: str) -> tuple[OptionAnswer, ...]:
    return answer("categorical", name), answer("numeric", name), answer("drop", name)
