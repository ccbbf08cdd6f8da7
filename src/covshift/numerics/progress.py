"""How far a long run has got: on stderr, a bar where a person looks at it, else a line at times."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Self, TypeVar

from ..exceptions import SlowWarning

Item = TypeVar("Item")

_WIDTH = 30
_EVERY = 0.1  # seconds between two pictures of the bar
_LINES = 10  # of a log, in all
_SECONDS = 10.0  # between two lines of `reporting`


def track(items: Iterable[Item], total: int, label: str, *, verbose: bool = True) -> Iterator[Item]:
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

    hidden = False  # during a command with --quiet
    doing = ""  # what the command line does now, for the lines of `reporting`

    def __init__(self, total: int, label: str, *, verbose: bool = True, log: bool = False) -> None:
        self.total, self.label, self.done = total, label, 0
        self._draws = verbose and not Progress.hidden and sys.stderr.isatty()
        self._logs = verbose and log and not self._draws
        self._start, self._drawn = time.monotonic(), -_EVERY
        self._shown = 0  # characters on the terminal's line
        self._verbose, self._before = verbose, Progress.doing

    def step(self, note: str = "") -> None:
        """Count one more; ``note`` says what it was."""
        self.done += 1
        self.show(note)
        if self._logs and self.done * _LINES // self.total > (self.done - 1) * _LINES // self.total:
            sys.stderr.write(f"{self.label} {self.done}/{self.total}{self._left()}\n")
            sys.stderr.flush()

    def show(self, note: str = "") -> None:
        """Draw the bar, unless that was a moment ago."""
        if self._verbose and not self._draws:
            Progress.doing = f"{self.label} {self.done}/{self.total}{self._left()}"
        if self._draws and time.monotonic() - self._drawn >= _EVERY:
            self._drawn = time.monotonic()
            self._draw(self._left() + (f"  {note:.28}" if note else ""))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        Progress.doing = self._before
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


@contextmanager
def doing(what: str, step: str = "") -> Iterator[None]:
    """Name a part of the work, for the lines of `reporting`.

    Where it is a ``step`` of the command itself, it says which; inside a part that has a name, the
    two names alone: counts of steps would begin again and again.
    """
    before = Progress.doing
    nested = " " in before  # else it is the command's name
    Progress.doing = f"{before.partition(': ')[0]}: {what}" if nested else f"{step}{what}"
    try:
        yield
    finally:
        Progress.doing = before


@contextmanager
def reporting() -> Iterator[None]:
    """Say every ten seconds what is done, on stderr, unless a terminal shows it or all is quiet."""
    if Progress.hidden or sys.stderr.isatty():
        yield
        return
    ended, start = Event(), time.monotonic()

    def report() -> None:
        while not ended.wait(_SECONDS):
            with suppress(OSError, ValueError):  # whoever read it has gone
                print(f"{Progress.doing} ... {time.monotonic() - start:.0f} s", file=sys.stderr)

    thread = Thread(target=report, name="covshift-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


# What a long computation says before it begins.


LONG = 30.0  # seconds that deserve a word


def warn_if_slow(what: str, seconds: float, instead: str, *, stacklevel: int) -> None:
    """Say how long ``what`` will take, where that is long, and what to use instead.

    ``seconds`` are those of one core of 2024; ``stacklevel`` is that of the caller.
    """
    if seconds > LONG:
        text = f"{what} will take about {_said(seconds)}. {instead}"
        warnings.warn(text, SlowWarning, stacklevel=stacklevel + 1)


def _said(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"
