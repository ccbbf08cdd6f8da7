"""Keep the part of the target that the training rows cover."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.validation import unwrap_target
from ..exceptions import NoOverlapError
from ..numerics.array import Rows, take_rows
from ..show.notes import Note
from ..show.table import card
from ..show.words import percent
from .coverage import (
    RowFlags,
)
from .measure import diagnose


@dataclass(frozen=True)
class Restricted:
    """The covered part of a target.

    ``X_target`` holds the rows that were kept, in the form that they came in, and ``rows`` their
    numbers among those given; ``flags`` tells of every row whether it was kept and why not.
    """

    X_target: Any = field(repr=False)
    rows: Rows = field(repr=False)
    flags: RowFlags

    @property
    def note(self) -> Note:
        """How many rows were left out, and by which columns."""
        if not self.flags.count:
            return Note("restricted target", str(self.flags))
        share = percent(1 - self.flags.count / len(self.flags.uncovered))
        return Note("restricted target", f"{share} of the target is kept. {self.flags}", "warning")

    def _repr_html_(self) -> str:
        kept = f"{len(self.rows):,} of {len(self.flags.uncovered):,} target rows are kept."
        return card(kept, self.flags._repr_html_())


def restrict(X: Any, X_target: Any, *, random_state: int = 0, **given: Any) -> Restricted:
    """Leave out target rows without training rows near.

    Parameters
    ----------
    X, X_target : training and target rows
        As in `covshift.diagnose`.
    random_state : int
        As there.
    **given
        Further parameters of `covshift.diagnose`: weights and groups.

    Notes
    -----
    The rows left out are those that `Diagnosis.uncovered_rows` flags, by the rules of
    `covshift.diagnostics.coverage`. What is learned then holds for the kept part of the target.
    Cost: that of a diagnosis without weighters.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.diagnostics import restrict
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.uniform(size=(200, 2)), rng.uniform(0.1, 0.9, size=(100, 2))
    >>> T[:20, 0] += 1.0
    >>> found = restrict(X, T)
    >>> len(found.X_target)
    80
    >>> found.flags.why[0]
    "lies above 0.9972, the largest training value of 'x0'"
    """
    target = unwrap_target(X_target)
    flags = diagnose(X, target, methods=(), random_state=random_state, **given).rows
    assert flags is not None
    rows = np.flatnonzero(~flags.uncovered)
    if not len(rows):
        raise NoOverlapError(f"No target row is covered by the training rows. {flags}")
    kept = target if not flags.count else take_rows(target, rows)
    return Restricted(kept, rows, flags)
