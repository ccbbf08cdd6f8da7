"""Numbers out of finished trials: errors, ratios to the unweighted error, means and spreads."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from covshift.numerics.array import Real

from .configuration import Key, Settings, cells, dataset_of
from .store import Results
from .verdict import Cell

TABLE = ("3", "4", "5")


@dataclass(frozen=True)
class Trials:
    """Finished trials with their settings; every number of the reports comes from here."""

    results: Results
    settings: Settings

    def cells(self, experiment: str) -> list[str]:
        """Cells of which there is a trial, in the order of the tables."""
        there = {key.cell for key in self.results if key.experiment == experiment}
        return [cell for cell in cells(self.settings, experiment) if cell in there]

    def table_cells(self) -> list[tuple[str, str]]:
        """The cells of Table 1 that were run, twice at least: experiment and data set."""
        return [
            (experiment, cell)
            for experiment in TABLE
            for cell in self.cells(experiment)
            if cell == dataset_of(cell) and len(self.found(experiment, cell, "unweighted")) > 1
        ]

    @property
    def most(self) -> int:
        """The number of trials of the cell that has most."""
        counts = Counter((key.experiment, key.cell) for key in self.results)
        return max(counts.values(), default=0)

    def contenders(self, experiment: str) -> list[str]:
        """Contenders of which there is a trial, in the order of the settings."""
        group = "synthetic" if experiment in ("1", "2") else "table"
        there = {
            name
            for key, found in self.results.items()
            if key.experiment == experiment
            for name in found
        }
        return [name for name in self.settings["contenders"][group] if name in there]

    def found(self, experiment: str, cell: str, name: str) -> list[dict[str, Any]]:
        """What was found for a contender, trial by trial; trials that lack it are left out."""
        keys = sorted(k for k in self.results if (k.experiment, k.cell) == (experiment, cell))
        return [self.results[key][name] for key in keys if name in self.results[key]]

    def error(self, key: Key, name: str, variant: str) -> Any:
        """One error; a variant that is the same as the paper's for a contender is looked up there.

        Weights have mean one, so that their V has a unit diagonal as it is.
        """
        errors = self.results.get(key, {}).get(name, {}).get("errors", {})
        if variant not in errors and variant.startswith("unit"):
            variant = variant.removeprefix("unit").strip() or "paper"
        return errors.get(variant)

    def paired(
        self, experiment: str, cell: str, one: tuple[str, str], other: tuple[str, str]
    ) -> tuple[Real, Real]:
        """Errors of two (contender, variant) in the trials that have both."""
        pairs = []
        for key in sorted(self.results):
            if (key.experiment, key.cell) == (experiment, cell):
                pair = (self.error(key, *one), self.error(key, *other))
                if None not in pair:
                    pairs.append(pair)
        found = np.array(pairs, dtype=np.float64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def ratios(self, experiment: str, cell: str, name: str, variant: str = "paper") -> Real:
        """Errors over the unweighted error with the same kernel and choice of gamma, by trial."""
        errors, unweighted = self.paired(
            experiment, cell, (name, variant), ("unweighted", baseline(variant))
        )
        offset = self.settings["ratio_offset"]
        return np.asarray((errors + offset) / (unweighted + offset))

    def ratio(self, experiment: str, cell: str, name: str, variant: str = "paper") -> Cell | None:
        """Mean and standard deviation of `ratios`; None without two trials."""
        return as_cell(self.ratios(experiment, cell, name, variant))

    def errors(self, experiment: str, cell: str, name: str, variant: str) -> Real:
        """Errors of one variant, by trial."""
        return self.paired(experiment, cell, (name, variant), (name, variant))[0]


def as_cell(values: Real) -> Cell | None:
    """Mean, standard deviation and number of values; None for fewer than two."""
    if len(values) < 2:
        return None
    return Cell(float(values.mean()), float(values.std(ddof=1)), len(values))


def geometric_mean(values: list[float]) -> float:
    """Geometric mean of positive numbers; NaN for none."""
    return float(np.exp(np.mean(np.log(values)))) if values else float("nan")


def baseline(variant: str) -> str:
    """The variant of the unweighted machine that a variant is compared with."""
    kernel = variant.removeprefix("unit").strip()
    return kernel if kernel in ("cv", "linear", "linear cv", "median cv") else "paper"
