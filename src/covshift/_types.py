"""Names of the arrays that signatures speak of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
"""Numbers."""

Floats = NDArray[np.floating[Any]]
"""Numbers of single or double precision."""

Rows = NDArray[np.intp]
"""Row numbers."""

Whole = NDArray[np.int64]
"""Counts, ranks, fold numbers."""

Codes = NDArray[np.unsignedinteger[Any]]
"""Bins of rows, in as few bytes as they need."""

Flags = NDArray[np.bool_]
"""True or False of every row."""
