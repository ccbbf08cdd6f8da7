"""
Prediction intervals that keep their coverage
=============================================

An interval for 90% of the outcomes is for 90% where it was calibrated. On a target with more
noise it covers fewer. :class:`covshift.ConformalRegressor` calibrates for the target.
"""

# %%
# The largest radius of a tumour from its mean radius and its texture: 569 tumours from the tables
# of scikit-learn. Large ones vary more. The training rows are mostly small, the target is the rest.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LinearRegression

from covshift import ConformalRegressor
from covshift.plot import IntervalsDisplay

cancer = load_breast_cancer(as_frame=True).frame
features, outcome = (
    cancer[["mean radius", "mean texture"]].to_numpy(),
    cancer["worst radius"].to_numpy(),
)
chance = np.exp(-0.3 * features[:, 0])
rng = np.random.default_rng(0)
train = rng.choice(len(outcome), 300, replace=False, p=chance / chance.sum())
rest = np.setdiff1d(np.arange(len(outcome)), train)
X, y, T, y_target = features[train], outcome[train], features[rest], outcome[rest]

# %%
# Plain intervals, weighted ones, and weighted ones whose width follows the noise. All rows are
# counted, and eighty of them drawn.
asked = {
    "plain": {"weighter": None},
    "weighted": {},
    "weighted, normalized": {"conformity_score": "normalized"},
}
large = T[:, 0] > np.median(T[:, 0])
figure, axes = plt.subplots(1, 3, figsize=(6.85, 3.6), layout="constrained", sharey=True)
for ax, (name, options) in zip(axes, asked.items(), strict=True):
    model = ConformalRegressor(LinearRegression(), random_state=0, **options)
    answer = model.fit(X, y, X_target=T).predict_interval(T, coverage=0.9)
    ends = answer.prediction, answer.lower, answer.upper
    inside = answer.covers(y_target)
    ax.set_title(name, fontsize=9)
    IntervalsDisplay(*ends, x=T[:, 0], y=y_target, coverage=0.9, most=80).plot(ax)
    ax.label_outer()
    print(f"{name}: {inside.mean():.1%} inside, {inside[large].mean():.1%} of the large ones")

# %%
# The result says itself what coverage to expect on the target, without its labels.
answer
