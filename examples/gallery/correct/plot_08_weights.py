"""
Five ways to weigh a sample
===========================

All weighters of :mod:`covshift.weights` make a sample look like a target. They differ in what
they match and in how uneven the weights become.
"""

# %%
# 442 patients from the tables of scikit-learn: their weight and their blood pressure. Heavier
# patients, and those of higher pressure, are drawn more often by a rule of ours, so that the true
# weights are known: one over the chance.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from covshift.weights import KMM, ULSIF, CDFWeights, Discriminative, EntropyBalancing

table = load_diabetes(as_frame=True, scaled=False).data[["bmi", "bp"]]
T = ((table - table.mean()) / table.std()).to_numpy()
chance = np.exp(0.6 * T[:, 0] + 0.3 * T[:, 1])
rng = np.random.default_rng(0)
drawn = rng.choice(len(T), 300, p=chance / chance.sum())  # some more than once
X, ratio = T[drawn], 1 / chance[drawn]

# %%
# Each dot is a training row, its area the weight. In the title, the effective sample size and the
# correlation with the true weights.
# KMM gets a bound on its weights: with the default, B=1000, 19 of the 300 rows are left in effect.
weighters = {
    "CDFWeights": CDFWeights(),
    "KMM": KMM(B=10),
    "ULSIF": ULSIF(),
    "EntropyBalancing": EntropyBalancing(),
    "Discriminative (logistic)": Discriminative(random_state=0),
}
found = {name: weighter.fit(X, X_target=T).weights_ for name, weighter in weighters.items()}
figure, axes = plt.subplots(
    2, 3, figsize=(6.85, 5.4), layout="constrained", sharex=True, sharey=True
)
for ax, (name, w) in zip(axes.flat, {"the truth": ratio, **found}.items(), strict=True):
    w = w / w.mean()
    ax.plot(*T.T, ".", color="#D55E00", markersize=2, alpha=0.5, label="target")
    ax.scatter(*X.T, s=6 * w, color="#0072B2", alpha=0.6, linewidths=0, label="training, by weight")
    size = w.sum() ** 2 / (w @ w)
    ax.set_title(
        f"{name}\n{size:.0f} effective rows, r = {np.corrcoef(w, ratio)[0, 1]:.2f}", fontsize=8
    )
figure.supxlabel("body mass index, in standard deviations", fontsize=9)
figure.supylabel("blood pressure, in standard deviations", fontsize=9)
figure.legend(
    *axes.flat[0].get_legend_handles_labels(),
    frameon=False,
    fontsize=9,
    ncols=2,
    markerscale=2,
    loc="outside upper right",
)

# %%
# What counts is rarely the weights themselves but what is averaged with them, and no weighter is
# best for every function. Entropy balancing meets the means of the columns exactly; CDF weights
# compare whole distributions, of one column at a time.
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
