"""Figures as SVG that can stand several times in one HTML page.

matplotlib gives the same ids in every picture, a style that would hold for the whole page, and
metadata with the date: all of it is taken out, and what must stay is renamed per picture.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any
from xml.dom import minidom

from ..exceptions import import_extra
from ..numerics.quiet import quiet
from ..plot import (
    style,
)

_METADATA = dict.fromkeys(["Creator", "Date", "Format", "Type"])
_COLOURS = {  # which the page gives by its own names, for light and for dark
    "#000000": "ink",
    "#ffffff": "paper",
    "#eeeeee": "band",
    style.FAINT: "faint",
    style.NEUTRAL: "soft",
    style.TRAIN: "train",
    style.TARGET: "target",
    style.CORRECTED: "corrected",
    style.SERIES[3]: "rose",
    style.SERIES[4]: "amber",
}
_NAMES = {colour.lower(): name for colour, name in _COLOURS.items()}
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
    # The reader's fonts have the characters that matplotlib's own may lack.
    lacking = quiet(UserWarning, message=r"Glyph .* missing from")
    with matplotlib.rc_context(settings), lacking:
        figure = figures.Figure(figsize=size, layout="constrained")
        canvas = backend.FigureCanvasSVG(figure)
        ax = figure.subplots()
        draw(ax)
        _few_ticks(ax.xaxis, ax.get_xlim(), size[0])
        _few_ticks(ax.yaxis, ax.get_ylim(), 1.4 * size[1])
        # savefig would draw the whole picture once more, for the layout alone.
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")
        out = io.BytesIO()
        canvas.print_svg(out, metadata=_METADATA)  # savefig draws a first time for nothing
    return _embeddable(out.getvalue(), size, name, title, text)


def _few_ticks(axis: Any, ends: tuple[float, float], width: float) -> None:
    """Keep the tick labels of numbers apart, and write thousands as such."""
    ticker = import_extra("matplotlib.ticker", extra="report", needed_by="covshift.report")
    if not isinstance(axis.get_major_locator(), ticker.AutoLocator):
        return
    axis.set_major_locator(ticker.MaxNLocator(max(3, int(1.3 * width))))
    if 10_000 <= max(map(abs, ends)) < 1e9:
        axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))


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
        if element.hasAttribute("style"):
            element.setAttribute("style", _themed(element.getAttribute("style")))
    for attribute in list(root.attributes.keys()):
        if attribute.startswith("xmlns") or attribute in ("width", "height", "version"):
            root.removeAttribute(attribute)
    root.setAttribute("style", f"max-width: {size[0] * 96:.0f}px")
    root.setAttribute("role", "img")
    root.setAttribute("aria-labelledby", f"{name}-title {name}-text")
    root.setAttribute("focusable", "false")
    for tag, part, content in (("desc", "text", text), ("title", "title", title)):
        element = document.createElement(tag)
        element.setAttribute("id", f"{name}-{part}")
        element.appendChild(document.createTextNode(content))
        root.insertBefore(element, root.firstChild)
    return root.toxml()


def _themed(style: str) -> str:
    """Name the colours of a style; the colour itself stays for a picture that is taken out.

    >>> _themed("fill: none; stroke: #00407a")
    'fill: none; stroke: var(--train, #00407a)'
    """
    return re.sub(r"#[0-9a-f]{6}", _variable, style, flags=re.IGNORECASE)


def _variable(match: re.Match[str]) -> str:
    colour = match[0].lower()
    return f"var(--{_NAMES[colour]}, {colour})" if colour in _NAMES else colour


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
