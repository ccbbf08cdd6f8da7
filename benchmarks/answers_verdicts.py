"""How often the verdict and the recommendation are right, through the public functions."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
from answers_problems import levels
from harness import table
from joblib import Parallel, delayed

from covshift import diagnose
from covshift.comparison import compare
from covshift.comparison.methods import methods_for

VERDICTS = ("no shift", "moderate", "strong", "no overlap")
LEVEL = 0.05


def rows_of(rng, size, n, discrete):
    X = rng.normal(size=(size, n))
    return levels(-0.8, 0.0, 0.8)(X) if discrete else X


def same(n, discrete):
    """Two samples of one distribution."""

    def draw(rng, N):
        return rows_of(rng, N, n, discrete), rows_of(rng, N, n, discrete)

    return draw


def moved(n, discrete):
    """The target's first feature is one standard deviation further on."""

    def draw(rng, N):
        T = rng.normal(size=(N, n))
        T[:, 0] += 1.0
        return rows_of(rng, N, n, discrete), levels(-0.8, 0.0, 0.8)(T) if discrete else T

    return draw


def beyond(n, share):
    """A share of the target lies above all training rows in the first feature."""

    def draw(rng, N):
        X, T = rows_of(rng, N, n, False), rows_of(rng, N, n, False)
        out = rng.random(N) < share
        T[out, 0] = X[:, 0].max() + rng.exponential(0.5, size=out.sum())
        return X, T

    return draw


def absent(n, share):
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
    "1 s.d. in one of 20 continuous": (moved(20, False), 500, 40, VERDICTS[1:3]),
    "1 s.d. in one of 20 discrete": (moved(20, True), 500, 40, VERDICTS[1:3]),
    "39 % beyond the range of one of 20": (beyond(20, 0.39), 500, 40, VERDICTS[3:]),
    "20 % in a category that training lacks, 20 columns": (absent(20, 0.2), 500, 40, VERDICTS[3:]),
}


def judge(draw, N, seed):
    """Return the verdict, and whether the interval of the AUC holds 0.5."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = diagnose(*draw(np.random.default_rng([seed, N]), N), methods=())
    low, high = found.auc.interval
    return found.verdict, low <= 0.5 <= high


def verdicts(pairs, most, n_jobs=-1):
    """Table of the verdicts, and sentences on false alarms, power and the interval of the AUC."""
    rows, alarms, misses, holds = [], [], [], []
    with Parallel(n_jobs=n_jobs) as pool:
        for name, (draw, N, runs, right) in pairs.items():
            runs = min(runs, most)
            found = pool(delayed(judge)(draw, N, seed) for seed in range(runs))
            counts = Counter(verdict for verdict, _ in found)
            share = sum(counts[word] for word in right) / runs
            row = [name.strip(), N, runs, *(counts[word] for word in VERDICTS), f"{share:.0%}"]
            label = f"{name.strip()}, N = M = {N}"
            if "none" in name:
                held = float(np.mean([inside for _, inside in found]))
                alarms.append((1 - share, label))
                holds.append((held, label, runs))
                row.append(f"{held:.3f}")
            else:
                misses.append((share, label))
                row.append("")
            rows.append(row)
    head = ["shift", "N = M", "runs", *VERDICTS, "right", "AUC's interval holds 0.5"]
    return table(head, rows), _say(alarms, misses, holds)


def _say(alarms, misses, holds):
    worst = max(alarms)
    text = (
        f"False alarms without a shift: at most {worst[0]:.1%} ({worst[1]}; {LEVEL:.0%} allowed)."
    )
    if misses:
        least = min(misses)
        text += f" With a shift the verdict is right in at least {least[0]:.0%} ({least[1]})."
    low, high = min(holds), max(holds)
    return text + (
        f" The AUC's 95 % interval holds 0.5 in {low[0]:.1%} ({low[1]}, {low[2]} runs) to "
        f"{high[0]:.1%} ({high[1]}, {high[2]} runs)."
    )


# The recommendation


def outcomes(discrete, shift, curve):
    """Three features; the target has more of one side, where a straight line misses a bend."""

    def draw(rng, N):
        X, T = rng.normal(size=(N, 3)), rng.normal(size=(N, 3))
        if shift:
            T[:, 0] = shift + 0.5 * T[:, 0]
        if discrete:
            X, T = (levels(-1.0, -0.35, 0.35, 1.0)(part) * 0.7 for part in (X, T))
        truth = [part.sum(axis=1) + curve * part[:, 0] ** 2 for part in (X, T)]
        y, y_T = (f + 0.7 * rng.normal(size=N) for f in truth)
        return X, y, T, y_T

    return draw


# name: (draw, rows of each sample, runs, whether a correction helps)
COMPARED = {
    "bent, shift, continuous": (outcomes(False, 0.7, 1.0), 300, 80, True),
    "bent, shift, discrete": (outcomes(True, 0.7, 1.0), 300, 80, True),
    "straight, shift, continuous": (outcomes(False, 0.7, 0.0), 300, 80, False),
    "straight, shift, discrete": (outcomes(True, 0.7, 0.0), 300, 80, False),
    "bent, no shift, discrete": (outcomes(True, 0.0, 1.0), 300, 40, False),
}


def recommend(draw, N, seed):
    """Return the recommended method's risk on the target's labels and the best, both relative."""
    X, y, T, y_T = draw(np.random.default_rng([seed, N]), N)
    weighters = [method for method in methods_for("linear", 3) if method.kind != "correction"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(
            X, y, T, learner="linear", task="regression", y_target=y_T, methods=weighters
        )
    risk = {row["method"]: row["true_risk"] for row in found.rows if row["true_risk"] is not None}
    plain = risk["none"]
    return found.recommended != "none", risk[found.recommended] / plain, min(risk.values()) / plain


def recommendations(problems, most, n_jobs=-1):
    """Table of the recommendations of a linear model under all weighters, and a sentence."""
    rows, power, wrong = [], [], []
    with Parallel(n_jobs=n_jobs) as pool:
        for name, (draw, N, runs, helps) in problems.items():
            runs = min(runs, most)
            found = pool(delayed(recommend)(draw, N, seed) for seed in range(runs))
            chosen, risk, best = (np.array(part, dtype=float) for part in zip(*found, strict=True))
            (power if helps else wrong).append((float(chosen.mean()), name))
            cells = [f"{chosen.mean():.0%}", f"{np.mean(risk > 1):.0%}"]
            cells += [f"{risk.mean():.2f}", f"{best.mean():.2f}"]
            rows.append([name, N, runs, "yes" if helps else "no", *cells])
    text = ""
    if power:
        text += f"Where a correction helps it is recommended in at least {min(power)[0]:.0%} of "
        text += f"the runs ({min(power)[1]}). "
    if wrong:
        text += f"Where none helps, in at most {max(wrong)[0]:.0%} ({max(wrong)[1]}; "
        text += f"{LEVEL:.0%} allowed)."
    head = ["problem", "N = M", "runs", "a correction helps", "recommended", "and is worse"]
    return table([*head, "risk of the choice", "of the best"], rows), text


def sections(pairs, problems, most, n_jobs=-1):
    """Return the tables and sentences of this part."""
    judged, judged_say = verdicts(pairs, most, n_jobs)
    compared, compared_say = recommendations(problems, most, n_jobs)
    return [
        "Verdicts of `diagnose(methods=())`, as many target rows as training rows. Pairs of equal "
        "samples are the control. Details: results/overlap.md.",
        judged,
        judged_say,
        "Recommendations of `compare` for a ridge regression under every weighter. "
        "“Recommended”: the chosen model is not the unweighted one; “and is worse”: it has a "
        "larger squared error on the target's labels; risks are relative to the unweighted model. "
        "The straight problems and those without a shift are the control. Details: "
        "results/recommendation.md.",
        compared,
        compared_say,
    ]
