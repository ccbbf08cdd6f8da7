"""``covshift margins``: summarise each column of a table, without its rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from . import console
from .columns import check_named, declared_kinds
from .options import Columns, Output

if TYPE_CHECKING:
    from ..encoding.cells import CellTable
    from ..files.spelling import Kind


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
    from ..data.samples import rows_again
    from ..files.frame import about, read_frame
    from ..files.values import floats_of
    from ..margins import Margins
    from ..margins.files import json_text

    options.check_output(options.output)
    named = {"weight": options.weight, "frequency": options.frequency}
    roles = {role: (name,) for role, name in named.items() if name is not None}
    weights = [name for name in named.values() if name is not None]
    declared: dict[str, Kind] = declared_kinds(options)
    kinds: dict[str, Kind] = {**declared, **dict.fromkeys(weights, "number")}
    frame = read_frame(options.table, replace(options.reading(), kinds=kinds))
    check_named(options, roles, {"sample": frame}, ())
    cells = _decided(frame, {*declared, *options.keep, *options.season}, weights, options)
    w, counts = (
        None if name is None else floats_of(frame[name])
        for name in (options.weight, options.frequency)
    )
    again = rows_again(counts, "", about(frame).title)
    margins = Margins.from_rows(
        cells if again is None else cells[again, ...],
        bins=options.bins,
        min_count=options.min_count,
        weight=w if w is None or again is None else w[again],
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


def _decided(
    frame: Any, settled: Collection[str], weights: Collection[str], options: Arguments
) -> CellTable:
    """Return the features of a file as they were decided to be, and print what there is to know."""
    from ..encoding.cells import Cells, CellTable, read_cells
    from ..encoding.decide import decide
    from ..encoding.words import as_numbers
    from ..files.frame import about, notes_of
    from .asking import Asked

    title = about(frame).title
    names = [name for name in frame.column_names if name not in (*weights, *options.drop)]
    if not names:
        raise InputError(f"{title} has no column left to summarise.")
    cells = read_cells(frame.select(names), title)
    made = decide(cells, cells, settled, titles=(title, title), mending=True)
    decisions = [one for one in made.made if not one.certain]
    if decisions and options.ask:
        raise Asked(decisions, (title, title))
    console.tell(*notes_of(about(frame)), *(note.of_command() for note in made.notes))
    columns = dict(made.train)
    for name, part in made.train.items():
        if made.kinds.get(name) == "category":
            columns[name] = part.as_text()
        elif made.kinds.get(name) == "number" and part.is_text:
            columns[name] = Cells(name, "number", as_numbers(part))
    return CellTable(columns)
