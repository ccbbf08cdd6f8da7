"""Tables of the runs with margins, from the lines that were kept."""

from __future__ import annotations

from collections import Counter

import numpy as np
from estimates_margins import COARSE, METHODS, PLAIN, POPULATION, RAKING, ROWS, SAMPLE
from harness import table
from scipy.stats import gmean

CONTENDERS = (POPULATION, SAMPLE, COARSE, ROWS, RAKING, PLAIN)
GROUPS = {  # title of a table: which cells are in it
    "Tables, induced shifts (direction, rank)": ("tables", ("direction", "rank")),
    "Tables, two columns together (pair)": ("tables", ("pair",)),
    "Tables, no shift": ("tables", ("none",)),
}
LEAST = 0.90  # coverage below which a cell is named
FEW = 10  # runs below which it is not

WORDS = (
    "The target is known by the margins of the whole population (10 or 4 brackets of a number, all "
    "categories, no sampling error), by margins of a target sample as large as the training "
    "sample (`Margins.from_rows(T, bins=10)`, whose size tells their error), or by its rows; "
    "`estimate` by its defaults. Beside it `Raking` to the population's 10 brackets with "
    "the weighted mean, which takes the weights as known, and the sample as it is. Error: root "
    "mean square relative to that of the sample as it is, on the same draws, geometric mean over "
    "the cells; covers: of the 95 % intervals, for means of numbers and for shares; lowest: of a "
    "table with its shifts; width relative to that of the sample as it is; refused: no overlap, or "
    "for raking cells without rows. Seeds are made of the cell and the number of the run, from 0. "
    'In "pair" the chance to be the target\'s '
    'follows the product of two random columns\' ranks, in "together" two features are correlated '
    "in the target alone and the outcome is their product: what margins cannot see."
)


def margins_sections(lines):
    """Return the words and the tables."""
    found = ["## A target known by its margins", WORDS]
    for title, (kind, shifts) in GROUPS.items():
        for N in (1000, 200):
            inside = [
                line
                for line in lines
                if line["kind"] == kind and line["shift"] in shifts and line["N"] == N
            ]
            if inside:
                found += [f"{title}, N = {N}: {_runs(inside)}.", _pooled(inside)]
    made = [line for line in lines if line["kind"] == "generated"]
    if made:
        found += [f"Generated populations: {_runs(made)}.", _by_population(made)]
    return [*found, _named(lines)]


def _runs(lines):
    """Say how many draws there are."""
    cells = Counter((line["name"], line["shift"], line["N"]) for line in lines if _is(line, PLAIN))
    rows = Counter((line["name"], line["shift"], line["N"]) for line in lines if _is(line, ROWS))
    text = f"{len(cells)} cells of {_range(cells)} draws"
    return text + (f", with target rows {_range(rows)}" if rows else "")


def _range(counts):
    low, high = min(counts.values()), max(counts.values())
    return str(low) if low == high else f"{low} to {high}"


def _is(line, contender):
    return line["contender"] == contender


def methods_of(contender):
    return {RAKING: ("weights",), PLAIN: ("none",)}.get(contender, METHODS)


def _pooled(lines):
    rows = []
    for contender in CONTENDERS:
        for method in methods_of(contender):
            found = [measured(cell, contender, method) for cell in cells_of(lines).values()]
            found = [one for one in found if one is not None]
            if not found:
                continue
            by_name = {}
            for one in found:
                by_name.setdefault(one["name"], []).extend(one["covers"])
            asked = [line for line in lines if _is(line, contender)]
            refused = np.mean(["refused" in line for line in asked])
            rows.append(
                [
                    contender,
                    method,
                    f"{gmean([one['error'] for one in found]):.2f}",
                    _share([c for one in found if not one["share"] for c in one["covers"]]),
                    _share([c for one in found if one["share"] for c in one["covers"]]),
                    f"{min(np.mean(covers) for covers in by_name.values()):.0%}",
                    f"{gmean([one['width'] for one in found]):.2f}",
                    f"{refused:.1%}",
                ]
            )
    head = ["target known by", "method", "error", "covers: numbers", "covers: shares"]
    return table([*head, "lowest", "width", "refused"], rows)


def _by_population(lines):
    rows = []
    for (name, _, N), cell in cells_of(lines).items():
        for contender in CONTENDERS:
            found = {m: measured(cell, contender, m) for m in methods_of(contender)}
            asked = [line for line in cell if _is(line, contender)]
            if not asked:
                continue
            refused = sum("refused" in line for line in asked)
            columns = [found.get(m) for m in (*METHODS, "none")]
            first = next((one for one in columns if one is not None), None)
            rows.append(
                [
                    name,
                    N,
                    contender,
                    len(asked),
                    refused,
                    *("" if one is None else _share(one["covers"]) for one in columns),
                    *("" if one is None else f"{one['error']:.2f}" for one in columns),
                    "" if first is None else f"{first['width']:.2f}",
                ]
            )
    head = ["population", "N", "target known by", "runs", "refused"]
    head += [f"{what}: {m}" for what in ("covers", "error") for m in (*METHODS, "none")] + ["width"]
    return table(head, rows)


def cells_of(lines):
    """Lines by name, shift and size."""
    found = {}
    for line in lines:
        found.setdefault((line["name"], line["shift"], line["N"]), []).append(line)
    return found


def measured(cell, contender, method):
    """Error, coverage and width of one method in a cell; None where there is nothing."""
    plain = {line["run"]: line["none"] for line in cell if _is(line, PLAIN)}
    ours = [line for line in cell if _is(line, contender) and method in line]
    ours = [line for line in ours if line["run"] in plain]
    if not ours:
        return None
    truth = np.array([line["truth"] for line in ours])
    found = np.array([line[method] for line in ours])
    beside = np.array([plain[line["run"]] for line in ours])
    rms, least = (np.sqrt(np.mean((part[:, 0] - truth) ** 2)) for part in (found, beside))
    width, plain_width = (np.mean(part[:, 3] - part[:, 2]) for part in (found, beside))
    covers = (found[:, 2] <= truth) & (truth <= found[:, 3])
    return {
        "name": ours[0]["name"],
        "share": ours[0]["share"],
        "error": float(rms / least),
        "width": float(width / plain_width),
        "covers": covers.tolist(),
    }


def _share(covers):
    return f"{np.mean(covers):.1%}" if covers else ""


def _named(lines):
    """Name the cells in which the doubly robust interval with margins covers too seldom."""
    low = []
    for (name, shift, N), cell in cells_of(lines).items():
        for contender in (POPULATION, SAMPLE, COARSE):
            one = measured(cell, contender, "dr")
            if one and len(one["covers"]) >= FEW and np.mean(one["covers"]) < LEAST:
                where = ", ".join(part for part in (name, shift, f"N = {N}", contender) if part)
                low.append(f"{where}: {np.mean(one['covers']):.0%}")
    why = (
        " Likely reasons: the shift goes on inside brackets (the sample reaches further than the "
        "target's outermost one; levels of fewer than ten target rows are merged), margins do not "
        "show it (pair, together), or chance, with so few runs."
    )
    named = "; ".join(low) or "none"
    return f"Cells in which the dr interval covers less than {LEAST:.0%}: {named}." + why * bool(
        low
    )
