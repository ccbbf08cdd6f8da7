"""Z'VZ for the indicators Z of a tree's leaves: what couples leaf values under V.

Most corrections have V = diag(u) L diag(u) + diag(d), with L of one-dimensional views. Then a view
at a time: the weight of each leaf that every threshold sees, and one product of these. Any other V
is asked for V Z, T columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..numerics.array import Real, Rows
from .base import VOperator, blocks

_ENTRIES = 1 << 22  # of Z at a time: 32 MB


class Views(Protocol):
    """One-dimensional views of the rows."""

    def leaf_gram(self, place: Rows, T: int, u: Real) -> Real:
        """Z'LZ, Z carrying the weight ``u`` (N,) of every row in the leaf at ``place``: (T, T)."""
        ...


@dataclass(frozen=True)
class LineForm:
    """diag(u) (scale L) diag(u) + diag(d); without ``views`` it is diagonal."""

    views: Views | None
    scale: float
    u: Real  # (N,)
    d: Real  # (N,)

    def weighted(self, w: Real) -> LineForm:
        """diag(w) V diag(w)."""
        return replace(self, u=self.u * w, d=self.d * w**2)


def line_form(V: Any) -> LineForm | None:
    """Return an operator or factor in this form, or None where it has another."""
    own = getattr(V, "line_form", None)
    return None if own is None else own()


def line_form_sum(terms: Sequence[tuple[float, Any]]) -> LineForm | None:
    """sum_t c_t V_t, where at most one of them is not diagonal."""
    forms = [(c, line_form(V)) for c, V in terms]
    known = [replace(form, scale=c * form.scale, d=c * form.d) for c, form in forms if form]
    wide = [form for form in known if form.views is not None]
    if len(known) < len(forms) or len(wide) > 1:
        return None
    return replace((wide or known)[0], d=np.sum([form.d for form in known], axis=0))


def leaf_gram(V: VOperator, form: LineForm | None, place: Rows, T: int) -> Real:
    """Z'VZ (T, T) of the leaves where the rows are, by their ``place`` (N,)."""
    if form is not None:
        gram: Real = np.diag(np.bincount(place, form.d, T)).astype(np.float64)
        views = form.views
        return gram if views is None else gram + form.scale * views.leaf_gram(place, T, form.u)
    gram = np.empty((T, T))
    for some in blocks(T, max(1, _ENTRIES // len(place))):
        image = np.asarray(V.matmat((place[:, None] == np.arange(T)[some]).astype(np.float64)))
        for column, values in zip(range(T)[some], image.T, strict=True):
            gram[:, column] = np.bincount(place, values, T)
    return (gram + gram.T) / 2
