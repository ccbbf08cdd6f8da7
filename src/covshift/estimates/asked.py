"""What is asked for: the quantity and the options that belong to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._parameters import number, one_of
from .._types import Real
from ..exceptions import InputError
from . import quantities
from .coefficients import coefficients
from .columns import check_outcomes, spelled
from .data import Sample
from .problem import Item, Problem

WHAT = (
    "mean",
    "proportion",
    "total",
    "ratio",
    "median",
    "quantile",
    "cdf",
    "difference",
    "coefficients",
)
_BELONGS = {
    "category": "proportion",
    "population_size": "total",
    "denominator": "ratio",
    "q": "quantile",
    "at": "cdf",
    "reference": "difference",
    "family": "coefficients",
    "regressors": "coefficients",
}
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

    def check(self, *, by: Any, sensitivity: Any) -> None:
        """Refuse options that are missing, or that belong to another quantity."""
        one_of(*WHAT).check(self.what, "what")
        for option, what in _BELONGS.items():
            if getattr(self, option) is not None and what != self.what:
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
        if self.what == "difference" and by is None:
            raise InputError("what='difference' compares groups: name them with by.")
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

    def rows_needed(self, sample: Sample) -> NDArray[np.bool_]:
        """Rows that have all that the quantity needs besides the outcome."""
        if self.denominator is None:
            return np.ones(len(sample.Z), dtype=bool)
        present: NDArray[np.bool_] = self._denominator(sample).present
        return present

    def items(
        self, problem: Problem, y: NDArray[Any], name: str, rows: NDArray[np.intp], sample: Sample
    ) -> Iterator[Item]:
        """Estimate the quantity; ``rows`` of the ``sample`` are those of the problem."""
        if self.what == "mean":
            return quantities.means(problem, y, name)
        if self.what == "proportion":
            classes = np.unique(y)
            return quantities.proportions(problem, y, classes, self._wanted(classes), name)
        if self.what == "total":
            assert self.population_size is not None
            return quantities.totals(problem, y, name, float(self.population_size))
        if self.what == "ratio":
            below = self._denominator(sample).y[rows]
            return quantities.ratios(problem, y, below, name)
        if self.what in ("median", "quantile"):
            levels = 0.5 if self.q is None else self.q
            return quantities.quantiles(problem, y, _numbers(levels, "q"), name)
        if self.what == "cdf":
            return quantities.distribution(problem, y, _numbers(self.at, "at"), name)
        if self.what == "difference":
            reference = None if self.reference is None else spelled(self.reference)
            return quantities.differences(problem, y, name, reference)
        columns, names = self._regressors(problem.sample)
        return coefficients(problem, y, columns, names, self.family or "linear", name)

    def _denominator(self, sample: Sample) -> Any:
        found = check_outcomes(self.denominator, len(sample.Z), numbers=True, title="denominator")
        if len(found) != 1:
            raise InputError(f"denominator has {len(found)} columns. Pass one.")
        return found[0]

    def _wanted(self, classes: NDArray[Any]) -> list[str]:
        if self.category is None:
            return [str(c) for c in classes]
        given = self.category if isinstance(self.category, list | tuple) else [self.category]
        wanted = [spelled(c) for c in given]
        if not wanted:
            raise InputError(f"category={self.category!r} names no category. Leave it out for all.")
        unknown = [c for c in wanted if c not in classes]
        if unknown:
            raise InputError(
                f"category={self.category!r}: no row has the outcome {unknown[0]!r}. There are "
                f"{', '.join(map(repr, classes[:12].tolist()))}."
            )
        return wanted

    def _regressors(self, sample: Sample) -> tuple[tuple[Real, Real], tuple[str, ...]]:
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
