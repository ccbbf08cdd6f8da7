"""The grammar of the command line; one file per command adds to it, when it is asked for."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn

import covshift

from ..show.words import nearest

_DESCRIPTION = """\
Correct sampling bias (covariate shift) between two tables: a labelled one that is biased, and an
unlabelled one from the population that matters. Says what a number is in that population, where the
tables differ, whether a model gains from a correction, and predicts. Files are CSV, TSV
(also compressed), Parquet, Arrow, Excel, Stata, SPSS, or a folder of parts; "-" is standard
input."""

_EPILOG = """\
examples:
  covshift demo
  covshift estimate train.csv target.csv --outcome y
  covshift evaluate train.csv target.csv --label y --score p
  covshift explain  train.csv target.csv --outcome y
  covshift plan     train.csv target.csv --outcome y --half-width 0.05
  covshift diagnose train.csv target.csv
  covshift compare  train.csv target.csv --label y
  covshift fit      train.csv target.csv --label y -o model.covshift
  covshift predict  model.covshift new.csv -o predictions.csv
  covshift predict  model.covshift new.csv --interval 90 --calibration held_out.csv
  covshift weigh    train.csv target.csv -o weights.csv
  covshift margins  target.csv -o margins.json
  covshift schema   train.csv target.csv --label y -o schema.toml
  covshift report   train.csv target.csv --label y -o report.html

exit codes: 0 success, 1 internal error, 2 bad input; with --strict, 3 if the shift is strong or
there is no overlap
"""


class Command(NamedTuple):
    """A command before it is asked for."""

    about: str  # its line in the help
    module: str  # has add(commands) and run(args)


_ABOUT = {
    "estimate": "what is it in the population?",
    "evaluate": "how good is my model on the target?",
    "explain": "why does the number change?",
    "plan": "which target rows to label next, and how many",
    "diagnose": "is there a shift, where, and can it be corrected?",
    "compare": "which correction helps, if any?",
    "fit": "fit a model for the target and save it",
    "predict": "apply a saved model to a table",
    "weigh": "weights that make the training sample look like the target",
    "margins": "summarise each column of a table, without its rows",
    "schema": "write how each column is read, for later runs",
    "report": "one self-contained HTML file with verdict, pictures and methods",
    "demo": "the whole path on an embedded survey, in less than a minute",
}
COMMANDS = {name: Command(about, f"covshift.cli.{name}") for name, about in _ABOUT.items()}
"""The commands by name, in the order of the help."""


class _Parser(argparse.ArgumentParser):
    """Guesses what a misspelt command, option or choice was meant to be."""

    argv: Sequence[str] = ()  # all that was typed

    def error(self, message: str) -> NoReturn:
        said = re.search(r"unrecognized arguments: (--[\w-]+)|invalid choice: '([\w-]+)'", message)
        if said is not None:
            known = re.findall(r"[\w-]+", message.partition("choose from")[2])
            for action in self._actions:
                known += action.option_strings
                if isinstance(action.choices, dict):  # the parsers of commands
                    parsers = action.choices.values()
                    known += [option for one in parsers for option in one._option_string_actions]
            near = nearest(said[1] or said[2], known)
            message += "" if near is None else f". Did you mean {near}?"
            if said[1] and near is None:
                message += ". The options of a command: covshift COMMAND --help"
        elif extra := re.search(r"unrecognized arguments: (\S.*)", message):
            message += self._repeated(extra[1].split()[0])
        super().error(message)

    def _repeated(self, word: str) -> str:
        """Say that an option takes one value at a time, where ``word`` is a further one."""
        option = ""
        values: list[str] = []
        for part in self.argv:
            if part.startswith("-"):
                if word in values[1:]:
                    break
                option, values = part, []
            else:
                values.append(part)
        parsers = [
            one
            for action in self._actions
            if isinstance(action.choices, dict)
            for one in action.choices.values()
        ]
        known = [one._option_string_actions.get(option) for one in parsers]
        repeats = any(isinstance(action, argparse._AppendAction) for action in known)
        if word not in values[1:] or not repeats:
            return ""
        return f". Repeat {option} for each: {option} {values[0]} {option} {values[1]}"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read arguments; ``run`` of what is returned is the command."""
    command = next((part for part in argv if not part.startswith("-")), None)
    parser = build_parser(command)
    parser.argv = argv
    args = parser.parse_args(argv or ["--help"])
    args.parse = parse  # the demo gives commands as a user would
    return args


def build_parser(command: str | None = None) -> _Parser:
    """Return the parser of one command; the others are there by name, without their options."""
    parser = _Parser(
        prog="covshift",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"covshift {covshift.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (about, module) in COMMANDS.items():
        if name == command:
            import_module(module).add(commands)
        else:
            commands.add_parser(name, help=about, add_help=False)
    return parser
