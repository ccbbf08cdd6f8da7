"""Judgements on the claims of Experiments 3 to 5 and their controls, each by a rule."""

from __future__ import annotations

from math import isnan

from ..configuration import read_expected
from ..trials import Trials, geometric_mean
from ..verdict import Cell, clearly_worse
from .judgement import CLASSICAL, NotRunError, Standing, known
from .layout import label
from .table_one import COLUMNS, compared, pooled, ratio_of_means


def table_agrees(trials: Trials) -> tuple[Standing, str]:
    """Nine in ten cells of the column "Our Method" agree; only under a setting, half of them."""
    found = compared(trials)
    ours = [cell for cell in found if cell.column == "additive"]
    if not ours:
        raise NotRunError
    agree = sum(cell.verdict == "agrees" for cell in ours)
    rest = {
        column: (
            sum(c.verdict == "agrees" for c in found if c.column == column),
            sum(c.column == column for c in found),
        )
        for column in COLUMNS[1:]
    }
    others = ", ".join(f"{label(column)} {a} of {n}" for column, (a, n) in rest.items() if n)
    differing = [
        f"{c.experiment} {c.dataset} ({c.published.mean:.3f} against {c.measured.mean:.3f})"
        for c in ours
        if c.verdict != "agrees"
    ]
    text = f"“Our Method” agrees within two standard errors in {agree} of {len(ours)} cells"
    text += f" (not in {', '.join(differing)})" if differing else ""
    text += f". The other columns: {others}." if others else "."
    if agree >= 0.9 * len(ours):
        return "holds", text
    return ("only under a setting" if agree >= len(ours) / 2 else "does not hold"), text


def improves(trials: Trials) -> tuple[Standing, str]:
    """Better than unweighted by two standard errors in all four cells, also with gamma by
    cross-validation; only under a setting, if in some.
    """
    chosen = [
        cell
        for cell in trials.table_cells()
        if cell[0] in ("4", "5") and cell[1] in ("banknote", "ringnorm")
    ]
    if not chosen:
        raise NotRunError
    parts, fixed, tuned = [], [], []
    for cell in chosen:
        paper, cv = (known(trials.ratio(*cell, "additive", v)) for v in ("paper", "cv"))
        fixed.append(paper.direction < 0)
        tuned.append(cv.direction < 0)
        parts.append(
            f"{' '.join(cell)}: {paper.mean:.3f} ± {paper.standard_error:.3f}, with γ by "
            f"cross-validation {cv.mean:.3f} ± {cv.standard_error:.3f}"
        )
    text = "Error relative to unweighted, mean ± standard error. " + "; ".join(parts) + "."
    if all(fixed) and all(tuned):
        return "holds", text
    return ("only under a setting" if any(fixed) else "does not hold"), text


def never_worse(trials: Trials) -> tuple[Standing, str]:
    """In no cell clearly worse than unweighted, by a test that counts the cells."""
    every = {cell: trials.ratio(*cell, "additive") for cell in trials.table_cells()}
    found = {cell: ratio for cell, ratio in every.items() if ratio}
    if not found:
        raise NotRunError
    clear = clearly_worse(list(found.values()))
    worse = [cell for cell, is_worse in zip(found, clear, strict=True) if is_worse]
    names = ", ".join(f"{' '.join(cell)} ({found[cell].mean:.3f})" for cell in worse)
    text = (
        f"The additive V is worse than unweighted in {len(worse)} of {len(found)} cells, by "
        "one-sided t tests at 5 % together (Holm)"
        + (f": {names}." if worse else ".")
        + f" The paper's own numbers have {len(_published_worse())} such cells: "
        f"{', '.join(_published_worse())}."
    )
    return ("holds" if not worse else "does not hold"), text


def comparable(trials: Trials) -> tuple[Standing, str]:
    """Over all cells within 0.02 of the best other method of the paper, at gamma 0.1 and with gamma
    by cross-validation; only under a setting, if at one of the two.
    """
    means = {}
    names = ["additive", *CLASSICAL, "symmetric", "blended", "cdf"]
    for variant in ("paper", "cv"):
        for name in names:
            found = pooled(trials, name, variant)
            if not isnan(found):
                means[(name, variant)] = found
    names = [name for name in names if {(name, "paper"), (name, "cv")} <= set(means)]
    if "additive" not in names:
        raise NotRunError
    text = (
        "Mean error over that of the unweighted machine, geometric mean over the cells, at γ = 0.1 "
        "and with γ by cross-validation: "
        + ", ".join(
            f"{label(name)} {means[(name, 'paper')]:.3f} and {means[(name, 'cv')]:.3f}"
            for name in names
        )
        + "."
    )
    near = []
    for variant in ("paper", "cv"):
        others = [means[(name, variant)] for name in CLASSICAL if (name, variant) in means]
        near.append(bool(others) and means[("additive", variant)] < min(others) + 0.02)
    if all(near):
        return "holds", text
    return ("only under a setting" if any(near) else "does not hold"), text


def from_target(trials: Trials) -> tuple[Standing, str]:
    """V from the target is better than V from the training rows by 2 % over all cells."""
    cells = trials.table_cells()
    if not cells or "additive" not in trials.contenders(cells[0][0]):
        raise NotRunError
    parts, gains = [], {}
    for name in ("additive", "symmetric", "blended"):
        if name not in trials.contenders(cells[0][0]):
            continue
        found = [ratio_of_means(trials, cell, (name, "paper"), (name, "train")) for cell in cells]
        gains[name] = geometric_mean(found)
        if isnan(gains[name]):
            raise NotRunError
        near = sum(abs(value - 1) <= 0.02 for value in found)
        parts.append(f"{label(name)} {gains[name]:.3f} (within 2 % in {near} of {len(cells)})")
    text = (
        "Error with V from the target over error with V from the training rows alone, geometric "
        "mean over the cells: " + ", ".join(parts) + ". What is left of a gain without the target "
        "is regularisation."
    )
    return ("holds" if gains["additive"] < 0.98 else "does not hold"), text


def mirrored(trials: Trials) -> tuple[Standing, str]:
    """No cell's mean error moves by more than 2 %."""
    cells = trials.table_cells()
    if not cells or "additive" not in trials.contenders(cells[0][0]):
        raise NotRunError
    parts, largest = [], {}
    for name in ("additive", "symmetric"):
        if name in trials.contenders(cells[0][0]):
            found = [
                abs(ratio_of_means(trials, c, (name, "mirrored"), (name, "paper")) - 1)
                for c in cells
            ]
            largest[name] = max(found)
            if any(map(isnan, found)):
                raise NotRunError
            parts.append(f"{label(name)} by up to {100 * max(found):.1f} %")
    text = (
        "Mirroring all features (x to 1 − x) moves a cell's mean error: " + ", ".join(parts) + "."
    )
    return ("holds" if largest["additive"] < 0.02 else "does not hold"), text


def _published_worse() -> list[str]:
    ours = [cell for cell in read_expected()["cell"] if cell["column"] == "additive"]
    clear = clearly_worse([Cell(cell["mean"], cell["std"], cell["trials"]) for cell in ours])
    return [
        f"{cell['experiment']} {cell['dataset']}"
        for cell, is_worse in zip(ours, clear, strict=True)
        if is_worse
    ]
