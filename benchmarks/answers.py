"""Are the answers right on everyday data? Errors of the defaults, and intervals with known weights.

Continuous and discrete versions of six problems with known truth (`populations.PROBLEMS`), from 50
to 100,000 rows, with a shift and without. Every sentence about the numbers is made from them. The
intervals are those that take weights as known, on `populations.OUTCOMES`; `answers_intervals.py`
has those of `estimate` and `evaluate`.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from functools import lru_cache

import numpy as np
from harness import Work, main, runs, table
from populations import OUTCOMES, PROBLEMS, Sample, rows_of, sample, true_weights
from sklearn import ensemble
from sklearn.linear_model import LogisticRegression, Ridge

from covshift import VSVC, VSVR, Reweighted, VBoostClassifier, VBoostRegressor, bounds, v_matrix
from covshift.exceptions import NoOverlapError
from covshift.numerics.statistics import weighted_mean, weighted_risk
from covshift.weights import CDFWeights

SIZES = {  # (N, M): repetitions
    (50, 1000): 20,
    (150, 1000): 10,
    (1000, 1000): 3,
    (1000, 50): 2,
    (10_000, 1000): 2,
    (100_000, 1000): 1,
}

TITLE = "Right answers on everyday data"
FEWER = {  # slow contenders take part in the first repetitions only
    "V-SVM auto": {(1000, 1000): 1, (1000, 50): 1, (10_000, 1000): 1},
    "random forest": {
        (50, 1000): 5,
        (150, 1000): 3,
        (1000, 50): 0,
        (10_000, 1000): 1,
        (100_000, 1000): 0,
    },
    "V-boosting": {
        (50, 1000): 3,
        (150, 1000): 1,
        (1000, 1000): 1,
        (1000, 50): 0,
        (10_000, 1000): 0,
        (100_000, 1000): 0,
    },
}

WORSE = 1.02

WIDE = "one of 20"

NONE = "V-SVM none"

AGAINST = {  # contender: what its error is relative to
    "V-SVM blended": NONE,
    "V-SVM auto": NONE,
    "V-boosting blended": "V-boosting none",
    "linear, reweighted": "linear",
    "linear": NONE,
    "random forest": NONE,
    "boosted trees": NONE,
}

DEFAULTS = list(AGAINST)[:4]


def contenders(classify: bool) -> dict:
    """Return the machines by name, as a user would make them."""
    kind = "Classifier" if classify else "Regressor"
    svm = VSVC if classify else VSVR
    boost = VBoostClassifier if classify else VBoostRegressor
    linear = LogisticRegression(max_iter=1000) if classify else Ridge()
    return {
        NONE: svm("none", random_state=0),
        "V-SVM blended": svm("blended", random_state=0),
        "V-SVM auto": svm("auto", random_state=0),
        "V-boosting none": boost("none", random_state=0),
        "V-boosting blended": boost(random_state=0),
        "linear": linear,
        "linear, reweighted": Reweighted(linear),
        "random forest": getattr(ensemble, f"RandomForest{kind}")(random_state=0),
        "boosted trees": getattr(ensemble, f"HistGradientBoosting{kind}")(random_state=0),
    }


def takes_part(name: str, problem: str, shifted: bool, size: tuple[int, int], seed: int) -> bool:
    """Tell whether a contender runs; boosting of 1000 rows is the slowest and has fewer cells."""
    if name.startswith("V-boosting") and size[0] == 1000 and (problem == WIDE or not shifted):
        return False
    slow = next((key for key in FEWER if name.startswith(key)), None)
    return slow is None or seed < FEWER[slow].get(size, seed + 1)


def errors(problem: str, discrete: bool, shifted: bool, N: int, M: int, seed: int):
    """Return each contender's mean squared error against the truth, on fresh target rows."""
    drawn = sample(problem, discrete, shifted, N, M, seed)
    if drawn.classify and len(np.unique(drawn.y)) < 2:
        return None
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows under strong weights, constant columns
        for name, model in contenders(drawn.classify).items():
            if takes_part(name, problem, shifted, (N, M), seed):
                found[name] = error(model, name, drawn)
    return found


def error(model, name: str, drawn: Sample) -> float:
    corrects = name.startswith("V-") or name.endswith("reweighted")
    given = {"X_target": (drawn.T,)} if corrects else {}
    try:
        model.fit(drawn.X, drawn.y, **given)
    except NoOverlapError:
        return np.nan  # the weighter refused, and said so
    fresh = drawn.fresh
    f = model.predict_proba(fresh)[:, 1] if drawn.classify else model.predict(fresh)
    return float(np.mean((f - drawn.truth) ** 2))


def logs(cells: dict, cell: tuple, name: str) -> np.ndarray:
    """Return the logarithms of the ratios of a contender in a cell; those that refused left out."""
    against = cells[cell][AGAINST[name]]
    ratios = [np.log(e / b) for e, b in zip(cells[cell][name], against, strict=False)]
    return np.array([ratio for ratio in ratios if np.isfinite(ratio)])


def means(cells: dict, name: str) -> dict:
    """Return the geometric mean of the ratios of each cell that has any."""
    found = {cell: logs(cells, cell, name) for cell in cells if name in cells[cell]}
    return {cell: float(np.exp(values.mean())) for cell, values in found.items() if len(values)}


def excess_sections(cells: dict) -> list[str]:
    """Return the tables and sentences of this part."""
    return [
        "Geometric mean over the six problems of the error relative to the same machine without "
        "correction, and in brackets the smallest and largest mean of a problem:",
        by_size(cells, DEFAULTS),
        verdict(cells),
        "Worst cells of the defaults (geometric mean over repetitions; standard deviation of the "
        "logarithm of the ratio; root mean squared error without and with the correction):",
        worst(cells, 12),
        "What a user would do otherwise, relative to the V-SVM without correction, so that above "
        "one the V-SVM is better:",
        by_size(cells, list(AGAINST)[4:]),
        'V-SVM "blended" / "auto" relative to "none", by problem:',
        by_problem(cells),
    ]


def by_size(cells: dict, names: list[str]) -> str:
    sizes = sorted({cell[3:] for cell in cells})
    rows = []
    for name in names:
        found = means(cells, name)
        for shifted in (True, False):
            for discrete in (False, True):
                row = [name, "shift" if shifted else "none", kind(discrete)]
                for size in sizes:
                    some = [
                        value
                        for cell, value in found.items()
                        if cell[1:] == (discrete, shifted, *size)
                    ]
                    row.append(spread(some))
                rows.append(row)
    return table(["contender", "shift", "features", *map(size_name, sizes)], rows)


def spread(values: list[float]) -> str:
    if not values:
        return ""
    mean = np.exp(np.mean(np.log(values)))
    return f"{mean:.2f} ({min(values):.2f} to {max(values):.2f})"


def verdict(cells: dict) -> str:
    """Say where a default is worse than none, by the numbers."""
    sentences = []
    for name in DEFAULTS:
        found = means(cells, name)
        if not found:
            continue
        every = np.concatenate([np.exp(logs(cells, cell, name)) for cell in found])
        over = [cell for cell, value in found.items() if value > WORSE]
        shifted = sum(cell[2] for cell in over)
        moved, same = (
            np.exp(np.mean([np.log(value) for cell, value in found.items() if cell[2] == shift]))
            for shift in (True, False)
        )
        text = (
            f"**{name}**: mean {moved:.3f} with a shift, {same:.3f} without one (a gain that is "
            f"there as well is none of the correction's); {100 * np.mean(every > WORSE):.0f} % of "
            f"{len(every)} fits are more than 2 % worse than with none, and in the mean of a cell "
            f"{len(over)} of {len(found)}"
        )
        if over:
            largest = max(over, key=found.get)
            text += (
                f" ({shifted} with a shift, {len(over) - shifted} without one; "
                f"{count_by_size(over)}), the worst {found[largest]:.2f}: {cell_name(largest)}"
            )
        refused = sum(np.isnan(cells[cell][name]).sum() for cell in cells if name in cells[cell])
        if refused:
            text += f"; {refused} fits were refused for want of overlap and are left out"
        sentences.append(text + ".")
    return "\n".join(f"- {sentence}" for sentence in sentences)


def count_by_size(over: list[tuple]) -> str:
    sizes = sorted({cell[3:] for cell in over})
    counts = [(size, sum(cell[3:] == size for cell in over)) for size in sizes]
    return ", ".join(f"{count} at {size_name(size)}" for size, count in counts)


def worst(cells: dict, most: int) -> str:
    ranked = [
        (value, name, cell) for name in DEFAULTS for cell, value in means(cells, name).items()
    ]
    rows = []
    for value, name, cell in sorted(ranked, reverse=True)[:most]:
        values = logs(cells, cell, name)
        std = f"{values.std(ddof=1):.2f}" if len(values) > 1 else ""
        roots = [np.sqrt(np.nanmean(cells[cell][key])) for key in (AGAINST[name], name)]
        rows.append(
            [name, cell_name(cell), len(values), f"{value:.2f}", std, *(f"{r:.3g}" for r in roots)]
        )
    return table(["contender", "cell", "repetitions", "mean", "std", "without", "with"], rows)


def by_problem(cells: dict) -> str:
    sizes = sorted({cell[3:] for cell in cells})
    found = [means(cells, name) for name in ("V-SVM blended", "V-SVM auto")]
    rows = []
    for key in sorted({cell[:3] for cell in cells}, key=lambda key: (-key[2], key)):
        problem, discrete, shifted = key
        parts = [
            " / ".join(f"{part[*key, *size]:.2f}" for part in found if (*key, *size) in part)
            for size in sizes
        ]
        rows.append([problem, kind(discrete), "shift" if shifted else "none", *parts])
    return table(["problem", "features", "shift", *map(size_name, sizes)], rows)


def kind(discrete: bool) -> str:
    return "discrete" if discrete else "continuous"


def size_name(size: tuple[int, int]) -> str:
    N, M = size
    return f"N = {N:,}" + (f", M = {M}" if M != 1000 else "")


def cell_name(cell: tuple) -> str:
    problem, discrete, shifted, *size = cell
    return f"{problem}, {kind(discrete)}, {'shift' if shifted else 'no shift'}, {size_name(size)}"


COVERED = [(200, 200), (2000, 200), (2000, 50), (200, 2000)]

COVERAGE_RUNS = 500

NOMINAL, TOLERANCE = 0.95, 0.03

CLAIMS = {  # what is printed, and what it promises to count
    "mean, known": "`weighted_mean` with true weights alone (the target is known)",
    "risk, known": "`weighted_risk` with true weights alone",
}

CONTROL = "mean, target forgotten"


def model_of(X):
    """A fixed model_of, whose risk is estimated: right for neither outcome."""
    return 0.8 * X[:, 0] + 0.5 * X[:, 1]


@lru_cache
def truths(outcome, discrete):
    """Mean and risk of the model_of on the target; the noise has variance one."""
    X = rows_of(np.random.default_rng(0), 1_000_000, True, discrete)
    f = OUTCOMES[outcome](X)
    return float(f.mean()), float(np.mean((f - model_of(X)) ** 2)) + 1.0


def one_run(discrete, N, M, seed):
    """Return whether each interval holds, for every outcome; None where the weighter refuses."""
    rng = np.random.default_rng([seed, discrete, N, M])
    X, T = rows_of(rng, N, False, discrete), rows_of(rng, M, True, discrete)
    noise = rng.normal(size=N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            w = CDFWeights(random_state=0).fit(X, X_target=T).weights_
        except NoOverlapError:
            return None
        known = true_weights(X, discrete)
        found = {}
        for outcome, f in OUTCOMES.items():
            y = f(X) + noise
            loss = (y - model_of(X)) ** 2
            mean, risk = truths(outcome, discrete)
            found[outcome] = {
                "mean, known": holds(weighted_mean(y, known), mean),
                "risk, known": holds(weighted_risk(loss, known), risk),
                CONTROL: holds(weighted_mean(y, w), mean),
            }
    return found


def holds(estimate, truth):
    low, high = estimate.interval
    return low <= truth <= high


def means_table(found):
    """Table of the coverage of means and risks, and a sentence."""
    settings = list(dict.fromkeys(job[:3] for job, _ in found))
    names, rows, claimed = [*CLAIMS, CONTROL], [], {}
    for outcome in OUTCOMES:
        for setting in settings:
            inside = [one[outcome] for job, one in found if job[:3] == setting and one is not None]
            shares = {name: float(np.mean([one[name] for one in inside])) for name in names}
            label = f"{outcome}, {setting_name(*setting)}"
            claimed |= {(name, label): shares[name] for name in CLAIMS}
            rows.append([label, len(inside), *(f"{shares[name]:.3f}" for name in names)])
    count = len(found) // len(settings)
    return table(["setting", "runs", *names], rows), within(claimed, count)


def setting_name(discrete, N, M):
    return f"{'discrete' if discrete else 'continuous'}, N = {N}, M = {M}"


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


def loss_bound(discrete, M, count):
    """Return the loss, the quantile of its errors, the bound and how often it holds."""
    rng = np.random.default_rng(0)
    X = rows_of(rng, 200, False, discrete)
    y = OUTCOMES["curved"](X) + rng.normal(size=200)
    residuals = model_of(X) + (y - model_of(X)).mean() - y

    def loss(T):
        return residuals @ v_matrix(X, T, "additive") @ residuals / len(residuals) ** 2

    truth = loss(rows_of(rng, 100_000, True, discrete))
    gaps = np.array([abs(loss(rows_of(rng, M, True, discrete)) - truth) for _ in range(count)])
    bound = bounds.loss_error_1d(X, residuals, M, NOMINAL)
    return [truth, np.quantile(gaps, NOMINAL), bound, np.mean(gaps <= bound)]


def coverage_sections(found, of_bounds):
    """Return the tables and sentences of this part."""
    means, means_say = means_table(found)
    promised = "; ".join(f'"{name}": {what}' for name, what in CLAIMS.items())
    rows = [
        [setting_name(discrete, 200, M), count, *(f"{value:.5f}" for value in line)]
        for (discrete, M, count), line in of_bounds
    ]
    return [
        f"Intervals of {NOMINAL:.0%}; `CDFWeights`, except "
        f'where they are known. {promised}. Beside them the control "{CONTROL}": `weighted_mean` '
        "with fitted weights, which says that it takes weights and target as known, and here they "
        "are not: `covshift.estimate` is for that, and its coverage in results/estimates.md.",
        means,
        means_say,
        "`bounds.loss_error_1d`, a bound and not an interval, so that it holds more often than "
        "promised; beside it the error that 95 % of the target samples do not exceed:",
        table(["setting", "runs", "loss", "95 % of the errors", "bound", "holds"], rows),
    ]


def works(share, quick):
    """Errors of the defaults by size, and intervals."""
    sizes = {(30, 40): 1} if quick else SIZES
    problems = list(PROBLEMS)[1:4:2] if quick else list(PROBLEMS)
    many = 2 if quick else runs(COVERAGE_RUNS, share)
    covered = [(60, 50)] if quick else COVERED
    both = (False, True)
    seconds = {50: 0.8, 150: 1.2, 1000: 8.0, 10_000: 40.0, 100_000: 120.0}
    works = [
        Work(
            f"excess {N} {M}",
            errors,
            [
                (problem, discrete, shifted, N, M, seed)
                for seed in range(runs(repeats, share, least=1))
                for problem in problems
                for discrete in both
                for shifted in both
            ],
            seconds.get(N, 1.0),
        )
        for (N, M), repeats in sizes.items()
    ]
    jobs = [(discrete, *size, k) for discrete in both for size in covered for k in range(many)]
    targets = sorted({M for _, M in covered})
    of_bounds = [(discrete, M, many) for discrete in both for M in targets]
    return [
        *works,
        Work("coverage", one_run, jobs, 0.5),
        Work("bounds", loss_bound, of_bounds, 1.5),
    ]


def report(found):
    """Return both parts."""
    cells = defaultdict(lambda: defaultdict(list))
    repeats = defaultdict(set)
    for name, part in found.items():
        for job, values in part if name.startswith("excess") else ():
            repeats[job[3:5]].add(job[5])
            for contender, value in (values or {}).items():
                cells[job[:5]][contender].append(value)
    counts = ", ".join(f"{len(seeds)} at {size_name(size)}" for size, seeds in repeats.items())
    fewer = "; ".join(
        f"{name} {', '.join(f'{count} at {size_name(size)}' for size, count in few.items())}"
        for name, few in FEWER.items()
    )
    return [
        "## Excess error of every default",
        "Mean squared error against the true function on 5000 fresh target rows; M = 1000 target "
        "rows unless said otherwise, features scaled by the training rows, every setting the "
        f"default. Repetitions, seeds from 0: {counts}; fewer of the slow contenders: {fewer} (at "
        f'N = 1000 with a shift only, and without "{WIDE}"). Without a shift is the '
        "control: there is nothing to gain.",
        *excess_sections(cells),
        "## Coverage of intervals",
        *coverage_sections(found["coverage"], found["bounds"]),
    ]


if __name__ == "__main__":
    main(__file__)
