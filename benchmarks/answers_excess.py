"""Excess error of every default, relative to the same machine without a correction."""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np
from answers_problems import PROBLEMS, Sample, sample
from harness import table
from joblib import Parallel, delayed
from sklearn import ensemble
from sklearn.linear_model import LogisticRegression, Ridge

from covshift import VSVC, VSVR, Reweighted, VBoostClassifier, VBoostRegressor
from covshift.exceptions import NoOverlapError

SIZES = {  # (N, M): repetitions
    (50, 1000): 20,
    (150, 1000): 10,
    (1000, 1000): 3,
    (1000, 50): 2,
    (10_000, 1000): 2,
    (100_000, 1000): 1,
}
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


def measure(sizes: dict, problems: list[str], n_jobs: int = -1) -> dict:
    """Return errors as found[cell][contender], a list over repetitions.

    A cell is (problem, discrete, shifted, N, M). The largest samples go first, so that no core
    waits for another at the end.
    """
    jobs = [
        (problem, discrete, shifted, N, M, seed)
        for (N, M), repeats in sorted(sizes.items(), reverse=True)
        for seed in range(repeats)
        for problem in problems
        for discrete in (False, True)
        for shifted in (False, True)
    ]
    found = Parallel(n_jobs=n_jobs)(delayed(errors)(*job) for job in jobs)
    cells: dict = defaultdict(lambda: defaultdict(list))
    for job, values in zip(jobs, found, strict=True):
        for name, value in (values or {}).items():
            cells[job[:5]][name].append(value)
    return cells


def logs(cells: dict, cell: tuple, name: str) -> np.ndarray:
    """Return the logarithms of the ratios of a contender in a cell; those that refused left out."""
    against = cells[cell][AGAINST[name]]
    ratios = [np.log(e / b) for e, b in zip(cells[cell][name], against, strict=False)]
    return np.array([ratio for ratio in ratios if np.isfinite(ratio)])


def means(cells: dict, name: str) -> dict:
    """Return the geometric mean of the ratios of each cell that has any."""
    found = {cell: logs(cells, cell, name) for cell in cells if name in cells[cell]}
    return {cell: float(np.exp(values.mean())) for cell, values in found.items() if len(values)}


def sections(cells: dict) -> list[str]:
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


ALL = list(PROBLEMS)
