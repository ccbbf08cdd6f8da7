"""The report as one HTML file: tables, inline SVG, no script, nothing fetched."""

from __future__ import annotations

import html
import re

from .captions import CAPTIONS
from .layout import Table
from .sections import Section

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 0 auto;
  max-width: 72rem; padding: 1.5rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
p { max-width: 46rem; }
figure { margin: 1.5rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption, caption { color: #555; font-size: .9rem; text-align: left; max-width: 46rem; }
caption { padding-bottom: .4rem; }
.wide { overflow-x: auto; margin: 1.5rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid #e3e3e3; }
th { border-bottom: 2px solid #999; }
td:first-child { min-width: 9rem; }
.agrees, .holds { background: #e2f3e4; } .differs, .not { background: #fbe3e0; }
.same, .only { background: #fdf3d7; }
nav a { margin-right: 1rem; }
"""
_CLASSES = {
    "agrees": "agrees",
    "same direction": "same",
    "differs": "differs",
    "holds": "holds",
    "only under a setting": "only",
    "does not hold": "not",
}


def as_html(found: list[Section], drawn: dict[str, str]) -> str:
    """The whole page; ``drawn`` holds the SVG text of each figure."""
    links = "".join(
        f'<a href="#s{at}">{html.escape(section.title)}</a>' for at, section in enumerate(found)
    )
    body = "\n".join(_section(at, section, drawn) for at, section in enumerate(found))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper, reproduced</title><style>{_STYLE}</style></head><body>"
        "<h1>The paper, reproduced</h1>"
        "<p>Mazaheri, Jain and Bruck, <i>Robust Correction of Sampling Bias using Cumulative "
        "Distribution Functions</i>, NeurIPS 2020: every experiment and figure run again with "
        "covshift, beside the published numbers, with controls.</p>"
        f"<nav>{links}</nav>\n{body}\n</body></html>\n"
    )


def _section(at: int, section: Section, drawn: dict[str, str]) -> str:
    parts = [f'<section id="s{at}"><h2>{html.escape(section.title)}</h2>']
    parts += [f"<p>{_inline(words)}</p>" for words in section.words]
    parts += [_figure(name, drawn[name]) for name in section.figures if name in drawn]
    parts += [_table(table) for table in section.tables]
    return "\n".join([*parts, "</section>"])


def _figure(name: str, svg: str) -> str:
    inline = svg[svg.index("<svg") :]
    # Identifiers are made unique, since several pictures share one page.
    inline = re.sub(r'id="([^"]+)"', rf'id="{name}-\1"', inline)
    inline = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", inline)
    inline = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', inline)
    caption = html.escape(CAPTIONS[name])
    inline = inline.replace("<svg ", f'<svg role="img" aria-label="{caption}" ', 1)
    return f"<figure>{inline}<figcaption>{caption}</figcaption></figure>"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in table.header)
    rows = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return (
        f'<div class="wide"><table><caption>{_inline(table.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )


def _cell(text: str) -> str:
    kind = _CLASSES.get(text.strip("*"))
    attribute = f' class="{kind}"' if kind else ""
    return f"<td{attribute}>{_inline(text)}</td>"


def _inline(text: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text))
