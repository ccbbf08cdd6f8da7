"""The command line: ``covshift estimate``, evaluate, diagnose, compare, fit, predict and more.

This layer parses arguments and prints; the work is done by the library. A command is imported when
it is asked for, and heavy imports stay inside its functions, so that ``covshift --help`` is
instant.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .parser import parse


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 fine, 1 internal error, 2 bad input, 3 with ``--strict`` where the verdict is bad, 130 after
    Ctrl-C.
    """
    argv = [_as_text(part) for part in (sys.argv[1:] if argv is None else argv)]
    try:
        args = parse(argv)
    except SystemExit as done:  # argparse has printed help, the version, or what is wrong
        return int(done.code or 0)
    from .run import run_command

    return run_command(args, argv)


def _as_text(part: str) -> str:
    """Read an argument that the locale could not as UTF-8, unless a file has that name."""
    if part.isascii() or os.path.exists(part):
        return part
    try:
        return os.fsencode(part).decode("utf-8")
    except UnicodeError:
        return part
