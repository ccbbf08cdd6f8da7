"""Samples to draw: few rows, ties, repeats, constant columns, any unit, a target elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

UNITS = (1.0, 1e-3, 1e3, 1e-6, 1e6)


@dataclass(frozen=True)
class Samples:
    """Training and target rows, and what else a property may want, from one seed."""

    X: np.ndarray
    T: np.ndarray
    seed: int

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    @property
    def repeats(self) -> tuple[np.ndarray, np.ndarray]:
        """How often each row of either sample was seen: once to three times."""
        rng = self.rng
        return rng.integers(1, 4, size=len(self.X)), rng.integers(1, 4, size=len(self.T))

    @property
    def orders(self) -> tuple[np.ndarray, np.ndarray]:
        rng = self.rng
        return rng.permutation(len(self.X)), rng.permutation(len(self.T))

    def __repr__(self) -> str:  # what `hypothesis.example` needs to try it again, to the last digit
        return f"Samples(np.array({self.X.tolist()}), np.array({self.T.tolist()}), {self.seed})"

    def _repr_pretty_(self, printer, cycle) -> None:
        printer.text(repr(self))


def _column(rows: int) -> st.SearchStrategy[np.ndarray]:
    """Cells of one kind: whole numbers with ties, zeros and ones, a constant, or any number."""
    cells = st.one_of(
        st.integers(0, 3).map(float),
        st.booleans().map(float),
        st.floats(-4, 4, allow_subnormal=False, width=32),
    )
    return st.one_of(
        arrays(np.float64, rows, elements=cells),
        st.floats(-2, 2, width=16).map(lambda value: np.full(rows, value)),
        st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(size=rows)),
    )


@st.composite
def samples(
    draw: st.DrawFn,
    *,
    rows: tuple[int, int] = (1, 9),
    features: tuple[int, int] = (1, 3),
    units: tuple[float, ...] = UNITS,
    shift: float = 1.0,
) -> Samples:
    """Two samples of the same columns; the target is up to ``shift`` away."""
    N, M = draw(st.integers(*rows)), draw(st.integers(*rows))
    n = draw(st.integers(*features))
    together = np.column_stack([draw(_column(N + M)) for _ in range(n)])
    X, T = together[:N], together[N:] + draw(st.sampled_from([0.0, 0.5, shift]))
    if draw(st.booleans()):  # repeated rows, in both samples
        X, T = X[np.arange(N) // 2], T[np.arange(M) // 2]
    unit = np.array([draw(st.sampled_from(units)) for _ in range(n)])
    return Samples(X * unit, T * unit, draw(st.integers(0, 2**16)))
