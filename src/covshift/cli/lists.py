"""What the help of options lists from the registry, by the name that stands for it there."""

from __future__ import annotations

from collections.abc import Callable

from ..registry import FILES, METRICS, QUANTITIES, corrections, learners, listed, weighters

LISTS: dict[str, Callable[[], str]] = {
    "weighters": lambda: listed(entry.name for entry in weighters()),
    "corrections": lambda: ", ".join(entry.name for entry in corrections()),
    "learners": lambda: ", ".join(f"{entry.name}: {entry.about}" for entry in learners()),
    "learner": lambda: learners()[0].name,
    "rows": lambda: ", ".join(f"{entry.max_rows} for {entry.name}" for entry in learners()),
    "weights": lambda: ", ".join(entry.name for entry in weighters()),
    "methods": lambda: _default_methods(),
    "metrics": lambda: listed(METRICS),
    "class_metrics": lambda: _default_metrics("classes"),
    "number_metrics": lambda: _default_metrics("numbers"),
    "quantities": lambda: listed(QUANTITIES),
}


def _default_metrics(task: str) -> str:
    chosen = [entry for entry in METRICS.values() if entry.in_default and entry.task == task]
    return ", ".join(entry.word or entry.name for entry in chosen)


def _default_methods() -> str:
    saved = [entry for entry in learners() if FILES in entry.can]
    own = ", ".join(entry.name for entry in saved if entry.default is None)
    named = [f"{entry.default} for {entry.name}" for entry in saved if entry.default is not None]
    return "; ".join([*named, f"for {own} a choice by held-out rows"])
