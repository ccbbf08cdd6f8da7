"""Rows of unequal mass: a row that counts for g rows (theory, section 7).

With g_i = N d_i / sum d the problem of the CDF weights is

    minimise  |R (g w) / N - F|^2 + (reg / N^2) sum_i g_i w_i^2   over   w >= 0,  sum g w = N .

In v = sqrt(g) w it is the plain problem of the columns sqrt(g_i) r_i of R, but for the sum, which
is sqrt(g)'v = N.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._types import Real
from .._design import masses


@dataclass(frozen=True)
class MassRows:
    """R of some rows, and the mass of each."""

    rows: Any
    mass: Real  # (N,), positive


def unequal_masses(own: Real) -> Real | None:
    """Masses of rows with these shares, of mean one; None where all are one."""
    return None if own.min() == own.max() else masses(own)


def with_mass(rows: Any, mass: Real | None) -> Any:
    """Return the rows as they are, or with their masses."""
    return rows if mass is None else MassRows(rows, mass)


def split(rows: Any) -> tuple[Any, Real | None]:
    """Return plain rows, and their masses where they have any."""
    return (rows.rows, rows.mass) if isinstance(rows, MassRows) else (rows, None)
