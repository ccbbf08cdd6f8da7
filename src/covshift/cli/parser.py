"""The grammar of the command line; one file per command adds to it."""

from __future__ import annotations

import argparse

import covshift

from . import (
    compare,
    demo,
    diagnose,
    estimate,
    evaluate,
    fit,
    margins,
    predict,
    report,
    schema,
    weigh,
)

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


COMMANDS = [
    estimate,
    evaluate,
    diagnose,
    compare,
    fit,
    predict,
    weigh,
    margins,
    schema,
    report,
    demo,
]
"""The modules of the commands, in the order of the help."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; ``args.run`` of what it parses is the command."""
    parser = argparse.ArgumentParser(
        prog="covshift",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"covshift {covshift.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    parser.set_defaults(parse=parser.parse_args)  # the demo gives commands as a user would
    commands.add_parser("reproduce", help="rerun the paper's experiments", add_help=False)
    return parser
