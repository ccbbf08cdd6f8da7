"""The label: classes or a number, inferred or declared; in the target it only ever scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..encoding.codes import MOST_WORDS
from ..encoding.decisions import Answer, Decision
from ..encoding.words import reads_as_number
from ..exceptions import InputError
from ..numerics.array import Real
from ..show.notes import Note
from .columns import Column
from .table import Table

if TYPE_CHECKING:
    from .declared import ColumnOptions

_FEW_NUMBERS = 10  # a label with 3 to 10 different whole numbers could be either
_FEW_CLASSES = 5  # of these, so many are rather classes


@dataclass(frozen=True)
class Labels:
    """Outcomes of the training rows, and those of target rows that have one."""

    name: str
    task: str  # "classification" or "regression"
    y: NDArray[Any]  # text for classes, float64 for numbers
    y_target: NDArray[Any] | None  # of `scored` rows
    scored: NDArray[np.intp]  # target rows with a label

    @property
    def classes(self) -> list[str]:
        """The classes in order; none for numbers."""
        return [] if self.task == "regression" else [str(c) for c in np.unique(self.y)]


@dataclass(frozen=True)
class SettledLabels:
    """Two tables whose labels can be read, what had to be asked for that, and the kind of label."""

    train: Table
    target: Table
    task: str | None
    decisions: list[Decision] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def settle_labels(train: Table, target: Table, declared: ColumnOptions) -> SettledLabels:
    """Decide what kind of label there is, and what becomes of rows without one."""
    name = declared.label
    if name is None:
        return SettledLabels(train, target, declared.task)
    may_lack = declared.label_gaps or declared.drop_unlabelled
    column = train.columns[name]
    word = _only_word(column) if declared.task != "classification" and "=" not in name else None
    if word is not None:
        decision = _of_word(name, word, declared.task, may_lack)
        tables = [without((word,), table, name) for table in (train, target)]
        likely = declared.task or _likely(_present(tables[0].columns[name]))
        return SettledLabels(tables[0], tables[1], likely, [decision])
    decisions = []
    lost = sum(cell is None for cell in column.values)
    if lost and not may_lack:
        why = f"is the label and is missing in {lost} of {len(column)} rows"
        decisions.append(Decision(name, why, Answer.of("drop-unlabelled"), where=(0,)))
    task = declared.task
    notes: list[Note] = []
    cells = _present(column)
    if task is None and cells:
        task = _infer(name, cells)
        if task is None:
            task = _likely(cells)
            decisions.append(_of_task(name, cells, task))
        else:
            text = f"The label {name!r} is taken as {_WORDS[task]} (--task overrides this)."
            notes.append(Note("kind of label", text))
    return SettledLabels(train, target, task, decisions, notes)


def _only_word(column: Column) -> str | None:
    """Return the one word among numbers, if there is one."""
    cells = _present(column)
    words = [cell for cell in cells if not reads_as_number(str(cell).strip())]
    if len({*words}) != 1 or len(words) > len(cells) - len(words):
        return None
    return words[0]


_CLASSES, _NUMBER = (Answer.of(("task", task)) for task in ("classification", "regression"))


def _of_word(name: str, word: str, task: str | None, may_lack: bool) -> Decision:
    gaps = Answer.of(("missing", word), *["drop-unlabelled"] * (not may_lack))
    why = f"is the label and holds numbers and one word, {word!r}"
    return Decision(name, why, gaps, (_CLASSES,) if task is None else (), where=(0,))


def _of_task(name: str, cells: list[str], task: str) -> Decision:
    answers = (_NUMBER, _CLASSES) if task == "regression" else (_CLASSES, _NUMBER)
    why = f"is the label and holds {len(set(cells))} different whole numbers"
    return Decision(name, why, answers[0], answers[1:], where=(0,))


def _likely(cells: list[str]) -> str:
    """Say what few whole numbers are: up to five classes, which needs no order or distance.

    More values, or a value of one row only, are too rare for classes; as numbers they are at least
    predicted in the mean.
    """
    numbers = _numbers(cells)
    if numbers is None:
        return "classification"
    levels, counts = np.unique(numbers, return_counts=True)
    few = len(levels) <= _FEW_CLASSES and bool((np.mod(levels, 1) == 0).all())
    return "classification" if few and counts.min() > 1 else "regression"


def without(words: Collection[str], table: Table, name: str) -> Table:
    """Return a table with gaps for some words of a column."""
    if name not in table.columns:
        return table
    column = table.columns[name]
    values = column.values.copy()
    values[[cell is not None and str(cell).strip() in words for cell in values]] = None
    return replace(table, columns={**table.columns, name: replace(column, values=values)})


def _present(column: Column) -> list[str]:
    return [cell for cell in column.values if cell is not None]


def read_labels(
    train: Table,
    target: Table,
    name: str,
    task: str,
    notes: list[Note],
    *,
    target_name: str | None = None,
) -> Labels:
    """Read the label of both tables; every training row has one.

    ``target_name`` is the target's own column of labels, where it was asked for.
    """
    cells, own = list(train[name]), target_name or name
    numbers = _numbers(cells)
    if task == "regression":
        y = _check_numbers(train.title, name, numbers)
        if y.min() == y.max():
            raise InputError(
                f"{train.title}: the label {name!r} is {y[0]:g} in every row. There is nothing to "
                "learn; check the column."
            )
    else:
        y = np.array(_classes(cells, numbers), dtype=str)
        _check_classes(train.title, name, y)
    y_target, scored = _target_labels(
        target, own, task, numbers is not None, notes, asked=target_name is not None
    )
    if task == "classification" and y_target is not None:
        unknown = sorted(set(y_target.tolist()) - set(y.tolist()))
        if unknown:
            raise InputError(
                f"{target.title}: the label {own!r} has classes that training lacks: "
                f"{', '.join(map(repr, unknown[:5]))}. Leave the column out of the target, or "
                "spell the classes the same way."
            )
    return Labels(name, task, y, y_target, scored)


_WORDS = {"classification": "classes", "regression": "a number"}


def _infer(name: str, cells: list[str]) -> str | None:
    """Return the kind of label; None where it could be either."""
    numbers, levels = _numbers(cells), len(set(cells))
    if numbers is None:
        if levels > 50:
            raise InputError(
                f"The label {name!r} has {levels} different values that are not numbers. Check the "
                "column, or insist with --task classification."
            )
        return "classification"
    whole = bool((np.mod(numbers[np.isfinite(numbers)], 1) == 0).all())
    if len(np.unique(numbers)) <= 2 and whole:
        return "classification"
    return None if whole and levels <= _FEW_NUMBERS else "regression"


def _target_labels(
    target: Table, name: str, task: str, are_numbers: bool, notes: list[Note], *, asked: bool
) -> tuple[NDArray[Any] | None, NDArray[np.intp]]:
    nothing = np.arange(0)
    if name not in target.columns:
        return None, nothing
    cells = list(target[name])
    scored = np.flatnonzero([cell is not None for cell in cells])
    if not len(scored):
        text = f"{target.title}: its label column {name!r} is empty, and was not used."
        notes.append(Note("target labels", text))
        return None, nothing
    text = f"{target.title} has the label {name!r} in {len(scored)} of {len(cells)} rows"
    text += "." if asked else ": used only to score, never to fit or to choose."
    notes.append(Note("target labels", text))
    present = [cell for cell in cells if cell is not None]
    numbers = _numbers(present)
    if task == "regression":
        return _check_numbers(target.title, name, numbers), scored
    return np.array(_classes(present, numbers if are_numbers else None), dtype=str), scored


def _numbers(cells: list[str]) -> Real | None:
    try:
        return np.array([float(cell) for cell in cells])
    except (ValueError, TypeError):
        return None


def spelled_alike(cells: list[str]) -> list[str]:
    """Spell classes as labels are spelled."""
    return _classes(cells, _numbers(cells))


def _classes(cells: list[str], numbers: Real | None) -> list[str]:
    """Spell equal numbers alike: 1, 1.0 and 01 are one class."""
    if numbers is None or not np.isfinite(numbers).all():
        return [str(cell) for cell in cells]
    return [f"{number:.0f}" if number % 1 == 0 else repr(float(number)) for number in numbers]


def _check_numbers(title: str, name: str, numbers: Real | None) -> Real:
    if numbers is None:
        raise InputError(
            f"{title}: the label {name!r} holds text, so it cannot be a number to predict. Use "
            "--task classification, or repair the column."
        )
    bad = int((~np.isfinite(numbers)).sum())
    if bad or np.abs(numbers).max() > 1e100:
        what = f"{bad} infinite values" if bad else "numbers beyond 1e+100"
        raise InputError(f"{title}: the label {name!r} has {what}. Repair or rescale it.")
    return numbers


def _check_classes(title: str, name: str, y: NDArray[Any]) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) == 1:
        raise InputError(
            f"{title}: the label {name!r} holds one class only, {str(classes[0])!r}, in all "
            f"{len(y)} rows. There is nothing to tell apart; check the column."
        )
    if len(classes) > 100:
        raise InputError(
            f"{title}: the label {name!r} has {len(classes)} classes. At most 100 are supported; "
            "for a number to predict use --task regression."
        )
    if counts.min() < 2:
        rare = str(classes[counts.argmin()])
        raise InputError(
            f"{title}: the class {rare!r} of the label {name!r} occurs in only one row. Remove it, "
            "or merge it with another class."
        )


# Outcomes to estimate a number of: numbers or categories, missing in some rows.


_MOST_CATEGORIES = 50  # more, not asked for as categories, are names or free text


class Outcomes(dict[str, Any]):
    """Outcomes by name, as a data frame has them: float64, or floats or text with None for gaps."""

    @property
    def columns(self) -> list[str]:
        """Names of the outcomes."""
        return list(self)


def outcome_decisions(
    table: Table, beside: Iterable[tuple[str, str]], categories: bool | None
) -> list[Decision]:
    """Decide about outcomes of numbers and words; ``categories`` are wanted, or may be."""
    decisions = []
    for option, name in beside:
        if option != "--outcome" or categories or table.columns[name].values.dtype != object:
            continue
        cells = list(table.columns[name].values)
        numbers, word = _outcome_numbers(cells)
        words = sorted({c for c, x in zip(cells, numbers, strict=True) if c and x is None})
        if word is None or len(words) == len({cell for cell in cells if cell is not None}):
            continue
        gaps = [Answer.of(*(("missing", word) for word in words))]
        gaps *= len(words) <= MOST_WORDS and "=" not in name
        shares = [Answer.of(("what", "proportion"))] * (categories is None)
        answers = gaps + shares if len(words) == 1 else shares + gaps
        if answers:
            why = f"is an outcome and holds numbers and text (such as {word!r})"
            decisions.append(Decision(name, why, answers[0], tuple(answers[1:]), where=(0,)))
    return decisions


def read_outcomes(
    beside: Mapping[str, Any], names: Iterable[str], *, categories: bool | None
) -> tuple[Outcomes, bool]:
    """Read the columns ``names``; also return whether they are ``categories`` (None: find out)."""
    found = Outcomes()
    words: dict[str, str | None] = {}
    for name in names:
        if isinstance(beside[name], np.ndarray) and beside[name].dtype != object:
            found[name], words[name] = beside[name], None
            continue
        cells = list(beside[name])
        numbers, word = _outcome_numbers(cells)
        found[name], words[name] = (cells if word else numbers), word
        if word is None:
            continue
        if categories is False:
            raise InputError(
                f"The outcome {name!r} holds text (such as {word!r}), of which there is no such "
                "number. Use --what proportion for the share of each category; if "
                f"{word!r} stands for a missing value: --missing {word!r}."
            )
        if categories is None:
            _refuse_doubtful(name, cells, numbers, word)
    text = [name for name, word in words.items() if word]
    if categories is None and 0 < len(text) < len(words):
        raise InputError(
            f"Some outcomes are text ({', '.join(map(repr, text))}), others numbers. Ask for them "
            "one after the other; or use --what proportion, for the shares of all their values."
        )
    return found, bool(text) if categories is None else categories


def read_numbers(cells: Iterable[str | None], name: str, option: str) -> list[float | None]:
    """Read a column of numbers; text is refused."""
    numbers, word = _outcome_numbers(list(cells))
    if word is not None:
        raise InputError(
            f"The column {name!r}, which {option} names, holds text (such as {word!r}). Repair it, "
            f"or say that it stands for a missing value: --missing {word!r}."
        )
    return numbers


def _outcome_numbers(cells: list[str | None]) -> tuple[list[float | None], str | None]:
    """Return the numbers, None where a cell is missing or a word; and the first word."""
    numbers: list[float | None] = []
    first = None
    for cell in cells:
        number = None
        if cell is not None:
            try:
                number = None if "_" in str(cell) else float(cell)  # Python reads 1_000 as a number
            except ValueError:
                number = None
            if number is None and first is None:
                first = cell
        numbers.append(number)
    return numbers, first


def _refuse_doubtful(
    name: str, cells: list[str | None], numbers: list[float | None], word: str
) -> None:
    if any(number is not None for number in numbers):
        raise InputError(
            f"The outcome {name!r} holds numbers and text (such as {word!r}). If {word!r} stands "
            f"for a missing value: --missing {word!r}; if all are categories: --what proportion."
        )
    levels = len({cell for cell in cells if cell is not None})
    if levels > _MOST_CATEGORIES:
        raise InputError(
            f"The outcome {name!r} has {levels} different values that are not numbers: names or "
            "free text rather than categories. Name those that you want with --category, or ask "
            "for all with --what proportion."
        )
