"""Questions about columns that could be read in two ways: all in one message, with an answer."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ..exceptions import InputError
from ..show.notes import Note


@dataclass(frozen=True)
class Answer:
    """Options of the command line that answer a question, and what they mean."""

    options: tuple[str, ...]
    means: str  # such as "read as categories"

    def __str__(self) -> str:
        return shlex.join(self.options)


@dataclass(frozen=True)
class Question:
    """What is doubtful about a column, and the answers; the first of these is the safest."""

    column: str
    file: str  # in which it is doubtful
    doubt: str  # such as "has a name that codes have"
    answers: tuple[Answer, ...]

    @property
    def safest(self) -> Answer:
        """The answer that --auto takes."""
        return self.answers[0]

    def __str__(self) -> str:
        answers = [f"{answer} ({answer.means})" for answer in self.answers]
        return f"{self.file}: column {self.column!r} {self.doubt}: {' or '.join(answers)}."

    def note(self) -> Note:
        """Say that the safest answer was taken."""
        text = (
            f"{self.file}: column {self.column!r} {self.doubt}: {self.safest.means} "
            f"({self.safest})."
        )
        return Note("answers of --auto", text)


class Asked(InputError):
    """Columns could be read in two ways: one message with all questions.

    >>> question = Question(
    ...     "region", "a.csv", "has a name that codes have",
    ...     (answer("categorical", "region"), answer("numeric", "region")),
    ... )
    >>> print(Asked([question]).message(["weigh", "a.csv", "b.csv"]))
    One thing must be said before anything is computed:
      a.csv: column 'region' has a name that codes have: --categorical region (read as categories) or --numeric region (read as numbers).
    The safest answer, ready to copy (--auto takes it too):
      covshift weigh a.csv b.csv --categorical region
    """  # noqa: E501

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = tuple(questions)
        super().__init__(self.message(None))

    @property
    def options(self) -> list[str]:
        """The safest answers, as options."""
        found = [question.safest.options for question in self.questions]
        return [part for options in dict.fromkeys(found) for part in options]

    def message(self, argv: Sequence[str] | None) -> str:
        """List the questions; end with the command ``argv`` of the user and all answers."""
        one = len(self.questions) == 1
        first = "One thing" if one else f"{len(self.questions)} things"
        lines = [f"{first} must be said before anything is computed:"]
        lines += [f"  {question}" for question in self.questions]
        safest = "answer" if one else "answers"
        if argv is None:
            return "\n".join([*lines, f"The safest {safest}: {shlex.join(self.options)}"])
        them = "it" if one else "them"
        lines += [f"The safest {safest}, ready to copy (--auto takes {them} too):"]
        return "\n".join([*lines, f"  {shlex.join(['covshift', *answered(argv, self.options)])}"])


def answered(argv: Sequence[str], options: Sequence[str]) -> list[str]:
    """Add options to a command; before "--", after which there are none."""
    at = list(argv).index("--") if "--" in argv else len(argv)
    return [*argv[:at], *options, *argv[at:]]


_MEANS = {
    "categorical": "read as categories",
    "numeric": "read as numbers",
    "date": "read as dates",
    "drop": "left out",
    "id": "kept beside the results, no feature",
}


def answer(option: str, value: str | None = None, means: str | None = None) -> Answer:
    """Return an answer of one option."""
    means = _MEANS[option] if means is None else means
    if value is None:
        return Answer((f"--{option}",), means)
    if value.startswith("-"):  # which else would be an option itself
        return Answer((f"--{option}={value}",), means)
    return Answer((f"--{option}", value), means)


def missing_answer(name: str, words: Sequence[str]) -> Answer:
    """Say that some words of one column stand for missing values."""
    options: list[str] = []
    for word in words:
        options += answer("missing", f"{name}={word}", "").options
    shown = ", ".join(words)
    verb = "stands for a missing value" if len(words) == 1 else "stand for missing values"
    return Answer(tuple(options), f"{shown} {verb}")


def joined(*answers: Answer) -> Answer:
    """Give several answers at once."""
    options = tuple(part for one in answers for part in one.options)
    return Answer(options, ", ".join(one.means for one in answers))
