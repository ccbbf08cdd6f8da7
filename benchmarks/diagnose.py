"""How often a diagnosis is right, where there is a shift and where there is none; its cost.

Level and power: of each pair of samples the verdict (three tests: of features, of uncovered parts,
of the two-sample AUC), its test of features alone, the same with Kolmogorov-Smirnov distances only,
as before, and t-tests of all columns with Holm's correction, at the level of the whole verdict.
Overlap: false alarms and power of the test for target rows without training rows. A binary feature:
the exact test beside that of proportions. Cost: normal features of pairwise correlation 0.3; the
target is moved by 0.2 in every feature.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
import zlib
from collections import Counter

import numpy as np
import pandas as pd
from harness import Work, main, runs, table
from populations import levels
from scipy import stats
from scipy.stats import ttest_ind

from covshift import diagnose
from covshift.diagnostics.numbers import Values, distance_p_value
from covshift.diagnostics.verdict import LEVEL
from covshift.numerics.statistics import holm
from covshift.numerics.support import NO_OVERLAP, STRONG, uncovered

TITLE = "How often is a diagnosis right, and what does it cost?"
RUNS = 150


def normal(rng, n, d, moved):
    X = rng.normal(size=(n, d))
    X[:, 0] += moved
    return X


def correlated(rng, n, d, moved):
    X = np.sqrt(0.5) * rng.normal(size=(n, 1)) + np.sqrt(0.5) * rng.normal(size=(n, d))
    X[:, 0] += moved
    return X


def skewed(rng, n, d, moved):
    return np.exp(1.5 * normal(rng, n, d, moved))


def whole(rng, n, d, moved):
    return np.clip(np.round(normal(rng, n, d, moved) + 2), 0, 4)


def half_zero(rng, n, d, moved):
    X = normal(rng, n, d, moved)
    return np.where(X > 0, np.exp(X), 0.0)


def binary(rng, n, d, moved):
    share = np.full(d, 0.3)
    share[0] += moved
    return (rng.uniform(size=(n, d)) < share).astype(float)


def rare(rng, n, d, moved):
    return (rng.uniform(size=(n, d)) < 0.02).astype(float)


def spread(rng, n, d, moved):
    X = rng.normal(size=(n, d))
    X[:, 0] *= 1 + moved
    return X


def categories(rng, n, d, moved):
    """Categories of five levels, one-hot in the samples; the first has moved to its last level."""
    shares = np.tile([0.3, 0.3, 0.2, 0.1, 0.1], (d, 1))
    shares[0] += np.array([-1, 0, 0, 0, 1]) * moved
    columns = {f"c{k}": rng.choice(list("abcde"), size=n, p=shares[k]) for k in range(d)}
    return pd.DataFrame(columns)


CELLS = [
    (normal, 300, 300, 6, 0.0),
    (normal, 50, 50, 6, 0.0),
    (normal, 300, 300, 50, 0.0),
    (correlated, 300, 300, 20, 0.0),
    (skewed, 1000, 50, 6, 0.0),
    (whole, 1000, 200, 6, 0.0),
    (half_zero, 300, 300, 6, 0.0),
    (rare, 300, 300, 20, 0.0),
    (categories, 300, 300, 5, 0.0),
    (normal, 300, 300, 6, 0.25),
    (normal, 300, 300, 50, 0.35),
    (correlated, 300, 300, 6, 0.25),
    (normal, 1000, 200, 6, 0.25),
    (skewed, 300, 300, 6, 0.25),
    (whole, 300, 300, 6, 0.25),
    (half_zero, 300, 300, 6, 0.25),
    (binary, 300, 300, 6, 0.12),
    (categories, 300, 300, 5, 0.08),
    (spread, 300, 300, 6, 0.3),
]


def level(number, run):
    """Whether each way finds a shift."""
    draw, N, M, d, moved = CELLS[number]
    name = f"{draw.__name__}/{N}/{M}/{d}/{moved}"
    rng = np.random.default_rng([zlib.crc32(name.encode()), run])
    X, T = draw(rng, N, d, 0.0), draw(rng, M, d, moved)
    found = diagnose(X, T, methods=())
    features = any(feature.p_value <= LEVEL for feature in found.features)
    auc = found.auc is not None and found.auc.interval[0] > 0.5
    gaps = any(part.excess >= STRONG for part in found.support.uncovered)
    if isinstance(X, pd.DataFrame):  # chi-square tests, as before
        both = pd.get_dummies(pd.concat([X, T])).to_numpy(float)
        before, Z, U = features, both[:N], both[N:]
    else:
        Z, U, share = X, T, np.full(M, 1 / M)
        p = [distance_p_value(Values.of(X[:, k], T[:, k], share, float(M))) for k in range(d)]
        before = bool((holm(np.array(p)) <= LEVEL).any())
    with np.errstate(all="ignore"):
        of_t = np.nan_to_num(ttest_ind(Z, U).pvalue, nan=1.0)
    return [
        found.verdict != "no shift",
        features,
        before or auc or gaps,
        before,
        bool((holm(of_t) <= 0.05).any()),
    ]


OVERLAP_SEED = 13

DRAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "rounded to 0.1": lambda rng, shape: rng.normal(size=shape).round(1),
    "five levels": lambda rng, shape: rng.integers(0, 5, size=shape).astype(float),
    "ones, 4 %": lambda rng, shape: (rng.random(shape) < 0.04).astype(float),
}


def parts(X, T):
    return uncovered(X, T, np.full(len(T), 1 / len(T)), float(len(T)))


def share_of(count, of):
    return f"{100 * count / of:.1f}"


def beyond(rng, N, n, share):
    """Uniform columns, of which the target's first lies beyond the training values by a share."""
    X, T = rng.uniform(size=(N, n)), rng.uniform(size=(N, n))
    T[:, 0] /= 1 - share
    return X, T


def lacking(rng, N, n, share):
    """Columns of five levels; the training sample lacks one in the first, which has a share."""
    X, T = (rng.integers(0, 5, size=(N, n)).astype(float) for _ in range(2))
    X[X[:, 0] == 2, 0] = 3.0
    T[T[:, 0] == 2, 0] = 3.0
    T[rng.random(N) < share, 0] = 2.0
    return X, T


VERDICTS = ("no shift", "moderate", "strong", "no overlap")


def rows_of(rng, size, n, discrete):
    X = rng.normal(size=(size, n))
    return levels(-0.8, 0.0, 0.8)(X) if discrete else X


def same(n, discrete):
    """Two samples of one distribution."""

    def draw(rng, N):
        return rows_of(rng, N, n, discrete), rows_of(rng, N, n, discrete)

    return draw


def one_moved(n, discrete):
    """The target's first feature is one standard deviation further on."""

    def draw(rng, N):
        T = rng.normal(size=(N, n))
        T[:, 0] += 1.0
        return rows_of(rng, N, n, discrete), levels(-0.8, 0.0, 0.8)(T) if discrete else T

    return draw


def above_all(n, share):
    """A share of the target lies above all training rows in the first feature."""

    def draw(rng, N):
        X, T = rows_of(rng, N, n, False), rows_of(rng, N, n, False)
        out = rng.random(N) < share
        T[out, 0] = X[:, 0].max() + rng.exponential(0.5, size=out.sum())
        return X, T

    return draw


def category_absent(n, share):
    """The first five columns are categories, one column each; training rows lack the last one."""

    def draw(rng, N):
        X, T = rows_of(rng, N, n, True), rows_of(rng, N, n, True)
        shares = (1 - share) / 4
        X[:, :5] = np.eye(5)[rng.integers(0, 4, size=N)]
        T[:, :5] = np.eye(5)[rng.choice(5, size=N, p=[shares] * 4 + [share])]
        return X, T

    return draw


# name: (draw, rows of each sample, runs, verdicts that are right)
PAIRS = {
    "none, 5 continuous": (same(5, False), 50, 400, VERDICTS[:1]),
    "none, 5 discrete": (same(5, True), 50, 400, VERDICTS[:1]),
    "none, 5 continuous ": (same(5, False), 500, 100, VERDICTS[:1]),
    "none, 5 discrete ": (same(5, True), 500, 100, VERDICTS[:1]),
    "none, 20 discrete": (same(20, True), 500, 40, VERDICTS[:1]),
    "1 s.d. in one of 20 continuous": (one_moved(20, False), 500, 40, VERDICTS[1:3]),
    "1 s.d. in one of 20 discrete": (one_moved(20, True), 500, 40, VERDICTS[1:3]),
    "39 % beyond the range of one of 20": (above_all(20, 0.39), 500, 40, VERDICTS[3:]),
    "20 % in a category that training lacks, 20 columns": (
        category_absent(20, 0.2),
        500,
        40,
        VERDICTS[3:],
    ),
}


def judge(name, seed):
    """Return the verdict, and whether the interval of the AUC holds 0.5."""
    draw, N, *_ = PAIRS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = diagnose(*draw(np.random.default_rng([seed, N]), N), methods=())
    low, high = found.auc.interval
    return found.verdict, low <= 0.5 <= high


def samples(N, M, n):
    rng = np.random.default_rng(0)

    def draw(rows):
        return np.sqrt(0.3) * rng.normal(size=(rows, 1)) + np.sqrt(0.7) * rng.normal(size=(rows, n))

    return draw(N), draw(M) + 0.2


def cost(N, M, n):
    X, T = samples(N, M, n)
    wall, processor = time.perf_counter(), time.process_time()
    found = diagnose(X, T)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    tracemalloc.start()
    try:
        diagnose(X, T, methods=("cdf",))
        memory = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
    return [
        f"{N:,}",
        f"{M:,}",
        n,
        f"{wall:.1f}",
        f"{processor:.1f}",
        f"{memory:.0f}",
        f"{(X.nbytes + T.nbytes) / 2**20:.0f}",
        found.verdict,
    ]


def false_alarms(N, M, name, pairs):
    """Per cent of pairs of equal samples in which anything is reported, by number of features."""
    cells = []
    for n in (5, 50):
        rng = np.random.default_rng([OVERLAP_SEED, N, M, n])
        largest = []
        for _ in range(pairs):
            found = parts(DRAWS[name](rng, (N, n)), DRAWS[name](rng, (M, n)))
            largest.append(found[0].excess if found else -1.0)
        largest = np.array(largest)
        cells += [share_of((largest >= level).sum(), pairs) for level in (0, STRONG, NO_OVERLAP)]
    return cells


CHANGES = {"beyond the range": beyond, "a level lacks": lacking}


def power(N, change, share, pairs):
    """Per cent of pairs in which a change is reported and is an alarm, by number of features."""
    cells = []
    for n in (5, 20, 50):
        rng = np.random.default_rng([OVERLAP_SEED, N, n, int(100 * share)])
        found = [parts(*CHANGES[change](rng, N, n, share)) for _ in range(pairs)]
        alarm = sum(bool(part) and part[0].excess >= NO_OVERLAP for part in found)
        cells += [share_of(sum(bool(part) for part in found), pairs), share_of(alarm, pairs)]
    return cells


def binary(N, p, q, pairs):
    """Per cent of pairs with a p-value of 0.05 or less: ours, of proportions, Kolmogorov's."""
    rng = np.random.default_rng([OVERLAP_SEED, N])
    found = np.zeros(3)
    for _ in range(pairs):
        x, t = (rng.random(N) < p).astype(float), (rng.random(N) < q).astype(float)
        pooled = (x.mean() + t.mean()) / 2
        z = (t.mean() - x.mean()) / np.sqrt(2 * pooled * (1 - pooled) / N)
        tests = (
            distance_p_value(Values.of(x, t, np.full(N, 1 / N), float(N))),
            2 * stats.norm.sf(abs(z)),
            stats.ks_2samp(x, t, method="asymp").pvalue,
        )
        found += np.array(tests) <= 0.05
    return [share_of(count, pairs) for count in found]


SIZES = [(50, 50, 400), (500, 500, 100), (2000, 50, 60), (50, 2000, 60), (100_000, 100_000, 1)]
BINARY = ((50, 0.3, 0.3), (300, 0.3, 0.3), (300, 0.3, 0.42), (5000, 0.03, 0.04))


def works(share, quick):
    """Level, verdicts, overlap, a binary feature, cost."""
    if quick:
        return [
            Work("level", level, [(k, 0) for k in (1, 17)]),
            Work("verdicts", judge, [(name, 0) for name in list(PAIRS)[:2]]),
            Work("alarms", false_alarms, [(50, 50, "five levels", 3)]),
            Work("power", power, [(50, "a level lacks", 0.2, 2)]),
            Work("binary", binary, [(50, 0.3, 0.3, 5)]),
            Work("cost", cost, [(200, 200, 3)]),
        ]
    shares = (0.02, 0.05, 0.1, 0.2, 0.39)
    return [
        Work(
            "level",
            level,
            [(k, run) for run in range(runs(RUNS, share)) for k in range(len(CELLS))],
            0.4,
        ),
        Work(
            "verdicts",
            judge,
            [(name, seed) for name, pair in PAIRS.items() for seed in range(runs(pair[2], share))],
            0.3,
        ),
        Work(
            "alarms",
            false_alarms,
            [(N, M, name, runs(many, share, 1)) for N, M, many in SIZES for name in DRAWS],
            2.0,
        ),
        Work(
            "power",
            power,
            [(N, name, s, runs(60, share)) for N in (50, 500) for name in CHANGES for s in shares],
            8.0,
        ),
        Work("binary", binary, [(*one, runs(1000, share)) for one in BINARY], 5.0),
        Work("cost", cost, [(10**3, 10**3, 5), (10**4, 10**4, 20), (10**5, 10**5, 20)], 12.0, True),
    ]


def level_table(found):
    """One row for each cell."""
    by_cell, rows = {}, []
    for (k, _), line in found:
        by_cell.setdefault(k, []).append(line)
    for k, lines in by_cell.items():
        draw, N, M, d, moved = CELLS[k]
        shares = [f"{100 * rate:.1f} %" for rate in np.mean(lines, axis=0)]
        name = draw.__name__.replace("_", " ")
        rows.append([name, N, M, d, moved or "", len(lines), *shares])
    head = ["columns", "N", "M", "number", "first one moved by", "pairs", "verdict"]
    head += ["its test of features", "verdict, before", "Kolmogorov-Smirnov alone", "t-tests, 5 %"]
    return table(head, rows)


def verdict_rows(found):
    """One row for each kind of pair."""
    by_name = {}
    for (name, _), line in found:
        by_name.setdefault(name, []).append(line)
    for name, lines in by_name.items():
        _, N, _, right = PAIRS[name]
        counts = Counter(verdict for verdict, _ in lines)
        correct = sum(counts[word] for word in right) / len(lines)
        holds = f"{np.mean([inside for _, inside in lines]):.3f}" if "none" in name else ""
        shares = [counts[word] for word in VERDICTS]
        yield [name.strip(), N, len(lines), *shares, f"{correct:.0%}", holds]


def report(found):
    """Return all tables."""
    same, moved = (
        [pair for pair in found["level"] if bool(CELLS[pair[0][0]][-1]) == kind]
        for kind in (False, True)
    )
    both = [f"{head}, {n} features" for n in (5, 50) for head in ("reported", "≥ 5 %", "≥ 10 %")]
    powers = [f"{head}, n = {n}" for n in (5, 20, 50) for head in ("reported", "alarm")]
    head = ["N", "M", "features", "wall s", "processor s", "peak MB", "input MB", "verdict"]
    return [
        "The tests of features have the level 0.015, those of uncovered parts 0.01, the two-sample "
        "AUC 0.025: together 0.05. Before: features by Kolmogorov-Smirnov distances alone.",
        "## Equal samples: at most 5 % (verdict) and 1.5 % (features)",
        level_table(same),
        "## The first column has moved",
        "By so many standard deviations (of its logarithm: skewed), by a share (binary, "
        "categories), or its spread by this part of itself.",
        level_table(moved),
        "## Verdicts",
        "Verdicts of `diagnose(methods=())`, as many target rows as training rows. Pairs of equal "
        "samples are the control.",
        table(
            ["shift", "N = M", "runs", *VERDICTS, "right", "AUC's interval holds 0.5"],
            verdict_rows(found["verdicts"]),
        ),
        "## False alarms of the test for target rows without training rows",
        "Two samples of one "
        "distribution, independent features; percent of the pairs in which anything is reported "
        "(level: 1), and in which its excess over 10 / N is that of a strong shift (5 %) or of no "
        "overlap (10 %).",
        table(
            ["N", "M", "features are", "pairs", *both],
            ([*(f"{n:,}" for n in job[:2]), *job[2:], *line] for job, line in found["alarms"]),
        ),
        "## Power of that test",
        "N = M. One feature of n is changed: a share of the target lies "
        "above the training values, or has a level that the training sample lacks. Percent of the "
        "pairs in which it is reported, and in which it is the alarm (an excess of 10 % or more "
        "over 10 / N).",
        table(
            ["N", "change", "share", *powers],
            ([*job[:2], f"{job[2]:.0%}", *line] for job, line in found["power"]),
        ),
        "## A binary feature",
        "Shares p of the training and q of the target rows are ones, "
        "N = M. Percent of the pairs with a p-value of 0.05 or less: the exact test given the "
        "ties (covshift), a two-sample test of proportions, Kolmogorov's distribution.",
        table(
            ["N", "p", "q", "pairs", "covshift", "proportions", "Kolmogorov"],
            ([*job, *line] for job, line in found["binary"]),
        ),
        "## Cost",
        "`covshift.diagnose` with its four weighting methods, once. The demand: "
        "under 20 s on two cores for 100,000 rows of 20 features against as many. Memory is what "
        "is allocated beyond the input, with CDF weights alone; beyond the sizes that each part "
        "can afford, rows are drawn at random (docs/diagnosis.md).",
        table(head, [line for _, line in found["cost"]]),
    ]


if __name__ == "__main__":
    main(__file__)
