"""What of a calibrated model goes into a file: scores, weights and models, but no rows.

What would need the calibration rows again is kept as far as it was found before saving: expected
coverages, and thresholds of ``threshold="dr"``.
"""

from __future__ import annotations

from typing import Any

from .._fields import PLAIN, Kind, Part, Path, Reader, Sizes, Writer
from ..exceptions import InputError


class ByLevel(Kind):
    """What was found at some coverages, by group: a dict of (coverage, group)."""

    def __init__(self, part: Part) -> None:
        self.part = part

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        """Write what belongs to a coverage; the rest follows from scores and weights."""
        return [
            [float(level), PLAIN.write(group, path, out), self.part.write(found, inner, out)]
            for k, ((level, group), found) in enumerate(value.items())
            if level is not None
            for inner in [(*path, str(k))]
        ]

    def read(self, data: Any, sizes: Sizes, source: Reader) -> dict[Any, Any]:
        found = {}
        for level, group, part in data:
            if type(level) is not float or not 0 < level < 1:
                raise ValueError(f"{str(level)[:50]!r} is no coverage")
            if group is not None and type(group) not in (str, int):
                raise ValueError(f"{str(group)[:50]!r} is no group")
            found[level, group] = self.part.read(part, sizes, source)
        return found


class LeftOut(Kind):
    """The closed form of jackknife+, which no file holds; None without it."""

    def write(self, value: Any, path: Path, out: Writer) -> Any:
        if value is not None:
            raise InputError(
                f"{path[0]} with method='jackknife+' of a kernel machine predicts from training "
                "rows without each of them, which cannot be saved. Fit it with method='cv+' or "
                "'split'; or keep it with joblib or pickle, and load such a file only if you trust "
                "whoever wrote it."
            )
        return None

    def read(self, data: Any, sizes: Sizes, source: Reader) -> None:
        if data is not None:
            raise ValueError("a closed form, which no file holds")
