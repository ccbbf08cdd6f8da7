"""How good weights are, shared by the benchmarks: problems with a known ratio, and three scores.

The five expectations are those of the trials in which the CDF weights were found: the mean of the
features, the mean of their squares, sin(2 x_1), 1[x_1 > 1/2] and a logistic function of the sum.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.special import expit

FUNCTIONS = {
    "mean": lambda x: x.mean(axis=1),
    "square": lambda x: (x**2).mean(axis=1),
    "sine": lambda x: np.sin(2 * x[:, 0]),
    "step": lambda x: (x[:, 0] > 0.5).astype(float),
    "logistic": lambda x: expit(3 * x.sum(axis=1) / np.sqrt(x.shape[1])),
}


class GaussianShift:
    """Training rows N(0, I), target rows N(d, scale^2 I), |d| = ``shift``, all d_k equal."""

    def __init__(self, n: int, shift: float, scale: float = 1.0) -> None:
        self.n, self.delta, self.scale = n, shift / np.sqrt(n), scale

    def draw(self, N, M, seed):
        rng = np.random.default_rng(seed)
        X, T = rng.normal(size=(N, self.n)), rng.normal(size=(M, self.n))
        return X, self.delta + self.scale * T

    def ratio(self, X):
        """The true density ratio, scaled to mean one on these rows."""
        target = ((X - self.delta) ** 2).sum(axis=1) / self.scale**2
        log_ratio = ((X**2).sum(axis=1) - target) / 2
        w = np.exp(log_ratio - log_ratio.max())
        return w / w.mean()

    def moments(self):
        """Mean and standard deviation of the five functions under the target: (5, 2)."""
        n, d, s = self.n, self.delta, self.scale
        above = stats.norm.sf((0.5 - d) / s)
        grid, share = np.polynomial.hermite_e.hermegauss(101)
        values, share = expit(3 * (np.sqrt(n) * d + s * grid)), share / share.sum()
        sine = np.exp(-2 * s**2) * np.sin(2 * d)
        logistic = share @ values
        return np.array(
            [
                (d, s / np.sqrt(n)),
                (d**2 + s**2, np.sqrt((2 * s**4 + 4 * d**2 * s**2) / n)),
                (sine, np.sqrt((1 - np.exp(-8 * s**2) * np.cos(4 * d)) / 2 - sine**2)),
                (above, np.sqrt(above * (1 - above))),
                (logistic, np.sqrt(share @ values**2 - logistic**2)),
            ]
        )


def expectation_error(X, weights, moments) -> float:
    """Mean error of the five expectations, each in units of its standard deviation."""
    found = np.array([np.average(f(X), weights=weights) for f in FUNCTIONS.values()])
    return float(np.mean(np.abs(found - moments[:, 0]) / moments[:, 1]))


def nmse(weights, truth) -> float:
    """Normalised squared error of weights with mean one: sum (w - r)^2 / sum r^2."""
    return float(((weights - truth) ** 2).sum() / (truth**2).sum())


def effective_share(weights) -> float:
    """Kish's effective sample size as a share of N."""
    return float(weights.sum() ** 2 / (weights @ weights) / len(weights))


def spread(values, digits=3) -> str:
    """Lay out mean and standard deviation; the mean alone where there is one value."""
    values = np.asarray(values, dtype=float)
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"
