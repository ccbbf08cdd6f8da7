"""From options to an exit code: every ending has its message; tracebacks need --debug."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from ..exceptions import InputError, NoOverlapError
from ..files.writing import recorded
from ..numerics.progress import Progress, reporting
from ..numerics.quiet import Heard, listening
from . import console
from .command import Options
from .options import CALLED, Columns, Verdict

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FINE, INTERNAL, BAD_INPUT, BAD_VERDICT = 0, 1, 2, 3
INTERRUPTED, TERMINATED, BROKEN_PIPE = 130, 143, 141  # as a shell counts signals


def run_command(options: Options) -> int:
    """Run the command that these options are of."""
    console.quiet = options.quiet
    before, Progress.hidden, Progress.doing = Progress.hidden, options.quiet, options.argv[0]

    def work() -> int:
        from .completed import with_schema

        whole = with_schema(options) if isinstance(options, Columns) else options
        whole.check_needs()
        try:
            return int(import_module(type(options).__module__).run(whole) or 0)
        except NoOverlapError as error:  # whose remedies are whole commands
            argv = [part for part in options.argv if part != "--ask"]
            refused = error.of_command(argv) if error.remedies else error
            if not (isinstance(options, Verdict) and options.strict):
                raise refused from None
            console.complain(refused.with_options(CALLED))
            return BAD_VERDICT

    try:
        return guarded(work, debug=options.debug)
    finally:  # a process that goes on, as a notebook does, shows its bars again
        Progress.hidden = before


def guarded(work: Callable[[], int], *, debug: bool) -> int:
    """Do the work of a command; what goes wrong becomes a line on stderr and an exit code."""
    console.prepare_streams()
    with recorded() as written:
        return _ended(work, written, debug=debug)


def _ended(work: Callable[[], int], written: list[Path], *, debug: bool) -> int:
    interrupted: list[int] = []
    try:
        with _spoken_warnings(), reporting():
            import_module("sklearn")  # Ctrl-C still ends it at once: a library may swallow another
            with _signals(interrupted):
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
        console.complain(error.with_options(CALLED))
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
            console.warn(found.text)

    with listening(show):
        yield


def _forget_stdout() -> None:
    """Keep the interpreter from complaining about a reader that has gone."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
