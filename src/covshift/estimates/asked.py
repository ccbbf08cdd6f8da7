"""What is asked for: the quantity and the options that belong to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Samples
from ..data.columns import check_outcomes
from ..data.parameters import number, one_of
from ..exceptions import InputError
from ..numerics.array import Real
from ..registry import QUANTITIES, QuantityEntry
from .problem import Item, Problem

_WITHOUT_SLACK = ("coefficients",)


@dataclass(frozen=True)
class Asked:
    """A quantity, and the options of `estimate` that belong to one quantity alone."""

    what: str
    category: Any = None
    population_size: float | None = None
    denominator: Any = None
    q: Any = None
    at: Any = None
    reference: Any = None
    family: Any = None
    regressors: Any = None

    @property
    def entry(self) -> QuantityEntry:
        """What the registry says of the quantity."""
        return QUANTITIES[self.what]

    def check(self, *, by: Any, sensitivity: Any) -> None:
        """Refuse options that are missing, or that belong to another quantity."""
        one_of(*QUANTITIES).check(self.what, "what")
        for what, entry in QUANTITIES.items():
            for option in set(entry.options) - set(self.entry.options):
                if getattr(self, option) is not None:
                    raise InputError(f"{option} belongs to what={what!r}, but what={self.what!r}.")
        if self.what == "total":
            if self.population_size is None:
                raise InputError("what='total' needs population_size: how many people there are.")
            number(above=0).check(self.population_size, "population_size")
        if self.what == "ratio" and self.denominator is None:
            raise InputError("what='ratio' needs denominator, one number per training row.")
        if self.what == "quantile" and self.q is None:
            raise InputError("what='quantile' needs q, such as q=0.9 or q=[0.25, 0.5, 0.75].")
        if self.what == "cdf" and self.at is None:
            raise InputError("what='cdf' needs at: the points at which it is wanted.")
        if "groups" in self.entry.needs and by is None:
            raise InputError(f"what={self.what!r} compares groups: name them with by.")
        if self.what == "coefficients":
            one_of("linear", "logistic", None).check(self.family, "family")
            if by is not None:
                raise InputError("what='coefficients' has no groups: leave out by.")
        if self.q is not None:
            for level in _numbers(self.q, "q"):
                number(above=0, below=1).check(float(level), "q")
        if self.at is not None:
            _numbers(self.at, "at")
        if sensitivity is not None:
            number(least=0).check(sensitivity, "sensitivity")
            if self.what in _WITHOUT_SLACK:
                raise InputError(f"sensitivity is not known for what={self.what!r}.")

    def rows_needed(self, sample: Samples) -> NDArray[np.bool_]:
        """Rows that have all that the quantity needs besides the outcome."""
        if self.denominator is None:
            return np.ones(len(sample.Z), dtype=bool)
        present: NDArray[np.bool_] = self._denominator(sample).present
        return present

    def items(
        self, problem: Problem, y: NDArray[Any], name: str, rows: NDArray[np.intp], sample: Samples
    ) -> Iterator[Item]:
        """Estimate the quantity; ``rows`` of the ``sample`` are those of the problem."""
        given = {option: getattr(self, option) for option in self.entry.options}
        if "denominator" in given:
            given["denominator"] = self._denominator(sample).y[rows]
        if "regressors" in given:
            given["regressors"] = self._regressors(problem.sample)
        given |= {name: _numbers(given[name], name) for name in ("q", "at") if name in given}
        found: Iterator[Item] = self.entry.load()(problem, y, name, **given)
        return found

    def _denominator(self, sample: Samples) -> Any:
        found = check_outcomes(self.denominator, len(sample.Z), numbers=True, title="denominator")
        if len(found) != 1:
            raise InputError(f"denominator has {len(found)} columns. Pass one.")
        return found[0]

    def _regressors(self, sample: Samples) -> tuple[tuple[Real, Real], tuple[str, ...]]:
        if self.regressors is None:
            return (sample.Z, sample.T), sample.names
        given = self.regressors
        given = [given] if isinstance(given, str) or not hasattr(given, "__iter__") else list(given)
        places = []
        for column in given:
            if isinstance(column, str) and column in sample.names:
                places.append(sample.names.index(column))
            elif isinstance(column, int | np.integer) and 0 <= column < len(sample.names):
                places.append(int(column))
            else:
                raise InputError(
                    f"regressors: {column!r} is none of the columns "
                    f"{', '.join(map(repr, sample.names[:20]))}."
                )
        names = tuple(sample.names[k] for k in places)
        return (sample.Z[:, places], sample.T[:, places]), names


def _numbers(values: Any, name: str) -> Real:
    try:
        found = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 1 or not len(found) or np.isnan(found).any():
        raise InputError(f"{name}={values!r} must be a number, or several in a list.")
    return found
