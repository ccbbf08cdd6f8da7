"""How often the overlap alarm, the verdict and the test of a feature are wrong, and right.

python benchmarks/overlap.py             the tables of results/overlap.md
python benchmarks/overlap.py --quick     few pairs of samples, as the tests run it
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
from harness import machine, publish, table
from scipy import stats

from covshift import diagnose
from covshift.diagnostics.features import ks_p_value
from covshift.numerics.support import NO_OVERLAP, STRONG, uncovered

SEED = 13

DRAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "rounded to 0.1": lambda rng, shape: rng.normal(size=shape).round(1),
    "five levels": lambda rng, shape: rng.integers(0, 5, size=shape).astype(float),
    "ones, 4 %": lambda rng, shape: (rng.random(shape) < 0.04).astype(float),
}


def parts(X, T):
    return uncovered(X, T, np.full(len(T), 1 / len(T)), float(len(T)))


def percent(count, of):
    return f"{100 * count / of:.1f}"


def false_alarms(pairs_of):
    for N, M, pairs in pairs_of:
        for name, draw in DRAWS.items():
            cells = []
            for n in (5, 50):
                rng = np.random.default_rng([SEED, N, M, n])
                largest = []
                for _ in range(pairs):
                    found = parts(draw(rng, (N, n)), draw(rng, (M, n)))
                    largest.append(found[0].excess if found else -1.0)
                largest = np.array(largest)
                cells += [percent((largest >= 0).sum(), pairs)]
                cells += [
                    percent((largest >= level).sum(), pairs) for level in (STRONG, NO_OVERLAP)
                ]
            yield [f"{N:,}", f"{M:,}", name, pairs, *cells]


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


def power(sizes, pairs):
    for N in sizes:
        for name, make in (("beyond the range", beyond), ("a level lacks", lacking)):
            for share in (0.02, 0.05, 0.1, 0.2, 0.39):
                cells = []
                for n in (5, 20, 50):
                    rng = np.random.default_rng([SEED, N, n, int(100 * share)])
                    found = [parts(*make(rng, N, n, share)) for _ in range(pairs)]
                    cells.append(percent(sum(bool(part) for part in found), pairs))
                    alarm = sum(bool(part) and part[0].excess >= NO_OVERLAP for part in found)
                    cells.append(percent(alarm, pairs))
                yield [N, name, f"{share:.0%}", *cells]


def verdicts(rows, pairs):
    for N, n, label, change in rows:
        rng = np.random.default_rng([SEED, N, n])
        found = Counter()
        for _ in range(pairs):
            X, T = change(rng, N, n)
            found[diagnose(X, T, methods=()).verdict] += 1
        words = ("no shift", "moderate", "strong", "no overlap")
        yield [N, n, label, pairs, *(found[word] for word in words)]


def moved(by):
    def change(rng, N, n):
        X, T = rng.normal(size=(N, n)), rng.normal(size=(N, n))
        T[:, 0] += by
        return X, T

    return change


def mixed(rng, N, n):
    """Without a shift: half of the columns normal, half of five levels."""
    half = n // 2
    X, T = (
        np.hstack([rng.normal(size=(N, n - half)), rng.integers(0, 5, size=(N, half))])
        for _ in range(2)
    )
    return X, T


def binary(pairs):
    for N, p, q in ((50, 0.3, 0.3), (300, 0.3, 0.3), (300, 0.3, 0.42), (5000, 0.03, 0.04)):
        rng = np.random.default_rng([SEED, N])
        found = np.zeros(3)
        for _ in range(pairs):
            x, t = (rng.random(N) < p).astype(float), (rng.random(N) < q).astype(float)
            pooled = (x.mean() + t.mean()) / 2
            z = (t.mean() - x.mean()) / np.sqrt(2 * pooled * (1 - pooled) / N)
            tests = (
                ks_p_value(x, t, np.full(N, 1 / N), float(N)),
                2 * stats.norm.sf(abs(z)),
                stats.ks_2samp(x, t, method="asymp").pvalue,
            )
            found += np.array(tests) <= 0.05
        yield [N, p, q, pairs, *(percent(count, pairs) for count in found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few pairs, nothing written")
    quick = parser.parse_args().quick
    pairs_of = [
        (50, 50, 400),
        (500, 500, 100),
        (2000, 50, 60),
        (50, 2000, 60),
        (100_000,) * 2 + (1,),
    ]
    rows = [
        (50, 5, "none", mixed),
        (50, 50, "none", mixed),
        (500, 5, "none", mixed),
        (100, 20, "1 s.d. in one", moved(1.0)),
        (500, 20, "1 s.d. in one", moved(1.0)),
        (500, 20, "2 s.d. in one", moved(2.0)),
        (500, 20, "39 % beyond in one", lambda rng, N, n: beyond(rng, N, n, 0.39)),
        (500, 20, "a level of 20 % lacks in one", lambda rng, N, n: lacking(rng, N, n, 0.2)),
    ]
    if quick:
        pairs_of, rows = [(50, 50, 5)], rows[:1]
    repeats = {"none": 60}
    verdict_rows = [
        line for row in rows for line in verdicts([row], 2 if quick else repeats.get(row[2], 10))
    ]
    both = [f"{head}, {n} features" for n in (5, 50) for head in ("reported", "≥ 5 %", "≥ 10 %")]
    publish(
        "overlap",
        "Overlap: false alarms and power",
        f"Seed {SEED}. Machine: {machine()}.",
        "## False alarms of the test for target rows without training rows\n\nTwo samples of one "
        "distribution, independent features; percent of the pairs in which anything is reported "
        "(level: 1), and in which its excess over 10 / N is that of a strong shift (5 %) or of no "
        "overlap (10 %).",
        table(["N", "M", "features are", "pairs", *both], false_alarms(pairs_of)),
        "## Power of that test\n\nN = M. One feature of n is changed: a share of the target lies "
        "above the training values, or has a level that the training sample lacks. Percent of the "
        "pairs in which it is reported, and in which it is the alarm (an excess of 10 % or more "
        "over 10 / N).",
        table(
            [
                "N",
                "change",
                "share",
                *(f"{head}, n = {n}" for n in (5, 20, 50) for head in ("reported", "alarm")),
            ],
            power([50] if quick else [50, 500], 3 if quick else 60),
        ),
        "## Verdicts\n\n`diagnose` with `methods=()`, N = M. Without a shift half of the features "
        "are normal and half have five levels; the others are as above.",
        table(
            ["N", "features", "shift", "pairs", "no shift", "moderate", "strong", "no overlap"],
            verdict_rows,
        ),
        "## A binary feature\n\nShares p of the training and q of the target rows are ones, "
        "N = M. Percent of the pairs with a p-value of 0.05 or less: the exact test given the "
        "ties (covshift), a two-sample test of proportions, Kolmogorov's distribution.",
        table(
            ["N", "p", "q", "pairs", "covshift", "proportions", "Kolmogorov"],
            binary(5 if quick else 1000),
        ),
        "Command: `python benchmarks/overlap.py`.",
        write=not quick,
    )


if __name__ == "__main__":
    main()
