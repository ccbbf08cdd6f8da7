"""
Five ways to weigh a sample
===========================

All weighters of :mod:`covshift.weights` make a sample look like a target. They differ in what
they match and in how uneven the weights become.
"""

# %%
# Two features. The target is narrower, shifted, and correlated; the true weights are known.
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import multivariate_normal

from covshift.weights import KMM, ULSIF, CDFWeights, Discriminative, EntropyBalancing

rng = np.random.default_rng(0)
sample = multivariate_normal([0, 0], [[1, 0], [0, 1]])
target = multivariate_normal([0.7, 0.4], [[0.5, 0.25], [0.25, 0.6]])
X = sample.rvs(600, random_state=rng)
T = target.rvs(500, random_state=rng)
ratio = target.pdf(X) / sample.pdf(X)

# %%
# Each dot is a training row, its area the weight. In the title, the effective sample size and the
# correlation with the true weights.
# KMM gets a bound on its weights: with the default, B=1000, 13 of the 600 rows were left in effect.
weighters = {
    "CDFWeights": CDFWeights(),
    "KMM": KMM(B=10),
    "ULSIF": ULSIF(),
    "EntropyBalancing": EntropyBalancing(),
    "Discriminative (logistic)": Discriminative(random_state=0),
}
found = {name: weighter.fit(X, X_target=T).weights_ for name, weighter in weighters.items()}
figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained", sharex=True, sharey=True)
for ax, (name, w) in zip(axes.flat, {"the truth": ratio, **found}.items(), strict=True):
    w = w / w.mean()
    ax.plot(*T.T, ".", color="#D55E00", markersize=2, alpha=0.35, label="target")
    ax.scatter(
        *X.T, s=12 * w, color="#0072B2", alpha=0.6, linewidths=0, label="training, by weight"
    )
    size = w.sum() ** 2 / (w @ w)
    ax.set_title(
        f"{name}\n{size:.0f} effective rows, r = {np.corrcoef(w, ratio)[0, 1]:.2f}", fontsize=10
    )
axes.flat[0].legend(frameon=False, fontsize=8, loc="lower left")

# %%
# What counts is rarely the weights themselves but what is averaged with them, and no weighter is
# best for every function. Entropy balancing meets the means, logistic weights overshoot that of
# x0, and both make the mean of \|x1\| worse than it was; CDF weights see one feature at a time,
# and miss most of the product x0 x1.
functions = {
    "x0": lambda Z: Z[:, 0],
    "x0 x1": lambda Z: Z[:, 0] * Z[:, 1],
    "x0 > 1": lambda Z: (Z[:, 0] > 1).astype(float),
    "|x1|": lambda Z: np.abs(Z[:, 1]),
}
print(f"{'mean of':26s}" + "".join(f"{name:>9s}" for name in functions))
print(f"{'target':26s}" + "".join(f"{f(T).mean():9.3f}" for f in functions.values()))
print(f"{'sample':26s}" + "".join(f"{f(X).mean():9.3f}" for f in functions.values()))
for name, w in found.items():
    print(
        f"{name:26s}" + "".join(f"{np.average(f(X), weights=w):9.3f}" for f in functions.values())
    )
