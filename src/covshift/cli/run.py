"""From arguments to an exit code: every ending has its message; tracebacks need --debug."""

from __future__ import annotations

import argparse
import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from ..exceptions import InputError, NoOverlapError
from ..files.writing import recorded
from ..numerics.progress import Progress, reporting
from ..numerics.quiet import Heard, listening
from . import console, options

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FINE, INTERNAL, BAD_INPUT, BAD_VERDICT = 0, 1, 2, 3
INTERRUPTED, TERMINATED, BROKEN_PIPE = 130, 143, 141  # as a shell counts signals


def run_command(args: argparse.Namespace, argv: list[str]) -> int:
    """Run the command that ``argv`` was parsed to."""
    console.quiet, console.columns = args.quiet, []
    before, Progress.hidden, Progress.doing = Progress.hidden, args.quiet, argv[0]
    args.argv = argv

    try:
        return _guarded(lambda: run_answered(args), debug=args.debug)
    finally:  # a process that goes on, as a notebook does, shows its bars again
        Progress.hidden = before


def _guarded(work: Any, *, debug: bool) -> int:
    console.prepare_streams()
    with recorded() as written:
        return _ended(work, written, debug=debug)


def _ended(work: Any, written: list[Path], *, debug: bool) -> int:
    interrupted: list[int] = []
    try:
        with _spoken_warnings(), reporting():
            import_scikit_learn()  # Ctrl-C still ends it at once: a library may swallow another
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
        console.complain(console.by_name(error.with_options(options.CALLED)))
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


# What could be read in two ways: the safest answers, or with --ask all questions in one message.


_ROUNDS = 4  # an answer may lead to another question, but not for ever


def run_answered(args: argparse.Namespace) -> int:
    """Run the command of ``args``; decide, or ask, what could be read in two ways."""
    from ..files.questions import Asked, answered

    asked_before: list[Any] = []
    argv = [part for part in args.argv if part != "--ask"]
    ask = getattr(args, "ask", True)
    files = [getattr(args, name, None) for name in ("train", "target", "table")]
    piped = sys.stdin.buffer.read() if not ask and "-" in files else None
    for _ in range(_ROUNDS):
        complete(args)
        if piped is not None:  # each round reads it again
            sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(piped)))
        try:
            return int(args.run(args) or 0)
        except NoOverlapError as error:
            raise error.of_command(argv) if error.remedies else error from None
        except Asked as asked:
            if ask:
                raise InputError(asked.message(argv)) from None
            asked_before += asked.questions
            argv = answered(argv, asked.options)
            args = args.parse(argv)
            args.argv, args.asked = argv, asked_before
    raise InputError("Too many columns could be read in two ways. Add --ask to see them.")


def complete(args: argparse.Namespace) -> None:
    """Take what was not said from the schema file, and refuse a command that lacks something."""
    if getattr(args, "schema", None) is not None:
        from .schema import apply_schema

        apply_schema(args)
    for name, option in getattr(args, "needs", {}).items():
        if getattr(args, name) in (None, []):
            raise InputError(f"This command needs {option} COL: name the column.")


# scikit-learn without what a command does not use of it.
#
# ``import sklearn`` loads all of scipy.stats, for four names, and pandas wherever it is installed:
# more than half of its time. A command imports it while stand-ins hold the places of such modules.
# Who takes anything else from a stand-in, or uses what it gave, gets it from the true module, which
# is then imported: nothing changes but the time. This is for the process of the command line, which
# no one shares with it.


_DEFERRED = {
    "scipy.stats": {"chi2", "gmean", "rankdata", "spearmanr"},
    "scipy.integrate": {"trapezoid"},
    "scipy.interpolate": {"BSpline"},
}
"""What modules of scikit-learn take when they are imported, and use in functions only."""

_UNTIL_IMPORTED = ("asyncio", "numpy.f2py", "numpy.testing", "pandas")
"""Names given back at once: other code asks ``sys.modules`` whether pandas is there."""


def import_scikit_learn() -> None:
    """Import scikit-learn, unless it is there, without pandas, scipy.stats and the like."""
    if "sklearn" in sys.modules:
        return
    before = set(sys.modules)
    standing = [made for name in (*_DEFERRED, *_UNTIL_IMPORTED) if (made := StandIn.of(name))]
    for module in standing:
        module.place()
    try:
        import_module("sklearn.utils.fixes")
    except Exception:  # another version that asks for more: the plain import, which takes longer
        for module in standing:
            module.leave()
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == "sklearn":
                del sys.modules[name]
        import_module("sklearn")
    finally:
        for module in standing:
            if module.__name__ in _UNTIL_IMPORTED:
                module.leave()


class StandIn(ModuleType):
    """A module that is imported when something is taken from it."""

    def __init__(self, name: str, path: list[str]) -> None:
        super().__init__(name)
        self.__path__ = path  # its submodules can be imported without it

    @classmethod
    def of(cls, name: str) -> StandIn | None:
        """Return a stand-in; None for a module that is imported already, or not installed."""
        spec = None if name in sys.modules else find_spec(name)
        return None if spec is None else cls(name, list(spec.submodule_search_locations or ()))

    def place(self) -> None:
        """Be what an import of this name finds."""
        sys.modules[self.__name__] = self
        parent, _, own = self.__name__.rpartition(".")
        if parent:
            setattr(sys.modules[parent], own, self)

    def leave(self) -> None:
        """Let the next import of this name find the true module."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        parent, _, own = self.__name__.rpartition(".")
        if parent and vars(sys.modules[parent]).get(own) is self:
            delattr(sys.modules[parent], own)

    def __getattr__(self, name: str) -> Any:
        if name in _DEFERRED.get(self.__name__, ()):
            return Deferred(self, name)
        return getattr(self.imported(), name)

    def imported(self) -> ModuleType:
        """Return the true module."""
        self.leave()
        return import_module(self.__name__)


class Deferred:
    """A function or distribution of a module that is imported when this is used."""

    def __init__(self, home: StandIn, name: str) -> None:
        self._home, self._name = home, name

    def __call__(self, *given: Any, **options: Any) -> Any:
        """Call the function."""
        return self._found()(*given, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found(), name)

    def _found(self) -> Any:
        return getattr(self._home.imported(), self._name)
