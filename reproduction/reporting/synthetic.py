"""The tables of Experiment 2: errors against N, other kernels, other penalties."""

from __future__ import annotations

import numpy as np

from ..trials import Trials, as_cell
from .layout import Table, label


def against_size(trials: Trials, variant: str = "own") -> Table:
    """Experiment 2: normalised L2 error and excess variation against N."""
    sizes = trials.cells("2")
    rows = []
    for name in trials.contenders("2"):
        row = [label(name)]
        for size in sizes:
            errors = as_cell(trials.errors("2", size, name, variant))
            rough = as_cell(trials.errors("2", size, name, f"{variant} variation"))
            row.append("–" if not errors or not rough else f"{errors.mean:.3f} / {rough.mean:.2f}")
        rows.append(row)
    what = {
        "own": "weights and V from the target sample at which the error is measured (figure 4b)",
        "other": "weights and V from another target sample of 500 rows (figure 4c)",
        "cv": "as figure 4b, γ by cross-validation for every method",
    }[variant]
    return Table(
        f"Experiment 2, {what}: normalised L2 error / excess variation (total variation beyond "
        "that of a monotone function with the same ends), means over the trials.",
        ["method", *sizes],
        rows,
    )


def readings(trials: Trials) -> Table:
    """Experiment 2 under other readings of the kernel."""
    chosen = trials.settings["synthetic"]
    names = [
        n
        for n in ("unweighted", "uniform", "empirical", "symmetric", "blended")
        if n in trials.contenders("2")
    ]
    rows = []
    for size in [f"N = {size}" for size in chosen["swept_sizes"]]:
        for reading in ["exp(-|d|)", *chosen["readings"]]:
            variant = "own" if reading == "exp(-|d|)" else reading
            row = [size, reading]
            for name in names:
                errors = as_cell(trials.errors("2", size, name, variant))
                rough = as_cell(trials.errors("2", size, name, f"{variant} variation"))
                row.append(
                    "–" if not errors or not rough else f"{errors.mean:.3f} / {rough.mean:.2f}"
                )
            rows.append(row)
    return Table(
        "Experiment 2 under readings of “square rooted Gaussian kernel”, γ = 0.1: normalised L2 "
        "error / excess variation.",
        ["N", "kernel", *(label(name) for name in names)],
        rows,
    )


def best_gamma(trials: Trials) -> Table:
    """Experiment 2: the error at the best gamma in hindsight, and its spread over gamma."""
    gammas = trials.settings["synthetic"]["gammas"]
    rows = []
    for name in trials.contenders("2"):
        row = [label(name)]
        for size in trials.settings["synthetic"]["swept_sizes"]:
            swept = [
                f["errors"]["gamma"]
                for f in trials.found("2", f"N = {size}", name)
                if "gamma" in f["errors"]
            ]
            if swept:
                means = np.mean(swept, axis=0)
                row += [
                    f"{means.min():.3f} at {gammas[int(means.argmin())]:g}",
                    f"{means.max() - means.min():.3f}",
                ]
        if len(row) > 1:
            rows.append(row)
    header = ["method"]
    for size in trials.settings["synthetic"]["swept_sizes"]:
        header += [f"best mean error, N = {size}", "largest less smallest"]
    return Table("Experiment 2 over four decades of γ (0.001 to 10).", header, rows)
