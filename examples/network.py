"""A small network, trained with the V-loss: all rows at once, and in batches.

The network has four hidden units, too few for the truth, so it matters where it fits well. The
target lies to the right of the training rows. The control makes V from the training rows alone:
what it gains is regularisation, not a correction of the shift. Needs PyTorch:

    pip install ".[torch]"      # in a checkout
    python examples/network.py
"""

from __future__ import annotations

import numpy as np
import torch

from covshift.corrections import Additive
from covshift.torch import VLoss

N, M, STEPS, BATCH, SEEDS = 300, 500, 300, 100, 3


def draw(seed):
    """Return training rows with outcomes, target rows, and the truth on the target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0.0, 1.0, size=(N, 2))
    T = rng.normal([1.0, 0.5], 0.7, size=(M, 2))

    def truth(points):
        return np.sin(2 * points[:, 0]) + 0.5 * points[:, 1] ** 2

    return X, truth(X) + 0.5 * rng.normal(size=N), T, truth(T)


def losses(X, T):
    """Name the losses: each takes the residuals of the rows ``index``, or of all rows."""
    doubly = Additive(symmetric=True, normalize=True, weights="cdf")
    v_loss = VLoss(X, T)
    return {
        "squared error": (lambda r, index: (r**2).mean(), None),
        "V-loss": (v_loss, None),
        "V-loss, batches of 100": (v_loss, BATCH),
        "V-loss, rows weighted too": (VLoss(X, T, doubly), None),
        "control: V from training rows": (VLoss(X), None),
    }


def train(X, y, loss, batch, seed):
    """Train with Adam for a fixed number of steps, on all rows or on random batches."""
    torch.manual_seed(seed)
    network = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    for _ in range(STEPS):
        index = None if batch is None else torch.randperm(N)[:batch]
        rows = slice(None) if index is None else index
        optimizer.zero_grad()
        loss(network(X[rows])[:, 0] - y[rows], index).backward()
        optimizer.step()
    return network


def main() -> None:
    errors = {}
    for seed in range(SEEDS):
        X, y, T, truth = draw(seed)
        for name, (loss, batch) in losses(X, T).items():
            network = train(X, y, loss, batch, seed)
            with torch.no_grad():
                f = network(torch.tensor(T, dtype=torch.float32))[:, 0].numpy()
            errors.setdefault(name, []).append(np.mean((f - truth) ** 2))
    print(f"Mean squared error on the target, N = {N}, {STEPS} steps, seeds 0 to {SEEDS - 1}:")
    for name, found in errors.items():
        print(f"  {name:30s} {np.mean(found):.3f}  (std {np.std(found, ddof=1):.3f})")


if __name__ == "__main__":
    main()
