"""The built documentation's own links: files and anchors are there. Others: `make docs-links`."""

from __future__ import annotations

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
