"""Write the reports of a run into its folder."""

from __future__ import annotations

import sys
from pathlib import Path

from ..trials import Trials
from .markdown import as_markdown
from .page import as_html
from .sections import sections


def write_reports(trials: Trials, folder: Path, missing: dict[str, str]) -> None:
    """Write ``report.md``, ``index.html`` and ``figures/``; print where they are."""
    drawn = draw(trials, folder / "figures")
    found = sections(trials, missing)
    (folder / "report.md").write_text(as_markdown(found, list(drawn)), encoding="utf-8")
    (folder / "index.html").write_text(as_html(found, drawn), encoding="utf-8")
    print(f"Trials, report.md, index.html and figures/ are in {folder}")


def draw(trials: Trials, folder: Path) -> dict[str, str]:
    """Draw the figures, where matplotlib is installed; return the SVG texts by name."""
    try:
        from .figures import draw_all
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        hint = "Figures need matplotlib. Install it with: pip install matplotlib"
        print(hint, file=sys.stderr)
        return {}
    return draw_all(trials, folder)
