"""Figures that pages quote from results: read by name, never typed.

In a page a figure is followed by a comment that names it and says how it is printed:

    its error is 0.23<!-- estimates:error .2f --> of the plain mean's
    in 97 %<!-- estimates:holds .0f % --> of the draws
    95 %<!-- setting --> intervals

`named.toml` says where each name is found in the tables of `results/NAME.md`:

    [estimates]
    error = "Real tables, induced shifts | default | dr | error"

that is the heading, the first cells of the row (as many as tell the rows apart), and the column.
"heading #2" is the second table under a heading, "column [2]" the second number of a cell, `*` any
one part. Before it may stand what is made of all that fit: "min:", "max:", "mean:", "sum:",
"count:", "thousandth:", "less:", what is left of 1 in per cent, or "times:", how many times smaller
than 1 it is. "text:" begins a regular expression whose group is a number of the words. Every result
has its date, commit and machine as well: `<!-- estimates:date s -->`.
`results/NAME.json` keeps the figures with the commit that they were measured on. A figure that a
run could not measure again, since a package was not there, stays with its own commit ("earlier").
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT, RESULTS = HERE.parent, HERE / "results"
PAGES = ("README.md", "docs/*.md")
EVIDENCE = ROOT / "docs" / "evidence.md"

NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
QUOTE = re.compile(
    r"(?P<text>[^\s|(\[]+(?: %)?)<!-- (?P<result>\w+):(?P<name>[\w.-]+) (?P<form>[^\s%]+)"
    r"(?P<sign> ?%)? -->"
)
MARKS = "<!-- all figures -->", "<!-- end of the figures -->"
ABOUT = ("date", "commit", "machine")
TAKEN = {
    "min": min,
    "max": max,
    "mean": lambda found: sum(found) / len(found),
    "sum": sum,
    "count": len,
    "thousandth": lambda found: found[0] / 1000,
    "less": lambda found: 100 * (1 - found[0]),
    "times": lambda found: 1 / found[0],
}


# Tables


def cells(text: str) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield the numbers of all tables of a result, each with its path."""
    heading, seen, block = "", {}, []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            block.append([part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]])
            continue
        if len(block) > 2:
            seen[heading] = seen.get(heading, 0) + 1
            place = heading if seen[heading] == 1 else f"{heading} #{seen[heading]}"
            yield from _of_table(place, block[0], block[2:])
        block = []
        if line.startswith("#"):
            heading = line.lstrip("# ").strip()


def _of_table(place: str, head: list[str], rows: list[list[str]]):
    rows = [row for row in rows if len(row) == len(head)]
    for count in range(1, len(head)):
        if len({tuple(row[:count]) for row in rows}) == len(rows):
            break
    columns = [
        name if head[:k].count(name) == 0 else f"{name} #{head[:k].count(name) + 1}"
        for k, name in enumerate(head)
    ]
    for row in rows:
        for column, cell in zip(columns[count:], row[count:], strict=True):
            for k, number in enumerate(NUMBER.findall(cell)):
                name = column if k == 0 else f"{column} [{k + 1}]"
                value = float(number.replace(",", "").replace("−", "-"))
                yield (place, *row[:count], name), value


def figures(name: str, text: str) -> tuple[dict[str, float], list[str]]:
    """Return the named figures of a result, and the names that it does not have."""
    found = dict(cells(text))
    made, lacking = {}, []
    for figure, where in wanted().get(name, {}).items():
        value = _found(found, text, where)
        if value is None:
            lacking.append(figure)
        else:
            made[figure] = value
    return made, lacking


def _found(found: dict[tuple[str, ...], float], text: str, where: str) -> float | None:
    take, colon, rest = where.partition(": ")
    if take == "text" and colon:
        match = re.search(rest, text)
        return None if match is None else float(match[1].replace(",", ""))
    if take in TAKEN and colon:
        where = rest
    path = where.split(" | ")
    values = [
        value
        for key, value in found.items()
        if len(key) == len(path)
        and all(part in (own, "*") for own, part in zip(key, path, strict=True))
        and not (path[-1] == "*" and key[-1].endswith("]"))
    ]
    if not values:
        return None
    return float(TAKEN[take](values)) if take in TAKEN and colon else values[0]


def wanted() -> dict[str, dict[str, str]]:
    """Return where each figure is found, by result."""
    return tomllib.loads((HERE / "named.toml").read_text(encoding="utf-8"))


# What is kept


def known(name: str) -> dict[str, Any]:
    """Return what is known of a result."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(name: str, about: dict[str, Any]) -> None:
    """Keep what is known of a result."""
    text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")


def earlier(before: dict[str, Any], lacking: list[str]) -> list[dict[str, Any]]:
    """Return figures that are lacking now, each with where and when it was measured."""
    kept = []
    for block in (before, *before.get("earlier", [])):
        own = {name: block["figures"][name] for name in lacking if name in block.get("figures", {})}
        lacking = [name for name in lacking if name not in own]
        if own:
            about = {part: block[part] for part in (*ABOUT, "transcribed") if part in block}
            kept.append({**about, "figures": own})
    return kept


def earlier_section(blocks: list[dict[str, Any]]) -> str:
    """Say on the page what was measured before and not now."""
    lines = [
        f"| {name} | {value:g} | {block['commit']} | {block['date']} |"
        for block in blocks
        for name, value in block["figures"].items()
    ]
    head = ["| figure | value | commit | date |", "|---|---|---|---|"]
    return "\n".join(["", "## Measured before, and not in this run", "", *head, *lines, ""])


def figure(result: str, name: str) -> tuple[Any, dict[str, Any]] | None:
    """Return a figure, and the block that says when and where it was measured."""
    about = known(result)
    if name in ABOUT:
        return (about[name], about) if about else None
    for block in (about, *about.get("earlier", [])):
        if name in block.get("figures", {}):
            return block["figures"][name], block
    return None


# Pages


def pages() -> list[Path]:
    """All pages that may quote."""
    return [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]


def printed(match: re.Match[str]) -> str | None:
    """Return what a quote should print; None where there is no such figure."""
    found = figure(match["result"], match["name"])
    if found is None:
        return None
    shown = str(found[0]) if match["form"] == "s" else format(found[0], match["form"])
    return shown + (match["sign"] or "")


def quoted(text: str) -> str:
    """Return a page with all figures as the results have them."""

    def renewed(match: re.Match[str]) -> str:
        shown = printed(match)
        return match[0] if shown is None else shown + match[0][len(match["text"]) :]

    return QUOTE.sub(renewed, text)


def differing(text: str) -> list[str]:
    """Say which figures of a page are in no result, or are others there."""
    lines = []
    for match in QUOTE.finditer(text):
        shown, name = printed(match), f"{match['result']}:{match['name']}"
        if shown is None:
            lines.append(f"{name} is in no result; the page has {match['text']}")
        elif shown != match["text"]:
            lines.append(f"{name} is {shown}; the page has {match['text']}")
    comments = re.findall(r"<!-- (\w+:\S+ .*?) -->", text)
    read = [match[0].partition("<!-- ")[2][:-4] for match in QUOTE.finditer(text)]
    return lines + [f"{one} is no quote" for one in comments if one not in read]


ASIDE = re.compile(
    r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)|<!--.*?-->|\bsections?\s+\d[\d.]*|\beqs?\.\s+[(\d.) and,]+"
    r"|\(\d+\.\d+\w?\)",
    re.DOTALL,
)


def unnamed(text: str) -> list[str]:
    """Return the numbers without a name in paragraphs that name a result."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(f"{MARKS[0]}.*?{MARKS[1]}", "", text, flags=re.DOTALL)
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        if "benchmarks/results/" not in paragraph:
            continue
        rest = re.sub(r"\S+(?: %)?<!-- .*? -->", "", paragraph)
        rest = ASIDE.sub(" ", rest)
        found += re.findall(r"(?<![\w.])(?:\d[\d,]*\.\d+|\.\d+|\d+(?= ?%))", rest)
    return found


def used() -> dict[tuple[str, str], list[str]]:
    """Return every figure that is quoted, with the pages that quote it."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in pages():
        if path == EVIDENCE:
            continue
        for match in QUOTE.finditer(path.read_text(encoding="utf-8")):
            names = found.setdefault((match["result"], match["name"]), [])
            names += [path.name] * (path.name not in names)
    return found


def quote() -> list[Path]:
    """Renew the figures of all results, pages and of the page of evidence; return what changed."""
    for path in sorted(RESULTS.glob("*.json")):
        about = known(path.stem)
        text = (RESULTS / f"{path.stem}.md").read_text(encoding="utf-8")
        own, lacking = figures(path.stem, text)
        write(path.stem, {**about, "figures": own, "earlier": earlier(about, lacking)})
    changed = []
    for path in pages():
        before = path.read_text(encoding="utf-8")
        after = quoted(before)
        if path == EVIDENCE:
            after = with_figures(after)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def with_figures(page: str) -> str:
    """Return the page of evidence with a table of everything that is quoted."""
    lines = ["| figure | value | quoted on | result | commit | date |", "|---|---|---|---|---|---|"]
    for (result, name), names in sorted(used().items()):
        found = figure(result, name)
        if found is None or name in ABOUT:
            continue
        value, block = found
        where = f"`{block['commit']}`{'' if not block.get('transcribed') else ' (from the table)'}"
        on = ", ".join(names)
        lines.append(
            f"| {result}:{name} | {value:g} | {on} | `benchmarks/results/{result}.md` | {where} "
            f"| {block['date']} |"
        )
    start, end = MARKS
    head, _, rest = page.partition(start)
    tail = rest.partition(end)[2]
    return "\n".join([head + start, "", *lines, "", end + tail]) if rest else page
