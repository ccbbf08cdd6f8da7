"""
Prediction intervals that keep their coverage
=============================================

An interval for 90 % of the outcomes is for 90 % where it was calibrated. On a target with more
noise it holds fewer. :class:`covshift.ConformalRegressor` calibrates for the target.
"""

# %%
# The noise grows with x, and the target lies on the noisy side.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from covshift import ConformalRegressor
from covshift.plot import IntervalsDisplay

rng = np.random.default_rng(3)


def outcome(x):
    return x + np.sin(x) + 0.5 * np.exp(0.6 * x) * rng.normal(size=len(x))


x, t = rng.normal(0, 1, 1000), rng.normal(1, 0.8, 600)
X, y, T, y_target = x[:, None], outcome(x), t[:, None], outcome(t)

# %%
# Plain intervals, weighted ones, and weighted ones whose width follows the noise. The last two
# both hold more than 90 % of the target; only the last do so where the noise is large. All rows
# are counted, and eighty of them drawn.
asked = {
    "plain": {"weighter": None},
    "weighted": {},
    "weighted, normalized": {"conformity_score": "normalized"},
}
figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained", sharey=True)
for ax, (name, options) in zip(axes, asked.items(), strict=True):
    model = ConformalRegressor(LinearRegression(), random_state=0, **options)
    found = model.fit(X, y, X_target=T).predict_interval(T, coverage=0.9)
    ends = found.prediction, found.lower, found.upper
    display = IntervalsDisplay(*ends, x=t, y=y_target, coverage=0.9, most=80).plot(ax)
    ax.set_title(f"{name}: {display.share_covered:.0%} inside\n\n\n", fontsize=10)

# %%
# The result says itself what coverage to expect on the target, without its labels.
found
