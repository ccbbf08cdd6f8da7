"""Coverage of every interval that the package prints, where the truth is known.

Four independent normal features, of which the target's first two have another mean and spread; in
the discrete version they are cut to four levels before the outcome is drawn. True weights are known
in closed form for both, true means from a million rows.
"""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np
from answers_problems import levels
from harness import table
from joblib import Parallel, delayed
from scipy import stats

from covshift import bootstrap_mean, diagnose, estimate_mean, estimate_risk, v_matrix
from covshift import bounds
from covshift.exceptions import NoOverlapError
from covshift.weights import CDFWeights

SIZES = [(200, 200), (2000, 200), (2000, 50), (200, 2000)]
RUNS = 500
NOMINAL, TOLERANCE = 0.95, 0.03
MOVE, SPREAD, THRESHOLDS = 0.6, 0.8, (-0.8, 0.0, 0.8)

OUTCOMES = {
    "linear": lambda X: X[:, 0] + X[:, 1] + 0.5 * X[:, 2],
    "curved": lambda X: X[:, 0] ** 2 + np.sin(2 * X[:, 1]) + 0.5 * X[:, 2],
    "interaction": lambda X: 2 * X[:, 0] * X[:, 1] + X[:, 2],
}
CLAIMS = {  # what is printed, and what it promises to count
    "mean": "`estimate_mean` with X and X_target",
    "risk": "`estimate_risk` with X and X_target",
    "mean, known": "`estimate_mean` with true weights alone (the target is known)",
    "risk, known": "`estimate_risk` with true weights alone",
}
CONTROL = "mean, target forgotten"


def rows_of(rng, size, target, discrete):
    X = rng.normal(size=(size, 4))
    if target:
        X[:, :2] = MOVE + SPREAD * X[:, :2]
    return levels(*THRESHOLDS)(X) if discrete else X


def true_weights(X, discrete):
    """Density of the target over that of the training rows, from the first two features."""
    before, after = stats.norm(), stats.norm(MOVE, SPREAD)
    if not discrete:
        return np.prod(after.pdf(X[:, :2]) / before.pdf(X[:, :2]), axis=1)
    edges = np.array([-np.inf, *THRESHOLDS, np.inf])
    ratio = np.diff(after.cdf(edges)) / np.diff(before.cdf(edges))
    codes = (X[:, :2] + len(THRESHOLDS) / 2).astype(int)
    return np.prod(ratio[codes], axis=1)


def model(X):
    """A fixed model, whose risk is estimated: right for neither outcome."""
    return 0.8 * X[:, 0] + 0.5 * X[:, 1]


@lru_cache
def truths(outcome, discrete):
    """Mean and risk of the model on the target; the noise has variance one."""
    X = rows_of(np.random.default_rng(0), 1_000_000, True, discrete)
    f = OUTCOMES[outcome](X)
    return float(f.mean()), float(np.mean((f - model(X)) ** 2)) + 1.0


def one_run(outcome, discrete, N, M, seed):
    """Return whether each interval covers, and its width; None where the weighter refuses."""
    rng = np.random.default_rng([seed, discrete, N, M])
    X, T = rows_of(rng, N, False, discrete), rows_of(rng, M, True, discrete)
    y = OUTCOMES[outcome](X) + rng.normal(size=N)
    loss = (y - model(X)) ** 2
    mean, risk = truths(outcome, discrete)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            w = CDFWeights(random_state=0).fit(X, X_target=T).weights_
        except NoOverlapError:
            return None
        known, both = true_weights(X, discrete), {"X": X, "X_target": T}
        found = {
            "mean": (estimate_mean(y, w, **both), mean),
            "risk": (estimate_risk(loss, w, **both), risk),
            "mean, known": (estimate_mean(y, known), mean),
            "risk, known": (estimate_risk(loss, known), risk),
            CONTROL: (estimate_mean(y, w), mean),
        }
    return {name: covers(estimate.interval, truth) for name, (estimate, truth) in found.items()}


def covers(interval, truth):
    return interval[0] <= truth <= interval[1]


def estimates(sizes, runs, n_jobs=-1):
    """Table of the coverage of means and risks, and a sentence."""
    settings = [
        (outcome, discrete, N, M)
        for outcome in ("linear", "curved")
        for discrete in (False, True)
        for N, M in sizes
    ]
    settings += [("interaction", False, *sizes[0])]
    names, rows, claimed = [*CLAIMS, CONTROL], [], {}
    with Parallel(n_jobs=n_jobs) as pool:
        for setting in settings:
            found = pool(delayed(one_run)(*setting, seed) for seed in range(runs))
            kept = [one for one in found if one is not None]
            shares = {name: float(np.mean([one[name] for one in kept])) for name in names}
            outcome, discrete, N, M = setting
            label = f"{outcome}, {'discrete' if discrete else 'continuous'}, N = {N}, M = {M}"
            if outcome != "interaction":
                claimed |= {(name, label): shares[name] for name in CLAIMS}
            cells = [f"{shares[name]:.3f}" for name in names]
            rows.append([label, len(kept), *cells])
    return table(["setting", "runs", *names], rows), within(claimed, runs)


def within(claimed, runs):
    """Say which of the promised coverages lie outside the nominal one plus and minus 3 points."""
    low, high = NOMINAL - TOLERANCE, NOMINAL + TOLERANCE
    under = {key: share for key, share in claimed.items() if share < low}
    over = sum(share > high for share in claimed.values())
    text = (
        f"Of {len(claimed)} promised coverages ({runs} runs each, standard error about "
        f"{100 * np.sqrt(NOMINAL * (1 - NOMINAL) / runs):.1f} points) "
        f"{len(claimed) - len(under) - over} lie within {low:.0%} and {high:.0%}, {over} above, "
        f"and {len(under)} below"
    )
    if under:
        named = sorted(under.items(), key=lambda item: item[1])
        text += ": " + "; ".join(f"{key[0]} in {key[1]} {share:.3f}" for key, share in named)
    return text + "."


BOOTSTRAPS = [  # weighter, discrete, outcome, N, M
    ("gaussian", False, "linear", 200, 200),
    ("gaussian", False, "curved", 200, 200),
    ("gaussian", False, "linear", 2000, 50),
    ("entropy", True, "linear", 200, 200),
]
DRAWS = 100


def one_bootstrap(weighter, discrete, outcome, N, M, seed):
    rng = np.random.default_rng([seed, discrete, N, M])
    X, T = rows_of(rng, N, False, discrete), rows_of(rng, M, True, discrete)
    y = OUTCOMES[outcome](X) + rng.normal(size=N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = bootstrap_mean(y, X, T, weighter, DRAWS, random_state=seed)
    return covers(found.interval, truths(outcome, discrete)[0])


def bootstraps(settings, runs, n_jobs=-1):
    """Table of the coverage of `bootstrap_mean`, and a sentence."""
    rows, claimed = [], {}
    with Parallel(n_jobs=n_jobs) as pool:
        for weighter, discrete, outcome, N, M in settings:
            found = pool(
                delayed(one_bootstrap)(weighter, discrete, outcome, N, M, seed)
                for seed in range(runs)
            )
            kind = "discrete" if discrete else "continuous"
            label = f"{outcome}, {kind}, N = {N}, M = {M}"
            claimed["bootstrap", label] = float(np.mean(found))
            rows.append([weighter, label, runs, f"{np.mean(found):.3f}"])
    return table(["weighter", "setting", "runs", "coverage"], rows), within(claimed, runs)


def one_area(discrete, N, M, seed):
    rng = np.random.default_rng([seed, discrete, N, M])
    X, T = (rows_of(rng, size, False, discrete) for size in (N, M))
    area = diagnose(X, T, methods=()).auc
    return covers(area.interval, 0.5), area.interval[0] > 0.5, area.value


def areas(settings, runs, n_jobs=-1):
    """Table of how often the interval of the two-sample AUC holds 0.5 without a shift."""
    rows, claimed = [], {}
    with Parallel(n_jobs=n_jobs) as pool:
        for discrete, N, M in settings:
            found = pool(delayed(one_area)(discrete, N, M, seed) for seed in range(runs))
            holds, above, values = (np.array(part) for part in zip(*found, strict=True))
            label = f"{'discrete' if discrete else 'continuous'}, N = {N}, M = {M}"
            claimed["AUC", label] = float(holds.mean())
            cells = [f"{part.mean():.3f}" for part in (holds, above, values)]
            rows.append([label, runs, *cells])
    return (
        table(["setting", "runs", "holds 0.5", "lies above it", "mean AUC"], rows),
        within(claimed, runs),
    )


def loss_bounds(sizes, runs):
    """Table of the bound on the loss's sampling error: it may hold more often than promised."""
    rng, rows = np.random.default_rng(0), []
    for discrete in (False, True):
        X = rows_of(rng, 200, False, discrete)
        y = OUTCOMES["curved"](X) + rng.normal(size=200)
        residuals = model(X) + (y - model(X)).mean() - y

        def loss(T, X=X, residuals=residuals):
            return residuals @ v_matrix(X, T, "additive") @ residuals / len(residuals) ** 2

        truth = loss(rows_of(rng, 100_000, True, discrete))
        for M in sizes:
            gaps = [abs(loss(rows_of(rng, M, True, discrete)) - truth) for _ in range(runs)]
            bound = bounds.loss_error_1d(X, residuals, M, NOMINAL)
            quantile = np.quantile(gaps, NOMINAL)
            kind = f"{'discrete' if discrete else 'continuous'}, N = 200, M = {M}"
            share = np.mean(np.array(gaps) <= bound)
            rows.append(
                [kind, runs, f"{truth:.4f}", f"{quantile:.5f}", f"{bound:.5f}", f"{share:.3f}"]
            )
    return table(["setting", "runs", "loss", "95 % of the errors", "bound", "holds"], rows)
