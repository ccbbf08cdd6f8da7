"""What was learned of a table: its rules, and in words what was done and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..show.notes import Note
from .feature import OTHER, Feature


@dataclass
class Learned:
    """The rules, and what happened to columns that have none."""

    features: list[Feature] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    texts: list[tuple[str, int]] = field(default_factory=list)
    constant: list[str] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    same_gaps: list[tuple[str, str]] = field(default_factory=list)
    joined: dict[str, tuple[int, float]] = field(default_factory=dict)  # levels, and their share
    filled: dict[str, tuple[int, int]] = field(default_factory=dict)  # gaps of both samples
    read_as: dict[str, list[str]] = field(default_factory=dict)  # dates or numbers, once text

    def notes(self) -> list[Note]:
        """Say it in words."""
        found = []
        several = {f.name: len(f.levels) for f in self.features if f.kind == "category"}
        if several:
            shown = ", ".join(f"{name!r} ({count})" for name, count in several.items())
            found.append(Note("categories", f"Categories, with the number of levels: {shown}."))
        for name, (count, share) in self.joined.items():
            text = (
                f"{name!r}: {count:,} levels with few rows were joined as {OTHER!r}, "
                f"{_percent(share)} of the rows."
            )
            found.append(Note("joined levels", text))
        for feature in self.features:
            if feature.kind == "ordered":
                order = " < ".join(feature.levels)
                text = f"{feature.name!r} is ordered: {order}. It became 0, 1, 2, ..."
                found.append(Note("ordered", text))
        dates = [f.name for f in self.features if f.kind == "date"]
        if dates:
            season = [f.name for f in self.features if f.season]
            more = f", and the quarter of the year of {_named(season)}" if season else ""
            found.append(Note("dates", f"Dates, as days since 1970-01-01: {_named(dates)}{more}."))
        for kind, names in self.read_as.items():
            found.append(Note("text", f"Text that was read as {kind}: {_named(names)}."))
        if self.filled:
            shown = ", ".join(f"{n!r} ({a:,} and {b:,})" for n, (a, b) in self.filled.items())
            text = f"Gaps (in training and target rows) were filled and marked: {shown}."
            found.append(Note("gaps", text))
        for name, other in self.same_gaps:
            found.append(Note("gaps", f"{name!r} has its gaps where {other!r} has them."))
        if self.ids:
            text = f"Left out as identifiers, different in every row: {_named(self.ids)}."
            found.append(Note("identifiers", text))
        for name, count in self.texts:
            text = (
                f"Left out as names or free text: {name!r}, with {count:,} different texts. To "
                'keep it, say that it is a category: kinds={"' + name + '": "category"}.'
            )
            found.append(Note("free text", text))
        if self.constant:
            text = f"Left out because they never vary: {_named(self.constant)}."
            found.append(Note("constant columns", text))
        for name, other in self.copies:
            found.append(Note("copies", f"Left out as a copy of {other!r}: {name!r}."))
        return found


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{share:.0%}".replace("%", " %")
