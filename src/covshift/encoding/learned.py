"""What was learned of a table: its rules, and in words what was done and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..show.notes import Note
from .amounts import Spelling
from .decisions import Undo, undo_by_option
from .feature import OTHER, Feature

_WARNING_SHARE = 0.05  # of the rows in joined levels, which then are corrected in part only


@dataclass
class Learned:
    """The rules, and what happened to columns that have none."""

    features: list[Feature] = field(default_factory=list)
    texts: list[tuple[str, str, bool]] = field(default_factory=list)  # why; if it can be used
    rare: list[str] = field(default_factory=list)  # categories of which no level has enough rows
    constant: list[str] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    same_gaps: list[tuple[str, str]] = field(default_factory=list)
    joined: dict[str, tuple[int, float]] = field(default_factory=dict)  # levels, and their share
    scattered: dict[str, tuple[int, float]] = field(default_factory=dict)  # left out: most joined
    filled: dict[str, tuple[int, int]] = field(default_factory=dict)  # gaps of both samples
    read_as: dict[str, list[str]] = field(default_factory=dict)  # dates or numbers, once text
    ordered: list[str] = field(default_factory=list)  # by their numbers, such as 5+
    spelled: dict[str, tuple[Spelling, str]] = field(default_factory=dict)  # with one of the cells

    def notes(self, undo: Undo) -> list[Note]:
        """Say it in words."""
        pairs = zip(self._notes(undo), self._notes(undo_by_option), strict=True)
        return [replace(note, command=other.text) for note, other in pairs]

    def _notes(self, undo: Undo) -> list[Note]:
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
            many = share > _WARNING_SHARE
            if many:
                text += " Differences between these levels are not corrected."
            found.append(Note("joined levels", text, "warning" if many else "note"))
        for feature in self.features:
            if feature.kind == "ordered" and feature.name in self.ordered:
                some = ", ".join(feature.levels if len(feature.levels) < 9 else feature.levels[:3])
                last = "" if len(feature.levels) < 9 else f", ..., {feature.levels[-1]}"
                text = (
                    f"Read {feature.name!r} as categories in order: {some}{last}; "
                    f"{undo(feature.name, 'category')} leaves out the order."
                )
                found.append(Note("ordered", text))
            elif feature.kind == "ordered":
                order = " < ".join(feature.levels)
                text = f"{feature.name!r} is ordered: {order}. It became 0, 1, 2, ..."
                found.append(Note("ordered", text))
        dates = [f.name for f in self.features if f.kind == "date"]
        if dates:
            season = [f.name for f in self.features if f.season]
            more = f", and the quarter of the year of {_named(season)}" if season else ""
            found.append(Note("dates", f"Dates, as days since 1970-01-01: {_named(dates)}{more}."))
        seasons = [f.name for f in self.features if f.kind == "season"]
        if seasons:
            text = f"Dates, as month and weekday without their trend: {_named(seasons)}."
            found.append(Note("dates", text))
        for kind, names in self.read_as.items():
            found.append(Note("text", f"Text that was read as {kind}: {_named(names)}."))
        for name, (spelling, word) in self.spelled.items():
            text = (
                f"Read {name!r} as numbers: {word!r} is {spelling.read(word):,.12g}; "
                f"{undo(name, 'category')} reads it as categories."
            )
            found.append(Note("amounts", text))
        if self.filled:
            shown = ", ".join(f"{n!r} ({a:,} and {b:,})" for n, (a, b) in self.filled.items())
            text = f"Gaps (in training and target rows) were filled and marked: {shown}."
            found.append(Note("gaps", text))
        for name, other in self.same_gaps:
            found.append(Note("gaps", f"{name!r} and {other!r} are missing in the same rows."))
        for name, why, usable in self.texts:
            text = f"Left out {name!r}: {why}" + f"; {undo(name, 'category')} uses it" * usable
            found.append(Note("free text", f"{text}."))
        for name, (count, share) in self.scattered.items():
            text = (
                f"Left out {name!r}: {_percent(share)} of the rows are at {count:,} levels with "
                f"few rows each. Differences in this column are not corrected; "
                f"{undo(name, 'category')} uses it, with these levels as one."
            )
            found.append(Note("scattered levels", text, "warning"))
        for name in self.rare:
            text = f"Left out {name!r}: each of its values has too few rows to be a category."
            found.append(Note("rare levels", text))
        if self.constant:
            text = f"Left out because they never vary: {_named(self.constant)}."
            found.append(Note("constant columns", text))
        for name, other in self.copies:
            found.append(Note("copies", f"Left out as a copy of {other!r}: {name!r}."))
        return found


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.1 else f"{share:.0%}"
