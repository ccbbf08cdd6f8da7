"""Where plain prediction intervals fail: noise that grows, and a target on the noisy side.

Draws the picture of docs/predict.md. Run it with ``python examples/intervals_demo.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from covshift import ConformalRegressor

COVERAGE = 0.9
METHODS = {
    "plain": {"weighter": None},
    "weighted, normalized": {"conformity_score": "normalized"},
}
COLOURS = {"plain": "#D55E00", "weighted, normalized": "#009E73"}
EDGES = np.linspace(-0.75, 2.75, 8)


def samples(n=2000, seed=3):
    """Return rows and outcomes of the sample and of the target."""
    rng = np.random.default_rng(seed)

    def outcome(x):
        return x + np.sin(x) + 0.5 * np.exp(0.6 * x) * rng.normal(size=len(x))

    x, t = rng.normal(0, 1, n), rng.normal(1, 0.8, n)
    return x[:, None], outcome(x), t[:, None], outcome(t)


def coverage_by_x(inside, x):
    """Share inside for the rows between neighbouring edges."""
    part = np.digitize(x, EDGES) - 1
    return np.array([inside[part == k].mean() for k in range(len(EDGES) - 1)])


def draw(X, y, T, y_T):
    """Draw points and bands, and coverage by x; return the figure and the coverage of each."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(6.85, 3.2), layout="constrained", width_ratios=(3, 2)
    )
    t, order, shares = T[:, 0], np.argsort(T[:, 0]), {}
    left.plot(t, y_T, ".", color="#595959", markersize=2, alpha=0.4, label="outcomes of the target")
    right.axhline(COVERAGE, color="#595959", linestyle="--", linewidth=0.8)
    for name, options in METHODS.items():
        model = ConformalRegressor(LinearRegression(), random_state=0, **options)
        found = model.fit(X, y, X_target=T).predict_interval(T, coverage=COVERAGE)
        inside = found.covers(y_T)
        shares[name] = inside.mean()
        look = {"color": COLOURS[name], "linewidth": 1.4}
        label = f"{name}: {shares[name]:.0%} inside"
        left.plot(t[order], found.lower[order], **look, label=label)
        left.plot(t[order], found.upper[order], **look)
        middle = (EDGES[1:] + EDGES[:-1]) / 2
        right.plot(middle, coverage_by_x(inside, t), "o-", markersize=4, **look)
    left.set(xlabel="x", ylabel="outcome", xlim=(-1.5, 3.5), ylim=(-6, 12))
    right.set(xlabel="x", ylabel="share inside", ylim=(0, 1.03))
    left.legend(frameon=False, fontsize=8, loc="upper left")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure, shares


def main() -> None:
    figure, shares = draw(*samples())
    for name, share in shares.items():
        print(f"{name}: {share:.1%} of the target inside, {COVERAGE:.0%} asked for")
    path = Path("out") / "intervals.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=132)
    plt.close(figure)


if __name__ == "__main__":
    main()
