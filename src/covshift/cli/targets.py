"""Several targets on the command line: their order, their names, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError, NoOverlapError
from ..registry import MARGINS, listed, weighters
from ..show.notes import Note
from ..show.words import in_order, percent
from . import console
from .frames import Files, read_files
from .options import Roles, Verdict

if TYPE_CHECKING:
    from ..data import Samples
    from ..diagnostics import RowFlags

NO_OVERLAP = (
    "NO OVERLAP: part of the target lies where there are no training rows. No correction can "
    "estimate what happens there; predictions for those rows are guesses."
)


def compared(both: Samples) -> Samples:
    """Return samples as a diagnosis takes them: in the order of the table, without weight zero."""
    rows, target = ((weight > 0).nonzero()[0] for weight in (both.d, both.share))
    return both.as_given().take(rows).take_target(target)


def diagnosis_of(both: Samples, options: Verdict) -> Any:
    """Diagnose two samples, or one beside margins; warn loudly where they do not overlap."""
    from ..diagnostics.margins import diagnose_margins
    from ..diagnostics.measure import diagnose_samples

    diagnosis: Any
    if both.known is not None:
        diagnosis = diagnose_margins(both.known, weight=both.d if both.weighted else None)
    else:
        diagnosis = diagnose_samples(compared(both), random_state=options.seed)
    if diagnosis.verdict == "no overlap":
        console.warn(f"{NO_OVERLAP} {diagnosis.reason}")
    return diagnosis


def weighted_diagnosis(diagnosis: Any, both: Samples, weights: Any, weighter: str) -> Any:
    """Show the samples of a diagnosis under other factors (N,) on the design weights."""
    from ..diagnostics.margins import margins_corrected
    from ..diagnostics.measure import corrected

    weights = weights * both.d if both.weighted else weights
    if both.known is not None:
        own = both.d if both.weighted else None
        return margins_corrected(diagnosis, both.known, own, weights, weighter)
    seen = compared(both)
    return corrected(diagnosis, seen, seen.of_these(weights), weighter)


def overlapping(both: Samples, options: Any) -> Any:
    """Diagnose two samples; without --restrict refuse where `estimate` would, for no overlap.

    Beside margins nothing is refused: parts of the target without training rows are named.
    """
    import numpy as np

    from ..diagnostics.measure import diagnose_samples
    from ..engine.overlap import check_overlap

    if both.known is not None:
        diagnosis = diagnosis_of(both, options)
        empty = [shift for shift in diagnosis.margins if shift.uncovered > 0]
        for shift in empty if diagnosis.verdict != "no overlap" else ():
            cells = " or ".join(shift.empty[:5])
            what = f"{shift.uncovered:.2%} of the target has {shift.name!r} in {cells}"
            console.warn(f"{what}, where there are no training rows.")
        return diagnosis
    both = compared(both)
    diagnosis = diagnose_samples(both, random_state=options.seed)
    if options.restrict is None:
        rows = np.arange(len(both.X))
        known = replace(both, diagnosis=diagnosis)
        check_overlap(known, rows, restrict=None, random_state=options.seed)
    return diagnosis


def covered_part(both: Samples, flags: RowFlags, what: str) -> tuple[Samples, Note]:
    """Leave out the target rows that are flagged, and say which: ``what`` is for the others."""
    if flags.uncovered.all():
        raise NoOverlapError(f"No target row is covered by the training rows. {flags}")
    kept = percent(1 - flags.count / len(flags.uncovered))
    note = Note("restricted target", f"{what} {kept} of the target. {flags}", "warning")
    console.tell(note)
    return both.take_target((~flags.uncovered).nonzero()[0]), note


def refuse_unable(weighter: str | None, path: str) -> None:
    """Refuse a weighter that needs target rows where a file holds margins."""
    able = [entry.name for entry in weighters() if MARGINS in entry.can]
    if weighter not in (None, *able):
        raise InputError(
            f"The weighter {weighter!r} needs rows of the target, and {path} holds margins. Use "
            f"{listed(able)}."
        )


def short_names(paths: Sequence[str]) -> list[str]:
    """Names of files without their folders, unless two would be the same."""
    names = [Path(path).name for path in paths]
    return names if len(set(names)) == len(names) else list(paths)


def targets_of(options: Any) -> list[str]:
    """Files as they were named; in natural order where that is the one of a shell's pattern.

    Bad places for the output are refused, and a file that cannot be read twice.
    """
    from ..files.reading import book_and_sheet

    paths = [options.target, *options.more]
    if paths == sorted(paths):
        paths = in_order(paths, lambda path: book_and_sheet(path)[1] or Path(path).stem)
    for path in reversed(paths):
        replace(options, target=path).check_output(options.output)
    if len(paths) > 1 and "-" in (options.train, *paths):
        raise InputError("Several targets are read one after the other: name files, not -.")
    return paths


def files_of_each(options: Roles, paths: list[str]) -> Iterator[tuple[str, Files]]:
    """Read the training file with one target after the other."""
    for name, path in zip(short_names(paths), paths, strict=True):
        console.step(f"reading {name}" if len(paths) > 1 else "reading")
        yield name, read_files(replace(options, target=path), margins=len(paths) == 1)
