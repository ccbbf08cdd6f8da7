"""Twenty surveys of one population: what the answers say, what `estimate` says, and the truth.

Draws the picture of the README, for light and dark. Run it with
``python examples/corrected_answers.py``.
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
LOOKS = {  # the file's name, ground and ink
    "light": ("corrected_answers.png", "#ffffff", "#333333"),
    "dark": ("corrected_answers_dark.png", "#0d1117", "#e6e6e6"),
}


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


def draw(found, truth, ground, ink):
    """Draw the intervals, one line per survey, and the truth; return the figure."""
    figure, ax = plt.subplots(figsize=(8.0, 4.2), layout="constrained", facecolor=ground)
    ax.set_facecolor(ground)
    ax.axvline(100 * truth, color=ink, linewidth=1.2, linestyle="--")
    ax.annotate(
        f"the true share: {truth:.1%}",
        (100 * truth, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        color=ink,
        fontsize=10,
    )
    for shift, (name, values) in zip((0.16, -0.16), found.items(), strict=True):
        value, low, high = 100 * values.T
        held = np.mean((low <= 100 * truth) & (100 * truth <= high))
        label = f"{name}: {held * len(values):.0f} of {len(values)} contain the true share"
        y = -np.arange(len(values)) + shift
        ax.hlines(y, low, high, color=COLOURS[name], linewidth=2.0, alpha=0.85)
        ax.plot(value, y, "o", color=COLOURS[name], markersize=4, label=label)
    ax.set(yticks=[])
    ax.set_ylabel("one survey per line", color=ink)
    ax.set_xlabel("share with a chronic condition, %", color=ink)
    ax.tick_params(colors=ink)
    ax.spines["bottom"].set_color(ink)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        ncols=2,
        frameon=False,
        fontsize=9,
        labelcolor=ink,
    )
    return figure


def main() -> None:
    found, truth = intervals(N_SURVEYS)
    for name, values in found.items():
        held = np.mean((values[:, 1] <= truth) & (truth <= values[:, 2]))
        mean = f"{name}: mean {values[:, 0].mean():.1%}"
        print(f"{mean}, {held:.0%} of the intervals contain the true share")
    folder = Path("out")
    folder.mkdir(exist_ok=True)
    for file, ground, ink in LOOKS.values():
        draw(found, truth, ground, ink).savefig(folder / file, dpi=110)
    plt.close("all")


if __name__ == "__main__":
    main()
