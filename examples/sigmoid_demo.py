"""The paper's Experiment 1: how stable is the predicted p(y = 1 | x)?

Training points are uniform on [-1, 1]; seven of ten target points lie below zero. Each method is
the same kernel machine (paper, section 2.4) with another V. Run it with ``make demo``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from covshift import v_matrix
from covshift.corrections import Additive, Empirical, Uniform, Unweighted
from covshift.datasets import make_sigmoid_shift

METHODS = {
    "unweighted, V = I": Unweighted(),
    "Vapnik's uniform V": Uniform(low=-1, high=1),
    "empirical V (the paper)": Empirical(),
    "empirical V, symmetric": Additive(symmetric=True),
}
REGULARIZATION = 0.1
N_TRIALS = 20


def kernel(a, b):
    """Return exp(-|a - b|), the reading of "square rooted Gaussian kernel" that fits the paper."""
    return np.exp(-np.abs(a[:, None, 0] - b[None, :, 0]))


def fit(X, y, V):
    """Solve the V-SVM in closed form: f(x) = sum_i A_i K(x_i, x) + c (paper, section 2.4)."""
    K, one = kernel(X, X), np.ones(len(X))
    system = V @ K + REGULARIZATION * np.eye(len(X))
    A_b, A_c = np.linalg.solve(system, V @ np.column_stack([y, one])).T
    c = one @ V @ (K @ A_b - y) / (one @ V @ (K @ A_c - one))
    A = A_b - c * A_c
    return lambda x: kernel(x, X) @ A + c


def normalized_error(f, data):
    """L2 error of the predicted probability on the target, relative to the size of the truth."""
    truth = data.probability_target
    return np.linalg.norm(f(data.X_target) - truth) / np.linalg.norm(truth)


def main() -> None:
    errors = {name: [] for name in METHODS}
    for seed in range(N_TRIALS):
        data = make_sigmoid_shift(200, 1000, random_state=seed)
        for name, correction in METHODS.items():
            f = fit(data.X, data.y, v_matrix(data.X, data.X_target, correction))
            errors[name].append(normalized_error(f, data))

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
        f = fit(data.X, data.y, v_matrix(data.X, data.X_target, correction))
        wide = 1.0 if correction is METHODS["unweighted, V = I"] else 2.0
        axes.plot(x, f(x), linewidth=wide, label=name)
    axes.set(xlabel="x", ylabel="predicted p(y = 1 | x)", title="Experiment 1: N = 200, M = 1000")
    axes.legend(frameon=False)
    return figure


if __name__ == "__main__":
    main()
