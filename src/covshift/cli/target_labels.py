"""Outcomes of target rows: a column of the target, or a file that ``covshift plan`` wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from .columns import is_file_of_labels
from .frames import Files

if TYPE_CHECKING:
    from ..engine.labels import Labels


def labels_of_target(files: Files, names: Sequence[str]) -> Labels | None:
    """Return outcomes of target rows with the chances of these rows; None where none are named."""
    from ..engine.labels import Labels

    chance = files.roles.get("target_probability")
    outcomes = files.roles.get("outcome") or files.roles["label"]
    if not names:
        if chance:
            raise InputError(
                "--target-probability belongs to outcomes of target rows: name them with "
                "--target-outcome."
            )
        return None
    if len(names) != len(outcomes):
        raise InputError(
            f"--target-outcome names {len(names)} columns, but --outcome {len(outcomes)}: "
            "name one for each."
        )
    if is_file_of_labels(tuple(names)):
        if chance:
            raise InputError(f"{names[0]} has probabilities: leave out --target-probability.")
        return _filled_in(files, names[0], outcomes[0])
    found = files.target.select([*names, *(chance or ())]).take(files.rows("target"))
    y = found[names[0]] if len(names) == 1 else found.select([*names])
    return Labels(y, found[chance[0]] if chance else None)


def _filled_in(files: Files, path: str, outcome: str) -> Labels:
    """Read the rows of a plan, of which outcomes were filled in."""
    import numpy as np

    from ..engine.labels import Labels
    from ..files.frame import read_frame

    kinds: Any = {"row": "number", outcome: "outcome", "probability": "number"}
    table = read_frame(path, replace(files.options.reading(), kinds=kinds))
    absent = [name for name in kinds if name not in table.column_names]
    if absent:
        raise InputError(
            f"{path} has no column {absent[0]!r}. A file for --target-outcome is one that covshift "
            "plan wrote, with outcomes filled in; for a column of the target, name the column."
        )
    count = len(files.target)
    cells: Any = np.full(count, None, dtype=object)
    found, seen = np.ones(count), set()
    for row, cell, chance in zip(*(table[name].to_pylist() for name in kinds), strict=True):
        if row is None or row - 1 not in range(count):
            title = files.titles[1]
            what = "a row has no number" if row is None else f"{title} has no row {row:g}"
            raise InputError(f"{path}: {what}. Leave the column row as covshift plan wrote it.")
        if chance is None:
            raise InputError(f"{path}: the row {row:g} has no probability.")
        if row in seen:
            raise InputError(f"{path}: the row {row:g} stands there twice. Keep one.")
        seen.add(row)
        cells[int(row) - 1], found[int(row) - 1] = cell, chance
    rows = files.rows("target")
    return Labels(cells[rows], found[rows])
