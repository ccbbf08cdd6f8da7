"""Outcomes to estimate a number of: numbers or categories, missing in some rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..exceptions import InputError
from .questions import Question, answer, missing_answer
from .table import Table

_MOST_CATEGORIES = 50  # more, not asked for as categories, are names or free text
_MOST_WORDS = 5  # among numbers that may all stand for missing values


class Outcomes(dict[str, list[Any]]):
    """Outcomes by name, as a data frame has them: floats or text, None where one is missing."""

    @property
    def columns(self) -> list[str]:
        """Names of the outcomes."""
        return list(self)


def outcome_questions(
    table: Table, beside: Iterable[tuple[str, str]], categories: bool | None
) -> list[Question]:
    """Ask about outcomes that hold numbers and words; ``categories`` are wanted, or may be."""
    questions = []
    for option, name in beside:
        if option != "--outcome" or categories:
            continue
        cells = list(table.columns[name].values)
        numbers, word = _numbers(cells)
        words = sorted({c for c, x in zip(cells, numbers, strict=True) if c and x is None})
        if word is None or len(words) == len({cell for cell in cells if cell is not None}):
            continue
        gaps = [missing_answer(name, words)] * (len(words) <= _MOST_WORDS and "=" not in name)
        shares = [answer("what", "proportion", "all its values are categories")]
        shares *= categories is None
        if not gaps + shares:
            continue
        doubt = f"is an outcome and holds numbers and text (such as {word!r})"
        answers = gaps + shares if len(words) == 1 else shares + gaps
        questions.append(Question(name, table.title, doubt, tuple(answers)))
    return questions


def read_outcomes(
    beside: Mapping[str, Iterable[str | None]], names: Iterable[str], *, categories: bool | None
) -> tuple[Outcomes, bool]:
    """Read the columns ``names``; also return whether they are ``categories`` (None: find out)."""
    found, words = Outcomes(), {}
    for name in names:
        cells = list(beside[name])
        numbers, word = _numbers(cells)
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
    numbers, word = _numbers(list(cells))
    if word is not None:
        raise InputError(
            f"The column {name!r}, which {option} names, holds text (such as {word!r}). Repair it, "
            f"or say that it stands for a missing value: --missing {word!r}."
        )
    return numbers


def _numbers(cells: list[str | None]) -> tuple[list[float | None], str | None]:
    """Return the numbers, None where a cell is missing or a word; and the first word."""
    numbers: list[float | None] = []
    first = None
    for cell in cells:
        number = None
        if cell is not None:
            try:
                number = None if "_" in cell else float(cell)  # Python reads 1_000 as a number
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
