"""Docstrings here are plain text that reads well in an editor; this prepares them for reST.

A formula set off by indentation becomes a literal block, so that its lines and columns stay, and
the bars of an absolute value are no substitution.
"""

import re
from typing import Any

from sphinx.application import Sphinx


def prepare(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the lines of one docstring in place."""
    prepared: list[str] = []
    margin, literal = 0, False  # indentation of the text, and whether a formula is open
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip():
            after_blank = bool(prepared) and not prepared[-1].strip()
            if literal and indent <= margin:
                literal = False
            elif not literal and after_blank and indent > margin:
                literal = True
                prepared += [" " * margin + "::", ""]
            if not literal:
                margin = indent + len(re.match(r"(?:[-*] |\d+\. )?", line.lstrip())[0])
                line = _escape_bars(line)
        prepared.append(line)
    lines[:] = prepared


def _escape_bars(line: str) -> str:
    if line.lstrip().startswith(">>>"):
        return line
    return re.sub(r"(``.*?``)|\|", lambda found: found[1] or r"\|", line)


def setup(app: Sphinx) -> dict[str, bool]:
    """Run before napoleon, which reads what this writes."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", prepare, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
