"""``covshift margins``: summarise each column of a table, without its rows."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..exceptions import InputError
from . import console, options

_COLUMNS = """
--weight COL  probability weights of the rows, such as those of a survey, on any scale
--frequency COL  number of times each row occurs
--cross COL,COL...  add a table of two columns (repeatable)
"""
_CELLS = """
--bins N:int  most cells of a number (default: 100)
--min-count N:int  fewest rows of a cell (default: 10)
--source TEXT  where the numbers come from
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "margins",
        "Write shares of brackets and categories, no cell of fewer rows than --min-count, so that "
        "they can be shared where rows cannot. `covshift weigh` takes them as a target.",
    )
    parser.add_argument("table", help="sample of the target population: a table, or -")
    group = parser.add_argument_group("columns")
    options.add_columns(group)
    options.add_options(group, _COLUMNS)
    defaults: Any = {"bins": 100, "min_count": 10, "source": ""}
    more = {name: {"default": value} for name, value in defaults.items()}
    options.add_options(parser.add_argument_group("cells"), _CELLS, **more)
    options.add_reading(parser)
    options.add_output(parser, what="margins, JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Summarise the table, write the margins, and show them."""
    from ..files.samples import repeats_of, weights_of
    from ..margins import Margins
    from ..margins.files import json_text
    from .margin_samples import read_frame

    options.check_output(args)
    declared = options.column_options_of(
        args, weight=args.weight, frequency=args.frequency, has_id=False
    )
    notes = options.answers_of(args)
    frame, table = read_frame(args.table, declared, options.read_options_of(args), notes)
    console.tell(*notes)
    weight, again = weights_of(table, args.weight), repeats_of(table, args.frequency)
    if again is not None:
        frame, weight = frame.take(again), None if weight is None else weight[again]
    margins = Margins.from_rows(
        frame,
        bins=args.bins,
        min_count=args.min_count,
        weight=weight,
        tables=[_pair(text) for text in args.cross],
        source=args.source,
    )
    console.tell(*margins.notes)
    with console.text_file(args.output) as file:
        file.write(json_text(margins))
    if args.output not in (None, "-"):
        print(f"{margins}\nWrote {args.output}.", file=sys.stdout)
    return 0


def _pair(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise InputError(f"--cross {text!r} must name two columns, as in --cross sex,age.")
    return names
