"""All inputs of the matrix: add one here, and every entry point is tried with it."""

from __future__ import annotations

from . import outcomes, rows, weights
from .problem import Input

INPUTS: list[Input] = [*rows.INPUTS, *outcomes.INPUTS, *weights.INPUTS]
