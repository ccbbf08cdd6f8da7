"""
A model that can follow the truth: where correction does not pay
================================================================

With a flexible model and enough rows the truth is found everywhere, and weighting rows only
throws some of them away. This is the usual case; the default of :class:`covshift.VSVR` without a
target is no correction.
"""

# %%
# The curve of the example before, and a kernel that can follow it.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.kernel_ridge import KernelRidge

from covshift import Reweighted, compare

cancer = load_breast_cancer(as_frame=True).frame
radius, area = cancer["mean radius"].to_numpy(), cancer["worst area"].to_numpy() / 100
chance = np.exp(0.2 * radius)
units = (radius - radius.mean()) / radius.std()


def draw(seed):
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(radius), 200, replace=False, p=chance / chance.sum())
    rest = np.setdiff1d(np.arange(len(radius)), drawn)
    return units[drawn, None], area[drawn], units[rest, None], area[rest]


def learner():
    return KernelRidge(kernel="rbf", alpha=0.1, gamma=0.5)


# %%
# Over twenty samples, the error on the target without weights and with those of three weighters.
weighters = ["cdf", "entropy", "energy"]
errors = {name: [] for name in ["none", *weighters]}
for seed in range(20):
    X, y, T, y_target = draw(seed)
    models = {"none": learner().fit(X, y)}
    models |= {w: Reweighted(learner(), weighter=w).fit(X, y, X_target=T) for w in weighters}
    for name, model in models.items():
        errors[name].append(np.mean((model.predict(T) - y_target) ** 2))

figure, ax = plt.subplots(figsize=(6.85, 3.6), layout="constrained")
for place, (name, values) in enumerate(errors.items()):
    scatter = place + np.linspace(-0.15, 0.15, len(values))
    colour = "#0072B2" if name == "none" else "#009E73"
    ax.plot(scatter, values, "o", color=colour, markersize=3, alpha=0.5)
    mean = np.mean(values)
    ax.hlines(mean, place - 0.3, place + 0.3, color=colour, linewidth=2)
    ax.text(place + 0.32, mean, f"{mean:.2f}", va="center", fontsize=9)
ax.set_xticks(range(len(errors)), ["unweighted", *weighters])
ax.set_xlim(-0.5, len(errors) - 0.2)
ax.set_ylabel("mean squared error on the target")
ax.spines[["top", "right"]].set_visible(False)

# %%
# :func:`covshift.compare` asks the same of one sample, without the labels of the target,
# and says what to do.
X, y, T, _ = draw(0)
asked = {"plain": learner(), "cdf": Reweighted(learner(), weighter="cdf")}
compare(X, y, T, estimators=asked)
