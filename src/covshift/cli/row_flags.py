"""``covshift diagnose -o rows.csv``: whether training rows cover each target row, and why not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import console

if TYPE_CHECKING:
    from .._tables import Samples
    from ..diagnostics import RowFlags


def is_table(output: str | None) -> bool:
    """Whether the output is a table of rows, by its name."""
    return str(output).lower().endswith((".csv", ".tsv"))


def write_flags(
    output: str, found: Sequence[tuple[str, Samples, RowFlags]], *, several: bool
) -> None:
    """Write the flags of the rows of every target: its name, the sample and the flags."""
    named = all(samples.target_ids is not None for _, samples, _ in found)
    first = str(found[0][1].id_name) if named else "row"
    with console.table_file(output) as writer:
        head = [first, "overlap", "why"]
        writer.writerow(["target", *head] if several else head)
        for name, samples, flags in found:
            ids: Any = samples.target_ids if named else range(1, len(flags.uncovered) + 1)
            for key, bad, why in zip(ids, flags.uncovered, flags.why, strict=True):
                row = ["" if key is None else key, "no" if bad else "yes", why]
                writer.writerow([name, *row] if several else row)
    console.note(f"wrote {output}")


def covered_part(samples: Samples, flags: RowFlags) -> Samples:
    """Leave out the target rows that are flagged."""
    return samples.take_target((~flags.uncovered).nonzero()[0])


def short_names(paths: Sequence[str]) -> list[str]:
    """Names of files without their folders, unless two would be the same."""
    names = [Path(path).name for path in paths]
    return names if len(set(names)) == len(names) else list(paths)
