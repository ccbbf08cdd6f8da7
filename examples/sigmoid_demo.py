"""The paper's Experiment 1: how stable is the predicted p(y = 1 | x)?

Training points are uniform on [-1, 1]; seven of ten target points lie below zero. Each method is
the same kernel machine (paper, section 2.4) with another V. Run it with
``python examples/sigmoid_demo.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from covshift import VSVC, Kernel
from covshift.corrections import Additive, Multiplicative, Uniform, Unweighted
from covshift.datasets import make_sigmoid_shift

METHODS = {
    "unweighted, V = I": Unweighted(),
    "Vapnik's uniform V": Uniform(low=-1, high=1),
    "empirical V (the paper)": Multiplicative(),
    "empirical V, symmetric": Additive(symmetric=True),
}
N_TRIALS = 20


def fit(data, correction, **options):
    """Fit the machine of the paper's experiments: kernel exp(-|d|), penalty 0.1, x and f unchanged.

    This is the reading of "square rooted Gaussian kernel" that reproduces the paper's figures.
    """
    paper = {
        "kernel": Kernel("laplacian", width=1, coordinates="none"),
        "reg": 0.1,
        "probability": None,
    }
    return VSVC(correction, **(paper | options)).fit(data.X, data.y, X_target=data.X_target)


def probability(model, X):
    """Return the estimate of p(y = 1 | x): f itself, where nothing cuts it off."""
    if model.probability is None:
        return model.decision_function(X) + 0.5
    return model.predict_proba(X)[:, 1]


def normalized_error(model, data):
    """L2 error of the predicted probability on the target, relative to the size of the truth."""
    truth = data.probability_target
    predicted = probability(model, data.X_target)
    return np.linalg.norm(predicted - truth) / np.linalg.norm(truth)


def main() -> None:
    errors = {}
    for seed in range(N_TRIALS):
        data = make_sigmoid_shift(200, 1000, random_state=seed)
        for name, correction in METHODS.items():
            found = normalized_error(fit(data, correction), data)
            errors.setdefault(name, []).append(found)
        for name in ("none", "blended"):
            tuned = VSVC(name).fit(data.X, data.y, X_target=data.X_target)
            found = normalized_error(tuned, data)
            errors.setdefault(f"tuned: VSVC({name!r})", []).append(found)

    print(f"Normalised L2 error on the target, N = 200, M = 1000, seeds 0 to {N_TRIALS - 1}:")
    for name, found in errors.items():
        print(f"  {name:26s} {np.mean(found):.3f}  (std {np.std(found, ddof=1):.3f})")

    picture = Path("out") / "experiment_1.png"
    picture.parent.mkdir(exist_ok=True)
    draw(make_sigmoid_shift(200, 1000, random_state=0)).savefig(picture, dpi=150)
    print(f"The picture of Experiment 1 is in {picture}")


def draw(data):
    """Draw the predicted probability of every method over the interval, for one sample."""
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    x = np.linspace(-1, 1, 801)[:, None]
    axes.plot(x, data.probability_function(x), color="black", linestyle="--", label="truth")
    for name, correction in METHODS.items():
        wide = 1.0 if isinstance(correction, Unweighted) else 2.0
        axes.plot(x, probability(fit(data, correction), x), linewidth=wide, label=name)
    axes.set(xlabel="x", ylabel="predicted p(y = 1 | x)", title="Experiment 1: N = 200, M = 1000")
    axes.legend(frameon=False)
    return figure


if __name__ == "__main__":
    main()
