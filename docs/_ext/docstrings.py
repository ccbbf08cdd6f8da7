"""Docstrings here are plain text that reads well in an editor; this prepares them for reST.

A formula set off by indentation is typeset, and other lines that are set off stay as they are. The
bars of an absolute value are no substitution.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from plain_math import tex

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def prepare(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the lines of one docstring in place."""
    prepared: list[str] = []
    margin, place = 0, 0  # indentation of the text, and the line at hand
    while place < len(lines):
        line = lines[place]
        indent = _indent(line)
        after_blank = bool(prepared) and not prepared[-1].strip()
        if not line.strip():
            prepared.append(line)
        elif after_blank and indent > margin:
            end = place
            while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > margin):
                end += 1
            prepared += [" " * margin + text for text in _set_off(lines[place:end])]
            place = end
            continue
        else:
            margin = indent + len(re.match(r"(?:[-*] |\d+\. )?", line.lstrip())[0])
            prepared.append(_escape_bars(line))
        place += 1
    lines[:] = prepared


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _set_off(block: list[str]) -> list[str]:
    """Lines that are set off, as a formula or, where they are none, literally."""
    formula = tex("\n".join(block))
    if formula is None:
        margin = min(_indent(line) for line in block if line.strip())
        return ["::", "", *("    " + line[margin:] for line in block), ""]
    return [".. math::", "", *("    " + line for line in formula.splitlines()), ""]


def _escape_bars(line: str) -> str:
    if line.lstrip().startswith(">>>"):
        return line
    return re.sub(r"(``.*?``)|\|", lambda found: found[1] or r"\|", line)


def setup(app: Sphinx) -> dict[str, bool]:
    """Run before napoleon, which reads what this writes."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", prepare, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
