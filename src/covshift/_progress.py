"""How far a long run has got: on stderr, a bar where a person looks at it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Self, TypeVar

Item = TypeVar("Item")

_WIDTH = 30
_EVERY = 0.1  # seconds between two pictures of the bar
_LINES = 10  # of a log, in all


def track(items: Iterable[Item], total: int, label: str, *, verbose: bool) -> Iterator[Item]:
    """Yield ``items``; with ``verbose``, show how many of ``total`` are done, on a terminal.

    A loop that ends early, as searches do, leaves the bar where it got to.
    """
    with Progress(total, label, verbose=verbose) as progress:
        for item in items:
            progress.show()
            progress.done += 1
            yield item


class Progress:
    """Counts what is done of ``total``, and guesses how long the rest takes.

    With ``verbose`` a terminal shows a bar. Elsewhere there is nothing to see, or, with ``log``,
    ten lines in all.
    """

    def __init__(self, total: int, label: str, *, verbose: bool = True, log: bool = False) -> None:
        self.total, self.label, self.done = total, label, 0
        self._draws = verbose and sys.stderr.isatty()
        self._logs = verbose and log and not self._draws
        self._start, self._drawn = time.monotonic(), -_EVERY
        self._shown = 0  # characters on the terminal's line

    def step(self, note: str = "") -> None:
        """Count one more; ``note`` says what it was."""
        self.done += 1
        self.show(note)
        if self._logs and self.done * _LINES // self.total > (self.done - 1) * _LINES // self.total:
            sys.stderr.write(f"{self.label} {self.done}/{self.total}{self._left()}\n")
            sys.stderr.flush()

    def show(self, note: str = "") -> None:
        """Draw the bar, unless that was a moment ago."""
        if self._draws and time.monotonic() - self._drawn >= _EVERY:
            self._drawn = time.monotonic()
            self._draw(self._left() + (f"  {note:.28}" if note else ""))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        if self._draws:
            self._draw()
            sys.stderr.write("\n")

    def _left(self) -> str:
        """How long the rest takes, if every step takes as long as those before."""
        if not 0 < self.done < self.total:
            return ""
        passed = time.monotonic() - self._start
        minutes, seconds = divmod(int(passed / self.done * (self.total - self.done)), 60)
        return f", {minutes}:{seconds:02d} left"

    def _draw(self, rest: str = "") -> None:
        full = _WIDTH * self.done // max(self.total, 1)
        bar = "#" * full + " " * (_WIDTH - full)
        text = f"{self.label} [{bar}] {self.done}/{self.total}{rest}"
        sys.stderr.write(f"\r{' ' * self._shown}\r{text}")
        sys.stderr.flush()
        self._shown = len(text)
