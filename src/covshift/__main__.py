"""``python -m covshift`` and ``covshift``: the command line, quiet about Ctrl-C from the start."""

import os
import signal
import sys


def _stop_at_once(*_: object) -> None:
    """End while nothing but imports has happened."""
    os.write(2, b"covshift: stopped. Nothing was written.\n")
    os._exit(130)


def main() -> int:
    """Run the command line in a process of its own."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started
            signal.signal(signal.SIGINT, _stop_at_once)  # it chose otherwise, such as nohup
        from .cli import main as run
    except KeyboardInterrupt:
        _stop_at_once()
    code = run()
    if code == 130:  # the interpreter would end itself by the signal once more
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
