"""From arguments to an exit code: every ending has its message; tracebacks need --debug."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .._files import recorded
from .._quiet import Heard, listening
from ..exceptions import InputError
from . import answering, console, imports

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FINE, INTERNAL, BAD_INPUT, BAD_VERDICT = 0, 1, 2, 3
INTERRUPTED, TERMINATED, BROKEN_PIPE = 130, 143, 141  # as a shell counts signals


def run_command(args: argparse.Namespace, argv: list[str]) -> int:
    """Run the command that ``argv`` was parsed to."""
    console.quiet, console.columns = args.quiet, []
    args.argv = argv

    def work() -> int:
        imports.import_scikit_learn()
        return answering.run_answered(args)

    return _guarded(work, debug=args.debug)


def _guarded(work: Any, *, debug: bool) -> int:
    console.prepare_streams()
    with recorded() as written:
        return _ended(work, written, debug=debug)


def _ended(work: Any, written: list[Path], *, debug: bool) -> int:
    interrupted: list[int] = []
    try:
        with _signals(interrupted), _spoken_warnings():
            code = int(work())
            sys.stdout.flush()
            return code
    except KeyboardInterrupt:
        console.complain(f"stopped. {_what_was(written)}")
        return INTERRUPTED
    except _Terminated:
        return TERMINATED
    except BrokenPipeError:
        _forget_stdout()
        return BROKEN_PIPE
    except SystemExit as done:
        return int(done.code or 0)
    except Exception as error:
        if interrupted:  # while a library was imported, which made another error of it
            console.complain(f"stopped. {_what_was(written)}")
            return INTERRUPTED
        if debug:
            traceback.print_exc()
        return _explain(error, debug)


def _what_was(written: list[Path]) -> str:
    if not written:
        return "Nothing was written."
    here = Path.cwd()
    names = [str(path.relative_to(here) if path.is_relative_to(here) else path) for path in written]
    return f"Before that it wrote {', '.join(names)}."


def _explain(error: Exception, debug: bool) -> int:
    if isinstance(error, InputError):
        console.complain(console.by_name(str(error)))
        return BAD_INPUT
    if isinstance(error, MemoryError):
        console.complain(
            "there is not enough memory for this. Use fewer rows, or a sample of them."
        )
        return INTERNAL
    if isinstance(error, OSError):
        where = error.filename
        if where is None and error.errno in _FULL:  # every other output has a name
            _forget_stdout()
            where = "standard output"
        console.complain(f"{where or 'a file'}: {error.strerror or error}.")
        return INTERNAL
    what = f"{type(error).__name__}: {error}"
    hint = "" if debug else " Run it again with --debug to see where, and please report it."
    console.complain(
        f"something went wrong inside covshift ({what}). This is a bug, not your input.{hint}"
    )
    return INTERNAL


class _Terminated(BaseException):
    """SIGTERM came: drafts are removed on the way out."""


@contextmanager
def _signals(interrupted: list[int]) -> Iterator[None]:
    """Let SIGTERM end a command in order, and Ctrl-C be heard where nobody chose otherwise."""

    def stop(signum: int, frame: object) -> None:
        raise _Terminated

    def interrupt(signum: int, frame: object) -> None:
        interrupted.append(signum)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    early = getattr(handler, "__name__", "") == "_stop_at_once"  # of __main__, during imports
    try:
        if early:
            signal.signal(signal.SIGINT, interrupt)
        yield
    finally:
        if early:  # what follows is short, and no longer "nothing was written"
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _spoken_warnings() -> Iterator[None]:
    """Print each warning once, as one line on stderr; those of other libraries stay silent."""
    said: set[str] = set()

    def show(found: Heard) -> None:
        if found.category.__module__.startswith("covshift") and found.text not in said:
            said.add(found.text)
            console.warn(console.by_name(found.text))

    with listening(show):
        yield


def _forget_stdout() -> None:
    """Keep the interpreter from complaining about a reader that has gone."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
