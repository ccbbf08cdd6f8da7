"""The columns that trees add up over rows: fixed ones, and the directions of the splits so far."""

from __future__ import annotations

import numpy as np

from .._types import Real
from ..operators.trees.line_form import LineForm


class Columns:
    """``store`` (C, N): 1 and Vg, then what is added up of every V, then directions.

    That is the weights of the rows, and u and d of a V that is a `LineForm`. A column of ones is
    the first again, one of zeros is None. If V is diagonal, its diagonal takes the place of a
    direction, and there are no others.
    """

    gradient = 1

    def __init__(self, w: Real, form: LineForm | None, n_directions: int) -> None:
        ones = np.ones(len(w))
        fixed = [ones, ones]  # the second is Vg, of every tree

        def place(values: Real) -> int:
            if (values == 1).all():
                return 0
            fixed.append(values)
            return len(fixed) - 1

        self.weight = place(w)
        alone = form is not None and form.lines is None
        self.u = 0 if form is None or alone else place(form.u)
        self.d = None if form is None or not form.d.any() else place(form.d)
        self.base = self.d or 0 if alone else len(fixed)
        self.store = np.empty((len(fixed) + n_directions, len(w)))
        self.store[: len(fixed)] = fixed
