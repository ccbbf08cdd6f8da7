"""The canonical problem, what a cell of the matrix expects, and how a cell is tried."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

SLOTS = ("X", "X_target", "y", "sample_weight", "target_weight")
N, M = 32, 36


@dataclass(frozen=True)
class Problem:
    """What users pass. Numbers are multiples of 1/8, so that every precision holds them."""

    X: Any  # (N, 3)
    X_target: Any  # (M, 3)
    y: Any  # (N,): classes 0 and 1, or numbers
    sample_weight: Any  # (N,)
    target_weight: Any  # (M,)

    def with_(self, **changed: Any) -> Problem:
        return replace(self, **changed)

    def each(self, change: Callable[[Any], Any], *slots: str) -> Problem:
        """Change some of the inputs in the same way."""
        return replace(self, **{slot: change(getattr(self, slot)) for slot in slots})


@cache
def canonical(task: str) -> Problem:
    """The problem that all inputs are made of, with classes or numbers as outcomes."""
    rng = np.random.default_rng(5)
    X, T = _eighths(rng.normal(0, 1, (N, 3))), _eighths(rng.normal(0.3, 0.9, (M, 3)))
    outcome = _eighths(X[:, 0] - X[:, 1] + rng.normal(0, 0.7, N))
    y = (outcome > 0).astype(int) if task == "classes" else outcome
    w, v = (rng.integers(4, 12, rows) / 8 for rows in (N, M))
    return Problem(X, T, y, w, v)


def _eighths(values: Any) -> Any:
    return np.round(np.clip(values, -3, 3) * 8) / 8


@dataclass(frozen=True)
class Refuses:
    """A `ValueError` or `TypeError` that names the input and says these words."""

    words: str = ""


@dataclass(frozen=True)
class Same:
    """The answer of the reference problem."""

    tolerance: float = 1e-7


@dataclass(frozen=True)
class Sound:
    """Some answer, of finite numbers."""


@dataclass(frozen=True)
class SoundOrRefuses:
    """Finite numbers, or an error in words that name the input: never anything else."""

    words: str = ""
    named: bool = True  # not where no one input is at fault, or a model of the user's complains


Expectation = Refuses | Same | Sound | SoundOrRefuses


def unchanged(problem: Problem) -> Problem:
    """Return the canonical problem itself."""
    return problem


@dataclass(frozen=True)
class Input:
    """One kind of input: the canonical problem, changed, and what it should get."""

    name: str
    slot: str  # the input that an error must name
    change: Callable[[Problem], Problem]
    expects: Expectation
    reference: Callable[[Problem], Problem] = unchanged  # whose answer `Same` means
    task: str | None = None  # only where outcomes are "classes" or "numbers"
    tables: Expectation | None = None  # of what takes tables with text, dates and gaps
    cheap: bool = True  # tried with slow entry points in every run
    also: tuple[str, ...] = ()  # other inputs that it changes


@dataclass(frozen=True, eq=False)
class Entry:
    """One public callable, as a function of the problem that returns numbers."""

    name: str
    answer: Callable[[Problem], Any]
    takes: tuple[str, ...] = SLOTS
    task: str = "classes"
    covers: tuple[str, ...] = ()  # the public names that it stands for
    tables: bool = False  # takes data frames with text, dates and gaps
    called: dict[str, str] = field(default_factory=dict)  # its own words for an input
    slow: bool = False  # every answer takes a tenth of a second or more
    start: Callable[[Problem], Problem] = unchanged  # makes the canonical problem its own

    def problem(self) -> Problem:
        """The problem that inputs are made of here."""
        return self.start(canonical(self.task))

    def expectation(self, one: Input) -> Expectation | None:
        """What this input should get here; None where it says nothing."""
        if one.slot not in self.takes or one.task not in (None, self.task):
            return None
        return one.tables if self.tables and one.tables is not None else one.expects

    def names(self, slot: str) -> str:
        """Regular expression of the words that may stand for an input."""
        return self.called.get(slot, rf"\b{slot}\b")


@cache
def reference(entry: Entry, change: Callable[[Problem], Problem]) -> Any:
    """The answer to a reference problem, once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return numbers(entry.answer(change(entry.problem())))


def numbers(answer: Any) -> np.ndarray:
    return np.asarray(answer, dtype=np.float64)


def failure(entry: Entry, one: Input, expected: Expectation) -> str | None:
    """Try a cell: None where it holds, else what went wrong."""
    problem = one.change(copy.deepcopy(entry.problem()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = numbers(entry.answer(problem))
        except Exception as error:
            return _of_error(error, entry, one, expected)
    if isinstance(expected, Refuses):
        return f"took it silently; expected a refusal with {expected.words!r}"
    if isinstance(expected, Same):
        known = reference(entry, one.reference)
        found = found[..., 0] if found.shape == (*known.shape, 1) else found  # of a column y
        if found.shape != known.shape:
            return f"an answer of shape {found.shape}, expected {known.shape}"
        if not np.allclose(found, known, rtol=expected.tolerance, atol=expected.tolerance):
            return f"another answer: largest difference {np.nanmax(np.abs(found - known)):.3g}"
        return None
    return None if np.isfinite(found).all() else "an answer that is not finite"


def _of_error(error: Exception, entry: Entry, one: Input, expected: Expectation) -> str | None:
    text = f"{type(error).__name__}: {error}"
    if isinstance(expected, Same | Sound):
        return f"refused: {text:.300}"
    if not isinstance(error, ValueError | TypeError):
        return f"a raw error: {text:.300}"
    names = "|".join(entry.names(slot) for slot in (one.slot, *one.also))
    if getattr(expected, "named", True) and not re.search(names, str(error)):
        return f"an error that does not name {names}: {text:.300}"
    if not re.search(expected.words, str(error), re.IGNORECASE):
        return f"an error without the words {expected.words!r}: {text:.300}"
    return None
