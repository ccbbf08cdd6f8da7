"""A progress bar on a terminal; elsewhere a line now and then."""

from __future__ import annotations

import sys
import time

_WIDTH = 32
_EVERY = 0.2  # seconds between two pictures on a terminal
_LINES = 10  # lines in all, where nobody looks


class Progress:
    """Counts finished trials and guesses how long the rest takes."""

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        self.total, self.done = total, 0
        self._quiet = quiet
        self._start = self._drawn = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def step(self, label: str) -> None:
        """Count one more."""
        self.done += 1
        if self._quiet:
            return
        now = time.monotonic()
        left = (now - self._start) / self.done * (self.total - self.done)
        if self._terminal:
            if now - self._drawn > _EVERY or self.done == self.total:
                self._drawn = now
                full = _WIDTH * self.done // self.total
                bar = "#" * full + " " * (_WIDTH - full)
                end = "\n" if self.done == self.total else ""
                sys.stderr.write(
                    f"\r[{bar}] {self.done}/{self.total}, {_minutes(left)} left  {label:28.28}{end}"
                )
                sys.stderr.flush()
        elif self.done * _LINES // self.total > (self.done - 1) * _LINES // self.total:
            sys.stderr.write(f"{self.done}/{self.total} trials, {_minutes(left)} left\n")
            sys.stderr.flush()


def _minutes(seconds: float) -> str:
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}"
