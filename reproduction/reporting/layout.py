"""A table as rows of text, that Markdown and HTML print alike; labels and numbers as text."""

from __future__ import annotations

from dataclasses import dataclass

from ..contenders import CONTENDERS
from ..verdict import Cell


@dataclass(frozen=True)
class Table:
    """A caption, a header and rows of text."""

    caption: str
    header: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """The table in Markdown, below its caption."""
        lines = [_line(self.header), "|" + "---|" * len(self.header)]
        lines += [_line(row) for row in self.rows]
        return f"*{self.caption}*\n\n" + "\n".join(lines)


def label(name: str) -> str:
    """A contender's label for readers."""
    return CONTENDERS[name].label


def mean_std(cell: Cell) -> str:
    return f"{cell.mean:.3f} ({cell.std:.3f})"


def short(cell: Cell) -> str:
    text = f"{cell.mean:.2f} ({cell.std:.2f})"
    return f"**{text}**" if cell.direction < 0 else text


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
