"""A command: a frozen dataclass of its options, whose docstring is their table, read by click.

The table has headings, and an entry for each option: its flags, what stands for its value, two
spaces and the help, which may go on in indented lines. The value is a word, ``N:int`` or
``X:float`` for a number, ``a|b`` for a choice, and nothing for a switch; ``...`` after it lets the
option be repeated. An argument is its name, ``[name]`` where it may be absent. What the registry
lists stands in the help as ``{weighters}``. Tables are inherited, as fields are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from inspect import cleandoc
from typing import Any, ClassVar, NamedTuple, TypeVar

import click

from ..exceptions import InputError

GROUPS = (
    *("columns", "reading", "learning", "quantity", "or a model", "metrics", "method"),
    *("comparison", "cells", "replicates", "labels", "intervals", "output", "general"),
)
"""Headings of options, in the order of the help."""

C = TypeVar("C", bound="Options")


class Entry(NamedTuple):
    """A line of a table of options."""

    name: str  # of the field
    flags: tuple[str, ...]  # none for an argument
    value: str
    about: str
    group: str


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every command knows.

    General:
      --quiet, -q  print no notes on stderr
      --debug  show the traceback of an error
    """

    needs: ClassVar[dict[str, str]] = {}  # fields that must have a value, and what to type
    kinds: ClassVar[dict[str, Callable[[str], Any]]] = {}  # fields that a function reads
    choices: ClassVar[dict[str, Callable[[], Iterable[str]]]] = {}  # besides those of the table

    argv: tuple[str, ...] = ()  # as it was typed
    quiet: bool = False
    debug: bool = False

    def check_needs(self) -> None:
        """Refuse options without those that the command needs."""
        for name, remedy in self.needs.items():
            if not getattr(self, name):
                raise InputError(f"This command needs {remedy}.")

    @classmethod
    def entries(cls) -> list[Entry]:
        """The table of the class and of those that it inherits; first what a command needs."""
        found: dict[str, Entry] = {}
        for part in reversed(cls.__mro__[:-1]):
            found |= {entry.name: entry for entry in _entries(part)}
        return sorted(found.values(), key=lambda entry: entry.name not in cls.needs)

    @classmethod
    def of_classes(cls, name: str) -> dict[str, Any]:
        """Join a dictionary that the class and those that it inherits have."""
        parts = [vars(part).get(name, {}) for part in reversed(cls.__mro__)]
        return {key: value for part in parts for key, value in part.items()}

    def as_options_of(self, command: type[C], **more: Any) -> C:
        """Return the options of another command, with the values that both have."""
        names = [one.name for one in fields(command) if hasattr(self, one.name)]
        return command(**{name: getattr(self, name) for name in names} | more)


_TABLE = r"^([A-Z][a-z ]+):\n((?:  .+\n?)+)"


def _entries(cls: type) -> list[Entry]:
    found = []
    for group, table in re.findall(_TABLE, cleandoc(cls.__doc__ or ""), re.MULTILINE):
        for line in re.split(r"\n(?=  \S)", table.rstrip()):
            spec, _, about = line.strip().partition("  ")
            flags = tuple(part.rstrip(",") for part in spec.split() if part.startswith("-"))
            value = " ".join(spec.split()[len(flags) :])
            names = [flag[2:].replace("-", "_") for flag in flags if flag.startswith("--")]
            names = [name for name in names if name in cls.__annotations__] or names
            name = names[0] if names else value.strip("[].")
            found.append(Entry(name, flags, value, " ".join(about.split()), group.lower()))
    return found


def flag_of(name: str) -> str:
    """Return how the option of a field is spelled.

    >>> flag_of("target_weight")
    '--target-weight'
    """
    return f"--{name.replace('_', '-')}"


def click_command(name: str, options: type[Options]) -> Command:
    """Return the click command that gives an instance of ``options``."""
    if sys.flags.optimize > 1:
        raise click.UsageError("Options stand in docstrings: run Python without -OO.")
    params: list[click.Parameter] = [
        _option(entry, options) if entry.flags else _argument(entry) for entry in options.entries()
    ]
    about = re.split(r"\n\n[A-Z][a-z ]+:\n", cleandoc(options.__doc__ or ""))[0]
    return Command(name, params=params, callback=partial(_made, options), help=about)


def _made(options: type[Options], **values: Any) -> Options:
    return options(**values)


class Argument(click.Argument):
    """An argument with a line in the help."""

    def __init__(self, *given: Any, about: str, **more: Any) -> None:
        super().__init__(*given, **more)
        self.about = about


def _argument(entry: Entry) -> Argument:
    several, optional = entry.value.endswith("..."), entry.value.startswith("[")
    return Argument(
        [entry.name],
        metavar=f"[{entry.name}]..." if several else entry.value,
        nargs=-1 if several else 1,
        required=not (several or optional),
        about=entry.about,
    )


class Option(click.Option):
    """An option with a heading."""

    def __init__(self, *given: Any, group: str, **more: Any) -> None:
        super().__init__(*given, **more)
        self.group = group


def _option(entry: Entry, options: type[Options]) -> Option:
    known = options.of_classes("kinds").get(entry.name)
    choices = options.of_classes("choices").get(entry.name)
    default = next(one.default for one in fields(options) if one.name == entry.name)
    value = entry.value.removesuffix("...")
    word, _, number = value.partition(":")
    given: dict[str, Any] = {"help": _filled(entry.about)}
    if not value:
        given["is_flag"] = True
    elif choices is not None or "|" in word:
        words = word.split("|") if choices is None else choices()
        given["type"] = Choice([choice for choice in words if choice])
    else:
        given |= {"type": {"int": int, "float": float}.get(number, str), "metavar": word}
        given |= {"type": Converted(known)} if known is not None else {}
        given |= {"nargs": len(word.split())} if " " in word else {}
    if value != entry.value:
        given["multiple"] = True
    elif default is not None:
        given["default"] = default
    return Option([entry.name, *entry.flags], group=entry.group, **given)


def _filled(about: str) -> str:
    """Put the lists of the registry where their names stand."""
    from .lists import LISTS

    for name in re.findall(r"\{(\w+)\}", about):
        about = about.replace(f"{{{name}}}", LISTS[name]())
    return about


def _meant(word: str, known: Iterable[str]) -> str:
    """Guess which of the ``known`` words was meant."""
    from ..show.words import nearest

    near = nearest(word, known)
    return "" if near is None else f" Did you mean {near}?"


class Choice(click.Choice):  # type: ignore[type-arg]
    """A choice that guesses what a misspelt word was meant to be."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return one of the choices."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            hint = _meant(str(value), map(str, self.choices))
            raise click.BadParameter(error.message + hint, ctx, param) from None


class Converted(click.ParamType):  # type: ignore[type-arg]
    """A value that a function reads; what it raises says why it cannot."""

    name = "text"

    def __init__(self, kind: Callable[[str], Any]) -> None:
        self.kind = kind

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return what the function makes of the text."""
        if not isinstance(value, str):
            return value
        try:
            return self.kind(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Command(click.Command):
    """A command whose help has its options under headings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; of a further value after an option say how it is repeated."""
        typed = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = [flag for one in self.params for flag in one.opts if flag.startswith("--")]
            text = f"There is no option {error.option_name}.{_meant(error.option_name, known)}"
            raise click.UsageError(text, ctx) from None
        except click.UsageError as error:
            hint = self._repeated(typed) if "extra" in error.message else ""
            if not hint:
                raise
            raise click.UsageError(f"{error.message}.{hint}", ctx) from None

    def _repeated(self, typed: Sequence[str]) -> str:
        """Say that a repeatable option takes one value at a time, where one got several."""
        for one in self.params:
            for flag in one.opts if getattr(one, "multiple", False) else ():
                k = typed.index(flag) if flag in typed else len(typed)
                values = [*typed[k + 1 : k + 3], "-"][:3]
                if not any(value.startswith("-") for value in values[:2]) and len(values) == 3:
                    return f" Repeat {flag} for each: {flag} {values[0]} {flag} {values[1]}."
        return ""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, then the options under their headings."""
        named = [one for one in self.params if isinstance(one, Argument)]
        if named:
            with formatter.section("Arguments"):
                formatter.write_dl([(_bare(one), one.about) for one in named])
        params = self.get_params(ctx)
        for group in GROUPS:
            shown = [one for one in params if getattr(one, "group", "general") == group]
            records = [one.get_help_record(ctx) for one in shown if not isinstance(one, Argument)]
            if records:
                with formatter.section(group.capitalize()):
                    formatter.write_dl([record for record in records if record is not None])


def _bare(one: Argument) -> str:
    return str(one.metavar).strip("[].")


class Group(click.Group):
    """The commands by name, imported when they are asked for."""

    def __init__(self, about: dict[str, str], load: Callable[[str], Command], **more: Any) -> None:
        super().__init__(**more)
        self.about, self.load = about, load

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order of the help."""
        return list(self.about)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        return self.load(cmd_name) if cmd_name in self.about else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; of a misspelt one say what it may have been."""
        if args[0] not in self.about and not args[0].startswith("-"):
            ctx.fail(f"There is no command {args[0]!r}.{_meant(args[0], self.about)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the line of each command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.about.items()))
