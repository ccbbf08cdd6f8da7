"""Post-stratification: the target's share of every cell, in closed form."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..data.parameters import Rules, flag, whole
from ..exceptions import InputError
from ..margins import Margins
from ..margins.cells import CrossTable
from ..margins.reading import Reading, reading_of, table_parts
from ..numerics.array import Real
from .base import Weighter
from .cells import CellTable, crossed, feature_axes, target_table, warn_of_moved
from .problem import Problem


class PostStratification(Weighter):
    """Weights that give every cell of the sample its share in the target.

        w(x) = (target's share of the cell of x) / (sample's share of it) .

    Parameters
    ----------
    by : str, int, or list of these, optional
        Columns whose cells are crossed. With margins: one column, or two that have a table; it can
        be left out where the margins hold one such thing. With target rows: any columns, by name
        or number; all of them without it.
    bins : int
        With target rows: most cells of a column, cut at the target's quantiles.
    collapse : bool
        With margins: brackets without training rows join the nearest one that has some, instead
        of being refused. Levels of a category have no neighbours, and are refused in any case.
        Cells cut from rows always join.

    Attributes
    ----------
    n_cells_ : int
        Number of cells with training rows.
    weights_, effective_sample_size_
        See `Weighter`.

    Notes
    -----
    Source: Holt and Smith (1979), *Post stratification*. New rows get the weight of their cell, or
    of the nearest that has training rows. Cost: O(N log N).

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import Margins
    >>> from covshift.weights import PostStratification
    >>> age = np.array([[20.0], [25.0], [50.0], [70.0]])
    >>> margins = Margins({0: {(18, 40): 0.3, (40, None): 0.7}})
    >>> PostStratification().fit(age, X_target=margins).weights_
    array([0.6, 0.6, 1.4, 1.4])
    """

    _takes_sample_weight = True

    _rules: ClassVar[Rules] = {"bins": whole(2), "collapse": flag()}

    def __init__(self, by: Any = None, *, bins: int = 5, collapse: bool = False) -> None:
        self.by = by
        self.bins = bins
        self.collapse = collapse

    @property
    def n_cells_(self) -> int:
        return len(self._factor)

    def _read(self, margins: Margins, X: Any) -> Reading:
        columns, _ = self._chosen(margins)
        return reading_of(margins, X, columns, type(self).__name__, asked=True)

    def _solve_margins(self, problem: Problem, margins: Margins) -> Real:
        columns, part = self._chosen(margins)
        table, _ = crossed(part, list(range(len(columns))), problem.X, collapse=self.collapse)
        return self._weigh(problem, table)

    def _solve(self, problem: Problem) -> Real:
        n = problem.X.shape[1]
        wanted = self._columns(problem.features.sources or tuple(map(str, range(n))))
        axes = [
            axis
            for columns in problem.features.members(n)
            if columns[0] in wanted
            for axis in feature_axes(problem, columns, self.bins)
        ]
        table, moved = target_table(problem, axes)
        advice = (
            ". Cross fewer columns with by=[...], use fewer bins, or use Raking, which does not "
            "cross them."
        )
        warn_of_moved(problem, moved, "cells", "cells that have", advice)
        return self._weigh(problem, table)

    def _weigh(self, problem: Problem, table: CellTable) -> Real:
        place = table.places(problem.X)
        own = np.bincount(place, weights=problem.own, minlength=len(table.share))
        self._table, self._factor = table, np.asarray(table.share / own)
        return self._factor[place]

    def _ratio(self, X: Real) -> Real:
        place = self._table.places(X)
        return np.where(place < 0, 0.0, self._factor[place])

    def _columns(self, sources: tuple[str, ...]) -> list[int]:
        """Numbers of the columns that are crossed, of which each has a name."""
        wanted = sources if self.by is None else _listed(self.by)
        absent = [name for name in wanted if name not in sources]
        if absent:
            names = list(dict.fromkeys(sources))
            raise InputError(f"by={self.by!r}: X has no column {absent[0]!r}. It has {names}.")
        return [k for k, source in enumerate(sources) if source in wanted]

    def _chosen(self, margins: Margins) -> tuple[tuple[str, ...], Any]:
        """Columns and cells of the one margin or table that is used."""
        parts = table_parts(margins)
        if self.by is not None:
            wanted = _listed(self.by)
            for columns, part in parts:
                if sorted(columns) == sorted(wanted):
                    return columns, part
            if len(wanted) == 1 and (margin := margins.margin(wanted[0])) is not None:
                return (wanted[0],), margin
            raise InputError(
                f"by={self.by!r}: the margins have no such cells. They have {_known(parts)}."
            )
        tables = [(columns, part) for columns, part in parts if isinstance(part, CrossTable)]
        if len(tables) == 1 and all(set(c) <= set(tables[0][0]) for c, _ in parts):
            return tables[0]
        if len(parts) != 1:
            raise InputError(
                f"PostStratification takes one margin or table, and the margins have "
                f"{_known(parts)}. Choose with by=..., or use Raking, which takes all of them."
            )
        return parts[0]


def _listed(by: Any) -> list[str]:
    return [str(name) for name in by] if isinstance(by, list | tuple) else [str(by)]


def _known(parts: list[tuple[tuple[str, ...], Any]]) -> str:
    return ", ".join(repr(" x ".join(columns)) for columns, _ in parts) or "none"
