"""The picture of the home page, drawn from the answer of the code below it, for light and dark.

``python docs/_ext/home_picture.py`` writes docs/_static/answer.svg and answer_dark.svg.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
FILES = {"light": "answer.svg", "dark": "answer_dark.svg"}
LOOKS = {  # ground, text, axis, the sample, the adjusted number
    "light": ("#ffffff", "#333333", "#888888", "#a8430f", "#0a7d91"),
    "dark": ("#14181e", "#e6e6e6", "#999999", "#f4a06f", "#5cc8dc"),
}
LEFT, RIGHT, AXIS = 20, 440, 152  # of the axis, in pixels
ROWS = {"none": ("Sample as it is", 80), "dr": ("Adjusted", 130)}  # and the height of the line


def run_page() -> tuple[Any, float]:
    """What the code of the home page answers, and the true share."""
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    code = re.search(r"^```python\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)[1]
    names: dict[str, Any] = {}
    exec(compile(code, "index.md", "exec"), names)
    return names["answer"], float(names["survey"].probability_target.mean())


def draw(answer: Any, truth: float, look: str) -> str:
    """Both numbers with their intervals, and the truth, as SVG."""
    ground, ink, grey, *colours = LOOKS[look]
    rows = {row.method: row for row in answer.table}
    ends = [end for method in ROWS for end in rows[method].interval]
    low, high = min(ends) - 0.02, max(ends) + 0.01

    def x(share: float) -> str:
        return f"{LEFT + (RIGHT - LEFT) * (share - low) / (high - low):.1f}"

    said = {name: f"{words}: {_with_interval(rows[name])}" for name, (words, _) in ROWS.items()}
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 460 185" width="640" role="img" '
        'aria-labelledby="t">',
        f'<title id="t">{". ".join(said.values())}. The truth: {truth:.1%}</title>',
        f"<style>text{{font:15px system-ui,sans-serif;fill:{ink};paint-order:stroke;"
        f"stroke:{ground};stroke-width:5px}}</style>",
        f'<rect width="460" height="185" rx="8" fill="{ground}"/>',
        f'<line x1="{x(truth)}" x2="{x(truth)}" y1="32" y2="{AXIS}" stroke="{ink}" '
        'stroke-width="2" stroke-dasharray="5 4"/>',
        f'<text x="{x(truth)}" y="22" text-anchor="middle">The truth: {truth:.1%}</text>',
    ]
    for (name, (_, y)), colour in zip(ROWS.items(), colours, strict=True):
        row, style = rows[name], f"fill:{colour};font-weight:600"
        first, last = map(x, row.interval)
        side = ("start", LEFT) if name == "dr" else ("end", RIGHT)
        lines += [
            f'<line x1="{first}" x2="{last}" y1="{y}" y2="{y}" stroke="{colour}" '
            'stroke-width="4" stroke-linecap="round"/>',
            f'<circle cx="{x(row.value)}" cy="{y}" r="7" fill="{colour}"/>',
            f'<text x="{side[1]}" y="{y - 16}" text-anchor="{side[0]}" style="{style}">'
            f"{said[name]}</text>",
        ]
    lines.append(
        f'<line x1="{LEFT}" x2="{RIGHT}" y1="{AXIS}" y2="{AXIS}" stroke="{grey}"/>',
    )
    for percent in range(5, 100, 5):
        if low <= percent / 100 <= high:
            at = x(percent / 100)
            lines += [
                f'<line x1="{at}" x2="{at}" y1="{AXIS}" y2="{AXIS + 5}" stroke="{grey}"/>',
                f'<text x="{at}" y="{AXIS + 23}" text-anchor="middle">{percent}%</text>',
            ]
    return "\n".join([*lines, "</svg>", ""])


def _with_interval(row: Any) -> str:
    low, high = row.interval
    return f"{row.value:.1%} ({low:.1%} to {high:.1%})"


if __name__ == "__main__":
    found = run_page()
    for name, file in FILES.items():
        (DOCS / "_static" / file).write_text(draw(*found, name), encoding="utf-8")
