"""How the numbers of an evaluation are made, as the user asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .methods import Method, Shown


@dataclass(frozen=True)
class Settings:
    """What all models, groups and batches share."""

    metrics: Any
    method: Method
    shown: Shown  # the same, or "both"
    selected: bool  # whether target rows with a label were chosen by their columns
    weighter: Any
    outcome_model: Any
    finite_population: bool
    max_weight: float | None
    confidence: float
    n_folds: int
    cv: Any
    random_state: int
    shift: str = "covariate"
