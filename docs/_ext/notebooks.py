"""A notebook of every tutorial, made from its page: text, code, and what the code prints.

They are written to ``docs/notebooks/`` before the build and are not kept in the repository; every
tutorial links its own below the title. Those of the gallery are made by sphinx-gallery.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from api_pages import write

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$\n?", flags=re.DOTALL | re.MULTILINE)


def tutorials(folder: Path) -> list[str]:
    """The pages that become notebooks: the first one, and all tutorials."""
    return ["start", "tutorial", *sorted(path.stem for path in folder.glob("*_tutorial.md"))]


def notebook(page: str) -> dict[str, Any]:
    """The cells of a page, as Jupyter's format 4.5 has them."""
    cells: list[dict[str, Any]] = []
    place = 0
    for fence in FENCE.finditer(page):
        between, (kind, block) = page[place : fence.start()], fence.groups()
        place = fence.end()
        printed = kind == "text" and not between.strip() and bool(cells)
        if printed and cells[-1]["cell_type"] == "code":
            cells[-1]["outputs"] = _output(block)
            continue
        _add_words(cells, between)
        commands, shown = _typed(block) if kind == "console" else ("", "")
        if kind == "python":
            _add(cells, "code", block)
        elif commands and "pip install" not in commands:
            _add(cells, "code", f"%%bash\n{commands}")
            cells[-1]["outputs"] = _output(shown)
        else:  # what is not for this place: an installation, a file, a message
            _add(cells, "markdown", fence.group())
    _add_words(cells, page[place:])
    about = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def _add(cells: list[dict[str, Any]], kind: str, text: str) -> None:
    source = text.strip("\n").splitlines(keepends=True)
    cell = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": source}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    cells.append(cell)


def _add_words(cells: list[dict[str, Any]], text: str) -> None:
    """Add text, without what only the site understands: lists of pages, boxes, links, pictures."""
    text = re.sub(r"^:::\{toctree\}\n.*?^:::$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^:::.*\n?|<!--.*?-->", "", text, flags=re.MULTILINE)
    text = re.sub(r"!\[([^]]*)\]\([^)]*\)", r"*(\1)*", text)
    text = re.sub(r"\[([^]]*)\]\((?!https?:)[^)]*\)", r"\1", text)
    if text.strip():
        _add(cells, "markdown", text)


def _typed(block: str) -> tuple[str, str]:
    """The commands of a session, and what they print."""
    lines = block.splitlines(keepends=True)
    commands = [line[2:] for line in lines if line.startswith("$ ")]
    return "".join(commands), "".join(line for line in lines if not line.startswith("$ "))


def _output(text: str) -> list[dict[str, Any]]:
    if not text.strip():
        return []
    printed = text.splitlines(keepends=True)
    return [{"output_type": "stream", "name": "stdout", "text": printed}]


def generate(app: Sphinx, config: Config) -> None:
    """Write the notebooks of all tutorials."""
    source, folder = Path(app.srcdir), Path(app.srcdir) / "notebooks"
    folder.mkdir(exist_ok=True)
    for name in tutorials(source):
        made = notebook((source / f"{name}.md").read_text(encoding="utf-8"))
        text = json.dumps(made, indent=1, ensure_ascii=False)
        write(folder / f"{name}.ipynb", text + "\n")


def link(app: Sphinx, name: str, source: list[str]) -> None:
    """Offer the notebook below the title of its page."""
    if name in tutorials(Path(app.srcdir)):
        title, _, rest = source[0].partition("\n")
        words = f"{{download}}`Download this page as a notebook <notebooks/{name}.ipynb>`"
        source[0] = f"{title}\n\n{words}\n{rest}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the notebooks as soon as the configuration is there."""
    app.connect("config-inited", generate)
    app.connect("source-read", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
