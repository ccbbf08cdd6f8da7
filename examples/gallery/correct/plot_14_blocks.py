"""
More rows than memory holds
===========================

All that a fit on landmarks needs from the rows are sums. :func:`covshift.distributed.fit_blocks`
reads blocks one after the other, from any source, and finds the model that all rows at once would
give.
"""

# %%
# Blocks come from a function, here eight of 500 rows; :func:`covshift.distributed.from_parquet`
# and :func:`covshift.distributed.from_arrays` make such functions of files.
import matplotlib.pyplot as plt
import numpy as np

from covshift import VSVR, Kernel
from covshift.distributed import fit_blocks


def truth(X):
    return np.sin(2 * X[:, 0]) + X[:, 1]


def blocks(count=8):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(500, 2))
        yield X, truth(X) + 0.5 * rng.normal(size=len(X))


T = np.random.default_rng(99).normal([0.8, 0.0], 0.7, size=(150, 2))


def machine():
    kernel = Kernel("rbf", width=1.0)
    options = {"reg": 1e-3, "n_components": 40, "solver": "primal", "random_state": 0}
    return VSVR("blended", kernel=kernel, **options)


model = fit_blocks(machine(), blocks, T)

# %%
# The same fit in memory predicts the same.
parts = list(blocks())
X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
whole = machine().fit(X, y, X_target=T)
gap = np.abs(model.predict(T) - whole.predict(T)).max()
print("largest difference below 1e-8" if gap < 1e-8 else f"largest difference {gap:.1e}")

# %%
# The error on the target falls with the blocks that were read, until the forty landmarks are the
# limit.
counts = [1, 2, 4, 8]
errors = []
for count in counts:
    fitted = fit_blocks(machine(), lambda count=count: blocks(count), T)
    errors.append(np.mean((fitted.predict(T) - truth(T)) ** 2))
figure, ax = plt.subplots(figsize=(6.85, 3.6), layout="constrained")
ax.loglog([500 * count for count in counts], errors, "o-", color="#009E73")
ax.set(xlabel="training rows, in blocks of 500", ylabel="mean squared error on the target")
ax.set_xticks([500 * count for count in counts], [f"{500 * count:,}" for count in counts])
ax.set_yticks([0.005, 0.01, 0.02, 0.03], ["0.005", "0.010", "0.020", "0.030"])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
