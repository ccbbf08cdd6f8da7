"""
The paper's first experiment, in small
======================================

Mazaheri, Jain and Bruck (2020) predict a sigmoid from 200 points when seven of ten target points
lie left of zero. All methods are the same kernel machine, :class:`covshift.VSVC`, with another V.
"""

# %%
# The machine of the paper: kernel exp(-\|d\|), penalty 0.1, no scaling and no calibration.
import matplotlib.pyplot as plt
import numpy as np

from covshift import VSVC, Kernel
from covshift.corrections import Multiplicative, Uniform, Unweighted
from covshift.datasets import make_sigmoid_shift

methods = {
    "unweighted, V = I": (Unweighted(), "#0072B2"),
    "Vapnik's uniform V": (Uniform(low=-1, high=1), "#E69F00"),
    "empirical V (the paper)": (Multiplicative(), "#009E73"),
}
kernel = Kernel("laplacian", width=1, coordinates="none")
paper = {"kernel": kernel, "reg": 0.1, "probability": None}


def predict(data, correction, X):
    machine = VSVC(correction, **paper).fit(data.X, data.y, X_target=data.X_target)
    return machine.decision_function(X) + 0.5


# %%
# The normalised error on the target, over ten samples.
errors = {name: [] for name in methods}
for seed in range(10):
    data = make_sigmoid_shift(200, 300, random_state=seed)
    truth = data.probability_target
    for name, (correction, _) in methods.items():
        gap = predict(data, correction, data.X_target) - truth
        errors[name].append(np.linalg.norm(gap) / np.linalg.norm(truth))
for name, found in errors.items():
    print(f"{name:24s} {np.mean(found):.3f} (standard deviation {np.std(found, ddof=1):.3f})")

# %%
# The last sample. At one fixed penalty the comparison is the paper's. V also smooths, which is
# right here, so that the gain over V = I is not the correction of the shift alone; an unweighted
# machine whose penalty is tuned, ``VSVC("none")``, is the control to set beside it.
x = np.linspace(-1, 1, 400)[:, None]
figure, ax = plt.subplots(figsize=(6.85, 3.8), layout="constrained")
ax.plot(x, data.probability_function(x), color="#595959", linestyle="--", label="truth")
for name, (correction, colour) in methods.items():
    ax.plot(x, predict(data, correction, x), color=colour, label=name)
tuned = VSVC("none").fit(data.X, data.y)
ax.plot(x, tuned.predict_proba(x)[:, 1], color="#CC79A7", linestyle=":", label="unweighted, tuned")
ax.set(xlabel="x", ylabel="predicted p(y = 1 | x)")
ax.legend(frameon=False, fontsize=9)
ax.spines[["top", "right"]].set_visible(False)
