"""Run ``covshift ARGUMENTS`` and send it SIGKILL at its k-th write: killed.py K ARGUMENTS."""

from __future__ import annotations

import os
import signal
import sys

from faults.points import at_every_write

from covshift.cli import main


def kill(number, name):
    if number == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    with at_every_write(kill):
        code = main(sys.argv[2:])
    sys.exit(code)
