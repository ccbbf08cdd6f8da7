"""The commands by name, and how what is typed becomes the options of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import NamedTuple

import click

import covshift

from .command import Command, Group, Options, click_command

_ABOUT = """\
Correct sampling bias (covariate shift) between two tables: a labelled one that is biased, and an
unlabelled one from the population that matters. Says what a number is in that population, where the
tables differ, whether a model gains from a correction, and predicts. Files are CSV, TSV (also
compressed), Parquet, Arrow, Excel, Stata, SPSS, or a folder of parts; "-" is standard input."""

_EPILOG = """\
\b
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
there is no overlap.
"""


class Entry(NamedTuple):
    """A command before it is asked for."""

    about: str  # its line in the help
    module: str  # has Arguments, a subclass of `Options`, and run(options)


COMMANDS = {
    name: Entry(about, f"covshift.cli.{name}")
    for name, about in {
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
    }.items()
}
"""The commands by name, in the order of the help."""


def command(name: str) -> Command:
    """Import a command, and return it as click knows it."""
    return click_command(name, import_module(COMMANDS[name].module).Arguments)


def parse(argv: Sequence[str]) -> Options | int:
    """Return the options of a command; or the exit code, where help or the version was printed.

    What is wrong with them is a `click.UsageError`.
    """
    group = Group(
        {name: entry.about for name, entry in COMMANDS.items()},
        command,
        name="covshift",
        help=_ABOUT,
        epilog=_EPILOG,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    version = click.version_option(covshift.__version__, message="covshift %(version)s")
    try:
        found = version(group).main([*argv] or ["--help"], "covshift", standalone_mode=False)
    except SystemExit:  # click's answer to a reader of the help that is gone
        return 141  # as a shell counts the signal
    return replace(found, argv=tuple(argv)) if isinstance(found, Options) else int(found or 0)
