"""A progress bar for long runs: on stderr, and only where a person looks at it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

_WIDTH = 30
_EVERY = 0.1  # seconds between two pictures of the bar


def track(items: Iterable[Item], total: int, label: str, *, verbose: bool) -> Iterator[Item]:
    """Yield ``items``; with ``verbose``, show how many of ``total`` are done, on a terminal.

    A loop that ends early, as searches do, leaves the bar where it got to.
    """
    if not (verbose and sys.stderr.isatty()):
        yield from items
        return
    done, drawn = 0, 0.0
    try:
        for item in items:
            if time.monotonic() - drawn > _EVERY:
                drawn = time.monotonic()
                _draw(label, done, total)
            done += 1
            yield item
    finally:
        _draw(label, done, total)
        sys.stderr.write("\n")


def _draw(label: str, done: int, total: int) -> None:
    full = _WIDTH * done // max(total, 1)
    sys.stderr.write(f"\r{label} [{'#' * full}{' ' * (_WIDTH - full)}] {done}/{total}")
    sys.stderr.flush()
