"""The built documentation's own links: files and anchors are there. Others: `make docs-links`."""

from __future__ import annotations

import ast
import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"


class Reader(HTMLParser):
    """Collects the links and the anchors of a page."""

    def __init__(self):
        super().__init__()
        self.links, self.anchors = set(), {"", "top"}

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no pages are built")
def test_every_link_within_the_site_leads_somewhere():
    pages = {}
    for path in SITE.rglob("*.html"):
        pages[path.resolve()] = Reader()
        pages[path.resolve()].feed(path.read_text(encoding="utf-8"))
    assert len(pages) > 100
    broken = []
    for path, page in pages.items():
        if path.relative_to(SITE.resolve()).parts[0] in ("_modules", "_static"):
            continue  # listings of the source, with links back by the names of inner modules
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages[aim].anchors if aim in pages else None
            if not aim.exists() or (known is not None and unquote(parts.fragment) not in known):
                broken.append(f"{path.name}: {link}")
    assert not broken


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no pages are built")
def test_every_tutorial_and_example_has_a_notebook_with_its_code():
    offered = {path.stem: path for path in (SITE / "_downloads").rglob("*.ipynb")}
    examples = sorted((SITE.parents[2] / "examples" / "gallery").glob("*/plot_*.py"))
    tutorials = [path.stem for path in (SITE.parents[1] / "notebooks").glob("*.ipynb")]
    assert len(tutorials) >= 6
    assert {*tutorials, *(path.stem for path in examples)} == set(offered)
    for path in examples:  # which tests/docs runs
        notebook = json.loads(offered[path.stem].read_text(encoding="utf-8"))
        assert notebook["nbformat"] == 4
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        code = "\n".join("".join(cell["source"]) for cell in cells)
        script = ast.parse(path.read_text(encoding="utf-8"))
        script.body = script.body[1:]  # without its title
        assert ast.unparse(ast.parse(code.replace("%matplotlib inline", ""))) == ast.unparse(script)
    for name in tutorials:
        page = (SITE / f"{name}.html").read_text(encoding="utf-8")
        assert f"/{name}.ipynb" in page
