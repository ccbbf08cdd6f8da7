"""The trees of the paper's appendix, grown on dense arrays: every split solves all leaves anew.

`covshift.VBoostRegressor` chooses splits for V's diagonal and solves the leaves of finished trees
(theory, section 5.2). This is what it is measured against, on small samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]


def tree_objective(Z: Real, V: Real, g: Real, lam: float, price: float) -> tuple[float, Real]:
    """obj* = -U'D^-1 U / 2 + price T with D = 2Z'VZ + lam I, U = -2Z'Vg (appendix), and the w."""
    D = 2 * Z.T @ V @ Z + lam * np.eye(Z.shape[1])
    U = -2 * Z.T @ V @ g
    w: Real = np.asarray(np.linalg.lstsq(D, U, rcond=None)[0], dtype=np.float64)
    return float(-U @ w / 2 + price * Z.shape[1]), w


def grown_tree(
    X: Real, V: Real, g: Real, leaves: int, least: float, lam: float, price: float, w: Real
) -> tuple[Real, float, list[float]]:
    """Grow a tree best first: every leaf, feature and cut is tried, with a dense solve each.

    ``w`` are the weights of rows, of which a leaf holds ``least``. Returns the fit, the objective
    and the gains in order. Of equal gains the first is taken.
    """
    grown, gains = [np.ones(len(X), dtype=bool)], list[float]()
    while len(grown) < leaves:
        now, _ = tree_objective(np.array(grown, float).T, V, g, lam, price)
        best, split = 1e-12 * float(g @ V @ g), None
        for leaf, z in enumerate(grown):
            for x in X.T:
                for cut in np.unique(x)[:-1]:
                    low, high = z & (x <= cut), z & (x > cut)
                    if not (low.any() and high.any()) or min(w[low].sum(), w[high].sum()) < least:
                        continue
                    parts = [*grown[:leaf], high, *grown[leaf + 1 :], low]
                    then, _ = tree_objective(np.array(parts, float).T, V, g, lam, price)
                    if now - then > best * (1 + 1e-9):
                        best, split = now - then, parts
        if split is None:
            break
        grown = split
        gains.append(best)
    Z = np.array(grown, float).T
    objective, values = tree_objective(Z, V, g, lam, price)
    return Z @ values, objective, gains
