"""One picture of every kind, of numbers made by hand, the same on every machine."""

from __future__ import annotations

import numpy as np

from covshift.plot import (
    BatchesDisplay,
    ECDFDisplay,
    ForestPlotDisplay,
    IntervalsDisplay,
    LovePlotDisplay,
    MarginsDisplay,
    OverlapDisplay,
    ReliabilityDisplay,
    ROCDisplay,
    SensitivityDisplay,
    WaterfallDisplay,
    WeightsDisplay,
)

COLUMN, PAGE = 84 / 25.4, 174 / 25.4  # inches

GROUPS = ("all", "18 to 40 years", "41 to 60 years", "61 and over", "not known to the register")
FEATURES = ("age", "income_after_tax", "household_size", "region_of_the_first_job", "sex", "x_1")


def whole(count, largest, seed):
    """Whole numbers from 0 to ``largest``, of integer arithmetic alone."""
    state, out = seed, []
    for _ in range(count):
        state = (1103515245 * state + 12345) % 2**31
        out.append((state >> 8) % (largest + 1))
    return np.array(out, dtype=float)


def forest():
    plain = [[0.40, 0.36, 0.44], [0.12, 0.07, 0.17], [0.33, 0.27, 0.39], [0.61, 0.55, 0.67]]
    after = [[0.32, 0.28, 0.36], [0.11, 0.05, 0.18], [0.32, 0.25, 0.39], [0.61, 0.53, 0.69]]
    plain, after = [*plain, [0.45, 0.3, 0.6]], [*after, [0.40, 0.2, np.inf]]
    name = "share with a chronic condition"
    return ForestPlotDisplay(GROUPS, plain, after, xlabel=name, percent=True)


def waterfall():
    steps = [[-0.08, -0.10, -0.06], [0.03, 0.01, 0.05], [-0.05, -0.08, -0.02], [0.01, -0.01, 0.03]]
    labels, name = [*FEATURES[:3], "2 others"], "share with a chronic condition"
    return WaterfallDisplay(labels, steps, 0.40, 0.31, xlabel=name, percent=True)


def intervals(count=60, infinite=3, seed=1):
    x = np.sort(whole(count, 400, seed)) / 100
    middle = x + whole(count, 100, seed + 1) / 100
    half = 0.5 + 0.4 * x
    lower, upper = middle - half, middle + half
    upper[:infinite] = np.inf
    y = middle + (whole(count, 200, seed + 2) - 100) / 80 * half
    xlabel = "months since the last visit"
    return IntervalsDisplay(middle, lower, upper, x=x, y=y, coverage=0.9, xlabel=xlabel)


def batches(count=12):
    values = 0.8 - 0.01 * np.arange(count) + whole(count, 4, 4) / 100
    ends = np.column_stack([values, values - 0.04, values + 0.04])
    labels = [f"2025-{k + 1:02d}" for k in range(count)]
    observed = {labels[k]: values[k] + 0.02 for k in range(0, count, 3)}
    given = {"reference": 0.81, "observed": observed, "ylabel": "balanced accuracy"}
    return BatchesDisplay(labels, ends, **given)


def reliability():
    p = np.arange(0.05, 1.0, 0.1)
    curves = {
        "labelled rows": (p, p**1.2, np.full(10, 0.03)),
        "target": (p, 0.8 * p + 0.02, np.full(10, 0.05)),
    }
    return ReliabilityDisplay(curves)


def roc(models=2):
    x = np.arange(0, 101) / 100
    names = ("labelled rows", "target", "forest, target", "boosting, target", "survey, target")
    return ROCDisplay(
        {
            f"{names[k]}: AUC {0.9 - 0.05 * k:.3f} (0.780 to 0.840)": (x, x ** (0.2 + 0.12 * k))
            for k in range(models)
        }
    )


def sensitivity():
    odds = np.linspace(1, 5, 17)
    far = (odds - 1) / 40
    bounds = np.column_stack([0.32 - far, 0.32 + 1.2 * far])
    lines, name = {"uncorrected": 0.40, "null": 0.25}, "share with a chronic condition"
    wide = bounds + np.array([-0.03, 0.03])
    return SensitivityDisplay(odds, bounds, wide, lines=lines, ylabel=name, percent=True)


def ecdf():
    values = np.arange(20, 81, dtype=float)
    rise = (values - 20) / 60
    curves = {"training": (values, rise**0.6), "target": (values, rise**1.5)}
    curves["corrected"] = (values, rise**1.4)
    return ECDFDisplay(curves, "age at the first interview (years)")


def levels():
    names = ("Bern", "Basel", "Chur", "Neuchâtel", "St. Gallen", "missing", "La Chaux-de-Fonds")
    places = np.arange(7.0)
    parts = {"training": [9, 6, 5, 4, 3, 2, 1], "target": [4, 6, 7, 5, 3, 3, 2]}
    parts["corrected"] = [5, 6, 6, 5, 3, 3, 2]
    return ECDFDisplay({k: (places, np.array(v) / 30) for k, v in parts.items()}, "region", names)


def love():
    before = [0.9, -0.45, 0.3, -0.22, 0.12, 0.05]
    return LovePlotDisplay(FEATURES, before, [0.08, -0.05, 0.1, -0.02, 0.15, 0.04])


def overlap():
    train = np.column_stack([whole(150, 100, 5) + whole(150, 100, 6), whole(150, 120, 7)])
    target = np.column_stack([whole(120, 80, 8) + 90, whole(120, 60, 9) + 50])
    return OverlapDisplay(train, target, ("income after tax (thousands)", "age (years)"))


def weights(seed=10):
    return WeightsDisplay(1 + whole(300, 30, seed) * whole(300, 30, seed + 1) / 100)


def margins():
    names = [f"'age' in {part}" for part in ("18 to 40", "41 to 60", "61 and over")]
    names += ["'sex' in female", "'sex' in male", "'region of residence' in the north-east"]
    target = [0.35, 0.33, 0.32, 0.51, 0.49, 0.12]
    sample = [0.22, 0.33, 0.45, 0.60, 0.40, 0.2]
    return MarginsDisplay(names, target, sample, [0.34, 0.33, 0.33, 0.52, 0.48, 0.14])


HEIGHTS = {  # inches, at both widths
    forest: 3.2,
    waterfall: 3.0,
    intervals: 3.0,
    batches: 2.8,
    reliability: 3.4,
    roc: 3.4,
    sensitivity: 3.0,
    ecdf: 2.8,
    levels: 3.0,
    love: 2.9,
    overlap: 3.2,
    weights: 2.6,
    margins: 3.3,
}
