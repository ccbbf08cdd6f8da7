"""Twenty surveys of one population: what the answers say, what `estimate` says, and the truth.

Draws the picture of the README. Run it with ``python examples/corrected_answers.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from covshift import estimate
from covshift.datasets import make_survey

N_SURVEYS = 20
COLOURS = {"answers as they are": "#D55E00", "corrected": "#009E73"}


def intervals(n_surveys):
    """Value and 95 % interval of each survey (seeds from 0), by method; and the truth."""
    found = {name: [] for name in COLOURS}
    for seed in range(n_surveys):
        survey = make_survey(500, 1000, random_state=seed)
        answer = estimate(survey.X, survey.y, survey.X_target, random_state=0)
        rows = {row.method: row for row in answer.table}
        for name, method in zip(COLOURS, ("none", "dr"), strict=True):
            found[name].append((rows[method].value, *rows[method].interval))
    truth = make_survey(1, 1_000_000, random_state=0).probability_target.mean()
    return {name: np.array(values) for name, values in found.items()}, truth


def draw(found, truth):
    """Draw the intervals, one line per survey, and the truth; return the figure."""
    figure, ax = plt.subplots(figsize=(8.0, 4.2), layout="constrained")
    ax.axvline(100 * truth, color="#333333", linewidth=1.2, linestyle="--")
    ax.annotate(
        f"the truth: {truth:.1%}",
        (100 * truth, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        fontsize=10,
    )
    for shift, (name, values) in zip((0.16, -0.16), found.items(), strict=True):
        value, low, high = 100 * values.T
        held = np.mean((low <= 100 * truth) & (100 * truth <= high))
        label = f"{name}: {held * len(values):.0f} of {len(values)} intervals hold the truth"
        y = -np.arange(len(values)) + shift
        ax.hlines(y, low, high, color=COLOURS[name], linewidth=2.0, alpha=0.75)
        ax.plot(value, y, "o", color=COLOURS[name], markersize=4, label=label)
    ax.set(yticks=[], ylabel="one survey per line", xlabel="share with a chronic condition, %")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False, fontsize=9)
    return figure


def main() -> None:
    found, truth = intervals(N_SURVEYS)
    for name, values in found.items():
        held = np.mean((values[:, 1] <= truth) & (truth <= values[:, 2]))
        print(f"{name}: mean {values[:, 0].mean():.1%}, {held:.0%} of the intervals hold the truth")
    path = Path("out") / "corrected_answers.png"
    path.parent.mkdir(exist_ok=True)
    draw(found, truth).savefig(path, dpi=110)
    plt.close("all")


if __name__ == "__main__":
    main()
