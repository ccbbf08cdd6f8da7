"""A decision about a column as data, and how each front end spells what undoes it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..show.notes import Note


@dataclass(frozen=True)
class Answer:
    """What a column can be taken as: steps, each a kind and a value, such as ("missing", "99").

    >>> answer = Answer.of(("missing", "98"), ("missing", "99"), "category")
    >>> answer.done("'a'")
    "Read 98, 99 in 'a' as missing, read it as categories"
    >>> answer.means, Answer.of("drop").does
    ('98, 99 read as missing, read as categories', 'leaves it out')
    """

    steps: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, *steps: str | tuple[str, str]) -> Answer:
        """Return the answer of these steps; those without a value are their kinds."""
        return cls(tuple((step, "") if isinstance(step, str) else step for step in steps))

    @property
    def leaves_out(self) -> bool:
        """Whether the column is not a feature then."""
        return self.steps[0][0] in ("drop", "id")

    @property
    def means(self) -> str:
        """Say it of the column: "read as categories"."""
        return ", ".join(part[0] for part in self._words)

    @property
    def does(self) -> str:
        """Say it of the answer: "reads it as categories"."""
        return ", ".join(part[2] for part in self._words)

    def done(self, column: str) -> str:
        """Say that it was taken: "Read 'x' as categories"."""
        first, *rest = (part[1] for part in self._words)
        more = (f", {part[:1].lower()}{part[1:].replace('{}', 'it')}" for part in rest)
        return first.replace("{}", column) + "".join(more)

    @property
    def _words(self) -> list[tuple[str, str, str]]:
        gaps = ", ".join(value for kind, value in self.steps if kind == "missing")
        found = [(f"{gaps} read as missing", f"Read {gaps} in {{}} as missing",
                  f"reads {gaps} as missing")] * bool(gaps)  # fmt: skip
        for kind, value in self.steps:
            if (kind, value) in _SAID:
                found.append(_SAID[kind, value])
            elif kind == "date":
                found.append((f"read as dates like {value}", f"Read {{}} as dates like {value}",
                              f"reads it as dates like {value}"))  # fmt: skip
            elif kind != "missing":
                found.append(_WORDS[kind])
        return found


_WORDS = {  # what a step means, what was done, what it does
    "category": ("read as categories", "Read {} as categories", "reads it as categories"),
    "number": ("read as numbers", "Read {} as numbers", "reads it as numbers"),
    "drop": ("left out", "Left out {}", "leaves it out"),
    "id": ("copied to the output, not used", "Left out {}", "leaves it out"),
    "keep": ("used", "Used {}", "uses it"),
}
_SAID = {  # the same of an outcome
    ("task", "classification"): ("read as classes", "Read {} as classes", "reads it as classes"),
    ("task", "regression"): ("read as a number", "Read {} as a number", "reads it as a number"),
    ("what", "proportion"): _WORDS["category"],
    ("drop-unlabelled", ""): (
        "rows without a label are left out",
        "Left out the rows without {}",
        "leaves out the rows without it",
    ),
}


@dataclass(frozen=True)
class Decision:
    """What a column is taken as, why, and what it could be taken as instead."""

    column: str
    why: str  # such as "looks like a row identifier"
    taken: Answer
    others: tuple[Answer, ...] = ()
    where: tuple[int, ...] = (0, 1)  # samples in which it is doubtful
    identifies: bool = False  # whether it seems to name or number the rows
    certain: bool = False  # whether there is nothing to ask
    numbers: tuple[str, ...] = ()  # in a spelling that an option of a reader may name, such as 1,5

    @property
    def undo(self) -> Answer | None:
        """What uses a column that was left out, or reads it otherwise."""
        using = (part for part in self.others if part.leaves_out < self.taken.leaves_out)
        return next(using, next(iter(self.others), None))

    def note(self) -> Note:
        """Say what was done and why, and what undoes it."""

        def text(spelled: Callable[[str, Answer], str]) -> str:
            done = f"{self.taken.done(repr(self.column))}: {self.why}"
            if self.undo is None:
                return f"{done}."
            return f"{done}; {spelled(self.column, self.undo)} {self.undo.does}."

        def as_target(column: str, answer: Answer) -> str:
            kind, value = answer.steps[-1]
            return undo_by_target(column, value if kind == "keep" else kind)

        command = text(lambda column, answer: shlex.join(options_of(column, answer)))
        return Note("decisions", text(as_target), command=command)


Undo = Callable[[str, str], str]
"""What the user writes to have a column, by its name, read as a kind or used in a role."""

_ROLES = {"weight": "sample_weight", "target weight": "target_weight", "target outcome": "y_target"}


def undo_by_encoder(name: str, kind: str) -> str:
    """Spell it for an encoder that a user made, or can put before a model."""
    return f'TableEncoder(kinds={{"{name}": "{kind}"}})'


def undo_by_target(name: str, kind: str) -> str:
    """Spell it for the functions that decide about two frames."""
    if kind in _ROLES:
        return f'{_ROLES[kind]}="{name}"'
    return f'X_target=Target(rows, kinds={{"{name}": "{kind}"}})'


def undo_by_option(name: str, kind: str) -> str:
    """Spell it for the command line."""
    return shlex.join(options_of(name, Answer.of(kind)))


def in_both(make: Callable[[Undo], Note], undo: Undo) -> Note:
    """Return a note as Python and as the command line say it."""
    return replace(make(undo), command=make(undo_by_option).text)


_OPTIONS = {"category": "categorical", "number": "numeric"}


def options_of(column: str, answer: Answer) -> tuple[str, ...]:
    """Return an answer as options.

    >>> options_of("a", Answer.of(("missing", "99"), "category"))
    ('--missing', 'a=99', '--categorical', 'a')
    """
    found: list[str] = []
    for kind, value in answer.steps:
        option = f"--{_OPTIONS.get(kind, kind).replace(' ', '-')}"
        if (kind, value) in _SAID:
            found += [option, value] if value else [option]
            continue
        named = f"{column}={value}" if kind in ("missing", "date") else column
        # which else would be an option itself
        found += [f"{option}={named}"] if named.startswith("-") else [option, named]
    return tuple(found)
