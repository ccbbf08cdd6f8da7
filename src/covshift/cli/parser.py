"""The grammar of the command line; one file per command adds to it, when it is asked for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

import covshift

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


COMMANDS = {
    "estimate": Command("what is it in the population?", "covshift.cli.estimate"),
    "evaluate": Command("how good is my model on the target?", "covshift.cli.evaluate"),
    "diagnose": Command(
        "is there a shift, where, and can it be corrected?", "covshift.cli.diagnose"
    ),
    "compare": Command("which correction helps, if any?", "covshift.cli.compare"),
    "fit": Command("fit a model for the target and save it", "covshift.cli.fit"),
    "predict": Command("apply a saved model to a table", "covshift.cli.predict"),
    "weigh": Command(
        "weights that make the training sample look like the target", "covshift.cli.weigh"
    ),
    "margins": Command(
        "what a table says about each column, without its rows", "covshift.cli.margins"
    ),
    "schema": Command("write what each column is taken as, for later runs", "covshift.cli.schema"),
    "report": Command(
        "one self-contained HTML file with verdict, pictures and methods", "covshift.cli.report"
    ),
    "demo": Command(
        "the whole path on an embedded survey, in less than a minute", "covshift.cli.demo"
    ),
}
"""The commands by name, in the order of the help."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read arguments; ``run`` of what is returned is the command."""
    command = next((part for part in argv if not part.startswith("-")), None)
    args = build_parser(command).parse_args(argv)
    args.parse = parse  # the demo gives commands as a user would
    return args


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of one command; the others are there by name, without their options."""
    parser = argparse.ArgumentParser(
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
