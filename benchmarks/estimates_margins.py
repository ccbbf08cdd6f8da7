"""`covshift.estimate` where the target is known by its margins alone: coverage, error, refusals.

The selections of `estimates.py`, and two more. "pair" on the tables: the chance to be the target's
follows the product of two random columns' ranks, so that the target has them together in another
way. "together" among the populations: the margins of both samples are the same, two features are
correlated in the target alone, and the outcome is their product. Margins show nothing of either.
"none" draws both samples alike.

What the target is known by: the margins of the whole population (10 or 4 brackets of a number, all
categories; no sampling error), margins of as many target rows as there are training rows, and these
rows. Beside them what is often done: raking with its weights taken as known, and the sample as it
is.
"""

from __future__ import annotations

import warnings
import zlib
from collections import Counter
from functools import lru_cache

import numpy as np
from harness import Work, main, runs, table
from populations import OUTCOMES, POPULATIONS, Population, true_mean
from scipy.stats import gmean, rankdata

from covshift import Margins, estimate
from covshift.exceptions import InputError, NoOverlapError
from covshift.numerics.statistics import weighted_mean
from covshift.weights import Raking

SIZES, SHIFTS = (1000, 200), ("direction", "rank", "pair", "none")

METHODS = ("dr", "weights", "model")

POPULATION, COARSE, SAMPLE = "population, 10 brackets", "population, 4 brackets", "target sample"

ROWS, RAKING, PLAIN = "target rows", "raking, weights as known", "sample as it is"

QUICK = (POPULATION, COARSE, SAMPLE, RAKING, PLAIN)

RUNS = {"tables": 4, "generated": 20}

ROW_RUNS = {"tables": 2, "generated": 6}  # of target rows, which take several times as long

POPULATION_ROWS, STRENGTH, RHO = 200_000, 1.5, 0.6


def correlated(rng, size, target):
    """Four standard normal features; in the target the first two are correlated."""
    X = rng.normal(size=(size, 4))
    if target:
        X[:, 1] = RHO * X[:, 0] + np.sqrt(1 - RHO**2) * X[:, 1]
    return X


GENERATED = {**POPULATIONS, "together": Population(correlated, OUTCOMES["interaction"])}


@lru_cache
def generated_truth(name):
    return 2 * RHO if name == "together" else true_mean(name)


@lru_cache
def generated_margins(name, bins):
    rows = GENERATED[name].rows(np.random.default_rng(1), POPULATION_ROWS, True)
    return exact(Margins.from_rows(rows, bins=bins))


def exact(margins):
    """The same margins, said to have no sampling error."""
    return Margins.of(margins.single, margins.tables, size=None)


def generated(name, shift, N, run):
    """Return X, y, T, the truth, and what makes the margins of the population."""
    X, y, T = GENERATED[name].draw(np.random.default_rng([run, N, N]), N, N)
    return X, y, T, generated_truth(name), lambda bins: generated_margins(name, bins)


def from_table(name, shift, N, run):
    """The same for a table; None where it is too small. But for "pair" `estimates.py` draws so."""
    from tables_data import load, target_chance

    found = load(name)
    rng = np.random.default_rng([zlib.crc32(f"{name}/{shift}".encode()), run])
    chance = pair_chance(found.X, rng) if shift == "pair" else target_chance(found.X, shift, rng)
    in_target = rng.uniform(size=len(chance)) < chance
    train, target = np.flatnonzero(~in_target), np.flatnonzero(in_target)
    if min(len(train), len(target)) < max(SIZES):
        return None
    train, target = rng.permutation(train)[:N], rng.permutation(target)[:N]
    X, T = (found.X.iloc[rows].reset_index(drop=True) for rows in (train, target))
    y = found.y.astype(float)

    @lru_cache
    def margins(bins):
        return exact(Margins.from_rows(found.X, weight=chance, bins=bins, min_count=1))

    return X, y[train], T, float(chance @ y / chance.sum()), margins


def pair_chance(X, rng):
    """Chance of each row to be the target's, by the product of two columns' ranks."""
    score = np.ones(len(X))
    for column in rng.choice(X.columns, 2, replace=False):
        codes = X[column].cat.codes if hasattr(X[column], "cat") else X[column]
        ranks = rankdata(codes.to_numpy(dtype=float)) / (len(X) + 1)
        score = score * (ranks - ranks.mean()) / ranks.std()
    return 1 / (1 + np.exp(-STRENGTH * (score - score.mean()) / score.std()))


def answers(contender, X, y, T, margins):
    """Value, error and interval by each method; PLAIN and RAKING have one."""
    if contender == PLAIN:
        return {"none": numbers(weighted_mean(y, np.ones(len(y))))}
    if contender == RAKING:
        weights = Raking().fit(X, X_target=margins(10)).weights_
        return {"weights": numbers(weighted_mean(y, weights))}
    target = {
        POPULATION: lambda: margins(10),
        COARSE: lambda: margins(4),
        SAMPLE: lambda: Margins.from_rows(T, bins=10),
        ROWS: lambda: T,
    }[contender]()
    found = estimate(X, y, target)
    return {method: numbers(found.table.where(method=method)[0]) for method in METHODS}


def numbers(row):
    return [float(value) for value in (row.value, row.standard_error, *row.interval)]


def one_run(kind, name, shift, N, run, *contenders):
    """Return one line per contender."""
    drawn = (from_table if kind == "tables" else generated)(name, shift, N, run)
    if drawn is None:
        return []
    X, y, T, truth, margins = drawn
    lines = []
    for contender in contenders:
        line = {"kind": kind, "name": name, "shift": shift, "N": N, "run": run}
        line |= {"contender": contender, "truth": truth, "share": bool(np.isin(y, (0, 1)).all())}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                line |= answers(contender, X, y, T, margins)
            except (NoOverlapError, InputError) as reason:
                line["refused"] = str(reason)
        lines.append(line)
    return lines


TITLE = "A target known by its margins"
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
    found = ["## Coverage, error, refusals", WORDS]
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


def works(share, quick):
    """Every way to know the target; by its rows, which takes several times as long, less often."""
    if quick:
        return [Work("margins", one_run, [("generated", "discrete", "", 200, 0, *QUICK)])]
    from estimates import large_tables

    cells = {
        "generated": [(name, "", N) for N in SIZES for name in GENERATED],
        "tables": [(name, s, N) for N in SIZES for s in SHIFTS for name in large_tables()],
    }

    def jobs(kind, number, contenders):
        return [
            (kind, *cell, run, *contenders)
            for run in range(runs(number[kind], share))
            for cell in cells[kind]
        ]

    return [
        Work(f"{title} {kind}", one_run, jobs(kind, number, contenders), seconds)
        for kind in cells
        for title, number, contenders, seconds in (
            ("margins", RUNS, QUICK, 1.6),
            ("rows", ROW_RUNS, (ROWS,), 1.3),
        )
    ]


def report(found):
    """Return the words and the tables."""
    return margins_sections([line for part in found.values() for _, own in part for line in own])


if __name__ == "__main__":
    main(__file__)
