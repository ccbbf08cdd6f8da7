"""Questions about columns that could be read in two ways: all in one message, with an answer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..encoding.cells import Cells
from ..encoding.decide import Decisions
from ..encoding.decisions import Answer, Decision, options_of
from ..exceptions import InputError
from ..show.notes import Note


@dataclass(frozen=True)
class OptionAnswer:
    """Options of the command line that answer a question, and what they do."""

    options: tuple[str, ...]
    means: str  # such as "read as categories"
    done: str = ""  # such as "Read {} as categories", where {} is the column
    does: str = ""  # such as "reads it as categories"

    def __str__(self) -> str:
        return shlex.join(self.options)

    @property
    def leaves_out(self) -> bool:
        """Whether the column is not a feature then."""
        return self.options[0].startswith(("--drop", "--id")) and "-unlabelled" not in str(self)


@dataclass(frozen=True)
class Question:
    """What is doubtful about a column, and the answers; the first of these is the safest."""

    column: str
    file: str  # in which it is doubtful
    doubt: str  # such as "looks like a row identifier"
    answers: tuple[OptionAnswer, ...]

    @property
    def safest(self) -> OptionAnswer:
        """The answer that is taken unless the user asked for questions."""
        return self.answers[0]

    def __str__(self) -> str:
        answers = [f"{answer} ({answer.means})" for answer in self.answers]
        return f"{self.file}: {self.column!r} {self.doubt}: {' or '.join(answers)}."

    def note(self) -> Note:
        """Say that the safest answer was taken, and what undoes it."""
        others = (part for part in self.answers[1:] if part.leaves_out < self.safest.leaves_out)
        other = next(others, next(iter(self.answers[1:]), None))
        undo = "" if other is None else f"; {other} {other.does}"
        done = self.safest.done.format(repr(self.column))
        return Note("decisions", f"{done}: {self.doubt}{undo}.")


class Asked(InputError):
    """Columns could be read in two ways: one message with all questions.

    >>> question = Question(
    ...     "region", "a.csv", "looks like a code",
    ...     (answer("categorical", "region"), answer("numeric", "region")),
    ... )
    >>> print(Asked([question]))
    One column could be read in two ways:
      a.csv: 'region' looks like a code: --categorical region (read as categories) or --numeric region (read as numbers).
    Without --ask covshift takes the first answer.
    >>> print(question.note())
    Read 'region' as categories: looks like a code; --numeric region reads it as numbers.
    """  # noqa: E501

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = tuple(questions)
        columns = len({question.column for question in self.questions})
        first = "One column" if columns == 1 else f"{columns} columns"
        lines = [f"{first} could be read in two ways:"]
        lines += [f"  {question}" for question in self.questions]
        each = "" if len(self.questions) == 1 else " of each"
        lines.append(f"Without --ask covshift takes the first answer{each}.")
        super().__init__("\n".join(lines))


MEANS = {  # of an option: what it means, what was done, what it does
    "categorical": ("read as categories", "Read {} as categories", "reads it as categories"),
    "numeric": ("read as numbers", "Read {} as numbers", "reads it as numbers"),
    "drop": ("left out", "Left out {}", "leaves it out"),
    "id": ("copied to the output, not used", "Left out {}", "leaves it out"),
    "keep": ("used", "Used {}", "uses it"),
}


def answer(option: str, value: str | None = None, *words: str) -> OptionAnswer:
    """Return an answer of one option; ``words`` say what it means, was done and does."""
    words = words or MEANS[option]
    if value is None:
        return OptionAnswer((f"--{option}",), *words)
    if value.startswith("-"):  # which else would be an option itself
        return OptionAnswer((f"--{option}={value}",), *words)
    return OptionAnswer((f"--{option}", value), *words)


def missing_answer(name: str, words: Sequence[str]) -> OptionAnswer:
    """Say that some words of one column stand for missing values."""
    options: list[str] = []
    for word in words:
        options += answer("missing", f"{name}={word}", "").options
    shown = ", ".join(words)
    braced = shown.replace("{", "{{").replace("}", "}}")
    return OptionAnswer(
        tuple(options),
        f"{shown} read as missing",
        f"Read {braced} in {{}} as missing",
        f"reads {shown} as missing",
    )


def joined(first: OptionAnswer, second: OptionAnswer) -> OptionAnswer:
    """Give two answers at once."""
    then = second.done[:1].lower() + second.done[1:]
    return OptionAnswer(
        first.options + second.options,
        f"{first.means}, {second.means}",
        f"{first.done}, {then.replace('{}', 'it')}",
        f"{first.does}, {second.does}",
    )


# What the library decided about columns, as questions with options.


def option_answer(column: str, found: Answer) -> OptionAnswer:
    """Return an answer of the library as options."""
    done = found.done("\0").replace("{", "{{").replace("}", "}}").replace("\0", "{}")
    return OptionAnswer(options_of(column, found), found.means, done, found.does)


def question_of(found: Decision, titles: Sequence[str]) -> Question:
    """Return a decision of the library as a question."""
    where = " and ".join(dict.fromkeys(titles[k] for k in found.where))
    answers = tuple(option_answer(found.column, part) for part in (found.taken, *found.others))
    return Question(found.column, where, found.why, answers)


def questions_of(made: Decisions, titles: Sequence[str], id: str | None) -> list[Question]:
    """Return what could be decided otherwise; the column ``id`` is copied to the output."""
    found = []
    for one in made.made:
        if one.column == id and not one.certain:
            others = (Answer.of("drop"), *one.others)
            one = replace(one, taken=Answer.of("id"), others=others)
        found += [] if one.certain else [question_of(one, titles)]
    return found


def found_id(made: Decisions, here: Mapping[str, Cells], there: Mapping[str, Cells]) -> str | None:
    """Return the column that identifies rows: text that is whole in both files, or numbers."""
    names = [one.column for one in made.made if one.identifies and one.certain]
    for name in names:
        pair = here[name], there[name]
        if all(part.is_text and len({*part.values.tolist()} - {-1}) == len(part) for part in pair):
            return name
    return next((one.column for one in made.made if one.identifies and not one.certain), None)
