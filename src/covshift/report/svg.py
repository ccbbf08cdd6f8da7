"""Figures as SVG that can stand several times in one HTML page.

matplotlib gives the same ids in every picture, a style that would hold for the whole page, and
metadata with the date: all of it is taken out, and what must stay is renamed per picture.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.dom import minidom

from .._optional import import_extra

_METADATA = dict.fromkeys(["Creator", "Date", "Format", "Type"])
_FONTS = ["DejaVu Sans"]  # measured with; the reader's own sans-serif is what is shown


def draw_svg(
    draw: Callable[[Any], None], *, size: tuple[float, float], name: str, title: str, text: str
) -> str:
    """Let ``draw`` draw on the axes of a new figure; return SVG for an HTML page.

    ``name`` prefixes the ids, ``title`` and ``text`` are what those read who do not see the
    picture. Words stay words (they can be searched and copied). Neither pyplot nor a default of
    matplotlib is touched, and the same data give the same bytes.
    """
    matplotlib = import_extra("matplotlib", extra="report", needed_by="covshift.report")
    figures = import_extra("matplotlib.figure", extra="report", needed_by="covshift.report")
    backend = import_extra(
        "matplotlib.backends.backend_svg", extra="report", needed_by="covshift.report"
    )
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.family": "sans-serif",
        "font.sans-serif": _FONTS,
        "font.size": 10.0,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # The reader's fonts have the characters that matplotlib's own may lack.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
        figure = figures.Figure(figsize=size, layout="constrained")
        backend.FigureCanvasSVG(figure)
        draw(figure.subplots())
        # savefig would draw the whole picture once more, for the layout alone.
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata=_METADATA)
    return _embeddable(out.getvalue(), size, name, title, text)


def _embeddable(svg: bytes, size: tuple[float, float], name: str, title: str, text: str) -> str:
    document = minidom.parseString(svg)
    root = document.documentElement
    assert root is not None
    for tag in ("style", "metadata"):
        for element in list(root.getElementsByTagName(tag)):
            parent: Any = element.parentNode
            parent.removeChild(element)
    elements = [element for element in root.getElementsByTagName("*") if element.nodeType == 1]
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", svg.decode("utf-8")))
    for element in elements:
        _rename(element, used, name)
    for attribute in list(root.attributes.keys()):
        if attribute.startswith("xmlns") or attribute in ("width", "height", "version"):
            root.removeAttribute(attribute)
    root.setAttribute("style", f"max-width: {size[0] * 96:.0f}px")
    root.setAttribute("role", "img")
    root.setAttribute("aria-labelledby", f"{name}-title {name}-text")
    root.setAttribute("focusable", "false")
    for tag, part, words in (("desc", "text", text), ("title", "title", title)):
        element = document.createElement(tag)
        element.setAttribute("id", f"{name}-{part}")
        element.appendChild(document.createTextNode(words))
        root.insertBefore(element, root.firstChild)
    return root.toxml()


def _rename(element: Any, used: set[str], name: str) -> None:
    if element.hasAttribute("id"):
        own = element.getAttribute("id")
        if own in used:
            element.setAttribute("id", f"{name}-{own}")
        else:
            element.removeAttribute("id")
    for attribute, value in list(element.attributes.items()):
        if attribute in ("xlink:href", "href"):
            element.removeAttribute(attribute)
            element.setAttribute("href", f"#{name}-{value.removeprefix('#')}")
        elif "url(#" in value:
            element.setAttribute(attribute, value.replace("url(#", f"url(#{name}-"))
