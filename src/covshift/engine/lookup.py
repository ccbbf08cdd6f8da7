"""Numbers of an answer by their names, and their intervals at another level."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..data.parameters import number
from ..show.table import Table


class Numbers:
    """What estimates and evaluations have in common with a table of numbers.

    Examples
    --------
    >>> from covshift import estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> found = estimate(survey.X, survey.y, survey.X_target)
    >>> found["y"].value == found.value
    True
    >>> found.conf_int(0.8)[0] > found.interval[0]
    True
    """

    _names: ClassVar[tuple[str, ...]]  # of the fields by which a number is looked up

    def __getitem__(self, name: str) -> Any:
        """Return the number that has this name, or the table of several.

        A name is that of an outcome, a class or another quantity, or a group; of an evaluation
        that of a metric, a model or a group.
        """
        answer: Any = self
        rows = list(answer)
        for field in self._names:
            found = [row for row in rows if getattr(row, field) == name]
            if found:
                whole = [row for row in found if row.group is None]
                found = whole if field != "group" and whole else found
                return found[0] if len(found) == 1 else Table(found)
        known = dict.fromkeys(getattr(row, field) for field in self._names for row in rows)
        raise KeyError(f"{name!r} is none of {', '.join(repr(one) for one in known if one)}.")

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
