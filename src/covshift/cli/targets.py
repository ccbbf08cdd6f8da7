"""Several targets on the command line: their order, their names, and how they are read."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..show.words import in_order
from . import console, options
from .row_flags import short_names

if TYPE_CHECKING:
    from .._tables import Samples


def in_their_order(paths: list[str]) -> list[str]:
    """Files as they were named; in natural order where that is the one of a shell's pattern."""
    if paths != sorted(paths):
        return paths
    return in_order(paths, lambda path: Path(path).stem)


def check_targets(args: argparse.Namespace, paths: list[str]) -> None:
    """Refuse bad places for the output, and a file that cannot be read twice."""
    for args.target in reversed(paths):
        options.check_output(args)
    if len(paths) > 1 and "-" in (args.train, *paths):
        raise InputError("Several targets are read one after the other: name files, not -.")


def samples_of_each(
    args: argparse.Namespace, paths: list[str], **given: Any
) -> Iterator[tuple[str, Samples]]:
    """Read the training file with one target after the other; what is noted twice is told once."""
    told: list[Any] = []
    quiet = console.quiet
    for name, path in zip(short_names(paths), paths, strict=True):
        args.target = path
        console.step(f"reading {name}" if len(paths) > 1 else "reading")
        console.quiet = quiet or bool(told)
        try:
            samples = options.samples_of(args, **given)
        finally:
            console.quiet = quiet
        if told:
            for note in samples.notes:
                if note not in told and note.severity != "warning":  # which is never quiet
                    console.tell(note)
        told += samples.notes
        yield name, samples
