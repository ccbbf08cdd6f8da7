"""V = diag(u) L diag(u) + diag(d), with L of one-dimensional views: what trees can do faster.

Most corrections are of this form. In it, V times indicators of leaves is a matter of totals in the
bins of the views, and squares z'Vz can be bounded from below view by view, by a few linear forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._types import Codes, Real
from ..lines.bins import bin_totals
from ..lines.tables import at_bins, at_thresholds, bin_count
from .binned import BinnedLines

_SINES = 2  # of a view: three quarters of the square of a bridge are along them
_FORMS = 64  # of all views, but at least one of each


@dataclass(frozen=True)
class LineForm:
    """diag(u) (scale L) diag(u) + diag(d); without ``lines`` it is diagonal."""

    lines: BinnedLines | None
    scale: float
    u: Real  # (N,)
    d: Real  # (N,)

    def weighted(self, w: Real) -> LineForm:
        """diag(w) V diag(w)."""
        return replace(self, u=self.u * w, d=self.d * w**2)

    @cached_property
    def weights(self) -> Real:
        """u, or nothing where all of it is 1."""
        return self.u[:0] if (self.u == 1).all() else self.u

    @cached_property
    def diagonal(self) -> Real:
        """d, or nothing where it is 0."""
        return self.d if self.d.any() else self.d[:0]

    @cached_property
    def single(self) -> Real:
        """Weights of all thresholds, zero beyond the last one of a view: (U, G)."""
        assert self.lines is not None
        weights = self.lines.weights
        every = np.zeros((max(len(w) for w in weights), len(weights)))
        for g, w in enumerate(self.lines.weights):
            every[: len(w), g] = self.scale * w
        return every

    def forms(self) -> Real:
        """Linear forms whose squares bound z'(V - diag(d))z from below: (bins of all views, K).

        In a view z shows S to the thresholds, and z'Vz is the square of S, by their weights. Its
        parts along K orthonormal functions are at most as large; here is what a row adds to them,
        by its bin. The functions are sines in the order of the rows: what a random part of the
        rows differs in from all of them, most of all in the first (a Brownian bridge).
        """
        lines = self.lines
        assert lines is not None
        K = min(_SINES, max(1, _FORMS // len(lines.weights)))
        tables = [
            _forms_of_view(code, w, K, lines.symmetric)
            for code, w in zip(lines.by_view, lines.weights, strict=True)
        ]
        return np.asarray(self.scale**0.5 * np.concatenate(tables))


def _forms_of_view(code: Codes, w: Real, K: int, symmetric: bool) -> Real:
    """What a row in each bin adds to each of ``K`` forms: (bins, K)."""
    U = len(w)
    below = bin_totals(code, None, bin_count(U, symmetric)).cumsum() / len(code)
    F = at_thresholds(below, symmetric)[0]  # share of the rows at or below each threshold
    sines = np.sin(np.pi * np.outer(F, np.arange(1, K + 1)))
    root = np.sqrt(w)[:, None]
    Q, _ = np.linalg.qr(root * sines)  # (U, K), fewer where there are few thresholds
    functions = np.zeros((U, K))
    functions[:, : Q.shape[1]] = root * Q
    if not symmetric:
        return np.asarray(at_bins(functions))
    # Where S rises on one side it falls on the other, so the two are taken as one.
    return np.asarray(at_bins(functions, -functions) / 2**0.5)


def line_form(V: Any) -> LineForm | None:
    """Return an operator or factor in this form, or None where it has another."""
    own = getattr(V, "line_form", None)
    return None if own is None else own()


def line_form_sum(terms: Sequence[tuple[float, Any]]) -> LineForm | None:
    """sum_t c_t V_t, where at most one of them is not diagonal."""
    total: LineForm | None = None
    for c, V in terms:
        part = line_form(V)
        if part is None:
            return None
        part = replace(part, scale=c * part.scale, d=c * part.d)
        if total is None:
            total = part
        elif total.lines is not None and part.lines is not None:
            return None
        else:
            body = part if total.lines is None else total
            total = replace(body, d=total.d + part.d)
    return total
