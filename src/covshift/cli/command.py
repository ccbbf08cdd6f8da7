"""A command: a frozen dataclass whose fields are its options, read by click.

A field made by `option` is one line of the help and one value; `parse` gives the dataclass. Classes
of options that commands share are inherited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, TypeVar

import click

from ..exceptions import InputError
from ..show.words import meant, nearest

GROUPS = (
    *("columns", "reading", "learning", "quantity", "or a model", "metrics", "method"),
    *("comparison", "cells", "replicates", "labels", "intervals", "output", "general"),
)
"""Headings of options, in the order of the help."""

Kind = Callable[[str], Any]


def option(
    spec: str,
    about: str | Callable[[], str],
    *,
    group: str,
    default: Any = None,
    kind: Kind | None = None,
    choices: Callable[[], Iterable[str]] | None = None,
) -> Any:
    """Declare an option: its flags, what stands for its value, and ``...`` if it is repeatable.

    The value is a word, ``N:int`` or ``X:float`` for a number, ``a|b`` for a choice, and nothing
    for a switch; or ``kind`` reads it, or it is one of ``choices``. These and ``about`` may be
    functions, since what is registered may grow.
    """
    flags = [part for part in spec.split() if part.startswith("-")]
    value = " ".join(spec.split()[len(flags) :])
    if value.endswith("..."):
        default = ()
    elif not value:
        default = False
    given = {"flags": [flag.rstrip(",") for flag in flags], "value": value, "about": about}
    return field(default=default, metadata=given | {"group": group, "kind": kind, "from": choices})


def argument(name: str, about: str) -> Any:
    """Declare an argument: ``name``, ``[name]`` if it may be absent, ``name...`` for any number."""
    default = () if name.endswith("...") else None if name.startswith("[") else ""
    return field(default=default, metadata={"argument": name, "about": about})


in_columns, in_reading, in_learning, in_quantity = (partial(option, group=g) for g in GROUPS[:4])
in_model, in_metrics, in_method, in_comparison = (partial(option, group=g) for g in GROUPS[4:8])
in_cells, in_replicates, in_labels, in_intervals = (partial(option, group=g) for g in GROUPS[8:12])
in_output, in_general = (partial(option, group=g) for g in GROUPS[12:])


C = TypeVar("C", bound="Options")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every command knows."""

    needs: ClassVar[dict[str, str]] = {}  # fields that must have a value, and what to type

    argv: tuple[str, ...] = ()  # as it was typed
    quiet: bool = in_general("--quiet, -q", "print no notes on stderr")
    debug: bool = in_general("--debug", "show the traceback of an error")

    def check_needs(self) -> None:
        """Refuse options without those that the command needs."""
        for name, remedy in self.needs.items():
            if not getattr(self, name):
                raise InputError(f"This command needs {remedy}.")

    @classmethod
    def options(cls) -> list[Any]:
        """The fields that are options or arguments; first those that a command needs."""
        return sorted((f for f in fields(cls) if f.metadata), key=lambda f: f.name not in cls.needs)

    def as_options_of(self, command: type[C], **more: Any) -> C:
        """Return the options of another command, with the values that both have."""
        known = {
            one.name: getattr(self, one.name) for one in fields(command) if hasattr(self, one.name)
        }
        return command(**known | more)


def flag_of(options: type[Options], name: str) -> str:
    """Return how the option of a field is spelled, such as ``--target-weight``.

    >>> flag_of(Options, "quiet")
    '--quiet'
    """
    (found,) = (one for one in options.options() if one.name == name)
    return next(str(flag) for flag in found.metadata["flags"] if flag.startswith("--"))


def click_command(name: str, options: type[Options]) -> Command:
    """Return the click command that gives an instance of ``options``."""
    params: list[click.Parameter] = [
        _argument(one) if "argument" in one.metadata else _option(one) for one in options.options()
    ]
    return Command(name, params=params, callback=partial(_made, options), help=options.__doc__)


def _made(options: type[Options], **values: Any) -> Options:
    return options(**values)


class Argument(click.Argument):
    """An argument with a line in the help."""

    def __init__(self, *given: Any, about: str, **more: Any) -> None:
        super().__init__(*given, **more)
        self.about = about


def _argument(one: Any) -> Argument:
    name = one.metadata["argument"]
    bare = name.strip("[].")
    several, optional = name.endswith("..."), name.startswith("[")
    return Argument(
        [one.name],
        metavar=f"[{bare}]..." if several else f"[{bare}]" if optional else bare,
        nargs=-1 if several else 1,
        required=not (several or optional),
        about=one.metadata["about"],
    )


class Option(click.Option):
    """An option with a heading."""

    def __init__(self, *given: Any, group: str, **more: Any) -> None:
        super().__init__(*given, **more)
        self.group = group


def _option(one: Any) -> Option:
    known = one.metadata
    value = known["value"].removesuffix("...")
    word, _, number = value.partition(":")
    about = known["about"]() if callable(known["about"]) else known["about"]
    given: dict[str, Any] = {"help": about}
    if not value:
        given["is_flag"] = True
    elif known["from"] is not None:
        given["type"] = Choice(list(known["from"]()))
    elif "|" in word:
        given["type"] = Choice([choice for choice in word.split("|") if choice])
    else:
        given |= {"type": {"int": int, "float": float}.get(number, str), "metavar": word}
        given |= {"type": Converted(known["kind"])} if known["kind"] is not None else {}
        given |= {"nargs": len(word.split())} if " " in word else {}
    if known["value"].endswith("..."):
        given["multiple"] = True
    elif one.default is not None:
        given["default"] = one.default
    return Option([one.name, *known["flags"]], group=known["group"], **given)


class Choice(click.Choice):  # type: ignore[type-arg]
    """A choice that guesses what a misspelt word was meant to be."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return one of the choices."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = nearest(str(value), map(str, self.choices))
            hint = "" if near is None else f" Did you mean {near}?"
            raise click.BadParameter(error.message + hint, ctx, param) from None


class Converted(click.ParamType):  # type: ignore[type-arg]
    """A value that a function reads; what it raises says why it cannot."""

    name = "text"

    def __init__(self, kind: Kind) -> None:
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
            near = nearest(error.option_name, known)
            hint = f" Did you mean {near}?" if near else ""
            raise click.UsageError(f"There is no option {error.option_name}.{hint}", ctx) from None
        except click.UsageError as error:
            hint = self._repeated(typed) if "extra" in error.message else ""
            if not hint:
                raise
            raise click.UsageError(error.message + hint, ctx) from None

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
            hint = meant(args[0], self.about).replace("'", "")
            ctx.fail(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the line of each command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.about.items()))
