"""The command line: ``covshift estimate``, evaluate, diagnose, compare, fit, predict and more.

A command is a frozen dataclass of its options, whose docstring is their table (`command`), and a
function that reads files, calls the library and prints the answer. It is imported when it is asked
for, and heavy imports stay inside its functions, so that ``covshift --help`` is instant.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 fine, 1 internal error, 2 bad input, 3 with ``--strict`` where the verdict is bad, 130 after
    Ctrl-C.
    """
    try:
        import click
    except ImportError:
        print(
            'covshift: commands need click. Install it: pip install "covshift[cli]"',
            file=sys.stderr,
        )
        return 1
    from .commands import parse

    argv = [_as_text(part) for part in (sys.argv[1:] if argv is None else argv)]
    try:
        options = parse(argv)
    except click.UsageError as error:
        from . import console

        where = "covshift" if error.ctx is None else error.ctx.command_path
        console.complain(f"{error.format_message()}\nThe options: {where} --help")
        return 2
    if isinstance(options, int):  # help or the version was printed
        return options
    from .run import run_command

    return run_command(options)


def _as_text(part: str) -> str:
    """Read an argument that the locale could not as UTF-8, unless a file has that name."""
    if part.isascii() or os.path.exists(part):
        return part
    try:
        return os.fsencode(part).decode("utf-8")
    except UnicodeError:
        return part
