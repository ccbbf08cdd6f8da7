"""The paper's figures 1b, 1c, 4a, 4b and 4c, re-drawn; and 1b for every method and data set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from covshift.datasets import sigmoid_probability

from ..robustness import values_of
from ..synthetic import GRID
from ..trials import Trials, as_cell
from .layout import label

_STYLE: Any = {
    "svg.hashsalt": "covshift",  # the same picture is the same file
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}
_OURS = ("empirical", "additive", "uniform", "symmetric", "blended", "sliced")
_PRODUCTS = ("uniform", "empirical")  # over all features: not made for many of them
_COLOURS = {
    "unweighted": "#777777",
    "empirical": "#c1272d",
    "additive": "#c1272d",
    "uniform": "#e08a00",
    "symmetric": "#7b2d8e",
    "blended": "#b565c9",
    "sliced": "#e377c2",
    "shimodaira": "#1f77b4",
    "sugiyama": "#17becf",
    "huang": "#2ca02c",
    "huang_wide": "#98df8a",
    "kliep": "#8c564b",
    "ulsif": "#0b3d91",
    "rulsif": "#6b8ec9",
    "cdf": "#bcbd22",
    "robust": "#444444",
    "truth": "#000000",
}
_ERRORS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)  # marked on a logarithmic axis
_FINE_ERRORS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)  # where it spans less than a factor of three
_PALE = {"unweighted": 0.4}  # the weighted curves lie on it
_PAPER = ("unweighted", "shimodaira", "sugiyama", "huang", "kliep", "ulsif", "uniform", "empirical")


def draw_all(trials: Trials, folder: Path) -> dict[str, str]:
    """Draw what the trials allow, as SVG and PNG in ``folder``; return the SVG texts by name."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for name, draw in _FIGURES.items():
        with mpl.rc_context(_STYLE):
            figure = draw(trials)
            if figure is None:
                continue
            svg, png = folder / f"{name}.svg", folder / f"{name}.png"
            figure.savefig(svg, metadata={"Date": None})
            figure.savefig(png, dpi=100, metadata={"Software": None})
        drawn[name] = svg.read_text(encoding="utf-8")
    return drawn


def _bandwidth(trials: Trials) -> Figure | None:
    found = trials.found("robustness", "ringnorm", "shimodaira")
    base = trials.found("robustness", "ringnorm", "unweighted")
    if not found or not base:
        return None
    x = values_of(trials.settings, "shimodaira")
    figure, axes = _axes()
    curves = np.array([trial["errors"]["own"] for trial in found], dtype=np.float64)
    axes.plot(x, curves.T, color=_COLOURS["shimodaira"], linewidth=0.5, alpha=0.4)
    axes.plot(
        x,
        np.nanmean(curves, axis=0),
        color=_COLOURS["shimodaira"],
        linewidth=2,
        label=label("shimodaira"),
    )
    at = trials.settings["robustness"]["gammas"].index(trials.settings["table"]["gamma"])
    for name in ("unweighted", "additive"):
        swept = [t["errors"]["gamma"][at] for t in trials.found("robustness", "ringnorm", name)]
        if swept:
            axes.axhline(np.mean(swept), color=_COLOURS[name], linestyle="--", label=label(name))
    axes.set(xscale="log", xlabel="bandwidth h", ylabel="error on the target")
    axes.legend()
    return figure


def _curves(trials: Trials, names: tuple[str, ...]) -> Figure | None:
    there = [name for name in names if trials.found("1", "one run", name)]
    if not there:
        return None
    figure, axes = _axes(6.4, 3.9)
    axes.plot(GRID[:, 0], sigmoid_probability(GRID), color="black", linestyle="--", label="truth")
    for name in there:
        width = 2.0 if name in (*_OURS, "unweighted") else 0.9
        curve = trials.found("1", "one run", name)[0]["curve"]
        axes.plot(
            GRID[::2, 0],
            curve,
            color=_COLOURS[name],
            linewidth=width,
            label=label(name),
            alpha=_PALE.get(name, 1.0),
            zorder=3 if name in _OURS else 2,
        )
    axes.set(xlabel="x", ylabel="predicted p(y = 1 | x)", xticks=[-1, -0.5, 0, 0.5, 1])
    axes.legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _against_size(trials: Trials, variant: str) -> Figure | None:
    sizes = trials.cells("2")
    if len(sizes) < 2 or min(len(trials.found("2", size, "unweighted")) for size in sizes) < 2:
        return None
    figure, axes = _axes(6.4, 3.9)
    x = np.array([int(size.removeprefix("N = ")) for size in sizes])
    for name in trials.contenders("2"):
        cells = [as_cell(trials.errors("2", size, name, variant)) for size in sizes]
        if name not in (*_PAPER, "symmetric", "blended") or None in cells:
            continue
        mean = np.array([cell.mean for cell in cells if cell])
        band = 2 * np.array([cell.standard_error for cell in cells if cell])
        axes.plot(
            x,
            mean,
            color=_COLOURS[name],
            linewidth=2.0 if name in _OURS else 1.0,
            linestyle="--" if name == "symmetric" else "-",
            marker="o",
            markersize=3,
            zorder=3 if name in _OURS else 2,
            label=label(name),
        )
        axes.fill_between(
            x, mean - band, mean + band, color=_COLOURS[name], alpha=0.12, linewidth=0
        )
    axes.set(xscale="log", xlabel="training points N", ylabel="normalised L2 error")
    axes.set_xticks(x, [str(size) for size in x])
    axes.minorticks_off()
    axes.legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _panels(trials: Trials, part: str) -> Figure | None:
    cells = trials.cells("robustness")
    if not cells:
        return None
    figure = Figure(figsize=(2.3 * len(cells) + 1.9, 3.0), layout="constrained")
    panels: Any = figure.subplots(1, len(cells), squeeze=False)[0]
    handles: dict[str, Any] = {}
    for axes, cell in zip(panels, cells, strict=True):
        for name in trials.contenders("robustness"):
            swept = [
                t["errors"][part]
                for t in trials.found("robustness", cell, name)
                if part in t["errors"]
            ]
            if not swept:
                continue
            curves = np.array(swept, dtype=np.float64)
            usable = ~np.isnan(curves).all(axis=0)
            mean = np.nanmean(curves[:, usable], axis=0)
            x = np.linspace(0, 1, curves.shape[1])[usable]
            (handles[label(name)],) = axes.plot(
                x,
                mean,
                color=_COLOURS[name],
                linewidth=1.8 if name in _OURS else 1.0,
                linestyle=":" if name in _PRODUCTS else "-",
            )
        axes.set(title=cell, xlabel="γ" if part == "gamma" else "its parameter", yscale="log")
        axes.set_xticks([0, 0.5, 1], _ends(trials, part))
        low, high = axes.get_ylim()
        marks = _ERRORS if high > 3 * low else _FINE_ERRORS
        shown = [error for error in marks if low <= error <= high]
        axes.set_yticks(shown, [f"{error:g}" for error in shown])
        axes.minorticks_off()
    panels[0].set_ylabel("error on the target")
    figure.legend(list(handles.values()), list(handles), loc="outside right center", fontsize=7.5)
    return figure


def _ends(trials: Trials, part: str) -> list[str]:
    """Labels at the low end, in the middle and at the high end of a range."""
    if part == "own":
        return ["low", "", "high"]
    gammas = trials.settings["robustness"]["gammas"]
    return [f"{gammas[at]:g}" for at in (0, len(gammas) // 2, -1)]


def _axes(width: float = 4.6, height: float = 3.2) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


_FIGURES: dict[str, Callable[[Trials], Figure | None]] = {
    "figure_1b": _bandwidth,
    "figure_1c": lambda trials: _curves(trials, ("unweighted", "shimodaira", "empirical")),
    "figure_4a": lambda trials: _curves(trials, _PAPER),
    "figure_4b": lambda trials: _against_size(trials, "own"),
    "figure_4c": lambda trials: _against_size(trials, "other"),
    "figure_robustness": lambda trials: _panels(trials, "own"),
    "figure_gamma": lambda trials: _panels(trials, "gamma"),
}
