"""The tables of Experiments 3 to 5: paper against measured, all contenders, controls."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ..configuration import read_expected
from ..trials import Trials, baseline, geometric_mean
from ..verdict import VERDICTS, Cell, Verdict, verdict
from .layout import Table, label, mean_std, short

COLUMNS = ("additive", "shimodaira", "huang", "kliep", "ulsif")
"""The published columns of Table 1, by contender; "additive" is "Our Method"."""

BY_V = ("additive", "symmetric", "blended", "sliced", "uniform", "empirical")


@dataclass(frozen=True)
class Compared:
    """A published cell, what was measured, and the verdict."""

    experiment: str
    dataset: str
    column: str
    published: Cell
    measured: Cell
    verdict: Verdict


def compared(trials: Trials) -> list[Compared]:
    """Every published cell of Table 1 that was run, with its verdict."""
    found = []
    for cell in read_expected()["cell"]:
        measured = trials.ratio(cell["experiment"], cell["dataset"], cell["column"])
        if measured is not None:
            published = Cell(cell["mean"], cell["std"], cell["trials"])
            where = (cell["experiment"], cell["dataset"], cell["column"])
            found.append(Compared(*where, published, measured, verdict(published, measured)))
    return found


def paper_against_measured(trials: Trials, column: str) -> Table:
    """One published column: paper, measured, standard errors and verdict, cell by cell."""
    rows = []
    for cell in compared(trials):
        if cell.column != column:
            continue
        published, measured = cell.published, cell.measured
        row = [
            f"{cell.experiment} {cell.dataset}",
            mean_std(published),
            mean_std(measured),
            str(measured.trials),
            f"{measured.standard_error:.3f}",
            f"{np.hypot(published.standard_error, measured.standard_error):.3f}",
            cell.verdict,
        ]
        rows.append(row)
    header = [
        "cell",
        "paper",
        "measured",
        "trials",
        "standard error",
        "of the difference",
        "verdict",
    ]
    name = "Our Method" if column == "additive" else label(column)
    return Table(
        f"Table 1, column “{name}”: mean (standard deviation) of the error relative to the "
        "unweighted classifier.",
        header,
        rows,
    )


def verdicts(trials: Trials) -> Table:
    """How many cells of each column agree."""
    counts = {column: Counter[str]() for column in COLUMNS}
    for cell in compared(trials):
        counts[cell.column][cell.verdict] += 1
    rows = [
        ["Our Method" if column == "additive" else label(column)]
        + [str(counts[column][word]) for word in VERDICTS]
        for column in COLUMNS
    ]
    total = [str(sum(counts[column][word] for column in COLUMNS)) for word in VERDICTS]
    return Table("Cells of Table 1 by verdict.", ["column", *VERDICTS], [*rows, ["all", *total]])


def all_contenders(trials: Trials, variant: str = "paper") -> Table:
    """Every contender in every cell of the table, at one variant."""
    cells = trials.table_cells()
    rows = []
    for name in trials.contenders("4") or trials.contenders("3") or trials.contenders("5"):
        found = [trials.ratio(*cell, name, variant) for cell in cells]
        known = [cell for cell in found if cell is not None]
        if name == "unweighted" or not known:
            continue
        counts = sorted({cell.trials for cell in known})
        rows.append(
            [label(name)]
            + ["–" if cell is None else short(cell) for cell in found]
            + [f"{geometric_mean([cell.mean for cell in known]):.3f}"]
            + [f"{pooled(trials, name, variant):.3f}"]
            + [f"{np.mean([cell.std for cell in known]):.3f}"]
            + [f"{max(cell.mean for cell in known):.2f}"]
            + [" to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))]
        )
    how = "γ = 0.1" if variant == "paper" else "γ by cross-validation for every method"
    return Table(
        f"Error relative to the unweighted classifier, {how}: mean (standard deviation). Bold: "
        "better by two standard errors. Then over the cells: geometric mean of these means, and "
        "of the ratios of mean errors.",
        [
            "method",
            *(f"{e} {d}" for e, d in cells),
            "geometric mean",
            "of mean errors",
            "mean std",
            "worst",
            "trials",
        ],
        rows,
    )


def controls(trials: Trials) -> Table:
    """What the table lacks: V from the training rows, mirrored features, matched gamma, cv."""
    cells = trials.table_cells()
    rows = []
    for name in BY_V:
        if name not in trials.contenders("4"):
            continue
        from_target = [
            ratio_of_means(trials, cell, (name, "paper"), (name, "train")) for cell in cells
        ]
        mirrored = [
            ratio_of_means(trials, cell, (name, "mirrored"), (name, "paper")) for cell in cells
        ]
        rows.append(
            [
                label(name),
                *(_over_cells(trials, name, v) for v in ("paper", "unit", "cv")),
                f"{pooled(trials, name, 'cv'):.3f}",
                f"{geometric_mean(from_target):.3f}",
                f"{sum(abs(value - 1) <= 0.02 for value in from_target)} of {len(cells)}",
                f"{100 * max(abs(value - 1) for value in mirrored):.0f} %",
            ]
        )
    return Table(
        "Controls: geometric mean over the cells of the error relative to the unweighted "
        "classifier at γ = 0.1, with matched effective γ (unit diagonal), and with γ by "
        "cross-validation (unweighted too), the last also as the ratio of mean errors, since on "
        "banknote the tuned unweighted error is near zero in many trials; error with V from "
        "the target over error with V from the training rows alone, and in how many cells the two "
        "are within 2 %; the largest change of a cell's mean error when all features are mirrored.",
        [
            "method",
            "γ = 0.1",
            "unit diagonal",
            "γ by CV",
            "γ by CV, of mean errors",
            "target V / train V",
            "within 2 %",
            "mirrored, largest change",
        ],
        rows,
    )


def kernels(trials: Trials) -> Table:
    """Other kernels, with fixed and cross-validated gamma."""
    variants = ("linear", "linear cv", "median cv")
    lines = [
        ("additive V (the paper)", "additive", ""),
        ("additive V, unit diagonal", "additive", "unit "),
        ("symmetric V, unit diagonal", "symmetric", ""),
        ("blended V (half identity)", "blended", ""),
        ("true density ratio", "truth", ""),
    ]
    rows = []
    for words, name, prefix in lines:
        if name in trials.contenders("4"):
            row = [words]
            for variant in variants:
                found = [trials.ratio(*c, name, prefix + variant) for c in trials.table_cells()]
                there = [cell for cell in found if cell is not None]
                mean = geometric_mean([cell.mean for cell in there])
                std, worst = np.mean([c.std for c in there]), max(c.mean for c in there)
                row.append(f"{mean:.3f}, {std:.3f}, {worst:.2f}")
                row.append(f"{pooled(trials, name, prefix + variant):.3f}")
            rows.append(row)
    return Table(
        "Other kernels: geometric mean over the cells of the mean ratio, mean standard deviation, "
        "worst cell; and the geometric mean of the ratios of mean errors.",
        [
            "method",
            "linear, γ = 1",
            "of mean errors",
            "linear, γ by CV",
            "of mean errors",
            "Gaussian of median width, γ by CV",
            "of mean errors",
        ],
        rows,
    )


def ratio_of_means(
    trials: Trials, cell: tuple[str, str], one: tuple[str, str], other: tuple[str, str]
) -> float:
    """Mean error of one over mean error of the other, in one cell; NaN without trials."""
    a, b = trials.paired(*cell, one, other)
    if not len(a):
        return float("nan")
    offset = trials.settings["ratio_offset"]
    return float((a.mean() + offset) / (b.mean() + offset))


def pooled(trials: Trials, name: str, variant: str) -> float:
    """Geometric mean over the cells of the ratio of mean errors: steady where ratios are not."""
    base = ("unweighted", baseline(variant))
    found = [ratio_of_means(trials, cell, (name, variant), base) for cell in trials.table_cells()]
    known = [ratio for ratio in found if not np.isnan(ratio)]
    return geometric_mean(known)


def _over_cells(trials: Trials, name: str, variant: str) -> str:
    found = [trials.ratio(*cell, name, variant) for cell in trials.table_cells()]
    return f"{geometric_mean([cell.mean for cell in found if cell is not None]):.3f}"


def warned(trials: Trials) -> Table:
    """How often a method's own self-check warned: the user would have known."""
    rows = []
    names = {name for experiment in ("3", "4", "5") for name in trials.contenders(experiment)}
    for name in [name for name in trials.settings["contenders"]["table"] if name in names]:
        flags = [
            found.get("warned", False)
            for cell in trials.table_cells()
            for found in trials.found(*cell, name)
        ]
        if any(flags):
            rows.append([label(name), f"{100 * np.mean(flags):.0f} %"])
    return Table(
        "Trials of Experiments 3 to 5 in which covshift itself warned that the weights rest on few "
        "rows, move the sample away from the target, or that the target does not see the rows.",
        ["method", "trials with a warning"],
        rows,
    )
