"""Outcomes and labels that could be read in two ways: numbers and words, classes and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..show.notes import Note
from .cells import Cells
from .codes import MOST_WORDS
from .decisions import Answer, Decision
from .words import reads_as_number

_FEW_NUMBERS = 10  # a label with 3 to 10 different whole numbers could be either
_FEW_CLASSES = 5  # of these, so many are rather classes
_MOST_CLASSES = 50  # different words


def outcome_decision(cells: Cells, categories: bool | None) -> Decision | None:
    """Decide about numbers and words; ``categories`` are wanted, or may be (None).

    Words beside numbers stand for missing values where they are few, and are categories else.
    """
    words = sorted(word for word in cells.words if not spells_number(word))
    if not words or categories or len(words) == len(cells.words):
        return None
    gaps = [Answer.of(*(("missing", word) for word in words))]
    gaps *= len(words) <= MOST_WORDS and "=" not in cells.name
    shares = [Answer.of(("what", "proportion"))] * (categories is None)
    answers = gaps + shares if len(words) == 1 else shares + gaps
    if not answers:
        return None
    first = next(word for word in cells.words if not spells_number(word))
    why = f"is an outcome and holds numbers and text (such as {first!r})"
    return Decision(cells.name, why, answers[0], tuple(answers[1:]), where=(0,))


def spells_number(text: str) -> bool:
    """Whether Python reads a text as a number; 1_000 is a word."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


@dataclass(frozen=True)
class LabelKind:
    """What a label is taken as, and what could be decided otherwise."""

    task: str | None  # "classification" or "regression"; None: nothing is known of it
    decisions: tuple[Decision, ...] = ()
    notes: tuple[Note, ...] = ()


_CLASSES, _NUMBER = (Answer.of(("task", task)) for task in ("classification", "regression"))
_WORDS = {"classification": "classes", "regression": "a number"}


def label_kind(cells: Cells, task: str | None, *, may_lack: bool) -> LabelKind:
    """Say what kind of label there is; rows without one ``may`` be left out.

    One word beside numbers stands for a missing label.
    """
    name, counts = cells.name, _counts(cells)
    rows, lost = len(cells), int(cells.gaps.sum())
    words = [w for w in counts if isinstance(w, str) and not reads_as_number(w.strip())]
    if len(words) == 1 and task != "classification" and "=" not in name:
        own = counts[words[0]]
        if own <= rows - lost - own:
            why = f"is the label and holds numbers and one word, {words[0]!r}"
            gaps = Answer.of(("missing", words[0]), *["drop-unlabelled"] * (not may_lack))
            others = (_CLASSES,) if task is None else ()
            rest = {word: count for word, count in counts.items() if word != words[0]}
            decision = Decision(name, why, gaps, others, where=(0,))
            return LabelKind(task or _likely(rest), (decision,))
    decisions = []
    if lost and not may_lack:
        why = f"is the label and is missing in {lost} of {rows} rows"
        decisions.append(Decision(name, why, Answer.of("drop-unlabelled"), where=(0,)))
    if task is not None or not counts:
        return LabelKind(task, tuple(decisions))
    task = _inferred(name, counts)
    if task is not None:
        text = f"The label {name!r} is taken as {_WORDS[task]} (--task overrides this)."
        return LabelKind(task, tuple(decisions), (Note("kind of label", text),))
    task = _likely(counts)
    answers = (_NUMBER, _CLASSES) if task == "regression" else (_CLASSES, _NUMBER)
    why = f"is the label and holds {len(counts)} different whole numbers"
    decisions.append(Decision(name, why, answers[0], answers[1:], where=(0,)))
    return LabelKind(task, tuple(decisions))


def _counts(cells: Cells) -> dict[Any, int]:
    """How often each value is there: words, or numbers."""
    if cells.is_text:
        return {word: count for word, count in cells.counts().items() if word is not None}
    levels, counts = np.unique(cells.values[~cells.gaps], return_counts=True)
    return dict(zip(levels.tolist(), counts.tolist(), strict=True))


def _inferred(name: str, counts: Mapping[Any, int]) -> str | None:
    """Return the kind of label; None where it could be either."""
    if not all(isinstance(level, float) or spells_number(level) for level in counts):
        if len(counts) > _MOST_CLASSES:
            raise InputError(
                f"The label {name!r} has {len(counts)} different values that are not numbers. "
                "Check the column, or insist with --task classification."
            )
        return "classification"
    numbers = np.unique([float(level) for level in counts])
    whole = bool((np.mod(numbers[np.isfinite(numbers)], 1) == 0).all())
    if len(numbers) <= 2 and whole:
        return "classification"
    return None if whole and len(numbers) <= _FEW_NUMBERS else "regression"


def _likely(counts: Mapping[Any, int]) -> str:
    """Say what few whole numbers are: up to five classes, which needs no order or distance.

    More values, or a value of one row only, are too rare for classes; as numbers they are at least
    predicted in the mean.
    """
    if not all(isinstance(level, float) or spells_number(level) for level in counts):
        return "classification"
    numbers = np.array([float(level) for level in counts])
    few = len(numbers) <= _FEW_CLASSES and bool((np.mod(numbers, 1) == 0).all())
    return "classification" if few and min(counts.values()) > 1 else "regression"
