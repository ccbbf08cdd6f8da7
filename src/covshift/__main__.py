"""``python -m covshift`` and ``covshift``: the command line, quiet about Ctrl-C from the start."""

import gc
import os
import signal
import sys


def _stop_at_once(*_: object) -> None:
    """End while nothing but imports has happened."""
    os.write(2, b"covshift: stopped. Nothing was written.\n")
    os._exit(130)


def main() -> int:
    """Run the command line in a process of its own."""
    gc.set_threshold(50_000, 20, 100)  # modules stay: looking for garbage among them takes longer
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started
            signal.signal(signal.SIGINT, _stop_at_once)  # it chose otherwise, such as nohup
        from .cli import main as run
    except KeyboardInterrupt:
        _stop_at_once()
    code = run()
    try:
        sys.stdout.flush()
    except OSError as error:  # a reader that has gone, or a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            print(f"covshift: standard output: {error.strerror}.", file=sys.stderr)
        code = 141 if isinstance(error, BrokenPipeError) else code or 1
    if code == 130:  # the interpreter would end itself by the signal once more
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
