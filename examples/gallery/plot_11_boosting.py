"""
Boosted trees
=============

:class:`covshift.VBoostRegressor` boosts trees under a correction of the shift. Trees are
flexible, so the gain is seldom large: compare with ``"none"``, which are ordinary boosted trees.
"""

# %%
# Few small trees are a simple model, and there it matters where they fit well.
import matplotlib.pyplot as plt
import numpy as np

from covshift import VBoostRegressor


def truth(X):
    return np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2


rng = np.random.default_rng(0)
X = rng.normal(0, 1, size=(500, 2))
T = rng.normal([1.0, 0.5], 0.6, size=(400, 2))
y = truth(X) + 0.4 * rng.normal(size=len(X))

# %%
# The error on the target, round by round.
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
looks = {"none": "#0072B2", "cdf": "#E69F00", "blended": "#009E73"}
for name, colour in looks.items():
    model = VBoostRegressor(name, n_estimators=60, max_leaf_nodes=4, random_state=0)
    model.fit(X, y, X_target=T)
    errors = [np.mean((f - truth(T)) ** 2) for f in model.staged_predict(T)]
    ax.plot(range(1, len(errors) + 1), errors, color=colour, label=f'"{name}"')
    print(f"{name:10s} after 60 rounds {errors[-1]:.4f}, at its best {min(errors):.4f}")
ax.set(xlabel="trees", ylabel="mean squared error on the target", ylim=(0, None))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %%
# One sample decides little: run it again with other seeds before you believe an order of the
# curves.
