"""Training and target rows of one table: a natural shift, two induced ones, none.

Every shift first parts the rows into two pools, from which N training rows and at most
`MOST_TARGET` target rows are drawn, so that no row is in both. "natural" goes by a column's values,
and the column is left out. "direction" selects by a logistic of a random direction of the
standardised columns and dummies; "rank" by the rank in one random column. "none" tosses a coin.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from tables_data import Table

SHIFTS = ("natural", "direction", "rank", "none")
MOST_TARGET, LEAST_TARGET, LEAST_CLASS = 2000, 100, 5
STRENGTH, LEAST_SHARE = 1.5, 0.05


@dataclass(frozen=True)
class Split:
    X: pd.DataFrame
    y: np.ndarray
    T: pd.DataFrame
    y_T: np.ndarray  # for scoring alone
    truth_T: np.ndarray | None
    scale: float  # variance of the whole table's outcome, or of its truth


def split(table: Table, shift: str, N: int, rep: int) -> Split | None:
    """Draw rows; None where the table is too small or has no such shift, or a class is too rare."""
    rng = np.random.default_rng([zlib.crc32(f"{table.name}/{shift}".encode()), N, rep])
    if shift == "natural":
        if table.in_target is None:
            return None
        in_target, X = table.in_target, table.X.drop(columns=table.column)
    else:
        in_target, X = _selected(table.X, shift, rng), table.X
    train, target = np.flatnonzero(~in_target), np.flatnonzero(in_target)
    if len(train) < N or len(target) < LEAST_TARGET:
        return None
    train = rng.permutation(train)[:N]
    target = rng.permutation(target)[:MOST_TARGET]
    y = table.y[train]
    if table.kind == "classification" and min(y.sum(), N - y.sum()) < LEAST_CLASS:
        return None
    truth = None if table.truth is None else table.truth[target]
    scale = np.var(table.y if table.truth is None else table.truth)
    return Split(
        X.iloc[train].reset_index(drop=True),
        y,
        X.iloc[target].reset_index(drop=True),
        table.y[target],
        truth,
        float(scale),
    )


def _selected(X: pd.DataFrame, shift: str, rng: np.random.Generator) -> np.ndarray:
    """Mark the rows of the target."""
    chance = target_chance(X, shift, rng)
    return rng.uniform(size=len(X)) < chance


def target_chance(X: pd.DataFrame, shift: str, rng: np.random.Generator) -> np.ndarray:
    """Return each row's chance to be the target's."""
    if shift == "direction":
        Z = pd.get_dummies(X).to_numpy(dtype=float)
        Z = (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), 1e-12)
        score = np.clip(Z, -3, 3) @ rng.normal(size=Z.shape[1])
        share = 1 / (1 + np.exp(-STRENGTH * (score - score.mean()) / score.std()))
    elif shift == "rank":
        column = X[rng.choice(X.columns)]
        codes = column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
        ranks = rankdata(codes.to_numpy(dtype=float)) / (len(X) + 1)
        ranks = ranks if rng.uniform() < 0.5 else 1 - ranks
        share = LEAST_SHARE + (1 - 2 * LEAST_SHARE) * ranks
    elif shift == "none":
        share = np.full(len(X), 0.5)
    else:
        raise ValueError(f"shift must be one of {SHIFTS}, not {shift!r}")
    return share
