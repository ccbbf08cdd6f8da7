"""Errors about what was given, and warnings that a user may want to filter."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import NamedTuple


class CoverageWarning(UserWarning):
    """Part of the training sample, or all of it, is out of the target's reach.

    A training point that no target point dominates has a zero column in V: it does not enter the
    loss (theory, section 2).
    """


class WeightWarning(UserWarning):
    """Weights rest on a few rows, or move the sample away from the target."""


class OverlapWarning(WeightWarning):
    """Parts of the target lie where there are no training rows: nothing corrects for them."""


class FewRowsWarning(WeightWarning):
    """The effective sample size of weights is a small part of the rows."""


class ConstantColumnWarning(UserWarning):
    """A column does not vary over training and target rows, and is left out."""


class UnseenLevelWarning(UserWarning):
    """A category has levels that fit was not given; nothing is known about them."""


class NoTargetWarning(UserWarning):
    """A model that corrects for a target was fitted without one: nothing was corrected."""


class MarginsWarning(UserWarning):
    """Margins and a sample do not speak of the same columns or values."""


class ConditionWarning(UserWarning):
    """A system is so ill conditioned that rounding may dominate its coefficients."""


class SlowWarning(UserWarning):
    """A fit will take long, and need not; the message says how to make it short."""


class InputError(ValueError):
    """Data, a file or an option that cannot be used; the message says what to do next.

    Parameters that a message names are data: ``{n}`` stands for the parameter ``n`` of
    ``arguments`` and its value, empty where the message has none. Long words, such as a cell, are
    cut.

    >>> error = InputError("{half_width} cannot be reached.", half_width=0.1)
    >>> print(error)
    half_width=0.1 cannot be reached.
    >>> print(error.with_options({}))
    --half-width 0.1 cannot be reached.
    """

    def __init__(self, message: object = "", /, **arguments: object) -> None:
        self.template, self.arguments = str(message), arguments
        super().__init__(self._spelled(lambda name, value: f"{name}={value}".rstrip("=")))

    def with_options(self, called: Mapping[str, str]) -> str:
        """Return the message with options, which may be ``called`` otherwise than parameters."""

        def option(name: str, value: object) -> str:
            return f"--{called.get(name, name).replace('_', '-')} {value}".rstrip()

        return self._spelled(option) if self.arguments else str(self)

    def _spelled(self, how: Callable[[str, object], str]) -> str:
        text = self.template
        for name, value in self.arguments.items():
            text = text.replace(f"{{{name}}}", how(name, value))
        return _LONG_WORD.sub(lambda word: word[0][:_WORD] + "…", text)


_WORD = 200  # characters of a word that a message shows, at most
_LONG_WORD = re.compile(rf"\S{{{_WORD + 1},}}")


class InputTypeError(InputError, TypeError):
    """Something of a kind that cannot be used, such as a class in place of an object."""


class Remedy(NamedTuple):
    """What can be done about an error: when that is right, as an argument and as options."""

    when: str
    python: str
    options: tuple[str, ...]


class NoOverlapError(InputError):
    """No weights make the training sample look like the target: parts of it have no rows.

    ``question`` is what has no answer then, "estimate" or "evaluate": a report says so. What can be
    done, ``remedies``, is spelled as arguments; `of_command` spells it as commands.
    """

    question = "estimate"

    def __init__(self, found: str, *remedies: Remedy) -> None:
        super().__init__(" ".join([found, *(f"{way.when}: {way.python}." for way in remedies)]))
        self.found, self.remedies = found, remedies

    def of_command(self, argv: Sequence[str]) -> NoOverlapError:
        """Return the same error, with a whole command for each remedy of the command ``argv``."""
        lines = [self.found]
        for way in self.remedies:
            lines += [f"{way.when}:", f"  {shlex.join(['covshift', *argv, *way.options])}"]
        spelled = NoOverlapError("\n".join(lines))
        spelled.question = argv[0]
        return spelled


class MissingExtraError(InputError, ImportError):
    """A package that an extra of covshift brings is not installed."""


def import_extra(module: str, *, extra: str, needed_by: str) -> ModuleType:
    """Import ``module``, or say which extra of covshift brings it.

    >>> import_extra("a_missing_module", extra="plot", needed_by="covshift.plot")
    Traceback (most recent call last):
    covshift.exceptions.MissingExtraError: covshift.plot needs a_missing_module, which is ...
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"{needed_by} needs {package}, which is not installed. Install it with: "
            f'pip install {package}, or install covshift with its extra "{extra}"'
        ) from error
