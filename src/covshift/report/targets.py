"""What a report on several targets opens with: one line per target, and what they say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..diagnostics import BatchesDiagnosis, Diagnosis
from ..diagnostics.batches import carried_by_few
from ..diagnostics.verdict import Verdict
from ..estimates import Estimates
from ..evaluations import Evaluations
from ..plot import BatchesDisplay
from ..show.answer import ASSUMPTION
from ..show.table import Cell, Table, number
from ..show.words import printable, shown
from .pictures import Picture
from .svg import draw_svg

_SAID = 12  # targets in a text alternative


class TargetAnswers(NamedTuple):
    """What is known of one target; no number, or the error that says why there is none."""

    diagnosis: Diagnosis
    estimates: Any
    evaluations: Any
    outcome: str | None
    weighted: Any  # the answer whose weights the page speaks of


@dataclass(frozen=True)
class Overview:
    """Sentences, table and pictures; the template escapes all of it."""

    verdict: Verdict  # the worst of all
    counted: str  # verdicts of all targets
    caution: str
    assumption: str
    answer: str
    evaluation: str
    table: Table
    pictures: tuple[Picture, ...]


def overview_of(targets: Mapping[str, TargetAnswers]) -> Overview:
    """Set the targets side by side, in their order."""
    diagnosis = BatchesDiagnosis({name: part.diagnosis for name, part in targets.items()})
    estimated, judged = _estimated(targets), _judged(targets)
    counts = Counter(part.diagnosis.verdict for part in targets.values())
    lines = [
        (
            Cell(printable(name, width=1000)),
            *(() if estimated is None else (_cell(estimated.rows.get(name)),)),
            *(() if judged is None else (_cell(judged.rows.get(name)),)),
            Cell(line["verdict"]),
            Cell(f"{line['rows']:,}", line["rows"]),
            number(targets[name].weighted.effective_sample_size, "{:,.0f}"),
            Cell(printable(line["worst_feature"], width=1000), None, line["worst_level"]),
        )
        for name, line in zip(targets, diagnosis.lines, strict=True)
    ]
    numbers = [part.head for part in (estimated, judged) if part is not None]
    head = ("target", *numbers, "verdict", "rows", "eff. rows", "differs most in")
    shown_below = f"Numbers with their intervals below them. {_below(estimated, judged)}"
    return Overview(
        diagnosis.verdict,
        ", ".join(f"{count} {verdict}" for verdict, count in counts.items()),
        carried_by_few([name for name, part in targets.items() if part.weighted.caution]),
        ASSUMPTION if estimated or judged else diagnosis.assumption,
        "" if estimated is None else _range(estimated, "the sample says", len(targets)),
        "" if judged is None else _range(judged, "on your data it is", len(targets)),
        Table.of(
            head,
            lines,
            words=(0, head.index("verdict"), len(head) - 1),
            title="The targets, side by side",
            about=shown_below.strip(),
        ),
        tuple(_drawn(part, len(targets)) for part in (estimated, judged) if part and part.rows),
    )


class _Numbers(NamedTuple):
    """One number of every target that has it, and what it is on the sample."""

    name: str  # of its picture
    head: str
    rows: dict[str, Any]
    here: Any
    legend: tuple[str, str]

    @property
    def title(self) -> str:
        """The number at the start of a line: names of columns stay as they are."""
        if self.name == "estimates":
            return self.head
        return self.head[:1].upper() + self.head[1:]


def _estimated(targets: Mapping[str, TargetAnswers]) -> _Numbers | None:
    found = {k: part.estimates for k, part in targets.items()}
    if all(part is None for part in found.values()):
        return None
    able = {k: part for k, part in found.items() if isinstance(part, Estimates)}
    rows = {k: part.headline for k, part in able.items()}
    first = next(iter(able.values()), None)
    head = "estimate" if first is None else first.headline_name
    here = None if first is None else first.same(first.headline, "none")
    return _Numbers("estimates", head, rows, here, ("sample", "adjusted to the target"))


def _judged(targets: Mapping[str, TargetAnswers]) -> _Numbers | None:
    found = {k: part.evaluations for k, part in targets.items()}
    if all(part is None for part in found.values()):
        return None
    able = {k: part for k, part in found.items() if isinstance(part, Evaluations)}
    rows = {k: part.overall[0] for k, part in able.items()}
    first = next(iter(able.values()), None)
    here = None if first is None else first.table.where(method="none")[0]
    head = "evaluation" if first is None else first.headline_name
    return _Numbers("evaluations", head, rows, here, ("your data", "expected on the target"))


def _cell(row: Any) -> Cell:
    if row is None or np.isnan(row.value):
        return Cell("none")
    interval = " to ".join(shown(bound, row) for bound in row.interval)
    return Cell(shown(row.value, row), row.value, interval)


def _range(numbers: _Numbers, beside: str, count: int) -> str:
    """Say between which targets a number lies, and how many have none."""
    able = {k: row for k, row in numbers.rows.items() if not np.isnan(row.value)}
    if not able:
        return "There is no number for any target."
    low, high = (pick(able, key=lambda k: able[k].value) for pick in (min, max))
    lacking = count - len(able)
    none = f" No number for {lacking} of {count} targets." if lacking else ""
    return (
        f"{numbers.title}: from {_said(able, low)} to {_said(able, high)}; "
        f"{beside} {shown(numbers.here.value, numbers.here)}.{none}"
    )


def _said(rows: Mapping[str, Any], name: str) -> str:
    return f"{shown(rows[name].value, rows[name])} ({printable(name, width=1000)})"


def _below(*numbers: _Numbers | None) -> str:
    lacking = any(part is not None and part.here is None for part in numbers)
    return "None: the section of the target says why." if lacking else ""


def _drawn(numbers: _Numbers, count: int) -> Picture:
    rows, here = numbers.rows, numbers.here
    percent = here is not None and here.proportion
    factor = 100.0 if percent else 1.0
    values = [[row.value, *row.interval] for row in rows.values()]
    ylabel = numbers.head + (" (%)" if percent else "")
    display = BatchesDisplay(
        list(rows),
        factor * np.array(values).reshape(-1, 3),
        reference=None if here is None else factor * here.value,
        ylabel=ylabel,
        legend=numbers.legend,
    )
    title = f"{numbers.title}, from target to target"
    said = [f"{printable(k, width=1000)}: {shown(row.value, row)}" for k, row in rows.items()]
    more = " and more" if len(said) > _SAID else ""
    svg = draw_svg(
        lambda ax: _plot(display, ax),
        size=(min(9.0, max(5.0, 2.0 + 0.5 * count)), 3.4),
        name=f"overview-{numbers.name}",
        title=title,
        text=f"{ylabel} of every target with its interval. {'; '.join(said[:_SAID])}{more}.",
    )
    return Picture(svg, title, "Points with their intervals; the dashed line is the sample's own.")


def _plot(display: BatchesDisplay, ax: Any) -> None:
    display.plot(ax)


def anchors(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every name with the id of its section."""
    return ((name, f"target-{k}") for k, name in enumerate(names, start=1))
