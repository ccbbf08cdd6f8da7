"""Intervals of an answer at another level."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.parameters import number
from ..show.table import Table


class Numbers:
    """What estimates and evaluations have in common: numbers with intervals.

    Examples
    --------
    >>> from covshift import estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> found = estimate(survey.X, survey.y, survey.X_target)
    >>> found.conf_int(0.8)[0] > found.interval[0]
    True
    """

    def conf_int(self, confidence: float | None = None) -> Any:
        """Return the intervals of the whole target at a level, without another fit.

        Parameters
        ----------
        confidence : float between 0 and 1, optional
            Default: that of the answer.

        Returns
        -------
        pair, or (k, 2) array where there are several numbers
        """
        answer: Any = self
        rows = answer.overall
        if confidence is not None and confidence != answer.confidence:
            number(above=0, below=1).check(confidence, "confidence")
            table: Table = answer._asked_of("conf_int").table_at(confidence)
            rows = table.where(method=answer.method, group=None)
        found = [row.interval for row in rows]
        return found[0] if len(found) == 1 else np.array(found)
