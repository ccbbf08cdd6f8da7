"""The report as Markdown, and the tables between the markers of a page."""

from __future__ import annotations

import re

from .captions import CAPTIONS
from .sections import Section


def as_markdown(found: list[Section], drawn: list[str], kind: str = "png") -> str:
    """The whole report; figures of this kind are linked from ``figures/``."""
    parts = ["# The paper, reproduced"]
    parts += [_section(section, drawn, kind) for section in found]
    return "\n\n".join(parts) + "\n"


def _section(section: Section, drawn: list[str], kind: str) -> str:
    parts = [f"## {section.title}", *section.words]
    parts += [table.markdown() for table in section.tables]
    parts += [
        f"![{CAPTIONS[name]}](figures/{name}.{kind})" for name in section.figures if name in drawn
    ]
    return "\n\n".join(parts)


def filled(page: str, blocks: dict[str, str]) -> str:
    """Replace what stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``.

    Raises ValueError for a marker of unknown name, so that no table goes stale unnoticed.
    """

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in blocks:
            raise ValueError(f"The page asks for {name!r}; there are {', '.join(sorted(blocks))}.")
        return f"<!-- begin {name} -->\n\n{blocks[name]}\n\n<!-- end {name} -->"

    pattern = r"<!-- begin (?P<name>[\w-]+) -->\n.*?<!-- end (?P=name) -->"
    return re.sub(pattern, block, page, flags=re.DOTALL)
