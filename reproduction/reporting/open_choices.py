"""What the paper leaves open and the trials have both ways: the scale of V, the norm's features."""

from __future__ import annotations

from ..trials import Trials
from ..verdict import verdict
from .layout import Table, mean_std
from .table_one import Compared, compared


def scales(trials: Trials) -> Table:
    """The two readings of Algorithm 2: V averaged or summed over the features."""
    chosen = trials.settings["table"]["scale"]
    rows = [
        [
            f"{cell.experiment} {cell.dataset}",
            mean_std(cell.published),
            *(_beside(trials, cell, cell.dataset, scale) for scale in ("averaged", "summed")),
            chosen[cell.experiment],
        ]
        for cell in _ours(trials)
    ]
    return Table(
        "“Our Method” with V averaged and with V summed over the features. Bold: agrees with the "
        "paper.",
        ["cell", "paper", "averaged", "summed", "taken"],
        rows,
    )


def raw_norm(trials: Trials) -> Table:
    """Experiment 5 with the norm of the features as they come, for both scales of V."""
    there = trials.cells("5")
    rows = []
    for cell in _ours(trials):
        raw = f"{cell.dataset} raw norm"
        if cell.experiment == "5" and raw in there:
            for scale in ("averaged", "summed"):
                values = (_beside(trials, cell, where, scale) for where in (cell.dataset, raw))
                rows.append([cell.dataset, scale, mean_std(cell.published), *values])
    return Table(
        "Experiment 5, “Our Method”, by the features of which the norm is taken and the scale of "
        "V. Bold: agrees with the paper.",
        ["data set", "V", "paper", "norm of features in [0, 1]", "norm of features as they come"],
        rows,
    )


def _ours(trials: Trials) -> list[Compared]:
    return [cell for cell in compared(trials) if cell.column == "additive"]


def _beside(trials: Trials, cell: Compared, where: str, variant: str) -> str:
    found = trials.ratio(cell.experiment, where, "additive", variant)
    if found is None:
        return "–"
    agrees = verdict(cell.published, found) == "agrees"
    return f"**{mean_std(found)}**" if agrees else mean_std(found)
