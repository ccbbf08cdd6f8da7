"""The command line: ``covshift estimate``, evaluate, diagnose, compare, fit, predict and more.

This layer parses arguments and prints; the work is done by the library. Heavy imports stay inside
the commands, so that ``covshift --help`` is instant.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .run import run_command


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 fine, 1 internal error, 2 bad input, 3 with ``--strict`` where the verdict is bad, 130 after
    Ctrl-C.
    """
    return run_command(sys.argv[1:] if argv is None else list(argv))
