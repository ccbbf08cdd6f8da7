"""``covshift margins``: summarise each column of a table, without its rows."""

from __future__ import annotations

from dataclasses import dataclass

from ..exceptions import InputError
from . import console
from .options import Columns, Output


@dataclass(frozen=True, kw_only=True)
class Arguments(Columns, Output):
    """Write shares of brackets and categories, no cell of fewer rows than --min-count, so that they
    can be shared where rows cannot. `covshift weigh` takes them as a target.

    Arguments:
      table  sample of the target population: a table, or -

    Columns:
      --weight COL  probability weights of the rows, such as those of a survey, on any scale
      --frequency COL  number of times each row occurs
      --cross COL,COL...  add a table of two columns (repeatable)

    Cells:
      --bins N:int  most cells of a number (default: 100)
      --min-count N:int  fewest rows of a cell (default: 10)
      --source TEXT  where the numbers come from

    Output:
      -o, --output FILE  write the margins, JSON, to FILE
    """

    table: str = ""
    weight: str | None = None
    frequency: str | None = None
    cross: tuple[str, ...] = ()
    bins: int = 100
    min_count: int = 10
    source: str = ""
    output: str | None = None


def run(options: Arguments) -> int:
    """Summarise the table, write the margins, and show them."""
    from ..margins import Margins
    from ..margins.files import json_text
    from .margin_samples import read_features, weights_of

    options.check_output(options.output)

    named = (name for name in (options.weight, options.frequency) if name is not None)
    frame, features, notes = read_features(options, dict.fromkeys(named, "number"))
    console.tell(*notes)
    weight, again = weights_of(frame, options)
    margins = Margins.from_rows(
        features[again, ...],
        bins=options.bins,
        min_count=options.min_count,
        weight=weight,
        tables=[_pair(text) for text in options.cross],
        source=options.source,
    )
    console.tell(*margins.notes)
    with console.text_file(options.output) as file:
        file.write(json_text(margins))
    if options.output not in (None, "-"):
        print(f"{margins}\nWrote {options.output}.")
    return 0


def _pair(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise InputError(f"--cross {text!r} must name two columns, as in --cross sex,age.")
    return names
